"""What tests of matrix products share: how a function and how a single product are compiled."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

import adjoint as ad
from adjoint.backends.native import compiler
from adjoint.backends.native.emit.function_state import FunctionState
from adjoint.backends.native.emit.llvm_ir import Module


def compiled(f: Callable[..., Any], *xs: np.ndarray) -> compiler.Program:
    """A function as machine code, and nothing of it left to the interpreter."""
    made = compiler.Program(ad.jit(f).graph(*xs))
    assert not made.left_out
    return made


class Bench:
    """As much of an emitter as a product needs."""

    def __init__(self, module: Module, bits: int) -> None:
        self.shared = FunctionState(module, bits)
        self.code = self.shared.code

    def scratch(self, size: int) -> str:
        return self.shared.address(self.shared.arena.take(size))

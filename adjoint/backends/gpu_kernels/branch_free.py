"""Elementary functions without branches: where the CPU's code goes another way for rare arguments, a flag is set instead.

A thread computes several points side by side and looks at all flags once; where one is set, the points are computed again by the
functions that take any argument.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from functools import cache

import numpy as np

from adjoint.backends.native.emit import vecmath
from adjoint.backends.native.emit.lanes import Lanes
from adjoint.backends.native.emit.llvm_ir import REGISTER, Code
from adjoint.backends.native.emit.vecmath.function_body import FunctionBody, VectorValue

FLAGGED = frozenset(("sin", "cos", "tan"))


@dataclass
class FlaggedBody(FunctionBody):
    """The body of a function that says of an argument that it is rare."""

    flag: list[str] = field(default_factory=list)

    def lanes_of(self, libm: str, x: VectorValue, where: VectorValue, fast: VectorValue) -> VectorValue:
        """The fast result; `where` it is not good is noted."""
        self.flag.append(where.text)
        return fast


@cache
def function(name: str, kind: str) -> tuple[str, str, tuple[str, ...]]:
    """The symbol of a function with a flag, its definition, and the declarations it needs."""
    body = FlaggedBody(kind, 1)
    result = vecmath.KERNELS[name](body, VectorValue(body, "float", "%x"))
    (flag,) = body.flag
    title, pair = f"flagged_{name}_{body.suffix}", f"{{ {kind}, i1 }}"
    lines = [
        f"define internal {pair} @{title}({kind} %x) alwaysinline nounwind willreturn {{",
        "entry:",
        *body.lines,
        f"  %first = insertvalue {pair} poison, {kind} {result.text}, 0",
        f"  %both = insertvalue {pair} %first, i1 {flag}, 1",
        f"  ret {pair} %both",
        "}",
    ]
    return title, "\n".join(lines), tuple(body.beside.values())


class FlaggingLanes(Lanes):
    """Writes elementwise ops of one element; `flags` are set where a result is not good."""

    def __init__(self, code: Code) -> None:
        super().__init__(code, 1)
        self.flags: list[str] = []
        self.used: set[tuple[str, str]] = set()

    def maths(self, name: str, dtype: np.dtype, *xs: str) -> str:
        """A call of our own elementary function, without branches."""
        if name not in FLAGGED:
            return super().maths(name, dtype, *xs)
        kind = REGISTER[dtype.name]
        self.used.add((name, kind))
        title, _, _ = function(name, kind)
        pair = self.code.put(f"call {{ {kind}, i1 }} @{title}({kind} {xs[0]})")
        self.flags.append(self.code.put(f"extractvalue {{ {kind}, i1 }} {pair}, 1"))
        return self.code.put(f"extractvalue {{ {kind}, i1 }} {pair}, 0")

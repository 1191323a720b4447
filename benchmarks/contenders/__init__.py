"""Who takes part, by name. A contender's module is imported only in its own process."""

from __future__ import annotations

import importlib
import importlib.util
import subprocess
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

from benchmarks.contenders.base import Contender


@dataclass(frozen=True)
class Entry:
    """How to make a contender, and which package it needs."""

    package: str
    module: str
    maker: str
    how: str  # it is run
    options: dict[str, Any] = field(default_factory=dict)
    scalar_only: bool = False

    def installed(self, pythons: Mapping[str, str]) -> bool:
        """Whether its package is there, in this environment or in one of its own."""
        if self.package not in pythons:
            return importlib.util.find_spec(self.package) is not None
        look = f"import importlib.util, sys; sys.exit(importlib.util.find_spec({self.package!r}) is None)"
        return subprocess.run([pythons[self.package], "-c", look]).returncode == 0

    def make(self) -> Contender:
        module = importlib.import_module(f"benchmarks.contenders.{self.module}")
        return getattr(module, self.maker)(**self.options)


DYNAMIC, STATIC = "adjoint dynamic", "adjoint static"
OURS = (DYNAMIC, STATIC)

ENTRIES = {
    DYNAMIC: Entry(
        "adjoint",
        "with_adjoint",
        "Adjoint",
        "plain calls of `value_and_grad` and its kin, no decorator",
        {"static": False},
    ),
    STATIC: Entry(
        "adjoint", "with_adjoint", "Adjoint", "the same functions under `jit`, native backend", {"static": True}
    ),
    "torch eager": Entry(
        "torch",
        "with_torch",
        "Torch",
        "`torch.autograd.grad`; Parameters updated in place by one fused call",
        {"compiled": False},
    ),
    "torch.compile": Entry(
        "torch", "with_torch", "Torch", "the loss under `torch.compile`, Inductor's defaults", {"compiled": True}
    ),
    "JAX jit": Entry(
        "jax",
        "with_jax",
        "Jax",
        "one `jit` for the whole step, `lax` loops, Parameters donated; Newton by `custom_root`",
    ),
    "autograd": Entry("autograd", "with_autograd", "Autograd", "plain calls"),
    "CasADi": Entry(
        "casadi",
        "with_casadi",
        "Casadi",
        "its virtual machine, through preallocated buffers, no C code; loops unrolled, Newton by `rootfinder` (implicit)",
        scalar_only=True,
    ),
    "MindSpore pynative": Entry(
        "mindspore", "with_mindspore", "MindSpore", "`set_device('CPU')`, plain calls", {"static": False}
    ),
    "MindSpore jit": Entry(
        "mindspore", "with_mindspore", "MindSpore", "the step under `mindspore.jit`", {"static": True}
    ),
}

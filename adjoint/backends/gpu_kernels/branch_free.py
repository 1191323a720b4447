"""Elementary functions and quotients without branches: where the CPU's code goes another way for rare arguments, a flag is set instead.

A thread computes several points side by side and looks at all flags once; where one is set, the points are computed again by code
that takes any argument.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass, field
from functools import cache
from typing import Any

import numpy as np

from adjoint.backends.native.emit import vecmath
from adjoint.backends.native.emit.lanes import Lane, LaneEmitter, Lanes
from adjoint.backends.native.emit.llvm_ir import REGISTER, Code, literal
from adjoint.backends.native.emit.vecmath.function_body import FunctionBody, VectorValue
from adjoint.backends.native.emit.vecmath.logarithm import log1p_of
from adjoint.core.spec import float32
from adjoint.graph.node import Node

RANGE = 2.0**100  # a reciprocal of what is between this and its inverse is rounded rightly in two steps
ONE = literal(1.0, float32)


@dataclass
class FlaggedBody(FunctionBody):
    """The body of a function that says of an argument that it is rare. All that it divides by is between 1 and `RANGE`."""

    flags: list[VectorValue] = field(default_factory=list)

    def lanes_of(self, libm: str, x: VectorValue, where: VectorValue, fast: VectorValue) -> VectorValue:
        """The fast result; `where` it is not good is noted."""
        self.flags.append(where)
        return fast

    def emit(self, instruction: str, kind: str) -> VectorValue:
        """Append an instruction; a quotient is worked out by a function without branches."""
        if instruction.startswith("fdiv float "):
            above, below = instruction.removeprefix("fdiv float ").split(", ")
            instruction = f"call float @quotient(float {above}, float {below})"
        return super().emit(instruction, kind)


def _log1p(c: FlaggedBody, x: VectorValue) -> VectorValue:
    """log(1 + x) for finite x above -1."""
    inside = (x > -1.0) & (x < math.inf)
    c.flags.append(inside ^ c.const(True, "mask"))
    return c.copysign(log1p_of(c, x), x)


#: Functions of float32 that are other than the CPU's, all without branches.
FUNCTIONS: dict[str, Any] = {name: vecmath.KERNELS[name] for name in ("sin", "cos", "tan", "tanh", "sigmoid")}
FUNCTIONS["log1p"] = _log1p

#: a / b where b and the quotient are normal numbers and a is not tiny, rounded as a division is: by the GPU's rough reciprocal, made
#: exact by what is left, and on the CPU by its division.
QUOTIENT = {
    True: """define internal float @rounded_inverse(float %b) alwaysinline nounwind willreturn {
  %rough = call float @llvm.nvvm.rcp.approx.ftz.f(float %b)
  %minus = fneg float %b
  %error = call float @llvm.fma.f32(float %minus, float %rough, float 1.0)
  %inverse = call float @llvm.fma.f32(float %rough, float %error, float %rough)
  ret float %inverse
}
define internal float @quotient(float %a, float %b) alwaysinline nounwind willreturn {
  %inverse = call float @rounded_inverse(float %b)
  %minus = fneg float %b
  %first = fmul float %a, %inverse
  %rest = call float @llvm.fma.f32(float %minus, float %first, float %a)
  %second = call float @llvm.fma.f32(float %inverse, float %rest, float %first)
  %left = call float @llvm.fma.f32(float %minus, float %second, float %a)
  %third = call float @llvm.fma.f32(float %inverse, float %left, float %second)
  ret float %third
}""",
    False: """define internal float @rounded_inverse(float %b) alwaysinline nounwind willreturn {
  %inverse = fdiv float 1.0, %b
  ret float %inverse
}
define internal float @quotient(float %a, float %b) alwaysinline nounwind willreturn {
  %third = fdiv float %a, %b
  ret float %third
}""",
}
_NEEDS = ["declare float @llvm.nvvm.rcp.approx.ftz.f(float)", "declare float @llvm.fma.f32(float, float, float)"]


def parts(used: Sequence[str], gpu: bool) -> tuple[list[str], list[str]]:
    """Declarations and definitions for functions that are used."""
    if not used:
        return [], []
    declared, defined = list(_NEEDS if gpu else ()), [QUOTIENT[gpu]]
    for name in used:
        if name in FUNCTIONS:
            _, text, needs, _ = function(name)
            declared += needs
            defined.append(text)
    return declared, defined


@cache
def function(name: str) -> tuple[str, str, tuple[str, ...], bool]:
    """The symbol of a function of float32, its definition, the declarations it needs, and whether it has a flag."""
    body = FlaggedBody("float", 1)
    result = FUNCTIONS[name](body, VectorValue(body, "float", "%x"))
    title, kind, end = f"flagged_{name}", "float", [f"  ret float {result.text}"]
    if body.flags:
        (flag,) = body.flags
        kind = "{ float, i1 }"
        end = [
            f"  %first = insertvalue {kind} poison, float {result.text}, 0",
            f"  %both = insertvalue {kind} %first, i1 {flag.text}, 1",
            f"  ret {kind} %both",
        ]
    head = f"define internal {kind} @{title}(float %x) alwaysinline nounwind willreturn {{"
    text = "\n".join([head, "entry:", *body.lines, *end, "}"])
    return title, text, tuple(body.beside.values()), bool(body.flags)


class FlaggingLanes(Lanes):
    """Writes elementwise ops of one element; `flags` are set where a result is not good."""

    def __init__(self, code: Code) -> None:
        super().__init__(code, 1)
        self.flags: list[str] = []
        self.used: set[str] = set()

    def apply(self, node: Node, xs: Sequence[str]) -> str:
        """The result of a node; of a product that absorbs a zero, the product, flagged where it is NaN."""
        if node.op.absorbs_zero and node.spec.dtype.kind == "f":
            x, y = (self.cast(x, i.spec.dtype, node.spec.dtype) for x, i in zip(xs, node.inputs, strict=True))
            product = self.code.put(f"fmul {self.type(node.spec.dtype)} {x}, {y}")
            self.flags.append(self.code.put(f"fcmp uno {self.type(node.spec.dtype)} {product}, {product}"))
            return product
        return super().apply(node, xs)

    def emitter(self) -> LaneEmitter:
        """The builder that cards are given."""
        return _FlaggingEmitter(self)

    def cast(self, x: str, old: np.dtype, new: np.dtype) -> str:
        """The same number in another dtype; a number known now stays one."""
        if x.startswith("0x") and old.kind == new.kind == "f":
            return literal(np.array([int(x, 16)], np.uint64).view(np.float64)[0], new)
        return super().cast(x, old, new)

    def maths(self, name: str, dtype: np.dtype, *xs: str) -> str:
        """A call of our own elementary function, without branches."""
        if name not in FUNCTIONS or REGISTER[dtype.name] != "float":
            return super().maths(name, dtype, *xs)
        self.used.add(name)
        title, _, _, flagged = function(name)
        if not flagged:
            return self.code.put(f"call float @{title}(float {xs[0]})")
        pair = self.code.put(f"call {{ float, i1 }} @{title}(float {xs[0]})")
        self.flags.append(self.code.put(f"extractvalue {{ float, i1 }} {pair}, 1"))
        return self.code.put(f"extractvalue {{ float, i1 }} {pair}, 0")

    def inverse(self, x: str) -> str:
        """1/x, flagged where x is very large or very small."""
        self.used.add("inverse")
        size = self.intrinsic("fabs", float32, x)
        for how, limit in (("ogt", RANGE), ("olt", 1 / RANGE)):
            self.flags.append(self.code.put(f"fcmp {how} float {size}, {literal(limit, float32)}"))
        return self.code.put(f"call float @rounded_inverse(float {x})")


class _FlaggingEmitter(LaneEmitter):
    """The builder that `emit` of a card is given."""

    def __init__(self, lanes: FlaggingLanes) -> None:
        super().__init__(lanes)
        self._flagging = lanes

    def div(self, x: Any, y: Any) -> Lane:
        x, y = self._alike(x, y)
        if x.dtype == float32 and x.text == ONE:
            return Lane(self._flagging.inverse(y.text), float32)
        return super().div(x, y)

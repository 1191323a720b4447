"""Elementwise ops on lanes: one element or a vector of them, in registers."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any, NamedTuple

import numpy as np

from adjoint.backends.native.emit import floor_division, rounded_lanes, scipy_calls, vecmath
from adjoint.backends.native.emit.llvm_ir import REGISTER, Code, in_register, literal, splat
from adjoint.core.errors import DtypeError
from adjoint.core.spec import bool_, float16, float32, float64, is_half
from adjoint.graph.node import Node


def shuffle(code: Code, x: str, y: str, kind: str, places: Sequence[int]) -> str:
    """A vector of lanes of two vectors of one kind: the lanes of x are counted first."""
    chosen = ", ".join(f"i32 {k}" for k in places)
    return code.put(f"shufflevector {kind} {x}, {kind} {y}, <{len(places)} x i32> <{chosen}>")


class Lanes:
    """Writes elementwise ops of some width into a function."""

    def __init__(self, code: Code, width: int) -> None:
        self.code, self.width = code, width

    def type(self, dtype: np.dtype) -> str:
        return in_register(dtype, self.width)

    def number(self, value: Any, dtype: np.dtype) -> str:
        """The same number in every lane."""
        return splat(literal(value, dtype), dtype, self.width)

    def spread(self, value: str, dtype: np.dtype) -> str:
        """One element in every lane."""
        if self.width == 1:
            return value
        if not value.startswith("%"):
            return splat(value, dtype, self.width)
        kind, wide = REGISTER[dtype.name], self.type(dtype)
        first = self.code.put(f"insertelement {wide} poison, {kind} {value}, i32 0")
        return self.code.put(f"shufflevector {wide} {first}, {wide} poison, <{self.width} x i32> zeroinitializer")

    def halves(self, value: str, dtype: np.dtype) -> list[str]:
        """The first and the second half of the lanes."""
        wide, half = self.type(dtype), self.width // 2
        return [shuffle(self.code, value, "poison", wide, range(k, k + half)) for k in (0, half)]

    def total(self, value: str, dtype: np.dtype) -> str:
        """The lanes added up, halves added to halves."""
        if self.width == 1:
            return value
        half, kind = self.width // 2, in_register(dtype)
        low, high = self.halves(value, dtype)
        value = self.code.put(f"fadd <{half} x {kind}> {low}, {high}")
        if half == 1:
            return self.code.put(f"extractelement <1 x {kind}> {value}, i32 0")
        return Lanes(self.code, half).total(value, dtype)

    def transposed(self, rows: Sequence[str], dtype: np.dtype) -> list[str]:
        """As many vectors as they have lanes, rows for columns: blocks of 1, 2, 4 … change places across the diagonal."""
        rows, wide, width = list(rows), self.type(dtype), self.width
        step = 1
        while step < width:
            for i in (i for i in range(width) if not i & step):
                x, y = rows[i], rows[i + step]
                upper = [j if not j & step else width + j - step for j in range(width)]
                lower = [j + step if not j & step else width + j for j in range(width)]
                rows[i], rows[i + step] = (shuffle(self.code, x, y, wide, places) for places in (upper, lower))
            step *= 2
        return rows

    def intrinsic(self, name: str, dtype: np.dtype, *xs: str) -> str:
        """A call of LLVM's own function of that name."""
        kind = self.type(dtype)
        letter = "f" if dtype.kind == "f" else "i"
        suffix = f"{letter}{dtype.itemsize * 8}" if self.width == 1 else f"v{self.width}{letter}{dtype.itemsize * 8}"
        self.code.module.declare(f"{kind} @llvm.{name}.{suffix}({', '.join([kind] * len(xs))})")
        return self.code.put(f"call {kind} @llvm.{name}.{suffix}({', '.join(f'{kind} {x}' for x in xs)})")

    def maths(self, name: str, dtype: np.dtype, *xs: str) -> str:
        """A call of our own elementary function."""
        scalar = REGISTER[dtype.name]
        self.code.module.maths.add((name, scalar, self.width))
        kind = self.type(dtype)
        args = ", ".join(f"{kind} {x}" for x in xs)
        return self.code.put(f"call {kind} @{vecmath.symbol(name, scalar, self.width)}({args})")

    def scipy(self, name: str, part: int, dtype: np.dtype, *xs: str) -> str:
        """A call of SciPy's own function."""
        scalar, kind = REGISTER[dtype.name], self.type(dtype)
        self.code.module.scipy.add((name, part, scalar, self.width))
        args = ", ".join(f"{kind} {x}" for x in xs)
        return self.code.put(f"call {kind} @{scipy_calls.symbol(name, part, scalar, self.width)}({args})")

    def select(self, test: str, yes: str, no: str, dtype: np.dtype) -> str:
        kind = self.type(dtype)
        return self.code.put(f"select {self.type(bool_)} {test}, {kind} {yes}, {kind} {no}")

    def compare(self, kind: str, x: str, y: str, dtype: np.dtype) -> str:
        """`kind` is lt, le, gt, ge, eq or ne; NaN compares as in Python."""
        if dtype.kind == "f":
            how = f"fcmp {'une' if kind == 'ne' else 'o' + kind}"
        elif kind in ("eq", "ne"):
            how = f"icmp {kind}"
        else:
            how = f"icmp {'u' if dtype.kind == 'b' else 's'}{kind}"
        return self.code.put(f"{how} {self.type(dtype)} {x}, {y}")

    def cast(self, x: str, old: np.dtype, new: np.dtype) -> str:
        """The same number in another dtype, as NumPy's astype gives it."""
        if old == new:
            return x
        if is_half(old):
            return self.cast(rounded_lanes.to_single(self, x, old), float32, new)
        if is_half(new):
            once = (old, new) == (float64, float16)  # ml_dtypes rounds a float64 twice for bfloat16
            single = rounded_lanes.to_odd_single(self, x) if once else self.cast(x, old, float32)
            return rounded_lanes.from_single(self, single, new)
        if new.kind == "b":
            return self.compare("ne", x, self.number(0, old), old)
        a, b = self.type(old), self.type(new)
        if old.kind == "f" and new.kind == "f":
            return self.code.put(f"{'fpext' if new.itemsize > old.itemsize else 'fptrunc'} {a} {x} to {b}")
        if old.kind == "f":  # out of range gives the least number, as the processor's conversion does
            return self._to_integer(x, old, new)
        if new.kind == "f":
            return self.code.put(f"{'uitofp' if old.kind == 'b' else 'sitofp'} {a} {x} to {b}")
        if old.kind == "b" or new.itemsize > old.itemsize:
            return self.code.put(f"{'zext' if old.kind == 'b' else 'sext'} {a} {x} to {b}")
        return self.code.put(f"trunc {a} {x} to {b}")

    def _to_integer(self, x: str, old: np.dtype, new: np.dtype) -> str:
        limit = 2.0 ** (8 * new.itemsize - 1)
        inside = self.code.put(
            f"and {self.type(bool_)} {self.compare('lt', x, self.number(limit, old), old)}, "
            f"{self.compare('ge', x, self.number(-limit, old), old)}"
        )
        safe = self.select(inside, x, self.number(0, old), old)
        integer = self.code.put(f"fptosi {self.type(old)} {safe} to {self.type(new)}")
        return self.select(inside, integer, self.number(-(2 ** (8 * new.itemsize - 1)), new), new)

    def emitter(self) -> LaneEmitter:
        """The builder that cards are given."""
        return LaneEmitter(self)

    def apply(self, node: Node, xs: Sequence[str]) -> str:
        """The result of a node, given its inputs in their own dtypes."""
        specs = [i.spec for i in node.inputs]
        kinds = node.op.computes_in(node.spec, *specs)
        given = [Lane(self.cast(x, s.dtype, k), k) for x, s, k in zip(xs, specs, kinds, strict=True)]
        y = node.op.emit(self.emitter(), *given)
        if y.dtype != node.spec.dtype:
            raise DtypeError(f"emit of {node.op} gives {y.dtype}, the result is {node.spec.dtype}: cast it with b.cast")
        return y.text


def extremum(lanes: Lanes, kind: str, dtype: np.dtype, x: str, y: str) -> str:
    """The larger (gt) or smaller (lt) of two; NaN if either is."""
    best = lanes.select(lanes.compare(kind, x, y, dtype), x, y, dtype)
    if dtype.kind != "f":
        return best
    return lanes.select(lanes.compare("ne", x, x, dtype), x, best, dtype)


class Lane(NamedTuple):
    """A value in a register, and the dtype of its elements."""

    text: str
    dtype: np.dtype


class LaneEmitter:
    """The builder that `emit` of a card is given: see `ops.emitter`."""

    def __init__(self, lanes: Lanes) -> None:
        self._lanes = lanes

    def is_float(self, x: Lane) -> bool:
        return x.dtype.kind == "f"

    def constant(self, value: Any, dtype: np.dtype) -> Lane:
        return Lane(self._lanes.number(value, np.dtype(dtype)), np.dtype(dtype))

    def cast(self, x: Lane, dtype: np.dtype) -> Lane:
        return Lane(self._lanes.cast(x.text, x.dtype, dtype), dtype)

    def add(self, x: Any, y: Any) -> Lane:
        return self._arithmetic("fadd", "add", x, y)

    def sub(self, x: Any, y: Any) -> Lane:
        return self._arithmetic("fsub", "sub", x, y)

    def mul(self, x: Any, y: Any) -> Lane:
        return self._arithmetic("fmul", "mul", x, y)

    def div(self, x: Any, y: Any) -> Lane:
        return self._put("fdiv", *self._alike(x, y))

    def fma(self, x: Any, y: Any, z: Any) -> Lane:
        return self._intrinsic("fma", *self._alike(x, y, z))

    def neg(self, x: Lane) -> Lane:
        if self.is_float(x):
            return Lane(self._lanes.code.put(f"fneg {self._lanes.type(x.dtype)} {x.text}"), x.dtype)
        return self.sub(0, x)

    def abs(self, x: Lane) -> Lane:
        if self.is_float(x):
            return self._intrinsic("fabs", x)
        return self.select(self.compare("lt", x, 0), self.neg(x), x)

    def copysign(self, x: Any, y: Any) -> Lane:
        return self._intrinsic("copysign", *self._alike(x, y))

    def sqrt(self, x: Lane) -> Lane:
        return self._intrinsic("sqrt", x)

    def floor(self, x: Lane) -> Lane:
        return self._intrinsic("floor", x) if self.is_float(x) else x

    def ceil(self, x: Lane) -> Lane:
        return self._intrinsic("ceil", x) if self.is_float(x) else x

    def trunc(self, x: Lane) -> Lane:
        return self._intrinsic("trunc", x) if self.is_float(x) else x

    def round(self, x: Lane) -> Lane:
        return self._intrinsic("roundeven", x) if self.is_float(x) else x

    def floor_div(self, x: Any, y: Any) -> Lane:
        return self._with(floor_division.floor_div, x, y)

    def remainder(self, x: Any, y: Any) -> Lane:
        return self._with(floor_division.remainder, x, y)

    def maximum(self, x: Any, y: Any) -> Lane:
        x, y = self._alike(x, y)
        return Lane(extremum(self._lanes, "gt", x.dtype, x.text, y.text), x.dtype)

    def minimum(self, x: Any, y: Any) -> Lane:
        x, y = self._alike(x, y)
        return Lane(extremum(self._lanes, "lt", x.dtype, x.text, y.text), x.dtype)

    def compare(self, kind: str, x: Any, y: Any) -> Lane:
        x, y = self._alike(x, y)
        return Lane(self._lanes.compare(kind, x.text, y.text, x.dtype), bool_)

    def select(self, test: Lane, x: Any, y: Any) -> Lane:
        x, y = self._alike(x, y)
        return Lane(self._lanes.select(test.text, x.text, y.text, x.dtype), x.dtype)

    def bitwise_and(self, x: Any, y: Any) -> Lane:
        return self._put("and", *self._alike(x, y))

    def bitwise_or(self, x: Any, y: Any) -> Lane:
        return self._put("or", *self._alike(x, y))

    def bitwise_xor(self, x: Any, y: Any) -> Lane:
        return self._put("xor", *self._alike(x, y))

    def bitwise_not(self, x: Lane) -> Lane:
        return self.bitwise_xor(x, True if x.dtype.kind == "b" else -1)

    def left_shift(self, x: Any, y: Any) -> Lane:
        return self._with(floor_division.left_shift, x, y)

    def right_shift(self, x: Any, y: Any) -> Lane:
        return self._with(floor_division.right_shift, x, y)

    def call(self, name: str, *xs: Any) -> Lane:
        given = self._alike(*xs)
        return Lane(self._lanes.maths(name, given[0].dtype, *(x.text for x in given)), given[0].dtype)

    def special(self, name: str, *xs: Any, part: int = 0) -> Lane:
        given = self._alike(*xs)
        return Lane(self._lanes.scipy(name, part, given[0].dtype, *(x.text for x in given)), given[0].dtype)

    def _alike(self, *xs: Any) -> list[Lane]:
        """Operands of one dtype: numbers take that of the others."""
        dtype = next(x.dtype for x in xs if isinstance(x, Lane))
        given = [x if isinstance(x, Lane) else self.constant(x, dtype) for x in xs]
        if any(x.dtype != dtype for x in given):
            raise DtypeError(
                f"emit: operands of {' and '.join(str(x.dtype) for x in given)}; cast one to the other's dtype"
            )
        return given

    def _put(self, word: str, x: Lane, y: Lane) -> Lane:
        return Lane(self._lanes.code.put(f"{word} {self._lanes.type(x.dtype)} {x.text}, {y.text}"), x.dtype)

    def _arithmetic(self, floating: str, integer: str, x: Any, y: Any) -> Lane:
        x, y = self._alike(x, y)
        return self._put(floating if self.is_float(x) else integer, x, y)

    def _with(self, rule: Callable[..., str], x: Any, y: Any) -> Lane:
        x, y = self._alike(x, y)
        return Lane(rule(self._lanes, x.dtype, x.text, y.text), x.dtype)

    def _intrinsic(self, name: str, *xs: Lane) -> Lane:
        return Lane(self._lanes.intrinsic(name, xs[0].dtype, *(x.text for x in xs)), xs[0].dtype)

"""Elementwise ops on lanes: one element or a vector of them, in registers."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from adjoint.backends.native.emit import floor_division, vecmath
from adjoint.backends.native.emit.llvm_ir import REGISTER, Code, in_register, is_known, literal, splat
from adjoint.core.spec import Spec, bool_, promote
from adjoint.graph.node import Node
from adjoint.ops import arithmetic as a
from adjoint.ops import compare as c
from adjoint.ops import special as s
from adjoint.ops import transcendental as t

Rule = Callable[..., str]


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
        whole = self.code.put(f"fptosi {self.type(old)} {safe} to {self.type(new)}")
        return self.select(inside, whole, self.number(-(2 ** (8 * new.itemsize - 1)), new), new)

    def apply(self, node: Node, xs: Sequence[str]) -> str:
        """The result of a node, given its inputs in their own dtypes."""
        rule, domain = RULES[type(node.op)]
        dtype = node.spec.dtype
        specs = [i.spec for i in node.inputs]
        kinds = [dtype if domain == "result" else promote(specs)] * len(xs)
        if domain == "own":
            kinds = [sp.dtype for sp in specs]
        elif domain == "where":
            kinds = [bool_, dtype, dtype]
        given = [self.cast(x, sp.dtype, k) for x, sp, k in zip(xs, specs, kinds, strict=True)]
        return rule(self, node, kinds[-1], *given)


def can_lower(node: Node) -> bool:
    """Whether lanes can compute this node."""
    if type(node.op) not in RULES or isinstance(node.spec, tuple):
        return False
    specs: list[Spec] = [node.spec, *(i.spec for i in node.inputs)]
    if not all(is_known(sp.dtype) for sp in specs):
        return False
    whole = node.spec.dtype.kind in "ib"
    return not (whole and type(node.op) in FLOAT_ONLY) and not (
        node.spec.dtype.kind == "b" and type(node.op) in NUMBERS_ONLY
    )


# ---------------------------------------------------------------- rules


def _arithmetic(floating: str, whole: str) -> Rule:
    def rule(lanes: Lanes, node: Node, dtype: np.dtype, x: str, y: str) -> str:
        return lanes.code.put(f"{floating if dtype.kind == 'f' else whole} {lanes.type(dtype)} {x}, {y}")

    return rule


def _masked_mul(lanes: Lanes, node: Node, dtype: np.dtype, x: str, y: str) -> str:
    zero = lanes.number(0, dtype)
    hits = [lanes.compare("eq", v, zero, dtype) for v in (x, y)]
    either = lanes.code.put(f"or {lanes.type(bool_)} {hits[0]}, {hits[1]}")
    product = lanes.code.put(f"{'fmul' if dtype.kind == 'f' else 'mul'} {lanes.type(dtype)} {x}, {y}")
    return lanes.select(either, zero, product, dtype)


def _neg(lanes: Lanes, node: Node, dtype: np.dtype, x: str) -> str:
    if dtype.kind == "f":
        return lanes.code.put(f"fneg {lanes.type(dtype)} {x}")
    return lanes.code.put(f"sub {lanes.type(dtype)} {lanes.number(0, dtype)}, {x}")


def _abs(lanes: Lanes, node: Node, dtype: np.dtype, x: str) -> str:
    if dtype.kind == "f":
        return lanes.intrinsic("fabs", dtype, x)
    return lanes.select(lanes.compare("lt", x, lanes.number(0, dtype), dtype), _neg(lanes, node, dtype, x), x, dtype)


def _sign(lanes: Lanes, node: Node, dtype: np.dtype, x: str) -> str:
    zero = lanes.number(0, dtype)
    up = lanes.compare("gt", x, zero, dtype)
    down = lanes.compare("lt", x, zero, dtype)
    rest = x if dtype.kind == "f" else zero  # NaN stays NaN
    rest = lanes.select(lanes.compare("eq", x, zero, dtype), zero, rest, dtype)
    return lanes.select(up, lanes.number(1, dtype), lanes.select(down, lanes.number(-1, dtype), rest, dtype), dtype)


def _comparison(kind: str) -> Rule:
    return lambda lanes, node, dtype, x, y: lanes.compare(kind, x, y, dtype)


def _logic(word: str) -> Rule:
    return lambda lanes, node, dtype, x, y: lanes.code.put(f"{word} {lanes.type(dtype)} {x}, {y}")


def _not(lanes: Lanes, node: Node, dtype: np.dtype, x: str) -> str:
    return lanes.code.put(f"xor {lanes.type(dtype)} {x}, {lanes.number(True if dtype.kind == 'b' else -1, dtype)}")


def _call(name: str) -> Rule:
    return lambda lanes, node, dtype, *xs: lanes.maths(name, dtype, *xs)


def _intrinsic(name: str) -> Rule:
    def rule(lanes: Lanes, node: Node, dtype: np.dtype, *xs: str) -> str:
        return lanes.intrinsic(name, dtype, *xs) if dtype.kind == "f" else xs[0]

    return rule


def _extremum(kind: str) -> Rule:
    def rule(lanes: Lanes, node: Node, dtype: np.dtype, x: str, y: str) -> str:
        return extremum(lanes, kind, dtype, x, y)

    return rule


def extremum(lanes: Lanes, kind: str, dtype: np.dtype, x: str, y: str) -> str:
    """The larger (gt) or smaller (lt) of two; NaN if either is."""
    best = lanes.select(lanes.compare(kind, x, y, dtype), x, y, dtype)
    if dtype.kind != "f":
        return best
    return lanes.select(lanes.compare("ne", x, x, dtype), x, best, dtype)


def _relu(lanes: Lanes, node: Node, dtype: np.dtype, x: str) -> str:
    return extremum(lanes, "gt", dtype, x, lanes.number(0, dtype))


def _is_nan(lanes: Lanes, node: Node, dtype: np.dtype, x: str) -> str:
    return lanes.compare("ne", x, x, dtype) if dtype.kind == "f" else lanes.number(False, bool_)


def _is_finite(lanes: Lanes, node: Node, dtype: np.dtype, x: str) -> str:
    if dtype.kind != "f":
        return lanes.number(True, bool_)
    return lanes.compare("lt", lanes.intrinsic("fabs", dtype, x), lanes.number(np.inf, dtype), dtype)


def _where(lanes: Lanes, node: Node, dtype: np.dtype, test: str, x: str, y: str) -> str:
    return lanes.select(test, x, y, dtype)


def _cast(lanes: Lanes, node: Node, dtype: np.dtype, x: str) -> str:
    return lanes.cast(x, dtype, node.spec.dtype)


def _same(lanes: Lanes, node: Node, dtype: np.dtype, x: str) -> str:
    return x


#: For each op its rule, and in which dtype it works: the result's, the inputs' common one, or each input's own.
RULES: dict[type, tuple[Rule, str]] = {
    a.Add: (_arithmetic("fadd", "add"), "result"),
    a.Sub: (_arithmetic("fsub", "sub"), "result"),
    a.Mul: (_arithmetic("fmul", "mul"), "result"),
    a.Div: (_arithmetic("fdiv", "sdiv"), "result"),
    a.MaskedMul: (_masked_mul, "result"),
    a.Pow: (_call("pow"), "result"),
    a.FloorDiv: (floor_division.floor_div, "result"),
    a.Mod: (floor_division.mod, "result"),
    a.LeftShift: (floor_division.shift("shl"), "result"),
    a.RightShift: (floor_division.shift("ashr"), "result"),
    a.Neg: (_neg, "result"),
    a.Abs: (_abs, "result"),
    a.Sign: (_sign, "result"),
    a.StopGradient: (_same, "result"),
    a.Real: (_same, "result"),
    a.Conj: (_same, "result"),
    a.Cast: (_cast, "own"),
    a.BitwiseAnd: (_logic("and"), "result"),
    a.BitwiseOr: (_logic("or"), "result"),
    a.BitwiseXor: (_logic("xor"), "result"),
    a.BitwiseNot: (_not, "result"),
    c.Less: (_comparison("lt"), "common"),
    c.LessEqual: (_comparison("le"), "common"),
    c.Greater: (_comparison("gt"), "common"),
    c.GreaterEqual: (_comparison("ge"), "common"),
    c.Equal: (_comparison("eq"), "common"),
    c.NotEqual: (_comparison("ne"), "common"),
    c.IsNan: (_is_nan, "common"),
    c.IsFinite: (_is_finite, "common"),
    c.Floor: (_intrinsic("floor"), "result"),
    c.Ceil: (_intrinsic("ceil"), "result"),
    c.Trunc: (_intrinsic("trunc"), "result"),
    c.Round: (_intrinsic("roundeven"), "result"),
    c.Maximum: (_extremum("gt"), "result"),
    c.Minimum: (_extremum("lt"), "result"),
    c.Where: (_where, "where"),
    t.Sqrt: (_intrinsic("sqrt"), "result"),
    t.Relu: (_relu, "result"),
    t.Exp: (_call("exp"), "result"),
    t.Expm1: (_call("expm1"), "result"),
    t.Log: (_call("log"), "result"),
    t.Log1p: (_call("log1p"), "result"),
    t.Log2: (_call("log2"), "result"),
    t.Log10: (_call("log10"), "result"),
    t.Cbrt: (_call("cbrt"), "result"),
    t.Sin: (_call("sin"), "result"),
    t.Cos: (_call("cos"), "result"),
    t.Tan: (_call("tan"), "result"),
    t.Asin: (_call("asin"), "result"),
    t.Acos: (_call("acos"), "result"),
    t.Atan: (_call("atan"), "result"),
    t.Sinh: (_call("sinh"), "result"),
    t.Cosh: (_call("cosh"), "result"),
    t.Tanh: (_call("tanh"), "result"),
    t.Asinh: (_call("asinh"), "result"),
    t.Acosh: (_call("acosh"), "result"),
    t.Atanh: (_call("atanh"), "result"),
    t.Atan2: (_call("atan2"), "result"),
    t.Sigmoid: (_call("sigmoid"), "result"),
    t.Softplus: (_call("softplus"), "result"),
    t.LogAddExp: (_call("logaddexp"), "result"),
    s.Erf: (_call("erf"), "result"),
    s.Erfc: (_call("erfc"), "result"),
}
#: Ops whose rule for whole numbers is left to the interpreter.
FLOAT_ONLY = frozenset(op for op, (rule, _) in RULES.items() if op.__module__ in (t.__name__, s.__name__)) | {
    a.Div,
    a.Pow,
}
NUMBERS_ONLY = frozenset(
    {a.Mod, a.FloorDiv, a.Add, a.Sub, a.Mul, a.MaskedMul, a.Neg, a.Abs, a.Sign, c.Maximum, c.Minimum}
)

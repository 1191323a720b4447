"""What each op is in SymPy: a formula for one element, or NumPy's own function where elements only move, add and multiply."""

from __future__ import annotations

import math
from collections.abc import Callable
from functools import cache
from typing import Any

from adjoint.core.extras import extra

Formula = Callable[..., Any]


def sympy() -> Any:
    """SymPy, which is loaded when it is first needed."""
    return extra("sympy", "SymPy", "symbolic", "adjoint.symbolic")


#: Ops whose kernel moves elements, or adds and multiplies them: NumPy does that to expressions too.
MOVES = frozenset({
    "Reshape", "BroadcastTo", "Transpose", "Flip", "Concat", "Split", "Stack", "Unstack", "GetItem", "PutItem", "SetItem", "Sum",
    "Mean", "CumSum", "MatMul", "Einsum",
})  # fmt: skip
#: Ops that take truth values as what they are.
LOGICAL = frozenset({"Where", "BitwiseAnd", "BitwiseOr", "BitwiseXor", "BitwiseNot"})
#: Ops that hand on their first input.
HANDED_ON = frozenset({"After"})


@cache
def formulas() -> dict[str, Formula]:
    """The formula of an op's element, by the name of its card; the op itself comes first."""
    s = sympy()
    third = s.Rational(1, 3)
    table: dict[str, Formula] = {
        "Add": lambda op, x, y: x + y,
        "Sub": lambda op, x, y: x - y,
        "Mul": lambda op, x, y: x * y,
        "MaskedMul": lambda op, x, y: x * y,
        "Div": lambda op, x, y: x / y,
        "FloorDiv": lambda op, x, y: s.floor(x / y),
        "Mod": lambda op, x, y: s.Mod(x, y),
        "Pow": lambda op, x, y: x**y,
        "Neg": lambda op, x: -x,
        "Sign": lambda op, x: s.sign(x),
        "Maximum": lambda op, x, y: s.Max(x, y),
        "Minimum": lambda op, x, y: s.Min(x, y),
        "Where": lambda op, c, x, y: _chosen(s, c, x, y),
        "Equal": lambda op, x, y: s.Eq(x, y),
        "NotEqual": lambda op, x, y: s.Ne(x, y),
        "Less": lambda op, x, y: s.Lt(x, y),
        "LessEqual": lambda op, x, y: s.Le(x, y),
        "Greater": lambda op, x, y: s.Gt(x, y),
        "GreaterEqual": lambda op, x, y: s.Ge(x, y),
        "BitwiseAnd": lambda op, x, y: s.And(x, y),
        "BitwiseOr": lambda op, x, y: s.Or(x, y),
        "BitwiseXor": lambda op, x, y: s.Xor(x, y),
        "BitwiseNot": lambda op, x: s.Not(x),
        "Real": lambda op, x: s.re(x),
        "Imag": lambda op, x: s.im(x),
        "Conj": lambda op, x: s.conjugate(x),
        "Floor": lambda op, x: s.floor(x),
        "Ceil": lambda op, x: s.ceiling(x),
        "Expm1": lambda op, x: s.exp(x) - 1,
        "Log1p": lambda op, x: s.log(1 + x),
        "Log2": lambda op, x: s.log(x) / s.log(2),
        "Log10": lambda op, x: s.log(x) / s.log(10),
        "LogAddExp": lambda op, x, y: s.log(s.exp(x) + s.exp(y)),
        "Cbrt": lambda op, x: s.sign(x) * s.Abs(x) ** third,
        "Atan2": lambda op, y, x: s.atan2(y, x),
        "Relu": lambda op, x: s.Max(0, x),
        "Sigmoid": lambda op, x: 1 / (1 + s.exp(-x)),
        "Softplus": lambda op, x: s.log(1 + s.exp(x)),
        "Lgamma": lambda op, x: s.loggamma(x),
        "Polygamma": lambda op, x: s.polygamma(op.order, x),
        "Bessel": lambda op, x: getattr(s, f"bessel{op.kind[0]}")(op.order, x),
    }
    return table | {name: _named(getattr(s, function)) for name, function in NAMED.items()}


NAMED = {
    "Abs": "Abs", "Exp": "exp", "Log": "log", "Sqrt": "sqrt", "Sin": "sin", "Cos": "cos", "Tan": "tan", "Asin": "asin",
    "Acos": "acos", "Atan": "atan", "Sinh": "sinh", "Cosh": "cosh", "Tanh": "tanh", "Asinh": "asinh", "Acosh": "acosh",
    "Atanh": "atanh", "Erf": "erf", "Erfc": "erfc", "Erfinv": "erfinv",
}  # fmt: skip


def _chosen(s: Any, c: Any, x: Any, y: Any) -> Any:
    """One of two values by a condition; the larger or the smaller one by its name, as Python's `max` and `min` are traced."""
    if isinstance(c, (s.StrictLessThan, s.LessThan, s.StrictGreaterThan, s.GreaterThan)) and {x, y} == {c.lhs, c.rhs}:
        upper = c.rhs if isinstance(c, (s.StrictLessThan, s.LessThan)) else c.lhs
        return s.Max(x, y) if x == upper else s.Min(x, y)
    return s.Piecewise((x, c), (y, True))


def _named(function: Any) -> Formula:
    return lambda op, x: function(x)


def number(value: Any) -> Any:
    """A number of Python's as SymPy writes it: exactly, 0.1 as 1/10, which is the float 0.1 when it is computed.

    >>> number(0.1), number(2.0), number(3.141592653589793)
    (1/10, 2, pi)
    """
    s = sympy()
    if isinstance(value, bool):
        return s.true if value else s.false
    if isinstance(value, int):
        return s.Integer(value)
    if isinstance(value, complex):
        return number(value.real) + s.I * number(value.imag)
    if not math.isfinite(value):
        return s.nan if math.isnan(value) else s.oo if value > 0 else -s.oo
    if value == int(value) and abs(value) < 2**53:
        return s.Integer(int(value))
    for k, m in ((1, 1), (2, 1), (1, 2), (1, 3), (1, 4), (1, 6), (4, 1), (1, 180)):
        if abs(value) == math.pi * k / m:
            return s.pi * s.Rational(k, m) * (1 if value > 0 else -1)
    if value == math.e:
        return s.E
    digits = repr(abs(value)).split("e")[0].replace(".", "").strip("0")
    return s.Rational(repr(value)) if len(digits) <= 15 else s.Float(value, 17)

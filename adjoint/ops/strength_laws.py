"""Cheaper forms of costly steps, one law a row. No result changes beyond rounding, and nothing finite becomes infinite or NaN.

What is left alone, and why: `-(a - b)` is not `b - a` (the sign of a zero), `x / c` is `x * (1 / c)` only where 1 / c is exact,
`x * c * d` is `x * (c * d)` only where neither order overflows or underflows alone, `x ** 0.5` is a square root only where x is
known not to be negative (it is +inf for -inf), and a masked product stays one unless both factors are known to be finite.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from adjoint.core.spec import is_half, is_inexact
from adjoint.ops.arithmetic import Abs, Add, Div, FloorDiv, MaskedMul, Mod, Mul, Neg, Pow, Sub
from adjoint.ops.bitwise import BitwiseAnd, BitwiseNot, RightShift
from adjoint.ops.broadcasting import BroadcastTo
from adjoint.ops.card import Op, card
from adjoint.ops.casting import Cast
from adjoint.ops.compare import Equal, Greater, GreaterEqual, Less, LessEqual, Maximum, Where
from adjoint.ops.facts import Rewriter
from adjoint.ops.laws import STRENGTH, Law, constant, made_by, number
from adjoint.ops.movement import Reshape, Transpose
from adjoint.ops.reduce import Max, Mean, Min, Sum
from adjoint.ops.slicing import GetItem
from adjoint.ops.transcendental import Exp, Sigmoid, Softplus, Sqrt
from adjoint.ops.trigonometric import Cos, Cosh

#: How far a fact about a value is traced through the steps that made it.
DEPTH = 8

# ---------------------------------------------------------------- facts about values


def nonnegative(x: Any, depth: int = DEPTH) -> bool:
    """Whether a real value can be neither negative nor -0.0, whatever the inputs are. (It may be NaN.)"""
    if x.op.is_constant:
        return x.dtype.kind in "fiub" and not np.signbit(np.asarray(x.op.value, float)).any()
    if depth == 0 or x.dtype.kind != "f":  # a product of integers may wrap around
        return False

    def down(n: Any) -> bool:
        return nonnegative(n, depth - 1)

    match x.op:
        case Exp() | Abs() | Sigmoid() | Softplus() | Cosh():
            return True
        case Mul() if x.inputs[0] is x.inputs[1]:
            return True
        case Pow():
            return number(x.inputs[1]) in (2, 4)
        case Add() | Mul() | Div():
            return all(map(down, x.inputs))
        case Maximum():
            return any((number(n) or 0) > 0 for n in x.inputs) or all(map(down, x.inputs))
        case Sqrt() | Sum() | Mean() | Max() | Min() | BroadcastTo() | Reshape() | Transpose() | GetItem():
            return down(x.inputs[0])
    return False


def finite(x: Any, depth: int = DEPTH) -> bool:
    """Whether a value can be neither infinite nor NaN, whatever the inputs are."""
    if depth == 0:
        return False
    if x.op.is_constant:
        return bool(np.isfinite(x.op.value).all())
    match x.op:
        case Cast():
            return x.inputs[0].dtype.kind in "biu" and not is_half(x.dtype)
        case Where():
            return all(finite(n, depth - 1) for n in x.inputs[1:])
        case Neg() | BroadcastTo() | Reshape() | Transpose() | GetItem():
            return finite(x.inputs[0], depth - 1)
    return x.dtype.kind in "biu"


# ---------------------------------------------------------------- laws


def _power(b: Rewriter, op: Op, x: Any, y: Any) -> Any:
    """A small whole power by multiplications; one and a half, and such, by a square root."""
    n = number(y)
    if n in (3, 4) and x.dtype.kind in "fiu":
        square = b(card(Mul), x, x)
        return b(card(Mul), square, x if n == 3 else square)
    if x.dtype.kind != "f" or n not in (-3, -2, -1.5, -1, -0.5, 0.5, 1.5, 2.5):
        return None
    if 2 * n % 2:
        return None if is_half(x.dtype) and abs(n) != 0.5 else _half_power(b, x, n)
    # The reciprocal first: the power of a large x would overflow where the result is still a small number.
    once = twice = b(card(Div), b.const(1.0), x)
    for _ in range(int(-n) - 1):
        twice = b(card(Mul), twice, once)
    return twice


def _half_power(b: Rewriter, x: Any, n: float) -> Any:
    """By a square root, and no product that leaves the range before the result does.

    The powers of -0.0 and -inf are those of 0.0 and inf, but for x ** 0.5, which is NumPy's square root.
    """
    if n != 0.5 and not nonnegative(x):
        extreme = b(card(Equal), b(card(Add), x, x), x)
        x = b(card(Where), extreme, b(card(Abs), x), x)
    found = b(card(Sqrt), x)
    if n < 0:
        found = b(card(Div), b.const(1.0), found)
        return found if n == -0.5 else b(card(Div), found, x)
    for _ in range(int(n)):
        found = b(card(Mul), found, x)
    return found


def _reciprocal(b: Rewriter, op: Op, x: Any, y: Any) -> Any:
    """x / c as x * (1 / c), for powers of two: both are exact."""
    if not y.op.is_constant or y.dtype.kind not in "fi" or is_half(y.dtype):
        return None
    dtype = b.spec(op, x, y).dtype
    value = np.asarray(y.op.value)
    if value.size == 0 or value.size > 4096 or dtype.kind != "f" or is_half(dtype):
        return None
    with np.errstate(all="ignore"):
        wide = value.astype(dtype)
        inverse = 1 / wide
        normal = np.isfinite(inverse) & (np.abs(inverse) >= np.finfo(dtype).tiny)
        if not (normal & (np.abs(np.frexp(wide)[0]) == 0.5) & (wide == value)).all():
            return None
    return b(card(Mul), x, b.const(float(inverse) if y.spec.weak else inverse))


def _two_factors(b: Rewriter, op: Op, x: Any, y: Any) -> Any:
    """(x * c) * d as x * (c * d), where c and d are both at least 1, or both at most 1."""
    inner, d = (x, y) if number(y) is not None else (y, x)
    if not made_by(inner, Mul) or number(d) is None or inner.dtype.kind != "f" or is_half(inner.dtype):
        return None
    z, c = inner.inputs if number(inner.inputs[1]) is not None else inner.inputs[::-1]
    if number(c) is None or number(z) is not None or c.spec != d.spec or c.dtype.kind != "f":
        return None
    if constant(c) is None or constant(d) is None:  # a broadcast of one
        return None
    with np.errstate(all="ignore"):
        product = np.multiply(c.op.value, d.op.value)
    sizes = [abs(number(c) or 0), abs(number(d) or 0)]
    if not (min(sizes) >= 1 or max(sizes) <= 1):
        return None
    wide = np.abs(np.asarray(product, inner.dtype))
    if not (np.isfinite(wide) & (wide >= np.finfo(inner.dtype).tiny)).all():
        return None
    return b(card(Mul), z, b.const(float(product) if c.spec.weak else product))


def _product_of_signs(b: Rewriter, op: Op, x: Any, y: Any) -> Any:
    """(-a) * (-b), (-a) / (-b), |a| * |a|, and (-a) * c with a constant."""
    both: type[Op]
    for both in (Neg, Abs):
        same = both is Neg or (x is y and x.dtype.kind in "fi" and isinstance(op, Mul))
        if same and made_by(x, both) and made_by(y, both):
            return b(op, x.inputs[0], y.inputs[0])
    for a, c in ((x, y), (y, x)):
        if made_by(a, Neg) and (flipped := _negated(b, c)):
            pair = (a.inputs[0], flipped)
            return b(op, *(pair if a is x else pair[::-1]))
    return None


def _negated(b: Rewriter, c: Any) -> Any:
    if not c.op.is_constant or not is_inexact(c.dtype) or is_half(c.dtype):
        return None
    return b.const(-c.op.value)


def _negative_product(b: Rewriter, op: Op, x: Any) -> Any:
    """-(a * c) with a constant, and -((-a) * b)."""
    if not (made_by(x, Mul) or made_by(x, Div)):
        return None
    for k, part in enumerate(x.inputs):
        other = x.inputs[1 - k]
        flipped = part.inputs[0] if made_by(part, Neg) else _negated(b, part)
        if flipped is not None:
            return b(x.op, *((flipped, other) if k == 0 else (other, flipped)))
    return None


def _sigmoid(b: Rewriter, op: Op, x: Any, y: Any) -> Any:
    """1 / (1 + exp(-x))."""
    if number(x) != 1 or not made_by(y, Add):
        return None
    e = y.inputs[1] if number(y.inputs[0]) == 1 else y.inputs[0] if number(y.inputs[1]) == 1 else None
    if e is None or not made_by(e, Exp) or e.dtype.kind != "f":
        return None
    return b(card(Sigmoid), e.inputs[0].inputs[0]) if made_by(e.inputs[0], Neg) else None


def _masked(b: Rewriter, op: Op, x: Any, y: Any) -> Any:
    """A product of finite factors, or by finite numbers other than 0, needs no mask. (What is bounded may be NaN: sin(inf).)"""
    plain = (finite(x) and finite(y)) or _nonzero(x) or _nonzero(y)
    return b(card(Mul), x, y) if plain else None


def _nonzero(x: Any) -> bool:
    """Whether a constant holds finite numbers, none of which is 0."""
    return x.op.is_constant and finite(x) and bool(np.all(x.op.value))


def _power_of_two(x: Any, y: Any) -> int | None:
    """The exponent of a positive whole power of two, both values being integers."""
    n = number(y)
    if x.dtype.kind not in "iu" or y.dtype.kind not in "iu" or n is None or n < 1:
        return None
    k = int(n).bit_length() - 1
    return k if int(n) == 1 << k else None


def _shift(b: Rewriter, op: Op, x: Any, y: Any) -> Any:
    return None if (k := _power_of_two(x, y)) is None else b(card(RightShift), x, _like(b, y, k))


def _bits(b: Rewriter, op: Op, x: Any, y: Any) -> Any:
    return None if (k := _power_of_two(x, y)) is None else b(card(BitwiseAnd), x, _like(b, y, (1 << k) - 1))


def _like(b: Rewriter, y: Any, value: int) -> Any:
    return b.const(value if y.spec.weak else np.full(y.shape, value, y.dtype))


#: `not (x < y)` is `x >= y` for integers; NaN has neither.
OPPOSITE: dict[type[Op], type[Op]] = {
    Less: GreaterEqual, GreaterEqual: Less, Greater: LessEqual, LessEqual: Greater,
}  # fmt: skip


def _opposite(b: Rewriter, op: Op, x: Any) -> Any:
    other: Any = OPPOSITE.get(type(x.op))
    return b(card(other), *x.inputs) if other and all(n.dtype.kind in "biu" for n in x.inputs) else None


#: (name, op, law), as in `algebra_laws`.
_LAWS: list[tuple[str, type[Op], Law]] = [
    ("small powers", Pow, _power),
    ("x / 2**k", Div, _reciprocal),
    ("1 / (1 + exp(-x))", Div, _sigmoid),
    ("x * c * d", Mul, _two_factors),
    ("signs of a product", Mul, _product_of_signs),
    ("signs of a quotient", Div, _product_of_signs),
    ("-(x * c)", Neg, _negative_product),
    ("x + (-y)", Add, lambda b, op, x, y: b(card(Sub), x, n.inputs[0]) if (n := made_by(y, Neg)) else None),
    ("(-x) + y", Add, lambda b, op, x, y: b(card(Sub), y, n.inputs[0]) if (n := made_by(x, Neg)) else None),
    ("x - (-y)", Sub, lambda b, op, x, y: b(card(Add), x, n.inputs[0]) if (n := made_by(y, Neg)) else None),
    ("|-x|", Abs, lambda b, op, x: b(op, n.inputs[0]) if (n := made_by(x, Neg)) and x.dtype.kind != "u" else None),
    ("| |x| |", Abs, lambda b, op, x: made_by(x, Abs)),
    ("cos(-x)", Cos, lambda b, op, x: b(op, n.inputs[0]) if (n := made_by(x, Neg)) else None),
    ("finite masked product", MaskedMul, _masked),
    ("x // 2**k", FloorDiv, _shift),
    ("x % 2**k", Mod, _bits),
    ("not (x < y)", BitwiseNot, _opposite),
]

STRENGTH.extend(_LAWS)

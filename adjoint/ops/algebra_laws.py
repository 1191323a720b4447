"""Identities of the op language, one a row: what the pass `algebra` applies.

There is no `x * 0 -> 0` (x may be infinite), no `x - x -> 0` and no `x + 0.0 -> x` (x may be -0.0). The one liberty is the sign of
a zero in `x + zeros`, of which rules make many. What stops a gradient stays.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from adjoint.core.spec import Shape, is_inexact
from adjoint.ops.arithmetic import Add, Div, MaskedMul, Mul, Neg, Pow, Sub
from adjoint.ops.bitwise import BitwiseAnd, BitwiseNot, BitwiseOr
from adjoint.ops.broadcasting import BroadcastTo
from adjoint.ops.card import Op, card
from adjoint.ops.casting import Cast
from adjoint.ops.compare import Equal, NotEqual, Where
from adjoint.ops.complex_parts import Conj, Real
from adjoint.ops.facts import Rewriter
from adjoint.ops.index import ScatterAdd
from adjoint.ops.laws import ALGEBRA, Law, made_by, number, truth
from adjoint.ops.movement import Reshape, Transpose
from adjoint.ops.reduce import Mean, Sum
from adjoint.ops.slicing import Flip, GetItem, PutItem, SetItem
from adjoint.ops.stacking import Stack, Unstack

#: (name, op, law).
_LAWS: list[tuple[str, type[Op], Law]] = [
    ("x + 0", Add, lambda b, op, x, y: x if _neutral(x, y, -0.0) else y if _neutral(y, x, -0.0) else None),
    ("x + (y + scattered)", Add, lambda b, op, x, y: _scattered_last(b, op, x, y) or _scattered_last(b, op, y, x)),
    ("x - 0", Sub, lambda b, op, x, y: x if _neutral(x, y, 0.0) else None),
    ("x * 1", Mul, lambda b, op, x, y: x if number(y) == 1 else y if number(x) == 1 else None),
    ("x * -1", Mul, lambda b, op, x, y: b(card(Neg), x) if number(y) == -1 else b(card(Neg), y) if number(x) == -1 else None),
    ("g * 1, masked", MaskedMul, lambda b, op, g, p: g if number(p) == 1 else None),
    ("g * c, masked", MaskedMul, lambda b, op, g, p: b(card(Mul), g, p) if _finite(p) else None),
    ("g * 0, masked", MaskedMul, lambda b, op, g, p: _zeros(b, p, g) if number(p) == 0 else _zeros(b, g, p) if number(g) == 0 else None),
    ("1 * p, masked", MaskedMul, lambda b, op, g, p: p if number(g) == 1 else None),
    ("x / 1", Div, lambda b, op, x, y: x if number(y) == 1 else None),
    ("x ** 1", Pow, lambda b, op, x, y: x if number(y) == 1 else None),
    ("x ** 2", Pow, lambda b, op, x, y: b(card(Mul), x, x) if number(y) == 2 else None),
    ("-(-x)", Neg, lambda b, op, x: n.inputs[0] if (n := made_by(x, Neg)) else None),
    ("conj(conj(x))", Conj, lambda b, op, x: n.inputs[0] if (n := made_by(x, Conj)) else None),
    ("real(real x)", Real, lambda b, op, x: x if x.dtype.kind == "f" else None),
    ("cast to its own dtype", Cast, lambda b, op, x: x if x.dtype == op.dtype else None),
    ("cast of cast", Cast, lambda b, op, x: b(op, n.inputs[0]) if (n := made_by(x, Cast)) and _exact(n, op) else None),
    ("where(c, x, x)", Where, lambda b, op, c, x, y: x if x is y else None),
    ("where(true, x, y)", Where, lambda b, op, c, x, y: None if truth(c) is None else x if truth(c) else y),
    ("where(not c, x, y)", Where, lambda b, op, c, x, y: b(op, n.inputs[0], y, x) if (n := _negation(c)) else None),
    ("x == false", Equal, lambda b, op, x, y: b(card(BitwiseNot), x) if x.dtype.kind == "b" and _false(y) else None),
    ("not not x", BitwiseNot, lambda b, op, x: n.inputs[0] if (n := made_by(x, BitwiseNot)) else None),
    ("not (x == y)", BitwiseNot, lambda b, op, x: b(card(NotEqual), *n.inputs) if (n := made_by(x, Equal)) else None),
    ("not (x != y)", BitwiseNot, lambda b, op, x: b(card(Equal), *n.inputs) if (n := made_by(x, NotEqual)) else None),
    ("x and true", BitwiseAnd, lambda b, op, x, y: _logic(x, y, True)),
    ("x or false", BitwiseOr, lambda b, op, x, y: _logic(x, y, False)),
    ("reshape to its own shape", Reshape, lambda b, op, x: x if x.shape == op.shape else None),
    ("reshape of reshape", Reshape, lambda b, op, x: reshape_again(b, op, x)),
    ("broadcast of broadcast", BroadcastTo, lambda b, op, x: b(op, n.inputs[0]) if (n := made_by(x, BroadcastTo)) else None),
    ("broadcast to its own shape", BroadcastTo, lambda b, op, x: x if x.shape == op.shape else None),
    ("transpose that changes nothing", Transpose, lambda b, op, x: x if op.perm == tuple(range(len(op.perm))) else None),
    ("transpose of transpose", Transpose, lambda b, op, x: transpose_again(b, op, x)),
    ("flip of flip", Flip, lambda b, op, x: n.inputs[0] if (n := made_by(x, Flip)) and set(n.op.axes) == set(op.axes) else None),
    ("zeros put into zeros", PutItem, lambda b, op, x: _filled(b, 0, op.shape, x.dtype) if number(x) == 0 else None),
    ("x[i] = u; x[i] = v", SetItem, lambda b, op, x, v: b(op, n.inputs[0], v) if (n := made_by(x, SetItem)) and n.op == op else None),
    ("x[i] = v; x[i]", GetItem, lambda b, op, x: _what_was_set(b, op, n) if (n := made_by(x, SetItem)) else None),
    ("stack of the parts of an array", Stack, lambda b, op, *xs: _put_together(op, xs)),
    ("sum over no axis", Sum, lambda b, op, x: x if not op.axes else None),
    ("mean over no axis", Mean, lambda b, op, x: x if not op.axes else None),
]  # fmt: skip


def _what_was_set(b: Rewriter, op: Any, stored: Any) -> Any:
    """The part of an array in which something has just been set, if it is just that part."""
    x, v = stored.inputs
    if stored.op.index != op.index:
        return None
    part, value = op.infer(x.spec), number(v)
    if v.dtype == x.dtype:
        return v if v.shape == part.shape else b(card(BroadcastTo, part.shape), v)
    return _filled(b, value, part.shape, x.dtype) if value is not None and abs(value) < 2**24 else None


def _put_together(op: Any, xs: tuple[Any, ...]) -> Any:
    """What was taken apart and is put together again as it was."""
    whole = xs[0].inputs[0] if xs[0].inputs else None
    if whole is None or not made_by(whole, Unstack) or whole.op.axis != op.axis or len(xs) != len(whole.spec):
        return None
    return whole.inputs[0] if all(x.inputs == (whole,) and x.op.index == k for k, x in enumerate(xs)) else None


def _neutral(x: Any, y: Any, zero: float) -> bool:
    """Whether a summand y changes nothing: a number that the user has written gives the zeros among floats its sign."""
    value = number(y)
    return value == 0 and (not (y.spec.weak and is_inexact(x.dtype)) or bool(np.signbit(value) == np.signbit(zero)))


def _finite(p: Any) -> bool:
    """Whether a factor needs no mask: finite, and not the 0 that hides an infinity on the other side."""
    value = number(p)
    return value is not None and value != 0 and bool(np.isfinite(value))


def _scattered_last(b: Rewriter, op: Op, x: Any, y: Any) -> Any:
    """x + (y + values put into zeros) as (x + y) + values: sums of single elements then need no array of their own."""
    if not made_by(y, Add) or x.spec != y.spec or _scattered(x):
        return None
    rest, last = y.inputs if _scattered(y.inputs[1]) else y.inputs[::-1]
    return b(op, b(op, x, rest), last) if _scattered(last) and rest.spec == last.spec else None


def _scattered(x: Any) -> bool:
    into = x.inputs[0].op if made_by(x, ScatterAdd) else None
    return into is not None and into.is_constant and not np.any(into.value)


def _zeros(b: Rewriter, zero: Any, other: Any) -> Any:
    """Zeros of the shape and dtype of a product."""
    spec = b.spec(card(Mul), zero, other)
    if min(spec.shape, default=0) < 0:  # a size known at run time only
        return None
    return _filled(b, 0, spec.shape, spec.dtype)


def _filled(b: Rewriter, value: float, shape: Shape, dtype: np.dtype) -> Any:
    """The same number everywhere."""
    scalar = b.const(np.asarray(value, dtype))
    return b(card(BroadcastTo, shape), scalar) if shape else scalar


def _exact(inner: Any, outer: Any) -> bool:
    """Whether the inner cast loses nothing, so that the outer one may start from its input."""
    was, is_, will = inner.inputs[0].dtype, inner.dtype, outer.dtype
    if will.kind in "iu" and is_.kind not in "biu":
        return False  # what becomes of NaN depends on the dtype it comes from
    if was.kind in "iu" and is_inexact(is_):
        return was.itemsize * 8 <= {2: 8, 4: 24, 8: 53, 16: 53}[is_.itemsize if is_.kind != "c" else is_.itemsize // 2]
    return np.can_cast(was, is_, "safe")


def _negation(c: Any) -> Any:
    return made_by(c, BitwiseNot) if c.dtype.kind == "b" else None


def _false(y: Any) -> bool:
    return truth(y) is False or number(y) == 0


def _logic(x: Any, y: Any, neutral: bool) -> Any:
    """The other operand of a neutral truth value; True is neutral for booleans only, not for the bits of integers."""
    if not x.dtype.kind == y.dtype.kind == "b":
        return None
    return x if truth(y) is neutral else y if truth(x) is neutral else None


def reshape_again(b: Rewriter, op: Any, x: Any) -> Any:
    """A reshape of a reshape, as one."""
    inner = made_by(x, Reshape)
    return b(card(Reshape, op.shape), inner.inputs[0]) if inner else None


def transpose_again(b: Rewriter, op: Any, x: Any) -> Any:
    """A transpose of a transpose, as one or none."""
    inner = made_by(x, Transpose)
    if not inner:
        return None
    perm = tuple(inner.op.perm[a] for a in op.perm)
    return inner.inputs[0] if perm == tuple(range(len(perm))) else b(card(Transpose, perm), inner.inputs[0])


ALGEBRA.extend(_LAWS)

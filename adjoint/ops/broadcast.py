"""Helpers of the rules: undo broadcasting, line up batch axes, multiply derivatives safely. All written in ops."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

from adjoint.core.absent import ZERO, add
from adjoint.core.spec import Shape, dtype_of, shape_of
from adjoint.ops import language as F


def unbroadcast_axes(small: Shape, big: Shape) -> tuple[int, ...]:
    """Axes of `big` that broadcasting added to or stretched from `small`.

    >>> unbroadcast_axes((1, 3), (2, 4, 3))
    (0, 1)
    """
    lead = len(big) - len(small)
    # Size 1 against size 1 was not broadcast: summing it would drop an axis for nothing.
    return tuple(a for a, n in enumerate(big) if a < lead or small[a - lead] == 1 != n)


def sum_to(g: Any, shape: Shape) -> Any:
    """Undo broadcasting: add up `g` until it has `shape`."""
    have = shape_of(g)
    if have == shape:
        return g
    axes = unbroadcast_axes(shape, have)
    g = F.sum_axes(g, axes) if axes else g
    return g if shape_of(g) == shape else F.reshape(g, shape)


def match(g: Any, x: Any) -> Any:
    """Give a cotangent the shape and dtype of the input it belongs to."""
    try:
        if g.shape == x.shape and g.dtype is x.dtype:
            return g
    except AttributeError:  # a Python number
        pass
    return cast_like(sum_to(g, shape_of(x)), x)


def cast_like(g: Any, x: Any) -> Any:
    """`g` in the dtype of `x`; the real part, if `x` is real."""
    want = dtype_of(x)
    have = dtype_of(g)
    if have == want:
        return g
    if have.kind == "c" and want.kind != "c":
        g = F.real(g)
        if dtype_of(g) == want:
            return g
    return F.cast(g, want)


def spread(t: Any, y: Any) -> Any:
    """Give a tangent the shape and dtype of the result it belongs to."""
    if shape_of(t) != shape_of(y):
        t = F.broadcast_to(t, shape_of(y))
    return t if dtype_of(t) == dtype_of(y) else F.cast(t, dtype_of(y))


def conj(p: Any) -> Any:
    """Complex conjugate, free of charge for real values."""
    return F.conj(p) if dtype_of(p).kind == "c" else p


def push(ts: Sequence[Any], *terms: Callable[[Any], Any]) -> Any:
    """Sum of `terms[i](ts[i])` over the tangents that are not zero.

    >>> push([2.0, ZERO], lambda t: 3.0 * t, lambda t: 5.0 * t)
    6.0
    """
    total: Any = ZERO
    for t, term in zip(ts, terms, strict=True):
        if t is not ZERO:
            total = add(total, term(t))
    return total


def ndim(x: Any) -> int:
    return len(shape_of(x))


def batch_front(x: Any, dim: int | None) -> Any:
    """Move the batch axis, if there is one, to the front."""
    return x if dim is None or dim == 0 else F.moveaxis(x, dim, 0)


def batch_first(x: Any, dim: int | None, rank: int) -> Any:
    """Batch axis in front, then size-1 axes until `rank` axes follow it; unbatched values stay as they are."""
    if dim is None:
        return x
    x = batch_front(x, dim)
    shape = shape_of(x)
    missing = rank - (len(shape) - 1)
    return F.reshape(x, (shape[0], *(1,) * missing, *shape[1:])) if missing > 0 else x


def batch_size(dims: Sequence[int | None], xs: Sequence[Any]) -> int:
    """The common size of the batch axes."""
    return next(shape_of(x)[d] for x, d in zip(xs, dims, strict=True) if d is not None)


def batch_all(dims: Sequence[int | None], xs: Sequence[Any]) -> list[Any]:
    """Every input with a batch axis in front, repeated where it had none."""
    size = batch_size(dims, xs)
    return [
        F.broadcast_to(x, (size, *shape_of(x))) if d is None else batch_front(x, d)
        for x, d in zip(xs, dims, strict=True)
    ]

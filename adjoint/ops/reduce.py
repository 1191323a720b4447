"""Reductions along axes: sums, means, extremes and where they stand, truth of some or all elements."""

from __future__ import annotations

import builtins
import typing
from collections.abc import Callable
from dataclasses import dataclass
from functools import wraps
from math import prod

import numpy as np

from adjoint.core.errors import ArgumentError, called_at
from adjoint.core.spec import Spec, elements, float64, int64, is_inexact, normalize_axis, shape_of
from adjoint.ops import language as F
from adjoint.ops.arithmetic import Div, Mul
from adjoint.ops.broadcast import batch_front
from adjoint.ops.card import card, register
from adjoint.ops.casting import Cast
from adjoint.ops.families import Linear, NotDifferentiable, Reduction
from adjoint.ops.movement import Reshape
from adjoint.ops.publish import public

Axis = int | tuple[int, ...] | None


def axes_of(what: str, x: typing.Any, axis: typing.Any) -> tuple[int, ...]:
    """The axes as sorted non-negative numbers; None or () means all of them."""
    ndim = len(shape_of(x))
    if axis is None or (isinstance(axis, tuple) and not axis):
        return tuple(range(ndim))
    if isinstance(axis, (tuple, list)):
        axes = tuple(sorted(normalize_axis(what, a, ndim) for a in axis))
        if len(set(axes)) != len(axes):
            raise ArgumentError(f"{what}: axis {axis} names an axis twice{called_at()}")
        return axes
    return (normalize_axis(what, axis, ndim),)


def keep(keepdims: typing.Any, keep_dims: typing.Any = False) -> bool:
    """Whether reduced axes are kept, by the two names that the argument has."""
    wanted = keep_dims if keepdims is False or keepdims is None else keepdims
    if wanted is True or wanted is False:
        return wanted
    if wanted is None or isinstance(wanted, (int, np.integer, np.bool_)):
        return bool(wanted)
    raise ArgumentError(
        f"keepdims must be True or False, not {wanted!r}. A dtype or out= goes to NumPy's function: np.mean(x, axis, dtype){called_at()}"
    )


def with_axes(function: Callable[..., typing.Any]) -> Callable[..., typing.Any]:
    """A reduction as a method: an empty tuple of axes is refused."""

    @wraps(function)
    def method(x: typing.Any, *args: typing.Any, **options: typing.Any) -> typing.Any:
        axis = args[0] if args else options.get("axis")
        if type(axis) is tuple and not axis and x.ndim:
            raise ArgumentError(
                f"{function.__name__}: axis=() is ambiguous, all axes in MindSpore and none in NumPy: leave it out for all axes, "
                f"or write np.{function.__name__}(x, axis=()){called_at()}"
            )
        return function(x, *args, **options)

    return method


@register
@dataclass(frozen=True)
class Sum(Reduction, Linear):
    """Add up the elements along `axes`."""

    complex, total, reduction = True, True, "sum"

    def eval(self, xp, x):
        return xp.asarray(x).sum(axis=self.axes, keepdims=self.keepdims)

    def of_copies(self, b, x, count):
        return b(card(Mul), x, b.const(float(count)))

    def vjp(self, g, y, x):
        return (self.spread(g, x),)

    @classmethod
    def samples(cls, draw):
        yield from super().samples(draw)
        yield cls((0,)), (draw(0, 3),)
        yield cls((1,)), (draw(0, 3),)


@public(method=True, as_method=with_axes)
def sum(
    input: typing.Any, axis: Axis = None, dtype: typing.Any = None, keepdims: bool = False, keep_dims: bool = False
) -> typing.Any:
    """The sum along an axis, several axes, or all.

    >>> from adjoint import ops, Tensor
    >>> print(ops.sum(Tensor([[1.0, 2.0], [3.0, 4.0]]), axis=0))
    [4. 6.]
    """
    if isinstance(dtype, bool):  # x.sum(1, True) of PyTorch: NumPy's third argument is the dtype, which this is not
        dtype, keepdims = None, dtype
    if dtype is None:
        return card(Sum, axes_of("sum", input, axis), keep(keepdims, keep_dims))(input)
    x = F.cast(input, dtype)
    y = card(Sum, axes_of("sum", x, axis), keep(keepdims, keep_dims))(x)
    return y if y.dtype == np.dtype(dtype) else F.cast(y, dtype)  # sums of narrow integers are wide


@register
@dataclass(frozen=True)
class Mean(Reduction, Linear):
    """The average along `axes`."""

    complex, total, reduction = True, True, "mean"

    def eval(self, xp, x):
        x = xp.asarray(x)
        wide = xp.float64 if x.dtype.kind in "biu" else None  # a sum of integers could overflow
        return x.sum(axis=self.axes, keepdims=self.keepdims, dtype=wide) / prod(x.shape[a] for a in self.axes)

    def expand(self, b, x):
        count = prod(x.shape[a] for a in self.axes)
        if not count:
            return None
        x = x if is_inexact(x.dtype) else b(card(Cast, float64), x)
        total = b(card(Sum, self.axes), x)
        total = b(card(Reshape, self.reduced(x.shape)), total) if self.keepdims else total
        return b(card(Div), total, b.const(float(count)))

    def vjp(self, g, y, x):
        return (self.spread(g / builtins.max(prod(shape_of(x)[a] for a in self.axes), 1), x),)


@public(method=True, as_method=with_axes)
def mean(input: typing.Any, axis: Axis = None, keep_dims: bool = False, keepdims: bool = False) -> typing.Any:
    """The average along an axis, several axes, or all.

    >>> from adjoint import ops, Tensor
    >>> print(ops.mean(Tensor([1.0, 3.0])))
    2.0
    """
    return card(Mean, axes_of("mean", input, axis), keep(keepdims, keep_dims))(input)


class Peak(Reduction):
    """The largest or smallest element along `axes`: equal ones share the derivative evenly."""

    def _weights(self, y, x):
        hit = F.equal(x, F.reshape(y, self.kept(shape_of(x))))
        hit = F.cast(hit, x.dtype)
        return hit / card(Sum, self.axes, True)(hit)

    def vjp(self, g, y, x):
        return (F.reshape(g, self.kept(shape_of(x))) * self._weights(y, x),)

    def jvp(self, ts, y, x):
        return card(Sum, self.axes, self.keepdims)(ts[0] * self._weights(y, x))


@register
@dataclass(frozen=True)
class Max(Peak):
    """The largest element along `axes`."""

    reduction = "max"

    def eval(self, xp, x):
        return xp.asarray(x).max(axis=self.axes, keepdims=self.keepdims)


@register
@dataclass(frozen=True)
class Min(Peak):
    """The smallest element along `axes`."""

    reduction = "min"

    def eval(self, xp, x):
        return xp.asarray(x).min(axis=self.axes, keepdims=self.keepdims)


def _extreme(
    kind: typing.Any, position: typing.Any, x: typing.Any, axis: typing.Any, keepdims: bool, return_indices: bool
) -> typing.Any:
    values = card(kind, axes_of(kind.__name__.lower(), x, axis), keepdims)(x)
    if not return_indices:
        return values
    if not isinstance(axis, (int, np.integer)):
        raise ArgumentError(f"return_indices needs one axis, an int{called_at()}")
    where_ = position(x, axis)
    return values, (F.reshape(where_, shape_of(values)) if keepdims else where_)


@public(aliases=("amax",), method=("max", "amax"), as_method=with_axes)
def max(
    input: typing.Any,
    axis: Axis = None,
    keepdims: bool = False,
    *,
    keep_dims: bool = False,
    return_indices: bool = False,
) -> typing.Any:
    """The largest element along an axis, several axes, or all; equal ones share the derivative evenly.

    >>> import adjoint as ad
    >>> print(ad.grad(ad.ops.max)(ad.Tensor([1.0, 3.0, 3.0])))
    [0.  0.5 0.5]
    """
    return _extreme(Max, argmax, input, axis, keep(keepdims, keep_dims), return_indices)


@public(aliases=("amin",), method=("min", "amin"), as_method=with_axes)
def min(
    input: typing.Any,
    axis: Axis = None,
    keepdims: bool = False,
    *,
    keep_dims: bool = False,
    return_indices: bool = False,
) -> typing.Any:
    """The smallest element along an axis, several axes, or all; equal ones share the derivative evenly.

    >>> from adjoint import ops, Tensor
    >>> print(ops.min(Tensor([3.0, 1.0, 2.0])))
    1.0
    """
    return _extreme(Min, argmin, input, axis, keep(keepdims, keep_dims), return_indices)


amax, amin = max, min


@dataclass(frozen=True)
class Position(NotDifferentiable):
    """The position of one element along `axis`, which disappears."""

    axis: int

    def flops(self, y, x):
        return elements(y)

    def infer(self, x):
        axis = normalize_axis(self, self.axis, x.ndim)
        return Spec(x.shape[:axis] + x.shape[axis + 1 :], int64)

    def vmap(self, dims, x):
        return type(self)(self.axis + 1)(batch_front(x, dims[0]))

    @classmethod
    def samples(cls, draw):
        yield cls(0), (draw(4),)
        yield cls(1), (draw(2, 3),)

    @classmethod
    def errors(cls):
        yield cls(2), (Spec((3, 3)),), "outside the input's 2 axes"


@register
@dataclass(frozen=True)
class ArgMax(Position):
    """The position of the first largest element along `axis`."""

    def eval(self, xp, x):
        return xp.argmax(x, axis=self.axis)


@register
@dataclass(frozen=True)
class ArgMin(Position):
    """The position of the first smallest element along `axis`."""

    def eval(self, xp, x):
        return xp.argmin(x, axis=self.axis)


def _position(kind: typing.Any, x: typing.Any, axis: int | None, keepdims: bool) -> typing.Any:
    keepdims = keep(keepdims)
    if axis is None:
        flat = card(kind, 0)(F.reshape(x, (int(np.prod(shape_of(x))),)))
        return F.reshape(flat, (1,) * len(shape_of(x))) if keepdims else flat
    a = normalize_axis(kind.__name__.lower(), axis, len(shape_of(x)))
    found = card(kind, a)(x)
    return F.reshape(found, (*shape_of(x)[:a], 1, *shape_of(x)[a + 1 :])) if keepdims else found


@public(method=True)
def argmax(input: typing.Any, axis: int | None = None, keepdims: bool = False) -> typing.Any:
    """The position of the first largest element, along an axis or in the flattened input.

    >>> from adjoint import ops, Tensor
    >>> print(ops.argmax(Tensor([1.0, 3.0, 2.0])))
    1
    """
    return _position(ArgMax, input, axis, keepdims)


@public(method=True)
def argmin(input: typing.Any, axis: int | None = None, keepdims: bool = False) -> typing.Any:
    """The position of the first smallest element, along an axis or in the flattened input.

    >>> from adjoint import ops, Tensor
    >>> print(ops.argmin(Tensor([3.0, 1.0, 2.0])))
    1
    """
    return _position(ArgMin, input, axis, keepdims)


@register
@dataclass(frozen=True)
class Any(Reduction, NotDifferentiable):
    """Whether some element along `axes` is true."""

    total, reduction = True, "any"

    def eval(self, xp, x):
        return xp.asarray(x).any(axis=self.axes, keepdims=self.keepdims)


@public(method=True, as_method=with_axes)
def any(input: typing.Any, axis: Axis = None, keep_dims: bool = False, keepdims: bool = False) -> typing.Any:
    """Whether some element is true or not zero.

    >>> from adjoint import ops, Tensor
    >>> print(ops.any(Tensor([False, True])))
    True
    """
    return card(Any, axes_of("any", input, axis), keep(keepdims, keep_dims))(input)


@register
@dataclass(frozen=True)
class All(Reduction, NotDifferentiable):
    """Whether every element along `axes` is true."""

    total, reduction = True, "all"

    def eval(self, xp, x):
        return xp.asarray(x).all(axis=self.axes, keepdims=self.keepdims)


@public(method=True, as_method=with_axes)
def all(input: typing.Any, axis: Axis = None, keep_dims: bool = False, keepdims: bool = False) -> typing.Any:
    """Whether every element is true or not zero.

    >>> from adjoint import ops, Tensor
    >>> print(ops.all(Tensor([False, True])))
    False
    """
    return card(All, axes_of("all", input, axis), keep(keepdims, keep_dims))(input)

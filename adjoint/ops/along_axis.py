"""Ops along one axis that keep its length: sorted and running values."""

from __future__ import annotations

import dis
from collections.abc import Callable
from dataclasses import dataclass
from functools import wraps
from math import log2
from typing import Any

import numpy as np

from adjoint.core.errors import AdjointError, ArgumentError, ShapeError, called_at, user_frame
from adjoint.core.spec import Spec, dtype_of, elements, int64, normalize_axis, shape_of, uint64
from adjoint.ops.broadcast import batch_front
from adjoint.ops.card import card, register
from adjoint.ops.families import Linear, NotDifferentiable
from adjoint.ops.index import take_along_axis
from adjoint.ops.language import bitwise_not, cast, reshape, stop_gradient
from adjoint.ops.publish import public


@dataclass(frozen=True)
class AlongAxis:
    """Ops along one `axis` that keep the shape."""

    axis: int

    def flops(self, y, x):
        return elements(y)

    def infer(self, x):
        normalize_axis(self, self.axis, x.ndim)
        return Spec(x.shape, x.dtype)

    @classmethod
    def errors(cls):
        yield cls(2), (Spec((3, 3)),), "outside the input's 2 axes"


@register
@dataclass(frozen=True)
class ArgSort(AlongAxis, NotDifferentiable):
    """The permutation that sorts `axis`; equal elements keep their order."""

    axis: int
    descending: bool = False

    def flops(self, y, x):
        n = elements(x)
        return int(2 * n * log2(max(n, 2)))

    def infer(self, x):
        return Spec(super().infer(x).shape, int64)

    def eval(self, xp, x):
        if not self.descending:
            return xp.argsort(x, axis=self.axis, stable=True)
        # Sorting the reversed array and counting from its end keeps the order of equal elements.
        size = x.shape[self.axis]
        order = xp.argsort(xp.flip(x, self.axis), axis=self.axis, stable=True)
        return size - 1 - xp.flip(order, self.axis)

    def vmap(self, dims, x):
        return ArgSort(self.axis + 1, self.descending)(batch_front(x, dims[0]))

    @classmethod
    def samples(cls, draw):
        yield cls(0), (draw(5),)
        yield cls(1, True), (draw(2, 4),)


@public(method=True)
def argsort(input: Any, axis: int = -1, descending: bool = False) -> Any:
    """The permutation that sorts an axis; equal elements keep their order.

    >>> from adjoint import ops, Tensor
    >>> print(ops.argsort(Tensor([3.0, 1.0, 2.0])))
    [1 2 0]
    """
    return card(ArgSort, normalize_axis("argsort", axis, len(shape_of(input))), descending)(input)


def _kept(sort: Callable[..., Any]) -> Callable[..., Any]:
    """`sort` as a method, where NumPy's sorts in place: a call whose result goes nowhere is refused."""

    @wraps(sort)
    def method(x: Any, *args: Any, **options: Any) -> Any:
        if _is_discarded():
            raise AdjointError(
                "x.sort() returns the sorted values and their indices and leaves x as it is, where NumPy's sorts in place. "
                f"Write x = np.sort(x), or values, indices = x.sort(){called_at()}"
            )
        return sort(x, *args, **options)

    return method


def _is_discarded() -> bool:
    """Whether the user's statement that is being run is a bare call, whose result goes nowhere."""
    frame = user_frame()
    following = (i for i in dis.get_instructions(frame.f_code) if i.offset > frame.f_lasti) if frame else iter(())
    return next((i.opname == "POP_TOP" for i in following if i.opname != "CACHE"), False)


@public(method=True, as_method=_kept)
def sort(input: Any, axis: int = -1, descending: bool = False) -> tuple[Any, Any]:
    """The elements of an axis in order, and where each came from.

    >>> from adjoint import ops, Tensor
    >>> values, positions = ops.sort(Tensor([3.0, 1.0, 2.0]))
    >>> print(values, positions)
    [1. 2. 3.] [1 2 0]
    """
    order = argsort(input, axis, descending)
    return take_along_axis(input, order, axis), order


@public(method=True)
def topk(input: Any, k: int, dim: int | None = None, largest: bool = True, sorted: bool = True) -> tuple[Any, Any]:
    """The k largest (or smallest) elements of an axis, by default the last, in order, and their positions.

    >>> from adjoint import ops, Tensor
    >>> values, positions = ops.topk(Tensor([3.0, 1.0, 2.0]), 2)
    >>> print(values, positions)
    [3. 2.] [0 2]
    """
    axis = normalize_axis("topk", -1 if dim is None else dim, len(shape_of(input)))
    if not 0 <= k <= shape_of(input)[axis]:
        raise ArgumentError(f"topk: k={k} of an axis with {shape_of(input)[axis]} elements{called_at()}")
    order = card(ArgTopK, axis, k, largest)(stop_gradient(input))
    return take_along_axis(input, order, axis), order


@register
@dataclass(frozen=True)
class ArgTopK(AlongAxis, NotDifferentiable):
    """The positions of the k largest (or smallest) elements along `axis`, in order; the first of equal ones comes first."""

    axis: int
    k: int = 1
    largest: bool = True

    def infer(self, x):
        self._check(super().infer(x).shape[self.axis])
        return Spec((*x.shape[: self.axis], self.k, *x.shape[self.axis + 1 :]), int64)

    def _check(self, size):
        if not 0 <= self.k <= size:
            raise ShapeError(f"{self}: k={self.k} of an axis with {size} elements")

    def eval(self, xp, x):
        size = x.shape[self.axis]
        self._check(size)
        if xp is not np or size < FEW or not 0 < 4 * self.k <= size:  # sorting everything costs no more
            return self._sorted(xp, x)
        line = np.moveaxis(np.asarray(x), self.axis, -1)
        nth = size - self.k if self.largest else self.k - 1
        bound = np.partition(line, nth, -1)[..., nth : nth + 1]
        beyond, level = _beyond(line, bound, self.largest), _level(line, bound)
        left = self.k - np.count_nonzero(beyond, -1, keepdims=True)
        chosen = beyond | (level & (np.cumsum(level, -1) <= left))
        places = np.nonzero(chosen.reshape(-1, size))[1].reshape(*line.shape[:-1], self.k)
        order = ArgSort(line.ndim - 1, self.largest).eval(np, np.take_along_axis(line, places, -1))
        return np.moveaxis(np.take_along_axis(places, order, -1), -1, self.axis).astype(np.int64, copy=False)

    def _sorted(self, xp, x):
        order = ArgSort(self.axis, self.largest).eval(xp, x)
        return order[(slice(None),) * self.axis + (slice(0, self.k),)]

    def vmap(self, dims, x):
        return ArgTopK(self.axis + 1, self.k, self.largest)(batch_front(x, dims[0]))

    @classmethod
    def samples(cls, draw):
        yield cls(0, 2), (draw(5),)
        yield cls(1, 3, False), (draw(2, 4),)
        yield cls(0, 2), (draw(100, 2),)

    @classmethod
    def errors(cls):
        yield cls(2), (Spec((3, 3)),), "outside the input's 2 axes"
        yield cls(0, 4), (Spec((3,)),), "k=4 of an axis with 3 elements"


FEW = 64  # elements that are sorted as fast as they are parted
MOST_PLACES = 8  # at which a line is parted; with more of them it is sorted


def _beyond(x, bound, largest):
    """Which elements come before those at the bound; a NaN counts as the largest."""
    if x.dtype.kind != "f":
        return x > bound if largest else x < bound
    if largest:
        return (x > bound) | (np.isnan(x) & ~np.isnan(bound))
    return (x < bound) | (np.isnan(bound) & ~np.isnan(x))


def _level(x, bound):
    """Which elements are as large as the bound."""
    return (x == bound) | (np.isnan(x) & np.isnan(bound)) if x.dtype.kind == "f" else x == bound


@register
@dataclass(frozen=True)
class ArgPartition(AlongAxis, NotDifferentiable):
    """A permutation that puts the elements of `kth` along `axis` where sorting would, smaller ones before them.

    NumPy leaves the order within the parts open; here elements keep theirs, or all are sorted if there are few.
    """

    axis: int
    kth: tuple[int, ...] = (0,)

    def infer(self, x):
        size = super().infer(x).shape[self.axis]
        if any(not -size <= k < size for k in self.kth):
            raise ShapeError(f"{self}: kth is outside the {size} elements of axis {self.axis}")
        return Spec(x.shape, int64)

    def eval(self, xp, x):
        size = x.shape[self.axis]
        if xp is not np or self.sorts(size):
            return xp.argsort(x, axis=self.axis, stable=True)
        line = np.moveaxis(np.asarray(x), self.axis, -1)
        places = self.places(size)
        bounds = np.partition(line, places, -1)[..., places]
        part = np.zeros(line.shape, np.uint8)
        for k in range(len(places)):
            after = _beyond(line, bounds[..., k : k + 1], True)
            part += after
            part += after | _level(line, bounds[..., k : k + 1])
        order = np.argsort(part, axis=-1, stable=True)
        return np.moveaxis(order, -1, self.axis).astype(np.int64, copy=False)

    def places(self, size: int) -> list[int]:
        """The places at which a line of this size is parted, in order."""
        return sorted({k % size for k in self.kth})

    def sorts(self, size: int) -> bool:
        """Whether a line of this size is sorted."""
        return size < FEW or len(self.places(size)) > MOST_PLACES

    def vmap(self, dims, x):
        return ArgPartition(self.axis + 1, self.kth)(batch_front(x, dims[0]))

    @classmethod
    def samples(cls, draw):
        yield cls(0, (2,)), (draw(5),)
        yield cls(1, (0, 2)), (draw(2, 4),)


@register
@dataclass(frozen=True)
class CumSum(AlongAxis, Linear):
    """Running sum along `axis`, from the end if `reverse`."""

    axis: int
    reverse: bool = False

    complex, total = True, True

    def infer(self, x):
        return Spec(super().infer(x).shape, {"b": int64, "i": int64, "u": uint64}.get(x.dtype.kind, x.dtype))

    def eval(self, xp, x):
        if self.reverse:
            return xp.flip(xp.cumsum(xp.flip(x, self.axis), axis=self.axis), self.axis)
        return xp.cumsum(x, axis=self.axis)

    def vjp(self, g, y, x):
        return (CumSum(self.axis, not self.reverse)(g),)  # the transpose sums the other way

    def vmap(self, dims, x):
        return CumSum(self.axis + 1, self.reverse)(batch_front(x, dims[0]))

    @classmethod
    def samples(cls, draw):
        yield cls(0), (draw(4),)
        yield cls(1, True), (draw(2, 3),)
        yield cls(0), (draw(0, 2),)


@public(method=True)
def cumsum(x: Any, axis: int | None = None, dtype: Any = None) -> Any:
    """Running sum along an axis, or of the flattened input.

    >>> from adjoint import ops, Tensor
    >>> print(ops.cumsum(Tensor([1.0, 2.0, 3.0]), 0))
    [1. 3. 6.]
    """
    x = x if dtype is None else cast(x, dtype)
    x, axis = (flatten_all(x), 0) if axis is None else (x, normalize_axis("cumsum", axis, len(shape_of(x))))
    y = card(CumSum, axis, False)(x)
    return y if dtype is None or y.dtype == np.dtype(dtype) else cast(y, dtype)  # sums of narrow integers are wide


def flatten_all(x: Any) -> Any:
    """All axes in one."""
    return reshape(x, (int(np.prod(shape_of(x))),))


@register
@dataclass(frozen=True)
class CumArgMax(AlongAxis, NotDifferentiable):
    """Where the largest element so far stands, along `axis`; of equal ones the last."""

    axis: int

    def infer(self, x):
        return Spec(super().infer(x).shape, int64)

    def eval(self, xp, x):
        peaks = xp.maximum.accumulate(x, axis=self.axis)
        shape = [1] * x.ndim
        shape[self.axis] = -1
        here = xp.arange(x.shape[self.axis]).reshape(shape)
        found = xp.where((x == peaks) | (x != x), here, 0)
        return xp.maximum.accumulate(found, axis=self.axis)

    def vmap(self, dims, x):
        return CumArgMax(self.axis + 1)(batch_front(x, dims[0]))

    @classmethod
    def samples(cls, draw):
        yield cls(0), (draw(5),)
        yield cls(1), (draw(2, 4),)


@public(method=True)
def cummax(input: Any, axis: int) -> tuple[Any, Any]:
    """The largest element so far along an axis, and its position.

    >>> from adjoint import ops, Tensor
    >>> values, positions = ops.cummax(Tensor([1.0, 3.0, 2.0]), 0)
    >>> print(values, positions)
    [1. 3. 3.] [0 1 1]
    """
    axis = normalize_axis("cummax", axis, len(shape_of(input)))
    positions = card(CumArgMax, axis)(input)
    return take_along_axis(input, positions, axis), positions


@public(method=True)
def cummin(input: Any, axis: int) -> tuple[Any, Any]:
    """The smallest element so far along an axis, and its position.

    >>> from adjoint import ops, Tensor
    >>> print(ops.cummin(Tensor([2.0, 3.0, 1.0]), 0)[0])
    [2. 2. 1.]
    """
    axis = normalize_axis("cummin", axis, len(shape_of(input)))
    opposite = bitwise_not(input) if dtype_of(input).kind in "biu" else -input
    positions = card(CumArgMax, axis)(opposite)
    return take_along_axis(input, positions, axis), positions

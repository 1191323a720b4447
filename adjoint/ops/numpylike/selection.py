"""NumPy's functions that choose, search and sort, with its signatures."""

from __future__ import annotations

import functools
from collections.abc import Sequence
from typing import Any, NamedTuple

import numpy as np

from adjoint.core.dispatch import DEVICE, beside, wrap
from adjoint.core.errors import ArgumentError, CutGradientError, called_at
from adjoint.core.spec import normalize_axis
from adjoint.ops import compare as _c
from adjoint.ops import functional as _f
from adjoint.ops import language as F
from adjoint.ops.along_axis import ArgPartition
from adjoint.ops.card import card
from adjoint.ops.functional.selection import comes_before, comes_up_to
from adjoint.ops.indexing import getitem, setitem
from adjoint.ops.language import (
    bitwise_and,
    bitwise_or,
    broadcast_to,
    equal,
    less,
    less_equal,
    logical_not,
    stop_gradient,
    zeros_like,
)
from adjoint.ops.numpylike.common import (
    array_of,
    array_of_known,
    cast,
    is_known,
    not_complex,
    one_axis,
    operand,
    promoted,
    refuse,
    stored,
    tensor,
    tensors,
)
from adjoint.ops.numpylike.result_orders import c_order, k_order, some_order


def where(condition: Any, x: Any = None, y: Any = None, /) -> Any:
    """As numpy.where. The side not chosen gets a zero derivative, even if its own is not finite."""
    if x is None and y is None:
        return nonzero(condition)
    if x is None or y is None:
        raise ArgumentError(f"where: give both x and y, or neither{called_at()}")
    return _c.where_(tensor(condition), operand(x), operand(y))


def clip(
    a: Any, a_min: Any = None, a_max: Any = None, out: Any = None, *, min: Any = None, max: Any = None, **kwargs: Any
) -> Any:
    """As numpy.clip. The derivative at a bound is 1."""
    kwargs = {
        k: v for k, v in kwargs.items() if (k, v) not in {("casting", "same_kind"), ("subok", True), ("order", "K")}
    }
    refuse("clip", **kwargs)
    low, high = (b if b is not None else c for b, c in ((a_min, min), (a_max, max)))
    x = tensor(a)
    if low is None and high is None:
        return stored(out, x)
    return stored(out, _f.clip(x, *(None if b is None else operand(b) for b in (low, high))))


@c_order
def select(condlist: Sequence[Any], choicelist: Sequence[Any], default: Any = 0) -> Any:
    """As numpy.select."""
    if len(condlist) != len(choicelist) or not condlist:
        raise ArgumentError(f"select: {len(condlist)} conditions for {len(choicelist)} choices{called_at()}")
    chosen = operand(default)
    for condition, choice in reversed(list(zip(condlist, choicelist, strict=True))):
        chosen = _c.where_(tensor(condition), operand(choice), chosen)
    return chosen


@some_order
def choose(a: Any, choices: Any, out: Any = None, mode: str = "raise") -> Any:
    """As numpy.choose."""
    options, index = tensors(choices), tensor(a)
    n = len(options)
    if mode == "raise":
        if ((array_of(index) < 0) | (array_of(index) >= n)).any():
            raise ArgumentError(f"choose: an index is outside the {n} choices{called_at()}")
    elif mode in ("wrap", "clip"):
        index = index % n if mode == "wrap" else _f.clip(index, 0, n - 1)
    else:
        raise ArgumentError(f"choose: mode must be 'raise', 'wrap' or 'clip', not {mode!r}{called_at()}")
    dtype = promoted(options)
    shape = np.broadcast_shapes(index.shape, *(o.shape for o in options))
    chosen = broadcast_to(cast(options[-1], dtype), shape)
    for k in range(n - 2, -1, -1):
        chosen = _c.where_(equal(index, k), cast(options[k], dtype), chosen)
    return stored(out, chosen)


@k_order
def piecewise(x: Any, condlist: Any, funclist: Sequence[Any], *args: Any, **kw: Any) -> Any:
    """As numpy.piecewise: each function is called on the elements where its condition holds."""
    x = tensor(x)
    conditions = condlist if isinstance(condlist, (list, tuple)) and np.ndim(condlist[0]) == x.ndim else [condlist]
    if not all(map(is_known, conditions)):
        return _piecewise(x, [F.cast(tensor(c), bool) for c in conditions], funclist, args, kw)
    masks = [np.broadcast_to(array_of(c).astype(bool), x.shape) for c in conditions]
    if len(funclist) == len(masks) + 1:
        masks = [*masks, ~np.logical_or.reduce(masks)]
    elif len(funclist) != len(masks):
        raise ArgumentError(f"piecewise: {len(masks)} conditions for {len(funclist)} functions{called_at()}")
    y = wrap(np.zeros(x.shape, x.dtype))
    for mask, function in zip(masks, funclist, strict=True):
        if mask.any():
            y[mask] = function(x[mask], *args, **kw) if callable(function) else function
    return y


def _piecewise(x: Any, masks: list[Any], funclist: Sequence[Any], args: Any, kw: Any) -> Any:
    """The same for conditions that are not known yet: functions of the elements that each picks."""
    if len(funclist) == len(masks) + 1:
        masks = [*masks, logical_not(functools.reduce(bitwise_or, masks))]
    elif len(funclist) != len(masks):
        raise ArgumentError(f"piecewise: {len(masks)} conditions for {len(funclist)} functions{called_at()}")
    y = zeros_like(x)
    for mask, function in zip(masks, funclist, strict=True):
        whole = broadcast_to(mask, x.shape)
        y = setitem(y, whole, function(getitem(x, whole), *args, **kw) if callable(function) else function)
    return y


# ---------------------------------------------------------------- positions


@c_order
def take(a: Any, indices: Any, axis: int | None = None, out: Any = None, mode: str = "raise") -> Any:
    """As numpy.take."""
    x, axis = one_axis("take", tensor(a), axis)
    index = tensor(indices)
    if mode in ("wrap", "clip"):
        n = x.shape[axis]
        index = index % n if mode == "wrap" else _f.clip(index, 0, n - 1)
    elif mode != "raise":
        raise ArgumentError(f"take: mode must be 'raise', 'wrap' or 'clip', not {mode!r}{called_at()}")
    return stored(out, _f.take(x, index, axis))


@some_order
def take_along_axis(arr: Any, indices: Any, axis: int | None = -1) -> Any:
    """As numpy.take_along_axis."""
    x, axis = one_axis("take_along_axis", tensor(arr), axis)
    return _f.take_along_axis(x, tensor(indices), axis)


@c_order
def compress(condition: Any, a: Any, axis: int | None = None, out: Any = None) -> Any:
    """As numpy.compress."""
    x, axis = one_axis("compress", tensor(a), axis)
    return stored(out, _f.take(x, np.flatnonzero(array_of_known("compress", condition)), axis))


def extract(condition: Any, arr: Any) -> Any:
    """As numpy.extract."""
    return compress(array_of_known("extract", condition).ravel(), arr)


def nonzero(a: Any) -> tuple[Any, ...]:
    """As numpy.nonzero."""
    return _f.nonzero(tensor(a), as_tuple=True)


def argwhere(a: Any) -> Any:
    """As numpy.argwhere."""
    return wrap(beside(np.argwhere(array_of_known("argwhere", a)), a))


def flatnonzero(a: Any) -> Any:
    """As numpy.flatnonzero."""
    return wrap(beside(np.flatnonzero(array_of_known("flatnonzero", a)), a))


def searchsorted(a: Any, v: Any, side: str = "left", sorter: Any = None) -> Any:
    """As numpy.searchsorted; it works under vmap too."""
    if side not in ("left", "right"):
        raise ArgumentError(f"searchsorted: side must be 'left' or 'right', not {side!r}{called_at()}")
    line, v = stop_gradient(tensor(a)), stop_gradient(tensor(v))
    if sorter is not None:
        line = _f.take(line, tensor(sorter), 0)
    if line._trace is not DEVICE and v._trace is not DEVICE and not line.tracked and not v.tracked:
        return wrap(np.searchsorted(array_of(line), array_of(v), side))  # type: ignore[call-overload]
    before = comes_before if side == "left" else comes_up_to
    low = F.cast(zeros_like(v), np.int64)
    high = low + line.shape[0]
    for _ in range(line.shape[0].bit_length()):  # bisection: the same steps for every element of a batch
        middle = (low + high) // 2
        open_ = less(low, high)
        probe = _f.take(line, _c.minimum(middle, max(line.shape[0] - 1, 0)), 0)
        right = bitwise_and(open_, before(probe, v))
        left = bitwise_and(open_, logical_not(right))
        low, high = _c.where_(right, middle + 1, low), _c.where_(left, middle, high)
    return low


def digitize(x: Any, bins: Any, right: bool = False) -> Any:
    """As numpy.digitize."""
    x = not_complex("digitize", tensor(x))
    side = "left" if right else "right"
    if not is_known(bins):  # in either order: what comes last decides
        edges = tensor(bins)
        up, down = searchsorted(edges, x, side), _f.flip(edges, 0)
        back = edges.shape[0] - searchsorted(down, x, side)
        return _c.where_(less_equal(edges[0], edges[-1]), up, back) if edges.shape[0] else up
    edges = array_of(bins)
    steps = np.diff(edges)
    if (steps >= 0).all():
        return searchsorted(edges, x, side)
    if not (steps <= 0).all():
        raise ArgumentError(f"digitize: bins must be in order{called_at()}")
    return len(edges) - searchsorted(edges[::-1], x, side)


@k_order
def sort(a: Any, axis: int | None = -1, kind: Any = None, order: Any = None, *, stable: Any = None) -> Any:
    """As numpy.sort; always stable."""
    refuse("sort", order=order)
    x, axis = one_axis("sort", tensor(a), axis)
    return _f.sort(x, axis)[0]


def argsort(a: Any, axis: int | None = -1, kind: Any = None, order: Any = None, *, stable: Any = None) -> Any:
    """As numpy.argsort; always stable."""
    refuse("argsort", order=order)
    x, axis = one_axis("argsort", tensor(a), axis)
    return _f.argsort(x, axis)


@k_order
def partition(a: Any, kth: Any, axis: int | None = -1, kind: str = "introselect", order: Any = None) -> Any:
    """As numpy.partition."""
    refuse("partition", order=order)
    x, axis = one_axis("partition", tensor(a), axis)
    places = tuple(int(k) for k in np.ravel(array_of(kth)))
    return _f.take_along_axis(x, card(ArgPartition, axis, places)(stop_gradient(x)), axis)


def unique(
    ar: Any, return_index: bool = False, return_inverse: bool = False, return_counts: bool = False, axis: Any = None, *,
    equal_nan: bool = True, sorted: bool = True,
) -> Any:  # fmt: skip
    """As numpy.unique, differentiable: each value takes the derivative at its first place."""
    x = tensor(ar)
    if axis is None:
        x = _f.reshape(x, -1)
    else:
        axis = normalize_axis("unique", axis, x.ndim)
    shape = tensor(ar).shape if axis is None else None
    found = np.unique(array_of_known("unique", x), True, True, True, axis, equal_nan=equal_nan)
    _, first, inverse, counts = found
    inverse = inverse if shape is None else inverse.reshape(shape)
    wanted = ((return_index, first), (return_inverse, inverse), (return_counts, counts))
    extra = [wrap(value) for asked, value in wanted if asked]
    values = _f.take(x, first, axis or 0)
    return (values, *extra) if extra else values


class UniqueAll(NamedTuple):
    """What unique_all gives."""

    values: Any
    indices: Any
    inverse_indices: Any
    counts: Any


class UniqueCounts(NamedTuple):
    """What unique_counts gives."""

    values: Any
    counts: Any


class UniqueInverse(NamedTuple):
    """What unique_inverse gives."""

    values: Any
    inverse_indices: Any


def unique_all(x: Any) -> UniqueAll:
    """As numpy.unique_all."""
    return UniqueAll(*unique(x, True, True, True, equal_nan=False))


def unique_counts(x: Any) -> UniqueCounts:
    """As numpy.unique_counts."""
    return UniqueCounts(*unique(x, return_counts=True, equal_nan=False))


def unique_inverse(x: Any) -> UniqueInverse:
    """As numpy.unique_inverse."""
    return UniqueInverse(*unique(x, return_inverse=True, equal_nan=False))


def unique_values(x: Any) -> Any:
    """As numpy.unique_values; always sorted."""
    return unique(x, equal_nan=False)


def bincount(x: Any, /, weights: Any = None, minlength: int = 0) -> Any:
    """As numpy.bincount, differentiable in the weights."""
    if weights is not None:
        weights = cast(not_complex("bincount", tensor(weights)), np.float64)
    return _f.bincount(tensor(x), weights, minlength)


# ---------------------------------------------------------------- in place


def _in_place(name: str, rewrite: str) -> Any:
    """A function that stands for one that writes into its first argument."""

    def refused(*args: Any, **kwargs: Any) -> Any:
        raise CutGradientError(
            f"numpy.{name} writes into its first argument, which would cut the gradient. Write `{rewrite}` on a Tensor "
            f"instead: it rebinds x and is differentiable (adjoint.numpy.zeros makes a Tensor to start from).{called_at()}"
        )

    refused.__name__ = refused.__qualname__ = name
    refused.__doc__ = f"Refused, and says to write `{rewrite}`."
    return refused


copyto = _in_place("copyto", "x[...] = v")
put = _in_place("put", "x[np.unravel_index(ind, x.shape)] = v")
place = _in_place("place", "x[mask] = v")
putmask = _in_place("putmask", "x[mask] = v[mask]")
put_along_axis = _in_place("put_along_axis", "x[i, j] = v")
fill_diagonal = _in_place("fill_diagonal", "i = np.arange(n); x[i, i] = v")

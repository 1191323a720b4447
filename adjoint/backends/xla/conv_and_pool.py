"""Convolution and windows: XLA's own ops, and where it has none a sum over the elements of a window."""

from __future__ import annotations

from collections.abc import Callable
from math import prod
from typing import Any

import numpy as np

from adjoint.backends.xla.common_dtypes import converted
from adjoint.backends.xla.devices import jax
from adjoint.backends.xla.failures import Tracing
from adjoint.backends.xla.lowering import lowers
from adjoint.core.spec import Shape, float32, is_half, is_inexact
from adjoint.ops.conv import Conv, ConvFilter, ConvInput
from adjoint.ops.pool import MaxPool, MaxPoolIndex, MaxPoolPull, MaxPoolPush, Pool, lowest
from adjoint.ops.sum_pool import SumPool, SumPoolPull
from adjoint.ops.unfolding import Fold, Unfold
from adjoint.ops.windows import covered, padded, places

UNROLLED = 32  # elements of a window that are written out one by one; more are gone through in a loop

# ---------------------------------------------------------------- convolution


@lowers(Conv)
def conv(op: Conv, spec: Any, tracing: Tracing, x: Any, w: Any) -> Any:
    """The products of windows with filters."""
    return _of_factors(op, spec, lambda x, w: _product(op, x, w), x, w)


@lowers(ConvInput)
def conv_input(op: ConvInput, spec: Any, tracing: Tracing, g: Any, w: Any) -> Any:
    """The transpose of a convolution by its input."""
    return _of_factors(op, spec, lambda g, w: _transposed(lambda x: _product(op, x, w), spec, g), g, w)


@lowers(ConvFilter)
def conv_filter(op: ConvFilter, spec: Any, tracing: Tracing, x: Any, g: Any) -> Any:
    """The transpose of a convolution by its filters."""
    return _of_factors(op, spec, lambda x, g: _transposed(lambda w: _product(op, x, w), spec, g), x, g)


def _transposed(linear: Callable[[Any], Any], spec: Any, g: Any) -> Any:
    """What the transpose of a linear function gives."""
    return jax().linear_transpose(linear, jax().ShapeDtypeStruct(spec.shape, g.dtype))(g)[0]


def _product(op: Any, x: Any, w: Any) -> Any:
    return jax().lax.conv_general_dilated(
        x,
        w,
        window_strides=op.stride,
        padding=op.padding,
        rhs_dilation=op.dilation,
        feature_group_count=op.groups,
        precision=None if is_half(np.dtype(x.dtype)) else jax().lax.Precision.HIGHEST,
    )


def _of_factors(op: Any, spec: Any, product: Callable[..., Any], *factors: Any) -> Any:
    """A product in the dtype of its result. GPUs add up halves in float32 by themselves, processors are told to."""
    jnp = jax().numpy
    if any(0 in np.shape(x) for x in factors) or 0 in spec.shape:
        return jnp.zeros(spec.shape, spec.dtype)
    if not is_inexact(spec.dtype):  # XLA convolves floats
        wide = np.dtype(np.int32) if spec.dtype == bool else spec.dtype
        y = op.eval(jnp, *(converted(x, wide) for x in factors))
        return y != 0 if spec.dtype == bool else y
    if not is_half(spec.dtype):
        return product(*(converted(x, spec.dtype) for x in factors))
    halves = [converted(x, spec.dtype) for x in factors]

    def widened(*xs: Any) -> Any:
        return product(*(x.astype(float32) for x in xs)).astype(spec.dtype)

    return jax().lax.platform_dependent(*halves, cpu=widened, default=product)


# ---------------------------------------------------------------- sums and largest elements of windows


@lowers(MaxPool)
def max_pool(op: MaxPool, spec: Any, tracing: Tracing, x: Any) -> Any:
    """The largest element of each window."""
    return _over_windows(op, jax().lax.max, lowest(np.dtype(x.dtype)), x, spec)


@lowers(SumPool)
def sum_pool(op: SumPool, spec: Any, tracing: Tracing, x: Any) -> Any:
    """The sum of each window; in half precision rounded once."""
    x = jax().numpy.asarray(x)
    if x.dtype == bool:  # any of them
        return _over_windows(op, jax().lax.max, False, x, spec)
    return _over_windows(op, jax().lax.add, 0, _wide(x), spec)


@lowers(SumPoolPull)
def sum_pool_pull(op: SumPoolPull, spec: Any, tracing: Tracing, g: Any) -> Any:
    """Each element in all places of its window: the sum of the windows that meet a place."""
    jnp = jax().numpy
    g = _wide(jnp.asarray(g))
    if 0 in spec.shape or 0 in g.shape:
        return jnp.zeros(spec.shape, spec.dtype)
    if g.dtype == bool:
        return _laid_back(op, spec.shape, bool, lambda k: g)
    lead = (1,) * (g.ndim - op.rank)
    # Windows that begin at o - k meet the place o: the window, seen from the other side.
    axes = zip(op.space, g.shape[-op.rank :], op.stride, op.padding, covered(op.window, op.dilation), strict=True)
    padding = [(k - 1 - lo, n + lo - (count - 1) * s - 1) for n, count, s, (lo, _), k in axes]
    return jax().lax.reduce_window(
        g,
        np.zeros((), g.dtype),
        jax().lax.add,
        lead + op.window,
        lead + (1,) * op.rank,
        [(0, 0)] * len(lead) + padding,
        base_dilation=lead + op.stride,
        window_dilation=lead + op.dilation,
    )


def _over_windows(op: Any, combine: Any, first: Any, x: Any, spec: Any) -> Any:
    jnp = jax().numpy
    x = jnp.asarray(x)
    if 0 in spec.shape:
        return jnp.zeros(spec.shape, spec.dtype)
    lead = (1,) * (x.ndim - op.rank)
    return jax().lax.reduce_window(
        x,
        np.asarray(first, x.dtype),
        combine,
        lead + op.window,
        lead + op.stride,
        ((0, 0),) * len(lead) + op.padding,
        window_dilation=lead + op.dilation,
    )


def _wide(x: Any) -> Any:
    return x.astype(float32) if is_half(np.dtype(x.dtype)) else x


# ---------------------------------------------------------------- elements of windows, one by one


@lowers(MaxPoolPush)
def max_pool_push(op: MaxPoolPush, spec: Any, tracing: Tracing, t: Any, x: Any) -> Any:
    """The average of t at the largest elements of each window."""
    jnp = jax().numpy
    t, x = converted(t, _computing(spec)), jnp.asarray(x)
    if 0 in spec.shape:
        return jnp.zeros(spec.shape, spec.dtype)
    hit, count = _peaks(op, spec, x)
    tangents = _elements(op, t, 0)
    total = _summed(op, spec.shape, t.dtype, lambda k: jnp.where(hit(k), tangents(k), np.zeros((), t.dtype)))
    return total / count.astype(t.dtype)


@lowers(MaxPoolPull)
def max_pool_pull(op: MaxPoolPull, spec: Any, tracing: Tracing, g: Any, x: Any) -> Any:
    """g shared among the largest elements of each window."""
    jnp = jax().numpy
    g, x = converted(g, _computing(spec)), jnp.asarray(x)
    if 0 in spec.shape or 0 in g.shape:
        return jnp.zeros(spec.shape, spec.dtype)
    hit, count = _peaks(op, spec, x)
    share = g / count.astype(g.dtype)
    if op.stride == op.window and not any(map(any, op.padding)) and set(op.dilation) == {1}:
        return _side_by_side(op, spec.shape, share, x)
    return _laid_back(op, spec.shape, g.dtype, lambda k: jnp.where(hit(k), share, np.zeros((), g.dtype)))


def _side_by_side(op: Any, shape: Shape, share: Any, x: Any) -> Any:
    """The same where each place is in one window at most: it asks for the largest element and the share of that window alone."""
    jnp, lead = jax().numpy, len(shape) - op.rank
    y = _over_windows(op, jax().lax.max, lowest(np.dtype(x.dtype)), x, _Shape(op.pooled(x.shape)))
    y, share = jax().lax.optimization_barrier((y, share))  # else they are computed again for each place of a window
    count = share.shape[lead:]
    spread = tuple(n for pair in zip(count, (1,) * op.rank, strict=True) for n in pair)
    tiles = tuple(n for pair in zip(count, op.window, strict=True) for n in pair)
    part: Any = (..., *(slice(0, n * k) for n, k in zip(count, op.window, strict=True)))
    inside = x[part]
    hit = ~(inside.reshape(shape[:lead] + tiles) < y.reshape(shape[:lead] + spread))
    found = jnp.where(hit, share.reshape(shape[:lead] + spread), np.zeros((), share.dtype)).reshape(inside.shape)
    rest = [(0, n - k) for n, k in zip(shape[lead:], inside.shape[lead:], strict=True)]
    return jnp.pad(found, [(0, 0)] * lead + rest)


def _computing(spec: Any) -> np.dtype:
    return float32 if is_half(spec.dtype) else spec.dtype


def _peaks(op: Any, spec: Any, x: Any) -> tuple[Callable[[Any], Any], Any]:
    """Whether an element of the windows is the largest, and how many of them there are; NaN counts: there is always one."""
    low = lowest(np.dtype(x.dtype))
    y = _over_windows(op, jax().lax.max, low, x, _Shape(op.pooled(x.shape)))
    values = _elements(op, x, low)

    def hit(k: Any) -> Any:
        return ~(values(k) < y)

    return hit, _summed(op, y.shape, np.dtype(np.int32), lambda k: hit(k).astype(np.int32))


class _Shape:
    """What stands for a Spec where only its shape is asked for."""

    def __init__(self, shape: Shape) -> None:
        self.shape = shape


@lowers(MaxPoolIndex)
def max_pool_index(op: MaxPoolIndex, spec: Any, tracing: Tracing, x: Any) -> Any:
    """Where in the plane the first largest element of each window stands."""
    jnp = jax().numpy
    x = jnp.asarray(x)
    if 0 in spec.shape:
        return jnp.zeros(spec.shape, spec.dtype)
    space = x.shape[x.ndim - op.rank :]
    values = _elements(op, x, lowest(np.dtype(x.dtype)))
    numbers = _elements(op, jnp.arange(prod(space)).reshape(space), -1)

    def step(k: Any, state: Any) -> Any:
        best, found = state
        value, place = values(k), numbers(k)
        better = (value > best) | ((value != value) & (best == best)) | (found < 0)
        return jnp.where(better, value, best), jnp.where(better, place, found)

    first = values(0), jnp.broadcast_to(numbers(0), spec.shape)
    return _repeated(op, first, step, begin=1)[1]


@lowers(Unfold)
def unfold(op: Unfold, spec: Any, tracing: Tracing, x: Any) -> Any:
    """The elements of each window along an axis."""
    jnp = jax().numpy
    x = jnp.asarray(x)
    if 0 in spec.shape:
        return jnp.zeros(spec.shape, spec.dtype)
    values, count = _elements(op, x, 0), prod(op.window)
    if count <= UNROLLED:
        return jnp.stack([values(k) for k in range(count)], axis=-op.rank - 1)
    return jnp.moveaxis(jax().lax.map(values, jnp.arange(count)), 0, -op.rank - 1)


@lowers(Fold)
def fold(op: Fold, spec: Any, tracing: Tracing, g: Any) -> Any:
    """Windows put back; where they overlap they add up."""
    jnp = jax().numpy
    g = _wide(jnp.moveaxis(jnp.asarray(g), -op.rank - 1, 0))
    if 0 in spec.shape or 0 in g.shape:
        return jnp.zeros(spec.shape, spec.dtype)
    return _laid_back(op, spec.shape, g.dtype, lambda k: g[k])


def _elements(op: Any, x: Any, value: Any) -> Callable[[Any], Any]:
    """The k-th element of every window, for a number that is known here or only on the device."""
    lax = jax().lax
    x = padded(jax().numpy, op, x, value)
    lead = x.ndim - op.rank
    count = tuple(
        (n - k) // s + 1 for n, k, s in zip(x.shape[lead:], covered(op.window, op.dilation), op.stride, strict=True)
    )
    size = tuple(s * (n - 1) + 1 for s, n in zip(op.stride, count, strict=True))

    def element(k: Any) -> Any:
        begin = [np.int64(0)] * lead + _offset(op, k)
        part = lax.dynamic_slice(x, begin, x.shape[:lead] + size)
        return lax.slice(part, (0,) * x.ndim, part.shape, (1,) * lead + op.stride)

    return element


def _offset(op: Any, k: Any) -> list[Any]:
    """Where the k-th element of a window lies in it."""
    found: list[Any] = []
    for n, d in reversed([*zip(op.window, op.dilation, strict=True)]):
        found.append(np.int64(k % n * d) if isinstance(k, int) else k % n * d)
        k = k // n
    return found[::-1]


def _repeated(op: Any, state: Any, step: Callable[[Any, Any], Any], begin: int = 0) -> Any:
    """The state after a step for each element of a window."""
    end = prod(op.window)
    if end > UNROLLED:
        return jax().lax.fori_loop(begin, end, step, state)
    for k in range(begin, end):
        state = step(k, state)
    return state


def _summed(op: Any, shape: Shape, dtype: Any, part: Callable[[Any], Any]) -> Any:
    return _repeated(op, jax().numpy.zeros(shape, dtype), lambda k, total: total + part(k))


def _laid_back(op: Pool, shape: Shape, dtype: Any, part: Callable[[Any], Any]) -> Any:
    """An array of `shape`: for each element of a window a part, laid back where it was found and added."""
    lax = jax().lax
    lead, space = shape[: len(shape) - op.rank], shape[len(shape) - op.rank :]
    count = places(op, space, op.window)
    whole = tuple(n + lo + hi for n, (lo, hi) in zip(space, op.padding, strict=True))
    size = tuple(s * (n - 1) + 1 for s, n in zip(op.stride, count, strict=True))
    gaps = [(0, 0, 0)] * len(lead)

    def step(k: Any, total: Any) -> Any:
        value = part(k)
        if isinstance(k, int):  # one array that XLA never writes
            axes = zip(_offset(op, k), whole, size, op.stride, strict=True)
            return total + lax.pad(value, _zero, gaps + [(int(b), int(n - b - m), s - 1) for b, n, m, s in axes])
        value = lax.pad(value, _zero, gaps + [(0, 0, s - 1) for s in op.stride])
        begin = [np.int64(0)] * len(lead) + _offset(op, k)
        return lax.dynamic_update_slice(total, lax.dynamic_slice(total, begin, value.shape) + value, begin)

    _zero = np.zeros((), dtype)
    total = _repeated(op, jax().numpy.zeros(lead + whole, dtype), step)
    inner = (..., *(slice(lo, lo + n) for n, (lo, _) in zip(space, op.padding, strict=True)))
    return total[inner]

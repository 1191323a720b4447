"""Reading and writing at places: what NumPy does in an array, and JAX by making another one."""

from __future__ import annotations

from collections.abc import Sequence
from math import prod
from typing import Any

import numpy as np

from adjoint.backends.xla.common_dtypes import converted
from adjoint.backends.xla.devices import jax
from adjoint.backends.xla.failures import Tracing
from adjoint.backends.xla.lowering import lowers
from adjoint.core.spec import float32, is_half
from adjoint.ops.index import Gather, ScatterAdd, ScatterSet
from adjoint.ops.slicing import PutItem, SetItem, written_out

# ---------------------------------------------------------------- arrays of indices


@lowers(Gather)
def gather(op: Gather, spec: Any, tracing: Tracing, x: Any, *indices: Any) -> Any:
    """x[i1, ..., ik]. Whether they lie inside is looked at elsewhere."""
    if 0 in spec.shape or 0 in np.shape(x):  # nothing is read, or there is nothing
        return jax().numpy.zeros(spec.shape, spec.dtype)
    return jax().numpy.asarray(x)[_counted(x, indices)]


@lowers(ScatterAdd)
def scatter_add(op: ScatterAdd, spec: Any, tracing: Tracing, x: Any, v: Any, *indices: Any) -> Any:
    """x with v added at places; in half precision the sums are rounded once."""
    dtype = float32 if is_half(spec.dtype) else spec.dtype
    x, v = converted(x, dtype), converted(v, dtype)
    if 0 in x.shape or 0 in np.broadcast_shapes(*map(np.shape, indices)):
        return x
    counted = _counted(x, indices)
    axis = _one_along(x.shape, counted)
    if (
        axis is not None and spec.dtype != bool
    ):  # the gradient of a choice of classes: XLA fuses this, and never a scatter
        hit = jax().lax.broadcasted_iota(np.int32, x.shape, axis) == counted[axis].astype(np.int32)
        return jax().numpy.where(hit, x + v, x)
    places = x.at[counted]
    return places.max(v, mode="drop") if spec.dtype == bool else places.add(v, mode="drop")


@lowers(ScatterSet)
def scatter_set(op: ScatterSet, spec: Any, tracing: Tracing, x: Any, v: Any, *indices: Any) -> Any:
    """x with v at places; of values for the same place the last one stays."""
    x, v = converted(x, spec.dtype), converted(v, spec.dtype)
    shape = np.broadcast_shapes(*map(np.shape, indices))
    if 0 in x.shape or 0 in shape:
        return x
    indices = _counted(x, indices)
    if _are_unique(x.shape, indices, shape):
        return x.at[indices].set(v, mode="drop", unique_indices=True)
    return x.at[_last(x.shape, indices, shape)].set(v, mode="drop")


def _counted(x: Any, indices: Sequence[Any]) -> tuple[Any, ...]:
    """Indices from the front, as integers that hold every size; constants stay constants."""
    found = []
    for i, n in zip(indices, np.shape(x), strict=False):
        xp = np if isinstance(i, (int, np.ndarray, np.generic)) else jax().numpy
        i = xp.asarray(i).astype(np.int64)
        found.append(xp.where(i < 0, i + n, i))
    return tuple(found)


def _one_along(shape: Sequence[int], indices: Sequence[Any]) -> int | None:
    """The axis along which indices name one element for each place of all the other axes; None if they do not."""
    axes = [k for k, i in enumerate(indices) if not isinstance(i, np.ndarray)]
    if len(indices) != len(shape) or len(axes) != 1 or shape[axes[0]] >= 2**31:
        return None
    places = tuple(1 if k == axes[0] else n for k, n in enumerate(shape))
    if np.broadcast_shapes(*map(np.shape, indices)) != places:
        return None
    counted = np.indices(places, sparse=True)
    each = zip(indices, counted, strict=True)
    return axes[0] if all(i is indices[axes[0]] or np.array_equal(i, c) for i, c in each) else None


def _are_unique(shape: Sequence[int], indices: Sequence[Any], places: Sequence[int]) -> bool:
    """Whether it is known that no place is named twice."""
    if prod(places) == 1:
        return True
    if not all(isinstance(i, (np.ndarray, np.generic)) for i in indices):
        return False
    number = np.ravel_multi_index(np.broadcast_arrays(*indices), tuple(shape[: len(indices)]), mode="clip")
    return np.unique(number).size == number.size


def _last(shape: Sequence[int], indices: Sequence[Any], places: Sequence[int]) -> tuple[Any, ...]:
    """The indices, where a later one names the same place moved out of the array: XLA writes in any order."""
    jnp = jax().numpy
    number, step = jnp.zeros(places, np.int64), 1
    for i, n in reversed([*zip(indices, shape, strict=False)]):
        number, step = number + jnp.broadcast_to(i, places) * step, step * n
    order = jnp.arange(prod(places)).reshape(places)
    latest = jnp.full(step, -1).at[number].max(order, mode="drop")
    first = jnp.where(latest[number] == order, jnp.broadcast_to(indices[0], places), shape[0])
    return first, *indices[1:]


# ---------------------------------------------------------------- slices


@lowers(PutItem)
def put_item(op: PutItem, spec: Any, tracing: Tracing, x: Any) -> Any:
    """Zeros with x at an index: padding, also between the elements."""
    jnp, lax = jax().numpy, jax().lax
    x = converted(x, spec.dtype)
    if 0 in x.shape:
        return jnp.zeros(spec.shape, spec.dtype)
    starts, counts, steps = _runs(op.key, spec.shape)
    x = lax.rev(x.reshape(counts), [k for k, step in enumerate(steps) if step < 0])
    low = [min(b, b + step * (n - 1)) for b, n, step in zip(starts, counts, steps, strict=True)]
    high = [size - b - abs(step) * (n - 1) - 1 for size, b, n, step in zip(spec.shape, low, counts, steps, strict=True)]
    return lax.pad(
        x, np.zeros((), spec.dtype), [(b, e, abs(step) - 1) for b, e, step in zip(low, high, steps, strict=True)]
    )


@lowers(SetItem)
def set_item(op: SetItem, spec: Any, tracing: Tracing, x: Any, v: Any) -> Any:
    """x with v at an index."""
    jnp, lax = jax().numpy, jax().lax
    x, v = converted(x, spec.dtype), converted(v, spec.dtype)
    part = op.picked(spec.shape)
    if 0 in part:
        return x
    starts, counts, steps = _runs(op.key, spec.shape)
    if any(abs(step) != 1 and n > 1 for n, step in zip(counts, steps, strict=True)):
        return x.at[op.key].set(v)
    v = jnp.broadcast_to(v, part).reshape(counts)
    v = lax.rev(v, [k for k, (n, step) in enumerate(zip(counts, steps, strict=True)) if step < 0 and n > 1])
    low = [min(b, b + step * (n - 1)) for b, n, step in zip(starts, counts, steps, strict=True)]
    return lax.dynamic_update_slice(x, v, [np.int64(b) for b in low]) if low else v


def _runs(key: tuple, shape: Sequence[int]) -> tuple[list[int], list[int], list[int]]:
    """For each axis of an array, where an index begins, how many it names, and the step between them."""
    parts = [p for p in written_out(key, len(shape)) if p is not None]
    parts += [slice(None)] * (len(shape) - len(parts))
    runs = [
        range(n)[p] if isinstance(p, slice) else range(n)[p : p + 1 or None] for p, n in zip(parts, shape, strict=True)
    ]
    return [r.start for r in runs], [len(r) for r in runs], [r.step for r in runs]

"""Layouts: along which axes of a mesh each axis of an array is split."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from adjoint.backends.xla.devices import jax, precise
from adjoint.core.errors import ArgumentError, ArgumentTypeError, ShapeError, called_at
from adjoint.parallel.device_mesh import Mesh

AxisLayout = str | tuple[str, ...] | None
Layout = tuple[AxisLayout, ...]


def as_layout(what: str, layout: Any) -> Layout:
    """A layout without the axes at its end that are not split.

    >>> as_layout("here", ("model", None))
    ('model',)
    """
    if isinstance(layout, str) or not isinstance(layout, Sequence):
        raise ArgumentTypeError(
            f"{what}: a layout has for each axis of the array the name of an axis of the mesh, a tuple of several, or None, as in "
            f'("data", None), not {layout!r}{called_at()}'
        )
    parts = [tuple(part) if isinstance(part, (list, tuple)) else part for part in layout]
    names = [name for part in parts for name in (part if isinstance(part, tuple) else (part,)) if name is not None]
    for name in names:
        if not isinstance(name, str):
            raise ArgumentTypeError(f"{what}: an axis of the mesh is named by a text, not {name!r}{called_at()}")
        if names.count(name) > 1:
            raise ArgumentError(
                f"{what}: {layout!r} splits two axes along {name!r}; each can be used once{called_at()}"
            )
    parts = [part[0] if isinstance(part, tuple) and len(part) == 1 else part or None for part in parts]
    while parts and parts[-1] is None:
        parts.pop()
    return tuple(parts)


def check_fits(what: str, layout: Layout, shape: Sequence[int], mesh: Mesh) -> None:
    """An error if an array of this shape cannot be split in such a way."""
    if len(layout) > len(shape):
        raise ShapeError(
            f"{what}: the layout {layout!r} is for {len(layout)} axes, the shape is {tuple(shape)}{called_at()}"
        )
    for k, (part, n) in enumerate(zip(layout, shape, strict=False)):
        count = mesh.along(part)
        if n % count:
            raise ShapeError(
                f"{what}: axis {k} of the shape {tuple(shape)} has {n} elements, which do not make {count} equal parts along "
                f"{part!r} of {mesh!r}{called_at()}"
            )


def sharding(mesh: Mesh, layout: Layout) -> Any:
    """JAX's object for a layout."""
    return jax().sharding.NamedSharding(mesh.jax, jax().sharding.PartitionSpec(*layout))


def layout_of_array(x: Any) -> Layout | None:
    """How an array lies on a mesh; None if it is on none."""
    spec = getattr(getattr(x, "sharding", None), "spec", None)
    return None if spec is None else as_layout("an array", tuple(spec))


def put(x: Any, mesh: Mesh, layout: Layout) -> Any:
    """An array laid out on a mesh. JAX goes on reading a NumPy array after it has returned, so it gets a copy of its own."""
    wanted = sharding(mesh, layout)
    if isinstance(x, jax().Array):
        return x if x.sharding == wanted else _moved(x, wanted)
    own = np.array(x, order="C")
    with precise():
        if wanted.is_fully_addressable:
            return jax().device_put(own, wanted)
        return jax().make_array_from_callback(own.shape, wanted, lambda part: own[part])


def of_first_process(x: Any, mesh: Mesh) -> Any:
    """A host value as rank 0 has it, where the mesh is that of several processes, which may have begun with different ones."""
    processes = {d.process_index for d in mesh.jax.devices.flat}
    if isinstance(x, jax().Array) or len(processes) < max(2, jax().process_count()):
        return x
    from jax.experimental.multihost_utils import broadcast_one_to_all

    with precise():
        return np.asarray(broadcast_one_to_all(np.asarray(x)))


def _moved(x: Any, wanted: Any) -> Any:
    with precise():
        if wanted.is_fully_addressable or x.sharding.device_set == wanted.device_set:
            return jax().device_put(x, wanted)
        own = np.array(x)
        return jax().make_array_from_callback(own.shape, wanted, lambda part: own[part])

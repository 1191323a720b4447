"""Batches of several processes: each reads its own examples, and together they are one batch."""

from __future__ import annotations

from typing import Any

import numpy as np

from adjoint.backends.xla.devices import jax, precise
from adjoint.core import tree
from adjoint.core.errors import ArgumentError, ShapeError, called_at
from adjoint.core.spec import shape_of
from adjoint.core.tensor import Tensor
from adjoint.parallel.device_mesh import Mesh
from adjoint.parallel.device_mesh import mesh as make_mesh
from adjoint.parallel.layouts_on_mesh import as_layout, check_fits, sharding


def local_rows(count: int, mesh: Mesh | None = None, axis: str | tuple[str, ...] = "data") -> np.ndarray:
    """Which examples of a batch this process has to read: those that its devices compute with. All, if it is the only process.

    Args:
        count: the examples of the whole batch.
        mesh, axis: the devices, and the axis that batches are split along, as for `data_parallel`.

    >>> from adjoint import parallel
    >>> parallel.local_rows(4, parallel.mesh(data=1))
    array([0, 1, 2, 3])
    """
    if isinstance(count, bool) or not isinstance(count, (int, np.integer)) or count < 0:
        raise ArgumentError(f"local_rows: a batch has a number of examples, not {count!r}{called_at()}")
    mesh, layout = _over(mesh, axis)
    check_fits("local_rows", layout, (count,), mesh)
    held = sharding(mesh, layout).addressable_devices_indices_map((count,))
    return np.unique(np.concatenate([np.arange(count)[index] for index in held.values()] or [np.arange(0)]))


def local_batch(batch: Any, mesh: Mesh | None = None, axis: str | tuple[str, ...] = "data") -> Any:
    """The examples of a batch, or of several arrays in a container, that this process has to read: see `local_rows`.

    >>> import numpy as np
    >>> from adjoint import parallel
    >>> parallel.local_batch({"x": np.arange(6).reshape(3, 2)}, parallel.mesh(data=1))["x"].shape
    (3, 2)
    """
    mesh, _ = _over(mesh, axis)
    return tree.map(lambda x: x[local_rows(_count("local_batch", x), mesh, axis)], batch)


def global_batch(local: Any, mesh: Mesh | None = None, axis: str | tuple[str, ...] = "data") -> Any:
    """The whole batch, of which each process gives its own examples, as `local_batch` would cut them out: Tensors on the mesh.

    What `data_parallel` makes of a batch that every process has read as a whole, without reading it as a whole.

    >>> import numpy as np
    >>> from adjoint import parallel
    >>> parallel.global_batch(np.ones((3, 2)), parallel.mesh(data=1)).shape
    (3, 2)
    """
    mesh, layout = _over(mesh, axis)
    placed = sharding(mesh, layout)

    def joined(x: Any) -> Tensor:
        array = np.array(x.asnumpy() if isinstance(x, Tensor) else x)  # of its own: JAX goes on reading it
        parts = len(
            {tuple(map(str, index)) for index in placed.addressable_devices_indices_map((mesh.along(axis),)).values()}
        )
        if _count("global_batch", array) % parts:
            raise ShapeError(
                f"global_batch: {len(array)} examples of this process do not make {parts} equal parts for its devices{called_at()}"
            )
        with precise():
            return Tensor(jax().make_array_from_process_local_data(placed, array))

    return tree.map(joined, local)


def _over(mesh: Mesh | None, axis: str | tuple[str, ...]) -> tuple[Mesh, Any]:
    found = make_mesh({axis if isinstance(axis, str) else axis[0]: -1}) if mesh is None else mesh
    return found, as_layout("a batch", (axis,))


def _count(what: str, x: Any) -> int:
    if not shape_of(x):
        raise ArgumentError(
            f"{what}: a batch has its examples along the first axis, and {x!r} has no axes{called_at()}"
        )
    return int(shape_of(x)[0])

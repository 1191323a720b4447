"""What a checkpoint holds, by name: arrays in pieces or whole, and plain numbers and texts."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np

from adjoint.core.errors import ArgumentError, ArgumentTypeError, called_at
from adjoint.core.tensor import Tensor
from adjoint.nn.cell import Cell
from adjoint.train.checkpoint import named_values

Bounds = tuple[tuple[int, ...], tuple[int, ...]]  # where a piece begins along each axis, and where it ends


def named_state(what: str, state: Any) -> dict[str, Any]:
    """Parameters, arrays, numbers and texts by name. The parts of a dict have its keys before their names.

    >>> import adjoint as ad
    >>> list(named_state("here", {"net": ad.nn.Dense(2, 1), "step": 3}))
    ['net/weight', 'net/bias', 'step']
    """
    if not isinstance(state, Mapping):
        return named_values(state)
    found: dict[str, Any] = {}
    for key, value in state.items():
        if not isinstance(key, str) or not key:
            raise ArgumentTypeError(f"{what}: the parts of a state are named by texts, not {key!r}{called_at()}")
        if not is_container(value):
            found[key] = value
            continue
        for name, inner in named_state(what, value).items():
            if found.setdefault(f"{key}/{name}", inner) is not inner:
                raise ArgumentError(f"{what}: two different values are named '{key}/{name}'{called_at()}")
    return found


def is_container(value: Any) -> bool:
    """Whether a part of a state has parts itself: a network, an optimiser, a dict, or a list of these."""
    return isinstance(value, (Mapping, Cell, list, tuple)) or hasattr(value, "parameters_dict")


def is_plain(value: Any) -> bool:
    """Whether a value is kept as a number or text, not as an array."""
    return isinstance(value, (bool, int, float, str)) and not isinstance(value, np.generic)


def array_of(what: str, name: str, value: Any) -> Any:
    """The array of a Tensor, a Parameter or an array: NumPy's, or JAX's with its layout."""
    while isinstance(value, Tensor):
        value = value._value
    if isinstance(value, (np.ndarray, np.generic)):
        return value if value.dtype.isnative else value.astype(value.dtype.newbyteorder("="))
    if on_devices(value):
        if not isinstance(value.dtype, np.dtype):  # a key of jax.random
            raise ArgumentTypeError(
                f"{what}: '{name}' is {value.dtype}, which no file has: save jax.random.key_data of it{called_at()}"
            )
        return value
    raise ArgumentTypeError(
        f"{what}: '{name}' is {type(value).__name__}: a state holds networks, optimisers, Tensors, arrays, numbers and texts{called_at()}"
    )


def on_devices(value: Any) -> bool:
    """Whether a value is an array of JAX's, or stands for one of a certain layout."""
    return hasattr(value, "sharding") and hasattr(value, "shape") and hasattr(value, "dtype")


def own_pieces(array: Any) -> list[tuple[Bounds, np.ndarray]]:
    """The pieces of an array that this process has: of each part that several devices hold, one of them has the say. All of a host array."""
    shape = tuple(array.shape)
    if not on_devices(array):
        return [((tuple(0 for _ in shape), shape), np.asarray(array))]
    return [
        (bounds(shard.index, shape), np.asarray(shard.data))
        for shard in array.addressable_shards
        if shard.replica_id == 0
    ]


def bounds(index: tuple[slice, ...], shape: tuple[int, ...]) -> Bounds:
    """The bounds of a part that slices cut out.

    >>> bounds((slice(None), slice(2, 4)), (3, 8))
    ((0, 2), (3, 4))
    """
    ends = [part.indices(n) for part, n in zip(index, shape, strict=True)]
    return tuple(e[0] for e in ends), tuple(e[1] for e in ends)


def overlap(a: Bounds, b: Bounds) -> Bounds | None:
    """What two parts of an array have in common.

    >>> overlap(((0, 0), (2, 4)), ((1, 2), (3, 8)))
    ((1, 2), (2, 4))
    """
    start = tuple(max(x, y) for x, y in zip(a[0], b[0], strict=True))
    stop = tuple(min(x, y) for x, y in zip(a[1], b[1], strict=True))
    return None if any(x >= y for x, y in zip(start, stop, strict=True)) else (start, stop)


def within(part: Bounds, whole: Bounds) -> tuple[slice, ...]:
    """The slices that cut a part out of an array with these bounds."""
    return tuple(slice(a - o, b - o) for a, b, o in zip(part[0], part[1], whole[0], strict=True))

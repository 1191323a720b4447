"""mindspore.ops._utils: shapes of results, as definitions of primitives compute them."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any

import numpy as np

from adjoint.core.tensor import Tensor


def get_broadcast_shape(
    x_shape: Any, y_shape: Any, prim_name: str, arg_name1: str = "x", arg_name2: str = "y"
) -> list[int]:
    """The shape that two inputs have in common.

    >>> get_broadcast_shape([3, 1], [4], "Add")
    [3, 4]
    """
    try:
        found = list(np.broadcast_shapes(tuple(x_shape), tuple(y_shape)))
    except ValueError:
        raise ValueError(
            f"For '{prim_name}', {arg_name1}.shape = {x_shape} and {arg_name2}.shape = {y_shape} need to broadcast."
        ) from None
    return x_shape if x_shape == y_shape else found


def get_concat_offset(x_shp: Sequence[Any], x_type: Any, axis: int, prim_name: str) -> tuple[list[int], int, int]:
    """Where each input begins in a concatenation, the size of the whole along the axis, and the axis.

    >>> get_concat_offset([(2, 3), (2, 4)], None, -1, "Concat")
    ([0, 3], 7, 1)
    """
    axis = axis % len(x_shp[0])
    for i, shape in enumerate(x_shp):
        if any(a != b for j, (a, b) in enumerate(zip(shape, x_shp[0], strict=True)) if j != axis):
            raise ValueError(f"For '{prim_name}', shape[0] = {x_shp[0]} and shape[{i}] = {shape} do not match.")
    sizes = [shape[axis] for shape in x_shp]
    return [sum(sizes[:i]) for i in range(len(sizes))], sum(sizes), axis


def range_op(start: int, limit: int, delta: int, dtype: Any) -> Tensor:
    """The integers of a range as a Tensor."""
    return Tensor(np.arange(start, limit, delta), dtype)


def get_1d_shape(in_shape: Sequence[int]) -> tuple[int]:
    """The shape of an array laid out in one axis."""
    return (math.prod(in_shape),)

"""Arrays read between their elements: at the points of a grid, in 2 or 3 axes of space."""

from __future__ import annotations

import itertools
import math
from collections.abc import Sequence
from typing import Any

import numpy as np

from adjoint.core.errors import ArgumentError, ShapeError, called_at
from adjoint.core.spec import dtype_of, float32, int64, is_half, shape_of
from adjoint.ops.arithmetic import abs_
from adjoint.ops.compare import greater_equal, less, round
from adjoint.ops.functional.elementwise import clamp, logical_and
from adjoint.ops.functional.of_cards import floor
from adjoint.ops.index import take_along_axis
from adjoint.ops.indexing import getitem
from adjoint.ops.language import cast, matmul, reshape, stop_gradient, where
from adjoint.ops.movement import expand_dims, swapaxes


def affine_grid(theta: Any, size: Sequence[int], align_corners: bool = False) -> Any:
    """The points (N, *space, axes) that affine maps (N, axes, axes + 1) give for a result of shape `size`, (N, C, *space).

    Points go from -1 to 1: from the first to the last element with `align_corners`, else from end to end of the axes.

    >>> from adjoint import ops, Tensor
    >>> print(ops.affine_grid(Tensor([[[1.0, 0.0, 0.5], [0.0, 1.0, 0.0]]]), (1, 1, 1, 2), align_corners=True))
    [[[[-0.5  0. ]
       [ 1.5  0. ]]]]
    """
    space = tuple(int(n) for n in size[2:])
    rank = len(space)
    if shape_of(theta) != (size[0], rank, rank + 1):
        raise ShapeError(
            f"affine_grid: maps of shape {(size[0], rank, rank + 1)} are needed for {tuple(size)}, not {shape_of(theta)}"
            f"{called_at()}"
        )
    axes = [_from_end_to_end(n, align_corners) for n in space]
    points = np.stack([*reversed(np.meshgrid(*axes, indexing="ij")), np.ones(space)], -1)
    points = points.reshape(-1, rank + 1).astype(dtype_of(theta))
    return reshape(matmul(points, swapaxes(theta, 1, 2)), (size[0], *space, rank))


def _from_end_to_end(n: int, align_corners: bool) -> np.ndarray:
    if n == 1:
        return np.zeros(1)
    return np.linspace(-1, 1, n) if align_corners else np.linspace(-1, 1, n) * (n - 1) / n


def grid_sample(
    input: Any, grid: Any, mode: str = "bilinear", padding_mode: str = "zeros", align_corners: bool | None = False
) -> Any:
    """An input (N, C, *space) read at the points of a grid (N, *places, axes), whose coordinates go from -1 to 1.

    The last axis of space comes first among the coordinates. `mode` is "bilinear", "nearest" or, for two axes, "bicubic";
    outside of the input there are zeros, its border, or its reflection (`padding_mode`).

    >>> from adjoint import ops, Tensor
    >>> x = Tensor([[[[1.0, 2.0], [3.0, 4.0]]]])
    >>> print(ops.grid_sample(x, Tensor([[[[0.0, 0.0], [1.0, 1.0]]]]), align_corners=True))
    [[[[2.5 4. ]]]]
    """
    n, channels, *space = shape_of(input)
    rank = len(space)
    if rank not in (2, 3) or len(shape_of(grid)) != rank + 2 or shape_of(grid)[-1] != rank or shape_of(grid)[0] != n:
        raise ShapeError(
            f"grid_sample: an input (N, C, *space) and a grid (N, *places, axes) of 2 or 3 axes are needed, not the shapes "
            f"{shape_of(input)} and {shape_of(grid)}{called_at()}"
        )
    if mode == "bicubic" and rank != 2:
        raise ArgumentError(
            f"grid_sample: mode 'bicubic' needs an input of two axes in space, not of {rank}{called_at()}"
        )
    if mode not in ("bilinear", "nearest", "bicubic") or padding_mode not in ("zeros", "border", "reflection"):
        raise ArgumentError(
            f"grid_sample: mode must be 'bilinear', 'nearest' or 'bicubic' and padding_mode 'zeros', 'border' or 'reflection', not "
            f"{mode!r} and {padding_mode!r}{called_at()}"
        )
    if is_half(dtype_of(input)) or is_half(dtype_of(grid)):  # places are not to be rounded
        wide = grid_sample(cast(input, float32), cast(grid, float32), mode, padding_mode, align_corners)
        return cast(wide, dtype_of(input))
    places = shape_of(grid)[1:-1]
    flat = reshape(grid, (n, math.prod(places), rank))
    # Coordinates stand in the order of the axes from here on.
    at = [_place(getitem(flat, (..., rank - 1 - k)), size, align_corners) for k, size in enumerate(space)]
    elements = reshape(input, (n, channels, math.prod(space)))
    if mode == "bicubic":
        return reshape(_bicubic(elements, at, space, padding_mode, align_corners), (n, channels, *places))
    at = [_inside(x, size, padding_mode, align_corners) for x, size in zip(at, space, strict=True)]
    near = [round(x) for x in at] if mode == "nearest" else [floor(x) for x in at]
    near = [stop_gradient(x) for x in near]
    if mode == "nearest":
        return reshape(_element(elements, near, space), (n, channels, *places))
    total: Any = 0.0
    for corner in itertools.product((0, 1), repeat=rank):
        share: Any = 1.0
        for x, low, step in zip(at, near, corner, strict=True):
            share = share * ((x - low) if step else (low + 1.0 - x))
        corners = [low + float(step) for low, step in zip(near, corner, strict=True)]
        total = total + expand_dims(share, 1) * _element(elements, corners, space)
    return reshape(total, (n, channels, *places))


def cubic_shares(t: Any, a: float = -0.75) -> list[Any]:
    """The shares of the neighbours at -1, 0, 1 and 2 in a point at t, between 0 and 1, for cubic convolution.

    >>> print(cubic_shares(0.5))
    [-0.09375, 0.59375, 0.59375, -0.09375]
    """

    def near(x: Any) -> Any:
        return ((a + 2.0) * x - (a + 3.0)) * x * x + 1.0

    def far(x: Any) -> Any:
        return ((a * x - 5.0 * a) * x + 8.0 * a) * x - 4.0 * a

    return [far(t + 1.0), near(t), near(1.0 - t), far(2.0 - t)]


def _bicubic(elements: Any, at: Sequence[Any], space: Sequence[int], padding_mode: str, align: bool | None) -> Any:
    """Elements (N, C, places) of two axes by cubic convolution; each of the sixteen neighbours is brought inside."""
    low = [stop_gradient(floor(x)) for x in at]
    shares = [cubic_shares(x - y) for x, y in zip(at, low, strict=True)]
    total: Any = 0.0
    for i, j in itertools.product(range(4), repeat=2):
        places = [
            stop_gradient(_inside(y + float(k - 1), size, padding_mode, align))
            for y, k, size in zip(low, (i, j), space, strict=True)
        ]
        total = total + expand_dims(shares[0][i] * shares[1][j], 1) * _element(elements, places, space)
    return total


def _place(x: Any, size: int, align_corners: bool | None) -> Any:
    """A coordinate between -1 and 1 as a place among `size` elements."""
    return (x + 1.0) * ((size - 1) / 2.0) if align_corners else ((x + 1.0) * size - 1.0) * 0.5


def _inside(x: Any, size: int, padding_mode: str, align_corners: bool | None) -> Any:
    """Places brought inside by the border or by reflection at the ends."""
    if padding_mode == "zeros":
        return x
    if padding_mode == "reflection":
        low, span = (0.0, size - 1.0) if align_corners else (-0.5, float(size))
        if span == 0:
            return x * 0.0
        distance = abs_(x - low)
        turns = stop_gradient(floor(distance / span))
        rest = distance - turns * span
        even = less(stop_gradient(turns - 2.0 * floor(turns / 2.0)), 0.5)
        x = where(even, rest + low, span - rest + low)
    return clamp(x, 0.0, size - 1.0)


def _element(elements: Any, at: Sequence[Any], space: Sequence[int]) -> Any:
    """The elements (N, C, places) at whole places; zeros outside."""
    inside: Any = True
    index: Any = 0
    for x, size in zip(at, space, strict=True):
        here = logical_and(greater_equal(x, 0), less(x, size))
        inside = here if inside is True else logical_and(inside, here)
        index = index * size + cast(clamp(x, 0, size - 1), int64)
    channels = shape_of(elements)[1]
    wide = expand_dims(index, 1) + np.zeros((1, channels, 1), np.int64)
    return where(expand_dims(inside, 1), take_along_axis(elements, wide, 2), 0)

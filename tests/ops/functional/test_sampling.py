"""Arrays read between their elements, against loops over every point."""

from __future__ import annotations

import itertools
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import adjoint as ad
from adjoint import ops


def read(x: np.ndarray, place: np.ndarray) -> float:
    """One element of an array at a place between its elements."""
    total = 0.0
    low = np.floor(place).astype(int)
    for corner in itertools.product((0, 1), repeat=len(place)):
        at = low + corner
        share = np.prod(np.where(corner, place - low, low + 1 - place))
        if all(0 <= a < n for a, n in zip(at, x.shape, strict=True)):
            total += share * x[tuple(at)]
    return total


def places(grid: np.ndarray, space: tuple[int, ...], align: bool, padding: str) -> np.ndarray:
    sizes = np.array(space, float)
    at = (grid[..., ::-1] + 1) / 2 * (sizes - 1) if align else ((grid[..., ::-1] + 1) * sizes - 1) / 2
    if padding == "reflection":
        low, span = (0.0, sizes - 1) if align else (-0.5, sizes)
        period = np.mod(at - low, 2 * span)
        at = np.minimum(period, 2 * span - period) + low
    return at if padding == "zeros" else np.clip(at, 0, sizes - 1)


def sampled(padding: str, align: bool) -> Callable[..., np.ndarray]:
    def sample(x: np.ndarray, grid: np.ndarray) -> np.ndarray:
        if (
            min(x.shape[2:]) < 2
            or 0 in x.shape
            or 0 in grid.shape
            or x.shape[0] != grid.shape[0]
            or x.ndim - 2 != grid.shape[-1]
        ):
            raise ValueError
        at = places(grid, x.shape[2:], align, padding)
        y = np.zeros((*x.shape[:2], *grid.shape[1:-1]))
        for n, c, *where in np.ndindex(*y.shape):
            y[(n, c, *where)] = read(x[n, c], at[(n, *where)])
        return y.astype(x.dtype)

    return sample


def mapped(theta: np.ndarray) -> np.ndarray:
    """The points of a grid of 3 by 2 from end to end."""
    if theta.shape[0] != 2 or theta.shape[1:] != (2, 3):
        raise ValueError
    x, y = np.array([-0.5, 0.5]), np.array([-2 / 3, 0, 2 / 3])
    points = np.array([[[a, b, 1.0] for a in x] for b in y])
    return np.einsum("nij,hwj->nhwi", theta, points).astype(theta.dtype)


def table(row: Callable[..., Any]) -> list[Any]:
    rows = [row("affine_grid", lambda t: ops.affine_grid(t, (2, 1, 3, 2)), mapped, (2, 2, 3))]
    for padding, align in itertools.product(("zeros", "border", "reflection"), (False, True)):
        call = lambda x, g, p=padding, a=align: ops.grid_sample(x, g, "bilinear", p, a)
        rows.append(row("grid_sample", call, sampled(padding, align), (2, 2, 3, 4), (2, 1, 3, 2), domain=(-1.4, 1.4)))
    call = lambda x, g: ops.grid_sample(x, g, "bilinear", "border", True)
    rows.append(row("grid_sample", call, sampled("border", True), (2, 1, 2, 3, 2), (2, 1, 1, 2, 3)))
    return rows


def test_calls(verify: Callable[[], None]) -> None:
    verify()


def test_nearest_takes_the_element_itself() -> None:
    x = ad.Tensor([[[[1.0, 2.0], [3.0, 4.0]]]])
    grid = ad.Tensor([[[[-0.9, -0.9], [0.9, -0.2], [3.0, 0.0]]]])
    assert ops.grid_sample(x, grid, "nearest", "zeros", True).tolist() == [[[[1.0, 2.0, 0.0]]]]
    assert ops.grid_sample(x, grid, "nearest", "border", True).tolist() == [[[[1.0, 2.0, 2.0]]]]


@pytest.mark.parametrize("align", [False, True])
def test_the_grid_of_the_identity_gives_the_input_back(align: bool) -> None:
    x = ad.Tensor(np.random.default_rng(0).normal(size=(2, 3, 4, 5)))
    theta = ad.Tensor(np.broadcast_to([[1.0, 0, 0], [0, 1, 0]], (2, 2, 3)).copy())
    grid = ops.affine_grid(theta, (2, 3, 4, 5), align)
    assert grid.shape == (2, 4, 5, 2)
    assert np.allclose(ops.grid_sample(x, grid, align_corners=align).asnumpy(), x.asnumpy())


def test_shapes_and_modes_that_do_not_fit_are_refused() -> None:
    x, grid = ops.ones((1, 1, 2, 2)), ops.zeros((1, 1, 1, 2))
    with pytest.raises(ad.ShapeError, match="a grid"):
        ops.grid_sample(x, ops.zeros((1, 1, 2)))
    with pytest.raises(ad.ArgumentError, match="mode must be"):
        ops.grid_sample(x, grid, "cubic")
    with pytest.raises(ad.ShapeError, match="maps of shape"):
        ops.affine_grid(ops.ones((1, 2, 2)), (1, 1, 2, 2))

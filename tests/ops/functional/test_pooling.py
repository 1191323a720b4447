"""Pooling and resizing against loops over every window, written here."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import adjoint as ad
from adjoint import ops


def pooled(collapse: Any, x: np.ndarray, window: Any, stride: Any, pairs: Any, fill: float = np.nan) -> np.ndarray:
    """`collapse` of each window, element by element; what lies outside of the input is `fill`."""
    lead = x.ndim - len(window)
    x = np.pad(x, [(0, 0)] * lead + list(pairs), constant_values=fill)
    count = [(n - k) // s + 1 for n, k, s in zip(x.shape[lead:], window, stride, strict=True)]
    if min(count) < 1:
        raise ValueError
    y = np.zeros(x.shape[:lead] + tuple(count), x.dtype)
    for place in np.ndindex(*count):
        at = tuple(slice(p * s, p * s + k) for p, s, k in zip(place, stride, window, strict=True))
        part = x[(..., *at)].reshape(*x.shape[:lead], -1)
        y[(..., *place)] = collapse(part, axis=-1)
    return y


def filled(x: np.ndarray) -> np.ndarray:
    """An input with something in it."""
    if not x.size:
        raise ValueError
    return x


def cut(collapse: Any, x: np.ndarray, sizes: Any) -> np.ndarray:
    """`collapse` of the pieces of the last axes, whose ends are rounded outwards."""
    lead = filled(x).ndim - len(sizes)
    y = np.zeros(x.shape[:lead] + tuple(sizes), x.dtype)
    for place in np.ndindex(*sizes):
        axes = zip(place, sizes, x.shape[lead:], strict=True)
        at = tuple(slice(int(np.floor(p * n / m)), int(np.ceil((p + 1) * n / m))) for p, m, n in axes)
        y[(..., *place)] = collapse(x[(..., *at)], axis=tuple(range(lead, x.ndim)))
    return y


def nanmean(x: np.ndarray, axis: int) -> np.ndarray:
    return np.nansum(x, axis) / (~np.isnan(x)).sum(axis)


def by_matrix(x: np.ndarray, rows: list[list[float]]) -> np.ndarray:
    if x.shape[-1] != len(rows[0]):
        raise ValueError
    return x @ np.array(rows).T


def table(row: Any) -> list[Any]:
    """The calls and their references."""
    return [
        row("max_pool1d", lambda x: ops.max_pool1d(x, 2), lambda x: pooled(np.max, x, (2,), (2,), ((0, 0),)), (2, 2, 5)),
        row("max_pool2d", lambda x: ops.max_pool2d(x, (3, 2), (2, 1), 1), lambda x: pooled(np.nanmax, x, (3, 2), (2, 1), ((1, 1), (1, 1))), (1, 2, 4, 3)),
        row("max_pool2d", lambda x: ops.max_pool2d(x, 2, ceil_mode=True), lambda x: pooled(np.nanmax, x, (2, 2), (2, 2), ((0, 1), (0, 1))), (2, 3, 3)),
        row("max_pool3d", lambda x: ops.max_pool3d(x, (1, 2, 2), 1), lambda x: pooled(np.max, x, (1, 2, 2), (1, 1, 1), ((0, 0),) * 3), (1, 1, 2, 3, 2)),
        row("avg_pool1d", lambda x: ops.avg_pool1d(x, 2), lambda x: pooled(np.mean, x, (2,), (1,), ((0, 0),)), (2, 2, 3)),
        row("avg_pool1d", lambda x: ops.avg_pool1d(x, 3, None, 1, count_include_pad=False), lambda x: pooled(nanmean, x, (3,), (3,), ((1, 1),)), (2, 5)),
        row("avg_pool2d", lambda x: ops.avg_pool2d(x, (3, 2), 2, (1, 0)), lambda x: pooled(np.mean, x, (3, 2), (2, 2), ((1, 1), (0, 0)), 0.0), (1, 2, 4, 4)),
        row("avg_pool2d", lambda x: ops.avg_pool2d(x, 2, 2, ceil_mode=True), lambda x: pooled(nanmean, x, (2, 2), (2, 2), ((0, 1), (0, 1))), (1, 2, 3, 3)),
        row("avg_pool3d", lambda x: ops.avg_pool3d(x, 2, divisor_override=3), lambda x: pooled(np.sum, x, (2, 2, 2), (1, 1, 1), ((0, 0),) * 3) / 3, (1, 1, 2, 3, 2)),
        row("adaptive_avg_pool1d", lambda x: ops.adaptive_avg_pool1d(x, 3), lambda x: cut(np.mean, x, (3,)), (2, 2, 5)),
        row("adaptive_avg_pool2d", lambda x: ops.adaptive_avg_pool2d(x, (2, 1)), lambda x: cut(np.mean, x, (2, 1)), (1, 2, 3, 4)),
        row("adaptive_avg_pool3d", lambda x: ops.adaptive_avg_pool3d(x, 2), lambda x: cut(np.mean, x, (2, 2, 2)), (1, 2, 3, 2)),
        row("adaptive_max_pool1d", lambda x: ops.adaptive_max_pool1d(x, 3), lambda x: cut(np.max, x, (3,)), (2, 2, 5)),
        row("adaptive_max_pool2d", lambda x: ops.adaptive_max_pool2d(x, (2, 1)), lambda x: cut(np.max, x, (2, 1)), (1, 2, 3, 4)),
        row("adaptive_max_pool3d", lambda x: ops.adaptive_max_pool3d(x, 2), lambda x: cut(np.max, x, (2, 2, 2)), (1, 2, 3, 2)),
        row("interpolate", lambda x: ops.interpolate(x, 5), lambda x: by_matrix(x, [[1, 0, 0], [1, 0, 0], [0, 1, 0], [0, 1, 0], [0, 0, 1]]), (2, 2, 3)),
        row("interpolate", lambda x: ops.interpolate(x, scale_factor=(2, 1)), lambda x: np.repeat(filled(x), 2, axis=2), (1, 2, 3, 2)),
        row("interpolate", lambda x: ops.interpolate(x, 4, mode="linear"), lambda x: by_matrix(x, [[1, 0], [0.75, 0.25], [0.25, 0.75], [0, 1]]), (2, 1, 2)),
        row("interpolate", lambda x: ops.interpolate(x, (1, 3), mode="bilinear", align_corners=True), lambda x: by_matrix(filled(x)[:, :, :1], [[1, 0], [0.5, 0.5], [0, 1]]), (1, 2, 3, 2)),
        row("interpolate", lambda x: ops.interpolate(x, 2, mode="area"), lambda x: cut(np.mean, x, (2,)), (1, 2, 5)),
    ]  # fmt: skip


def test_function(verify: Callable[[], None]) -> None:
    verify()


def test_every_public_function_has_a_row(without_a_row: list[str]) -> None:
    assert not without_a_row


def test_equal_elements_share_the_derivative() -> None:
    x = ad.Tensor([[[2.0, 2.0, 1.0, 3.0]]])
    assert ad.grad(lambda x: ops.sum(ops.max_pool1d(x, 2)))(x).tolist() == [[[0.5, 0.5, 0.0, 1.0]]]
    assert ad.jvp(lambda x: ops.max_pool1d(x, 2), x, ad.Tensor([[[1.0, 3.0, 5.0, 7.0]]]))[1].tolist() == [[[2.0, 7.0]]]


def test_nan_is_the_largest() -> None:
    x = ad.Tensor([[[np.nan, 1.0, 2.0, 3.0]]])
    y, where = ops.max_pool1d(x, 2, return_indices=True)
    assert np.isnan(y.asnumpy()[0, 0, 0]) and where.tolist() == [[[0, 3]]]


def test_indices_are_places_in_the_plane() -> None:
    """Gathering at the indices gives the maxima, with padding and several channels; of equal ones the first counts."""
    x = np.random.default_rng(0).integers(0, 5, (2, 3, 5, 6)).astype("float32")
    y, where = ops.max_pool2d(ad.Tensor(x), 3, 2, 1, return_indices=True)
    flat = x.reshape(2, 3, 30)
    assert (np.take_along_axis(flat, where.asnumpy().reshape(2, 3, -1), 2) == y.asnumpy().reshape(2, 3, -1)).all()
    assert ops.max_pool2d(ops.ones((1, 1, 4, 4)), 2, 2, return_indices=True)[1].tolist() == [[[[0, 2], [8, 10]]]]


def test_whole_numbers() -> None:
    x = ad.Tensor(np.arange(-8, 8, dtype="int32").reshape(1, 1, 4, 4))
    assert ops.max_pool2d(x, 2, padding=1).tolist() == [[[[-8, -6, -5], [0, 2, 3], [4, 6, 7]]]]
    assert ops.avg_pool2d(x, 2, 2).tolist() == [[[[-5.5, -3.5], [2.5, 4.5]]]]


def test_static_mode() -> None:
    x = ops.randn(1, 2, 6, 6, seed=1)

    def loss(x: Any) -> Any:
        return ops.sum(ops.max_pool2d(x, 3, 2, 1) ** 2) + ops.sum(ops.avg_pool2d(x, 2, 2) ** 3)

    np.testing.assert_allclose(ad.jit(ad.grad(loss))(x).asnumpy(), ad.grad(loss)(x).asnumpy(), rtol=1e-5, atol=1e-6)


X = ops.ones((1, 2, 4, 4))


@pytest.mark.parametrize(
    ("call", "words"),
    [
        (lambda: ops.max_pool2d(X[0, 0], 2), "an input of 4 axes (or 3 for a single sample) is needed"),
        (lambda: ops.max_pool2d(X, 2, padding=2), "padding 2 is more than half of the window, (2, 2)"),
        (lambda: ops.max_pool2d(X, 5), "which is more than the padded input has: (4, 4)"),
        (lambda: ops.avg_pool2d(X, 0), "kernel_size must be an integer >= 1, or 2 of them, not 0"),
        (lambda: ops.avg_pool2d(X, 2, (1, 2, 3)), "stride must be an integer >= 1, or 2 of them"),
        (lambda: ops.adaptive_avg_pool2d(X, 0), "output_size must be an integer >= 1 or 2 of them"),
        (lambda: ops.adaptive_max_pool1d(X[0, 0, 0], 2), "1 axes in space and one before are needed, not (4,)"),
        (lambda: ops.interpolate(X, 3, mode="linear"), "mode 'linear' for an input of shape (1, 2, 4, 4)"),
        (lambda: ops.adaptive_avg_pool1d(X[:, :, 0, :0], 2), "the shape (1, 2, 0) has nothing in space"),
        (lambda: ops.interpolate(X[:, :, :0], 2), "the shape (1, 2, 0, 4) has nothing in space"),
        (lambda: ops.interpolate(X), "one of size and scale_factor must be given"),
        (lambda: ops.interpolate(X, 3, align_corners=True), "align_corners has no meaning for mode 'nearest'"),
    ],
)
def test_refusals(call: Callable[[], Any], words: str) -> None:
    with pytest.raises(ValueError) as caught:
        call()
    assert words in str(caught.value) and "called at test_pooling.py" in str(caught.value)

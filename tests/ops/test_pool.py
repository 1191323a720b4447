"""Pooling cards at random geometries, against NumPy's views of windows."""

from __future__ import annotations

import numpy as np
import pytest

from adjoint.ops.pool import MaxPool, MaxPoolIndex, MaxPoolPull, MaxPoolPush, Pool
from adjoint.ops.sum_pool import SumPool, SumPoolPull
from adjoint.ops.unfolding import Fold, Unfold


def windows(op: Pool, x: np.ndarray, fill: float) -> np.ndarray:
    """The elements of every window along a last axis."""
    rank = op.rank
    x = np.pad(x, ((0, 0),) * (x.ndim - rank) + op.padding, constant_values=fill)
    size = tuple(d * (k - 1) + 1 for k, d in zip(op.window, op.dilation, strict=True))
    view = np.lib.stride_tricks.sliding_window_view(x, size, axis=tuple(range(x.ndim - rank, x.ndim)))
    steps = (slice(None),) * (x.ndim - rank) + tuple(slice(None, None, n) for n in (*op.stride, *op.dilation))
    view = view[steps]
    return view.reshape(*view.shape[:-rank], -1)


def random_call(seed: int) -> tuple[tuple, np.ndarray]:
    """A geometry in which every window touches the input, and an input of few values, so that many are equal."""
    rng = np.random.default_rng(seed)
    rank = int(rng.integers(1, 4))

    def some(low: int, high: int) -> tuple[int, ...]:
        return tuple(int(v) for v in rng.integers(low, high, rank))

    window, stride, dilation = some(1, 4), some(1, 4), some(1, 3)
    pairs = tuple((int(rng.integers(0, d + 1)) if k > 1 else 0, 0) for k, d in zip(window, dilation, strict=True))
    space = tuple(d * (k - 1) + 1 + more for k, d, more in zip(window, dilation, some(0, 4), strict=True))
    return (window, stride, pairs, dilation), rng.integers(0, 4, (2, *space)).astype(float)


@pytest.mark.parametrize("seed", range(30))
def test_random_geometries(seed: int) -> None:
    geometry, x = random_call(seed)
    rng = np.random.default_rng(seed)
    seen, zeroed = (windows(MaxPool(*geometry), x, fill) for fill in (-np.inf, 0.0))
    y = MaxPool(*geometry).eval(np, x)
    np.testing.assert_array_equal(y, seen.max(-1))
    np.testing.assert_allclose(SumPool(*geometry).eval(np, x), zeroed.sum(-1))
    np.testing.assert_array_equal(np.moveaxis(Unfold(*geometry).eval(np, x), -1 - len(geometry[0]), -1), zeroed)

    places = windows(MaxPool(*geometry), np.arange(x[0].size).reshape(x[0].shape), -1)
    first = np.take_along_axis(np.broadcast_to(places, seen.shape), seen.argmax(-1)[..., None], -1)[..., 0]
    np.testing.assert_array_equal(MaxPoolIndex(*geometry).eval(np, x), first)

    t, g = rng.normal(size=x.shape), rng.normal(size=y.shape)
    hits = seen == y[..., None]
    want = (windows(MaxPool(*geometry), t, 0.0) * hits).sum(-1) / hits.sum(-1)
    np.testing.assert_allclose(MaxPoolPush(*geometry).eval(np, t, x), want, atol=1e-12)
    assert np.vdot(MaxPoolPull(*geometry).eval(np, g, x), t) == pytest.approx(np.vdot(g, want), abs=1e-10)

    space = x.shape[1:]
    summed = np.vdot(SumPoolPull(*geometry, space).eval(np, g), x)
    assert summed == pytest.approx(np.vdot(g, zeroed.sum(-1)), abs=1e-10)
    parts = Unfold(*geometry).eval(np, x)
    spread = rng.normal(size=parts.shape)
    assert np.vdot(Fold(*geometry, space).eval(np, spread), x) == pytest.approx(np.vdot(spread, parts), abs=1e-10)

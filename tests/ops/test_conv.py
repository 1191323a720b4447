"""Convolution cards at random geometries, against SciPy's correlation with spread-out filters."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from scipy import signal

from adjoint.ops import convolution
from adjoint.ops.conv import Conv, ConvFilter, ConvInput


def reference(op: Conv, x: np.ndarray, w: np.ndarray) -> np.ndarray:
    """Correlate with filters that have zeros between their elements, then keep every stride-th place."""
    x = np.pad(x, ((0, 0), (0, 0), *op.padding))
    size = tuple(d * (k - 1) + 1 for k, d in zip(w.shape[2:], op.dilation, strict=True))
    wide = np.zeros((*w.shape[:2], *size))
    wide[(slice(None), slice(None), *(slice(None, None, d) for d in op.dilation))] = w
    steps = tuple(slice(None, None, s) for s in op.stride)
    per_in, per_out = w.shape[1], w.shape[0] // op.groups

    def one(n: int, o: int) -> Any:
        channels = x[n, o // per_out * per_in : (o // per_out + 1) * per_in]
        return sum(signal.correlate(a, b, "valid", "direct")[steps] for a, b in zip(channels, wide[o], strict=True))

    return np.stack([np.stack([one(n, o) for o in range(len(w))]) for n in range(len(x))])


def random_call(rng: np.random.Generator) -> tuple[Conv, np.ndarray, np.ndarray]:
    """A geometry of one to three axes, and an input and filters that fit it."""
    rank, groups = int(rng.integers(1, 4)), int(rng.integers(1, 4))

    def some(low: int, high: int) -> tuple[int, ...]:
        return tuple(int(v) for v in rng.integers(low, high, rank))

    window, stride, dilation = some(1, 4), some(1, 4), some(1, 3)
    pairs = tuple(zip(some(0, 3), some(0, 3), strict=True))
    axes = zip(window, dilation, pairs, some(0, 4), strict=True)
    space = tuple(max(d * (k - 1) + 1 - lo - hi, 1) + more for k, d, (lo, hi), more in axes)
    n, c, o = (int(v) for v in rng.integers(1, 4, 3))
    shapes = (n, c * groups, *space), (o * groups, c, *window)
    x, w = (rng.normal(size=shape) for shape in shapes)
    return Conv(stride, pairs, dilation, groups), x, w


@pytest.mark.parametrize("seed", range(40))
def test_random_geometries(seed: int, monkeypatch: pytest.MonkeyPatch) -> None:
    """The value is SciPy's; the other two cards are transposes: <g, conv(x, w)> in three ways. Batches may be tiny."""
    rng = np.random.default_rng(seed)
    monkeypatch.setattr(convolution, "COLUMNS", int(rng.choice([1, 60, 1 << 19])))
    op, x, w = random_call(rng)
    y = op.eval(np, x, w)
    np.testing.assert_allclose(y, reference(op, x, w), rtol=1e-12, atol=1e-12)
    g = rng.normal(size=y.shape)
    want = np.vdot(g, y)
    dx = ConvInput(*op.geometry, x.shape[2:]).eval(np, g, w)
    dw = ConvFilter(*op.geometry, w.shape[2:]).eval(np, x, g)
    assert dx.shape == x.shape and dw.shape == w.shape
    np.testing.assert_allclose([np.vdot(dx, x), np.vdot(dw, w)], want, rtol=1e-10, atol=1e-10)

"""Derivatives of the incomplete gamma and beta functions by their parameters take memory for a block of elements, not for all."""

from __future__ import annotations

import tracemalloc

import numpy as np
import pytest

from adjoint.ops import incomplete, incomplete_beta

N = 15_000
DRAW = np.random.default_rng(0)
A, B, X, U = DRAW.uniform(0.5, 30, N), DRAW.uniform(0.5, 30, N), DRAW.uniform(0.01, 30, N), DRAW.uniform(0.1, 0.9, N)


@pytest.mark.parametrize(
    ("slope", "inputs"),
    [
        (lambda *xs: incomplete._derivative(1, *xs), (A, X)),
        (lambda *xs: incomplete_beta.beta_series(1, 0, *xs), (A, B, U)),
    ],
    ids=["gammainc", "betainc"],
)
def test_bounded(slope, inputs):
    slope(*(v[:2] for v in inputs))  # what is imported does not count
    tracemalloc.start()
    try:
        found = slope(*inputs)
        most = tracemalloc.get_traced_memory()[1]
    finally:
        tracemalloc.stop()
    assert most < 35e6  # all terms at once would be above 50 MB
    some = DRAW.integers(0, N, 20)
    np.testing.assert_allclose(found[some], slope(*(v[some] for v in inputs)), rtol=1e-12)


def test_many_terms():
    mpmath = pytest.importorskip("mpmath")
    with mpmath.workdps(40):
        for a, x in ((3e4, 3e4 - 50), (1e5, 1e5 + 3)):
            step = mpmath.mpf("1e-12")
            value = lambda a, x=x: mpmath.gammainc(a, 0, x, regularized=True)
            exact = float((value(a + step) - value(a - step)) / (2 * step))
            found = float(incomplete._derivative(1, np.array(a), np.array(x)))
            np.testing.assert_allclose(found, exact, rtol=1e-8)

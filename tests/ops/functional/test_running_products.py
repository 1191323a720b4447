"""Running products stay in range where NumPy's do: windows of many factors are scaled, which changes no digit."""

from __future__ import annotations

from fractions import Fraction
from itertools import accumulate
from operator import mul

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

import adjoint as ad
from adjoint import ops

LARGEST = {np.float32: 126, np.float64: 1022}


def in_range(exponents: list[int], most: int) -> list[int]:
    """Exponents of factors whose products so far stay in range."""
    total, kept = 0, []
    for e in exponents:
        e = max(-most, min(most, e))
        e = e if abs(total + e) < most else -e
        e = e if abs(total + e) < most else 0
        total += e
        kept.append(e)
    return kept


@given(
    st.lists(st.tuples(st.integers(-1022, 1022), st.floats(1, 1.99), st.booleans()), min_size=1, max_size=40),
    st.sampled_from([np.float32, np.float64]),
)
def test_products_so_far_are_exact_to_rounding(factors: list[tuple[int, float, bool]], dtype: type) -> None:
    most = LARGEST[dtype] - 40  # mantissas multiply up to 2**40
    powers = in_range([e for e, _, _ in factors], most)
    x = np.array([(-m if s else m) * 2.0**e for e, (_, m, s) in zip(powers, factors, strict=True)], dtype)
    exact = [float(p) for p in accumulate(map(Fraction, x.tolist()), mul)]
    np.testing.assert_allclose(ops.cumprod(x, 0), exact, rtol=40 * np.finfo(dtype).eps)


FACTORS = np.array([1e-100, 1e-100, -1e-100, 1e110, 3e110, 1e110, 2.0, 0.5, 1e-90, 7.0, 1e-20, 1.5])


@pytest.mark.parametrize("factors", [FACTORS, np.where(np.arange(12) == 7, 0.0, FACTORS)], ids=["plain", "with a zero"])
def test_a_window_out_of_range_does_no_harm(factors: np.ndarray) -> None:
    weights = np.linspace(1, 2, 12)
    f = lambda x: (ops.cumprod(x, 0) * weights).sum()

    def slope(i: int) -> float:
        """By exact arithmetic."""
        products = accumulate((Fraction(1) if j == i else Fraction(v) for j, v in enumerate(factors)), mul)
        return float(sum(p * Fraction(w) for p, w in list(zip(products, weights, strict=True))[i:]))

    with np.errstate(over="ignore"):
        assert np.isinf(np.prod(factors[3:7])), "a window of four factors must overflow"
    for run in (lambda f: f, ad.jit):
        np.testing.assert_allclose(run(lambda x: ops.cumprod(x, 0))(factors), np.cumprod(factors), rtol=1e-13)
        np.testing.assert_allclose(run(ad.grad(f))(factors), [slope(i) for i in range(12)], rtol=1e-12)
        rows = run(ad.vmap(lambda x: ops.cumprod(x, 0)))(np.stack([factors, factors[::-1]]))
        np.testing.assert_allclose(rows[0], np.cumprod(factors), rtol=1e-13)


def test_zeros_infinities_and_nan_are_those_of_numpy() -> None:
    for bad in (0.0, -0.0, np.inf, -np.inf, np.nan):
        x = np.where(np.arange(20) == 11, bad, np.linspace(-2, 3, 20))
        with np.errstate(invalid="ignore"):
            np.testing.assert_allclose(ops.cumprod(x, 0), np.cumprod(x), rtol=1e-14)
            np.testing.assert_allclose(ad.jit(lambda x: ops.cumprod(x, 0))(x), np.cumprod(x), rtol=1e-14)
    whole = np.arange(1, 30)
    np.testing.assert_array_equal(ops.cumprod(whole, 0), np.cumprod(whole))  # which wraps around

"""What XLA would leave out of a program: NaN that a product with zero hands on, and the sign of a zero."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import adjoint as ad
from adjoint import ops


@pytest.mark.parametrize("dtype", ["float32", "float64"])
@pytest.mark.parametrize("largest", [True, False])
def test_derivatives_of_an_extreme_of_nan_are_nan(dtype: str, largest: bool) -> None:
    x = np.array([[3, np.nan, 2], [1, 1, 0]], dtype)

    def extreme(x: Any, axis: Any = None) -> Any:
        return x.max(axis) if largest else x.min(axis)

    def along(x: Any) -> Any:
        return extreme(x, 0).sum()

    def tangent(x: Any, t: Any) -> Any:
        return ad.jvp(extreme, (x,), (t,))[1]

    found = ad.jit(ad.grad(extreme), backend="xla")(x)
    assert found.dtype == x.dtype and np.isnan(found).all()
    found = ad.jit(ad.grad(along), backend="xla")(x)
    np.testing.assert_array_equal(found, ad.jit(ad.grad(along), backend="native")(x))
    assert np.isnan(found[:, 1]).all() and not np.isnan(found[:, ::2]).any()
    assert np.isnan(float(ad.jit(tangent, backend="xla")(x, np.ones_like(x))))


def test_ties_share_evenly() -> None:
    x = np.array([1.0, 3.0, 3.0])
    assert ad.jit(ad.grad(ops.max), backend="xla")(x).tolist() == [0, 0.5, 0.5]


@pytest.mark.parametrize("dtype", ["float16", "float32", "float64", "complex64"])
def test_nan_survives_a_product_with_truth_values(dtype: str) -> None:
    v = np.array([np.nan, np.inf, 1, 2]).astype(dtype)
    mask = np.array([True, False, False, True])

    def times(mask: Any, v: Any) -> Any:
        return mask * v

    def cast(mask: Any, v: Any) -> Any:
        return ops.cast(mask, v.dtype) * v

    def by(mask: Any, v: Any) -> Any:
        return ops.cast(mask, v.dtype) / (v - v)

    for f in (times, cast, by):
        with np.errstate(all="ignore"):
            wanted = ad.jit(f, backend="native")(mask, v)
        found = ad.jit(f, backend="xla")(mask, v)
        np.testing.assert_array_equal(np.isnan(found), np.isnan(wanted))


CUTS = np.array([complex(a, b) for a in (-2.0, -0.5, 0.5, 2.0) for b in (0.0, -0.0)])
SIDES = np.array([complex(a, b) for a in (0.0, -0.0) for b in (-2.0, -0.5, 0.5, 2.0)])


@pytest.mark.parametrize("name", ["sqrt", "asin", "acos", "acosh", "log", "atan", "atanh", "asinh"])
def test_the_sign_of_a_zero_says_the_side_of_a_branch_cut(name: str) -> None:
    function = getattr(ops, name)
    reference = getattr(np, name.replace("a", "arc", 1) if name.startswith("a") else name)
    for dtype in ("complex64", "complex128"):
        z = np.concatenate([CUTS, SIDES]).astype(dtype)
        wanted, tolerance = reference(z), 1e-5 if dtype == "complex64" else 1e-12
        for found in (ad.jit(function, backend="xla")(z), function(ad.Tensor(z, device="cpu:0")).asnumpy()):
            np.testing.assert_allclose(found, wanted, tolerance, tolerance)
            np.testing.assert_array_equal(np.signbit(found.imag), np.signbit(wanted.imag))


def test_derivatives_at_branch_cuts() -> None:
    def slope(f: Any) -> Any:
        return lambda z: ad.jvp(f, (z,), (ops.ones_like(z),))[1]

    for f in (ops.sqrt, ops.asin, ops.acos, ops.acosh):
        wanted = ad.jit(slope(f), backend="native")(CUTS)
        np.testing.assert_allclose(ad.jit(slope(f), backend="xla")(CUTS), wanted, 1e-12, 1e-12)
    assert np.allclose(ad.jit(slope(ops.sqrt), backend="xla")(np.conj([-4 + 0j])), 0.25j)

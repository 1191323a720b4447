"""Special functions keep their digits where they are small."""

from __future__ import annotations

import numpy as np
import pytest
import scipy.special

import adjoint as ad
from adjoint import Tensor, ops

A, X = np.array([2.0, 3.5, 0.7]), np.array([30.0, 90.0, 55.0])


@pytest.mark.parametrize("compiled", [False, True])
def test_the_upper_incomplete_gamma_function_is_not_a_difference(compiled: bool) -> None:
    f = ad.jit(ops.gammaincc) if compiled else ops.gammaincc
    np.testing.assert_allclose(f(Tensor(A), Tensor(X)).asnumpy(), scipy.special.gammaincc(A, X), rtol=1e-12)


def test_its_derivative_by_x_is_minus_the_density() -> None:
    slope = ad.grad(lambda x: ops.gammaincc(Tensor(A), x).sum())(Tensor(X)).asnumpy()
    density = np.exp((A - 1) * np.log(X) - X - scipy.special.gammaln(A))
    np.testing.assert_allclose(slope, -density, rtol=1e-12)

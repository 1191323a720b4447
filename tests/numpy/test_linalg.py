"""Linear algebra under the names of NumPy: what the numbers alone do not decide."""

import numpy as np
import pytest

import adjoint as ad


@pytest.mark.parametrize("uplo", ["L", "U", "u"])
@pytest.mark.parametrize("n", [1, 5, 17])
def test_eigenvectors_have_the_signs_that_numpy_gives_them(uplo, n):
    a = np.random.default_rng(n).normal(size=(n, n))
    wanted = np.linalg.eigh(a, uplo)[1]
    f = lambda x: np.linalg.eigh(x, uplo)[1]
    np.testing.assert_allclose(ad.jvp(f, (a,), (a,))[0], wanted, atol=1e-9)
    np.testing.assert_allclose(ad.jit(f)(a), wanted, atol=1e-9)

"""Plain Python against both backends."""

import numpy as np
import pytest

import adjoint as ad


def described(y):
    leaves = y if isinstance(y, tuple) else (y,)
    return [np.asarray(float(v) if isinstance(v, int) and abs(v) >= 2**63 else v) for v in leaves]


def _agree(fn, *args):
    """Plain Python, native code and the interpreter give the same numbers in the same dtypes."""
    expected = described(fn(*args))
    for backend in ("native", "interpreter"):
        found = described(ad.jit(fn, backend=backend)(*args))
        assert [y.dtype for y in found] == [y.dtype for y in expected]
        for y, want in zip(found, expected, strict=True):
            np.testing.assert_allclose(y, want, rtol=2e-6 if want.dtype == np.float32 else 1e-12)


@pytest.fixture
def agree():
    """A check that all ways to run a function give the same."""
    return _agree

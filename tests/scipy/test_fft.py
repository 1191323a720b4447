"""scipy.fft, called as it is: SciPy's numbers, and derivatives against differences, in both modes."""

from __future__ import annotations

import numpy as np
import pytest
import scipy.fft as sf

import adjoint as ad
from plain_scipy import agrees

RNG = np.random.default_rng(5)
X = RNG.normal(size=(3, 4))


@pytest.mark.parametrize("name", ["dct", "idct", "dst", "idst"])
@pytest.mark.parametrize("kind", [1, 2, 3, 4])
def test_cosine_and_sine_transforms_have_the_numbers_of_scipy(name, kind):
    theirs, ours = getattr(sf, name), getattr(ad.scipy.fft, name)
    for norm in (None, "ortho", "forward"):
        for orthogonalize in (None, True, False):
            for x, axis in ((X, 0), (X, -1), (X[0, :2], 0), (X + 1j, 1)):
                if x.dtype.kind == "c" and orthogonalize is not None:
                    continue  # SciPy does not hand the argument on for complex numbers
                options = {"norm": norm, "axis": axis, "orthogonalize": orthogonalize}
                assert np.allclose(ours(x, kind, **options), theirs(x, kind, **options), atol=1e-12)
    agrees(lambda x: theirs(x, kind, n=5), X)


@pytest.mark.parametrize(
    "name",
    ["fft", "ifft", "rfft", "irfft", "hfft", "ihfft", "fft2", "irfft2", "rfftn", "ifftn", "fftshift", "dctn", "idstn"],
)
def test_transforms(name):
    agrees(getattr(sf, name), X)
    agrees(lambda x: getattr(sf, name)(x + 1j * x * x) if name in ("fft", "ifft2") else getattr(sf, name)(x), X)


def test_options_and_compiled_code():
    agrees(lambda x: sf.fftn(x, s=(4, 2), axes=(1, 0), norm="ortho", workers=1), X)
    agrees(lambda x: sf.dctn(x, s=(2, 6), type=3), X)

    def f(x):
        return (sf.dct(x, norm="ortho", axis=0) ** 3).sum() + abs(sf.rfft2(x)).sum() + sf.idst(x, 4)[1, 2]

    assert np.allclose(ad.jit(ad.grad(f))(X), ad.grad(f)(X))
    assert sf.next_fast_len(13) == 14

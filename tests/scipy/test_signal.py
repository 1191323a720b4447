"""scipy.signal, called as it is: SciPy's numbers, and derivatives against differences, in both modes."""

from __future__ import annotations

import itertools

import numpy as np
import pytest
import scipy.signal as ss

import adjoint as ad
from plain_scipy import agrees

RNG = np.random.default_rng(7)
x, h = RNG.normal(size=9), RNG.normal(size=4)
IMAGE, KERNEL = RNG.normal(size=(4, 5)), RNG.normal(size=(2, 3))
CUBE, SMALL = RNG.normal(size=(3, 2, 3)), RNG.normal(size=(2, 2, 2))
B, A = np.array([0.5, 0.2, -0.1]), np.array([2.0, -0.6, 0.1, 0.05])
SOS = ss.butter(3, 0.3, output="sos")
ZI = RNG.normal(size=3)


def sections(b, rest=SOS[:, 4:]):
    return np.concatenate([b, np.ones((len(SOS), 1)), rest], 1)


CASES = {
    "lfilter": (ss.lfilter, B, A, x),
    "lfilter_axis": (lambda b, a, x: ss.lfilter(b, a, x, axis=0), B, A, IMAGE),
    "lfilter_zi": (lambda b, a, x, zi: ss.lfilter(b, a, x, zi=zi), B, A, x, ZI),
    "lfilter_short": (lambda b, a, x, zi: ss.lfilter(b, a, x, zi=zi), B, A, x[:2], ZI),
    "lfilter_fir": (lambda b, x: ss.lfilter(b, [1.0], x), B, x),
    "lfilter_long": (lambda b, x: ss.lfilter(b, 1.0, x), RNG.normal(size=70), RNG.normal(size=80)),
    "sosfilt": (lambda s, r, x: ss.sosfilt(sections(s, r), x), SOS[:, :3], SOS[:, 4:], x),
    "sosfilt_zi": (lambda s, x: ss.sosfilt(s := sections(s), x, zi=ss.sosfilt_zi(s) * x[0]), SOS[:, :3], x),
    "filtfilt": (lambda b, a, x: ss.filtfilt(b, a, x), B, A[:2], np.tile(x, 2)),
    "filtfilt_even": (lambda x: ss.filtfilt(B, A, x, axis=0, padtype="even", padlen=2), IMAGE),
    "sosfiltfilt": (lambda x: ss.sosfiltfilt(SOS, x), np.tile(x, 3)),
    "savgol": (lambda x: ss.savgol_filter(x, 5, 2), x),
    "savgol_axis": (lambda x: ss.savgol_filter(x, 3, 1, deriv=1, axis=0, delta=0.5), IMAGE),
    "detrend": (ss.detrend, IMAGE),
    "detrend_parts": (lambda x: ss.detrend(x, bp=[0, 3]), x),
    "detrend_constant": (lambda x: ss.detrend(x, type="constant", axis=0), IMAGE),
    "hilbert": (ss.hilbert, x),
    "fftconvolve_axes": (lambda a, b: ss.fftconvolve(a, b, axes=1), IMAGE, RNG.normal(size=(4, 2))),
    "convolve_complex": (lambda a, b: ss.convolve(a + 1j * a**2, b), x, h),
    "convolve_four_axes": (ss.convolve, RNG.normal(size=(2, 2, 1, 2)), RNG.normal(size=(1, 2, 2, 2))),
}  # fmt: skip


@pytest.mark.parametrize("name", CASES)
def test_functions(name):
    f, *args = CASES[name]
    agrees(f, *args)


@pytest.mark.parametrize("mode", ["full", "same", "valid"])
@pytest.mark.parametrize("name", ["convolve", "correlate", "fftconvolve"])
def test_convolution_in_every_number_of_axes(name, mode):
    f = getattr(ss, name)
    for a, b in [(x, h), (h, x), (IMAGE, KERNEL), (CUBE, SMALL)]:
        agrees(lambda a, b: f(a, b, mode=mode), a, b)


@pytest.mark.parametrize("mode", ["mirror", "nearest", "wrap", "constant"])
def test_edges_of_savgol(mode):
    agrees(lambda x: ss.savgol_filter(x, 5, 3, mode=mode, cval=0.7), x)


def test_boundaries_of_images():
    for name, mode, boundary in itertools.product(
        ["convolve2d", "correlate2d"], ["full", "same", "valid"], ["fill", "wrap", "symm"]
    ):
        f = getattr(ss, name)
        for kernel in (KERNEL, RNG.normal(size=(2, 2))):
            want = f(IMAGE, kernel, mode, boundary, 0.0 if mode == "valid" else 0.5)
            got = getattr(ad.scipy.signal, name)(IMAGE, kernel, mode, boundary, 0.0 if mode == "valid" else 0.5)
            assert np.allclose(got, want), (name, mode, boundary)
    agrees(lambda a, b: ss.convolve2d(a, b, mode="same", boundary="symm"), IMAGE, KERNEL)
    agrees(lambda a, b: ss.correlate2d(a, b, boundary="wrap"), IMAGE, KERNEL)


def test_axes_to_convolve_and_axes_to_sum_over():
    """As in HIPS autograd: against a sum of convolutions of lines."""
    a, b = RNG.normal(size=(2, 3, 6)), RNG.normal(size=(4, 3, 2))

    def f(a, b):
        return ad.scipy.signal.convolve(a, b, axes=([2], [2]), dot_axes=([1], [1]), mode="valid")

    want = [[sum(np.convolve(a[i, c], b[j, c], "valid") for c in range(3)) for j in range(4)] for i in range(2)]
    assert np.allclose(f(a, b), want)
    ad.check_grads(f, a, b, order=1)
    whole = ad.scipy.signal.convolve(IMAGE, KERNEL, axes=([0, 1], [0, 1]))
    assert np.allclose(whole, ss.convolve(IMAGE, KERNEL))


def test_integers_and_single_precision():
    one, two = np.array([1, 2, 3]), np.array([1, 1])
    assert ad.vjp(lambda v: ss.convolve(one, two) * v, 1.0)[0].dtype == np.float64
    assert np.array_equal(ad.jit(lambda a: ss.convolve(a, two))(one), [1, 3, 5, 3])
    short = x.astype(np.float32)
    assert ad.vjp(lambda v: ss.lfilter(B.astype(np.float32), A.astype(np.float32), v), short)[0].dtype == np.float32


def test_compiled():
    def f(b, a, x, image):
        y = ss.lfilter(b, a, x) + ss.savgol_filter(x, 3, 1) + ss.fftconvolve(x, b, mode="same")
        z = ss.convolve(image, KERNEL, mode="same") + ss.convolve2d(image, KERNEL, mode="same", boundary="symm")
        return (y**2).sum() + (z**2).sum() + ss.filtfilt(b, a, x, padlen=4).sum() + ss.sosfilt(SOS, x)[-1]

    args = (B, A, x, IMAGE)
    for g, want in zip(ad.jit(ad.grad(f, (0, 1, 2, 3)))(*args), ad.grad(f, (0, 1, 2, 3))(*args), strict=True):
        assert np.allclose(g, want)


def test_what_is_refused():
    with pytest.raises(ad.CutGradientError, match="scipy.signal.medfilt"):
        ad.grad(lambda v: ss.medfilt(v).sum())(x)
    with pytest.raises(ad.ArgumentError, match="odd window_length"):
        ad.grad(lambda v: ss.savgol_filter(v, 4, 2).sum())(x)


def test_a_first_coefficient_of_zero_is_refused():
    with pytest.raises(ad.ArgumentError, match="first coefficient of a must not be 0"):
        ad.grad(lambda x: ss.lfilter([1.0], [0.0, 0.5], x).sum())(np.ones(3))

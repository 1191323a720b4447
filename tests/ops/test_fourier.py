"""Fourier transforms: values against NumPy, derivatives against finite differences."""

import numpy as np
import pytest

from adjoint import ops as fft
from adjoint.api.grad import grad
from adjoint.core.errors import ArgumentError, DtypeError, ShapeError
from adjoint.core.tensor import Tensor
from adjoint.ops.functional.of_cards import abs as magnitude

RNG = np.random.default_rng(11)
NORMS = [None, "backward", "ortho", "forward"]


def close(got, want, rtol=1e-12):
    got = got.asnumpy() if isinstance(got, Tensor) else got
    np.testing.assert_allclose(got, want, rtol=rtol, atol=rtol)


def draw(*shape, number=float):
    return RNG.normal(size=shape) + (1j * RNG.normal(size=shape) if number is complex else 0)


def compare(check, name, x, **options):
    check(lambda x: getattr(fft, name)(x, **options), lambda x: getattr(np.fft, name)(x, **options), x)


@pytest.mark.parametrize("norm", NORMS)
@pytest.mark.parametrize("name", ["fft", "ifft", "rfft", "irfft", "hfft", "ihfft"])
def test_one_axis(check, name, norm):
    if name not in ("rfft", "ihfft"):
        compare(check, name, draw(4, number=complex), norm=norm)
    compare(check, name, draw(5), norm=norm)
    compare(check, name, draw(2, 3), axis=0, norm=norm)


@pytest.mark.parametrize("n", [1, 2, 3, 4, 5, 8])
@pytest.mark.parametrize("name", ["fft", "ifft", "rfft", "irfft", "hfft", "ihfft"])
def test_cropped_and_padded(check, name, n):
    compare(check, name, draw(4), n=n)
    if name not in ("rfft", "ihfft"):
        compare(check, name, draw(2, 3, number=complex), n=n, axis=-1)


@pytest.mark.parametrize("norm", NORMS)
@pytest.mark.parametrize("name", ["fft2", "ifft2", "fftn", "ifftn", "rfft2", "irfft2", "rfftn", "irfftn"])
def test_several_axes(check, name, norm):
    compare(check, name, draw(3, 4), norm=norm)
    if not name.startswith("rfft"):
        compare(check, name, draw(3, 2, number=complex), norm=norm)


@pytest.mark.parametrize("name", ["fftn", "ifftn", "rfftn", "irfftn"])
@pytest.mark.parametrize(
    "s, axes", [(None, (1,)), (None, (2, 0)), ((3, 2), (0, 2)), ((2, 5), (-1, 0)), ((3, -1), (0, 1))]
)
def test_chosen_axes_and_sizes(check, name, s, axes):
    compare(check, name, draw(2, 3, 2), s=s, axes=axes)


def test_shifts(check):
    for x in (draw(4), draw(5), draw(2, 3)):
        compare(check, "fftshift", x)
        compare(check, "ifftshift", x)
        compare(check, "fftshift", x, axes=0)
        close(fft.ifftshift(fft.fftshift(x)), x, 0)
    compare(check, "ifftshift", draw(2, 3), axes=(1,))


def test_frequencies():
    for n in (1, 4, 5):
        np.testing.assert_array_equal(fft.fftfreq(n, 0.5), np.fft.fftfreq(n, 0.5))
        np.testing.assert_array_equal(fft.rfftfreq(n), np.fft.rfftfreq(n))


def test_energy_of_a_spectrum():
    """Parseval: the gradient of the energy of the spectrum is 2 n x."""
    x = draw(6)
    close(grad(lambda x: (magnitude(fft.fft(x)) ** 2).sum())(x), 12 * x)


def test_gradient_of_a_real_signal_is_real_and_precision_is_kept():
    x = Tensor(draw(4).astype("float32"))
    assert fft.fft(x).dtype == fft.rfft(x).dtype == np.complex64
    assert fft.irfft(fft.rfft(x)).dtype == np.float32
    for name in ("fft", "rfft"):
        assert grad(lambda x, name=name: magnitude(getattr(fft, name)(x)))(x).dtype == np.float32


def test_arrays_in_arrays_out():
    assert isinstance(fft.fft([1.0, 2.0]), np.ndarray)
    assert isinstance(fft.rfft(np.ones(3)), np.ndarray)
    assert isinstance(fft.ifft(Tensor(np.ones(3))), Tensor)


@pytest.mark.parametrize(
    "error, words, call",
    [
        (
            ArgumentError,
            "norm must be 'backward', 'ortho' or 'forward', not 'x'",
            lambda: fft.fft(np.ones(3), norm="x"),
        ),
        (ArgumentError, "hfft: norm must be", lambda: fft.hfft(np.ones(3), norm="x")),
        (ArgumentError, "fftn: 1 sizes for 2 axes", lambda: fft.fftn(np.ones((3, 3)), s=(3,), axes=(0, 1))),
        (ShapeError, "fft: 0 points along axis 0", lambda: fft.fft(np.ones(3), n=0)),
        (ShapeError, "axis 3 is outside the input's 1 axes", lambda: fft.fft(np.ones(3), axis=3)),
        (ShapeError, "axis 0 of (0,) has no points", lambda: fft.fft(np.ones(0))),
        (ShapeError, "irfft: 0 points along axis 0; give the number", lambda: fft.irfft(np.ones(1))),
        (DtypeError, "the signal must be real", lambda: fft.rfft(np.ones(3, complex))),
        (ArgumentError, "rfftn: one axis or more is needed", lambda: fft.rfftn(np.ones(3), axes=())),
    ],
)
def test_refusals(error, words, call):
    with pytest.raises(error) as caught:
        call()
    assert words in str(caught.value)

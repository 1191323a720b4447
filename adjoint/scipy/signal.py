"""scipy.signal for Tensors."""
# ruff: noqa: I001  (a line for each name)

from adjoint.scipy.convolutions import (
    convolve as convolve,
    convolve2d as convolve2d,
    correlate as correlate,
    correlate2d as correlate2d,
    fftconvolve as fftconvolve,
    oaconvolve as oaconvolve,
)
from adjoint.scipy.filters import (
    detrend as detrend,
    filtfilt as filtfilt,
    hilbert as hilbert,
    lfilter as lfilter,
    lfilter_zi as lfilter_zi,
    savgol_filter as savgol_filter,
    sosfilt as sosfilt,
    sosfilt_zi as sosfilt_zi,
    sosfiltfilt as sosfiltfilt,
)
from adjoint.scipy.wrapping import absent as _absent

__getattr__ = _absent(__name__)

"""Primitives: special functions, windows, diagonals of matrices, and integers' own functions."""

from __future__ import annotations

from typing import Any

from adjoint.core.spec import float32
from adjoint.mindspore.ops import diagonal_functions as _d
from adjoint.mindspore.ops import special_functions as _f
from adjoint.mindspore.ops.operations.math_ops import plain
from adjoint.mindspore.ops.primitive import primitive

#: Primitives without attributes, by the functions that they are.
FUNCTIONS = {
    "BesselJ0": "bessel_j0", "BesselJ1": "bessel_j1", "BesselY0": "bessel_y0", "BesselY1": "bessel_y1",
    "BesselI0": "bessel_i0", "BesselI1": "bessel_i1", "BesselI0e": "bessel_i0e", "BesselI1e": "bessel_i1e",
    "BesselK0": "bessel_k0", "BesselK1": "bessel_k1", "BesselK0e": "bessel_k0e", "BesselK1e": "bessel_k1e",
    "Igamma": "igamma", "Igammac": "igammac", "Betainc": "betainc", "Zeta": "zeta", "Polygamma": "polygamma",
    "Gcd": "gcd", "Lcm": "lcm", "NextAfter": "nextafter", "PopulationCount": "population_count",
    "CheckValid": "check_valid",
}  # fmt: skip
globals().update({name: plain(name, getattr(_f, function)) for name, function in FUNCTIONS.items()})

Mvlgamma = primitive("Mvlgamma", lambda self, x: _f.mvlgamma(x, self.p), p=...)
InTopK = primitive("InTopK", lambda self, x1, x2: _f.intopk(x1, x2, self.k), k=...)
MatrixBandPart = plain("MatrixBandPart", _d.matrix_band_part)
MatrixDiagV3 = primitive(
    "MatrixDiagV3",
    lambda self, x, k=0, rows=-1, columns=-1, padding=0: _d.matrix_diag(x, k, rows, columns, padding, self.align),
    align="RIGHT_LEFT",
)
MatrixDiagPartV3 = primitive(
    "MatrixDiagPartV3", lambda self, x, k, padding: _d.matrix_diag_part(x, k, padding, self.align), align="RIGHT_LEFT"
)
MatrixSetDiagV3 = primitive(
    "MatrixSetDiagV3", lambda self, x, diagonal, k: _d.matrix_set_diag(x, diagonal, k, self.align), align="RIGHT_LEFT"
)


def _window(name: str, function: Any) -> Any:
    return primitive(name, lambda self, n: function(n, self.periodic, dtype=self.dtype), periodic=True, dtype=float32)


BartlettWindow = _window("BartlettWindow", _f.bartlett_window)
BlackmanWindow = _window("BlackmanWindow", _f.blackman_window)
HammingWindow = primitive(
    "HammingWindow",
    lambda self, n: _f.hamming_window(n, self.periodic, self.alpha, self.beta, dtype=self.dtype),
    periodic=True,
    alpha=0.54,
    beta=0.46,
    dtype=float32,
)

__all__ = [name for name, value in globals().items() if getattr(value, "__module__", "") == "mindspore.ops.operations"]

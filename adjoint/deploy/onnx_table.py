"""What each card becomes in ONNX, and why some become nothing. A test holds that every card is in one of the two tables."""

from __future__ import annotations

from typing import Any

from adjoint.deploy import onnx_arrays, onnx_control, onnx_elementwise, onnx_windows
from adjoint.deploy.onnx_writer import FEW, Rule, Writer
from adjoint.graph.control import Cond, Loop
from adjoint.ops import REGISTRY

FORMS: dict[str, Rule] = {**onnx_elementwise.RULES, **onnx_arrays.RULES, **onnx_windows.RULES}

_COMPLEX = "ONNX's operators are for real numbers"
_LINEAR_ALGEBRA = "ONNX has no factorisations of matrices"
_SPECIAL = "ONNX has no such function"
_DERIVATIVE = "it is a derivative of a window op, and ONNX has none of those"

#: The cards without a form, and why.
REFUSED: dict[str, str] = {
    "ArgPartition": "ONNX only sorts: use sort or top-k",
    "Atan2": "ONNX has no angle of two coordinates: use atan of their quotient",
    "BandedSolve": _LINEAR_ALGEBRA,
    "Bessel": _SPECIAL,
    "Betainc": _SPECIAL,
    "Bits": "random numbers of ours need integers that wrap around: pass them as an argument",
    "Cholesky": _LINEAR_ALGEBRA,
    "Cofactor": _LINEAR_ALGEBRA,
    "Complement": _LINEAR_ALGEBRA,
    "CumArgMax": _SPECIAL,
    "DigammaStep": _SPECIAL,
    "Eig": _LINEAR_ALGEBRA,
    "Eigh": _LINEAR_ALGEBRA,
    "Eigvalsh": _LINEAR_ALGEBRA,
    "Erfc": "1 - erf(x) loses all digits for large x: write that if it is enough",
    "Erfinv": _SPECIAL,
    "Expm": _LINEAR_ALGEBRA,
    "Fft": _COMPLEX,
    "Fold": _DERIVATIVE,
    "Gammainc": _SPECIAL,
    "Gammaincc": _SPECIAL,
    "Inv": _LINEAR_ALGEBRA,
    "Irfft": _COMPLEX,
    "LeftShift": "ONNX shifts unsigned integers only",
    "Lgamma": _SPECIAL,
    "Logm": _LINEAR_ALGEBRA,
    "LU": _LINEAR_ALGEBRA,
    "MaxPoolPull": _DERIVATIVE,
    "MaxPoolPush": _DERIVATIVE,
    "Pinv": _LINEAR_ALGEBRA,
    "PolarFactor": _LINEAR_ALGEBRA,
    "Polygamma": _SPECIAL,
    "QR": _LINEAR_ALGEBRA,
    "Recurrence": "ONNX has no recursive filters",
    "Rfft": _COMPLEX,
    "RightShift": "ONNX shifts unsigned integers only",
    "RowOrder": _LINEAR_ALGEBRA,
    "SLogDet": _LINEAR_ALGEBRA,
    "SparseSolve": _LINEAR_ALGEBRA,
    "Sqrtm": _LINEAR_ALGEBRA,
    "Sylvester": _LINEAR_ALGEBRA,
    "SVD": _LINEAR_ALGEBRA,
    "SVDVals": _LINEAR_ALGEBRA,
    "Special": _SPECIAL,
    "Solve": _LINEAR_ALGEBRA,
    "TriangularSolve": _LINEAR_ALGEBRA,
    "Zeta": _SPECIAL,
}


def rules() -> dict[type, Rule]:
    """The forms by card, those of control flow among them."""
    found: dict[Any, Rule] = {REGISTRY[name]: rule for name, rule in FORMS.items()}
    return {**found, Cond: onnx_control.branch, Loop: onnx_control.loop}


def writer(taken: list[str], one_size: bool = True) -> Writer:
    """A writer that knows all forms; these names are in use. For several sizes, constants are written alike whatever their size."""
    return Writer(rules(), REFUSED, taken, FEW if one_size else 0)

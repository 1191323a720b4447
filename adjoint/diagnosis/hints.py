"""What usually is behind a NaN or an infinity, by op and by the numbers that went in."""

from __future__ import annotations

from typing import Any

import numpy as np

UNDEFINED = "the derivative of this op is not defined at this point: 0/0 or a difference of infinities"


def hint_for(op: Any, kind: str, stage: str, values: list[Any] | None) -> str:
    """A sentence, or nothing. `values` are the elements that went in, where each element of the result is made of one of each."""
    name = type(op).__name__
    if stage != "forward":
        return _derivative(name, kind, values)
    known = _BY_OP.get(name)
    real = values is not None and all(np.asarray(v).dtype.kind in "fiu" for v in values)
    if values and real and known is not None and known.__code__.co_argcount == 1 + len(values):
        found: str = known(kind, *values)
        if found:
            return found
    return _general(name, kind, values)


def _log(_kind: str, x: Any) -> str:
    if x < 0:
        return "the logarithm of a negative number is not a real number"
    return "log(0) is minus infinity: add a small number, or use ops.maximum(x, 1e-12)" if x == 0 else ""


def _log1p(_kind: str, x: Any) -> str:
    return "log1p is defined for numbers above -1" if x <= -1 else ""


def _sqrt(_kind: str, x: Any) -> str:
    return "the square root of a negative number is not a real number" if x < 0 else ""


def _div(_kind: str, x: Any, y: Any) -> str:
    if y == 0:
        return "0/0" if x == 0 else "division by zero"
    return "infinity divided by infinity" if np.isinf(x) and np.isinf(y) else ""


def _exp(_kind: str, x: Any) -> str:
    dtype = x.dtype if x.dtype.kind == "f" else np.dtype(np.float64)
    largest = np.log(np.finfo(dtype).max)
    if x > largest:
        return (
            f"exp overflows {dtype} above {largest:.1f}: subtract the maximum first (ops.softmax and ops.logsumexp do)"
        )
    return ""


def _pow(_kind: str, x: Any, y: Any) -> str:
    if x < 0 and y != np.round(y):
        return "a negative number to a power that is not an integer is not a real number"
    return "0 to a negative power is infinite" if x == 0 and y < 0 else ""


def _sub(kind: str, x: Any, y: Any) -> str:
    return "infinity minus infinity" if kind == "nan" and np.isinf(x) and np.isinf(y) else ""


def _mul(kind: str, x: Any, y: Any) -> str:
    return "0 times infinity" if kind == "nan" and (np.isinf(x) or np.isinf(y)) else ""


def _unit(_kind: str, x: Any) -> str:
    return (
        "it is defined between -1 and 1: rounding may have taken its input just outside (ops.clip)"
        if abs(x) >= 1
        else ""
    )


def _acosh(_kind: str, x: Any) -> str:
    return "it is defined from 1 on" if x < 1 else ""


_BY_OP: dict[str, Any] = {
    "Log": _log, "Log2": _log, "Log10": _log, "Log1p": _log1p, "Sqrt": _sqrt, "Div": _div, "Exp": _exp, "Expm1": _exp,
    "Sinh": _exp, "Cosh": _exp, "Pow": _pow, "Sub": _sub, "Add": _sub, "Mul": _mul, "Asin": _unit, "Acos": _unit,
    "Atanh": _unit, "Erfinv": _unit, "Acosh": _acosh,
}  # fmt: skip


#: For complex numbers, which have no order.
_POLES = {
    **dict.fromkeys(("Log", "Log2", "Log10"), "log(0) is infinite: add a small number"),
    "Div": "division by zero",
    "Pow": "0 to a negative power is infinite",
}


def _general(name: str, kind: str, values: list[Any] | None) -> str:
    if name in _POLES and values and any(v == 0 for v in values):
        return _POLES[name]
    if kind == "inf" and (values is None or all(np.isfinite(v) for v in values)):
        return "a number larger than the dtype can hold: smaller steps or numbers, or a wider dtype"
    if name in ("Inv", "Solve", "TriangularSolve", "Cholesky", "Det", "SLogDet"):
        return "the matrix may be singular, or not positive definite"
    return ""


def _derivative(name: str, kind: str, values: list[Any] | None) -> str:
    x = None if not values or np.asarray(values[0]).dtype.kind not in "fc" else values[0]
    if kind == "nan" and name not in ("Pow", "Div"):
        return UNDEFINED
    if name in ("Sqrt", "Cbrt", "Log", "Log2", "Log10") and x is not None and x == 0:
        return f"the derivative of {name.lower()} is infinite at 0: add a small number inside"
    if name == "Pow" and x is not None and x == 0:
        return "the derivative of x**p is infinite at 0 for p below 1: add a small number inside"
    if name == "Div":
        return "a division by zero, or by a number too small"
    if name in ("Asin", "Acos", "Atanh", "Erfinv") and x is not None and abs(x) >= 1:
        return f"the derivative of {name.lower()} is infinite at -1 and 1"
    if name in ("Eigh", "SVD", "QR"):
        return "the derivative of a decomposition is infinite where two eigenvalues or singular values are equal, or one is 0"
    return "a number larger than the dtype can hold" if kind == "inf" else UNDEFINED

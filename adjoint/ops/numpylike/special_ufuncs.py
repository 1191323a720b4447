"""What ufuncs of scipy.special mean for Tensors, by name: SciPy is not imported here."""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any

import numpy as np

from adjoint.core.errors import DtypeError, called_at
from adjoint.core.spec import dtype_of
from adjoint.ops import compare as _c
from adjoint.ops import functional as _f
from adjoint.ops import language as F
from adjoint.ops import special as _s
from adjoint.ops import transcendental as _t
from adjoint.ops import trigonometric as _g
from adjoint.ops.incomplete import gammainc, gammaincc
from adjoint.ops.incomplete_beta import beta_slope
from adjoint.ops.language import bitwise_and, equal, greater, greater_equal, less
from adjoint.ops.removable import log1p_over
from adjoint.ops.special_slopes import is_single
from adjoint.ops.special_table import TABLE, of
from adjoint.ops.student import student_slope as _student_slope  # noqa: F401  (the module enters its functions in the table)

betainc = beta_slope(0, 0)


def _logit(x: Any) -> Any:
    return _t.log(x) - _t.log1p(-x)


def _ndtr(x: Any) -> Any:
    return 0.5 * _s.erfc(-x * math.sqrt(0.5))


def _log_ndtr(x: Any) -> Any:
    """The logarithm of the normal distribution function, right in both tails.

    Far down its own series takes over: in single precision long before the function itself is too small a number.
    """
    edge = -10.0 if is_single(x) else -20.0
    far, high = less(x, edge), greater(x, 0)
    near = _c.where_(far, -1.0, x)
    middle = _t.log(_ndtr(_c.where_(high, -1.0, near)))
    upper = _t.log1p(-_ndtr(-_c.where_(high, near, 1.0)))
    t = _c.where_(far, x, edge)
    s = 1.0 / (t * t)
    series = 1 - s * (1 - s * (3 - s * (15 - s * (105 - s * (945 - s * 10395)))))
    tail = -0.5 * t * t - _t.log(-t) - 0.5 * math.log(2 * math.pi) + _t.log(series)
    return _c.where_(far, tail, _c.where_(high, upper, middle))


def _xlog1py(x: Any, y: Any) -> Any:
    """x * log(1 + y), and 0 where x is 0 and the logarithm is infinite or not there; elsewhere smooth in x at 0."""
    endless = F.bitwise_or(F.less_equal(y, -1), equal(y, np.inf))
    hole = bitwise_and(equal(x, 0), endless)
    return _c.where_(hole, 0, x * _t.log1p(_c.where_(hole, 0, y)))


def _entr(x: Any) -> Any:
    return _c.where_(less(x, 0), -np.inf, -_f.xlogy(_c.where_(less(x, 0), 1, x), _c.where_(less(x, 0), 1, x)))


def _rel_entr(x: Any, y: Any) -> Any:
    undefined = F.bitwise_or(_c.isnan(x), _c.isnan(y))
    inside = F.bitwise_or(undefined, bitwise_and(greater(x, 0), greater(y, 0)))
    edge = bitwise_and(equal(x, 0), greater_equal(y, 0))
    x, y = _c.where_(inside, x, 1), _c.where_(inside, y, 1)
    return _c.where_(inside, x * _log_ratio(x, y), _c.where_(edge, 0.0, np.inf))


def _log_ratio(x: Any, y: Any) -> Any:
    """log(x / y) of positive numbers, exact where they are close, and where their ratio is no number of the precision."""
    ratio = x / y
    close = bitwise_and(greater(ratio, 0.5), less(ratio, 2.0))
    apart = F.logical_not(bitwise_and(greater(ratio, 1e-15), less(ratio, 1e15)))
    near = _c.where_(close, y, 1.0)
    by_logarithms = _t.log(_c.where_(apart, x, 1.0)) - _t.log(_c.where_(apart, y, 1.0))
    by_ratio = _t.log(_c.where_(apart, 1.0, x) / _c.where_(apart, 1.0, y))
    by_difference = _t.log1p((_c.where_(close, x, 1.0) - near) / near)
    return _c.where_(close, by_difference, _c.where_(apart, by_logarithms, by_ratio))


def _kl_div(x: Any, y: Any) -> Any:
    return _rel_entr(x, y) - x + y


def _exp10(x: Any) -> Any:
    return _t.exp(x * math.log(10.0))


def _cosm1(x: Any) -> Any:
    half = _g.sin(0.5 * x)
    return -2.0 * half * half


def _loggamma(x: Any) -> Any:
    """Of real numbers, where it is that of the gamma function for positive ones alone."""
    if dtype_of(x).kind == "c":
        raise DtypeError(f"scipy.special.loggamma: of complex numbers it has no derivative in adjoint{called_at()}")
    negative = less(x, 0)
    return _c.where_(negative, np.nan, _s.lgamma(_c.where_(negative, 1.0, x)))


def _huber(delta: Any, r: Any) -> Any:
    size = F.abs(r)
    y = _c.where_(F.less_equal(size, delta), 0.5 * r * r, delta * (size - 0.5 * delta))
    return _c.where_(less(delta, 0), np.inf, y)


def _pseudo_huber(delta: Any, r: Any) -> Any:
    nothing = bitwise_and(equal(delta, 0), equal(r, 0))
    d = _c.where_(F.bitwise_or(nothing, F.less_equal(delta, 0)), 1.0, delta)
    u = r / d
    y = r * (d * (u / (_f.hypot(1.0, u) + 1.0)))
    edge = equal(delta, 0)
    size = _c.where_(
        bitwise_and(edge, F.logical_not(nothing)), r, 1.0
    )  # at delta = 0 the other form, which has its derivatives there
    at_edge = _c.where_(nothing, 0.0, delta * _t.sqrt(delta * delta + size * size) - delta * delta)
    return _c.where_(less(delta, 0), np.inf, _c.where_(edge, at_edge, y))


def _boxcox(x: Any, lmbda: Any) -> Any:
    nothing = bitwise_and(equal(x, 0), less(0, lmbda))  # where the logarithm is infinite
    logarithm = _t.log(_c.where_(nothing, 1.0, x))
    power = F.pow(_c.where_(nothing, x, 1.0), _c.where_(nothing, lmbda, 1.0))
    return _c.where_(
        nothing, (power - 1.0) / _c.where_(nothing, lmbda, 1.0), logarithm * of("exprel")(lmbda * logarithm)
    )


def _boxcox1p(x: Any, lmbda: Any) -> Any:
    nothing = bitwise_and(equal(x, -1), less(0, lmbda))
    return _c.where_(
        nothing, _boxcox(_c.where_(nothing, 1.0 + x, 1.0), lmbda), _of_log1p(_c.where_(nothing, 0.0, x), lmbda)
    )


def _of_log1p(x: Any, lmbda: Any) -> Any:
    logarithm = _t.log1p(x)
    return logarithm * of("exprel")(lmbda * logarithm)


def _pdtr(k: Any, m: Any) -> Any:
    return gammaincc(_c.floor(F.stop_gradient(k)) + 1.0, m)


def _pdtrc(k: Any, m: Any) -> Any:
    return gammainc(_c.floor(F.stop_gradient(k)) + 1.0, m)


def _fresnel(x: Any) -> tuple[Any, Any]:
    return of("fresnel:0")(x), of("fresnel:1")(x)


def _sici(x: Any) -> tuple[Any, Any]:
    return of("sici:0")(x), of("sici:1")(x)


def _shichi(x: Any) -> tuple[Any, Any]:
    return of("shichi:0")(x), of("shichi:1")(x)


#: Ufuncs of scipy.special, by name, that no public function of a card stands for.
COMPOSED_SPECIAL: dict[str, Callable[..., Any]] = {
    "logit": _logit, "log_expit": _f.log_sigmoid, "softplus": _t.softplus, "ndtr": _ndtr, "log_ndtr": _log_ndtr,
    "xlogy": _f.xlogy, "xlog1py": _xlog1py, "entr": _entr, "rel_entr": _rel_entr, "kl_div": _kl_div, "exp2": _f.exp2,
    "exp10": _exp10, "cosm1": _cosm1, "loggamma": _loggamma, "huber": _huber, "pseudo_huber": _pseudo_huber,
    "boxcox": _boxcox, "boxcox1p": _boxcox1p, "inv_boxcox": lambda y, lmbda: _t.exp(log1p_over(y, lmbda)),
    "inv_boxcox1p": lambda y, lmbda: _t.expm1(log1p_over(y, lmbda)), "pdtr": _pdtr, "pdtrc": _pdtrc,
    "chdtr": lambda v, x: gammainc(0.5 * v, 0.5 * x), "chdtrc": lambda v, x: gammaincc(0.5 * v, 0.5 * x),
    "gdtr": lambda a, b, x: gammainc(b, a * x), "gdtrc": lambda a, b, x: gammaincc(b, a * x),
    "fdtr": lambda dfn, dfd, x: betainc(0.5 * dfn, 0.5 * dfd, dfn * x / (dfd + dfn * x)),
    "fdtrc": lambda dfn, dfd, x: betainc(0.5 * dfd, 0.5 * dfn, dfd / (dfd + dfn * x)),
    "fresnel": _fresnel, "sici": _sici, "shichi": _shichi,
    **{name: of(name) for name in TABLE if ":" not in name},
}  # fmt: skip

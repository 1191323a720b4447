"""Functions of scipy.special that are no ufuncs: gamma functions of several kinds, counting, Lambert's function."""

from __future__ import annotations

import math
from typing import Any

import numpy as np

from adjoint.core.errors import ArgumentTypeError, CutGradientError, called_at, refused
from adjoint.ops import functional as _f
from adjoint.ops import language as F
from adjoint.ops.compare import where_ as where
from adjoint.ops.numpylike.common import is_traced, refuse
from adjoint.ops.removable import sin_over
from adjoint.ops.special_table import of
from adjoint.scipy.special.exponential_sums import floating, floating_together

__all__ = ["comb", "diric", "factorial", "lambertw", "multigammaln", "polygamma", "zeta"]


def polygamma(n: Any, x: Any) -> Any:
    """As scipy.special.polygamma: the n-th derivative of digamma.

    >>> import adjoint as ad
    >>> print(ad.scipy.special.polygamma(1, 1.0).round(4))
    1.6449
    """
    if is_traced(n):
        raise ArgumentTypeError(f"scipy.special.polygamma: n must be an integer or an array of them{called_at()}")
    n, x = np.asarray(n), floating(x)
    if n.ndim == 0:
        return _f.polygamma(int(n), x)
    order = np.maximum(n, 1)
    signs = np.where(n % 2 == 0, -1.0, 1.0) * np.array([math.factorial(int(k)) for k in n.ravel()], float).reshape(
        n.shape
    )
    return where(np.equal(n, 0), _f.digamma(x), signs * _f.zeta(order + 1.0, x))


def zeta(x: Any, q: Any = None, out: Any = None) -> Any:
    """As scipy.special.zeta: Hurwitz's zeta function, Riemann's without q.

    >>> import adjoint as ad
    >>> print(ad.scipy.special.zeta(2.0, 1.0).round(4))
    1.6449
    """
    refuse("scipy.special.zeta", out=out)
    return _f.zeta(floating(x), 1.0) if q is None else _f.zeta(*floating_together(x, q))


def multigammaln(a: Any, d: int) -> Any:
    """As scipy.special.multigammaln: the logarithm of the multivariate gamma function of dimension d.

    >>> import adjoint as ad
    >>> print(ad.scipy.special.multigammaln(3.0, 2).round(4))
    1.5502
    """
    a = floating(a)
    if not isinstance(d, (int, float, np.integer)) or d != int(d) or d < 1:
        raise ArgumentTypeError(f"scipy.special.multigammaln: d must be a positive integer, not {d!r}{called_at()}")
    total = (d * (d - 1) * 0.25) * math.log(math.pi)
    for j in range(int(d)):
        total = total + _f.lgamma(a - 0.5 * j)
    return where(F.less_equal(a, 0.5 * (d - 1)), np.nan, total)


def comb(N: Any, k: Any, *, exact: bool = False, repetition: bool = False) -> Any:
    """As scipy.special.comb: the number of ways to choose k of N, for real arguments.

    >>> import adjoint as ad
    >>> print(ad.scipy.special.comb(4.0, 2.0))
    6.0
    """
    if exact:
        raise ArgumentTypeError(f"scipy.special.comb: exact=True gives Python integers, of plain integers{called_at()}")
    N, k = floating(N), floating(k)
    if repetition:
        N = N + k - 1.0
    counted = F.bitwise_and(F.less_equal(k, N), F.bitwise_and(F.greater_equal(N, 0), F.greater_equal(k, 0)))
    return where(counted, of("binom")(where(counted, N, 1.0), where(counted, k, 0.0)), 0.0)


def factorial(n: Any, exact: bool = False, extend: str = "zero") -> Any:
    """As scipy.special.factorial, of real numbers: the gamma function of n + 1.

    >>> import adjoint as ad
    >>> print(ad.scipy.special.factorial(4.0))
    24.0
    """
    if exact or extend != "zero":
        raise ArgumentTypeError(
            f"scipy.special.factorial: exact=True and extend='complex' are for plain numbers{called_at()}"
        )
    n = floating(n)
    negative = F.less(n, 0)
    return where(negative, 0.0, of("gamma")(where(negative, 0.0, n) + 1.0))


def lambertw(z: Any, k: Any = 0, tol: Any = 1e-8) -> Any:
    """As scipy.special.lambertw for real z, on the branches 0 and -1 where they are real, else NaN; complex, as SciPy's.

    >>> import adjoint as ad
    >>> print(ad.scipy.special.lambertw(1.0).real.round(4))
    0.5671
    """
    z = floating(z)
    refuse("scipy.special.lambertw", tol=None if tol == 1e-8 else tol)
    if z.dtype.kind == "c" or k not in (0, -1):
        raise refused(
            CutGradientError(
                f"scipy.special.lambertw has a derivative for real z on the branches k=0 and k=-1 alone: write it with "
                f"ad.custom_vjp, or pass z.asnumpy() if no derivative is wanted.{called_at()}"
            )
        )
    real = F.greater_equal(z, -math.exp(-1.0))
    if k == -1:
        real = F.bitwise_and(real, F.less(z, 0))
    y = where(real, of(f"lambertw:{int(k)}")(where(real, z, -0.2)), np.nan)
    return _f.complex(y, 0.0 * F.stop_gradient(y))  # NaN in both parts where SciPy has a complex number


def diric(x: Any, n: Any) -> Any:
    """As scipy.special.diric: sin(n x / 2) / (n sin(x / 2)), for a positive integer n.

    >>> import adjoint as ad
    >>> print(ad.scipy.special.diric(0.0, 4))
    1.0
    """
    x = floating(x)
    if not isinstance(n, (int, np.integer)) or n < 1:
        raise ArgumentTypeError(
            f"scipy.special.diric: n must be one positive integer for Tensors, not {n!r}{called_at()}"
        )
    turns = F.stop_gradient(_f.round(x / (2 * math.pi)))
    half = 0.5 * (x - (2 * math.pi) * turns)
    return (1.0 - 2.0 * ((turns * (n - 1)) % 2)) * sin_over(n * half) / sin_over(half)

"""multivariate_normal and dirichlet of scipy.stats, in ops."""

from __future__ import annotations

import math
from typing import Any

import numpy as np

from adjoint.core.errors import ArgumentError, ArgumentTypeError, CutGradientError, called_at, refused
from adjoint.ops import functional as _f
from adjoint.ops import language as F
from adjoint.ops import transcendental as _t
from adjoint.ops.functional import digamma, lgamma, xlogy
from adjoint.ops.language import where
from adjoint.ops.numpylike.common import is_known, is_traced, refuse, tensor
from adjoint.ops.special_table import undifferentiated
from adjoint.scipy.special.exponential_sums import floating
from adjoint.scipy.wrapping import untraced

LOG_2PI = math.log(2 * math.pi)


class MultivariateDistribution:
    """What distributions of vectors share: `dist(*parameters)` freezes, and what has no derivative is refused by name."""

    name = ""
    parameters: tuple[str, ...] = ()

    def __repr__(self) -> str:
        return f"<{self.name!r} of adjoint.scipy.stats>"

    def __call__(self, *args: Any, **kwargs: Any) -> FrozenMultivariate:
        refuse(f"scipy.stats.{self.name}", seed=kwargs.pop("seed", None))
        given = dict(zip(self.parameters, args, strict=False)) | kwargs
        unknown = [name for name in given if name not in self.parameters]
        if unknown or len(args) > len(self.parameters):
            raise ArgumentTypeError(f"scipy.stats.{self.name} takes {', '.join(self.parameters)}{called_at()}")
        return FrozenMultivariate(self, given)

    def __getattr__(self, name: str) -> Any:
        import scipy.stats

        theirs = getattr(scipy.stats, self.name)
        if name.startswith("_") or not hasattr(theirs, name):
            raise AttributeError(f"{self!r} has no attribute {name!r}")

        def refuse_it() -> Any:
            raise refused(
                CutGradientError(
                    f"scipy.stats.{self.name}.{name} cannot be differentiated, batched or compiled: adjoint.scipy.stats does not "
                    f"have it. Call it through ad.host_callback, or pass x.asnumpy() if no derivative is wanted.{called_at()}"
                )
            )

        return untraced(getattr(theirs, name), refuse_it)


class FrozenMultivariate:
    """A distribution of vectors with its parameters given."""

    def __init__(self, dist: MultivariateDistribution, given: dict[str, Any]) -> None:
        self._dist, self._given = dist, given

    def __getattr__(self, name: str) -> Any:
        if name in self._given:
            return self._given[name]
        method = getattr(self._dist, name)
        given = self._given
        if name in ("entropy", "mean", "var", "cov"):
            given = {k: v for k, v in given.items() if k != "allow_singular"}
        return lambda *args, **kwargs: method(*args, **{**given, **kwargs})


def _squeezed(y: Any) -> Any:
    """As SciPy gives results: without axes of one element."""
    return F.reshape(y, tuple(n for n in y.shape if n != 1))


# ---------------------------------------------------------------- multivariate_normal


class NormalOfVectors(MultivariateDistribution):
    """As scipy.stats.multivariate_normal."""

    name, parameters = "multivariate_normal", ("mean", "cov", "allow_singular")

    def logpdf(self, x: Any, mean: Any = None, cov: Any = 1, allow_singular: bool = False) -> Any:
        """The logarithm of the density."""
        size, mean, cov = _parameters(mean, cov)
        x = floating(x)
        if x.ndim == 0:
            x = F.reshape(x, (1,))
        elif x.ndim == 1:
            x = F.reshape(x, (x.shape[0], 1) if size == 1 else (1, x.shape[0]))
        away = F.sub(x, mean)
        square, logdet, rank, outside = (_singular if allow_singular else _regular)(away, cov)
        y = -0.5 * (rank * LOG_2PI + logdet + square)
        return _squeezed(y if outside is None else where(outside, -np.inf, y))

    def pdf(self, x: Any, mean: Any = None, cov: Any = 1, allow_singular: bool = False) -> Any:
        """The density."""
        return _t.exp(self.logpdf(x, mean, cov, allow_singular))

    def entropy(self, mean: Any = None, cov: Any = 1) -> Any:
        """The differential entropy."""
        size, mean, cov = _parameters(mean, cov)
        return 0.5 * (size * (LOG_2PI + 1) + _regular(F.zeros_like(mean), cov)[1])


def _parameters(mean: Any, cov: Any) -> tuple[int, Any, Any]:
    """The number of dimensions, the mean as a vector and the covariance as a matrix."""
    if hasattr(cov, "covariance"):  # a scipy.stats.Covariance
        cov = cov.covariance
    cov = floating(1.0 if cov is None else cov)
    if mean is None:
        size = 1 if cov.ndim < 2 and cov.size == 1 else cov.shape[0]
        mean = floating(np.zeros(size))
    else:
        mean = floating(mean)
        size = mean.size
    mean = F.reshape(mean, (size,))
    if cov.ndim == 0 or (cov.ndim == 1 and size == 1):
        cov = F.mul(F.reshape(cov, (1, 1)), np.eye(size))
    elif cov.ndim == 1:
        cov = _f.diag(cov)
    if cov.shape != (size, size):
        raise ArgumentError(
            f"scipy.stats.multivariate_normal: cov of shape {cov.shape} does not fit a mean of {size} elements{called_at()}"
        )
    return size, mean, cov


def _regular(away: Any, cov: Any) -> tuple[Any, Any, int, None]:
    """The square of the distance and the logarithm of the determinant, by Cholesky's factor."""
    factor = _f.cholesky(cov)
    rows = F.reshape(away, (math.prod(away.shape[:-1]), cov.shape[0]))
    solved = _f.solve_triangular(factor, F.permute(rows, (1, 0)), lower=True)
    square = F.reshape(F.sum_axes(solved * solved, (0,)), away.shape[:-1])
    return square, 2.0 * F.sum_axes(_t.log(_f.diagonal(factor)), (0,)), cov.shape[0], None


def _singular(away: Any, cov: Any) -> tuple[Any, Any, Any, Any]:
    """The same in the space that the covariance spans, by its eigenvectors; outside of it there is no mass."""
    if is_traced(cov):
        cov = undifferentiated(
            "scipy.stats.multivariate_normal with allow_singular=True has no derivative by its argument cov", cov
        )
    values, vectors = _f.eigh(cov)
    eps = float(1e6 if cov.dtype == np.float64 else 1e3) * np.finfo(cov.dtype).eps * _f.max(F.abs(values))
    kept = F.greater(values, eps)
    along = F.matmul(away, vectors)
    square = F.sum_axes(where(kept, along * along / where(kept, values, 1.0), 0.0), (away.ndim - 1,))
    logdet = F.sum_axes(_t.log(where(kept, values, 1.0)), (0,))
    rank = F.sum_axes(where(kept, 1.0, 0.0), (0,))
    beyond = where(kept, 0.0, F.stop_gradient(along))
    outside = F.greater_equal(F.sum_axes(beyond * beyond, (away.ndim - 1,)), eps * eps)
    return square, logdet, rank, F.bitwise_and(outside, F.less(rank, cov.shape[0]))


# ---------------------------------------------------------------- dirichlet


class DirichletDistribution(MultivariateDistribution):
    """As scipy.stats.dirichlet."""

    name, parameters = "dirichlet", ("alpha",)

    def logpdf(self, x: Any, alpha: Any) -> Any:
        """The logarithm of the density."""
        alpha = _concentrations(alpha)
        x = _of_simplex(floating(x), alpha)
        power = F.reshape(alpha - 1.0, (*alpha.shape, *(1,) * (x.ndim - 1)))
        x = _off_poles(x, power)
        y = F.sum_axes(xlogy(power, x), (0,)) - _log_normaliser(alpha)
        return _squeezed(y)

    def pdf(self, x: Any, alpha: Any) -> Any:
        """The density."""
        return _t.exp(self.logpdf(x, alpha))

    def mean(self, alpha: Any) -> Any:
        """The expected value."""
        alpha = _concentrations(alpha)
        return _squeezed(alpha / F.sum_axes(alpha, (0,)))

    def var(self, alpha: Any) -> Any:
        """The variance of each component."""
        alpha = _concentrations(alpha)
        total = F.sum_axes(alpha, (0,))
        return _squeezed(alpha * (total - alpha) / (total * total * (total + 1.0)))

    def entropy(self, alpha: Any) -> Any:
        """The differential entropy."""
        alpha = _concentrations(alpha)
        total, count = F.sum_axes(alpha, (0,)), alpha.shape[0]
        terms = F.sum_axes((alpha - 1.0) * digamma(alpha), (0,))
        return _log_normaliser(alpha) + (total - count) * digamma(total) - terms


def _log_normaliser(alpha: Any) -> Any:
    return F.sum_axes(lgamma(alpha), (0,)) - lgamma(F.sum_axes(alpha, (0,)))


def _concentrations(alpha: Any) -> Any:
    alpha = floating(alpha)
    if alpha.ndim != 1:
        raise ArgumentError(
            f"scipy.stats.dirichlet: alpha must be one-dimensional, not of shape {alpha.shape}{called_at()}"
        )
    if _checked("alpha must be positive", alpha, lambda a: a.min(initial=1.0) > 0):
        return alpha
    return alpha * where(F.greater(alpha, 0), 1.0, np.nan)


def _of_simplex(x: Any, alpha: Any) -> Any:
    """x with its last component, which SciPy lets one leave out; checked as SciPy does, and NaN where it would raise if its numbers
    are known only at run time."""
    if x.ndim and x.shape[0] + 1 == alpha.shape[0]:
        x = _f.concat([x, F.reshape(1.0 - F.sum_axes(x, (0,)), (1, *x.shape[1:]))], 0)
    if not x.ndim or x.shape[0] != alpha.shape[0]:
        raise ArgumentError(
            f"scipy.stats.dirichlet: x of shape {x.shape} must have as many components as alpha, {alpha.shape[0]}, or one less{called_at()}"
        )
    near = 1e-9 if x.dtype == np.float64 else 1e-6
    if _checked("x must lie between 0 and 1", x, lambda v: v.min(initial=0.0) >= 0 and v.max(initial=0.0) <= 1):
        _checked("the components of x must sum to 1", x, lambda v: bool((np.abs(v.sum(0) - 1.0) <= near).all()))
        return x
    inside = F.bitwise_and(F.greater_equal(x, 0), F.less_equal(x, 1))
    whole = F.less_equal(F.abs(F.sum_axes(x, (0,)) - 1.0), near)
    return x * where(F.bitwise_and(inside, whole), 1.0, np.nan)


def _off_poles(x: Any, power: Any) -> Any:
    """x, which may not be 0 where alpha is less than 1."""
    pole = F.bitwise_and(F.equal(x, 0), F.less(power, 0))
    if _checked("x must be greater than 0 where alpha is less than 1", pole, lambda v: not v.any()):
        return x
    return x * where(pole, np.nan, 1.0)


def _checked(what: str, x: Any, test: Any) -> bool:
    """Whether the numbers are known; if they are, they pass the test."""
    known = is_known(x)
    if known and not test(tensor(x).asnumpy()):
        raise ArgumentError(f"scipy.stats.dirichlet: {what}{called_at()}")
    return known


multivariate_normal, dirichlet = NormalOfVectors(), DirichletDistribution()

"""What the distributions of scipy.stats have in common: arguments, location and scale, the edges of the support."""

from __future__ import annotations

from typing import Any

import numpy as np

from adjoint.core.errors import ArgumentTypeError, CutGradientError, called_at, refused
from adjoint.core.spec import dtype_of
from adjoint.ops import functional as _f
from adjoint.ops import language as F
from adjoint.ops import transcendental as _t
from adjoint.ops.compare import isnan
from adjoint.ops.language import where
from adjoint.ops.numpylike.common import array_of, cast, is_known, is_traced, tensor
from adjoint.ops.special_table import undifferentiated
from adjoint.scipy.stats.tails import log_of_share, quantile_of_end
from adjoint.scipy.stats.weak_numbers import narrowed, number
from adjoint.scipy.wrapping import untraced


def both(*conditions: Any) -> Any:
    """Whether all conditions hold."""
    found = conditions[0]
    for c in conditions[1:]:
        found = F.bitwise_and(found, c)
    return found


def _above_zero(scale: Any) -> Any:
    """A scale where it is one, else 1. NaN stays."""
    if type(scale) is float:
        return 1.0 if scale <= 0 else scale
    return where(F.less_equal(scale, 0), 1.0, scale)


class Distribution:
    """A distribution of scipy.stats by its formulas for loc=0 and scale=1; see `continuous.py`."""

    #: What may be asked of every distribution.
    methods: tuple[str, ...] = ()

    def __init__(self, name: str, shapes: tuple[str, ...] = (), **formulas: Any) -> None:
        self.name, self.shapes, self._formulas = name, shapes, formulas
        self.__doc__ = f"As scipy.stats.{name}."

    def __repr__(self) -> str:
        return f"<{self.name!r} of adjoint.scipy.stats>"

    @property
    def parameters(self) -> tuple[str, ...]:
        """The names of the parameters, in the order of positional arguments."""
        raise NotImplementedError

    def bound(self, method: str, args: tuple, kwargs: dict) -> dict[str, Any]:
        """The parameters by their names."""
        called, names = f"scipy.stats.{self.name}.{method}", self.parameters
        if len(args) > len(names):
            raise ArgumentTypeError(f"{called} takes {', '.join(names)}, not {len(args)} parameters{called_at()}")
        found = dict(zip(names, args, strict=False))
        for name, value in kwargs.items():
            if name not in names:
                raise ArgumentTypeError(
                    f"{called} has no parameter {name!r} for Tensors; it has {', '.join(names)}{called_at()}"
                )
            if name in found:
                raise ArgumentTypeError(f"{called}: {name} is given twice{called_at()}")
            found[name] = value
        missing = [name for name in self.shapes if name not in found]
        if missing:
            raise ArgumentTypeError(f"{called}: the parameter {missing[0]} is missing{called_at()}")
        return {"loc": 0.0, "scale": 1.0} | {name: number(value) for name, value in found.items()}

    def shape_values(self, given: dict[str, Any]) -> list[Any]:
        """The shape parameters in order."""
        return [given[name] for name in self.shapes]

    def valid(self, given: dict[str, Any]) -> Any:
        """Whether the parameters are; SciPy gives NaN where they are not."""
        positive = self._formulas.get("positive", self.shapes)
        tests = [F.greater(given[name], 0) for name in positive]
        if "valid" in self._formulas:
            tests.append(self._formulas["valid"](*self.shape_values(given)))
        if not (type(given["scale"]) is float and given["scale"] > 0):
            tests.append(F.greater(given["scale"], 0))
        return both(*tests) if tests else True

    def formula(self, *names: str) -> Any:
        """The first formula of these names that there is."""
        return next((self._formulas[n] for n in names if n in self._formulas), None)

    def refuse(self, method: str) -> Any:
        """Raise for what has no derivative."""
        raise refused(
            CutGradientError(
                f"scipy.stats.{self.name}.{method} cannot be differentiated, batched or compiled: adjoint.scipy.stats does not "
                f"have it. Call it through ad.host_callback, or pass x.asnumpy() if no derivative is wanted.{called_at()}"
            )
        )

    def __getattr__(self, name: str) -> Any:
        import scipy.stats

        theirs = getattr(scipy.stats, self.name, None)
        if not name.startswith("_") and hasattr(theirs, name):
            return untraced(getattr(theirs, name), lambda: self.refuse(name))
        raise AttributeError(f"{self!r} has no attribute {name!r}")

    def __call__(self, *args: Any, **kwargs: Any) -> FrozenDistribution:
        return FrozenDistribution(self, self.bound("freeze", args, kwargs), args, kwargs)

    freeze = __call__

    # ------------------------------------------------------------ moments

    def _moment(self, asked: str, args: tuple, kwargs: dict) -> Any:
        (given,), method = narrowed(self.bound(asked, args, kwargs)), "var" if asked == "std" else asked
        formula = self.formula(method)
        if formula is None:
            self.refuse(asked)
        y = formula(*self.shape_values(given))
        loc, scale = given["loc"], given["scale"]
        y = tensor(y)
        if not type(loc) is type(scale) is float:
            y = F.add(y, F.mul(0.0, F.stop_gradient(F.add(loc, scale))))  # of their common shape
        if method == "mean":
            y = y * scale + loc
        elif method == "var":
            y = y * scale * scale
        elif method == "entropy" and not (type(scale) is float and scale == 1):
            y = y + _t.log(_above_zero(scale))
        return self._finish(y, given)

    def _finish(self, y: Any, given: dict[str, Any], *known: Any) -> Any:
        """NaN, in its derivatives too, for parameters that are none, and where something is not known."""
        valid = self.valid(given)
        tests = [*known] if valid is True else [valid, *known]
        return y * cast(tensor(where(both(*tests), 1.0, np.nan)), dtype_of(y)) if tests else y

    def mean(self, *args: Any, **kwargs: Any) -> Any:
        """The expected value."""
        return self._moment("mean", args, kwargs)

    def var(self, *args: Any, **kwargs: Any) -> Any:
        """The variance."""
        return self._moment("var", args, kwargs)

    def std(self, *args: Any, **kwargs: Any) -> Any:
        """The standard deviation."""
        return _t.sqrt(self._moment("std", args, kwargs))

    def entropy(self, *args: Any, **kwargs: Any) -> Any:
        """The differential entropy."""
        return self._moment("entropy", args, kwargs)


class FrozenDistribution:
    """A distribution with its parameters given, as `norm(mu, sigma)`."""

    def __init__(self, dist: Distribution, given: dict[str, Any], args: tuple, kwargs: dict) -> None:
        self.dist, self.args, self.kwds, self._given = dist, args, kwargs, given

    def __getattr__(self, name: str) -> Any:
        if name.startswith("_"):
            raise AttributeError(name)
        method = getattr(self.dist, name)
        given = {k: v for k, v in self._given.items() if k in self.dist.parameters}
        return lambda *args, **kwargs: method(*args, **kwargs, **given)


class ContinuousDistribution(Distribution):
    """A continuous distribution. Formulas: support, inside (a point in it), logpdf, cdf, sf, logcdf, logsf, ppf, isf, moments."""

    methods = ("pdf", "logpdf", "cdf", "logcdf", "sf", "logsf", "ppf", "isf", "mean", "var", "std", "entropy", "median")

    @property
    def parameters(self) -> tuple[str, ...]:
        return (*self.shapes, "loc", "scale")

    def _standard(self, x: Any, given: dict[str, Any]) -> tuple[Any, list[Any], Any, Any]:
        """The standardised variable, the shapes, and the edges of the support."""
        z: Any = number(x)
        loc, scale = given["loc"], given["scale"]
        if not (type(loc) is float and loc == 0):
            z = z - loc
        if not (type(scale) is float and scale == 1):
            z = F.div(z, _above_zero(scale))
        shapes = self.shape_values(given)
        low, high = self.formula("support")(*shapes) if "support" in self._formulas else (-np.inf, np.inf)
        return tensor(z), shapes, low, high

    def _at(self, z: Any, shapes: list[Any], inside: Any) -> Any:
        """The variable, moved into the support where it lies outside: no derivative comes from there. NaN stays."""
        return where(
            inside,
            z,
            self.formula("inside")(*shapes) if callable(self.formula("inside")) else self.formula("inside") or 0.5,
        )

    def _density(self, method: str, x: Any, args: tuple, kwargs: dict) -> Any:
        """The logarithm of the density."""
        x, given = narrowed(self.bound(method, args, kwargs), x)
        z, shapes, low, high = self._standard(x, given)
        inside = F.logical_not(F.bitwise_or(F.less(z, low), F.greater(z, high)))
        y = self.formula("logpdf")(self._at(z, shapes, inside), *shapes)
        if not (type(given["scale"]) is float and given["scale"] == 1):
            y = y - _t.log(_above_zero(given["scale"]))
        return self._finish(where(inside, y, -np.inf), given)

    def logpdf(self, x: Any, *args: Any, **kwargs: Any) -> Any:
        """The logarithm of the density."""
        return self._density("logpdf", x, args, kwargs)

    def pdf(self, x: Any, *args: Any, **kwargs: Any) -> Any:
        """The density."""
        y = _t.exp(self._density("pdf", x, args, kwargs))
        formula = self.formula("pdf_at_edge")
        if formula is None:
            return y
        x, given = narrowed(
            self.bound("pdf", args, kwargs), x
        )  # where the logarithm is infinite, the density has its own derivative
        z, shapes, low, high = self._standard(x, given)
        edge = F.bitwise_or(F.equal(z, low), both(F.equal(z, high), F.less(z, np.inf)))
        if is_known(edge) and not array_of(F.stop_gradient(edge)).any():
            return y
        on_edge = formula(where(edge, z, low), *shapes)
        return self._finish(where(edge, F.div(on_edge, _above_zero(given["scale"])), y), given)

    def _under(self, z: Any, low: Any) -> Any:
        """Where no mass lies below. At a finite edge the formula has the derivative, unless it is flat there."""
        if self.formula("flat"):
            return F.less_equal(z, low)
        return F.bitwise_or(F.less(z, low), F.equal(z, -np.inf))

    def _over(self, z: Any, high: Any) -> Any:
        """Where no mass lies above."""
        return F.bitwise_or(F.greater(z, high), F.equal(z, np.inf))

    def _tail(self, method: str, x: Any, args: tuple, kwargs: dict) -> Any:
        """The distribution function, or 1 minus it."""
        x, given = narrowed(self.bound(method, args, kwargs), x)
        z, shapes, low, high = self._standard(x, given)
        below, above = (0.0, 1.0) if method == "cdf" else (1.0, 0.0)
        under, over = self._under(z, low), self._over(z, high)
        at = self._at(z, shapes, F.logical_not(F.bitwise_or(under, over)))
        y = self.formula(method)(at, *shapes)
        return self._finish(where(under, below, where(over, above, y)), given)

    def _log_tail(self, method: str, x: Any, args: tuple, kwargs: dict) -> Any:
        x, given = narrowed(self.bound(method, args, kwargs), x)
        formula, plain = self.formula(method), method.removeprefix("log")
        z, shapes, low, high = self._standard(x, given)
        below, above = (-np.inf, 0.0) if plain == "cdf" else (0.0, -np.inf)
        under = F.less_equal(z, low) if plain == "cdf" else self._under(z, low)
        over = F.greater_equal(z, high) if plain == "sf" else self._over(z, high)
        at = self._at(z, shapes, F.logical_not(F.bitwise_or(under, over)))
        if formula is not None:
            y = formula(at, *shapes)
        else:
            other = self.formula("sf" if plain == "cdf" else "cdf")
            y = log_of_share(self.formula(plain)(at, *shapes), other(at, *shapes))
        return self._finish(where(under, below, where(over, above, y)), given)

    def cdf(self, x: Any, *args: Any, **kwargs: Any) -> Any:
        """The distribution function."""
        return self._tail("cdf", x, args, kwargs)

    def sf(self, x: Any, *args: Any, **kwargs: Any) -> Any:
        """1 - cdf, exact where it is small."""
        return self._tail("sf", x, args, kwargs)

    def logcdf(self, x: Any, *args: Any, **kwargs: Any) -> Any:
        """The logarithm of the distribution function."""
        return self._log_tail("logcdf", x, args, kwargs)

    def logsf(self, x: Any, *args: Any, **kwargs: Any) -> Any:
        """The logarithm of 1 - cdf."""
        return self._log_tail("logsf", x, args, kwargs)

    def _quantile(self, method: str, q: Any, args: tuple, kwargs: dict) -> Any:
        q, given = narrowed(self.bound(method, args, kwargs), q)
        q, shapes = tensor(number(q)), self.shape_values(given)
        low, high = self.formula("support")(*shapes) if "support" in self._formulas else (-np.inf, np.inf)
        first, last = (low, high) if method == "ppf" else (high, low)
        inside = F.bitwise_or(isnan(q), both(F.greater(q, 0), F.less(q, 1)))
        z = self.formula(method)(where(inside, q, 0.5), *shapes)
        flat, formula = self.formula("flat"), lambda q: self.formula(method)(q, *shapes)
        first = quantile_of_end(q, 0, formula, first, method == "ppf", flat)
        last = quantile_of_end(q, 1, formula, last, method == "isf", flat)
        z = where(F.equal(q, 0), first, where(F.equal(q, 1), last, where(inside, z, np.nan)))
        y = F.add(F.mul(z, given["scale"]), given["loc"])
        return self._finish(y, given)

    def ppf(self, q: Any, *args: Any, **kwargs: Any) -> Any:
        """The inverse of the distribution function."""
        return self._quantile("ppf", q, args, kwargs)

    def isf(self, q: Any, *args: Any, **kwargs: Any) -> Any:
        """The inverse of `sf`."""
        return self._quantile("isf", q, args, kwargs)

    def median(self, *args: Any, **kwargs: Any) -> Any:
        """The value that half of the mass lies below."""
        return self.ppf(0.5, *args, **kwargs)


class DiscreteDistribution(Distribution):
    """A distribution of integers. Formulas: support, logpmf, cdf, sf (of floor(k)), moments."""

    methods = ("pmf", "logpmf", "cdf", "logcdf", "sf", "logsf", "mean", "var", "std", "entropy")

    @property
    def parameters(self) -> tuple[str, ...]:
        return (*self.shapes, "loc")

    def _standard(self, method: str, k: Any, given: dict[str, Any]) -> tuple[Any, list[Any], Any, Any]:
        k, loc = tensor(number(k)), given["loc"]
        name = f"scipy.stats.{self.name}.{method}"
        k = undifferentiated(f"{name} has no derivative by its argument k, an integer", k) if is_traced(k) else k
        loc = (
            undifferentiated(f"{name} has no derivative by its argument loc, an integer", loc)
            if is_traced(loc)
            else loc
        )
        return (F.sub(k, loc), *self._shapes_and_support(given))

    def _shapes_and_support(self, given: dict[str, Any]) -> tuple[list[Any], Any, Any]:
        shapes = self.shape_values(given)
        low, high = self.formula("support")(*shapes)
        return shapes, low, high

    def _probability(self, method: str, k: Any, args: tuple, kwargs: dict) -> Any:
        """The logarithm of the probability."""
        k, given = narrowed(self.bound(method, args, kwargs), k)
        z, shapes, low, high = self._standard(method, k, given)
        inside = both(F.greater_equal(z, low), F.less_equal(z, high), F.equal(_f.floor(z), z))
        y = self.formula("logpmf")(where(inside, z, low), *shapes)
        return self._finish(where(inside, y, -np.inf), given, F.logical_not(isnan(z)))

    def logpmf(self, k: Any, *args: Any, **kwargs: Any) -> Any:
        """The logarithm of the probability."""
        return self._probability("logpmf", k, args, kwargs)

    def pmf(self, k: Any, *args: Any, **kwargs: Any) -> Any:
        """The probability."""
        k, given = narrowed(self.bound("pmf", args, kwargs), k)
        edge = F.equal(given[self.shapes[-1]], 0)
        if self.shapes[-1] == "p":
            edge = F.bitwise_or(edge, F.equal(given["p"], 1))
        if is_known(edge) and not array_of(F.stop_gradient(edge)).any():
            return _t.exp(self._probability("pmf", k, args, kwargs))
        # Where the logarithm of p or of 1 - p is infinite, the powers have their own derivatives.
        last = self.shapes[-1]
        inside = given | {last: where(edge, 0.5, given[last])}
        del inside["scale"]
        y = _t.exp(self._probability("pmf", k, (), inside))
        z, shapes, low, high = self._standard("pmf", k, given)
        whole = both(F.greater_equal(z, low), F.less_equal(z, high), F.equal(_f.floor(z), z))
        on_edge = self.formula("pmf_at_edge")(where(whole, z, low), *shapes[:-1], where(edge, shapes[-1], 0.0))
        y = where(edge, where(whole, on_edge, 0.0), y)
        return self._finish(y, given, F.logical_not(isnan(z)))

    def _tail(self, method: str, k: Any, args: tuple, kwargs: dict) -> Any:
        k, given = narrowed(self.bound(method, args, kwargs), k)
        z, shapes, low, high = self._standard(method, k, given)
        plain = method.removeprefix("log")
        below, above = (0.0, 1.0) if plain == "cdf" else (1.0, 0.0)
        under, over = F.less(z, low), F.greater_equal(z, high)
        at = where(F.bitwise_or(under, over), low, _f.floor(z))
        y = self.formula(method, plain)(at, *shapes)
        if plain != method:
            below, above = (-np.inf, 0.0) if plain == "cdf" else (0.0, -np.inf)
        if plain != method and self.formula(method) is None:
            rest, nothing = self.formula("sf" if plain == "cdf" else "cdf")(at, *shapes), F.equal(y, 0)
            y = where(nothing, -np.inf, log_of_share(where(nothing, 0.5, y), rest))
        return self._finish(where(under, below, where(over, above, y)), given, F.logical_not(isnan(z)))

    def cdf(self, k: Any, *args: Any, **kwargs: Any) -> Any:
        """The distribution function."""
        return self._tail("cdf", k, args, kwargs)

    def sf(self, k: Any, *args: Any, **kwargs: Any) -> Any:
        """1 - cdf, exact where it is small."""
        return self._tail("sf", k, args, kwargs)

    def logcdf(self, k: Any, *args: Any, **kwargs: Any) -> Any:
        """The logarithm of the distribution function."""
        return self._tail("logcdf", k, args, kwargs)

    def logsf(self, k: Any, *args: Any, **kwargs: Any) -> Any:
        """The logarithm of 1 - cdf."""
        return self._tail("logsf", k, args, kwargs)

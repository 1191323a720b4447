"""Distributions made of gamma variables: exponential, gamma, beta, Dirichlet and Student's t."""

from __future__ import annotations

from typing import Any

import numpy as np

from adjoint import ops
from adjoint.api.custom import custom_jvp
from adjoint.api.forward import jvp
from adjoint.core.errors import ArgumentError, called_at
from adjoint.core.spec import shape_of
from adjoint.distributions.base_distribution import Distribution, event_of
from adjoint.ops.functional.random import open_uniform, randn
from adjoint.ops.special_slopes import log1p_square, one_minus_exp
from adjoint.ops.special_table import of

TRIES = 12  # each is taken with a probability above 0.95: that none is has one below 1e-15


class Exponential(Distribution):
    """The time until something happens that happens `rate` times in a unit of time.

    >>> import adjoint as ad
    >>> print(ad.distributions.Exponential(2.0).mean)
    0.5
    """

    reparametrised = True
    rate: Any

    def __init__(self, rate: Any = 1.0) -> None:
        self._take(["rate"], rate=rate)

    def _sampled(self, shape: tuple[int, ...], seed: int | None) -> Any:
        return -ops.log(open_uniform(shape, self.dtype, seed)) / self.rate

    def log_prob(self, value: Any) -> Any:
        return ops.where(ops.less(value, 0), -np.inf, ops.log(self.rate) - self.rate * value)

    def cdf(self, value: Any) -> Any:
        return one_minus_exp(-self.rate * ops.relu(value + ops.zeros_like(self.rate)))

    def icdf(self, value: Any) -> Any:
        return -ops.log1p(-value + ops.zeros_like(self.rate)) / self.rate

    @property
    def mean(self) -> Any:
        return 1 / self.rate

    @property
    def variance(self) -> Any:
        return 1 / (self.rate * self.rate)

    def entropy(self) -> Any:
        return 1 - ops.log(self.rate)


class Gamma(Distribution):
    """The gamma distribution of shape `concentration` and scale 1 / `rate`. Samples have derivatives by both.

    That by the concentration is implicit: along a sample the distribution function stays the same, dF/da + p dz/da = 0.

    >>> import adjoint as ad
    >>> p = ad.distributions.Gamma(3.0, 2.0)
    >>> print(p.mean, p.variance)
    1.5 0.75
    """

    reparametrised = True
    concentration: Any
    rate: Any

    def __init__(self, concentration: Any, rate: Any = 1.0) -> None:
        self._take(["concentration", "rate"], concentration=concentration, rate=rate)

    def _sampled(self, shape: tuple[int, ...], seed: int | None) -> Any:
        return standard_gamma(self.concentration, shape, self.dtype, seed) / self.rate

    def log_prob(self, value: Any) -> Any:
        a = self.concentration
        outside = ops.logical_or(ops.less(value, 0), ops.equal(value, np.inf))
        safe = ops.where(outside, 1.0, value)
        found = a * ops.log(self.rate) + _power(a, safe) - self.rate * safe - ops.lgamma(a)
        return ops.where(outside, -np.inf, found)

    def cdf(self, value: Any) -> Any:
        return ops.gammainc(self.concentration, self.rate * ops.relu(value + ops.zeros_like(self.rate)))

    @property
    def mean(self) -> Any:
        return self.concentration / self.rate

    @property
    def variance(self) -> Any:
        return self.concentration / (self.rate * self.rate)

    def entropy(self) -> Any:
        a = self.concentration
        return a - ops.log(self.rate) + ops.lgamma(a) + (1 - a) * ops.digamma(a)


class Beta(Distribution):
    """The beta distribution, between 0 and 1.

    >>> import adjoint as ad
    >>> print(ad.distributions.Beta(2.0, 2.0).cdf(0.5))
    0.5
    """

    reparametrised = True
    concentration1: Any
    concentration0: Any

    def __init__(self, concentration1: Any, concentration0: Any) -> None:
        names = ["concentration1", "concentration0"]
        self._take(names, concentration1=concentration1, concentration0=concentration0)

    def _sampled(self, shape: tuple[int, ...], seed: int | None) -> Any:
        other = None if seed is None else seed + 1
        one = standard_gamma(self.concentration1, shape, self.dtype, seed)
        rest = standard_gamma(self.concentration0, shape, self.dtype, other)
        return one / (one + rest)

    def log_prob(self, value: Any) -> Any:
        a, b = self.concentration1, self.concentration0
        outside = ops.logical_or(ops.less(value, 0), ops.greater(value, 1))
        safe = ops.where(outside, 0.5, value)
        last = ops.equal(safe, 1)
        rest = ops.where(last, _power(b, 1 - safe), (b - 1) * ops.log1p(-ops.where(last, 0.5, safe)))
        return ops.where(outside, -np.inf, _power(a, safe) + rest - log_beta(a, b))

    def cdf(self, value: Any) -> Any:
        return ops.betainc(self.concentration1, self.concentration0, ops.clip(value, 0.0, 1.0))

    @property
    def mean(self) -> Any:
        return self.concentration1 / (self.concentration1 + self.concentration0)

    @property
    def variance(self) -> Any:
        total = self.concentration1 + self.concentration0
        return self.concentration1 * self.concentration0 / (total * total * (total + 1))

    def entropy(self) -> Any:
        a, b = self.concentration1, self.concentration0
        both = (a + b - 2) * ops.digamma(a + b)
        return log_beta(a, b) - (a - 1) * ops.digamma(a) - (b - 1) * ops.digamma(b) + both


class Dirichlet(Distribution):
    """Shares that add up to 1, along the last axis of `concentration`.

    >>> import adjoint as ad
    >>> p = ad.distributions.Dirichlet([1.0, 2.0, 3.0])
    >>> p.event_shape, p.sample((5,)).shape, float(p.sample().sum().round(5))
    ((3,), (5, 3), 1.0)
    """

    reparametrised = True
    concentration: Any

    def __init__(self, concentration: Any) -> None:
        self._take(["concentration"], concentration=concentration)
        if not self._broadcast:
            raise ArgumentError(f"Dirichlet: concentration needs an axis, that of the shares{called_at()}")
        self.event_shape = self._broadcast[-1:]

    @property
    def batch_shape(self) -> tuple[int, ...]:
        return self._broadcast[:-1]

    def _sampled(self, shape: tuple[int, ...], seed: int | None) -> Any:
        parts = standard_gamma(self.concentration, (*shape, *self.event_shape), self.dtype, seed)
        return parts / ops.sum(parts, -1, keepdims=True)

    def log_prob(self, value: Any) -> Any:
        a, value = self.concentration, event_of(self, value)
        away = ops.abs(ops.sum(value, -1) - 1)
        close = max(1e-6, float(np.sqrt(np.finfo(value.dtype).eps)) if value.dtype.kind == "f" else 0.1)
        outside = ops.logical_or(ops.any(ops.less(value, 0), -1), ops.greater(away, close))
        total = ops.sum(_power(a, ops.where(ops.expand_dims(outside, -1), 0.5, value)), -1)
        return ops.where(outside, -np.inf, total) + ops.lgamma(ops.sum(a, -1)) - ops.sum(ops.lgamma(a), -1)

    @property
    def mean(self) -> Any:
        return self.concentration / ops.sum(self.concentration, -1, keepdims=True)

    @property
    def variance(self) -> Any:
        total = ops.sum(self.concentration, -1, keepdims=True)
        return self.mean * (1 - self.mean) / (total + 1)

    def entropy(self) -> Any:
        a = self.concentration
        total = ops.sum(a, -1)
        norm = ops.sum(ops.lgamma(a), -1) - ops.lgamma(total)
        return norm + (total - shape_of(a)[-1]) * ops.digamma(total) - ops.sum((a - 1) * ops.digamma(a), -1)


class StudentT(Distribution):
    """Student's t distribution with `df` degrees of freedom.

    >>> import adjoint as ad
    >>> print(ad.distributions.StudentT(1.0).log_prob(0.0))
    -1.1447299
    """

    reparametrised = True
    df: Any
    loc: Any
    scale: Any

    def __init__(self, df: Any, loc: Any = 0.0, scale: Any = 1.0) -> None:
        self._take(["df", "scale"], df=df, loc=loc, scale=scale)

    def _sampled(self, shape: tuple[int, ...], seed: int | None) -> Any:
        other = None if seed is None else seed + 1
        half = 0.5 * self.df
        stretch = ops.sqrt(half / standard_gamma(half, shape, self.dtype, other))
        return self.loc + self.scale * randn(shape, dtype=self.dtype, seed=seed) * stretch

    def log_prob(self, value: Any) -> Any:
        z, df = (value - self.loc) / self.scale, self.df
        norm = -log_beta(0.5 * df, 0.5) - 0.5 * ops.log(df) - ops.log(self.scale)
        return norm - 0.5 * (df + 1) * log1p_square(z, df)

    def cdf(self, value: Any) -> Any:
        return _student_cdf((value - self.loc) / self.scale, self.df)

    @property
    def mean(self) -> Any:
        return self._full(ops.where(ops.greater(self.df, 1), self.loc, np.nan))

    @property
    def variance(self) -> Any:
        df = self.df
        finite = ops.greater(df, 2)
        value = ops.where(finite, self.scale * self.scale * df / ops.where(finite, df - 2, 1.0), np.inf)
        return self._full(ops.where(ops.greater(df, 1), value, np.nan))

    def entropy(self) -> Any:
        df, half = self.df, 0.5 * (self.df + 1)
        spread = half * (ops.digamma(half) - ops.digamma(0.5 * df))
        return self._full(spread + 0.5 * ops.log(df) + log_beta(0.5 * df, 0.5) + ops.log(self.scale))


def _power(a: Any, x: Any) -> Any:
    """log x^(a - 1), also at x = 0."""
    zero = ops.equal(x, 0)
    found = (a - 1) * ops.log(ops.where(zero, 1.0, x))
    found = ops.where(ops.logical_and(zero, ops.less(a, 1)), np.inf, found)
    return ops.where(ops.logical_and(zero, ops.greater(a, 1)), -np.inf, found)


def log_beta(a: Any, b: Any) -> Any:
    """The logarithm of the beta function."""
    return of("betaln")(a, b)


def _student_cdf(z: Any, df: Any) -> Any:
    """The distribution function: near 0 by its series, then by what lies between 0 and z, far out by what lies beyond."""
    square = ops.stop_gradient(z * z)
    near, far = ops.less(square * (1 + 1 / df), 1e-8), ops.greater(square, df)
    x = ops.where(near, z, 0.0)
    density = ops.exp(-log_beta(0.5 * df, 0.5) - 0.5 * ops.log(df))
    middle = 0.5 + density * x * (1 - (df + 1) * (x * x) / (6 * df))
    x = ops.where(ops.logical_or(near, far), 1.0, z)
    between = 0.5 * ops.sign(x) * ops.betainc(0.5 + ops.zeros_like(df), 0.5 * df, x * x / (df + x * x))
    x = ops.where(far, z, 1.0)
    tail = 0.5 * ops.betainc(0.5 * df, 0.5 + ops.zeros_like(df), 1 / (1 + x * x / df))
    beyond = ops.where(ops.greater(x, 0), 1 - tail, tail)
    return ops.where(near, middle, ops.where(far, beyond, 0.5 + between))


def standard_gamma(a: Any, shape: tuple[int, ...], dtype: Any, seed: int | None) -> Any:
    """Gamma samples of scale 1, after Marsaglia and Tsang; differentiable in a, to every order."""
    seeds = [None] * 3 if seed is None else [seed, seed + 7919, seed + 104729]
    normal = randn((TRIES, *shape), dtype=dtype, seed=seeds[0])
    first = open_uniform((TRIES, *shape), dtype, seeds[1])
    last = open_uniform(shape, dtype, seeds[2])
    return _gamma(ops.broadcast_to(a, shape), normal, first, last)


def _from_noise(a: Any, normal: Any, first: Any, last: Any) -> Any:
    """The sample that noise makes: of the proposals d (1 + c x)^3 the first that is accepted. Below a = 1 by way of a + 1."""
    low = ops.less(a, 1)
    d = ops.where(low, a + 1, a) - 1 / 3
    v = 1 + normal / ops.sqrt(9 * d)
    v = v * v * v
    possible = ops.greater(v, 0)
    log_v = ops.log(ops.where(possible, v, 1.0))
    fits = ops.less(ops.log(first), 0.5 * normal * normal + d * (1 - v + log_v))
    taken = ops.argmax(ops.cast(ops.logical_and(possible, fits), np.int32), 0)
    chosen = ops.take_along_axis(v, ops.expand_dims(taken, 0), 0)[0]
    return d * chosen * ops.where(low, ops.exp(ops.log(last) / ops.where(low, a, 1.0)), 1.0)


def _gamma_rule(values: Any, tangents: Any) -> Any:
    """Along a sample z the distribution function stays the same: dz = -(dF/da) / p da."""
    a, normal, first, last = values
    z = _gamma(a, normal, first, last)
    density = ops.exp((a - 1) * ops.log(z) - z - ops.lgamma(a))
    _, moved = jvp(lambda a: ops.gammainc(a, z), (a,), (tangents[0],))
    return z, -moved / density


_gamma = custom_jvp(_from_noise, _gamma_rule)

"""Distributions with a location and a scale: a standard one, shifted and stretched."""

from __future__ import annotations

import math
from typing import Any

import numpy as np

from adjoint import ops
from adjoint.distributions.base_distribution import Distribution, require_all
from adjoint.ops.functional.random import open_uniform, rand, randn
from adjoint.ops.special_slopes import log1p_square
from adjoint.ops.special_table import of

HALF_LOG_2PI = 0.5 * math.log(2 * math.pi)
EULER = 0.57721566490153286061


class Normal(Distribution):
    """The normal distribution.

    >>> import adjoint as ad
    >>> p = ad.distributions.Normal(1.0, 2.0)
    >>> print(p.log_prob(1.0), p.cdf(1.0), p.kl(ad.distributions.Normal(1.0, 2.0)))
    -1.6120857 0.5 0.0
    """

    reparametrised = True
    loc: Any
    scale: Any

    def __init__(self, loc: Any = 0.0, scale: Any = 1.0) -> None:
        self._take(["scale"], loc=loc, scale=scale)

    def _sampled(self, shape: tuple[int, ...], seed: int | None) -> Any:
        return self.loc + self.scale * randn(shape, dtype=self.dtype, seed=seed)

    def log_prob(self, value: Any) -> Any:
        z = (value - self.loc) / self.scale
        return -0.5 * (z * z) - ops.log(self.scale) - HALF_LOG_2PI

    def cdf(self, value: Any) -> Any:
        return 0.5 * ops.erfc((self.loc - value) / (self.scale * math.sqrt(2)))

    def icdf(self, value: Any) -> Any:
        return self.loc + self.scale * of("ndtri")(value)

    @property
    def mean(self) -> Any:
        return self._full(self.loc)

    @property
    def variance(self) -> Any:
        return self._full(self.scale * self.scale)

    def entropy(self) -> Any:
        return self._full(ops.log(self.scale) + (0.5 + HALF_LOG_2PI))


class LogNormal(Distribution):
    """What has a normal logarithm, with this mean `loc` and deviation `scale`.

    >>> import adjoint as ad
    >>> print(ad.distributions.LogNormal(0.0, 1.0).mean)
    1.6487212
    """

    reparametrised = True
    loc: Any
    scale: Any

    def __init__(self, loc: Any = 0.0, scale: Any = 1.0) -> None:
        self._take(["scale"], loc=loc, scale=scale)
        self.normal = Normal(self.loc, self.scale)

    def _sampled(self, shape: tuple[int, ...], seed: int | None) -> Any:
        return ops.exp(self.normal._sampled(shape, seed))

    def log_prob(self, value: Any) -> Any:
        inside = _positive(value)
        log = ops.log(ops.where(inside, value, 1.0))
        return ops.where(inside, self.normal.log_prob(log) - log, -np.inf)

    def cdf(self, value: Any) -> Any:
        inside = _positive(value)
        return ops.where(inside, self.normal.cdf(ops.log(ops.where(inside, value, 1.0))), 0.0)

    def icdf(self, value: Any) -> Any:
        return ops.exp(self.normal.icdf(value))

    @property
    def mean(self) -> Any:
        return self._full(ops.exp(self.loc + 0.5 * self.scale * self.scale))

    @property
    def variance(self) -> Any:
        square = self.scale * self.scale
        return self._full(ops.expm1(square) * ops.exp(2 * self.loc + square))

    def entropy(self) -> Any:
        return self.normal.entropy() + self._full(self.loc)


class HalfNormal(Distribution):
    """The size of a normal value with mean 0 and deviation `scale`.

    >>> import adjoint as ad
    >>> print(ad.distributions.HalfNormal(1.0).cdf(0.0))
    0.0
    """

    reparametrised = True
    scale: Any

    def __init__(self, scale: Any = 1.0) -> None:
        self._take(["scale"], scale=scale)

    def _sampled(self, shape: tuple[int, ...], seed: int | None) -> Any:
        return self.scale * ops.abs(randn(shape, dtype=self.dtype, seed=seed))

    def log_prob(self, value: Any) -> Any:
        z = value / self.scale
        found = -0.5 * (z * z) - ops.log(self.scale) + 0.5 * math.log(2 / math.pi)
        return ops.where(ops.less(value, 0), -np.inf, found)

    def cdf(self, value: Any) -> Any:
        return ops.erf(ops.relu(value / (self.scale * math.sqrt(2))))

    def icdf(self, value: Any) -> Any:
        return self.scale * (math.sqrt(2) * ops.erfinv(value))

    @property
    def mean(self) -> Any:
        return self.scale * math.sqrt(2 / math.pi)

    @property
    def variance(self) -> Any:
        return self.scale * self.scale * (1 - 2 / math.pi)

    def entropy(self) -> Any:
        return ops.log(self.scale) + (0.5 * math.log(math.pi / 2) + 0.5)


class Laplace(Distribution):
    """The double exponential distribution.

    >>> import adjoint as ad
    >>> print(ad.distributions.Laplace(0.0, 1.0).cdf(0.0))
    0.5
    """

    reparametrised = True
    loc: Any
    scale: Any

    def __init__(self, loc: Any = 0.0, scale: Any = 1.0) -> None:
        self._take(["scale"], loc=loc, scale=scale)

    def _sampled(self, shape: tuple[int, ...], seed: int | None) -> Any:
        return self.icdf(open_uniform(shape, self.dtype, seed))

    def log_prob(self, value: Any) -> Any:
        return -ops.abs(value - self.loc) / self.scale - ops.log(2 * self.scale)

    def cdf(self, value: Any) -> Any:
        z = (value - self.loc) / self.scale
        above = ops.greater(z, 0)
        tail = 0.5 * ops.exp(ops.where(above, -z, z))
        return ops.where(above, 1 - tail, tail)

    def icdf(self, value: Any) -> Any:
        lower = ops.less(value, 0.5)
        log = ops.log(2 * ops.where(lower, value, 1 - value))
        return self.loc + self.scale * ops.where(lower, log, -log)

    @property
    def mean(self) -> Any:
        return self._full(self.loc)

    @property
    def variance(self) -> Any:
        return self._full(2 * self.scale * self.scale)

    def entropy(self) -> Any:
        return self._full(1 + ops.log(2 * self.scale))


class Cauchy(Distribution):
    """Cauchy's distribution; it has no mean and no variance: both are NaN.

    >>> import adjoint as ad
    >>> print(ad.distributions.Cauchy(0.0, 1.0).cdf(1.0))
    0.75
    """

    reparametrised = True
    loc: Any
    scale: Any

    def __init__(self, loc: Any = 0.0, scale: Any = 1.0) -> None:
        self._take(["scale"], loc=loc, scale=scale)

    def _sampled(self, shape: tuple[int, ...], seed: int | None) -> Any:
        return self.icdf(open_uniform(shape, self.dtype, seed))

    def log_prob(self, value: Any) -> Any:
        z = (value - self.loc) / self.scale
        return -math.log(math.pi) - ops.log(self.scale) - log1p_square(z)

    def cdf(self, value: Any) -> Any:
        return ops.atan2(1.0, (self.loc - value) / self.scale) / math.pi

    def icdf(self, value: Any) -> Any:
        lower, middle = ops.less(value, 0.5), ops.less(ops.abs(value - 0.5), 0.25)
        near = ops.tan(math.pi * ops.where(middle, value - 0.5, 0.0))
        far = 1 / ops.tan(math.pi * ops.where(middle, 0.25, ops.where(lower, value, 1 - value)))
        return self.loc + self.scale * ops.where(middle, near, ops.where(lower, -far, far))

    @property
    def mean(self) -> Any:
        return self._full(ops.zeros_like(self.loc) + np.nan)

    @property
    def variance(self) -> Any:
        return self._full(ops.zeros_like(self.loc) + np.nan)

    def entropy(self) -> Any:
        return self._full(ops.log(4 * math.pi * self.scale))


class Gumbel(Distribution):
    """Gumbel's distribution of the largest of many.

    >>> import adjoint as ad
    >>> print(ad.distributions.Gumbel(0.0, 1.0).mean)
    0.5772157
    """

    reparametrised = True
    loc: Any
    scale: Any

    def __init__(self, loc: Any = 0.0, scale: Any = 1.0) -> None:
        self._take(["scale"], loc=loc, scale=scale)

    def _sampled(self, shape: tuple[int, ...], seed: int | None) -> Any:
        return self.icdf(open_uniform(shape, self.dtype, seed))

    def log_prob(self, value: Any) -> Any:
        z = (value - self.loc) / self.scale
        return -(z + ops.exp(-z)) - ops.log(self.scale)

    def cdf(self, value: Any) -> Any:
        return ops.exp(-ops.exp(-(value - self.loc) / self.scale))

    def icdf(self, value: Any) -> Any:
        return self.loc - self.scale * ops.log(-ops.log(value))

    @property
    def mean(self) -> Any:
        return self._full(self.loc + EULER * self.scale)

    @property
    def variance(self) -> Any:
        return self._full(self.scale * self.scale * (math.pi**2 / 6))

    def entropy(self) -> Any:
        return self._full(ops.log(self.scale) + (1 + EULER))


class Uniform(Distribution):
    """All values from `low` to `high` alike.

    >>> import adjoint as ad
    >>> print(ad.distributions.Uniform(0.0, 4.0).log_prob(1.0), ad.distributions.Uniform(0.0, 4.0).log_prob(5.0))
    -1.3862944 -inf
    """

    reparametrised = True
    low: Any
    high: Any

    def __init__(self, low: Any = 0.0, high: Any = 1.0) -> None:
        self._take(low=low, high=high)
        require_all(ops.less(self.low, self.high), "Uniform: low must lie below high")

    def _sampled(self, shape: tuple[int, ...], seed: int | None) -> Any:
        return self.low + (self.high - self.low) * rand(shape, dtype=self.dtype, seed=seed)

    def log_prob(self, value: Any) -> Any:
        outside = ops.logical_or(ops.less(value, self.low), ops.greater(value, self.high))
        return ops.where(
            outside, -np.inf, ops.where(ops.equal(value, value), 0.0, value) - ops.log(self.high - self.low)
        )

    def cdf(self, value: Any) -> Any:
        return ops.clip((value - self.low) / (self.high - self.low), 0.0, 1.0)

    def icdf(self, value: Any) -> Any:
        return self.low + (self.high - self.low) * value

    @property
    def mean(self) -> Any:
        return 0.5 * (self.low + self.high)

    @property
    def variance(self) -> Any:
        width = self.high - self.low
        return width * width / 12

    def entropy(self) -> Any:
        return ops.log(self.high - self.low)


def _positive(value: Any) -> Any:
    """Values above 0, and NaN, which stays."""
    return ops.logical_not(ops.less_equal(value, 0))

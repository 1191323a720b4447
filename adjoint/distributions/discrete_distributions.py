"""Distributions over integers. Samples are numbers in the dtype of the arguments (integers for Categorical), without derivatives."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from adjoint import ops
from adjoint.core.errors import ArgumentError, called_at
from adjoint.core.spec import float64, int64, shape_of
from adjoint.distributions.base_distribution import Distribution, require, require_all
from adjoint.ops.functional.random import open_uniform, rand
from adjoint.ops.numpylike.special_ufuncs import COMPOSED_SPECIAL
from adjoint.ops.special_slopes import one_minus_exp

_xlog1py = COMPOSED_SPECIAL["xlog1py"]


def _log_and_probability(what: Distribution, probs: Any, logits: Any) -> dict[str, Any]:
    """The one argument of two that was given."""
    if (probs is None) == (logits is None):
        raise ArgumentError(f"{type(what).__name__}: give one of probs and logits{called_at()}")
    return {"probs": probs} if logits is None else {"logits": logits}


class Bernoulli(Distribution):
    """1 with probability `probs`, else 0. Give the probability, or its `logits`.

    >>> import adjoint as ad
    >>> print(ad.distributions.Bernoulli(0.25).log_prob(1.0), ad.distributions.Bernoulli(logits=0.0).mean)
    -1.3862944 0.5
    """

    discrete = True
    probs: Any
    logits: Any

    def __init__(self, probs: Any = None, logits: Any = None) -> None:
        given = _log_and_probability(self, probs, logits)
        self._take(unit=["probs"], **given)
        if "logits" in given:
            self.probs = ops.sigmoid(self.logits)

    def _sampled(self, shape: tuple[int, ...], seed: int | None) -> Any:
        return ops.cast(ops.less(rand(shape, dtype=self.dtype, seed=seed), self.probs), self.dtype)

    def log_prob(self, value: Any) -> Any:
        outside = ops.logical_not(ops.logical_and(_counts(value), ops.logical_not(ops.greater(value, 1))))
        value = ops.where(outside, 0.0, value)
        if "logits" in self.arguments:
            found = value * self.logits - ops.softplus(self.logits)
        else:
            found = ops.xlogy(value, self.probs) + _xlog1py(1 - value, -self.probs)
        return ops.where(outside, -np.inf, found)

    def cdf(self, value: Any) -> Any:
        top = ops.where(ops.equal(value, value), 1.0, value)  # NaN stays
        return ops.where(ops.less(value, 0), 0.0, ops.where(ops.less(value, 1), 1 - self.probs, top))

    @property
    def mean(self) -> Any:
        return self.probs

    @property
    def variance(self) -> Any:
        return self.probs * (1 - self.probs)

    def entropy(self) -> Any:
        if "logits" in self.arguments:
            return ops.softplus(self.logits) - self.logits * self.probs
        return -ops.xlogy(self.probs, self.probs) - ops.xlogy(1 - self.probs, 1 - self.probs)


class Categorical(Distribution):
    """A position along the last axis of `probs`, which are made to add up to 1, or of `logits`.

    >>> import adjoint as ad
    >>> p = ad.distributions.Categorical([1.0, 1.0, 2.0])
    >>> print(p.log_prob(2), p.sample((4,)).dtype, p.batch_shape)
    -0.6931472 int64 ()
    """

    discrete = True
    probs: Any
    logits: Any

    def __init__(self, probs: Any = None, logits: Any = None) -> None:
        self._take(**_log_and_probability(self, probs, logits))
        if not self._broadcast:
            raise ArgumentError(f"Categorical: the probabilities need an axis, that of the positions{called_at()}")
        if "logits" in self.arguments:
            self.log_probs = ops.log_softmax(self.logits, -1)
            self.probs = ops.exp(self.log_probs)
            return
        given = self.arguments["probs"]
        valid = ops.logical_and(ops.all(ops.greater_equal(given, 0)), ops.all(ops.greater(ops.sum(given, -1), 0)))
        require_all(valid, "Categorical: probs must be >= 0, with one above 0")
        self.probs = self.arguments["probs"] / ops.sum(self.arguments["probs"], -1, keepdims=True)
        possible = ops.greater(self.probs, 0)
        self.log_probs = ops.where(possible, ops.log(ops.where(possible, self.probs, 1.0)), -np.inf)

    @property
    def batch_shape(self) -> tuple[int, ...]:
        return self._broadcast[:-1]

    def _sampled(self, shape: tuple[int, ...], seed: int | None) -> Any:
        count = self._broadcast[-1]
        noise = -ops.log(-ops.log(open_uniform((*shape, count), float64, seed)))
        return ops.cast(ops.argmax(ops.stop_gradient(self.log_probs) + noise, -1), int64)

    def log_prob(self, value: Any) -> Any:
        inside = ops.logical_and(
            ops.logical_and(_counts(value), ops.less(value, self._broadcast[-1])), ops.equal(value, value)
        )
        places = ops.cast(ops.where(inside, value, 0), int64)
        shape = np.broadcast_shapes(shape_of(places), self.batch_shape)
        table = ops.broadcast_to(self.log_probs, (*shape, self._broadcast[-1]))
        index = ops.expand_dims(ops.broadcast_to(places, shape), -1)
        outside = ops.where(ops.equal(value, value), -np.inf, np.nan)
        return ops.where(inside, ops.take_along_axis(table, index, -1)[..., 0], ops.cast(outside, self.dtype))

    @property
    def mean(self) -> Any:
        raise self._lacks("mean")

    def entropy(self) -> Any:
        return -ops.sum(ops.xlogy(self.probs, self.probs), -1)


class Geometric(Distribution):
    """Failures before the first success, each try with probability `probs` (SciPy counts the success too).

    >>> import adjoint as ad
    >>> print(ad.distributions.Geometric(0.5).mean)
    1.0
    """

    discrete = True
    probs: Any

    def __init__(self, probs: Any) -> None:
        self._take(["probs"], ["probs"], probs=probs)

    def _sampled(self, shape: tuple[int, ...], seed: int | None) -> Any:
        certain = ops.equal(self.probs, 1)
        slope = ops.log1p(-ops.cast(ops.where(certain, 0.5, self.probs), float64))
        steps = ops.floor(ops.log(open_uniform(shape, float64, seed)) / slope)
        return ops.cast(ops.stop_gradient(ops.where(certain, 0.0, steps)), self.dtype)

    def log_prob(self, value: Any) -> Any:
        inside = _counts(value)
        k = ops.where(inside, value, 0.0) + ops.zeros_like(self.probs)
        return ops.where(inside, _xlog1py(k, -self.probs) + ops.log(self.probs), -np.inf)

    def cdf(self, value: Any) -> Any:
        whole = ops.floor(value + ops.zeros_like(self.probs))
        tries, large = ops.relu(whole) + 1, ops.greater(self.probs, 0.5)
        found = one_minus_exp(tries * ops.log1p(-ops.where(large, 0.5, self.probs)))
        return ops.where(ops.less(whole, 0), 0.0, ops.where(large, 1 - (1 - self.probs) ** tries, found))

    @property
    def mean(self) -> Any:
        return 1 / self.probs - 1

    @property
    def variance(self) -> Any:
        return (1 - self.probs) / (self.probs * self.probs)

    def entropy(self) -> Any:
        p = self.probs
        return -(ops.xlogy(1 - p, 1 - p) + ops.xlogy(p, p)) / p


class Poisson(Distribution):
    """How often something happens in a unit of time that happens `rate` times on average.

    >>> import adjoint as ad
    >>> print(ad.distributions.Poisson(2.0).log_prob(0.0))
    -2.0
    """

    discrete = True
    rate: Any

    def __init__(self, rate: Any) -> None:
        self._take(["rate"], rate=rate)

    def _sampled(self, shape: tuple[int, ...], seed: int | None) -> Any:
        rate = ops.broadcast_to(ops.stop_gradient(ops.cast(self.rate, float64)), shape)
        top = rate + 12 * ops.sqrt(rate) + 40
        found = _inverted(lambda k: ops.gammaincc(k + 1, rate), open_uniform(shape, float64, seed), top)
        return ops.cast(found, self.dtype)

    def log_prob(self, value: Any) -> Any:
        k = ops.where(_counts(value), value, 0.0) + ops.zeros_like(self.rate)
        return ops.where(_counts(value), ops.xlogy(k, self.rate) - self.rate - ops.lgamma(k + 1), -np.inf)

    def cdf(self, value: Any) -> Any:
        whole = ops.floor(value + ops.zeros_like(self.rate))
        return ops.where(ops.less(whole, 0), 0.0, ops.gammaincc(ops.relu(whole) + 1, self.rate))

    @property
    def mean(self) -> Any:
        return self.rate

    @property
    def variance(self) -> Any:
        return self.rate


class Binomial(Distribution):
    """Successes among `total_count` tries, each with probability `probs`.

    >>> import adjoint as ad
    >>> print(ad.distributions.Binomial(4, 0.5).mean)
    2.0
    """

    discrete = True
    total_count: Any
    probs: Any

    def __init__(self, total_count: Any, probs: Any) -> None:
        self._take([], ["probs"], total_count=total_count, probs=probs)
        require(
            self.total_count,
            lambda n: ops.logical_and(_counts(n), ops.equal(n, n)),
            "Binomial: total_count must be integers >= 0",
        )

    def _sampled(self, shape: tuple[int, ...], seed: int | None) -> Any:
        n, p = (ops.stop_gradient(ops.cast(x, float64)) for x in (self.total_count, self.probs))
        n, p = ops.broadcast_to(n, shape), ops.broadcast_to(p, shape)
        found = _inverted(lambda k: _binomial_cdf(n, p, k), open_uniform(shape, float64, seed), n)
        return ops.cast(found, self.dtype)

    def log_prob(self, value: Any) -> Any:
        n, p = self.total_count, self.probs
        inside = ops.logical_and(_counts(value), ops.logical_not(ops.greater(value, n)))
        k = ops.where(inside, value + ops.zeros_like(p), 0.0)
        ways = ops.lgamma(n + 1) - ops.lgamma(k + 1) - ops.lgamma(n - k + 1)
        return ops.where(inside, ways + ops.xlogy(k, p) + _xlog1py(n - k, -p), -np.inf)

    def cdf(self, value: Any) -> Any:
        whole = ops.floor(value + ops.zeros_like(self.probs))
        found = _binomial_cdf(self._full(self.total_count), self._full(self.probs), ops.relu(whole))
        return ops.where(ops.less(whole, 0), 0.0, found)

    @property
    def mean(self) -> Any:
        return self.total_count * self.probs

    @property
    def variance(self) -> Any:
        return self.total_count * self.probs * (1 - self.probs)


def _binomial_cdf(n: Any, p: Any, k: Any) -> Any:
    inside = ops.logical_not(ops.greater_equal(k, n))  # NaN stays
    k = ops.where(inside, k, 0.0)
    return ops.where(inside, ops.betainc(ops.where(inside, n - k, 1.0), k + 1, 1 - p), 1.0)


def _counts(value: Any) -> Any:
    """Whether values are integers >= 0, or NaN, which stays."""
    counts = ops.logical_and(ops.greater_equal(value, 0), ops.equal(value, ops.floor(value)))
    counts = ops.logical_and(counts, ops.less(value, np.inf))
    return ops.logical_or(counts, ops.not_equal(value, value))


def _inverted(cdf: Callable[[Any], Any], u: Any, top: Any) -> Any:
    """The smallest integer k from 0 to `top` with cdf(k) >= u, by halving."""
    low, high = ops.zeros_like(u) - 1, ops.ceil(top) + ops.zeros_like(u)
    for _ in range(34):
        middle = ops.floor(0.5 * (low + high))
        enough = ops.greater_equal(cdf(ops.relu(middle)), u)
        between = ops.greater(middle, low)
        low = ops.where(ops.logical_and(between, ops.logical_not(enough)), middle, low)
        high = ops.where(ops.logical_and(between, enough), middle, high)
    return ops.stop_gradient(high)

"""Distributions of a function of a variable, by invertible functions of each element."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any

import numpy as np

from adjoint import ops
from adjoint.core.errors import ArgumentTypeError, called_at
from adjoint.core.spec import dtype_of, shape_of
from adjoint.core.tensor import Tensor
from adjoint.distributions.base_distribution import Distribution


class Bijector:
    """An invertible function of each element: `forward`, `inverse`, and `log_slope`, the logarithm of its derivative's size."""

    increasing: Any = True
    output_range: tuple[float, float] = (-np.inf, np.inf)  # values between these come out

    def _outside(self, y: Any) -> tuple[Any, Any, Any]:
        """Where y lies below and above the range, and y with a value within it there."""
        low, high = self.output_range
        below = ops.less_equal(y, low) if np.isfinite(low) else ops.less(y, low)
        above = ops.greater_equal(y, high) if np.isfinite(high) else ops.greater(y, high)
        middle = (low + high) / 2 if np.isfinite(high) else low + 1 if np.isfinite(low) else 0.0
        return below, above, ops.where(ops.logical_or(below, above), middle, y)

    def forward(self, x: Any) -> Any:
        """The function."""
        raise NotImplementedError(f"{type(self).__name__} has no `forward`")

    def inverse(self, y: Any) -> Any:
        """What gives y."""
        raise NotImplementedError(f"{type(self).__name__} has no `inverse`")

    def log_slope(self, x: Any) -> Any:
        """log |dy/dx|."""
        raise NotImplementedError(f"{type(self).__name__} has no `log_slope`")


class AffineBijector(Bijector):
    """shift + scale * x.

    >>> print(AffineBijector(1.0, 2.0).forward(3.0))
    7.0
    """

    def __init__(self, shift: Any = 0.0, scale: Any = 1.0) -> None:
        self.shift, self.scale = (x if isinstance(x, Tensor) else Tensor(x) for x in (shift, scale))

    @property
    def increasing(self) -> Any:  # type: ignore[override]
        """Where the scale is above 0."""
        return ops.greater(self.scale, 0)

    def forward(self, x: Any) -> Any:
        return self.shift + self.scale * x

    def inverse(self, y: Any) -> Any:
        return (y - self.shift) / self.scale

    def log_slope(self, x: Any) -> Any:
        return ops.log(ops.abs(self.scale)) + ops.zeros_like(x)


class ExpBijector(Bijector):
    """exp(x)."""

    output_range = (0.0, np.inf)

    def forward(self, x: Any) -> Any:
        return ops.exp(x)

    def inverse(self, y: Any) -> Any:
        return ops.log(y)

    def log_slope(self, x: Any) -> Any:
        return x


class SigmoidBijector(Bijector):
    """1 / (1 + exp(-x))."""

    output_range = (0.0, 1.0)

    def forward(self, x: Any) -> Any:
        return ops.sigmoid(x)

    def inverse(self, y: Any) -> Any:
        return ops.log(y) - ops.log1p(-y)

    def log_slope(self, x: Any) -> Any:
        return -ops.softplus(-x) - ops.softplus(x)


class TanhBijector(Bijector):
    """tanh(x)."""

    output_range = (-1.0, 1.0)

    def forward(self, x: Any) -> Any:
        return ops.tanh(x)

    def inverse(self, y: Any) -> Any:
        return ops.atanh(y)

    def log_slope(self, x: Any) -> Any:
        return 2 * (math.log(2.0) - x - ops.softplus(-2 * x))


def _near(a: Any, b: Any) -> Any:
    """Whether two values are the same but for rounding."""
    some = 1e-5 if dtype_of(b).itemsize < 8 else 1e-12
    return ops.logical_or(ops.equal(a, b), ops.less_equal(ops.abs(a - b), some * (1 + ops.abs(b))))


class TransformedDistribution(Distribution):
    """The distribution of `bijectors` applied, one after another, to what `base` samples.

    >>> import adjoint as ad
    >>> from adjoint.distributions import ExpBijector, LogNormal, Normal, TransformedDistribution
    >>> p = TransformedDistribution(Normal(0.5, 1.0), ExpBijector())
    >>> print(p.log_prob(2.0), LogNormal(0.5, 1.0).log_prob(2.0))
    -1.6307386 -1.6307386
    """

    def __init__(self, base: Distribution, bijectors: Bijector | Sequence[Bijector]) -> None:
        listed = [bijectors] if isinstance(bijectors, Bijector) else list(bijectors)
        if not isinstance(base, Distribution) or not all(isinstance(b, Bijector) for b in listed):
            raise ArgumentTypeError(f"TransformedDistribution: a distribution and bijectors are needed{called_at()}")
        if base.event_shape:
            raise ArgumentTypeError(
                f"TransformedDistribution: the base has events of shape {base.event_shape}; put Independent around the result{called_at()}"
            )
        self.base, self.bijectors, self.arguments = base, listed, base.arguments
        like = self._forward(ops.zeros(base.batch_shape, base.dtype))
        self._broadcast, self._dtype = np.broadcast_shapes(shape_of(like), base.batch_shape), dtype_of(like)

    @property
    def reparametrised(self) -> bool:  # type: ignore[override]
        """Whether samples have derivatives by the arguments."""
        return self.base.reparametrised

    @property
    def discrete(self) -> bool:  # type: ignore[override]
        """Whether values have probabilities, no density."""
        return self.base.discrete

    @property
    def dtype(self) -> np.dtype:
        return self._dtype

    def _forward(self, x: Any) -> Any:
        for bijector in self.bijectors:
            x = bijector.forward(x)
        return x

    def _sampled(self, shape: tuple[int, ...], seed: int | None) -> Any:
        return self._forward(self.base._sampled(shape, seed))

    def log_prob(self, value: Any) -> Any:
        y, slopes, outside = value, 0.0, ops.less(value, -np.inf)
        for bijector in reversed(self.bijectors):
            below, above, inside = bijector._outside(y)
            x = bijector.inverse(inside)
            slopes, y = slopes + bijector.log_slope(x), x
            outside = ops.logical_or(outside, ops.logical_or(below, above))
        if self.base.discrete:  # a probability, which no slope spreads, at the integer that gives the value
            whole = ops.round(ops.where(outside, 0.0, y))
            near = _near(self._forward(whole), value)
            return ops.where(ops.logical_and(near, ops.logical_not(outside)), self._base_log_prob(whole), -np.inf)
        return ops.where(outside, -np.inf, self.base.log_prob(y) - slopes)

    def _base_log_prob(self, whole: Any) -> Any:
        return self.base.log_prob(ops.cast(whole, self.base.dtype))

    def cdf(self, value: Any) -> Any:
        y, increasing = value, True
        for bijector in reversed(self.bijectors):
            below, above, inside = bijector._outside(y)
            low = ops.equal(bijector.increasing, below)
            outside = ops.logical_or(below, above)
            y = ops.where(ops.logical_and(outside, low), -np.inf, ops.where(outside, np.inf, bijector.inverse(inside)))
            increasing = ops.equal(increasing, bijector.increasing)
        if self.base.discrete:
            y = ops.where(_near(ops.round(y), y), ops.round(y), y)
            return ops.where(increasing, self.base.cdf(y), 1 - self.base.cdf(ops.ceil(y) - 1))
        below = self.base.cdf(y)
        return ops.where(increasing, below, 1 - below)

    def __repr__(self) -> str:
        return f"TransformedDistribution({self.base!r}, {[type(b).__name__ for b in self.bijectors]})"

"""Distributions of vectors, and of several values taken as one event."""

from __future__ import annotations

import math
from typing import Any

import numpy as np

from adjoint import ops
from adjoint.core.errors import ArgumentError, ArgumentTypeError, ShapeError, called_at
from adjoint.core.spec import shape_of
from adjoint.distributions.base_distribution import Distribution, event_of, require_all
from adjoint.ops.functional.random import randn

UNLIKE = 1e-4  # by how much of the largest element the halves of a covariance may differ: rounding, or a small step in one of them


class MultivariateNormal(Distribution):
    """The normal distribution of vectors, given by its covariance, or by the lower triangular factor `scale_tril` of it.

    >>> import adjoint as ad
    >>> p = ad.distributions.MultivariateNormal([0.0, 0.0], [[2.0, 0.5], [0.5, 1.0]])
    >>> p.event_shape, p.sample((3,)).shape, p.log_prob([0.0, 0.0]).shape
    ((2,), (3, 2), ())
    """

    reparametrised = True
    loc: Any
    scale_tril: Any

    def __init__(self, loc: Any, covariance: Any = None, scale_tril: Any = None) -> None:
        if (covariance is None) == (scale_tril is None):
            raise ArgumentError(f"MultivariateNormal: give one of covariance and scale_tril{called_at()}")
        self._hold(loc=loc, matrix=scale_tril if covariance is None else covariance)
        mean, matrix = self.arguments["loc"], self.arguments["matrix"]
        shape, size = shape_of(matrix), shape_of(mean)[-1:]
        if len(shape) < 2 or not size or shape[-2:] != size * 2:
            raise ShapeError(
                f"MultivariateNormal: a mean (..., n) and a matrix (..., n, n) are needed, not {shape_of(mean)} and {shape}{called_at()}"
            )
        if covariance is None:
            lower = ops.all(ops.equal(ops.triu(matrix, 1), 0))
            positive = ops.all(ops.greater(ops.diagonal(matrix, 0, -2, -1), 0))
            text = "MultivariateNormal: scale_tril must be lower triangular, with a diagonal above 0"
            require_all(ops.logical_and(lower, positive), text)
        else:  # a factorisation reads one half of it
            most = UNLIKE * ops.amax(ops.abs(matrix))
            alike = ops.less_equal(ops.abs(matrix - ops.swapaxes(matrix, -1, -2)), most)
            require_all(ops.all(alike), "MultivariateNormal: the covariance must be symmetric")
        self.scale_tril = matrix if covariance is None else ops.cholesky(matrix)
        self.arguments = {"loc": mean, "covariance" if scale_tril is None else "scale_tril": matrix}
        self._broadcast = np.broadcast_shapes(shape_of(mean)[:-1], shape[:-2])
        self.event_shape = size

    def _sampled(self, shape: tuple[int, ...], seed: int | None) -> Any:
        noise = randn((*shape, *self.event_shape), dtype=self.dtype, seed=seed)
        return self.loc + ops.matmul(self.scale_tril, ops.expand_dims(noise, -1))[..., 0]

    def log_prob(self, value: Any) -> Any:
        centred = event_of(self, value) - self.loc
        z = whitened(self.scale_tril, centred)
        return -0.5 * ops.sum(z * z, -1) - log_diagonal(self.scale_tril) - 0.5 * math.log(2 * math.pi) * self.size

    @property
    def size(self) -> int:
        """Elements of a vector."""
        return self.event_shape[0]

    @property
    def mean(self) -> Any:
        return ops.broadcast_to(self.loc, (*self.batch_shape, *self.event_shape))

    @property
    def covariance(self) -> Any:
        """The covariance of the elements."""
        return ops.matmul(self.scale_tril, ops.swapaxes(self.scale_tril, -1, -2))

    @property
    def variance(self) -> Any:
        return ops.broadcast_to(ops.sum(self.scale_tril * self.scale_tril, -1), (*self.batch_shape, *self.event_shape))

    def entropy(self) -> Any:
        return self._full(log_diagonal(self.scale_tril) + 0.5 * self.size * (1 + math.log(2 * math.pi)))


def whitened(factor: Any, x: Any) -> Any:
    """The solution z of `factor @ z = x` for a lower triangular factor, vectors along the last axis."""
    shape = np.broadcast_shapes(shape_of(factor)[:-2], shape_of(x)[:-1])
    n = shape_of(factor)[-1]
    factor = ops.broadcast_to(factor, (*shape, n, n))
    return ops.solve_triangular(factor, ops.expand_dims(ops.broadcast_to(x, (*shape, n)), -1), lower=True)[..., 0]


def log_diagonal(factor: Any) -> Any:
    """The logarithm of the determinant of a triangular factor."""
    return ops.sum(ops.log(ops.diagonal(factor, 0, -2, -1)), -1)


class Independent(Distribution):
    """The last `event_axes` axes of a distribution's batch taken as one event: log-probabilities add up along them.

    >>> import adjoint as ad
    >>> p = ad.distributions.Independent(ad.distributions.Normal([0.0, 1.0], 1.0), 1)
    >>> p.batch_shape, p.event_shape, p.log_prob([0.0, 1.0]).shape
    ((), (2,), ())
    """

    def __init__(self, base: Distribution, event_axes: int = 1) -> None:
        if not isinstance(base, Distribution):
            raise ArgumentTypeError(f"Independent: a distribution is needed, not {type(base).__name__}{called_at()}")
        if not 0 <= event_axes <= len(base.batch_shape):
            raise ArgumentError(
                f"Independent: {event_axes} axes of a batch of shape {base.batch_shape}: there are not so many{called_at()}"
            )
        self.base, self.event_axes, self.arguments = base, event_axes, base.arguments
        cut = len(base.batch_shape) - event_axes
        self._broadcast = base.batch_shape[:cut]
        self.event_shape = (*base.batch_shape[cut:], *base.event_shape)

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
        return self.base.dtype

    def _sampled(self, shape: tuple[int, ...], seed: int | None) -> Any:
        own = len(self.event_shape) - len(self.base.event_shape)
        return self.base._sampled((*shape, *self.event_shape[:own]), seed)

    def log_prob(self, value: Any) -> Any:
        return self.summed(self.base.log_prob(value))

    def summed(self, x: Any) -> Any:
        """A sum over the axes of the event."""
        return ops.sum(x, tuple(range(-self.event_axes, 0))) if self.event_axes else x

    @property
    def mean(self) -> Any:
        return self.base.mean

    @property
    def variance(self) -> Any:
        return self.base.variance

    def entropy(self) -> Any:
        return self.summed(ops.broadcast_to(self.base.entropy(), self.base.batch_shape))

    def __repr__(self) -> str:
        return f"Independent({self.base!r}, {self.event_axes})"

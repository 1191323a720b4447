"""The divergence of one distribution from another, in closed form where there is one."""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any

import numpy as np

from adjoint import ops
from adjoint.core.errors import ArgumentTypeError, ShapeError, called_at
from adjoint.distributions import discrete_distributions as d
from adjoint.distributions import gamma_family as g
from adjoint.distributions import location_scale as s
from adjoint.distributions import multivariate_distributions as m
from adjoint.distributions.base_distribution import Distribution, NoClosedValueError

CLOSED: dict[type, Callable[[Any, Any], Any]] = {}


def kl(p: Distribution, q: Distribution) -> Any:
    """KL(p || q), the mean of log p(x) - log q(x) over samples of p: for two distributions of one kind, differentiable in all arguments.

    >>> import adjoint as ad
    >>> from adjoint.distributions import Normal, kl
    >>> print(kl(Normal(1.0, 1.0), Normal(0.0, 1.0)))
    0.5
    """
    for one in (p, q):
        if not isinstance(one, Distribution):
            raise ArgumentTypeError(f"kl: two distributions are needed, not {type(one).__name__}{called_at()}")
    if type(p) is not type(q) or type(p) not in CLOSED:
        raise NoClosedValueError(
            f"kl: there is no closed form for {type(p).__name__} and {type(q).__name__}. Estimate it: x = p.sample((1000,)), "
            f"(p.log_prob(x) - q.log_prob(x)).mean(0){called_at()}"
        )
    return CLOSED[type(p)](p, q)


def _closed(kind: type) -> Callable[[Callable[[Any, Any], Any]], Callable[[Any, Any], Any]]:
    def enter(function: Callable[[Any, Any], Any]) -> Callable[[Any, Any], Any]:
        CLOSED[kind] = function
        return function

    return enter


@_closed(s.Normal)
def _normal(p: Any, q: Any) -> Any:
    ratio, z = p.scale / q.scale, (p.loc - q.loc) / q.scale
    return 0.5 * (ratio * ratio + z * z - 1) - ops.log(ratio)


CLOSED[s.LogNormal] = _normal


@_closed(s.HalfNormal)
def _half_normal(p: Any, q: Any) -> Any:
    ratio = p.scale / q.scale
    return 0.5 * (ratio * ratio - 1) - ops.log(ratio)


@_closed(s.Laplace)
def _laplace(p: Any, q: Any) -> Any:
    apart, ratio = ops.abs(p.loc - q.loc), p.scale / q.scale
    return ratio * ops.exp(-apart / p.scale) + apart / q.scale - 1 - ops.log(ratio)


@_closed(s.Cauchy)
def _cauchy(p: Any, q: Any) -> Any:
    total, apart = p.scale + q.scale, p.loc - q.loc
    return ops.log((total * total + apart * apart) / (4 * p.scale * q.scale))


@_closed(s.Gumbel)
def _gumbel(p: Any, q: Any) -> Any:
    ratio, apart = p.scale / q.scale, (p.loc - q.loc) / q.scale
    return apart + s.EULER * (ratio - 1) - ops.log(ratio) + ops.exp(-apart + ops.lgamma(1 + ratio)) - 1


@_closed(s.Uniform)
def _uniform(p: Any, q: Any) -> Any:
    inside = ops.logical_and(ops.greater_equal(p.low, q.low), ops.less_equal(p.high, q.high))
    return ops.where(inside, ops.log((q.high - q.low) / (p.high - p.low)), np.inf)


@_closed(g.Exponential)
def _exponential(p: Any, q: Any) -> Any:
    ratio = q.rate / p.rate
    return ratio - 1 - ops.log(ratio)


@_closed(g.Gamma)
def _gamma(p: Any, q: Any) -> Any:
    a, b = p.concentration, q.concentration
    norm = ops.lgamma(b) - ops.lgamma(a) + (a - b) * ops.digamma(a)
    return norm + b * ops.log(p.rate / q.rate) + a * (q.rate / p.rate - 1)


@_closed(g.Beta)
def _beta(p: Any, q: Any) -> Any:
    a, b, c, e = p.concentration1, p.concentration0, q.concentration1, q.concentration0
    slopes = (a - c) * ops.digamma(a) + (b - e) * ops.digamma(b) + (c - a + e - b) * ops.digamma(a + b)
    return g.log_beta(c, e) - g.log_beta(a, b) + slopes


@_closed(g.Dirichlet)
def _dirichlet(p: Any, q: Any) -> Any:
    _same_size(p, q)
    a, b = p.concentration, q.concentration
    total = ops.sum(a, -1)
    norm = ops.lgamma(total) - ops.lgamma(ops.sum(b, -1)) - ops.sum(ops.lgamma(a) - ops.lgamma(b), -1)
    return norm + ops.sum((a - b) * (ops.digamma(a) - ops.expand_dims(ops.digamma(total), -1)), -1)


@_closed(d.Bernoulli)
def _bernoulli(p: Any, q: Any) -> Any:
    return _entropies(p.probs, q.probs) + _entropies(1 - p.probs, 1 - q.probs)


@_closed(d.Categorical)
def _categorical(p: Any, q: Any) -> Any:
    _same_size(p, q)
    return ops.sum(_entropies(p.probs, q.probs), -1)


@_closed(d.Binomial)
def _binomial(p: Any, q: Any) -> Any:
    same = ops.equal(p.total_count, q.total_count)
    if not bool(np.all(np.asarray(ops.stop_gradient(same)))):
        raise NoClosedValueError(f"kl: two Binomials of different total_count{called_at()}")
    return p.total_count * _bernoulli(p, q)


@_closed(d.Poisson)
def _poisson(p: Any, q: Any) -> Any:
    return p.rate * ops.log(p.rate / q.rate) - p.rate + q.rate


@_closed(d.Geometric)
def _geometric(p: Any, q: Any) -> Any:
    return _bernoulli(p, q) / p.probs


@_closed(m.MultivariateNormal)
def _multivariate(p: Any, q: Any) -> Any:
    _same_size(p, q)
    z = m.whitened(q.scale_tril, p.loc - q.loc)
    n = p.size
    shape = np.broadcast_shapes(p.batch_shape, q.batch_shape)
    left, right = (ops.broadcast_to(x.scale_tril, (*shape, n, n)) for x in (q, p))
    ratio = ops.solve_triangular(left, right, lower=True)
    squares = ops.sum(ratio * ratio, (-2, -1)) + ops.sum(z * z, -1)
    return 0.5 * (squares - n) + m.log_diagonal(q.scale_tril) - m.log_diagonal(p.scale_tril)


@_closed(m.Independent)
def _independent(p: Any, q: Any) -> Any:
    if p.event_axes != q.event_axes:
        raise NoClosedValueError(f"kl: events of {p.event_axes} and {q.event_axes} axes{called_at()}")
    shape = np.broadcast_shapes(p.base.batch_shape, q.base.batch_shape)
    return p.summed(ops.broadcast_to(kl(p.base, q.base), shape))


def _same_size(p: Any, q: Any) -> None:
    sizes = [x._broadcast[-1] if isinstance(x, d.Categorical) else x.event_shape[0] for x in (p, q)]
    if sizes[0] != sizes[1]:
        raise ShapeError(f"kl: two {type(p).__name__}s of {sizes[0]} and {sizes[1]} elements{called_at()}")


def _entropies(p: Any, q: Any) -> Any:
    """p log(p / q), 0 where p is 0 and infinite where q alone is."""
    impossible = ops.logical_and(ops.equal(q, 0), ops.greater(p, 0))
    safe = ops.where(ops.equal(q, 0), 1.0, q)
    return ops.where(impossible, math.inf, ops.xlogy(p, ops.where(ops.equal(p, 0), 1.0, p)) - ops.xlogy(p, safe))

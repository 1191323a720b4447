"""Layer normalisation in half precision on XLA, computed in float32: with one division a row, and its derivative by the formula."""

from __future__ import annotations

from collections.abc import Sequence
from math import prod
from typing import Any

import numpy as np

from adjoint.backends.xla.devices import jax
from adjoint.graph.fused import FusedPart


def normalised(op: FusedPart, _tracing: Any, x: Any, gamma: Any, beta: Any) -> Sequence[Any]:
    """The rows with mean 0 and variance 1, times gamma, plus beta."""
    standard, _ = _standard(x, *op.settings)
    return ((standard * gamma.astype(np.float32) + beta.astype(np.float32)).astype(op.inner.outputs[0].spec.dtype),)


def cotangents(op: FusedPart, x: Any, gamma: Any, g: Any) -> Sequence[Any] | None:
    """Those of x, gamma and beta; None where not all of them are wanted."""
    inner, eps = op.settings
    specs = [y.spec for y in op.inner.outputs]
    if [s.shape for s in specs] != [x.shape, inner, inner]:
        return None
    rows = tuple(range(x.ndim - len(inner), x.ndim))
    standard, inverse = _standard(x, inner, eps)
    g = g.astype(np.float32)
    scaled = _product(g, gamma.astype(np.float32))
    share = _mean(_product(scaled, standard), rows)
    slope = _product(scaled, inverse) - _product(_product(share, inverse), standard)
    lead = tuple(range(x.ndim - len(inner)))
    sums = jax().numpy.sum(_product(g, standard), lead), jax().numpy.sum(g, lead)
    found = (slope - _mean(slope, rows), *sums)
    return tuple(y.astype(s.dtype) for y, s in zip(found, specs, strict=True))


def _standard(x: Any, inner: tuple[int, ...], eps: float) -> tuple[Any, Any]:
    """The rows with mean 0 and variance 1, and what they are multiplied by for that."""
    rows = tuple(range(x.ndim - len(inner), x.ndim))
    x = x.astype(np.float32)
    middle = x - _mean(x, rows)
    inverse = 1 / jax().numpy.sqrt(_mean(middle * middle, rows) + np.float32(eps))
    return middle * inverse, inverse


def _mean(x: Any, axes: tuple[int, ...]) -> Any:
    return jax().numpy.sum(x, axes, keepdims=True) / np.float32(prod(x.shape[k] for k in axes))


def _product(a: Any, b: Any) -> Any:
    """0 where one of them is, whatever the other: a cotangent of 0 stays one."""
    return jax().numpy.where((a == 0) | (b == 0), np.float32(0), a * b)

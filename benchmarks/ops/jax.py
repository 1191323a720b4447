"""The workloads' ops in JAX."""

from __future__ import annotations

from typing import Any

import jax
from jax.nn import logsumexp, relu, sigmoid  # noqa: F401
from jax.numpy import (  # noqa: F401
    abs,
    arange,
    conj,
    cos,
    einsum,
    exp,
    inf,
    log,
    log1p,
    logaddexp,
    matmul,
    mean,
    minimum,
    ones_like,
    real,
    reshape,
    sin,
    sqrt,
    stack,
    sum,
    swapaxes,
    tanh,
    transpose,
    var,
    zeros_like,
)
from jax.numpy import concatenate as concat  # noqa: F401
from jax.numpy.fft import fft, ifft, irfft2, rfft2  # noqa: F401
from jax.numpy.linalg import cholesky, det, inv, solve  # noqa: F401
from jax.scipy.linalg import solve_triangular  # noqa: F401


def binary_cross_entropy_with_logits(z: Any, label: Any, weight: Any, pos_weight: Any) -> Any:
    return mean(weight * ((1.0 - label) * logaddexp(0.0, z) + pos_weight * label * logaddexp(0.0, -z)))


def cross_entropy(logits: Any, labels: Any) -> Any:
    return mean(logsumexp(logits, 1) - logits[arange(logits.shape[0]), labels])


def conv2d(x: Any, weight: Any, bias: Any, stride: int, pad_mode: str, padding: int) -> Any:
    pads = [(padding, padding)] * 2 if pad_mode == "pad" else "VALID"
    return jax.lax.conv(x, weight, (stride, stride), pads) + bias[:, None, None]


def max_pool2d(x: Any, size: int, stride: int) -> Any:
    window, strides = (1, 1, size, size), (1, 1, stride, stride)
    return jax.lax.reduce_window(x, -inf, jax.lax.max, window, strides, "VALID")


def layer_norm(x: Any, shape: Any, gain: Any, shift: Any) -> Any:
    centred = x - mean(x, -1, keepdims=True)
    return centred * jax.lax.rsqrt(var(x, -1, keepdims=True) + 1e-5) * gain + shift


def scaled_dot_product_attention(q: Any, k: Any, v: Any) -> Any:
    """JAX's own wants the heads after the time."""
    q, k, v = (swapaxes(t, 1, 2) for t in (q, k, v))
    return swapaxes(jax.nn.dot_product_attention(q, k, v), 1, 2)


def sort(x: Any) -> tuple[Any, None]:
    return jax.numpy.sort(x), None


def topk(x: Any, k: int) -> Any:
    return jax.lax.top_k(x, k)


def segment_sum(rows: Any, ids: Any, count: int) -> Any:
    return jax.ops.segment_sum(rows, ids, count)


def normalised_batch(x: Any, gain: Any, shift: Any) -> Any:
    centre, spread = mean(x, (0, 2, 3), keepdims=True), var(x, (0, 2, 3), keepdims=True)
    return (x - centre) * jax.lax.rsqrt(spread + 1e-5) * gain[:, None, None] + shift[:, None, None]

"""The workloads' ops in HIPS autograd, which has NumPy's functions and no layers."""

from __future__ import annotations

from typing import Any

from autograd.numpy import (  # noqa: F401
    abs,
    arange,
    cos,
    einsum,
    exp,
    log1p,
    logaddexp,
    matmul,
    max,
    maximum,
    mean,
    ones_like,
    pad,
    reshape,
    sin,
    sqrt,
    stack,
    sum,
    swapaxes,
    tanh,
    tensordot,
    transpose,
)
from autograd.numpy import concatenate as concat  # noqa: F401
from autograd.scipy.special import logsumexp


def relu(x: Any) -> Any:
    return maximum(x, 0.0)


def sigmoid(x: Any) -> Any:
    return 0.5 * tanh(0.5 * x) + 0.5


def binary_cross_entropy_with_logits(z: Any, label: Any, weight: Any, pos_weight: Any) -> Any:
    return mean(weight * ((1.0 - label) * logaddexp(0.0, z) + pos_weight * label * logaddexp(0.0, -z)))


def cross_entropy(logits: Any, labels: Any) -> Any:
    return mean(logsumexp(logits, 1) - logits[arange(len(labels)), labels])


def conv2d(x: Any, weight: Any, bias: Any, stride: int, pad_mode: str, padding: int) -> Any:
    """A matrix product of the gathered patches. Only stride 1 is written."""
    if stride != 1:
        raise NotImplementedError(f"stride {stride}")
    if pad_mode == "pad":
        x = pad(x, ((0, 0), (0, 0), (padding, padding), (padding, padding)), "constant")
    rows, columns = weight.shape[2:]
    high, wide = x.shape[2] - rows + 1, x.shape[3] - columns + 1
    patches = stack([x[:, :, i : i + high, j : j + wide] for i in range(rows) for j in range(columns)], 2)
    kernel = reshape(weight, (*weight.shape[:2], rows * columns))
    return transpose(tensordot(patches, kernel, ((1, 2), (1, 2))), (0, 3, 1, 2)) + bias[:, None, None]


def max_pool2d(x: Any, size: int, stride: int) -> Any:
    """Windows that do not overlap."""
    if size != stride:
        raise NotImplementedError(f"windows of {size} at a stride of {stride}")
    images, channels, high, wide = x.shape
    return max(max(reshape(x, (images, channels, high // size, size, wide // size, size)), 5), 3)


def layer_norm(x: Any, shape: Any, gain: Any, shift: Any) -> Any:
    centred = x - mean(x, -1, keepdims=True)
    return centred / sqrt(mean(centred * centred, -1, keepdims=True) + 1e-5) * gain + shift


def scaled_dot_product_attention(q: Any, k: Any, v: Any) -> Any:
    scores = matmul(q, swapaxes(k, -1, -2)) * (q.shape[-1] ** -0.5)
    shares = exp(scores - max(scores, -1, keepdims=True))
    return matmul(shares / sum(shares, -1, keepdims=True), v)

"""The workloads' ops in MindSpore."""

from __future__ import annotations

from typing import Any

from mindspore import ops
from mindspore.ops import (  # noqa: F401
    abs,
    binary_cross_entropy_with_logits,
    concat,
    cos,
    einsum,
    exp,
    log1p,
    logsumexp,
    matmul,
    max_pool2d,
    mean,
    ones_like,
    relu,
    reshape,
    sigmoid,
    sin,
    sqrt,
    stack,
    sum,
    tanh,
    transpose,
)

normalised = ops.LayerNorm(-1, -1, 1e-5)  # `ops.layer_norm` has no CPU kernel


def cross_entropy(logits: Any, labels: Any) -> Any:
    return ops.cross_entropy(logits, labels.astype("int32"))


def conv2d(x: Any, weight: Any, bias: Any, stride: int, pad_mode: str, padding: int) -> Any:
    return ops.conv2d(x, weight, bias, stride, pad_mode, padding)


def layer_norm(x: Any, shape: Any, gain: Any, shift: Any) -> Any:
    return normalised(x, gain, shift)[0]


def scaled_dot_product_attention(q: Any, k: Any, v: Any) -> Any:
    shares = ops.softmax(ops.matmul(q, ops.swapaxes(k, -1, -2)) * (q.shape[-1] ** -0.5), -1)
    return ops.matmul(shares, v)

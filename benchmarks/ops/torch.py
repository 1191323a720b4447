"""The workloads' ops in PyTorch."""

from __future__ import annotations

from typing import Any

from torch import (  # noqa: F401
    abs,
    concat,
    cos,
    einsum,
    exp,
    log1p,
    logsumexp,
    matmul,
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
)
from torch import permute as transpose  # noqa: F401
from torch.nn import functional
from torch.nn.functional import cross_entropy, layer_norm, scaled_dot_product_attention  # noqa: F401


def binary_cross_entropy_with_logits(logits: Any, label: Any, weight: Any, pos_weight: Any) -> Any:
    return functional.binary_cross_entropy_with_logits(logits, label, weight, pos_weight=pos_weight)


def conv2d(x: Any, weight: Any, bias: Any, stride: int, pad_mode: str, padding: int) -> Any:
    return functional.conv2d(x, weight, bias, stride, padding if pad_mode == "pad" else 0)


def max_pool2d(x: Any, size: int, stride: int) -> Any:
    return functional.max_pool2d(x, size, stride)

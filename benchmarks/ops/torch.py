"""The workloads' ops in PyTorch."""

from __future__ import annotations

from typing import Any

import torch
from torch import (  # noqa: F401
    abs,
    concat,
    conj,
    cos,
    einsum,
    exp,
    inf,
    log,
    log1p,
    logsumexp,
    matmul,
    mean,
    minimum,
    ones_like,
    real,
    relu,
    reshape,
    sigmoid,
    sin,
    sort,
    sqrt,
    stack,
    sum,
    tanh,
    topk,
    zeros_like,
)
from torch import permute as transpose  # noqa: F401
from torch.fft import fft, ifft, irfft2, rfft2  # noqa: F401
from torch.linalg import cholesky, det, inv, solve  # noqa: F401
from torch.nn import functional
from torch.nn.functional import cross_entropy, layer_norm, pad, scaled_dot_product_attention  # noqa: F401


def binary_cross_entropy_with_logits(logits: Any, label: Any, weight: Any, pos_weight: Any) -> Any:
    return functional.binary_cross_entropy_with_logits(logits, label, weight, pos_weight=pos_weight)


def conv2d(x: Any, weight: Any, bias: Any, stride: int, pad_mode: str, padding: int) -> Any:
    return functional.conv2d(x, weight, bias, stride, padding if pad_mode == "pad" else 0)


def max_pool2d(x: Any, size: int, stride: int) -> Any:
    return functional.max_pool2d(x, size, stride)


def solve_triangular(a: Any, b: Any, lower: bool) -> Any:
    return torch.linalg.solve_triangular(a, b, upper=not lower)


def segment_sum(rows: Any, ids: Any, count: int) -> Any:
    return torch.zeros((count, rows.shape[1]), dtype=rows.dtype).index_add(0, ids, rows)


def normalised_batch(x: Any, gain: Any, shift: Any) -> Any:
    return functional.batch_norm(x, None, None, gain, shift, training=True)

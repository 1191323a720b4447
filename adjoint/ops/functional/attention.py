"""Attention, and tables of vectors."""

from __future__ import annotations

import math
from functools import partial
from typing import Any

import numpy as np

from adjoint.core import context
from adjoint.core.errors import ArgumentError, DtypeError, ShapeError, called_at
from adjoint.core.spec import dtype_of, shape_of
from adjoint.ops.compare import equal, greater
from adjoint.ops.contract import swap_last
from adjoint.ops.functional.activation import softmax
from adjoint.ops.functional.random import dropout
from adjoint.ops.index import index_array
from adjoint.ops.indexing import take
from adjoint.ops.language import bitwise_and, bitwise_or, cast, expand_last, logical_not, matmul, stop_gradient, where
from adjoint.ops.reduce import any
from adjoint.ops.stacking import array


def scaled_dot_product_attention(
    query: Any, key: Any, value: Any, attn_mask: Any = None, dropout_p: float = 0.0, is_causal: bool = False,
    scale: float | None = None,
) -> Any:  # fmt: skip
    """For each query (..., L, E), the mean of the values (..., S, V) weighted by softmax(query @ key.T * scale).

    `attn_mask` (..., L, S) is true where a key may be looked at, or holds numbers to add to the products; with `is_causal`
    query i looks at the keys up to i. A query that may look at no key gets zeros. `scale` is 1 / sqrt(E) if not given.

    >>> from adjoint import ops, Tensor
    >>> x = Tensor([[1.0, 0.0], [0.0, 1.0]])
    >>> print(ops.scaled_dot_product_attention(x, x, x, is_causal=True)[0])
    [1. 0.]
    """
    shapes = shape_of(query), shape_of(key), shape_of(value)
    fit = min(map(len, shapes)) >= 2 and shapes[0][-1] == shapes[1][-1] and shapes[1][-2] == shapes[2][-2]
    if not fit:
        raise ShapeError(
            f"scaled_dot_product_attention: query (..., L, E), key (..., S, E) and value (..., S, V) are needed, not the "
            f"shapes {', '.join(map(str, shapes))}{called_at()}"
        )
    width = shapes[0][-1]
    scale = (1.0 / math.sqrt(width) if width else 1.0) if scale is None else scale
    fused = context.fused.get()
    if fused is not None and attn_mask is None and not dropout_p:
        attend = partial(_attention, mask=None, causal=is_causal, scale=scale)
        return fused("attention", (float(scale), is_causal), attend, (array(query), array(key), array(value)))
    return _attention(query, key, value, attn_mask, dropout_p, is_causal, scale)


def _attention(
    query: Any, key: Any, value: Any, mask: Any = None, dropout_p: float = 0.0, causal: bool = False, scale: float = 1.0
) -> Any:
    products = matmul(query * scale, swap_last(key))
    allowed: Any = np.tri(shape_of(query)[-2], shape_of(key)[-2], dtype=bool) if causal else None
    if mask is not None:
        may = mask
        if dtype_of(mask).kind != "b":
            may = greater(mask, -np.inf)
            products = products + cast(where(may, mask, 0), dtype_of(products))
        allowed = may if allowed is None else bitwise_and(allowed, may)
    weights = softmax(products) if allowed is None else _masked_softmax(products, allowed)
    return matmul(dropout(weights, dropout_p), value)


def _masked_softmax(x: Any, allowed: Any) -> Any:
    """softmax along the last axis over the allowed elements; zeros, and no derivative, in a row that has none."""
    some = any(allowed, -1, keepdims=True)
    return where(some, softmax(where(bitwise_or(allowed, logical_not(some)), x, -np.inf)), 0)


def embedding(input: Any, weight: Any, padding_idx: int | None = None) -> Any:
    """The rows of a table at these integers; the row `padding_idx` gets no gradient.

    >>> from adjoint import ops, Tensor
    >>> print(ops.embedding(Tensor([2, 0]), Tensor([[0.0, 1.0], [2.0, 3.0], [4.0, 5.0]])))
    [[4. 5.]
     [0. 1.]]
    """
    input = index_array(input)
    if dtype_of(input).kind not in "iu":
        raise DtypeError(f"embedding: the input must hold integers, not {dtype_of(input)}{called_at()}")
    if len(shape_of(weight)) != 2:
        raise ShapeError(f"embedding: the weight must be a table of rows, not of shape {shape_of(weight)}{called_at()}")
    rows = take(weight, input, 0)
    if padding_idx is None:
        return rows
    size = shape_of(weight)[0]
    if not -size <= padding_idx < size:
        raise ArgumentError(f"embedding: padding_idx {padding_idx} is outside a table of {size} rows{called_at()}")
    padded = expand_last(equal(input, padding_idx % size))
    return where(padded, stop_gradient(rows), rows)

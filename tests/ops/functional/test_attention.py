"""Attention and embeddings against loops over every query, written here."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import adjoint as ad
from adjoint import ops

MASK = np.array([[True, True, False, True], [False, False, False, False], [False, True, True, True]])
BIAS = np.where(MASK, np.linspace(-1.0, 1.0, 12).reshape(3, 4), -np.inf)
CAUSAL = np.array([[True, False, False, False], [True, True, False, False], [True, True, True, False]])


def attention(q: np.ndarray, k: np.ndarray, v: np.ndarray, bias: Any = 0.0, scale: float | None = None) -> np.ndarray:
    """One query after another."""
    if not k.size or q.shape[-2:-1] != np.broadcast_to(bias, (*q.shape[-2:-1], k.shape[-2])).shape[:1]:
        raise ValueError
    scale = q.shape[-1] ** -0.5 if scale is None else scale
    y = np.zeros((*q.shape[:-1], v.shape[-1]), np.result_type(q, k, v))
    for at in np.ndindex(*q.shape[:-1]):
        products = k[at[:-1]] @ q[at] * scale + np.broadcast_to(bias, (q.shape[-2], k.shape[-2]))[at[-1]]
        if np.isfinite(products).any():
            weights = np.exp(products - products.max())
            y[at] = weights @ v[at[:-1]] / weights.sum()
    return y


def table(row: Any) -> list[Any]:
    """The calls and their references."""
    qkv = ((2, 3, 2), (2, 4, 2), (2, 4, 1))
    call = ops.scaled_dot_product_attention
    name = "scaled_dot_product_attention"
    blocked = [np.where(mask, 0.0, -np.inf) for mask in (MASK, CAUSAL, MASK & CAUSAL)]
    return [
        row(name, call, attention, *qkv),
        row(name, lambda q, k, v: call(q, k, v, MASK), lambda q, k, v: attention(q, k, v, blocked[0]), *qkv),
        row(name, lambda q, k, v: call(q, k, v, BIAS, scale=0.3), lambda q, k, v: attention(q, k, v, BIAS, 0.3), *qkv),
        row(name, lambda q, k, v: call(q, k, v, is_causal=True), lambda q, k, v: attention(q, k, v, blocked[1][: q.shape[1]]), *qkv),
        row(name, lambda q, k, v: call(q, k, v, MASK, is_causal=True), lambda q, k, v: attention(q, k, v, blocked[2]), *qkv),
        row(name, lambda q, k, v, b: call(q, k, v, b), attention, *qkv, (3, 4)),
        row("embedding", lambda w: ops.embedding([[2, 0], [2, 2]], w), lambda w: np.stack([w[[2, 0]], w[[2, 2]]]), (3, 2)),
    ]  # fmt: skip


def test_function(verify: Callable[[], None]) -> None:
    verify()


def test_every_public_function_has_a_row(without_a_row: list[str]) -> None:
    assert not without_a_row


def test_a_query_that_sees_nothing_gets_zeros_and_no_gradient() -> None:
    q, k, v = (ops.randn(*shape, seed=i) for i, shape in enumerate(((3, 2), (4, 2), (4, 2))))

    def attend(q: Any, k: Any, v: Any) -> Any:
        return ops.scaled_dot_product_attention(q, k, v, MASK)

    assert not attend(q, k, v).asnumpy()[1].any()
    found = ad.grad(lambda *x: ops.sum(attend(*x) ** 2), (0, 1, 2))(q, k, v)
    assert all(np.isfinite(g.asnumpy()).all() for g in found) and not found[0].asnumpy()[1].any()


def test_large_products_do_not_overflow() -> None:
    q = ad.Tensor(np.full((2, 4), 200.0, "float32"))
    assert ops.scaled_dot_product_attention(q * 1e15, q * 1e15, ops.ones((2, 1))).tolist() == [[1.0], [1.0]]


def test_dropout_draws_from_the_weights() -> None:
    ad.set_seed(3)
    x, ones = ops.randn(1, 50, 4, seed=1), ops.ones((1, 50, 1))
    y = ops.scaled_dot_product_attention(x, x, ones, dropout_p=0.5).asnumpy()
    assert y.std() > 0 and abs(y.mean() - 1) < 0.2
    assert not ops.scaled_dot_product_attention(x, x, ones, dropout_p=1.0).asnumpy().any()


def test_static_mode() -> None:
    q, k, v = (ops.randn(2, 3, 4, seed=i) for i in range(3))

    def loss(q: Any, k: Any, v: Any) -> Any:
        return ops.sum(ops.scaled_dot_product_attention(q, k, v, is_causal=True) ** 2)

    for a, b in zip(ad.jit(ad.grad(loss, (0, 1, 2)))(q, k, v), ad.grad(loss, (0, 1, 2))(q, k, v), strict=True):
        np.testing.assert_allclose(a.asnumpy(), b.asnumpy(), rtol=1e-4, atol=1e-6)


def test_the_padding_row_of_a_table_gets_no_gradient() -> None:
    weight = ops.ones((3, 2))
    found = ad.grad(lambda w: ops.sum(ops.embedding(ad.Tensor([0, 2, 2, 1]), w, padding_idx=-1)))(weight)
    assert found.tolist() == [[1.0, 1.0], [1.0, 1.0], [0.0, 0.0]]


X = ops.ones((2, 3))


@pytest.mark.parametrize(
    ("call", "words"),
    [
        (lambda: ops.scaled_dot_product_attention(X, X[:, :2], X), "not the shapes (2, 3), (2, 2), (2, 3)"),
        (lambda: ops.scaled_dot_product_attention(X, X, X[:1]), "value (..., S, V) are needed"),
        (lambda: ops.scaled_dot_product_attention(X[0], X, X), "query (..., L, E)"),
        (lambda: ops.embedding([0.5], X), "the input must hold integers, not float64"),
        (lambda: ops.embedding([0], X[0]), "the weight must be a table of rows, not of shape (3,)"),
        (lambda: ops.embedding([0], X, 2), "padding_idx 2 is outside a table of 2 rows"),
    ],
)
def test_refusals(call: Callable[[], Any], words: str) -> None:
    with pytest.raises((ValueError, TypeError)) as caught:
        call()
    assert words in str(caught.value) and "called at test_attention.py" in str(caught.value)

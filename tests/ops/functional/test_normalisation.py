"""Normalisation against formulas in NumPy."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import adjoint as ad
from adjoint import ops


def standard(x: np.ndarray, axes: tuple[int, ...], eps: float = 1e-5) -> np.ndarray:
    return (x - x.mean(axes, keepdims=True)) / np.sqrt(x.var(axes, keepdims=True) + eps)


def grouped(x: np.ndarray, groups: int) -> np.ndarray:
    if x.shape[1] % groups or not x.size:
        raise ValueError
    return standard(x.reshape(len(x), groups, -1), (2,)).reshape(x.shape)


def column(v: np.ndarray) -> np.ndarray:
    return v[:, None]


def table(row: Any) -> list[Any]:
    """The calls and their references."""
    return [
        row("layer_norm", lambda x: ops.layer_norm(x, x.shape[-1]), lambda x: standard(x, (1,)), (3, 4)),
        row("layer_norm", lambda x, a, b: ops.layer_norm(x, a.shape, a, b, 0.1), lambda x, a, b: a * standard(x, (1, 2), 0.1) + b, (2, 3, 4), (3, 4), (3, 4)),
        row("group_norm", lambda x, a, b: ops.group_norm(x, 2, a, b), lambda x, a, b: grouped(x, 2) * column(a) + column(b), (3, 4, 3), (4,), (4,)),
        row("group_norm", lambda x: ops.group_norm(x, 1), lambda x: grouped(x, 1), (2, 4)),
        row("instance_norm", lambda x, a, b: ops.instance_norm(x, a, b), lambda x, a, b: standard(x, (2,)) * column(a) + column(b), (3, 2, 4), (2,), (2,)),
        row("rms_norm", ops.rms_norm, lambda x, a: a * x / np.sqrt(np.mean(x**2, -1, keepdims=True) + 1e-6), (2, 4), (4,), domain=(0.5, 2.0)),
        row("batch_norm", lambda x, a, b: ops.batch_norm(x, weight=a, bias=b, training=True), lambda x, a, b: standard(x, (0,)) * a + b, (4, 3), (3,), (3,)),
        row("batch_norm", lambda x: ops.batch_norm(x, training=True, eps=0.1), lambda x: standard(x, (0, 2, 3), 0.1), (2, 2, 4, 1)),
        row("batch_norm", ops.batch_norm, lambda x, m, v: (x - column(m)) / np.sqrt(column(v) + 1e-5), (2, 3, 2), (3,), (3,), domain=(0.5, 2.0)),
        *(row("batch_statistics", lambda x, k=k: ops.cast(ops.batch_statistics(x)[k], x.dtype), lambda x, f=f: f(x, (0, 2)), (4, 3, 4)) for k, f in enumerate((np.mean, np.var))),
    ]  # fmt: skip


def test_function(verify: Callable[[], None]) -> None:
    verify()


def test_every_public_function_has_a_row(without_a_row: list[str]) -> None:
    assert not without_a_row


@pytest.mark.parametrize("norm", ["layer_norm", "group_norm", "instance_norm", "batch_norm"])
def test_a_large_mean_costs_no_digits(norm: str) -> None:
    """In float32, values around 10,000 lose only the digits that they do not have."""
    x = np.random.default_rng(0).normal(size=(4, 6, 50)) + 10000.0
    x = x.astype("float32").astype(float)
    calls: dict[str, Any] = {
        "layer_norm": (lambda x: ops.layer_norm(x, 50), (2,)),
        "group_norm": (lambda x: ops.group_norm(x, 6), (2,)),
        "instance_norm": (ops.instance_norm, (2,)),
        "batch_norm": (lambda x: ops.batch_norm(x, training=True), (0, 2)),
    }
    call, axes = calls[norm]
    got = call(ad.Tensor(x.astype("float32")))
    assert got.dtype == np.float32
    np.testing.assert_allclose(got.asnumpy(), standard(x, axes), atol=2e-3)


def test_half_precision_sums_do_not_overflow() -> None:
    x = ad.Tensor(np.full((2, 3, 400), 300.0, "float16") + np.arange(400, dtype="float16"))
    for y in (ops.layer_norm(x, 400), ops.batch_norm(x, training=True), ops.rms_norm(x, np.ones(400, "float16"))):
        assert y.dtype == np.float16 and np.isfinite(y.asnumpy()).all()
    mean, variance = ops.batch_statistics(x)
    assert mean.dtype == variance.dtype == np.float32


def test_the_gradient_of_a_constant_input_is_finite() -> None:
    x = ops.ones((2, 3, 4))
    for f in (lambda x: ops.layer_norm(x, 4), lambda x: ops.batch_norm(x, training=True), ops.instance_norm):
        assert np.isfinite(ad.grad(lambda x, f=f: ops.sum(f(x) ** 2))(x).asnumpy()).all()


def test_training_is_normalising_with_the_statistics_of_the_batch() -> None:
    x = ops.randn(4, 3, 2, seed=1)

    def one(x: Any) -> Any:
        return ops.sum(ops.batch_norm(x, training=True) ** 3)

    def other(x: Any) -> Any:
        return ops.sum(ops.batch_norm(x, *ops.batch_statistics(x)) ** 3)

    np.testing.assert_allclose(ad.grad(one)(x).asnumpy(), ad.grad(other)(x).asnumpy(), rtol=1e-5, atol=1e-6)
    np.testing.assert_allclose(ad.jit(ad.grad(one))(x).asnumpy(), ad.grad(one)(x).asnumpy(), rtol=1e-4, atol=1e-5)


X = ops.ones((2, 4, 3))


@pytest.mark.parametrize(
    ("call", "words"),
    [
        (lambda: ops.layer_norm(X, 4), "the input, of shape (2, 4, 3), does not have the normalized_shape (4,) at its end"),
        (lambda: ops.layer_norm(X, 3, ops.ones(4)), "the weight does not have the normalized_shape (3,)"),
        (lambda: ops.group_norm(X, 3), "4 channels do not make 3 equal groups"),
        (lambda: ops.group_norm(X, 2, ops.ones(3)), "weight must have an element for each of the 4 channels, not the shape (3,)"),
        (lambda: ops.instance_norm(X[0]), "the shape (4, 3) has no axes in space"),
        (lambda: ops.rms_norm(X, ops.ones(4)), "the shape (2, 4, 3) does not end in that of gamma, (4,)"),
        (lambda: ops.batch_norm(X), "running_mean and running_var are needed; or say training=True"),
        (lambda: ops.batch_norm(X[0, 0], training=True), "an input (N, C, ...) is needed, not the shape (3,)"),
    ],
)  # fmt: skip
def test_refusals(call: Callable[[], Any], words: str) -> None:
    with pytest.raises(ValueError) as caught:
        call()
    assert words in str(caught.value) and "called at test_normalisation.py" in str(caught.value)

"""Jacobians, Hessians, their products and batches that are deferred: they give what they give op by op."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import adjoint as ad
from adjoint import ops
from adjoint.api import deferral
from deferred_calls import X, alike, at_once

__all__ = ["at_once"]


@pytest.mark.parametrize(
    "transform",
    [
        lambda f: ad.hvp(f),
        lambda f: lambda x, v: ad.hessian(f)(x),
        lambda f: lambda x, v: ad.jacrev(lambda z: ops.sin(z) * f(z))(x),
        lambda f: lambda x, v: ad.jacfwd(lambda z: ops.sin(z) * f(z))(x),
        lambda f: lambda x, v: ad.vmap(lambda z: ops.sin(z) * f(z))(x),
        lambda f: lambda x, v: ad.vmap(ad.jacrev(lambda y, z: (y * z).sum() * y), (0, None))(x, v),
        lambda f: lambda x, v: ad.vmap(ad.grad(lambda y, z: (y * z).sum() * f(y)))(x, v),
        lambda f: lambda x, v: ad.jacrev(lambda z: (f(z), z * 2.0), has_aux=True)(x),
        lambda f: lambda x, v: ad.jacrev(lambda y, z: y * f(z), (1, 0))(x, v),
    ],
)
def test_other_transforms(transform: Any) -> None:
    call = transform(lambda x: (x**3 * ops.sin(x)).sum())
    alike(lambda: call(ad.Tensor(X[:, 0]), ad.Tensor(X[:, 1])))
    assert any(f.following == 0 for f in deferral._functions.values())


VIEWS = {
    "transposed": lambda z: (ops.sin(z) * z).reshape(3, 1),
    "a slice": lambda z: (ops.sin(z) * z)[1:],
    "views of one": lambda z: [y := ops.sin(z), y[1:], y[:2]],
    "the input": lambda z: (z.reshape(1, 3), ops.cos(z)[0]),
}


@pytest.mark.parametrize("name", VIEWS)
def test_results_that_are_views(name: str) -> None:
    f = VIEWS[name]
    x = ad.Tensor(X)
    alike(lambda: ad.vmap(f)(x))
    alike(lambda: ad.vmap(ad.jacrev(f))(x))
    alike(lambda: ad.value_and_grad(f)(x[0]))
    if name in ("transposed", "a slice"):
        assert [k.following for k in deferral._functions.values()] == [0, 0]  # a batch of either kind, and the gradient


def test_a_kept_view_of_a_result_holds_its_numbers() -> None:
    kept: list[Any] = []

    def f(z: Any) -> Any:
        y = ops.sin(z)
        kept.append(y[1:])
        return y.sum() if z.ndim else y

    for _ in range(5):
        kept.clear()
        ad.value_and_grad(f)(ad.Tensor(X[0]))
        np.testing.assert_allclose(kept[0].asnumpy(), np.sin(X[0])[1:])


def test_settings_of_transforms_are_told_apart() -> None:
    def f(x: Any, y: Any) -> Any:
        return ops.sin(x) * y * y

    x, y = ad.Tensor(X[0]), ad.Tensor(X[1])
    for _ in range(5):
        np.testing.assert_allclose(ad.jacrev(f, 0)(x, y).asnumpy(), np.diag(np.cos(X[0]) * X[1] ** 2))
        np.testing.assert_allclose(ad.jacrev(f, 1)(x, y).asnumpy(), np.diag(2 * np.sin(X[0]) * X[1]))
        np.testing.assert_allclose(ad.vmap(f)(x, y).asnumpy(), np.sin(X[0]) * X[1] ** 2)
        np.testing.assert_allclose(ad.vmap(f, (0, None))(x, y).asnumpy()[:, 1], np.sin(X[0]) * X[1, 1] ** 2)


def test_a_transform_that_calls_the_function_again() -> None:
    calls: list[int] = []

    def f(x: Any, y: Any) -> Any:
        calls.append(1)
        return ops.sin(x) * y

    x, y = ad.Tensor(X[0]), ad.Tensor(X[1])
    counts = []
    for _ in range(4):
        calls.clear()
        ad.jacfwd(f, (0, 1))(x, y)
        counts.append(len(calls))
    assert len(set(counts)) == 1


def test_a_vmap_that_needs_its_numbers_says_so() -> None:
    for _ in range(4):
        with pytest.raises(ad.BatchedError):
            ad.vmap(lambda x: x if x > 0 else -x)(ad.Tensor(X[0]))

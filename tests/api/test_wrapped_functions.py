"""Functions around functions, with the attributes of those inside, as `functools.wraps` gives them: what is called is the outer one."""

from __future__ import annotations

import functools
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
import scipy.special

import adjoint as ad
from adjoint import ops

X = np.array([0.3, 1.7, -0.4])
FUNCTIONS: list[Callable[..., Any]] = [
    ops.sum, ops.mean, ops.softmax, ops.logsumexp, ops.cumsum, ops.relu, ops.sin, ad.numpy.sum, np.sum, np.sin, np.linalg.norm,
    scipy.special.logsumexp, scipy.special.expit, ad.jit(lambda x: x * x), ad.checkpoint(lambda x: x * x),
]  # fmt: skip
TRANSFORMS = [ad.grad, ad.value_and_grad, ad.jacfwd, ad.jacrev]


def twice(fn: Callable[..., Any]) -> Callable[..., Any]:
    @functools.wraps(fn)
    def doubled(*args: Any, **options: Any) -> Any:
        return 2 * fn(*args, **options)

    return doubled


def same(found: Any, wanted: Any) -> None:
    for a, b in zip(ad.tree.leaves(found), ad.tree.leaves(wanted), strict=True):
        np.testing.assert_allclose(np.asarray(a), np.asarray(b), rtol=1e-12, atol=1e-12)


@pytest.mark.parametrize("transform", TRANSFORMS)
@pytest.mark.parametrize("fn", FUNCTIONS)
def test_a_compiled_derivative_of_a_library_function_is_the_derivative(fn: Any, transform: Any) -> None:
    same(ad.jit(transform(fn))(X), transform(lambda x: fn(x))(X))


@pytest.mark.parametrize("fn", FUNCTIONS)
def test_a_wrapper_with_the_names_of_what_it_wraps_is_called_itself(fn: Any) -> None:
    same(ad.jit(twice(fn))(X), 2 * np.asarray(fn(X)))
    same(ad.jit(lambda x: twice(fn)(x))(X), 2 * np.asarray(fn(X)))
    same(ad.jit(ad.grad(twice(fn)))(X), 2 * np.asarray(ad.grad(fn)(X)))


def test_a_wrapper_of_a_gradient_is_not_taken_for_it() -> None:
    gradient = ad.grad(lambda x: (x**3).sum())
    same(ad.jit(twice(gradient))(X), 6 * X**2)
    same(ad.jit(ad.vmap(twice(gradient)))(np.stack([X, X])), 6 * np.stack([X, X]) ** 2)

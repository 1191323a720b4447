"""The checks of this folder catch a function that is wrong by a little."""

from __future__ import annotations

import inspect
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import adjoint as ad
from adjoint import ops

SHAPES = {"[(0, 3)]", "[(1, 3)]", "[(2, 0)]", "[(2, 1)]"}
FIXED = ops.stop_gradient

#: What is wrong with a square, how it is computed, and the checks that must see it.
WRONG: list[tuple[str, Callable[..., Any], set[str]]] = [
    ("nothing", lambda x: x * x, set()),
    ("the value", lambda x: x * x + 1e-9, {"float64", "[(1, 3)]", "[(2, 1)]"}),
    ("the gradient", lambda x: x * x + 1e-3 * (x - FIXED(x)), {"gradient"}),
    ("the gradient of one element", lambda x: x * x + 1e-3 * ops.tril(x - FIXED(x)), {"gradient"}),
    ("the second derivative", lambda x: 2 * x * FIXED(x) - FIXED(x * x), {"second_order"}),
    ("no derivative", lambda x: FIXED(x) ** 2, {"gradient"}),
    ("the dtype", lambda x: x * x * np.ones(()), {"float32", "float16", "bfloat16"}),
    ("the shape", lambda x: ops.reshape(x * x, (1, *x.shape)), {"float64", "float32", "float16", "bfloat16", *SHAPES}),
]


@pytest.mark.parametrize(("wrong", "square", "names"), WRONG, ids=[w[0] for w in WRONG])
def test_a_wrong_function_is_caught(caught: Any, wrong: str, square: Callable[..., Any], names: set[str]) -> None:
    found = caught("square", square, np.square, (2, 3))
    assert found == names if wrong == "nothing" else found >= names


def test_a_derivative_that_should_be_zero(caught: Any) -> None:
    assert caught("floor", lambda x: ops.floor(x) + 1e-9 * x, np.floor, (2, 3), zero=True) >= {"zero_derivative"}


def test_an_axis_mixed_up_with_the_batch(caught: Any) -> None:
    """Under vmap the mean is taken over another axis than in a loop: both must be noticed."""
    mixed = lambda x: ops.mean(x, 0 if isinstance(x, ad.Tensor) and x.tracked else 1)
    assert caught("mean", mixed, lambda x: x.mean(1), (3, 3)) >= {"vmap"}


def test_every_public_function_has_a_row_wherever_it_stands(rows: set[str]) -> None:
    """Families that a file of their own tests, elsewhere in tests/ops, are left out."""
    elsewhere = {
        "assignment", "contract", "decompose", "determinant", "eigen", "einstein_sum", "fourier", "indexing", "linalg", "matrix_equations",
        "norms", "products", "random", "real_fourier", "recurrence", "segment_reductions", "sparse_solve", "spectral",
    }  # fmt: skip
    homes = {n: f.__module__.split(".")[-1] for n, f in vars(ops).items() if inspect.isfunction(f) and n[0] != "_"}
    without = {n: home for n, home in homes.items() if n not in rows and n != "register"}
    assert set(without.values()) == elsewhere

"""Norms, condition and rank: values against NumPy, derivatives against finite differences; and at 0."""

import numpy as np
import pytest

from adjoint.api.forward import jvp
from adjoint.api.grad import grad
from adjoint.api.jacobian import hessian
from adjoint.core.errors import ArgumentError, ShapeError
from adjoint.core.tensor import Tensor
from adjoint.ops.functional import linalg


def away_from_zero(*shape):
    """No element within a step of a kink."""
    rng = np.random.default_rng(23)
    return rng.uniform(0.5, 2.0, shape) * rng.choice([-1.0, 1.0], shape)


TALL, SQUARE, CUBE = away_from_zero(4, 2), away_from_zero(3, 3), away_from_zero(2, 3, 4)


def numbers(x):
    return x.asnumpy() if isinstance(x, Tensor) else np.asarray(x)


def close(got, want, rtol=1e-12):
    np.testing.assert_allclose(numbers(got), want, rtol=rtol, atol=rtol)


INF = float("inf")
VECTOR = np.array([1.5, -0.5, 2.5, -3.0])


@pytest.mark.parametrize("ord", [None, 1, 2, 3, 4, 1.5, 0.5, -1, -2.5, INF, -INF])
def test_vector_norm(check, ord):
    check(lambda x: linalg.norm(x, ord), lambda x: np.linalg.norm(x, ord), VECTOR)
    check(lambda x: linalg.norm(x, ord, axis=0), lambda x: np.linalg.norm(x, ord, axis=0), SQUARE)
    if ord is not None:
        check(lambda x: linalg.norm(x, ord), lambda x: np.linalg.norm(x, ord), VECTOR * (1 + 2j))


@pytest.mark.parametrize("ord", [None, "fro", "nuc", 1, -1, 2, -2, INF, -INF])
@pytest.mark.parametrize("keepdims", [False, True])
def test_matrix_norm(check, ord, keepdims):
    check(lambda x: linalg.norm(x, ord, keepdims=keepdims), lambda x: np.linalg.norm(x, ord, keepdims=keepdims), TALL)
    for axis in [(0, 2), (2, 0), (-1, 1)]:
        ours = lambda x, axis=axis: linalg.norm(x, ord, axis, keepdims)
        check(ours, lambda x, axis=axis: np.linalg.norm(x, ord, axis, keepdims), CUBE)
    check(
        lambda x: linalg.norm(x, ord),
        lambda x: np.linalg.norm(x, ord),
        SQUARE * np.exp(1j * np.arange(9).reshape(3, 3)),
    )


def test_zero_norm_counts():
    assert linalg.norm([0.0, 2.0, 3.0], 0) == 2.0
    close(grad(lambda x: linalg.norm(x, 0))(VECTOR), np.zeros(4))


@pytest.mark.parametrize("ord", [None, 1, 2, 3, 4, 1.5, 0.5, -1, INF])
def test_derivatives_of_a_norm_at_zero_are_zero(ord):
    norm = lambda x: linalg.norm(x, ord)
    assert not numbers(grad(norm)(np.zeros(3))).any()
    assert not numbers(hessian(norm)(np.zeros(3))).any()
    assert not numbers(jvp(hessian(norm), (np.zeros(3),), (np.ones(3),))[1]).any()
    some = grad(norm)(np.array([0.0, 2.0, 0.0]))
    assert np.isfinite(numbers(some)).all()


@pytest.mark.parametrize("ord", [None, "nuc", 2, 1, INF])
def test_derivatives_of_a_matrix_norm_at_zero_are_zero(ord):
    norm = lambda x: linalg.norm(x, ord, axis=(-2, -1)).sum()
    x = np.stack([np.zeros((2, 2)), SQUARE[:2, :2]])
    first = numbers(grad(norm)(x))
    assert not first[0].any() and first[1].any()
    assert np.isfinite(numbers(hessian(norm)(x))).all()


def test_fourth_derivative_of_the_fourth_power_is_kept():
    f = lambda x: linalg.vector_norm(x, 4) ** 4
    x = np.array([0.0, 1.0])
    for _ in range(4):
        f = lambda x, f=f: jvp(f, (x,), (np.array([1.0, 0.0]),))[1]
    assert numbers(f(x)) == pytest.approx(24.0)


def test_named_norms():
    x = CUBE
    close(linalg.vector_norm(x, 3, axis=(0, 2)), np.linalg.vector_norm(x, ord=3, axis=(0, 2)))
    close(linalg.vector_norm(x, keepdims=True), np.linalg.vector_norm(x, keepdims=True))
    close(linalg.matrix_norm(x, "nuc"), np.linalg.matrix_norm(x, ord="nuc"))
    close(linalg.norm(3.0), 3.0, 0)
    close(linalg.norm([3, 4]), 5.0)


def test_condition_of_singular_matrices_is_infinite():
    x = np.stack([np.ones((2, 2)), np.eye(2), np.zeros((2, 2))])
    x[0, 1] = 0
    assert numbers(linalg.cond(x)).tolist() == [np.inf, 1.0, np.inf]
    assert np.isfinite(numbers(grad(lambda x: linalg.cond(x))(x))).all()


def test_matrix_rank():
    x = np.stack([np.ones((3, 3)), np.eye(3), np.zeros((3, 3))])
    assert numbers(linalg.matrix_rank(x)).tolist() == [1, 3, 0]
    assert linalg.matrix_rank(x[1], tol=2.0) == 0
    assert linalg.matrix_rank([0.0, 1.0]) == 1
    close(grad(lambda x: linalg.norm(x) * linalg.matrix_rank(x))(x[1]), 3 * x[1] / np.sqrt(3))


@pytest.mark.parametrize(
    "error, words, args",
    [
        (ArgumentError, "the order must be 'fro', 'nuc', 1", (SQUARE, 3)),
        (ArgumentError, "the order must be a number, not 'fro'", (VECTOR, "fro")),
        (ShapeError, "name the axes of the vectors or matrices", (CUBE, 2)),
        (ArgumentError, "names one axis twice", (CUBE, 2, (0, -3))),
        (ArgumentError, "axis must name one or two axes", (CUBE, 2, (0, 1, 2))),
        (ShapeError, "axis 3 is outside the input's 3 axes", (CUBE, 2, 3)),
    ],
)
def test_refusals(error, words, args):
    with pytest.raises(error) as caught:
        linalg.norm(*args)
    assert words in str(caught.value)

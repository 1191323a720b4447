"""Copies that keep the gradient, and arrays that mean more than their numbers."""

import copy

import numpy as np
import pytest

import adjoint as ad
from adjoint import nn, ops
from adjoint.core.errors import AdjointError

pytestmark = pytest.mark.filterwarnings("ignore::PendingDeprecationWarning")
X = np.array([1.0, 2.0, 3.0])
COPIES = {
    "copy": copy.copy,
    "deepcopy": copy.deepcopy,
    "in containers": lambda x: copy.deepcopy([x, {"a": (x,)}])[1]["a"][0],
    "method": lambda x: x.copy(),
    "Tensor": ad.Tensor,
}


@pytest.mark.parametrize("name", COPIES)
def test_copies_keep_the_gradient(name):
    def f(x):
        y = COPIES[name](x)
        y[0] = y[0] * 10.0
        return ops.sum(y**2) + ops.sum(x)  # x itself is as it was

    want = 2 * X * [100, 1, 1] + 1
    for way in (
        ad.grad(f),
        ad.jit(ad.grad(f)),
        ad.grad(ad.jit(f)),
        ad.jacfwd(f),
        lambda x: ad.vmap(ad.grad(f))(x[None])[0],
    ):
        np.testing.assert_allclose(way(X), want)
    x = ad.Tensor(X)
    with ad.GradientTape() as tape:
        y = f(x)
    np.testing.assert_allclose(tape.gradient(y, x), want)
    x = ad.Tensor(X, requires_grad=True)
    f(x * 1.0).backward()
    np.testing.assert_allclose(x.grad, want)


def test_a_deep_copy_of_a_leaf_is_a_leaf():
    x = ad.Tensor(X, requires_grad=True)
    y = copy.deepcopy(x)
    (y * y).sum().backward()
    assert y.requires_grad and x.grad is None
    np.testing.assert_allclose(y.grad, 2 * X)


FOREIGN = {
    "masked": (np.ma.masked_array(X, [0, 1, 0]), "lose its mask"),
    "matrix": (X.reshape(1, 3).view(np.matrix), "np.matrix multiplies by"),
    "structured": (np.zeros(3, [("a", "f8")]), "fields of the array"),
    "record": (np.rec.array(np.zeros(3, [("a", "f8")])), "fields of the array"),
    "datetime": (np.array(["2020-01-01"] * 3, "M8[D]"), "holds no numbers"),
    "timedelta": (np.array([1, 2, 3], "m8[D]"), "holds no numbers"),
    "text": (np.array(["a", "b", "c"]), "holds no numbers"),
    "objects": (np.array([1.0, "a", None], object), "must hold numbers and Tensors|cannot hold"),
}


def assigned(x, v):
    y = x * 1.0
    y[:] = v
    return y


ENTRANCES = {
    "Tensor": lambda v: ad.Tensor(v),
    "Parameter": lambda v: ad.Parameter(v),
    "input of grad": lambda v: ad.grad(ops.sum)(v),
    "operand": lambda v: ad.grad(lambda x: x * v)(X),
    "ufunc": lambda v: ad.jvp(lambda x: np.hypot(v, x), X, X),
    "stacked": lambda v: ad.grad(lambda x: ops.stack([x, v]))(X),
    "chosen": lambda v: ad.grad(lambda x: ops.where(x > 0, x, v))(X),
    "assigned": lambda v: ad.grad(lambda x: assigned(x, v))(X),
    "captured by jit": lambda v: ad.jit(lambda x: x * v)(X),
}


@pytest.mark.parametrize("entrance", ENTRANCES)
@pytest.mark.parametrize("kind", FOREIGN)
def test_arrays_that_mean_more_than_their_numbers_are_refused(kind, entrance):
    value, message = FOREIGN[kind]
    if entrance == "ufunc" and kind == "objects":
        return  # NumPy makes text of them first
    with pytest.raises(AdjointError, match=message):
        ENTRANCES[entrance](value)


@pytest.mark.parametrize("kind", ["masked", "matrix"])
def test_subclasses_are_refused_without_a_derivative_too(kind):
    value, message = FOREIGN[kind]
    for use in (ops.sum, nn.ReLU(), ad.jit(ops.sum), ad.vmap(ops.sum), lambda v: ad.Tensor(X) * v, ad.numpy.sum):
        with pytest.raises(AdjointError, match=message):
            use(value)
    with pytest.raises(AdjointError, match=message):
        ad.vjp(lambda x: x * x, np.asarray(value))[1](value)


def test_a_memory_map_is_an_array(tmp_path):
    x = np.memmap(tmp_path / "x", np.float64, "w+", shape=3)
    x[:] = X
    np.testing.assert_allclose(ad.grad(lambda v: v * v * x)(x), 2 * X * X)
    assert type(ad.Tensor(x).asnumpy()) is np.ndarray

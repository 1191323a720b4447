"""Results of compiled functions that are arguments, Parameters, constants or one value twice; and containers that keep the short way."""

from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np
import pytest

import adjoint as ad
from adjoint import backends, ops
from adjoint.backends import interpreter

SHAPES = [(), (0,), (1,), (3,), (17,), (2, 3), (2, 0, 3)]
weight = ad.Parameter(ad.Tensor(np.array([1.0, 2.0, 3.0])), name="weight")


class Pair(NamedTuple):
    a: Any
    b: Any


@dataclass
class Both:
    a: Any
    b: Any


def twice(x):
    y = x * 2
    return y, y


RESULTS = {
    "itself": lambda x: x,
    "beside another": lambda x: (x * 2, x),
    "twice": twice,
    "itself twice": lambda x: (x, x, x + 1),
    "reshaped": lambda x: (x.reshape(-1), x),
    "a constant": lambda x: (x, ops.full((2,), 3.0), ops.ones(()), np.arange(3)),
    "in a dict": lambda x: {"a": x, "b": [x * 3, None, "text", 2.5]},
    "in a named tuple": lambda x: Pair(x, x * 2),
    "in a dataclass": lambda x: Both(x * 2, x),
    "as an aside": lambda x: ad.value_and_grad(lambda x: ((x * x).sum(), x), has_aux=True)(x),
}


def arrays(result):
    return [np.asarray(y) for y in ad.core.tree.leaves(result) if isinstance(y, (ad.Tensor, np.ndarray, float))]


def numbers(shape, dtype):
    return np.arange(1, 1 + int(np.prod(shape)), dtype=dtype).reshape(shape)


@pytest.mark.parametrize("dtype", [np.float32, np.float64])
@pytest.mark.parametrize("name", RESULTS)
def test_results_are_those_of_the_function_and_arrays_of_their_own(name, dtype):
    f = RESULTS[name]
    compiled = ad.jit(f)
    for shape in SHAPES:
        x = numbers(shape, dtype)
        wanted = [y.copy() for y in arrays(f(ad.Tensor(x)))]
        for _ in range(3):
            found = compiled(x)
        if x.shape:
            x[...] = -1  # the caller goes on writing into the argument
        assert type(found) is type(f(ad.Tensor(numbers(shape, dtype))))
        for y, want in zip(arrays(found), wanted, strict=True):
            assert y.dtype == want.dtype
            np.testing.assert_array_equal(y, want)


@pytest.mark.parametrize("name", [name for name in RESULTS if "named" not in name and "dataclass" not in name])
def test_they_are_one_kernel_which_a_c_function_calls(name):
    compiled, x = ad.jit(RESULTS[name]), numbers((17,), np.float64)
    for _ in range(3):
        compiled(x)
    assert len(compiled._whole) == 1


@pytest.mark.parametrize("backend", ["native", "interpreter", "handing on"])
def test_an_argument_in_non_contiguous_memory_is_copied(backend):
    if backend not in backends.MODULES:
        backends.register(backend, interpreter)
    compiled, x = ad.jit(lambda x: (x, np.linalg.inv(x)), backend=backend), np.array([[2.0, 1.0], [0.0, 4.0]]).T
    for _ in range(3):
        same, inverse = compiled(x)
    x[0, 0] = 7.0
    np.testing.assert_array_equal(same, [[2.0, 0.0], [1.0, 4.0]])
    np.testing.assert_allclose(inverse, np.linalg.inv([[2.0, 0.0], [1.0, 4.0]]))


def test_a_backend_that_returns_an_argument_is_not_believed():
    class HandingOn:
        def compile(self, graph):
            return lambda *arrays: list(arrays)

    backends.register("returning", HandingOn())
    compiled, x = ad.jit(lambda x: x, backend="returning"), np.ones(3)
    found = compiled(x)
    x[0] = 5.0
    np.testing.assert_array_equal(found, np.ones(3))


def test_a_parameter_can_be_a_result():
    compiled = ad.jit(lambda x: (x * weight, weight))
    for _ in range(3):
        product, same = compiled(np.array([2.0, 2.0, 2.0]))
    np.testing.assert_array_equal(product, [2.0, 4.0, 6.0])
    np.testing.assert_array_equal(same, [1.0, 2.0, 3.0])

    def loss(x):
        product, same = compiled(x)
        return (product * same).sum()

    x = np.array([1.0, 1.0, 2.0])
    for step in (
        ad.value_and_grad(loss, None, weights=[weight]),
        ad.jit(ad.value_and_grad(loss, None, weights=[weight])),
    ):
        value, (g,) = step(x)
        assert float(value) == 1.0 + 4.0 + 18.0
        np.testing.assert_array_equal(g, 2 * x * [1.0, 2.0, 3.0])


@pytest.mark.parametrize("name", RESULTS)
def test_derivatives_and_batches(name):
    f, x = RESULTS[name], numbers((3,), np.float64)
    compiled = ad.jit(f)

    def total(g):
        return lambda x: sum(
            (ops.sum(y * y) for y in ad.core.tree.leaves(g(x)) if isinstance(y, ad.Tensor)), 0.0 * x.sum()
        )

    for transform in (ad.grad, ad.hessian):
        np.testing.assert_allclose(transform(total(compiled))(x), transform(total(f))(x))
    rows = numbers((4, 3), np.float64)
    for found, want in zip(arrays(ad.vmap(compiled)(rows)), arrays(ad.vmap(f)(rows)), strict=True):
        np.testing.assert_array_equal(found, want)


def test_a_donated_argument_may_be_a_result():
    compiled = ad.jit(lambda x: (x, x * 2), donate="x")
    for _ in range(3):
        same, double = compiled(ad.Tensor(np.array([1.0, 2.0])))
        np.testing.assert_array_equal(same, [1.0, 2.0])
        np.testing.assert_array_equal(double, [2.0, 4.0])


CALLS = {
    "named tuple": (lambda d: d.a * d.b, (Pair(np.array([1.0, 2.0]), 3.0),), (Pair(np.array([2.0, 2.0]), 5.0),)),
    "dataclass": (lambda d: d.a * d.b, (Both(np.array([1.0, 2.0]), 3),), (Both(np.array([2.0, 2.0]), 5),)),
    "integer of NumPy": (lambda x, n: x * n, (np.ones(3), np.int64(3)), (np.ones(3), np.int64(4))),
    "truth value of NumPy": (
        lambda x, n: ops.where(n, x, -x),
        (np.ones(3), np.bool_(True)),
        (np.ones(3), np.bool_(False)),
    ),
    "complex": (lambda x, c: (x * c).imag, (np.ones(3), 1 + 2j), (np.ones(3), 4j)),
}


@pytest.mark.parametrize("name", CALLS)
def test_numbers_and_containers_of_these_kinds_take_the_short_way(name):
    f, first, second = CALLS[name]
    compiled = ad.jit(f)
    for _ in range(3):
        np.testing.assert_allclose(compiled(*first), f(*map(raised, first)))
    assert compiled._quick
    np.testing.assert_allclose(compiled(*second), f(*map(raised, second)))


def raised(x):
    return ad.Tensor(x) if isinstance(x, np.ndarray) else x


def test_what_a_dataclass_holds_besides_its_fields_is_looked_at():
    def f(d):
        return d.a * getattr(d, "more", 1.0)

    compiled, d = ad.jit(f), Both(np.ones(2), None)
    for _ in range(3):
        np.testing.assert_array_equal(compiled(d), [1.0, 1.0])
    d.more = 5
    np.testing.assert_array_equal(compiled(d), [5.0, 5.0])

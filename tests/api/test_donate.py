"""Donated arguments: their memory is used again, they are not, and nothing else is touched."""

from __future__ import annotations

import numpy as np
import pytest

import adjoint as ad
from adjoint import ops
from adjoint.api.donate import DonatedError


def address(x):
    return np.asarray(x).__array_interface__["data"][0]


def step(state, g):
    state[3] = g
    return state


BACKENDS = pytest.mark.parametrize("backend", ["interpreter", "native"])


@BACKENDS
def test_the_memory_is_used_again(backend):
    f = ad.jit(step, donate="state", backend=backend)
    state = ad.Tensor(np.zeros(1000))
    first = address(state)
    for k in range(5):
        state = f(state, float(k))
    assert address(state) == first
    assert state.asnumpy()[3] == 4.0


@BACKENDS
def test_an_updated_state_costs_no_array(backend):
    """`state - 0.1 * g` writes over the state."""
    f = ad.jit(lambda w, g: w - 0.1 * g, donate="w", backend=backend)
    w = ad.Tensor(np.ones(1000))
    first = address(w)
    w = f(w, np.ones(1000))
    w = f(w, np.ones(1000))
    assert address(w) == first
    np.testing.assert_allclose(w.asnumpy(), 0.8)


def test_without_donation_the_argument_stays():
    f = ad.jit(lambda state, g: state + g)
    state = ad.Tensor(np.zeros(1000))
    found = f(state, 1.0)
    assert address(found) != address(state)
    np.testing.assert_array_equal(state.asnumpy(), 0)


USES = {
    "op": lambda x: ops.sin(x), "operator": lambda x: x + 1.0, "reversed": lambda x: 1.0 + x, "with another": lambda x: ad.Tensor([1.0]) * x,
    "asnumpy": lambda x: x.asnumpy(), "item": lambda x: x[0], "asarray": lambda x: np.asarray(x), "shape": lambda x: x.shape,
    "jit": lambda x: ad.jit(lambda v: v * 2)(x), "grad": lambda x: ad.grad(lambda v: (v * v).sum())(x), "float": lambda x: float(x),
    "given again": lambda x: ad.jit(lambda v: v * 2, donate="v")(x),
}  # fmt: skip


@pytest.mark.parametrize("use", USES)
def test_a_donated_tensor_cannot_be_used_again(use):
    x = ad.Tensor(np.ones(3))
    ad.jit(lambda v: v * 2.0, donate="v")(x)
    with pytest.raises(DonatedError, match=r"this Tensor was donated to jit\(<lambda>\).*use the result instead"):
        USES[use](x)


def test_another_holder_of_the_array_sees_no_change():
    x = ad.Tensor(np.zeros(5))
    mine = x.asnumpy()
    before = mine.copy()
    ad.jit(step, donate="state")(x, 9.0)
    np.testing.assert_array_equal(mine, before)


def test_a_view_is_not_written_through():
    whole = np.zeros(10)
    f = ad.jit(step, donate="state")
    f(ad.Tensor(whole[2:8]), 9.0)
    np.testing.assert_array_equal(whole, 0)


def test_containers_are_donated_whole():
    f = ad.jit(lambda p, g: {k: v - 0.5 * g for k, v in p.items()}, donate="p")
    p = {"a": ad.Tensor(np.ones(4)), "b": ad.Tensor(np.zeros(4))}
    found = f(p, 2.0)
    np.testing.assert_allclose(found["a"].asnumpy(), 0.0)
    np.testing.assert_allclose(found["b"].asnumpy(), -1.0)
    for x in p.values():
        with pytest.raises(DonatedError):
            x + 1


def test_only_tensors_of_no_transform_are_donated():
    f = ad.jit(lambda x: ops.sum(x * x), donate="x")
    with pytest.raises(ValueError, match="a donated argument must be a Tensor, not ndarray"):
        f(np.ones(3))
    with pytest.raises(ValueError, match="a Tensor that a transform follows cannot be donated"):
        ad.grad(f)(ad.Tensor(np.ones(3)))
    with pytest.raises(ValueError, match=r"donate names \['z'\]"):
        ad.jit(lambda x: x, donate="z")


def test_a_refused_call_donates_nothing():
    f = ad.jit(lambda x, y: x @ y, donate="x")
    x = ad.Tensor(np.ones(3))
    with pytest.raises(ValueError, match="MatMul"):
        f(x, np.ones(4))
    assert float(x.sum()) == 3


def test_a_training_loop_gives_the_same_numbers():
    def loss(w, x):
        return ops.mean((ops.tanh(x @ w) - 0.5) ** 2)

    def train(w, x):
        return w - 0.3 * ad.grad(loss)(w, x)

    x = np.sin(np.arange(12.0)).reshape(4, 3)
    plain, given = ad.Tensor(np.ones(3)), ad.Tensor(np.ones(3))
    f = ad.jit(train, donate="w")
    for _ in range(10):
        plain, given = train(plain, x), f(given, x)
    np.testing.assert_allclose(given.asnumpy(), plain.asnumpy(), rtol=1e-13)


@BACKENDS
def test_results_written_over_inputs_that_other_results_read(backend):
    def adam(m, v, g, w):
        m, v = 0.9 * m + g, 0.9 * v + g * g
        return w - m / (ops.sqrt(v) + 1e-8), m, v

    inputs = [np.array(x) for x in ([0.0, 0.0], [0.0, 0.0], [3.0, -0.1], [1.0, 2.0])]
    wanted = adam(*map(ad.Tensor, inputs))
    found = ad.jit(adam, donate=("m", "v", "w"), backend=backend)(*(ad.Tensor(x.copy()) for x in inputs))
    for a, b in zip(found, wanted, strict=True):
        np.testing.assert_allclose(a.asnumpy(), b.asnumpy(), rtol=1e-15)

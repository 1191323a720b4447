"""Steps that write over the Parameters: the same numbers, no new arrays, and nobody else's array changed."""

from __future__ import annotations

import tracemalloc

import numpy as np
import pytest

import adjoint as ad
from adjoint import nn, ops, optim
from adjoint.optim import memory

RNG = np.random.default_rng(0)
X, Y = RNG.standard_normal((4, 3)), RNG.standard_normal((4, 2))


@pytest.fixture
def overwriting(monkeypatch):
    monkeypatch.setattr(memory, "LARGE", 0)


def network():
    ad.set_seed(1)
    net = nn.SequentialCell(nn.Dense(3, 8), nn.Tanh(), nn.Dense(8, 2))
    for p in net.get_parameters():
        p._value = p._value.astype(np.float64)
    return net


def walked(make, accumulate=0, steps=4):
    """The loss of each step, and what the network and the optimiser hold at the end."""
    net = network()
    optimiser = make(net.trainable_params())
    stepping = optim.GradientAccumulation(accumulate, optimiser) if accumulate else optimiser
    step = optim.compiled_step(lambda x, y: ops.mse_loss(net(x), y), net.trainable_params(), stepping)
    losses = [float(step(ad.Tensor(X), ad.Tensor(Y))) for _ in range(steps)]
    held = [*net.get_parameters(), *optimiser.parameters_dict().values()]
    return losses, [p.asnumpy() for p in held], step


MAKERS = {
    "sgd": lambda ps: optim.SGD(ps, 0.1, momentum=0.9, dampening=0.1),
    "adam": lambda ps: optim.Adam(ps, 0.1, weight_decay=0.01, use_amsgrad=True),
    "adamw": lambda ps: optim.AdamWeightDecay(ps, 0.1, weight_decay=0.01),
    "adagrad": lambda ps: optim.Adagrad(ps, learning_rate=0.1),
    "rmsprop": lambda ps: optim.RMSProp(ps, 0.1, momentum=0.5, centered=True),
    "lamb": lambda ps: optim.Lamb(ps, 0.1, weight_decay=0.01),
}


@pytest.mark.parametrize("accumulate", [0, 2])
@pytest.mark.parametrize("name", MAKERS)
def test_a_step_in_place_gives_the_same_numbers(name, accumulate, monkeypatch):
    losses, arrays, step = walked(MAKERS[name], accumulate)
    assert step._overwriting is False
    monkeypatch.setattr(memory, "LARGE", 0)
    found, there, step = walked(MAKERS[name], accumulate)
    assert step._overwriting is True
    np.testing.assert_allclose(found, losses, rtol=1e-12)
    for a, b in zip(there, arrays, strict=True):
        np.testing.assert_allclose(a, b, rtol=1e-12, atol=1e-14)


def optimised():
    w = ad.Parameter(ad.Tensor(np.arange(6.0)), name="w")
    return w, optim.Adam([w], 0.5)


@pytest.mark.usefixtures("overwriting")
def test_the_memory_of_parameters_and_state_stays_where_it_is():
    w, optimiser = optimised()
    held = [w, *(p for slot in optimiser.slots.values() for p in slot)]
    before = [p._value.ctypes.data for p in held]
    for _ in range(3):
        optimiser([ad.Tensor(np.ones(6))])
    assert [p._value.ctypes.data for p in held] == before
    assert (w.asnumpy() != np.arange(6.0)).all()


TAKEN = {
    "value": lambda w: w.value(),
    "data": lambda w: w.data,
    "detached": lambda w: np.asarray(w.data.detach()),
    "part": lambda w: np.asarray(w.data.detach())[2:],
    "buffer": lambda w: memoryview(np.asarray(w.data.detach())),
    "tape": lambda w: w * 1.0,
}


@pytest.mark.usefixtures("overwriting")
@pytest.mark.parametrize("name", TAKEN)
def test_what_somebody_else_holds_is_left_alone(name):
    w, optimiser = optimised()
    optimiser([ad.Tensor(np.ones(6))])
    expected = w.asnumpy()
    held = TAKEN[name](w)
    for _ in range(2):
        optimiser([ad.Tensor(np.ones(6))])
    found = np.asarray(held.detach() if isinstance(held, ad.Tensor) else held)
    np.testing.assert_array_equal(found, expected[-len(found) :])
    assert (w.asnumpy() != expected).all()


@pytest.mark.usefixtures("overwriting")
def test_backward_through_a_value_of_an_earlier_step():
    w, optimiser = optimised()
    y = (w * w).sum()
    before = w.asnumpy()
    optimiser([ad.Tensor(np.ones(6))])
    y.backward()
    np.testing.assert_array_equal(w.grad.asnumpy(), 2 * before)


@pytest.mark.usefixtures("overwriting")
def test_the_users_array_and_a_gradient_that_is_the_parameter():
    mine = np.arange(6.0)
    w = ad.Parameter(mine, name="w")
    optimiser = optim.SGD([w], 0.5)
    optimiser([w])
    np.testing.assert_array_equal(w.asnumpy(), 0.5 * np.arange(6.0))
    w.set_data(mine)
    optimiser([w.value()])
    np.testing.assert_array_equal(w.asnumpy(), 0.5 * np.arange(6.0))
    np.testing.assert_array_equal(mine, np.arange(6.0))


@pytest.mark.usefixtures("overwriting")
def test_a_batch_that_backward_would_follow():
    w, optimiser = optimised()
    x = ad.Parameter(ad.Tensor(np.ones(6)), name="x") * 2.0
    step = optim.compiled_step(lambda x: (w * x).sum(), [w], optimiser)
    np.testing.assert_allclose(float(step(x)), 2 * np.arange(6.0).sum())


@pytest.mark.usefixtures("overwriting")
def test_a_step_that_fails_changes_nothing():
    ad.set_seed(0)
    net = nn.SequentialCell(nn.Embedding(5, 4), nn.Flatten(), nn.Dense(8, 3))
    step = optim.compiled_step(
        lambda x, y: ops.cross_entropy(net(x), y), net.trainable_params(), optim.Adam(net.trainable_params(), 0.1)
    )
    good = ad.Tensor(np.array([[0, 1], [2, 3]], np.int32)), ad.Tensor(np.array([0, 1], np.int32))
    step(*good)
    before = [p.asnumpy() for p in net.get_parameters()]
    with pytest.raises(IndexError):
        step(ad.Tensor(np.array([[0, 9], [2, 3]], np.int32)), good[1])
    assert all(np.array_equal(p.asnumpy(), b) for p, b in zip(net.get_parameters(), before, strict=True))
    assert np.isfinite(float(step(*good)))


def test_a_step_of_large_parameters_makes_no_arrays():
    w = ad.Parameter(ad.Tensor(np.zeros((1024, 1024), np.float32)), name="w")
    optimiser, g = optim.Adam([w], 0.5), ad.Tensor(np.ones((1024, 1024), np.float32))
    optimiser([g])
    tracemalloc.start()
    try:
        optimiser([g])
        assert tracemalloc.get_traced_memory()[1] < 0.1 * w._value.nbytes
    finally:
        tracemalloc.stop()


def test_a_step_with_indices_makes_no_arrays():
    """Indices are checked before anything is overwritten."""
    table = ad.Parameter(ad.Tensor(np.zeros((50_000, 32), np.float32)), name="table")
    step = optim.compiled_step(
        lambda i: (table[i] - 1.0).square().sum(), [table], optim.Adam([table], 0.1), backend="native"
    )
    at = ad.Tensor(np.array([3, 1, 4], np.int32))
    for _ in range(3):
        step(at)
    tracemalloc.start()
    try:
        step(at)
        assert tracemalloc.get_traced_memory()[1] < 0.1 * table._value.nbytes
    finally:
        tracemalloc.stop()
    with pytest.raises(IndexError):
        step(ad.Tensor(np.array([3, 50_000, 4], np.int32)))
    assert np.isfinite(float(step(at)))


def test_indices_that_can_be_checked():
    from adjoint.graph.indices import indices

    table, at = np.ones((4, 2)), np.array([0, -4, 3])
    known = indices(ad.jit(lambda x, i: x[i + 1 - 1].sum()).graph(table, at))
    assert known is not None and known.sizes == (4,)
    assert known.in_range([table, at])
    assert not known.in_range([table, at + 1]) and not known.in_range([table, at - 1])
    assert known.in_range([table, np.zeros(3, int)])
    assert indices(ad.jit(lambda x, i: x[ops.argmax(x.sum(1))].sum()).graph(table, at)) is None

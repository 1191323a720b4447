"""Moving averages and random draws: each time, in both modes, and inside every transform."""

from __future__ import annotations

import numpy as np
import pytest

import adjoint as ad
from adjoint import nn, ops

BATCHES = [np.random.default_rng(k).normal(size=(8, 3)) for k in range(3)]


def network():
    ad.set_seed(0)
    parts = [nn.Dense(3, 4, dtype=np.float64), nn.BatchNorm1d(4, dtype=np.float64), nn.Tanh()]
    return nn.SequentialCell(parts).set_train()


def moving(net):
    return np.concatenate([net[1].moving_mean.asnumpy(), net[1].moving_variance.asnumpy()])


def trained(way):
    """Values and averages after three batches."""
    net = network()
    loss = lambda x: (net(x) ** 2).sum()
    weights = net.trainable_params()
    run = {
        "call": loss,
        "grad": ad.value_and_grad(loss, None, weights=weights),
        "jit": ad.jit(loss),
        "jit of grad": ad.jit(ad.value_and_grad(loss, None, weights=weights)),
        "grad of jit": ad.value_and_grad(ad.jit(loss), None, weights=weights),
    }[way]
    values = [run(x) for x in BATCHES]
    return np.array([(v[0] if isinstance(v, tuple) else v).asnumpy() for v in values]), moving(net)


@pytest.mark.parametrize("way", ["call", "grad", "jit", "jit of grad", "grad of jit"])
def test_averages_move_once_a_call(way):
    net = network()
    mean, variance = np.zeros(4), np.ones(4)
    for x in BATCHES:
        h = x @ net[0].weight.asnumpy().T + net[0].bias.asnumpy()
        mean, variance = 0.9 * mean + 0.1 * h.mean(0), 0.9 * variance + 0.1 * h.var(0, ddof=1)
    _, found = trained(way)
    np.testing.assert_allclose(found, np.concatenate([mean, variance]), rtol=1e-10)
    np.testing.assert_allclose(trained(way)[0], trained("call")[0], rtol=1e-10)


def test_in_a_batch_of_batches_the_averages_move_for_each():
    one, all_ = nn.BatchNorm1d(3).set_train(), nn.BatchNorm1d(3).set_train()
    for x in BATCHES:
        one(x)
    ad.vmap(all_)(np.stack(BATCHES))
    np.testing.assert_allclose(all_.moving_mean, one.moving_mean, rtol=1e-5)


def test_one_graph_for_every_batch_size():
    net, twin = network(), network()
    net.append(nn.Dropout(p=0.5)).set_train()
    run = ad.jit(lambda x: net(x), dynamic="x")
    for n in (3, 5, 8):
        y = run(BATCHES[0][:n]).asnumpy()
        assert y.shape == (n, 4)
        assert (y == 0).any()
        twin(BATCHES[0][:n])
    assert len(run.compilations) == 1
    np.testing.assert_allclose(moving(net), moving(twin), rtol=1e-10)


def test_out_of_training_nothing_moves():
    net = network().set_train(False)
    before = moving(net)
    for run in (net, ad.jit(lambda x: net(x))):
        run(BATCHES[0])
        assert (moving(net) == before).all()
    always = nn.BatchNorm1d(3, use_batch_statistics=False).set_train()
    always(BATCHES[0])
    assert not always.moving_mean.asnumpy().any()


def test_a_branch_not_taken_moves_nothing():
    norm = nn.BatchNorm1d(3).set_train()

    @ad.jit
    def sometimes(x, limit):
        y = x
        if ops.sum(x) > limit:
            y = norm(x)
        return y

    sometimes(BATCHES[0], 1e9)
    assert not norm.moving_mean.asnumpy().any()
    sometimes(BATCHES[0], -1e9)
    assert norm.moving_mean.asnumpy().all()


# ---------------------------------------------------------------- dropout


@pytest.mark.parametrize("static", [False, True])
def test_dropout_draws_each_time_with_the_right_share(static):
    layer = nn.Dropout(p=0.25).set_train()
    run = ad.jit(lambda x: layer(x)) if static else layer
    x = ad.ops.ones(4000)
    first, second = (run(x).asnumpy() for _ in range(2))
    assert (first != second).any()
    assert set(np.round(np.unique(first), 6)) == {0, np.float32(1.333333)}
    assert 0.22 < (first == 0).mean() < 0.28
    ad.set_seed(3)
    again = run(x).asnumpy()
    ad.set_seed(3)
    assert (run(x).asnumpy() == again).all()


@pytest.mark.parametrize("static", [False, True])
def test_the_gradient_of_dropout_has_its_mask(static):
    layer = nn.Dropout(p=0.5).set_train()

    def mask_and_gradient(x):
        def loss(x):
            y = layer(x)
            return (y * y).sum(), y

        (_, y), g = ad.value_and_grad(loss, has_aux=True)(x)
        return y, g

    run = ad.jit(mask_and_gradient) if static else mask_and_gradient
    y, g = run(ops.ones(100))
    np.testing.assert_allclose(g.asnumpy(), 4 * y.asnumpy())


def test_each_example_of_a_batch_has_a_mask_of_its_own():
    layer = nn.Dropout(p=0.5).set_train()
    for run in (ad.vmap(layer), ad.jit(ad.vmap(lambda x: layer(x)))):
        y = run(ops.ones((2, 100))).asnumpy()
        assert (y[0] != y[1]).any()


def test_whole_channels_are_dropped():
    y = nn.Dropout2d(0.5).set_train()(ops.ones((20, 5, 3, 4))).asnumpy()
    assert set(np.unique(y)) == {0, 2}
    assert (y == y[:, :, :1, :1]).all()
    assert not nn.Dropout1d(1.0).set_train()(ops.ones((2, 3, 4))).asnumpy().any()


def test_dropout_is_off_by_default_and_refuses_bad_arguments():
    x = ops.ones(5)
    y = nn.Dropout(p=0.5)(x)
    y += 1
    assert x.tolist() == [1] * 5
    assert y.tolist() == [2] * 5
    assert nn.Dropout(0.9).p == pytest.approx(0.1)
    for make, message in (
        (lambda: nn.Dropout(p=1.0), "p must lie from 0 to below 1"),
        (lambda: nn.Dropout(0.0), "keep_prob must lie above 0"),
        (lambda: nn.Dropout2d(1.5), "p must lie between 0 and 1"),
        (lambda: nn.Dropout2d()(x), "an input of 4 axes"),
    ):
        with pytest.raises(ValueError, match=message):
            make()


def test_dropout_in_a_branch_and_a_loop_of_a_graph():
    """With the draws of dynamic mode, and one mask for a value and its gradient."""
    layer = nn.Dropout(p=0.5).set_train()

    def sometimes(x):
        y = x
        if ops.sum(x) > 0:
            y = layer(x)
        for _ in range(10):
            y = y + layer(x * y)
        return y

    x = np.linspace(-1.0, 2.0, 7)
    found = []
    for run in (sometimes, ad.jit(sometimes)):
        ad.set_seed(4)
        found.append([*(run(x).asnumpy() for _ in range(2)), ad.grad(lambda x, run=run: ops.sum(run(x)))(x).asnumpy()])
    np.testing.assert_allclose(found[0], found[1], rtol=1e-12)
    assert not np.allclose(found[0][0], found[0][1])


def test_machine_code_moves_averages_and_draws_too():
    net, twin = network(), network()
    for cell in (net, twin):
        cell.append(nn.Dropout(p=0.5)).set_train()
    run = ad.jit(lambda x: net(x), backend="native")
    first, second = run(BATCHES[0]).asnumpy(), run(BATCHES[0]).asnumpy()
    assert ((first == 0) != (second == 0)).any()
    for _ in range(2):
        twin(BATCHES[0])
    np.testing.assert_allclose(moving(net), moving(twin), rtol=1e-10)

"""Batches of varying size: one graph for all of them, and the numbers of a step made for each size."""

import numpy as np
import pytest

import adjoint as ad
from adjoint import nn, ops, optim

RNG = np.random.default_rng(0)
X = RNG.standard_normal((16, 4)).astype(np.float32)
Y = RNG.integers(0, 3, 16).astype(np.int32)
SIZES = (8, 8, 5, 8, 7, 16, 5)


def network():
    ad.set_seed(3)
    net = nn.SequentialCell(nn.Dense(4, 8), nn.BatchNorm1d(8), nn.Tanh(), nn.Dropout(p=0.3), nn.Dense(8, 3)).set_train()
    optimiser = optim.Momentum(net.trainable_params(), 0.05, 0.9)
    return net, optimiser, lambda x, y: ops.cross_entropy(net(x), y)


def test_one_graph_takes_the_steps_of_dynamic_mode() -> None:
    net, optimiser, loss = network()
    step = optim.compiled_step(loss, net.trainable_params(), optimiser, dynamic=True)
    ad.set_seed(5)
    compiled = [float(step(ad.Tensor(X[:n]), ad.Tensor(Y[:n]))) for n in SIZES]
    assert len(step.applying.compilations) == 1 and step.applying.notes == []
    values = net.state_dict()

    net, optimiser, loss = network()
    forward = ad.value_and_grad(loss, None, weights=net.trainable_params())
    ad.set_seed(5)
    for n, found in zip(SIZES, compiled, strict=True):
        value, grads = forward(ad.Tensor(X[:n]), ad.Tensor(Y[:n]))
        optimiser(grads)
        assert found == pytest.approx(float(value), rel=1e-5)
    for name, value in net.state_dict().items():
        np.testing.assert_allclose(values[name].asnumpy(), value.asnumpy(), rtol=2e-4, atol=2e-6, err_msg=name)


def test_a_sum_and_a_mean_over_the_batch() -> None:
    for reduce in (ops.sum, ops.mean, lambda x: ops.sum(x) / x.shape[0]):
        w = ad.Parameter(ad.Tensor([1.0, 2.0, 3.0, 4.0]), name="w")
        step = optim.compiled_step(
            lambda x, w=w, reduce=reduce: reduce((x @ w) ** 2), [w], optim.SGD([w], lr=0.0), dynamic=True
        )
        found = [float(step(ad.Tensor(X[:n]))) for n in (4, 7, 16)]
        squares = (X @ np.array([1, 2, 3, 4], np.float32)) ** 2
        wanted = [float(reduce(ad.Tensor(squares[:n]))) for n in (4, 7, 16)]
        np.testing.assert_allclose(found, wanted, rtol=1e-5)
        assert len(step.applying.compilations) == 1


def test_what_does_not_go_together_is_refused() -> None:
    w = ad.Parameter(ad.Tensor([1.0]), name="w")
    for other in ({"parts": 2}, {"memory": "1MB"}, {"backend": "xla"}):
        with pytest.raises(ValueError, match="dynamic=True is for whole batches on the host"):
            optim.compiled_step(lambda x: (w * x).sum(), [w], optim.SGD([w], 0.1), dynamic=True, **other)
    step = optim.compiled_step(lambda x, y: (w * x * y).sum(), [w], optim.SGD([w], 0.1), dynamic=True)
    with pytest.raises(ValueError, match="must share the size of their first axis"):
        step(ad.Tensor([1.0, 2.0]), ad.Tensor([1.0, 2.0, 3.0]))

"""Recurrent layers as graphs: one loop for each layer and direction, whatever the number of steps."""

from __future__ import annotations

import numpy as np
import pytest

import adjoint as ad
from adjoint import nn, ops
from adjoint.graph.control import Loop

LAYERS = {
    "RNN": lambda: nn.RNN(3, 4, dtype=np.float64),
    "GRU": lambda: nn.GRU(3, 4, dtype=np.float64),
    "LSTM": lambda: nn.LSTM(3, 4, dtype=np.float64),
    "without bias": lambda: nn.LSTM(3, 4, has_bias=False, dtype=np.float64),
    "both ways": lambda: nn.LSTM(3, 4, num_layers=2, bidirectional=True, dtype=np.float64),
}


def steps(count):
    return ad.Tensor(np.random.default_rng(0).normal(size=(count, 2, 3)))


def loops(graph):
    return sum(isinstance(n.op, Loop) for n in graph.nodes)


@pytest.mark.parametrize("name", LAYERS)
def test_a_pass_is_one_loop_and_its_gradient_two(name):
    net = LAYERS[name]()
    passes = 4 if name == "both ways" else 1
    run = ad.jit(lambda x: net(x)[0])
    gradient = ad.jit(ad.grad(lambda x: ops.sum(net(x)[0] ** 2), None, net.trainable_params()))
    sizes = []
    for count in (12, 32):
        forward, back = run.graph(steps(count)), gradient.graph(steps(count))
        assert (loops(forward), loops(back)) == (passes, 2 * passes)
        sizes.append((len(forward.nodes), len(back.nodes)))
    assert sizes[0] == sizes[1]


@pytest.mark.parametrize("backend", ["interpreter", "native"])
@pytest.mark.parametrize("name", LAYERS)
def test_loops_compute_what_dynamic_mode_does(name, backend):
    net = LAYERS[name]()
    loss = ad.value_and_grad(lambda x: ops.sum(ops.sin(net(x)[0])), 0, net.trainable_params())
    want, found = loss(steps(12)), ad.jit(loss, backend=backend)(steps(12))
    for a, b in zip(ad.core.tree.leaves(want), ad.core.tree.leaves(found), strict=True):
        np.testing.assert_allclose(b.asnumpy(), a.asnumpy(), rtol=1e-10, atol=1e-12)
    if backend == "native":
        assert "in the interpreter" not in ad.jit(loss, backend=backend).explain(steps(12))


@pytest.mark.parametrize("name", ["RNN", "GRU", "LSTM"])
def test_dropout_between_layers_draws_the_same_in_both_modes(name):
    net = getattr(nn, name)(3, 4, num_layers=2, dropout=0.5, dtype=np.float64).set_train()
    found = []
    for run in (net, ad.jit(lambda x: net(x)[0])):
        ad.set_seed(6)
        y = run(steps(12))
        found.append((y if isinstance(y, ad.Tensor) else y[0]).asnumpy())
    np.testing.assert_allclose(found[1], found[0], rtol=1e-12)

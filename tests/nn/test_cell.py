"""Cell: parameters, names, training switch, text."""

from __future__ import annotations

import numpy as np
import pytest

import adjoint as ad
from adjoint import nn, ops


class Dense(nn.Cell):
    def __init__(self, n, m):
        super().__init__()
        self.weight = ad.Parameter(ops.randn(m, n, seed=1))
        self.bias = ad.Parameter(ops.zeros(m))

    def construct(self, x):
        return x @ self.weight.T + self.bias


class Net(nn.Cell):
    def __init__(self):
        super().__init__()
        self.first = Dense(3, 4)
        self.second = Dense(4, 2)
        self.scale = ad.Parameter(ad.Tensor([2.0]), requires_grad=False)

    def construct(self, x):
        return self.second(ops.tanh(self.first(x))) * self.scale


def test_names_carry_the_path():
    net = Net()
    names = ["scale", "first.weight", "first.bias", "second.weight", "second.bias"]
    assert [p.name for p in net.get_parameters()] == names
    assert [n for n, _ in net.parameters_and_names()] == names
    assert list(net.parameters_dict()) == names
    assert [p.name for p in net.trainable_params()] == names[1:]
    assert [p.name for p in net.untrainable_params()] == ["scale"]


def test_a_name_given_by_the_user_stays():
    class Named(nn.Cell):
        def __init__(self):
            super().__init__()
            self.w = ad.Parameter(ad.Tensor(1.0), name="mine")

    assert [p.name for p in Named().get_parameters()] == ["mine"]


def test_gradients_against_differences():
    net = Net()
    for p in net.get_parameters():
        p._value = p._value.astype(np.float64)
    x = np.random.default_rng(0).normal(size=(5, 3))
    loss = lambda x: (net(x) ** 2).sum()
    weights = net.trainable_params()
    grads = ad.grad(loss, None, weights=weights)(x)
    for p, g in zip(weights, grads, strict=True):
        original = p.asnumpy()
        direction = np.random.default_rng(1).normal(size=original.shape)
        sides = []
        for sign in (1, -1):
            p.set_data(original + sign * 1e-6 * direction)
            sides.append(float(loss(x).item()))
        p.set_data(original)
        np.testing.assert_allclose(np.vdot(g, direction), (sides[0] - sides[1]) / 2e-6, rtol=1e-6)


def test_reassigning_and_deleting_attributes():
    net = Net()
    net.scale = 3.0
    assert "scale" not in net.parameters_dict()
    del net.first
    assert len(net.cells()) == 1
    with pytest.raises(AttributeError, match="Net has no attribute 'first'"):
        _ = net.first


def test_training_switch_and_text():
    net = Net().set_train()
    assert net.training and net.first.training
    assert not net.set_train(False).first.training
    assert net.set_grad() is net
    assert repr(net).startswith("Net(\n  (first): Dense(\n    (weight): Parameter[4, 3] float32")


def test_mistakes_are_named():
    class Forgot(nn.Cell):
        def __init__(self):
            self.w = ad.Parameter(ad.Tensor(1.0))

    with pytest.raises(AttributeError, match=r"call super\(\).__init__\(\) before assigning 'w'"):
        Forgot()
    with pytest.raises(NotImplementedError, match="Cell has no `construct`"):
        nn.Cell()(1.0)
    with pytest.raises(ValueError, match="reduction must be"):
        nn.BCEWithLogitsLoss("median")


def test_parameter_tuple_and_clone():
    a, b = ad.Parameter(1.0, name="a"), ad.Parameter(2.0, name="b")
    both = ad.ParameterTuple([a, b])
    assert [p.name for p in both.clone("moment", "zeros")] == ["moment.a", "moment.b"]
    assert float(a.clone("ones")) == 1
    with pytest.raises(ValueError, match="the names a occur more than once"):
        ad.ParameterTuple([a, a.clone()])
    with pytest.raises(TypeError, match="holds Parameters, not int"):
        ad.ParameterTuple([1])


def test_a_list_of_cells_is_warned_of():
    class Lost(nn.Cell):
        def __init__(self, cells):
            super().__init__()
            self.layers = cells

    for container, instead in (([nn.Dense(1, 1)], "CellList"), ({"a": nn.Dense(1, 1)}, "CellDict")):
        with pytest.warns(UserWarning, match=f"neither trained nor saved. Use nn.{instead}"):
            Lost(container)
    net = Net()
    net.order = [net.first, net.second]  # these have their places


def test_parameters_in_a_list_belong_to_the_cell():
    class Listed(nn.Cell):
        def __init__(self):
            super().__init__()
            self.ws = [ad.Parameter(ad.Tensor([1.0])), ad.Parameter(ad.Tensor([2.0]))]

        def construct(self, x):
            return self.ws[0] * x + self.ws[1]

    net = Listed()
    assert [p.name for p in net.trainable_params()] == ["ws.0", "ws.1"]
    assert [g.item() for g in ad.grad(net, None, weights=net.trainable_params())(3.0)] == [3, 1]
    net.ws = ()
    assert net.trainable_params() == []


def test_a_switch_of_training_compiles_nothing_anew(monkeypatch):
    from adjoint.api.jit import Jitted

    compiled = []
    original = Jitted._compile
    monkeypatch.setattr(Jitted, "_compile", lambda self, *args: compiled.append(self) or original(self, *args))
    net = nn.SequentialCell(nn.Dense(2, 2), nn.Dropout(p=0.5))
    ad.set_context(mode=ad.GRAPH_MODE)
    try:
        for k in range(6):
            net.set_train(k % 2 == 0)
            net(ops.ones((1, 2)))
        assert len(compiled) == 2
        net[0].bias.requires_grad = False
        net.extra = 1
        net(ops.ones((1, 2)))
        assert len(compiled) == 3
    finally:
        ad.set_context(mode=ad.PYNATIVE_MODE)


def test_a_compiled_network_keeps_a_graph_for_training_and_one_for_use():
    net = nn.SequentialCell(nn.Dense(3, 4), nn.Dropout(p=0.5), nn.Dense(4, 1))
    run, x = ad.jit(net), ad.Tensor(np.ones((2, 3), np.float32))
    for k in range(6):
        net.set_train(k % 2 == 0)
        run(x)
    assert len(run.compilations) == 2
    net[0].has_bias = False
    run(x)
    run(x)
    assert [c.reason for c in run.compilations[2:]] == ["attribute `has_bias` of Dense changed from True to False"]

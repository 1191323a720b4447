"""Pickles and deep copies: of Tensors, Parameters, networks and optimisers, with every protocol, also to other processes."""

from __future__ import annotations

import copy
import functools
import multiprocessing
import pickle

import numpy as np
import pytest

import adjoint as ad
from adjoint import nn, ops, optim
from adjoint.core.errors import CutGradientError

WAYS = {
    **{f"protocol {n}": (lambda x, n=n: pickle.loads(pickle.dumps(x, n))) for n in range(pickle.HIGHEST_PROTOCOL + 1)},
    "deepcopy": copy.deepcopy,
}
ways = pytest.mark.parametrize("way", WAYS.values(), ids=WAYS)


class Net(nn.Cell):
    """A network with layers, Parameters, settings, and a compiled method."""

    def __init__(self):
        super().__init__()
        self.layers = nn.SequentialCell([nn.Dense(3, 4), nn.Tanh(), nn.BatchNorm1d(4)])
        self.more = nn.CellList([nn.Dense(4, 2), nn.Dense(4, 2)])
        self.scale = ad.Parameter(ad.Tensor([1.0, 2.0]), name="scale", requires_grad=False)
        self.tied = self.more[0].weight
        self.power = 2

    def construct(self, x):
        h = self.layers(x)
        return (self.more[0](h) + self.more[1](h)) * self.scale**self.power

    @ad.jit
    def compiled(self, x):
        return self.construct(x) * 2.0


def tenfold(cell, inputs, output):
    return output * 10.0


X = np.linspace(-1.0, 1.0, 6, dtype=np.float32).reshape(2, 3)


def same(a, b):
    np.testing.assert_array_equal(np.asarray(a), np.asarray(b))
    assert a.dtype == b.dtype
    assert a.shape == b.shape


@ways
@pytest.mark.parametrize("dtype", ["float64", "float32", "float16", "int64", "bool", "complex64", "bfloat16"])
@pytest.mark.parametrize("shape", [(), (0, 2), (3,), (2, 2)])
def test_tensors(way, dtype, shape):
    if dtype == "bfloat16":
        pytest.importorskip("ml_dtypes")
    x = ad.Tensor(np.ones(shape), getattr(ad, dtype, None) or np.dtype(dtype))
    y = way(x)
    assert type(y) is ad.Tensor
    same(y, x)
    y[...] = 0
    assert x.asnumpy().all()


@ways
def test_leaves_and_what_they_have_gathered(way):
    x = ad.Tensor([1.0, 2.0], requires_grad=True)
    assert way(x).requires_grad
    assert way(x).grad is None
    (x * x).sum().backward()
    y = way(x)
    same(y.grad, x.grad)
    (y * 3.0).sum().backward()
    np.testing.assert_allclose(y.grad.asnumpy(), [5.0, 7.0])
    np.testing.assert_allclose(x.grad.asnumpy(), [2.0, 4.0])


@ways
@pytest.mark.parametrize("trained", [True, False])
def test_parameters(way, trained):
    w = ad.Parameter(ad.Tensor([1.0, 2.0]), name="a.weight", requires_grad=trained)
    w.group = "slow"
    v = way(w)
    assert type(v) is ad.Parameter
    assert (v.name, v.requires_grad, v.is_unnamed, v.group) == ("a.weight", trained, False, "slow")
    same(v, w)
    assert way(ad.Parameter(1.0)).is_unnamed
    v.set_data(ad.Tensor([9.0, 9.0]))
    np.testing.assert_array_equal(w.asnumpy(), [1.0, 2.0])
    if trained:
        (w * w).sum().backward()
        same(way(w).grad, w.grad)
        np.testing.assert_allclose(ad.grad(lambda: (v * v).sum(), None, weights=v)().asnumpy(), [18.0, 18.0])
    pair = way(ad.ParameterTuple([w, ad.Parameter(1.0, name="b")]))
    assert type(pair) is ad.ParameterTuple
    assert [p.name for p in pair] == ["a.weight", "b"]


@ways
@pytest.mark.parametrize("used", [False, True])
def test_networks(way, used):
    net = Net()
    net.set_train(False)
    net.register_forward_hook(tenfold)
    if used:
        net(ad.Tensor(X)), ad.jit(net)(ad.Tensor(X)), net.compiled(ad.Tensor(X))
    other = way(net)
    assert [(p.name, p.requires_grad) for p in other.get_parameters()] == [
        (p.name, p.requires_grad) for p in net.get_parameters()
    ]
    assert other.tied is other.more[0].weight
    assert not {id(p) for p in net.get_parameters()} & {id(p) for p in other.get_parameters()}
    for call in (lambda n: n(ad.Tensor(X)), lambda n: ad.jit(n)(ad.Tensor(X)), lambda n: n.compiled(ad.Tensor(X))):
        same(call(other), call(net))
    other.scale.set_data(ad.Tensor([0.0, 0.0]))
    assert not other.compiled(ad.Tensor(X)).asnumpy().any()
    assert net.compiled(ad.Tensor(X)).asnumpy().any()


@ways
@pytest.mark.parametrize(
    "make", [optim.SGD, optim.Adam, lambda p: optim.Momentum(p, 0.1, 0.9)], ids=["SGD", "Adam", "Momentum"]
)
def test_a_network_and_its_optimiser(way, make):
    net = nn.Dense(3, 2)
    optimiser = make(net.trainable_params())
    step = lambda n, o: o(ad.grad(lambda x: (n(x) ** 2).sum(), None, weights=o.parameters)(ad.Tensor(X)))
    step(net, optimiser)
    again, copied = way((net, optimiser))
    assert all(p is q for p, q in zip(copied.parameters, again.trainable_params(), strict=True))
    for _ in range(2):
        step(net, optimiser), step(again, copied)
    for p, q in zip(net.get_parameters(), again.get_parameters(), strict=True):
        same(p, q)


FOLLOWED = {
    "grad": lambda f: ad.grad(lambda x: f(x * 2.0))(1.0),
    "jvp": lambda f: ad.jvp(lambda x: f(x * 2.0), 1.0, 1.0),
    "vmap": lambda f: ad.vmap(lambda x: f(x * 2.0))(np.ones(2)),
    "jit": lambda f: ad.jit(lambda x: f(x * 2.0))(np.ones(2)),
    "backward": lambda f: f(ad.Tensor([1.0], requires_grad=True) * 2.0),
}


@pytest.mark.parametrize("name", FOLLOWED)
@pytest.mark.parametrize("protocol", range(2, pickle.HIGHEST_PROTOCOL + 1))
def test_what_is_followed_is_refused(name, protocol):
    with pytest.raises(CutGradientError, match=r"cannot be pickled(.|\n)*called at"):
        FOLLOWED[name](lambda x: (pickle.dumps(x, protocol), x)[1])
    w = ad.Parameter(ad.Tensor([1.0]), name="w")
    with pytest.raises(CutGradientError, match="Parameter 'w' cannot be pickled"):
        ad.grad(lambda: (pickle.dumps(w), w.sum())[1], None, weights=w)()


def test_values_of_a_closed_tape_are_plain():
    with ad.GradientTape() as tape:
        y = tape.watch(ad.Tensor([2.0])) * 3.0
    same(pickle.loads(pickle.dumps(y)), ad.Tensor([6.0]))


def work(pair):
    net, x = pair
    return net(x), net.get_parameters().__next__(), x


def test_another_process():
    with multiprocessing.get_context("spawn").Pool(1) as pool:
        net, x = Net().set_train(False), ad.Tensor(X, requires_grad=True)
        y, p, back = pool.apply(work_detached, ((net, x),))
    same(y, net(ad.Tensor(X)))
    same(p, next(iter(net.get_parameters())))
    assert back.requires_grad


def work_detached(pair):
    y, p, x = work(pair)
    return y.detach(), p, x


KINDS = [KeyError, ValueError, RuntimeError, AssertionError, IndexError, Exception]


class Escape(BaseException):
    """What carries values out of a transform."""


@pytest.mark.parametrize("error", KINDS)
@pytest.mark.parametrize("name", ["grad", "jvp", "vmap", "jit"])
def test_errors_that_hold_followed_values_can_be_printed(error, name):
    """While the transform runs, and when it is over; a program that is compiled would go on with a text without a number."""

    def fail(x):
        made = [error(x), error(x, [x], {"x": x})]
        assert name == "jit" or all(repr(e) for e in made)
        assert name == "jit" or error is not KeyError or str(made[0])
        raise Escape(made)

    with pytest.raises(Escape) as caught:
        FOLLOWED[name](hidden(fail))
    (made,) = caught.value.args
    assert all(str(e) and repr(e) for e in made)


def hidden(fn):
    """The function as one that no source transformation can read."""
    return functools.partial(eval("lambda fn, x: fn(x)"), fn)


@pytest.mark.parametrize("name", ["grad", "jvp", "vmap", "jit"])
def test_values_that_outlive_their_transform_can_be_printed(name):
    def keep(x):
        assert name == "jit" or repr(x).startswith("Tensor(")
        raise Escape(x)

    with pytest.raises(Escape) as caught:
        FOLLOWED[name](hidden(keep))
    (kept,) = caught.value.args
    assert repr(kept).startswith("Tensor(")
    assert str(kept)


def test_a_key_that_is_a_graph_value():
    table = {1: 2.0}

    def look_up(x):
        return ops.sum(x) * table[x]

    with pytest.raises((KeyError, TypeError)) as caught:
        ad.jit(look_up)(ad.Tensor([1.0]))
    assert str(caught.value)
    assert repr(caught.value)


def test_donated_tensors_can_be_printed():
    x = ad.Tensor(np.ones(3))
    ad.jit(lambda x: x * 2.0, donate="x")(x)
    assert "donated" in repr(x)

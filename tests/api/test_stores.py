"""Stores in Parameters: reads before see the old value, reads after the new one, and gradients follow, in every transform."""

from __future__ import annotations

import numpy as np
import pytest

import adjoint as ad
from adjoint import nn, ops

X = ad.Tensor([5.0, 7.0])
START = np.array([2.0, 3.0], np.float32)


class Holder(nn.Cell):
    def __init__(self):
        super().__init__()
        self.w = ad.Parameter(ad.Tensor(START), name="w")


class Between(Holder):
    def construct(self, x):
        y = self.w * x
        ops.assign(self.w, x * x)
        return y + self.w * x

    stored, by_x, by_w = [25, 49], [2 + 75, 3 + 147], [5, 7]


class InBranches(Holder):
    def construct(self, x):
        if x.sum() > 1:
            self.w.set_data(x * 2)
        else:
            y = self.w * 3
            self.w.set_data(y)
        return self.w * x

    stored, by_x, by_w = [10, 14], [20, 28], [0, 0]


class InOneBranch(Holder):
    def construct(self, x):
        if x.sum() > 1:
            self.w.set_data(x * 2)
        return self.w * x

    stored, by_x, by_w = [10, 14], [20, 28], [0, 0]


class InALoop(Holder):
    def construct(self, x):
        i = x[0] * 0
        while i < 3:
            self.w.set_data(self.w * x)
            i = i + 1
        return self.w * x

    stored, by_x, by_w = [250, 1029], [1000, 4116], [625, 2401]


class InRepetitions(Holder):
    def construct(self, x):
        total = x * 0
        for _ in range(3):
            total = total + self.w * x
            self.w += x
        return total

    stored, by_x, by_w = [17, 24], [3 * 2 + 6 * 5, 3 * 3 + 6 * 7], [15, 21]


class Element(Holder):
    def construct(self, x):
        self.w[0] = x[0] * x[0]
        return self.w * x

    stored, by_x, by_w = [25, 3], [75, 3], [0, 7]


class SumIsReturned(Holder):
    def construct(self, x):
        return ops.assign_add(self.w, x) * x

    stored, by_x, by_w = [7, 10], [12, 17], [5, 7]


class InACheckpoint(Holder):
    def construct(self, x):
        return ad.recompute(self.inner, x) + self.w

    def inner(self, x):
        self.w.set_data(x * x)
        return self.w * x

    stored, by_x, by_w = [25, 49], [75 + 10, 147 + 14], [0, 0]


CASES = [Between, InBranches, InOneBranch, InALoop, InRepetitions, Element, SumIsReturned, InACheckpoint]


@pytest.fixture(params=[ad.PYNATIVE_MODE, ad.GRAPH_MODE], ids=["dynamic", "static"])
def _mode(request):
    ad.set_context(mode=request.param)
    yield
    ad.set_context(mode=ad.PYNATIVE_MODE)


def close(x, y):
    np.testing.assert_allclose(x.asnumpy(), y, rtol=1e-6)


@pytest.mark.usefixtures("_mode")
@pytest.mark.parametrize("case", CASES, ids=lambda c: c.__name__)
def test_reads_see_the_last_store_and_the_parameter_is_written_once(case):
    net = case()
    by_x, (by_w,) = ad.grad(net, 0, net.trainable_params())(X)
    close(by_x, case.by_x)
    close(by_w, case.by_w)
    close(net.w, case.stored)


@pytest.mark.parametrize("case", CASES, ids=lambda c: c.__name__)
@pytest.mark.parametrize(
    "transform",
    [
        lambda f: ad.jit(ad.grad(f))(X),
        lambda f: ad.grad(ad.jit(f))(X),
        lambda f: ad.jvp(f, X, ad.Tensor([1.0, 1.0]))[1],
        lambda f: ad.jit(lambda x: ad.jvp(f, x, ops.ones_like(x))[1])(X),
        lambda f: ad.linearize(f, X)[1](ad.Tensor([1.0, 1.0])),
        lambda f: ad.vjp(f, X)[1](ad.Tensor([1.0, 1.0]))[0],
        lambda f: ad.jit(lambda x: ad.value_and_grad(ad.jit(f))(x)[1])(X),
    ],
)
def test_every_transform_hands_stores_on(case, transform):
    net = case()
    close(transform(net), case.by_x)
    close(net.w, case.stored)


def test_the_gradient_of_a_gradient_stores_once():
    w = ad.Parameter(ad.Tensor(1.0), name="w")

    def f(x):
        ops.assign_add(w, ad.Tensor(1.0))
        return x**3 * w

    close(ad.grad(ad.grad(f))(ad.Tensor(2.0)), 24)
    close(w, 2)
    close(ad.jit(ad.grad(ad.grad(f)))(ad.Tensor(2.0)), 36)
    close(w, 3)


def test_several_parameters_are_told_apart():
    w, n = ad.Parameter(ad.Tensor(START), name="w"), ad.Parameter(ad.Tensor(0), name="n", requires_grad=False)
    v = ad.Parameter(ad.Tensor([1.0, 4.0]), name="v")

    def f(x):
        ops.assign_add(n, 1)
        ops.assign(v, w * x)
        return (w * x * x * v).sum()

    for transform, expected in (
        (ad.jit(f), 1),
        (ad.jit(ad.grad(f)), 2),
        (ad.grad(ad.grad(f)), 3),
        (ad.jit(ad.grad(ad.grad(f))), 4),
    ):
        transform(X)
        close(n, expected)
        close(v, START * [5, 7])
        close(w, START)


def test_a_call_that_raises_writes_nothing():
    net = Between()

    def failing(x):
        y = net(x)
        raise KeyError("mine")
        return y

    for transform in (ad.grad(failing), ad.jit(failing), ad.jit(ad.grad(failing))):
        with pytest.raises(KeyError):
            transform(X)
        close(net.w, START)


def test_a_compiled_function_may_do_nothing_but_store():
    net = Holder()

    @ad.jit
    def step(x):
        net.w.set_data(net.w + x)

    assert step(X) is None
    assert step(X) is None
    close(net.w, START + 2 * np.array([5, 7]))


def test_vmap_stores_what_is_the_same_for_all_examples():
    net = Holder()

    def same(x):
        net.w.set_data(net.w * 2)
        return net.w * x

    close(ad.vmap(same)(ops.ones((3, 2))), np.tile(2 * START, (3, 1)))
    close(net.w, 2 * START)
    with pytest.raises(ValueError, match="stores a value in a Parameter that differs between the examples"):
        ad.vmap(lambda x: ops.assign(net.w, x))(ops.ones((3, 2)))
    close(net.w, 2 * START)


def test_the_cast_parameters_of_a_network_in_half_precision_take_stores():
    net = Between()
    net.to_float(np.float16)
    out = net(X)
    assert out.dtype == np.float16
    close(out, [135, 364])
    assert net.w.dtype == np.float32
    close(net.w, [25, 49])


def test_a_function_with_a_rule_of_its_own_stores_too():
    net = Holder()
    double = ad.custom_vjp(lambda x: x + 0 * ops.assign(net.w, x) + x, lambda x, out, dout: (dout * 2,))
    close(ad.grad(double)(X), [2, 2])
    close(net.w, [5, 7])
    for transform in (ad.jit(ad.grad(double)), lambda x: ad.jit(ad.value_and_grad(double))(x)[1]):
        net.w.set_data([0.0, 0.0])
        close(transform(X), [2, 2])
        close(net.w, [5, 7])


def test_tensors_are_assigned_to_in_place():
    x = ad.Tensor([1.0, 2.0])
    assert ops.assign(x, ad.Tensor([3.0, 4.0])) is x
    close(x, [3, 4])
    close(ops.assign_sub(x, ad.Tensor([1.0, 1.0])), [2, 3])
    close(x, [2, 3])
    with pytest.raises(TypeError, match="assign_add: the first argument must be a Parameter"):
        ops.assign_add(1.0, 2.0)

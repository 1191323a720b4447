"""Which Parameters of a compiled function `backward()` reaches: those that it reaches op by op."""

from __future__ import annotations

import gc
import tracemalloc

import numpy as np
import pytest

import adjoint as ad
from adjoint import nn, ops
from adjoint.core import tree

X = np.array([[0.3, -0.7, 1.1], [0.2, 0.9, -0.4]])
BACKENDS = ["native", "interpreter"]


class Net(nn.Cell):
    def __init__(self):
        super().__init__()
        self.w = ad.Parameter(np.array([0.5, -1.5, 2.0]), name="w")

    def construct(self, x):
        return ops.tanh(x * self.w).sum()


class Trainer:
    """Gradients as a method, and a method that is compiled itself."""

    def __init__(self, net):
        self.net = net

    def step(self, x):
        return ad.value_and_grad(self.net, None, weights=self.net.trainable_params())(x)

    @ad.jit
    def compiled(self, x):
        return ad.value_and_grad(self.net, None, weights=self.net.trainable_params())(x)


def pulled(net, x):
    y, pull = ad.vjp(net, x, weights=net.trainable_params())
    return y, pull(1.0)


def second(net, x):
    """A gradient by the input around one by the weights."""
    return ad.grad(lambda x: ad.grad(net, None, weights=net.w)(x).sum())(x)


PROGRAMS = {
    "value and gradient": lambda net: ad.value_and_grad(net, None, weights=[net.w]),
    "a function around": lambda net: lambda x: ad.value_and_grad(net, None, weights=[net.w])(x),
    "input and weights": lambda net: ad.grad(net, 0, weights=[net.w]),
    "vjp": lambda net: lambda x: pulled(net, x),
    "one around another": lambda net: lambda x: second(net, x),
    "a method": lambda net: Trainer(net).step,
    "compiled inside": lambda net: lambda x: ad.jit(ad.value_and_grad(net, None, weights=[net.w]))(x),
    "a shape is no value": lambda net: lambda x: ad.grad(net, None, weights=net.w)(x) * net.w.shape[0],
    "checkpoints": lambda net: ad.value_and_grad(net, None, weights=[net.w], checkpoint="sqrt"),
}


@pytest.mark.parametrize("backend", BACKENDS)
@pytest.mark.parametrize("program", PROGRAMS.values(), ids=PROGRAMS)
def test_gradients_by_weights_are_not_followed(program, backend):
    net = Net()
    dynamic = program(net)
    compiled = ad.jit(dynamic, backend=backend)
    for x in (X, ad.Tensor(X), X, X):  # by the long way and by the short ones
        for found, wanted in zip(tree.leaves(compiled(x)), tree.leaves(dynamic(x)), strict=True):
            assert not found.requires_grad and not wanted.requires_grad
            assert np.asarray(found).dtype == np.float64
            np.testing.assert_allclose(found.asnumpy(), wanted.asnumpy(), rtol=1e-12)


def test_compiled_methods_are_not_followed():
    trainer = Trainer(Net())
    for _ in range(3):
        assert not any(y.requires_grad for y in tree.leaves(trainer.compiled(X)))


@pytest.mark.parametrize("backend", BACKENDS)
def test_backward_goes_through_a_compiled_forward_pass(backend):
    net, other = Net(), Net()
    forward = ad.jit(net, backend=backend)
    for x in (X, ad.Tensor(X), X, X):
        net.w.grad = other.w.grad = None
        forward(x).backward()
        other(x).backward()
        np.testing.assert_allclose(net.w.grad.asnumpy(), other.w.grad.asnumpy(), rtol=1e-12)


@pytest.mark.parametrize("first", [True, False])
@pytest.mark.parametrize("backend", BACKENDS)
def test_a_parameter_that_is_a_weight_and_read_besides_is_followed(backend, first):
    """By the value that the program has with numbers in place of the Parameter, and differences of it."""
    net = Net()

    def both(x):
        direct = (net.w * net.w).sum() if first else 0.0
        g = ad.grad(net, None, weights=net.w)(x)
        return direct + (g * net.w).sum()

    for x in (X, X, X):
        net.w.grad = None
        y = ad.jit(both, backend=backend)(x)
        assert y.requires_grad
        y.backward()
        w = net.w.asnumpy()
        slope = np.zeros(3)
        for k in range(3):
            ends = []
            for step in (1e-6, -1e-6):
                v = w.copy()
                v[k] += step
                g = (x / np.cosh(x * v) ** 2).sum(0)
                ends.append((v * v).sum() * first + (g * v).sum())
            slope[k] = (ends[0] - ends[1]) / 2e-6
        np.testing.assert_allclose(net.w.grad.asnumpy(), slope, rtol=1e-6)


def test_a_compiled_function_inside_is_followed_in_the_one_around():
    net = Net()
    inner = ad.jit(net)
    outer = ad.jit(lambda x: inner(x) + ad.value_and_grad(inner, None, weights=net.w)(x)[0].detach())
    for _ in range(3):
        net.w.grad = None
        outer(X).backward()
        np.testing.assert_allclose(net.w.grad.asnumpy(), (X / np.cosh(X * net.w.asnumpy()) ** 2).sum(0))


def test_loops_branches_and_batches_follow_what_they_read():
    w = ad.Parameter(np.array([0.5, 2.0]), name="w")

    def loop(x):
        y = w
        while (y * x).sum() < 10:
            y = y + w
        return y.sum() if y[0] > 0 else (w * x).sum()

    x = np.array([1.0, 1.0])
    ad.jit(loop)(x).backward()
    np.testing.assert_allclose(w.grad.asnumpy(), [4.0, 4.0])
    for batched in (lambda x: ad.vmap(lambda v: v * v)(w).sum(), lambda x: ad.vmap(lambda v: v * w)(x).sum()):
        w.grad = None
        ad.jit(batched)(x).backward()
        assert w.grad is not None


def test_a_tape_follows_weights_as_op_by_op():
    net = Net()
    gradient = ad.value_and_grad(net, None, weights=[net.w])
    found = []
    for run in (gradient, ad.jit(gradient)):
        with ad.GradientTape() as tape:
            y = run(X)[1][0].sum()
        found.append(tape.gradient(y, net.w).asnumpy())
    np.testing.assert_allclose(found[0], found[1], rtol=1e-12)


def test_losses_that_are_kept_hold_nothing():
    w = ad.Parameter(np.eye(100), name="w")

    def loss(x):
        for _ in range(6):
            x = ops.tanh(x @ w)
        return ops.mean(x)

    run, x = ad.jit(ad.value_and_grad(loss, None, weights=[w])), np.ones((100, 100))
    run(x)
    run(x)
    gc.collect()
    tracemalloc.start()
    try:
        kept = [run(x)[0] for _ in range(5)]
        assert tracemalloc.get_traced_memory()[0] < 80_000 and len(kept) == 5
    finally:
        tracemalloc.stop()

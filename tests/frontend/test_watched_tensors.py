"""Tensors with `requires_grad` whose values Python reads: a graph holds for the values it was built on."""

import numpy as np
import pytest

import adjoint as ad

w = ad.Tensor([1.0, 2.0], requires_grad=True)
held = {"k": [w]}


def each_element(x):
    for v in held["k"]:
        x = x * float(v[0])
    return x


READS = [
    lambda x: x * w[0],
    lambda x: x * w.detach()[0],
    lambda x: x * ad.stop_gradient(w)[0],
    lambda x: x * float(w[0]),
    lambda x: x * 2 if w[0] > 3 else x,
    lambda x: x * w.asnumpy()[0],
    lambda x: x * w[0].item(),
    lambda x: x * w.tolist()[0],
    lambda x: x * (w * 2).detach()[0],
    lambda x: (x * w * w.detach())[0],
    lambda x: x * w.copy().detach()[0],
    lambda x: x * held["k"][0].item(0),
    lambda x: x * ad.grad(lambda v: v * float(w[0]))(x),
    lambda x: ad.jit(lambda y: y * float(w[0]))(x) * 2,
    each_element,
]


@pytest.fixture(autouse=True)
def _as_it_was():
    with ad.no_grad():
        w[...] = np.array([1.0, 2.0])
    w.grad = None


@pytest.mark.filterwarnings("ignore::adjoint.core.errors.RecompileWarning")
@pytest.mark.parametrize("fn", READS)
def test_a_value_that_is_read_is_watched(fn):
    jitted = ad.jit(fn)
    assert float(jitted(1.0)) == float(fn(1.0))
    for value in (5.0, 0.5, 7.0, 8.0, 9.0, 10.0):
        with ad.no_grad():
            w[0] = value
        assert float(jitted(1.0)) == float(fn(1.0))


def test_steps_of_an_optimizer_are_seen():
    jitted = ad.jit(lambda x: x * float(w[0]))
    for _ in range(4):
        (w * w).sum().backward()
        assert float(jitted(1.0)) == float(w[0])
        with ad.no_grad():
            w[...] = w - 0.1 * w.grad
        w.grad = None


def test_a_gradient_is_watched():
    jitted = ad.jit(lambda x: x * w.grad[0] if w.grad is not None else x)
    for times in range(6):
        assert float(jitted(1.0)) == (2.0 * times if times else 1.0)
        (w * w).sum().backward()
    assert len(jitted.compilations) < 6


def test_a_gradient_of_a_parameter_is_watched():
    p = ad.Parameter(ad.Tensor([3.0]))
    jitted = ad.jit(lambda x: x if p.grad is None else x * p.grad[0])
    assert float(jitted(1.0)) == 1.0
    (p * p).sum().backward()
    assert float(jitted(1.0)) == 6.0


def test_a_constant_that_comes_to_require_a_gradient_gets_one():
    c = ad.Tensor([1.0, 2.0])
    jitted = ad.jit(lambda x: (x * c).sum())
    jitted(3.0)
    c.requires_grad = True
    jitted(3.0).backward()
    assert c.grad.tolist() == [3.0, 3.0]


def test_what_is_an_input_alone_keeps_its_graph():
    jitted = ad.jit(lambda x: ((x * w) ** 2).sum())
    for _ in range(3):
        jitted(2.0).backward()
        with ad.no_grad():
            w[...] = w - 0.01 * w.grad
        w.grad = None
    assert len(jitted.compilations) == 1

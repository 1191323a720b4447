"""What may surround a call of a Cell: hooks, another precision, recomputing; and copies."""

from __future__ import annotations

import tracemalloc
from copy import deepcopy

import numpy as np
import pytest

import adjoint as ad
from adjoint import nn, ops


def tensors(*shape, seed=0):
    return ad.Tensor(np.random.default_rng(seed).normal(size=shape))


def both(fn):
    return fn, ad.jit(fn)


# ---------------------------------------------------------------- hooks


def test_forward_hooks_see_and_replace():
    net, seen = nn.Tanh(), []
    first = net.register_forward_pre_hook(lambda cell, inputs: (inputs[0] * 0,))
    second = net.register_forward_hook(
        lambda cell, inputs, output: seen.append((cell, float(inputs[0]), float(output)))
    )
    third = net.register_forward_hook(lambda cell, inputs, output: output + 5)
    assert float(net(ad.Tensor(3.0))) == 5
    assert seen == [(net, 0.0, 0.0)]
    first.remove()
    third.remove()
    third.remove()
    np.testing.assert_allclose(net(ad.Tensor(3.0)), np.tanh(3), rtol=1e-6)
    second.remove()
    net(ad.Tensor(3.0))
    assert len(seen) == 2


def test_forward_hooks_take_keyword_arguments_and_stand_in_order():
    class Scaled(nn.Cell):
        def construct(self, x, by=1.0):
            return x * by

    net, seen = Scaled(), []
    net.register_forward_hook(lambda cell, inputs, output: seen.append("second"))
    net.register_forward_hook(lambda cell, inputs, output: seen.append("first"), prepend=True)
    net.register_forward_pre_hook(lambda cell, inputs, kwargs: (inputs, {"by": kwargs["by"] + 1}), with_kwargs=True)
    net.register_forward_hook(lambda cell, inputs, kwargs, output: output + kwargs["by"], with_kwargs=True)
    assert float(net(ad.Tensor(3.0), by=2.0)) == 12
    assert seen == ["first", "second"]
    net.register_forward_pre_hook(lambda cell, inputs, kwargs: 3, with_kwargs=True)
    with pytest.raises(RuntimeError, match="inputs, kwargs"):
        net(ad.Tensor(3.0), by=2.0)


def test_a_hook_that_is_always_called_sees_a_failure():
    class Failing(nn.Cell):
        def construct(self, x):
            raise ZeroDivisionError

    net, seen = Failing(), []
    net.register_forward_hook(lambda cell, inputs, output: seen.append("not"))
    net.register_forward_hook(lambda cell, inputs, output: seen.append(output), always_call=True)
    with pytest.raises(ZeroDivisionError):
        net(ad.Tensor(3.0))
    assert seen == [None]


def test_backward_hooks_see_and_replace():
    net, x, seen = nn.Tanh(), tensors(3), []
    plain = ad.grad(lambda x: (net(x) * 2).sum())(x).asnumpy()
    pre = net.register_backward_pre_hook(lambda cell, grad: (grad[0] * 10,))
    hook = net.register_backward_hook(lambda cell, gx, gy: seen.append((gx[0].asnumpy(), gy[0].asnumpy())))
    np.testing.assert_allclose(ad.grad(lambda x: (net(x) * 2).sum())(x), 10 * plain)
    np.testing.assert_allclose(seen[0][0], 10 * plain)
    np.testing.assert_allclose(seen[0][1], 20)
    hook.remove()
    pre.remove()
    net.register_backward_hook(lambda cell, gx, gy: (gx[0] * 0 + 7,))
    for mode in both(ad.grad(lambda x: (net(x) * 2).sum())):
        np.testing.assert_allclose(mode(x), 7)


def test_a_backward_hook_runs_where_only_weights_are_differentiated():
    net, seen = nn.Dense(2, 1), []
    net.register_backward_hook(lambda cell, gx, gy: seen.append((gx, gy[0].shape)))
    ad.grad(lambda x: net(x).sum(), None, weights=net.trainable_params())(ops.ones((4, 2)))
    assert seen == [((None,), (4, 1))]


def test_a_hook_makes_a_new_graph():
    net = nn.ReLU()
    run = ad.jit(lambda x: net(x))
    assert float(run(ad.Tensor(2.0))) == 2
    handle = net.register_forward_hook(lambda cell, inputs, output: output * 3)
    assert float(run(ad.Tensor(2.0))) == 6
    handle.remove()
    assert float(run(ad.Tensor(2.0))) == 2


def test_bad_hooks():
    net = nn.ReLU()
    with pytest.raises(TypeError, match="a hook must be a function, not int"):
        net.register_forward_hook(3)
    net.register_backward_hook(lambda cell, gx, gy: (1, 2))
    with pytest.raises(TypeError, match="returned 2 gradients in place of 1"):
        ad.grad(net)(ad.Tensor(1.0))


# ---------------------------------------------------------------- precision


@pytest.mark.parametrize("dtype", ["float16", "float32"])
def test_to_float_casts_inputs_and_parameters(dtype):
    net, x = nn.Dense(3, 2, dtype=np.float64), tensors(4, 3)
    want, exact = net(x), ad.grad(lambda x: net(x).sum(), None, weights=net.trainable_params())(x)
    net.to_float(np.dtype(dtype))
    tol = 5e-3 if dtype == "float16" else 1e-6
    for mode in both(lambda x: net(x)):
        out = mode(x)
        assert out.dtype == dtype
        np.testing.assert_allclose(out.asnumpy(), want.asnumpy(), rtol=tol, atol=tol)
    grads = ad.grad(lambda x: net(x).sum(), None, weights=net.trainable_params())(x)
    for got, expected in zip(grads, exact, strict=True):
        assert got.dtype == np.float64
        np.testing.assert_allclose(got, expected, rtol=tol, atol=tol)
    assert net.weight.dtype == np.float64


def test_a_cell_inside_keeps_its_own_precision():
    inner = nn.Dense(3, 3).to_float(np.float32)
    net, kinds = nn.SequentialCell(nn.Dense(3, 3), inner), []
    inner.register_forward_hook(lambda cell, inputs, output: kinds.append(output.dtype))
    inner.weight.set_data(np.full((3, 3), 1 + 2**-20))  # float16 would round that to 1
    inner.bias.set_data(np.zeros(3))
    net.to_float(np.float16)
    net[0].weight.set_data(np.eye(3))
    net[0].bias.set_data(np.zeros(3))
    out = net(ops.ones((1, 3)))
    assert kinds == [np.float32]
    assert (out.asnumpy() == np.float32(3 * (1 + 2**-20))).all()


def test_to_float_refuses_other_kinds():
    with pytest.raises(ValueError, match="must be float16, bfloat16 or float32, not int32"):
        nn.ReLU().to_float(np.int32)


# ---------------------------------------------------------------- recomputing


def test_recomputing_repeats_draws_and_calls_the_network_once():
    norm, masks = nn.BatchNorm1d(6, momentum=0.5, dtype=np.float64), []
    net, x = nn.SequentialCell(nn.Dropout(p=0.3), norm).set_train().recompute(), tensors(50, 6)
    net[0].register_forward_hook(lambda cell, inputs, output: masks.append(output.asnumpy() != 0))
    weight = tensors(50, 6, seed=1)
    grad = ad.grad(lambda x: (net(x) * weight).sum())(x)
    (first,) = masks
    assert 0.6 < first.mean() < 0.8
    kept = x.asnumpy() * first / 0.7
    np.testing.assert_allclose(norm.moving_mean, 0.5 * kept.mean(0))

    def loss(x):  # the same draw written out
        y = x * first / 0.7
        return np.sum((y - y.mean(0)) / np.sqrt(y.var(0) + 1e-5) * weight.asnumpy())

    step = 1e-6 * np.random.default_rng(2).normal(size=x.shape)
    difference = (loss(x.asnumpy() + step) - loss(x.asnumpy() - step)) / 2
    np.testing.assert_allclose(np.vdot(grad, step), difference, rtol=1e-6)


def test_recomputing_against_the_plain_derivative():
    net, x = (
        nn.SequentialCell(nn.Dense(6, 6, dtype=np.float64), nn.Tanh(), nn.Dense(6, 2, dtype=np.float64)),
        tensors(5, 6),
    )
    loss = lambda x: (net(x) ** 3).sum()
    weights = net.trainable_params()
    plain = ad.grad(loss, 0, weights=weights)(x)
    second = ad.hvp(loss)(x, x)
    net.recompute()
    again = ad.grad(loss, 0, weights=weights)(x)
    np.testing.assert_allclose(again[0], plain[0], rtol=1e-12)
    for a, b in zip(again[1], plain[1], strict=True):
        np.testing.assert_allclose(a, b, rtol=1e-12)
    np.testing.assert_allclose(ad.hvp(loss)(x, x), second, rtol=1e-10)
    compiled = ad.jit(ad.grad(loss, 0, weights=weights))(x)
    np.testing.assert_allclose(compiled[0].asnumpy(), plain[0].asnumpy(), rtol=1e-12, atol=1e-15)


def test_recomputing_keeps_only_the_inputs():
    x = ad.Tensor(np.ones(100_000))

    def peak(again):
        net = nn.SequentialCell([nn.SequentialCell([nn.Tanh()] * 5).recompute(again) for _ in range(4)])
        tracemalloc.start()
        ad.grad(lambda x: (net(x) * 1.0).sum())(x)
        size = tracemalloc.get_traced_memory()[1]
        tracemalloc.stop()
        return size

    assert peak(True) < 0.75 * peak(False)


# ---------------------------------------------------------------- copies


def test_a_copy_has_parameters_of_its_own():
    net = nn.SequentialCell(nn.Dense(2, 2), nn.ReLU())
    twin = deepcopy(net)
    twin[0].weight.set_data(np.zeros((2, 2)))
    assert net[0].weight.asnumpy().any()
    assert list(twin.parameters_dict()) == list(net.parameters_dict()) == ["0.weight", "0.bias"]
    part = deepcopy(net[0])
    assert [p.name for p in part.get_parameters()] == ["weight", "bias"]


def test_a_copy_of_a_network_that_ran_compiled():
    net = nn.Dense(2, 2)
    ad.set_context(mode=ad.GRAPH_MODE)
    try:
        net(ops.ones((1, 2)))
        twin = deepcopy(net)
        twin.weight.set_data(np.zeros((2, 2)))
        twin.bias.set_data(np.ones(2))
        assert (twin(ops.ones((1, 2))).asnumpy() == 1).all()
    finally:
        ad.set_context(mode=ad.PYNATIVE_MODE)

"""Compiled steps, gradient accumulation, and the way optimisers treat Parameters."""

from __future__ import annotations

import numpy as np
import pytest

import adjoint as ad
from adjoint import optim
from adjoint.core.errors import AdjointError, ArgumentError, ShapeError

RULES = {
    "sgd": lambda ps, **k: optim.SGD(ps, 0.1, momentum=0.9, dampening=0.1, weight_decay=0.01, **k),
    "momentum": lambda ps, **k: optim.Momentum(ps, 0.1, 0.9, use_nesterov=True, **k),
    "adam": lambda ps, **k: optim.Adam(ps, optim.WarmUpLR(0.1, 3), weight_decay=0.01, **k),
    "amsgrad": lambda ps, **k: optim.Adam(ps, 0.1, use_amsgrad=True, use_nesterov=True, **k),
    "adamw": lambda ps, **k: optim.AdamW(ps, 0.1, **k),
    "adagrad": lambda ps, **k: optim.Adagrad(ps, learning_rate=0.1, **k),
    "rmsprop": lambda ps, **k: optim.RMSProp(ps, 0.1, momentum=0.5, centered=True, **k),
    "lamb": lambda ps, **k: optim.Lamb(ps, 0.1, weight_decay=0.01, **k),
}


class Net(ad.nn.Cell):
    """A small network with tanh inside."""

    def __init__(self, dtype=np.float64):
        super().__init__()
        rng = np.random.default_rng(3)
        self.w1 = ad.Parameter(ad.Tensor(rng.normal(size=(3, 4)).astype(dtype)))
        self.b1 = ad.Parameter(ad.Tensor(np.zeros(4, dtype)))
        self.w2 = ad.Parameter(ad.Tensor(rng.normal(size=(4, 1)).astype(dtype)))

    def construct(self, x):
        return ad.ops.tanh(x @ self.w1 + self.b1) @ self.w2


def batches(count, size=8, dtype=np.float64):
    rng = np.random.default_rng(5)
    for _ in range(count):
        x = rng.normal(size=(size, 3))
        yield ad.Tensor(x.astype(dtype)), ad.Tensor(np.sin(x.sum(1, keepdims=True)).astype(dtype))


def loss_of(net):
    return lambda x, y: ((net(x) - y) ** 2).mean()


def eager(net, optimiser, count=5):
    """The losses of steps in which every op runs by itself."""
    forward = ad.value_and_grad(loss_of(net), None, weights=net.trainable_params())
    losses = []
    for batch in batches(count):
        loss, grads = forward(*batch)
        optimiser(grads)
        losses.append(float(loss))
    return losses


def same(one, other, rtol=1e-9):
    for p, q in zip(one.parameters, other.parameters, strict=True):
        np.testing.assert_allclose(p.asnumpy(), q.asnumpy(), rtol=rtol, atol=rtol)
    mine, theirs = one.parameters_dict(), other.parameters_dict()
    assert list(mine) == list(theirs)
    for name in mine:
        np.testing.assert_allclose(mine[name].asnumpy(), theirs[name].asnumpy(), rtol=rtol, atol=rtol)


@pytest.mark.parametrize("backend", ["interpreter", "native"])
@pytest.mark.parametrize("name", RULES)
def test_a_compiled_step_is_an_eager_step(name, backend):
    net, twin = Net(), Net()
    reference, optimiser = RULES[name](twin.trainable_params(), jit=False), RULES[name](net.trainable_params())
    step = optim.compiled_step(loss_of(net), net.trainable_params(), optimiser, backend=backend)
    losses = [float(step(*batch)) for batch in batches(5)]
    np.testing.assert_allclose(losses, eager(twin, reference), rtol=1e-9)
    same(optimiser, reference)
    assert len(step.applying.compilations) == 1  # whatever the schedule says


def test_a_schedule_does_not_compile_anew():
    w = ad.Parameter(ad.Tensor([1.0]), name="w")
    optimiser = optim.SGD([w], learning_rate=[0.5, 0.25, 0.125])
    seen = [float(optimiser.get_lr())]
    for _ in range(4):
        optimiser([ad.Tensor([1.0])])
        seen.append(float(optimiser.get_lr()))
    assert seen == [0.5, 0.25, 0.125, 0.125, 0.125]
    assert w.asnumpy() == 0.0
    assert len(optimiser._update.compilations) == 1


def test_a_step_passes_on_what_else_the_loss_returns_and_clips():
    net = Net()
    loss = loss_of(net)
    optimiser = optim.SGD(net.trainable_params(), 1.0)
    before = [p.asnumpy() for p in optimiser.parameters]
    step = optim.compiled_step(
        lambda x, y: (loss(x, y), net(x)), net.trainable_params(), optimiser,
        has_aux=True, gradients=lambda gs: optim.clip_by_global_norm(gs, 0.01),
    )  # fmt: skip
    batch = next(batches(1))
    expected = loss(*batch)
    value, out = step(*batch)
    np.testing.assert_allclose(value.asnumpy(), expected.asnumpy())
    assert out.shape == (8, 1)
    moved = np.sqrt(sum(((p.asnumpy() - b) ** 2).sum() for p, b in zip(optimiser.parameters, before, strict=True)))
    np.testing.assert_allclose(moved, 0.01)


def test_control_flow_in_the_loss_is_compiled():
    w = ad.Parameter(ad.Tensor([4.0]), name="w")

    def loss(x):
        if x.sum() > 0:
            return (w * x).sum()
        return (w * w * x).sum()

    step = optim.compiled_step(loss, [w], optim.SGD([w], 1.0))
    step(ad.Tensor([1.0]))
    np.testing.assert_allclose(w.asnumpy(), 3.0)
    step(ad.Tensor([-1.0]))
    np.testing.assert_allclose(w.asnumpy(), 9.0)
    assert len(step.applying.compilations) == 1


# ---------------------------------------------------------------- accumulation


@pytest.mark.parametrize("static", [False, True], ids=["dynamic", "static"])
def test_accumulation_is_one_large_batch(static):
    net, twin = Net(), Net()
    accumulation = optim.GradientAccumulation(4, optim.Adam(net.trainable_params(), 0.01))
    forward = ad.value_and_grad(loss_of(net), None, weights=net.trainable_params())
    step = optim.compiled_step(loss_of(net), net.trainable_params(), accumulation)
    reference = optim.compiled_step(loss_of(twin), twin.trainable_params(), optim.Adam(twin.trainable_params(), 0.01))
    for x, y in batches(3, size=12):
        before = net.w1.asnumpy()
        whole = float(reference(x, y))
        parts = []
        for i in range(4):
            assert (net.w1.asnumpy() == before).all()  # nothing moves before the last part
            part = x[3 * i : 3 * i + 3], y[3 * i : 3 * i + 3]
            if static:
                parts.append(float(step(*part)))
            else:
                value, grads = forward(*part)
                parts.append(float(value))
                assert accumulation(grads) == (i == 3)
        np.testing.assert_allclose(np.mean(parts), whole, rtol=1e-12)
    same(accumulation.optimiser, reference.optimiser, 1e-12)
    if static:
        assert (len(step.collecting.compilations), len(step.applying.compilations)) == (1, 1)


def test_accumulation_by_name_may_leave_some_out():
    accumulation = optim.GradientAccumulation(steps=2)
    first = accumulation.accumulate_gradients({"a": ad.Tensor([2.0])})
    np.testing.assert_allclose(first["a"].asnumpy(), 1.0)
    second = accumulation.accumulate_gradients({"a": ad.Tensor([4.0]), "b": ad.Tensor([6.0])})
    assert accumulation.ready
    np.testing.assert_allclose([float(second["a"]), float(second["b"])], [3.0, 3.0])
    third = accumulation.accumulate_gradients({"a": ad.Tensor([8.0])})
    assert list(third) == ["a"] and float(third["a"]) == 4.0


def test_accumulation_needs_an_optimiser_to_apply():
    with pytest.raises(ArgumentError, match="give an optimiser"):
        optim.GradientAccumulation(2)([ad.Tensor([1.0])])
    with pytest.raises(ArgumentError, match="above zero"):
        optim.GradientAccumulation(0)


# ---------------------------------------------------------------- Parameters


def test_values_taken_before_a_step_stay():
    w = ad.Parameter(ad.Tensor([1.0, 2.0]), name="w")
    optimiser = optim.Adam([w], 0.5)
    held, seen = w.value(), np.asarray(w.data.detach())
    for _ in range(3):
        optimiser([ad.Tensor([1.0, 1.0])])
    np.testing.assert_array_equal(held.asnumpy(), [1.0, 2.0])
    np.testing.assert_array_equal(seen, [1.0, 2.0])


def test_backward_after_a_step_sees_the_new_values():
    w = ad.Parameter(ad.Tensor([3.0]), name="w")
    optimiser = optim.SGD([w], 0.5)
    for expected in (6.0, 0.0):
        w.grad = None
        (w * w).sum().backward()
        np.testing.assert_allclose(w.grad.asnumpy(), expected)
        optimiser([w.grad])


def test_half_precision_keeps_its_moments_in_single():
    w = ad.Parameter(ad.Tensor(np.ones(2, np.float16)), name="w")
    optimiser = optim.Adam([w], 1e-3)
    for _ in range(4):
        optimiser([ad.Tensor(np.full(2, 1e-4, np.float16))])
    assert w.dtype == np.float16
    assert optimiser.slots["moment2"][0].dtype == np.float32
    np.testing.assert_allclose(w.asnumpy(), 1 - 4e-3, atol=1e-3)


def test_gradients_by_name_and_what_is_wrong_with_others():
    w, b = ad.Parameter(ad.Tensor([1.0]), name="w"), ad.Parameter(ad.Tensor([1.0, 1.0]), name="b")
    optimiser = optim.SGD([w, b], 1.0)
    optimiser.step({"b": np.ones(2, np.float32), "w": ad.Tensor([0.5])})
    np.testing.assert_allclose([*w.asnumpy(), *b.asnumpy()], [0.5, 0.0, 0.0])
    with pytest.raises(ArgumentError, match="1 gradients for 2"):
        optimiser(ad.Tensor([1.0]))
    with pytest.raises(ShapeError, match="gradient of 'b' has shape"):
        optimiser([ad.Tensor([1.0]), ad.Tensor([1.0])])
    with pytest.raises(ArgumentError, match="no gradient for Parameter 'w'"):
        optimiser({"b": ad.Tensor([1.0, 1.0])})
    with pytest.raises(AdjointError, match="compiled_step"):
        ad.jit(lambda g: optimiser([g, g]))(ad.Tensor([1.0]))
    with pytest.raises(ArgumentError, match="other Parameters"):
        optim.compiled_step(lambda x: x, [w], optimiser)

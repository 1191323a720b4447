"""One large batch, cut into parts: the gradient of the whole batch, in the memory of one part."""

from __future__ import annotations

import math
import tracemalloc

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import adjoint as ad
from adjoint import ops, optim
from adjoint.core.errors import ArgumentError, ShapeError

MODES = ["dynamic", "jit", "interpreter"]


def in_mode(mode, fn):
    return fn if mode == "dynamic" else ad.jit(fn, backend="native" if mode == "jit" else mode)


def arrays(seed, examples, width=3):
    rng = np.random.default_rng(seed)
    return rng.normal(size=(width, 2)), rng.normal(size=(examples, width)), rng.normal(size=(examples, 2))


def by_differences(loss, w, *rest, step=1e-6):
    """The gradient by w of the loss of the whole batch, from its values alone."""
    found = np.zeros_like(w)
    for index in np.ndindex(*w.shape):
        d = np.zeros_like(w)
        d[index] = step
        found[index] = (float(loss(w + d, *rest)) - float(loss(w - d, *rest))) / (2 * step)
    return found


def mean_loss(w, x, y):
    return np.mean((np.tanh(x @ w) - y) ** 2)


def sum_loss(w, x, y):
    return np.sum((np.tanh(x @ w) - y) ** 2)


LOSSES = {"mean": mean_loss, "sum": sum_loss}


@settings(max_examples=25, deadline=None)
@given(
    st.integers(1, 23), st.integers(1, 9), st.sampled_from(["mean", "sum"]), st.sampled_from(MODES), st.integers(0, 99)
)
def test_parts_of_any_size_give_the_gradient_of_the_batch(examples, parts, reduction, mode, seed):
    w, x, y = arrays(seed, examples)
    loss = LOSSES[reduction]
    run = in_mode(mode, optim.GradientAccumulation(parts).value_and_grad(loss, reduction=reduction))
    value, gradient = run(w, x, y)
    np.testing.assert_allclose(value.asnumpy(), loss(w, x, y), rtol=1e-12)
    whole = ad.grad(loss)(w, x, y).asnumpy()
    np.testing.assert_allclose(gradient.asnumpy(), whole, rtol=1e-11, atol=1e-13)
    np.testing.assert_allclose(gradient.asnumpy(), by_differences(loss, w, x, y), rtol=1e-6, atol=1e-6)


@pytest.mark.parametrize("mode", MODES)
@pytest.mark.parametrize(("examples", "parts"), [(13, 5), (12, 4), (7, 7), (5, 1)])
def test_further_outputs_come_part_by_part(mode, examples, parts):
    w, x, y = arrays(1, examples)

    def loss(w, x, y):
        p = np.tanh(x @ w)
        return np.mean((p - y) ** 2), p, {"wrong": np.sum(p * y < 0)}

    run = in_mode(mode, optim.GradientAccumulation(parts).value_and_grad(loss, has_aux=True))
    (value, rows, counts), gradient = run(w, x, y)
    (expected, p, count), whole = ad.value_and_grad(loss, has_aux=True)(w, x, y)
    np.testing.assert_allclose(value.asnumpy(), expected.asnumpy(), rtol=1e-12)
    np.testing.assert_allclose(np.concatenate([r.asnumpy() for r in rows]), p.asnumpy(), rtol=1e-12)
    assert sum(int(c["wrong"]) for c in counts) == int(count["wrong"])
    assert len(rows) == len(counts) == math.ceil(examples / math.ceil(examples / parts))
    np.testing.assert_allclose(gradient.asnumpy(), whole.asnumpy(), rtol=1e-11)


@pytest.mark.parametrize("mode", MODES)
def test_several_containers_and_arguments_that_are_not_cut(mode):
    w, x, y = arrays(2, 11)
    params = {"w": w, "b": [np.zeros(2)]}

    def loss(params, rate, batch):
        p = np.tanh(batch["x"] @ params["w"] + params["b"][0]) * rate
        return np.mean((p - batch["y"]) ** 2)

    run = in_mode(mode, optim.GradientAccumulation(3).value_and_grad(loss, (0, 1), batch=2))
    value, (by_params, by_rate) = run(params, 0.7, {"x": x, "y": y})
    expected, (own, rate) = ad.value_and_grad(loss, (0, 1))(params, 0.7, {"x": x, "y": y})
    np.testing.assert_allclose(value.asnumpy(), expected.asnumpy(), rtol=1e-12)
    np.testing.assert_allclose(by_params["w"].asnumpy(), own["w"].asnumpy(), rtol=1e-11)
    np.testing.assert_allclose(by_params["b"][0].asnumpy(), own["b"][0].asnumpy(), rtol=1e-11)
    np.testing.assert_allclose(by_rate.asnumpy(), rate.asnumpy(), rtol=1e-11)


@pytest.mark.parametrize("mode", MODES)
def test_weights_of_a_network_and_integer_labels(mode):
    net = ad.nn.Dense(4, 3)
    rng = np.random.default_rng(3)
    x, labels = rng.normal(size=(10, 4)).astype(np.float32), rng.integers(0, 3, 10)

    def loss(x, labels):
        return ops.cross_entropy(net(x), labels)

    weights = net.trainable_params()
    value, grads = in_mode(mode, optim.GradientAccumulation(4).value_and_grad(loss, None, weights))(x, labels)
    expected, whole = ad.value_and_grad(loss, None, weights)(x, labels)
    np.testing.assert_allclose(value.asnumpy(), expected.asnumpy(), rtol=1e-5)
    for a, b in zip(grads, whole, strict=True):
        np.testing.assert_allclose(a.asnumpy(), b.asnumpy(), rtol=1e-4, atol=1e-6)


def test_other_transforms_around_it():
    w, x, y = arrays(4, 9)
    parted = optim.GradientAccumulation(4).value_and_grad(mean_loss)

    def size(w):
        return ops.sum(parted(w, x, y)[1] ** 2)

    def whole(w):
        return ops.sum(ad.grad(mean_loss)(w, x, y) ** 2)

    for run in (ad.grad(size), ad.jit(ad.grad(size))):
        np.testing.assert_allclose(run(w).asnumpy(), ad.grad(whole)(w).asnumpy(), rtol=1e-10)
    ws = np.stack([w, w + 0.1])
    mapped = ad.jit(ad.vmap(lambda w: parted(w, x, y)[1]))(ws)
    np.testing.assert_allclose(mapped.asnumpy()[1], ad.grad(mean_loss)(ws[1], x, y).asnumpy(), rtol=1e-10)


@pytest.mark.parametrize("examples", [12, 13])
def test_a_compiled_step_in_parts_is_the_step_of_the_batch(examples):
    w, x, y = arrays(5, examples)
    found = []
    for more in ({}, {"parts": 5}):
        p = ad.Parameter(ad.Tensor(w), name="w")
        step = optim.compiled_step(
            lambda x, y, p=p: ops.mean((ops.tanh(x @ p) - y) ** 2), [p], optim.Adam([p], 0.1), **more
        )
        losses = [float(step(ad.Tensor(x), ad.Tensor(y))) for _ in range(4)]
        found.append((losses, p.asnumpy()))
    np.testing.assert_allclose(found[1][0], found[0][0], rtol=1e-10)
    np.testing.assert_allclose(found[1][1], found[0][1], rtol=1e-8)


def test_what_cannot_be_cut_is_refused():
    accumulation, (w, x, y) = optim.GradientAccumulation(3), arrays(6, 8)
    with pytest.raises(ArgumentError, match="reduction"):
        accumulation.value_and_grad(mean_loss, reduction="max")
    with pytest.raises(ArgumentError, match="cut into parts and differentiated"):
        accumulation.value_and_grad(mean_loss, batch=(0, 1))
    with pytest.raises(ShapeError, match="equally long"):
        accumulation.value_and_grad(mean_loss)(w, x, y[:-1])
    with pytest.raises(ShapeError, match="batch="):
        accumulation.value_and_grad(lambda w, x, k: ops.mean(w * k))(w, x, 2.0)
    with pytest.raises(ArgumentError, match="positions of the 2 arguments"):
        accumulation.value_and_grad(lambda w, x: ops.mean(w), batch=5)(w, x)
    with pytest.raises(ArgumentError, match="by name are not cut"):
        accumulation.value_and_grad(mean_loss)(w, x, y=y)
    with pytest.raises(ShapeError, match="one number"):
        accumulation.value_and_grad(lambda w, x: x @ w)(w, x)
    with pytest.raises(ArgumentError, match="second output"):
        accumulation.value_and_grad(mean_loss, has_aux=True)(w, x, y)
    with pytest.raises(ArgumentError, match="parts"):
        p = ad.Parameter(ad.Tensor([1.0]), name="p")
        optim.compiled_step(lambda x: ops.mean(p * x), [p], optim.SGD([p], 0.1), parts=0)


@pytest.mark.parametrize("parts", [1, 2])
@pytest.mark.parametrize("reduction", ["max", None, "Mean"])
def test_steps_refuse_reductions_that_are_none(parts, reduction):
    p = ad.Parameter(ad.Tensor([1.0]), name="p")
    with pytest.raises(ArgumentError, match='compiled_step: reduction must be "mean" or "sum"'):
        optim.compiled_step(lambda x: ops.mean(p * x), [p], optim.SGD([p], 0.1), parts=parts, reduction=reduction)


def test_a_batch_by_keyword_is_refused_and_not_left_whole():
    """With parts of one example each, the whole of `y` would be broadcast against every one of them."""
    accumulation, (w, x, y) = optim.GradientAccumulation(8), arrays(6, 8)
    for args, kwargs in (((w,), {"x": x, "y": y}), ((w, x), {"y": y}), ((w, x), {"y": [y]})):
        with pytest.raises(ArgumentError, match="given by name are not cut; give the batch by position"):
            accumulation.value_and_grad(lambda w, x, y: mean_loss(w, x, y))(*args, **kwargs)
    run = accumulation.value_and_grad(lambda w, x, scale: ops.mean(x @ w) * scale.sum(), batch=1)
    whole = ad.value_and_grad(lambda w, x, scale: ops.mean(x @ w) * scale.sum())
    np.testing.assert_allclose(run(w, x, scale=y)[1], whole(w, x, scale=y)[1])  # every part needs all of it
    run = accumulation.value_and_grad(lambda w, x, scale: ops.mean(x @ w) * scale)
    np.testing.assert_allclose(run(w, x, scale=2.0)[0], 2 * np.mean(x @ w))


def test_messages_about_batches_are_short():
    accumulation = optim.GradientAccumulation(2)
    with pytest.raises(ShapeError, match="make a Tensor of them") as caught:
        accumulation.value_and_grad(lambda w, x: ops.mean(w * ops.array(x)))(2.0, [[1.0] * 50] * 50)
    assert len(str(caught.value)) < 600
    with pytest.raises(ShapeError, match=r"\(5, 2\), \.\.\."):
        accumulation.value_and_grad(lambda w, x: w)(2.0, [np.ones((k, 2)) for k in range(1, 90)])
    with pytest.raises(ShapeError, match="there is no batch"):
        accumulation.value_and_grad(lambda w: w)(2.0)


def peak_of(run, *args):
    run(*args)
    tracemalloc.start()
    try:
        run(*args)
        return tracemalloc.get_traced_memory()[1]
    finally:
        tracemalloc.stop()


def deep(w, x):
    for k in range(10):
        x = ops.tanh(x @ w[k])
    return ops.mean(x * x)


def test_the_memory_is_that_of_one_part():
    """Ten layers of 4,000 × 64 numbers are 20 MB; of a part of 500 examples, an eighth."""
    rng = np.random.default_rng(7)
    w, x = rng.normal(size=(10, 64, 64)) / 8, rng.normal(size=(4000, 64))
    whole = peak_of(ad.value_and_grad(deep), w, x)
    assert whole > 20e6
    assert peak_of(optim.GradientAccumulation(8).value_and_grad(deep), w, x) < whole / 5


@pytest.mark.parametrize("backend", ["native", "interpreter"])
@pytest.mark.parametrize(("examples", "parts"), [(4000, 8), (4001, 3), (4000, 250)])
def test_the_memory_of_a_compiled_gradient_is_that_of_one_part(backend, examples, parts):
    w, x = np.ones((10, 64, 64)), np.ones((examples, 64))
    whole = ad.jit(ad.value_and_grad(deep), backend=backend).memory(w, x)
    one = ad.jit(ad.value_and_grad(deep), backend=backend).memory(w, x[: -(-examples // parts)])
    run = optim.GradientAccumulation(parts).value_and_grad(deep)
    found = ad.jit(run, backend=backend).memory(w, x)
    weights, batch = w.nbytes, x.nbytes
    assert found.peak_bytes < whole.peak_bytes / 2
    assert found.peak_bytes < 1.25 * one.peak_bytes + batch + 6 * weights

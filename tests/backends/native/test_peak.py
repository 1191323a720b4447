"""The peak of compiled programs: nothing is held that need not be, and the numbers are the interpreter's."""

from __future__ import annotations

import sys
from typing import Any

import numpy as np
import pytest

import adjoint as ad
from adjoint import nn, ops
from adjoint.backends.native.plan import computed_again, given_back
from adjoint.core.tree import flatten


def arrays(count: int, *shape: int) -> list[np.ndarray]:
    random = np.random.default_rng(0)
    return [(random.normal(size=shape) / 10).astype(np.float32) for _ in range(count)]


def agree(fn: Any, *args: Any) -> None:
    """Compiled and interpreted results are equal to rounding."""
    found, wanted = (flatten(ad.jit(fn, backend=b)(*args))[0] for b in ("native", "interpreter"))
    for a, b in zip(found, wanted, strict=True):
        np.testing.assert_allclose(np.asarray(a), b, rtol=0, atol=1e-5 * np.abs(np.asarray(b)).max())


@pytest.mark.parametrize("perm", [(0, 2, 1), (1, 2, 0), (0, 1, 2), (2, 0, 1)])
def test_a_sum_of_products_is_one_product(perm: tuple[int, ...]) -> None:
    """The gradient of a weight that every step of a sequence uses: no product for each step exists."""
    sizes = (60, 70, 8)  # steps, rows, terms
    x = arrays(1, *[sizes[perm.index(k)] for k in range(3)])[0]
    y = arrays(1, 60, 8, 90)[0]

    def f(x: Any, y: Any) -> Any:
        return ops.sum(ops.transpose(x, perm) @ y, 0)

    assert ad.jit(f).memory(x, y).peak_bytes < 60 * 70 * 90
    agree(f, x, y)


def test_an_argument_that_nothing_reads_does_not_keep_others_from_being_overwritten() -> None:
    w, unused = arrays(1, 300, 300)[0], np.arange(3)
    step = ad.jit(lambda w, n: w * 2.0 + 1.0, donate="w")
    assert step.memory(ad.Tensor(w), unused).peak_bytes == 0
    assert (step(ad.Tensor(w), unused).asnumpy() == w * np.float32(2) + np.float32(1)).all()


def test_nests_that_share_nothing_are_not_joined() -> None:
    """The gradients of all biases would be one pass over all cotangents, which would be held for it."""
    network = nn.SequentialCell(*[cell for _ in range(12) for cell in (nn.Dense(256, 256), nn.ReLU())])
    weights = list(network.trainable_params())
    optimiser = ad.optim.SGD(weights, learning_rate=0.01)
    step = ad.optim.compiled_step(lambda x: ops.mean(network(x) ** 2), weights, optimiser)
    report = step.memory(ad.Tensor(arrays(1, 2048, 256)[0]))
    assert sum(held.what == "Sum" for held in report.at_peak) <= 2
    assert report.scratch_bytes < 3 * 2048 * 256 * 4


def network(ws: Any, x: Any) -> Any:
    for w in ws:
        x = ops.relu(x @ w)
    return ops.mean(x * x)


def test_activations_are_in_gradients_that_are_not_yet_written() -> None:
    """A batch that is smaller than the layers are wide: the activations take no memory of their own."""
    ws, x = arrays(24, 256, 256), arrays(1, 128, 256)[0]
    report = ad.jit(ad.grad(network)).memory(ws, x)
    assert report.result_bytes == 24 * 256 * 256 * 4
    assert report.arena_bytes < 10 * x.nbytes
    agree(ad.grad(network), ws, x)


def test_results_of_several_kinds_hold_intermediates() -> None:
    """Results that are reshaped, written twice over, copied from an argument or made by a loop, beside one that is free for long."""

    def f(x: Any, w: Any) -> Any:
        parts = []
        y = x
        for _ in range(12):
            y = ops.tanh(y @ w)
            parts.append(y)
        total = y
        for part in reversed(parts):
            total = ops.cumsum(total, 1) * 0.01 + part
        return ops.reshape(total, (-1,)), total, x, ops.stack(parts[:3]), ops.cumsum(total @ w, 0)

    x, w = arrays(1, 512, 256)[0], arrays(1, 256, 256)[0]
    agree(f, x, w)
    agree(ad.grad(lambda x, w: sum(ops.sum(part) for part in f(x, w)), (0, 1)), x, w)


def attention(ws: Any, x: Any) -> Any:
    for w, gain, wide, narrow in ws:
        centred = x - ops.mean(x, -1, keepdims=True)
        normed = centred / ops.sqrt(ops.mean(centred * centred, -1, keepdims=True) + 1e-5) * gain
        weights = ops.softmax(normed @ ops.transpose(normed @ w, (0, 2, 1)), -1)
        x = x + weights @ normed
        x = x + ops.gelu(x @ wide) @ narrow
    return ops.sum(x * x)


def test_what_is_cheap_is_computed_again(monkeypatch: pytest.MonkeyPatch) -> None:
    """Neither a layer norm's result, nor a softmax beside its exponentials, nor an activation's result is kept over the peak."""
    ws = [[arrays(1, *s)[0] for s in ((96, 96), (96,), (96, 384), (384, 96))] for _ in range(6)]
    x = arrays(1, 4, 128, 96)[0]
    compiled = ad.jit(ad.grad(attention))
    report, found = compiled.memory(ws, x), compiled(ws, x)
    monkeypatch.setattr(computed_again, "STEPS", 0)
    plain = ad.jit(ad.grad(attention))
    assert report.arena_bytes < 0.75 * plain.memory(ws, x).arena_bytes
    for a, b in zip(flatten(found)[0], flatten(plain(ws, x))[0], strict=True):
        np.testing.assert_allclose(a, b, rtol=0, atol=1e-6 * np.abs(b).max())
    agree(ad.grad(attention), ws, x)


@pytest.mark.skipif(sys.platform != "linux", reason="memory is given back on Linux")
def test_activations_are_given_back_as_gradients_appear(monkeypatch: pytest.MonkeyPatch) -> None:
    """A batch that is larger than the layers are wide: together they take hardly more than the activations."""
    ws, x = arrays(16, 256, 256), arrays(1, 4096, 256)[0]
    compiled = ad.jit(ad.grad(network))
    report = compiled.memory(ws, x)
    most = max(moment.bytes for moment in report.timeline)  # of what lives at one time
    assert report.peak_bytes < 1.02 * most
    monkeypatch.setattr(given_back, "SHARE", 0.0)
    plain = ad.jit(ad.grad(network))
    before, wanted = plain.memory(ws, x).peak_bytes, plain(ws, x)
    assert report.peak_bytes < before - 12 * 256 * 256 * 4
    for _ in range(3):  # what was given back is there again
        assert all((a == b).all() for a, b in zip(compiled(ws, x), wanted, strict=True))


def test_masks_are_kept_not_the_numbers_that_they_choose() -> None:
    """Of dropout a byte is kept for each element, beside what it is applied to."""

    def dropped(ws: Any, x: Any) -> Any:
        for k, w in enumerate(ws):
            x = ops.dropout(ops.tanh(x @ w), 0.2, seed=k)
        return ops.sum(x * x)

    ws, x = arrays(12, 128, 128), arrays(1, 2048, 128)[0]
    compiled = ad.jit(ad.grad(dropped))
    report = compiled.memory(ws, x)
    assert report.arena_bytes < 12 * x.nbytes * 1.25 + 5 * x.nbytes
    masks = [held for held in report.at_peak if held.shape == x.shape and held.bytes == x.size]
    assert len(masks) >= 10
    agree(ad.grad(dropped), ws, x)

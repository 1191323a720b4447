"""What derivative rules read: found out beforehand, and never more than that."""

from __future__ import annotations

import numpy as np
import pytest

import adjoint as ad
from adjoint import nn, ops
from adjoint.core.absent import ZERO
from adjoint.core.spec import spec_of
from adjoint.ops import REGISTRY, Add, MatMul, Mul, Sin, Tanh
from adjoint.testing.cases import cases, inexact
from adjoint.transforms import rule_needs, tape
from adjoint.transforms.records import Leaf, Record
from adjoint.transforms.rule_needs import deferred, needs_of


def record(op, *xs):
    return Record(
        op, [Leaf(x) if isinstance(x, np.ndarray) and inexact(x) else None for x in xs], list(xs), op.eval(np, *xs)
    )


def cotangents(op, g, y, xs, wanted):
    with np.errstate(all="ignore"):
        return [(c() if callable(c) else c) if w else None for c, w in zip(op.vjp(g, y, *xs), wanted, strict=True)]


def absent(x):
    def read():
        raise AssertionError("the rule reads what it was said not to need")

    return deferred(spec_of(x), read)


@pytest.mark.parametrize("name", REGISTRY)
def test_rules_read_no_more_than_was_found_out(name):
    """The same cotangents, to the bit, when what is not needed cannot be read."""
    for case, *_ in cases(REGISTRY[name]):
        op, xs = case.op, list(case.xs)
        with np.errstate(all="ignore"):
            y = op.eval(np, *xs)
        if not op.differentiable or op.opaque or not isinstance(y, np.ndarray):
            continue
        wanted = [inexact(x) for x in xs]
        if not any(wanted):
            continue
        needs = needs_of(record(op, *xs))
        assert needs is not None
        g = np.cos(np.arange(y.size)).reshape(y.shape).astype(y.dtype)
        less = [x if n or not w else absent(x) for x, n, w in zip(xs, needs[1], wanted, strict=True)]
        found = cotangents(op, g, y if needs[0] else absent(y), less, wanted)
        for a, b in zip(found, cotangents(op, g, y, xs, wanted), strict=True):
            assert type(a) is type(b)
            if b is not None and b is not ZERO:
                np.testing.assert_array_equal(a, b)


def test_what_some_rules_need():
    x, w = np.ones((2, 3)), np.ones((3, 4))
    assert needs_of(record(Add(), x, x)) == (False, (False, False))
    assert needs_of(record(Mul(), x, x)) == (False, (True, True))
    assert needs_of(record(Mul(), x, 2.0)) == (False, (False, False))
    assert needs_of(record(Tanh(), x)) == (True, (False,))
    assert needs_of(record(Sin(), x)) == (False, (True,))
    assert needs_of(record(MatMul(), x, w)) == (False, (True, True))


def test_what_is_read_after_all_is_fetched():
    x = np.arange(3.0)
    fetched = deferred(spec_of(x), lambda: x)
    assert fetched.shape == (3,)
    np.testing.assert_array_equal(Sin()(fetched), np.sin(x))
    np.testing.assert_array_equal(fetched.asnumpy(), x)


def attention(x, w):
    q, k, v = x @ w, x * 0.5, ops.tanh(x)
    weights = ops.softmax(q @ k.swapaxes(-1, -2), -1)
    return ops.sum((weights @ v) ** 2) + ops.mean(ops.relu(x[1:] - x[:-1]))


def network(x, w):
    conv = nn.Conv2d(1, 3, 3, weight_init="ones")
    y = ops.max_pool2d(ops.relu(conv(ops.reshape(x, (1, 1, *x.shape)))), 2)
    return ops.sum(ops.sigmoid(y)) + ops.sum(ops.where(x > 0, x / (1 + x * x), x @ w))


def written(x, w):
    y = ops.exp(-x) @ w
    y[0] = x[0] * 2
    return ops.sum(y * ops.cumsum(y, 0)) + ops.max(ops.stack([x, y])) + ops.log(ops.sum(ops.exp(x)))


@pytest.mark.parametrize("f", [attention, network, written], ids=lambda f: f.__name__)
def test_a_tape_without_what_no_rule_reads(f, monkeypatch):
    """The same bits as a tape that keeps everything, to the second order."""
    rng = np.random.default_rng(0)
    x, w = rng.normal(size=(9, 9)), rng.normal(size=(9, 9))
    product = lambda x, w: ad.vjp(ad.grad(f, (0, 1)), x, w)[1]((x, w))
    pulled = ad.vjp(f, x, w)[1]
    want = [*ad.grad(f, (0, 1))(x, w), *product(x, w)]
    for module in (tape, rule_needs):
        monkeypatch.setattr(module, "LARGE", 0)
    pull = ad.vjp(f, x, w)[1]
    for found in ([*ad.grad(f, (0, 1))(x, w), *product(x, w)], pull(1.0), pull(1.0), pulled(1.0)):
        for a, b in zip(found, want, strict=False):
            np.testing.assert_array_equal(a, b)
    a, b = ad.linearize(f, (x, w))[1](x, w), ad.jvp(f, (x, w), (x, w))[1]
    np.testing.assert_array_equal(a, b)
    for again in (ad.checkpoint(f), lambda x, w: ad.recompute(f, x, w) + f(x, w)):
        np.testing.assert_allclose(
            ad.grad(again)(x, w) / want[0], np.round(float(ad.grad(again)(x, w).sum() / want[0].sum()))
        )
    leaf = ad.Tensor(x, requires_grad=True)
    f(leaf, w).backward()
    np.testing.assert_array_equal(leaf.grad, want[0])


def test_an_input_that_no_rule_reads_is_let_go_of():
    x, w = ad.Tensor(np.ones((200, 200))), np.eye(200)
    kept = []

    def f(x):
        product = x @ w
        kept.append(product)
        return ops.sum(ops.relu(product))

    ad.grad(f)(x)
    assert not isinstance(kept[0]._extra.y, np.ndarray)


def test_a_rule_that_reads_a_parameter_in_a_compiled_function() -> None:
    """It is no input of the graph whose derivative is asked for: refused by name, and the gradient can be compiled instead."""
    weight = ad.Parameter(ad.Tensor([3.0]), name="weight")
    ruled = ad.custom_vjp(lambda x: x * 2, lambda x, out, g: (g * weight,))

    def f(x):
        return ruled(x) * 5

    x = ad.Tensor([2.0])
    with pytest.raises(ad.AdjointError, match=r"reads a Parameter.*jit\(grad\(f\)\)"):
        ad.grad(ad.jit(f))(x)
    assert np.allclose(ad.jit(ad.grad(f))(x), 15.0) and np.allclose(ad.grad(f)(x), 15.0)

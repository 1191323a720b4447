"""Checkpoints: the same values and gradients with less memory, under every transform and in both modes."""

from __future__ import annotations

import gc
import tracemalloc
import weakref

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import adjoint as ad
from adjoint import nn, ops
from adjoint.core import tree

RNG = np.random.default_rng(0)
WEIGHTS = [RNG.normal(size=(9, 9)) for _ in range(4)]
X = RNG.normal(size=(5, 9))


def layer(x, w):
    return ops.tanh(x @ w) * ops.sin(x) + ops.where(x > 0, x, 0.1 * x)


def nested(x, w):
    inner = ad.checkpoint(layer)
    h = inner(x, w)
    return inner(ops.cos(h), w) * h


def plain_nested(x, w):
    h = layer(x, w)
    return layer(ops.cos(h), w) * h


def branching(x, w):
    if ops.sum(x) > 0:
        return layer(x, w)
    for _ in range(12):
        x = x * 0.9 + ops.sin(x @ w) * 0.1
    return x


LAYERS = {"plain": (layer, layer), "nested": (plain_nested, nested), "branching": (branching, branching)}


def network(layer):
    def loss(weights, x):
        for w in weights:
            x = layer(x, w)
        return ops.sum(x * x)

    return loss


TRANSFORMS = {
    "grad": lambda f: ad.grad(f, (0, 1)),
    "value_and_grad": lambda f: ad.value_and_grad(f),
    "jit of grad": lambda f: ad.jit(ad.grad(f, (0, 1))),
    "grad of jit": lambda f: ad.grad(ad.jit(f), (0, 1)),
    "interpreted": lambda f: ad.jit(ad.grad(f, (0, 1)), backend="interpreter"),
    "jvp": lambda f: lambda w, x: ad.jvp(lambda x: f(w, x), x, np.cos(x)),
    "jit of jvp": lambda f: ad.jit(lambda w, x: ad.jvp(lambda x: f(w, x), x, ops.cos(x))),
    "vmap of grad": lambda f: lambda w, x: ad.vmap(lambda row: ad.grad(f)(w, row))(x),
    "grad of vmap": lambda f: ad.grad(lambda w, x: ops.sum(ad.vmap(lambda row: f(w, row))(x))),
    "jit of grad of vmap": lambda f: ad.jit(ad.grad(lambda w, x: ops.sum(ad.vmap(lambda row: f(w, row))(x)))),
    "vjp, pulled twice": lambda f: lambda w, x: [ad.vjp(lambda x: f(w, x), x)[1](2.0) for _ in range(2)],
}
SECOND = {
    "grad of grad": lambda f: ad.grad(lambda w, x: ops.sum(ad.grad(f, 1)(w, x) ** 2)),
    "jit of grad of grad": lambda f: ad.jit(ad.grad(lambda w, x: ops.sum(ad.grad(f, 1)(w, x) ** 2))),
    "hvp": lambda f: lambda w, x: ad.hvp(lambda x: f(w, x))(x, np.sin(x)),
    "jit of hvp": lambda f: ad.jit(lambda w, x: ad.hvp(lambda x: f(w, x))(x, ops.sin(x))),
}


def arrays(value):
    return [np.asarray(x) for x in tree.leaves(value)]


CASES = [(name, kind) for name in TRANSFORMS for kind in LAYERS if kind != "branching" or "vmap" not in name]


def compare(transform, kind, check):
    plain, checked = LAYERS[kind]
    expected = transform(network(plain))(WEIGHTS, X)
    found = transform(network(ad.checkpoint(checked)))(WEIGHTS, X)
    for a, b in zip(arrays(found), arrays(expected), strict=True):
        check(a, b)


@pytest.mark.parametrize(("name", "kind"), CASES)
def test_values_and_gradients_are_the_same_bit_for_bit(name, kind):
    """In machine code, products that are joined into one without a checkpoint may be rounded differently."""
    rounded = lambda a, b: np.testing.assert_allclose(a, b, rtol=1e-13, atol=1e-15)
    joined = kind == "nested" and "jit" in name
    compare(TRANSFORMS[name], kind, rounded if joined else np.testing.assert_array_equal)


@pytest.mark.parametrize("kind", LAYERS)
@pytest.mark.parametrize("name", SECOND)
def test_second_derivatives_are_the_same(name, kind):
    compare(SECOND[name], kind, lambda a, b: np.testing.assert_allclose(a, b, rtol=1e-11, atol=1e-11))


# ---------------------------------------------------------------- random nests


STEPS = [
    ops.sin, ops.tanh, lambda x: x * x, lambda x: ops.exp(-x * x), lambda x: x @ WEIGHTS[0] / 9, lambda x: x[::-1] + x,
    lambda x: ops.concat([x[:, 3:], x[:, :3]], 1), lambda x: ops.sum(x, 1, keepdims=True) * x / 9, lambda x: ops.relu(x),
    lambda x: ops.stack(ops.unstack(x, 0), 0) * 1.1, lambda x: x.reshape(9, 5).T,
]  # fmt: skip
programs = st.recursive(
    st.lists(st.integers(0, len(STEPS) - 1), max_size=4),
    lambda inner: st.lists(st.one_of(st.integers(0, len(STEPS) - 1), inner), max_size=5),
    max_leaves=12,
)


def composed(program, around, stash):
    """The steps one after another, lists of them inside `around`; values of one part are used in later ones."""

    def run(x):
        for step in program:
            y = STEPS[step](x) if isinstance(step, int) else around(composed(step, around, stash))(x)
            if len(stash) % 3 == 1:
                y = y + 0.1 * stash[-1]
            stash.append(y)
            x = y
        return x

    return run


@settings(max_examples=40, deadline=None)
@given(programs, st.booleans())
def test_random_nests_of_checkpoints(program, static):
    def loss(around):
        def total(x):
            stash = []
            return ops.sum(composed(program, around, stash if not static else Off())(x) ** 2)

        return total

    transform = (lambda f: ad.jit(ad.grad(f), backend="interpreter")) if static else ad.grad
    expected, found = (np.asarray(transform(loss(around))(X)) for around in (lambda f: f, ad.checkpoint))
    np.testing.assert_allclose(found, expected, rtol=1e-12 if static else 0)


class Off(list):
    """Keeps nothing: what a part of a graph has computed may not leave it by the side."""

    def append(self, x):
        pass


# ---------------------------------------------------------------- what a function reads and does


def test_tracked_values_and_parameters_from_outside():
    net = nn.Dense(9, 9, dtype=np.float64)
    weights = net.trainable_params()

    def loss(x, around):
        scale = ops.sin(x[0, 0])
        return ops.sum(around(lambda y: ops.tanh(net(y)) * scale + net.weight[0, 0])(x * x))

    for transform in (lambda f: ad.grad(f, 0, weights), lambda f: ad.jit(ad.grad(f, 0, weights))):
        expected = transform(lambda x: loss(x, lambda f: f))(X)
        for a, b in zip(arrays(transform(lambda x: loss(x, ad.checkpoint))(X)), arrays(expected), strict=True):
            np.testing.assert_array_equal(a, b)


def test_backward_and_gradient_tape():
    f = ad.checkpoint(lambda x: ops.sin(x) * ops.exp(x) * x)
    expected = ad.grad(lambda x: ops.sin(x) * ops.exp(x) * x)(X)
    x = ad.Tensor(X, requires_grad=True)
    f(x).sum().backward()
    np.testing.assert_array_equal(x.grad, expected)
    y = ad.Tensor(X)
    with ad.GradientTape(persistent=True) as tape:
        z = f(y)
    for _ in range(2):
        np.testing.assert_array_equal(tape.gradient(z, y), expected)


@pytest.mark.parametrize("static", [False, True])
def test_random_samples_repeat_and_the_function_is_called_once(static):
    calls = []

    def part(x):
        calls.append(1)
        return ops.dropout(x, p=0.4) * x * ops.randn(5, 9)

    found = []
    for around in (lambda f: f, ad.checkpoint):
        ad.set_seed(3)
        f = ad.grad(lambda x, around=around: ops.sum(around(part)(x) ** 2))
        found.append(np.asarray((ad.jit(f) if static else f)(X)))
    np.testing.assert_array_equal(*found)
    assert len(calls) == 2 or static


@pytest.mark.parametrize("static", [False, True])
def test_samples_and_effects_in_loops(static, capsys):
    net = nn.SequentialCell(nn.BatchNorm1d(9, momentum=0.5), nn.Dropout(p=0.2)).set_train().recompute()

    def part(x):
        for _ in range(12):
            x = ops.dropout(x, p=0.3) * 1.1
        print("part")
        return x + ops.randn(5, 9)

    found = []
    for around in (lambda f: f, ad.checkpoint):
        ad.set_seed(1)
        f = ad.grad(lambda x, around=around: ops.sum(around(part)(x) ** 2 * ops.randn(5, 9)))
        found.append(np.asarray((ad.jit(f) if static else f)(X)))
    np.testing.assert_allclose(*found, rtol=1e-14)
    assert capsys.readouterr().out == "part\n" * 2
    f = ad.grad(lambda x: ops.sum(net(x) ** 2))
    (ad.jit(f) if static else f)(X.astype(np.float32))
    np.testing.assert_allclose(net[0].moving_mean, 0.5 * X.mean(0), rtol=1e-5)


@pytest.mark.parametrize("transform", [ad.grad, lambda f: ad.jit(ad.grad(f)), lambda f: ad.grad(ad.jit(f))])
def test_in_the_body_of_a_loop(transform):
    def rolled(around):
        def loss(w, x):
            for _ in range(30):
                x = around(layer)(x, w) * 0.7
            while ops.sum(x * x) < 100.0:
                x = around(layer)(x, w) * 1.5
            return ops.sum(x)

        return loss

    expected, found = (
        np.asarray(transform(rolled(around))(WEIGHTS[0] / 3, X)) for around in (lambda f: f, ad.checkpoint)
    )
    np.testing.assert_allclose(found, expected, rtol=1e-11, atol=1e-11)


def test_a_rule_of_ones_own_inside():
    clipped = ad.custom_vjp(lambda x: x * x, lambda x, out, dout: (ops.clip(dout * x, -1, 1),))

    def loss(x, around):
        return ops.sum(around(lambda y: ops.sin(clipped(ops.cos(y))))(x))

    for transform in (ad.grad, lambda f: ad.jit(ad.grad(f)), lambda f: ad.grad(ad.jit(f))):
        expected = transform(lambda x: loss(x, lambda f: f))(X)
        np.testing.assert_array_equal(transform(lambda x: loss(x, ad.checkpoint))(X), expected)


def test_containers_numbers_and_other_results():
    @ad.checkpoint
    def part(x, options, scale=2.0):
        return {"y": ops.sin(x) * options["k"] * scale, "n": 3, "index": ops.argmax(x), "none": None, "name": "part"}

    for wrap in (lambda f: f, ad.jit):
        out = wrap(lambda x: part(x, {"k": 1.5}, scale=3.0))(X)
        assert (out["n"], int(out["index"]), out["none"], out["name"]) == (3, int(np.argmax(X)), None, "part")
        grad = wrap(ad.grad(lambda x: ops.sum(part(x, {"k": 1.5}, scale=3.0)["y"])))(X)
        np.testing.assert_allclose(grad, 4.5 * np.cos(X), rtol=1e-15)


def test_errors_pass_through_and_a_function_is_needed():
    def failing(x):
        raise KeyError("mine")

    with pytest.raises(KeyError, match="mine"):
        ad.grad(lambda x: ad.recompute(failing, x))(1.0)
    with pytest.raises(TypeError, match="checkpoint: the first argument must be a function"):
        ad.checkpoint(3.0)
    with pytest.raises(TypeError, match="recompute: the first argument must be a function"):
        ad.recompute(3.0)


# ---------------------------------------------------------------- memory


def peak(around, count=4):
    x = ad.Tensor(np.ones(100_000))

    def part(x):
        for _ in range(8):
            x = ops.tanh(x) * 1.01
        return x

    def loss(x):
        for _ in range(count):
            x = around(part)(x)
        return ops.sum(x)

    tracemalloc.start()
    ad.grad(loss)(x)
    size = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()
    return size


def test_less_is_kept_in_dynamic_mode():
    plain = peak(lambda f: f)
    assert peak(ad.checkpoint) < 0.65 * plain
    four = lambda f: lambda x: f(f(f(f(x))))
    assert peak(lambda f: ad.checkpoint(four(ad.checkpoint(f))), 4) < 0.8 * peak(ad.checkpoint, 16)


def test_what_is_never_differentiated_is_freed_at_once():
    """No reference cycles: memory must not wait for the collector."""

    class Probe(np.ndarray):
        pass

    gc.collect()
    gc.disable()
    try:
        x = ad.Tensor(np.ones(10), requires_grad=True)
        y = ad.checkpoint(lambda x: ops.sin(ops.cos(x)) * x)(x)
        record = weakref.ref(y)
        seen = [ref for ref in (weakref.ref(y._value.view(Probe)),) if ref() is not None]
        del y
        assert record() is None and not seen
    finally:
        gc.enable()

"""Draws in compiled functions: anew in each call, and the same numbers as in dynamic mode."""

from __future__ import annotations

from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from typing import Any

import numpy as np
import pytest

import adjoint as ad
from adjoint import nn, ops

X = ad.Tensor(np.linspace(-1.0, 2.0, 6))
BACKENDS = ["interpreter", "native"]


def straight(x):
    return x * ops.randn(6, dtype=ad.float64) + ops.dropout(x, 0.5) + ops.rand_like(x)


def every_kind(x):
    weights = ops.exp(x)
    found = [
        ops.normal((6,), x, 2.0), ops.uniform((6,), x, 3.0), ops.exponential((6,), weights),
        ops.bernoulli(ops.sigmoid(x)), ops.gumbel_softmax(x), ops.multinomial(weights, 6).astype(ad.float64),
        ops.multinomial(weights, 6, replacement=False).astype(ad.float64), ops.shuffle(x),
        ops.randint(3, 9, (6,)).astype(ad.float64), ops.randperm(6).astype(ad.float64), ops.randn_like(x),
    ]  # fmt: skip
    return sum(k * y for k, y in enumerate(found))


def in_a_branch(x):
    y = ops.dropout(x, 0.3)
    if ops.sum(y) > 1.0:
        y = y + ops.randn(6, dtype=ad.float64)
    else:
        y = y * ops.rand(6, dtype=ad.float64) + ops.rand(6, dtype=ad.float64)
    return y + ops.randn(6, dtype=ad.float64)


def in_a_loop(x):
    h = x
    for _ in range(20):
        h = ops.tanh(h + 0.1 * ops.randn(6, dtype=ad.float64)) + 0.1 * ops.dropout(x, 0.5)
    return h + ops.rand_like(x)


def only_in_a_loop(x):
    for _ in range(12):
        x = x + ops.rand_like(x)
    return x


def until(x):
    total = ops.sum(x) * 0.0
    while total < 5.0:
        total = total + ops.sum(ops.rand(6, dtype=ad.float64)) * 0.3 + 0.01 * ops.sum(x * x)
        if total > 4.0:
            total = total + ops.rand((), dtype=ad.float64)
    return x * total + ops.randn(6, dtype=ad.float64)


PROGRAMS = [straight, every_kind, in_a_branch, in_a_loop, only_in_a_loop, until]


def runs(f: Callable[..., Any], *args: Any, calls: int = 3) -> list[np.ndarray]:
    """Several calls after one seed, with a plain draw after each."""
    ad.set_seed(11)
    return [np.concatenate([np.ravel(f(*args)), np.ravel(ops.rand(2, dtype=ad.float64))]) for _ in range(calls)]


@pytest.mark.parametrize("backend", BACKENDS)
@pytest.mark.parametrize("f", PROGRAMS, ids=lambda f: f.__name__)
def test_the_numbers_of_dynamic_mode(f: Callable[..., Any], backend: str) -> None:
    want = runs(f, X)
    assert not np.allclose(want[0], want[1])
    np.testing.assert_allclose(runs(ad.jit(f, backend=backend), X), want, rtol=1e-5 if f is every_kind else 1e-12)


@pytest.mark.parametrize("backend", BACKENDS)
@pytest.mark.parametrize("f", PROGRAMS, ids=lambda f: f.__name__)
def test_gradients_have_the_draws_of_their_values(f: Callable[..., Any], backend: str) -> None:
    """Dynamic, jit of grad and grad of jit: one and the same draw on the way there and back."""
    loss = lambda x: ops.sum(ops.sin(f(x)))
    want = runs(ad.grad(loss), X)
    np.testing.assert_allclose(runs(ad.jit(ad.grad(loss), backend=backend), X), want, rtol=1e-5, atol=1e-7)
    np.testing.assert_allclose(runs(ad.grad(ad.jit(loss, backend=backend)), X), want, rtol=1e-5, atol=1e-7)


@pytest.mark.parametrize("f", [in_a_loop, until, in_a_branch], ids=lambda f: f.__name__)
def test_gradients_against_differences(f: Callable[..., Any]) -> None:
    def loss(x: Any) -> Any:
        return ops.sum(ops.sin(f(x)))

    def at(x: np.ndarray) -> float:
        ad.set_seed(5)
        return float(loss(ad.Tensor(x)))

    x, h = X.asnumpy() + 0.05, 1e-6
    want = [(at(x + h * e) - at(x - h * e)) / (2 * h) for e in np.eye(6)]
    ad.set_seed(5)
    np.testing.assert_allclose(ad.jit(ad.grad(loss))(x), want, rtol=1e-6, atol=1e-7)


def test_a_compiled_function_in_a_compiled_function() -> None:
    """Each call of the inner one draws anew, in a row and in a loop, and the outer one goes on behind it."""
    inner = ad.jit(lambda x: ops.rand_like(x) + ops.rand(6, dtype=ad.float64))
    walk = ad.jit(until)

    def outer(x):
        a, b = ops.rand_like(x), inner(x)
        for _ in range(10):
            b = b + inner(x) * a
        return walk(b) + inner(x)

    want = runs(outer, X)
    np.testing.assert_allclose(runs(ad.jit(outer), X), want, rtol=1e-12)
    assert not np.allclose(inner(X), inner(X))


def test_one_graph_for_every_batch_size() -> None:
    f = lambda x: ops.dropout(x, 0.5)
    run = ad.jit(f, dynamic="x")
    for n in (3, 5, 8):
        np.testing.assert_array_equal(runs(run, np.ones((n, 4))), runs(f, np.ones((n, 4))))
    assert len(run.compilations) == 1


@pytest.mark.parametrize("backend", BACKENDS)
def test_training_curves_are_the_same(backend: str) -> None:
    def curve(static: bool) -> list[float]:
        ad.set_seed(1)
        net = nn.SequentialCell([nn.Dense(6, 8), nn.Dropout(p=0.3), nn.Tanh(), nn.Dense(8, 1)]).set_train()
        optimiser = ad.optim.Adam(net.trainable_params(), 0.01)
        x = ops.randn(16, 6)
        loss = lambda x: (net(x) ** 2).mean()
        if static:
            step = ad.optim.compiled_step(loss, net.trainable_params(), optimiser, backend=backend)
            return [float(step(x)) for _ in range(5)]
        gradient = ad.value_and_grad(loss, None, weights=net.trainable_params())
        values = []
        for _ in range(5):
            value, grads = gradient(x)
            optimiser(grads)
            values.append(float(value))
        return values

    np.testing.assert_allclose(curve(True), curve(False), rtol=1e-4)


def test_native_code_makes_the_draws_itself() -> None:
    run = ad.jit(straight, backend="native")
    run(X)
    assert "in the interpreter" not in run.explain(X)


# ---------------------------------------------------------------- batches


def ways(f: Callable[..., Any]) -> list[Callable[..., Any]]:
    jit = lambda f: ad.jit(f)
    return [ad.vmap(f), jit(ad.vmap(f)), ad.vmap(jit(f))]


def test_what_is_shaped_like_an_input_differs_between_examples() -> None:
    for f in (lambda x: ops.dropout(x, 0.5), ops.rand_like, lambda x: ops.bernoulli(x * 0 + 0.5), in_a_loop):
        first = runs(ad.vmap(f), np.ones((3, 6)))
        for way in ways(f):
            found = runs(way, np.ones((3, 6)))
            examples = found[0][:18].reshape(3, 6)
            assert (examples[0] != examples[1]).any() and (examples[1] != examples[2]).any()
            if f is not in_a_loop:  # a batch of draws in a loop is another one than draws in a Python loop
                np.testing.assert_array_equal(found, first)


DRAWS = {
    "rand": lambda x: ops.rand(6), "randn": lambda x: ops.randn(6), "randint": lambda x: ops.randint(0, 10**6, (6,)),
    "randperm": lambda x: ops.randperm(60)[:6], "normal": lambda x: ops.normal((6,), x, 1.0),
    "uniform": lambda x: ops.uniform((6,), x, 3.0), "exponential": lambda x: ops.exponential((6,)),
    "gumbel": lambda x: ops.gumbel((6,)), "shuffle": lambda x: ops.shuffle(np.arange(60.0))[:6],
    "multinomial": lambda x: ops.multinomial(np.ones(1000), 6), "bernoulli": lambda x: ops.bernoulli(np.full((6, 60), 0.5)) @ np.arange(60.0),
    "gumbel_softmax": lambda x: ops.gumbel_softmax(np.zeros(6)), "dropout": lambda x: ops.dropout(np.ones((6, 60))) @ np.arange(60.0),
}  # fmt: skip


@pytest.mark.parametrize("name", DRAWS)
def test_each_example_draws_for_itself(name: str) -> None:
    """Alike in every mode, nested too; the directions of a Jacobian belong to one draw."""

    def f(x):
        return x + DRAWS[name](x)

    xs = np.ones((3, 6))
    want = runs(ad.vmap(f), xs)
    assert len(np.unique(want[0][:18].reshape(3, 6), axis=0)) == 3
    for way in (*ways(f), ad.jit(ad.vmap(f)), ad.vmap(ad.jit(f)), ad.jit(ad.vmap(ad.jit(f)))):
        np.testing.assert_allclose(runs(way, xs), want, rtol=1e-5)
    nested = np.ones((2, 3, 6))
    want = runs(ad.vmap(ad.vmap(f)), nested)
    assert len(np.unique(want[0][:36].reshape(6, 6), axis=0)) == 6
    for way in (ad.jit(ad.vmap(ad.vmap(f))), ad.vmap(ad.jit(ad.vmap(f))), ad.vmap(ad.vmap(ad.jit(f)))):
        np.testing.assert_allclose(runs(way, nested), want, rtol=1e-5)
    for jacobian in (ad.jacfwd, ad.jacrev):
        columns = jacobian(lambda x: f(xs[0]) * x.sum())(np.ones(4)).asnumpy()
        np.testing.assert_allclose(columns, columns[:, :1].repeat(4, 1))


def test_loops_with_samples_in_nested_batches() -> None:
    """How many samples there were is known when the batches are over."""

    def until(x):
        y = x
        while abs(y).sum() < 20.0:
            y = y + abs(ops.randn(6))
        return y

    nested = np.ones((2, 3, 6))
    for f in (in_a_loop, until):
        for way in (ad.jit(ad.vmap(ad.vmap(f))), ad.vmap(ad.jit(ad.vmap(f))), ad.vmap(ad.vmap(ad.jit(f)))):
            first, second = way(nested).asnumpy(), way(nested).asnumpy()
            assert len(np.unique(first.reshape(6, -1), axis=0)) == 6 and (first != second).any()


def test_draws_in_batches_inside_loops_branches_and_rules() -> None:
    def in_branch(x):
        if x.sum() > 0:
            x = x + ops.rand(6, dtype=ad.float64)
        return x

    @ad.custom_vjp
    def in_rule(x):
        return x * ops.rand(6, dtype=ad.float64)

    in_rule.defvjp(lambda x, out, dout: (dout,))

    def in_loop(x):
        for _ in range(20):
            x = x + ops.rand(6, dtype=ad.float64)
        return x

    for f in (in_branch, in_loop, in_rule):
        for way in ways(f)[f is in_branch :]:
            assert len(np.unique(way(np.ones((3, 6))).asnumpy(), axis=0)) == 3
    assert len(np.unique(ad.vmap(in_rule)(np.ones((3, 6))).asnumpy(), axis=0)) == 3


def test_a_draw_with_a_seed_is_the_same_for_all() -> None:
    for way in ways(lambda x: x + ops.rand(6, seed=1, dtype=ad.float64)):
        y = way(np.ones((3, 6))).asnumpy()
        np.testing.assert_array_equal(y[0], y[1])


def test_examples_with_loops_of_different_lengths() -> None:
    xs = np.linspace(0.0, 4.0, 12).reshape(2, 6)
    for way in ways(until)[1:]:
        first, second = (way(xs).asnumpy() for _ in range(2))
        assert np.isfinite(first).all()
        assert not np.allclose(first, second)


# ---------------------------------------------------------------- beside the graph


def test_threads_get_different_draws_from_one_compiled_function() -> None:
    run = ad.jit(lambda x: x + ops.rand(50, dtype=ad.float64))
    ad.set_seed(1)
    alone = np.sort(np.concatenate([run(np.zeros(50)).asnumpy() for _ in range(32)]))
    ad.set_seed(1)
    with ThreadPoolExecutor(4) as pool:
        parts = list(pool.map(lambda _: run(np.zeros(50)).asnumpy(), range(32)))
    np.testing.assert_array_equal(np.sort(np.concatenate(parts)), alone)


def test_computing_again_repeats_the_draws() -> None:
    """A recomputed network draws what it would draw without, also in a compiled part of it."""

    class Noisy(nn.Cell):
        def __init__(self) -> None:
            super().__init__()
            self.part = ad.jit(until)

        def construct(self, x: Any) -> Any:
            return ops.dropout(x, 0.5) * self.part(x) + ops.randn_like(x)

    plain, again = Noisy(), Noisy()
    again.recompute()
    for f in (ad.grad(lambda x: ops.sum(plain(x) ** 2)), ad.jit(ad.grad(lambda x: ops.sum(again(x) ** 2)))):
        np.testing.assert_allclose(runs(ad.grad(lambda x: ops.sum(again(x) ** 2)), X), runs(f, X), rtol=1e-9)


def test_first_values_of_parameters_are_drawn_at_once() -> None:
    run = ad.jit(lambda x: nn.Dense(6, 2, dtype=np.float64)(x))
    assert run(X).shape == (2,)


def test_a_draw_in_a_graph_has_no_number_yet() -> None:
    with pytest.raises(TypeError, match="known only when the graph runs"):
        ad.jit(lambda x: x * ops.rand(()).item())(X)


def test_a_seed_of_its_own_is_part_of_the_program() -> None:
    run = ad.jit(lambda x: x + ops.rand(6, seed=3, dtype=ad.float64))
    np.testing.assert_array_equal(run(X), run(X))
    np.testing.assert_array_equal(run(X), X + ops.rand(6, seed=3, dtype=ad.float64))


def test_threads_never_share_numbers_even_if_their_count_is_unknown() -> None:
    def f(x):
        while x.sum() < 3.0:
            x = x + ops.uniform((4,), 0.0, 1.0)
        return x

    run = ad.jit(f)
    run(ad.Tensor(np.zeros(4)))

    def work(_: int) -> list[tuple[float, ...]]:
        return [tuple(run(ad.Tensor(np.zeros(4))).tolist()) for _ in range(40)]

    with ThreadPoolExecutor(4) as pool:
        found = [numbers for part in pool.map(work, range(4)) for numbers in part]
    assert len(set(found)) == len(found) == 160

"""A batch of loops: what is the same for all examples stays one, and arrays that are written to are not copied."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import adjoint as ad
from adjoint import ops
from adjoint.graph.control import Loop
from adjoint.graph.node import Graph

N = 30


def recurrence(x: Any) -> Any:
    y = ops.zeros(N)
    y[0] = x[0]
    for t in range(1, N):
        y[t] = ops.sin(y[t - 1]) * 0.9 + x[t % 5]
    return (y * y).sum()


def rows(x: Any) -> Any:
    y, s = ops.zeros((N, 3)), x[:3]
    for t in range(N):
        s = ops.tanh(s * 0.9 + x[t % 5])
        y[t] = s
    return (y * y).sum()


def places_of_its_own(x: Any) -> Any:
    y = ops.zeros(N)
    for t in range(N):
        i = ops.cast(ops.floor(abs(x[t % 5]) * 9), ad.int64)
        y[i] = y[i] * 0.5 + x[t % 5]
    return (y * y).sum()


def state_in_common(x: Any) -> Any:
    total, k = ops.zeros(3), 1.0
    y = x[0]
    for t in range(N):
        total = total + k
        k = k * 0.9
        y = y * 0.5 + total[t % 3] * x[t % 5]
    return y + total.sum() * x[1]


def iterations_of_its_own(x: Any) -> Any:
    y, t = x[0], 0
    while abs(y) < 3.0 and t < N:
        y = y * 1.2 + x[t % 5] * 0.1
        t = t + 1
    return y * t


def as_long_as_all(x: Any) -> Any:
    k, y = ops.ones(()), x[0]
    while k < 100.0:
        k = k * 1.7
        y = y * 0.9 + x[1] * k * 0.01
    return y * k


COMMON = [recurrence, rows, state_in_common, as_long_as_all]
ALL = [*COMMON, places_of_its_own, iterations_of_its_own]


def carried_loops(graph: Graph) -> list[Loop]:
    return [n.op for n in graph.calls if isinstance(n.op, Loop)]


@pytest.mark.parametrize("f", ALL, ids=lambda f: f.__name__)
@pytest.mark.parametrize("size", [1, 3, 17])
def test_a_batch_is_its_examples(f: Any, size: int) -> None:
    xs = np.random.default_rng(size).normal(size=(size, 5)) * 0.4 + 0.3
    wanted = [float(f(ad.Tensor(x))) for x in xs]
    slopes = [ad.grad(f)(x) for x in xs]
    for way in (lambda g: ad.jit(ad.vmap(g)), lambda g: ad.vmap(ad.jit(g))):
        np.testing.assert_allclose(way(f)(xs), wanted, rtol=1e-12)
        np.testing.assert_allclose(way(ad.grad(f))(xs), slopes, rtol=1e-9, atol=1e-12)
        inner = ad.jit(ad.vmap(f))
    np.testing.assert_allclose(ad.grad(lambda xs: inner(xs).sum())(xs), slopes, rtol=1e-9, atol=1e-12)
    tangents = ad.jit(lambda xs: ad.jvp(ad.vmap(f), xs, np.ones_like(xs))[1])(xs)
    np.testing.assert_allclose(tangents, np.sum(slopes, axis=1), rtol=1e-9)


@pytest.mark.parametrize("f", COMMON, ids=lambda f: f.__name__)
def test_second_derivatives_and_batches_of_batches(f: Any) -> None:
    xs = np.random.default_rng(1).normal(size=(2, 3, 5)) * 0.3 + 0.3
    found = ad.jit(ad.vmap(ad.vmap(ad.grad(f))))(xs)
    np.testing.assert_allclose(found, [[ad.grad(f)(x) for x in row] for row in xs], rtol=1e-9)
    second = ad.jit(ad.vmap(ad.hessian(f)))(xs[0])
    np.testing.assert_allclose(second, [ad.hessian(f)(x) for x in xs[0]], rtol=1e-8, atol=1e-10)


@pytest.mark.parametrize("f", COMMON, ids=lambda f: f.__name__)
def test_the_counter_and_the_truth_of_an_iteration_have_no_batch_axis(f: Any) -> None:
    graph = ad.jit(ad.vmap(ad.grad(f))).graph(np.full((4, 5), 0.3))
    for loop in carried_loops(graph):
        whole = [p for p in loop.body.params if p.spec.dtype.kind in "bi"]
        assert all(p.shape == () for p in whole)


def test_only_part_of_the_inputs_is_batched() -> None:
    def f(x: Any, c: Any) -> Any:
        y = ops.zeros(N)
        for t in range(1, N):
            y[t] = y[t - 1] * c + x[t % 5] + c
        return y

    xs, c = np.random.default_rng(2).normal(size=(3, 5)), 0.8
    found = ad.jit(ad.vmap(f, (0, None)))(xs, c)
    np.testing.assert_allclose(found, [f(x, c) for x in xs])
    np.testing.assert_allclose(
        ad.jit(ad.vmap(f, (None, 0)))(xs[0], np.array([0.1, 0.8])), [f(xs[0], 0.1), f(xs[0], 0.8)]
    )


def test_a_result_that_no_example_changes_is_repeated() -> None:
    def f(x: Any) -> Any:
        k, y = ops.zeros(2), x
        for t in range(N):
            k = k + t
            y = y * 0.9 + k[0]
        return y, k

    y, k = ad.jit(ad.vmap(f))(np.array([1.0, 2.0, 3.0]))
    assert k.shape == (3, 2)
    np.testing.assert_array_equal(k, np.full((3, 2), N * (N - 1) / 2))
    np.testing.assert_allclose(y, [f(ad.Tensor(np.array(x)))[0] for x in (1.0, 2.0, 3.0)])


def test_a_state_that_begins_with_a_batch_and_goes_on_without() -> None:
    def f(x: Any, n: Any) -> Any:
        y, total = x, x * 0.0
        for t in range(3):
            total = total + y
            y = ops.ones(2) * t
        return y, total

    xs = np.random.default_rng(3).normal(size=(3, 2))
    y, total = ad.jit(ad.vmap(f, (0, None)))(xs, 1.0)
    np.testing.assert_array_equal(y, np.full((3, 2), 2.0))
    np.testing.assert_allclose(total, xs + 1.0)

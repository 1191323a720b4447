"""Backward passes of loops, many iterations at once: the same gradients as one iteration after another, at the edges of numbers too."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import adjoint as ad
from adjoint import ops
from adjoint.backends.interpreter import Steps
from adjoint.backends.native.compiler import Program, canonical
from adjoint.backends.native.plan.linear_steps import linear
from adjoint.graph.control import Loop
from adjoint.graph.node import Graph
from adjoint.passes.dead import dead


def gradient(fn: Callable[..., Any], *inputs: Any) -> Graph:
    return dead(ad.jit(ad.grad(fn, tuple(range(len(inputs))))).graph(*map(np.asarray, inputs)), final=True)


def loops(graph: Graph) -> list[Loop]:
    return [n.op for n in canonical(graph).calls if isinstance(n.op, Loop)]


def assert_same(graph: Graph, *inputs: Any, rtol: float = 1e-12) -> list[np.ndarray]:
    """Machine code gives what the interpreter gives, and goes many iterations at once."""
    assert any(linear(loop) for loop in loops(graph))
    found = Program(graph)(*inputs)
    with np.errstate(all="ignore"):
        wanted = Steps(graph)(*inputs)
    for x, y in zip(found, wanted, strict=True):
        np.testing.assert_allclose(x, y, rtol=rtol, atol=0)
    return found


# ---------------------------------------------------------------- programs


def logistic(n: int) -> Callable[..., Any]:
    def program(r, x):
        for _ in range(n):
            x = r * x * (1.0 - x)
        return x

    return program


def two_bodies(r, x):
    y = x * 0.5
    for _ in range(50):
        x, y = x + 0.01 * (r - y) * x, y - 0.01 * (r - x) * y / (1.0 + x * x)
    return x * y


def with_branches(r, x):
    for _ in range(40):
        if x > 0.6:
            x = r * x * (1.0 - x)
            if x > 0.7:
                x = x * 0.9
        else:
            x = ops.sqrt(x) * r * 0.25 + 0.1 * x * x
    return x


def with_choices(r, x):
    for _ in range(40):
        x = ops.where(x > 0.5, r * x * (1.0 - x), ops.exp(-x) * r * 0.3)
    return x


def until(r, x):
    while x < 50.0:
        x = x * (1.0 + 0.05 * r) + 0.01 * x * ops.sin(x)
    return x


def loop_in_loop(r, x):
    for _ in range(5):
        for _ in range(20):
            x = r * x * (1.0 - x)
        x = x * 0.9
    return x


PROGRAMS = [two_bodies, with_branches, with_choices, until]


@pytest.mark.parametrize("fn", PROGRAMS, ids=lambda fn: fn.__name__)
def test_a_gradient(fn: Callable[..., Any]) -> None:
    found = assert_same(gradient(fn, 2.9, 0.3), np.float64(2.9), np.float64(0.3))
    reference = ad.jit(fn, backend="interpreter")
    for k, g in enumerate(found):
        step = 1e-6 * (np.arange(2) == k)
        high, low = (float(reference(*(np.array([2.9, 0.3]) + s))) for s in (step, -step))
        np.testing.assert_allclose(g, (high - low) / 2e-6, rtol=1e-5, atol=1e-9)


@pytest.mark.parametrize("n", [9, 15, 16, 17, 63, 64, 65, 128, 131, 200])
@pytest.mark.parametrize("dtype", ["float64", "float32"])
def test_any_number_of_rounds(n: int, dtype: str) -> None:
    inputs = [np.array(3.1, dtype), np.array(0.4, dtype)]
    assert_same(gradient(logistic(n), *inputs), *inputs, rtol=1e-11 if dtype == "float64" else 1e-3)


def test_a_loop_inside_a_loop() -> None:
    inputs = [np.float64(3.1), np.float64(0.4)]
    graph = gradient(loop_in_loop, *inputs)
    for x, y in zip(Program(graph)(*inputs), Steps(graph)(*inputs), strict=True):
        np.testing.assert_allclose(x, y, rtol=1e-12)


def test_second_derivatives_go_forwards_and_backwards() -> None:
    inputs = [np.array([3.1, 0.4])]
    fn = logistic(50)
    for graph in (
        ad.jit(lambda p: ad.jvp(ad.grad(lambda q: fn(q[0], q[1])), (p,), (ops.ones_like(p),))).graph(*inputs),
        gradient(lambda p: ops.sum(ad.grad(lambda q: fn(q[0], q[1]))(p)), *inputs),
    ):
        assert_same(graph, *inputs, rtol=1e-10)


# ---------------------------------------------------------------- elements of arrays


def smoothed(x, a):
    level = a * 0.0
    loss = a * 0.0
    for i in range(37):
        level = a * level + (1.0 - a) * x[i] * x[i + 1]
        loss = loss + level * level
    return loss


def over_elements(x, a):
    total = a
    for v in x:
        total = total * 0.5 + ops.sin(v) * total + v
    return total


@pytest.mark.parametrize("fn", [smoothed, over_elements], ids=lambda fn: fn.__name__)
def test_gradients_of_elements(fn: Callable[..., Any]) -> None:
    x = np.random.default_rng(3).normal(size=38)
    program = gradient(fn, x, 0.3)
    first, _ = assert_same(program, x, np.float64(0.3), rtol=1e-11)
    for k in (0, 20, 37):
        step = 1e-6 * (np.arange(38) == k)
        high, low = (float(ad.jit(fn, backend="interpreter")(x + s, 0.3)) for s in (step, -step))
        np.testing.assert_allclose(first[k], (high - low) / 2e-6, rtol=1e-4, atol=1e-9)


def test_an_index_out_of_range_is_refused() -> None:
    def reading(x, start):
        total = x[0]
        for i in range(30):
            total = total * x[start + i]
        return total

    graph = ad.jit(ad.grad(reading)).graph(np.ones(40), np.int64(3))
    assert Program(graph)(np.ones(40), np.int64(3))[0].sum() == 31.0
    with pytest.raises(IndexError):
        Program(graph)(np.ones(40), np.int64(11))


# ---------------------------------------------------------------- zeros, infinities, and what is no number


def roots(x, a):
    total = a
    for i in range(20):
        total = total * 0.5 + ops.where(x[i] > 0.0, ops.sqrt(x[i]), 0.0) * total
    return total


def test_zero_times_infinity_is_zero() -> None:
    x = np.linspace(0.5, 2.0, 20)
    x[[3, 11]] = 0.0  # where the derivative of the root is infinite, and not taken
    first, second = assert_same(gradient(roots, x, 0.7), x, np.float64(0.7))
    assert np.isfinite(first).all() and np.isfinite(second).all()
    assert first[3] == first[11] == 0.0
    assert (first[[2, 4, 10, 12]] > 0).all()  # and nothing was added twice


def two_factors(v, u, x):
    for i in range(24):
        x = x * v[i] * u[i]
    return x * 1e-250


def test_factors_that_overflow_only_when_multiplied_out() -> None:
    v, u = np.ones(24), np.ones(24)
    v[5] = u[5] = 1e180
    v[6] = u[6] = 1e-180
    found = assert_same(gradient(two_factors, v, u, 1e-200), v, u, np.float64(1e-200))
    assert all(np.isfinite(f).all() for f in found)


@pytest.mark.parametrize("at", [np.inf, -np.inf, np.nan, 1e300])
def test_gradients_that_are_not_finite(at: float) -> None:
    graph = gradient(logistic(20), 3.1, 0.4)
    with np.errstate(all="ignore"):
        assert_same(graph, np.float64(3.1), np.float64(at))


# ---------------------------------------------------------------- which loops


def test_only_ways_back_with_linear_steps() -> None:
    def decay(x, a):  # linear, but no chain rule
        for v in x:
            a = a * v
        return a

    forward = ad.jit(decay).graph(np.ones(30), 1.0)
    assert [linear(loop) for loop in loops(forward)] == [None]
    primal, back = loops(gradient(logistic(20), 3.1, 0.4))
    assert linear(primal) is None and linear(back) is not None
    tangent = ad.jit(lambda x: ad.jvp(lambda y: logistic(20)(3.1, y), (x,), (x,))).graph(0.4)
    assert not any(map(linear, loops(tangent)))  # its state holds the value too, which is not linear

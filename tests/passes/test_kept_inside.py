"""Loops inside loops are run once, where what they keep is no larger than what need not be kept then."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import adjoint as ad
from adjoint import ops
from adjoint.graph.control import Loop
from adjoint.graph.node import Graph
from adjoint.passes import optimise

X = np.random.default_rng(0).uniform(0.5, 1.5, 200)
Y = np.random.default_rng(1).uniform(0.5, 1.5, (13, 12))


def chain(x: Any) -> Any:
    for i in range(14):
        for k in range(20):
            x[k] = ops.sin(x[k] * x[k + 1]) + 0.1 * i
    return (x * x).sum()


def grid(y: Any) -> Any:
    """Each element from its neighbours, as in time warping."""
    for i in range(12):
        for k in range(11):
            y[i + 1, k + 1] = y[i + 1, k + 1] + ops.log(ops.exp(y[i, k]) + ops.exp(y[i + 1, k]))
    return y.sum()


def three(x: Any) -> Any:
    for i in range(10):
        for j in range(12):
            for k in range(11):
                x[j + k] = ops.cos(x[j + k] + x[k]) * 0.5 + 0.01 * i
    return (x**3).sum()


def with_more_after(x: Any) -> Any:
    """The state itself is needed too: the loop inside is run again."""
    for _i in range(14):
        x = ops.tanh(x) * 1.01
        for k in range(20):
            x[k] = ops.sin(x[k] * x[k + 1])
        x = x * x
    return x.sum()


def until(x: Any) -> Any:
    i = 0
    while x[0] < 40.0:
        for k in range(20):
            x[k] = x[k] + ops.log(x[k + 1] + 1.0) * x[k]
        i = i + 1
    return x.sum() * i


def branch(x: Any) -> Any:
    for _i in range(14):
        for k in range(20):
            if x[k] > 1.0:
                x[k] = ops.sin(x[k] * x[k + 1])
            else:
                x[k] = x[k] + 0.3 * x[k + 1]
    return (x * x).sum()


def backwards(x: Any) -> Any:
    for i in range(13, -1, -1):
        for k in range(20):
            x[k] = ops.sin(x[k] * x[19 - k]) + x[i]
    return (x * x).sum()


def two_inside(x: Any) -> Any:
    for _ in range(14):
        for k in range(20):
            x[k] = ops.sin(x[k] * x[k + 1])
        for k in range(15):
            x[k + 1] = x[k + 1] + ops.exp(-x[k])
    return (x * x).sum()


PROGRAMS = {
    f.__name__: (f, Y if f is grid else X)
    for f in (chain, grid, three, with_more_after, until, branch, backwards, two_inside)
}


def loops(graph: Graph, seen: set[Graph] | None = None) -> int:
    seen = set() if seen is None else seen
    if graph in seen:
        return 0
    seen.add(graph)
    found = 0
    for node in graph.nodes:
        if isinstance(node.op, Loop):
            found += 1
        found += sum(loops(g, seen) for g in node.op.graphs().values()) if hasattr(node.op, "graphs") else 0
    return found


@pytest.mark.parametrize("name", PROGRAMS)
def test_gradients_are_those_of_dynamic_mode(name: str) -> None:
    f, x = PROGRAMS[name]
    with_copy = lambda x: f(x * 1.0)
    for transform in (ad.value_and_grad, lambda g: ad.hvp(g)):
        args = (x,) if transform is ad.value_and_grad else (x, np.ones_like(x))
        found, wanted = ad.jit(transform(with_copy))(*args), transform(with_copy)(*args)
        for a, b in zip(ad.tree.leaves(found), ad.tree.leaves(wanted), strict=True):
            np.testing.assert_allclose(a, b, rtol=1e-9, atol=1e-12)
    batch = np.stack([x, 1.01 * x, 0.99 * x])
    found = ad.jit(ad.vmap(ad.grad(with_copy)))(batch)
    np.testing.assert_allclose(found[1], ad.grad(with_copy)(batch[1]), rtol=1e-9, atol=1e-12)


@pytest.mark.parametrize(
    ("name", "fewer"),
    [
        ("chain", 1),
        ("grid", 1),
        ("three", 1),
        ("with_more_after", 0),
        ("branch", 0),
        ("backwards", 1),
        ("two_inside", 2),
    ],
)
def test_how_many_loops_are_run_once(name: str, fewer: int) -> None:
    f, x = PROGRAMS[name]
    graph = ad.graph.trace_function(ad.grad(lambda x: f(x * 1.0)), [x])
    again, once = (optimise(graph, off=off)[0] for off in (["kept"], []))
    assert loops(again) - loops(once) == fewer


def test_a_small_state_is_kept_and_not_what_is_computed_from_it() -> None:
    """What the loop inside keeps would be larger: 20 iterations of 21 numbers."""
    f = lambda x: chain(x * 1.0)
    graph = ad.graph.trace_function(ad.grad(f), [X[:21]])
    again, once = (optimise(graph, off=off)[0] for off in (["kept"], []))
    assert loops(again) == loops(once)
    np.testing.assert_allclose(ad.jit(ad.grad(f))(X[:21]), ad.grad(f)(X[:21]), rtol=1e-10)


def test_memory_does_not_grow() -> None:
    f = lambda y: grid(y * 1.0)
    graph = ad.graph.trace_function(ad.grad(f), [np.ones((41, 40))])
    held = []
    for off in (["kept"], []):
        better = optimise(graph, off=off)[0]
        stacks = [s for n in better.nodes if isinstance(n.op, Loop) for s in n.spec[n.op.carried :]]
        held.append(sum(int(np.prod(s.shape)) for s in stacks))
    assert held[1] < 0.5 * held[0]

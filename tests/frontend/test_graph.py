"""Control flow on graph values: the graph gives what the original gives, and loops stay loops."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import numpy as np
import pytest

import adjoint as ad
from adjoint import ops
from adjoint.core import tree
from adjoint.core.spec import Spec
from adjoint.frontend import convert
from adjoint.graph.control import Cond, Loop
from adjoint.graph.trace import trace
from adjoint.graph.walk import replay


def traced(f: Any, *xs: Any) -> tuple[Any, Any]:
    """The graph of a converted function, and what it gives."""
    held: list[Any] = []

    def flat(*values: Any) -> list[Any]:
        leaves, rebuild = tree.flatten(convert(f)(*values))
        held.append(rebuild)
        return leaves

    graph, _ = trace(flat, [Spec(x.shape, x.dtype) for x in xs])
    return graph, held[0](replay(graph, xs))


def ops_of(graph: Any) -> Iterator[Any]:
    """Every op of a graph and of the graphs in it."""
    seen, stack = set(), list(graph.outputs)
    while stack:
        node = stack.pop()
        if id(node) in seen:
            continue
        seen.add(id(node))
        stack += node.inputs
        op = getattr(node, "op", None)
        if op is not None:
            yield op
            for inner in (getattr(op, name, None) for name in ("true", "false", "body", "test")):
                if inner is not None:
                    yield from ops_of(inner)


def relu(x):
    if x > 0:  # noqa: SIM108
        y = x
    else:
        y = 0.0
    return y


def early_returns(x):
    if x > 10:
        return x * 2
    if x > 5:
        x = x + 1
        return x
    for i in range(3):
        if x > i * 2:
            x = x + 0.5
    return x - 1


def newton(x):
    y = x
    while abs(y * y - x) > 1e-10:
        y = 0.5 * (y + x / y)
    return y


def newton_that_returns_from_the_loop(x):
    y = x
    for k in range(100):
        new = 0.5 * (y + x / y)
        if abs(new - y) < 1e-12:
            return new, k
        y = new
    return y, -1


def sum_of_rows(x):
    s = 0
    for row in ops.reshape(x * np.arange(30.0), (10, 3)):
        s = s + row
    return s, row


def list_that_grows(x):
    out = []
    for i in range(12):
        out.append(x * i)
    return sum(out), out[3]


def filled_tensor(x):
    y = ops.zeros((20,), ad.float64)
    alias = y
    for i in range(20):
        if x > i:
            y[i] = x * i
    return y, alias


def nested_loops(x):
    t = 0.0
    for i in range(10):
        for j in range(i):
            if j > 4:
                break
            if j == 2:
                continue
            t = t + x * j
        else:
            t = t + 1
    return t


def zip_and_enumerate(x):
    a = x * np.arange(12.0)
    t = 0.0
    for i, (p, q) in enumerate(zip(a, a + 1)):
        t += p * q * i
    for r in reversed(a):
        t = t * 0.5 + r
    return t


def ternaries(x):
    return (x if x > 1 else -x) + (1.0 if (x > 0 and not x > 3) or x < -10 else 2.0) if -5 < x < 5 else x


def endless_with_break(x):
    n = 0
    while True:
        x = x / 2
        n += 1
        if abs(x) < 1e-3:
            break
    return x, n


def walrus_in_the_condition(x):
    while (y := x * 0.5) > 1:
        x = y
    return x, y


def counted_while(x):
    i = 0
    while i < 30:
        x = x + i
        i += 1
    return x, i


def nested_containers(x):
    d = {"a": x, "b": [x, 1]}
    if x > 0:
        d["a"] = d["a"] * 3
        d["b"][1] = 5
    else:
        d["b"] = [x * 0, 2]
    return d


class Best:
    def __init__(self):
        self.value = 0.0

    def update(self, x):
        if x > self.value:
            self.value = x
        return helper(x) + self.value


def helper(v):
    return v if v > 3 else v * 10


def object_with_state(x):
    best = Best()
    for _ in range(20):
        x = x + best.update(x) * 0.01
    return x, best.value


def list_of_layers(x):
    weights = [1.0, 2.0, 3.0, 4.0] * 4
    for i in range(len(weights)):
        x = x * weights[i] / 3
    for w in weights:
        if x > 50:
            break
        x = x * w
    return x


def closure_that_counts(x):
    calls = 0

    def square(v):
        nonlocal calls
        calls += 1
        return v * v if v > 0 else v

    for _ in range(10):
        x = square(x) * 0.05
    return x, calls


def smallest(x):
    return max(x, 2.0, x * x) - min([x, 1.0]), bool(x) and x > 0


def defined_in_the_loop(x):
    for i in range(12):
        y = x * i
        if y > 20:
            return x
    return y + i


def recursive(x, depth=4):
    if depth == 0:
        return x
    return recursive(x / 2 if x > 1 else x * 3, depth - 1)


PROGRAMS = [
    relu, early_returns, newton, newton_that_returns_from_the_loop, sum_of_rows, list_that_grows, filled_tensor, nested_loops,
    zip_and_enumerate, ternaries, endless_with_break, walrus_in_the_condition, counted_while, nested_containers,
    object_with_state, list_of_layers, closure_that_counts, smallest, defined_in_the_loop, recursive,
]  # fmt: skip


@pytest.mark.parametrize("x", [0.5, 2.0, 7.5, 11.0, -3.0])
@pytest.mark.parametrize("f", PROGRAMS, ids=lambda f: f.__name__)
def test_the_graph_gives_what_the_original_gives(f: Any, x: float) -> None:
    x = abs(x) if "newton" in f.__name__ else x  # which looks for a root
    _, got = traced(f, np.float64(x))
    wanted = f(ad.Tensor(np.float64(x)))
    a, b = tree.leaves(wanted), tree.leaves(got)
    assert [p for p, _ in tree.paths(wanted)] == [p for p, _ in tree.paths(got)]
    for left, right in zip(a, b, strict=True):
        np.testing.assert_allclose(np.asarray(left), np.asarray(right), rtol=1e-12)


@pytest.mark.parametrize(
    "f", [newton, newton_that_returns_from_the_loop, sum_of_rows, filled_tensor, nested_loops, counted_while]
)
def test_loops_stay_loops(f: Any) -> None:
    graph, _ = traced(f, np.float64(2.0))
    found = list(ops_of(graph))
    assert any(isinstance(op, Loop) for op in found)
    assert len(found) < 120


def test_graph_size_does_not_grow_with_the_trip_count() -> None:
    def f(x, n):
        for i in range(n):
            x = x + i if x < i else x * 0.5
        return x

    sizes = {len(list(ops_of(traced(lambda x, n=n: f(x, n), np.float64(1.0))[0]))) for n in (20, 200, 2000)}
    assert len(sizes) == 1


def test_bounds_that_are_graph_values() -> None:
    def f(x, n):
        s = x * 0
        for i in range(2, n, 3):
            s += x**i
        for i in range(n, 0, -1):
            s = s * 0.5 + i
        return s

    for n in (0, 1, 2, 3, 9, 12):
        assert traced(f, np.float64(1.1), np.int64(n))[1] == f(ad.Tensor(np.float64(1.1)), n)


def test_conditions_on_python_values_leave_no_branch() -> None:
    def f(x, flag=True):
        return x * 2 if flag and x.ndim == 0 else x

    graph, _ = traced(f, np.float64(1.0))
    assert not any(isinstance(op, Cond) for op in ops_of(graph))


def test_values_known_on_both_ways_stay_known() -> None:
    def f(x):
        if x > 0:
            n, y = 3, x
        else:
            n, y = 3, -x
        return ops.zeros((n,), ad.float64) + y

    assert traced(f, np.float64(-2.0))[1].tolist() == [2.0, 2.0, 2.0]

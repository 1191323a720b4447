"""Branches and loops as machine code: state that is swapped, kept, overwritten; stacks that grow; loops without a round."""

from __future__ import annotations

import os
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import adjoint as ad
from adjoint import ops
from adjoint.backends.interpreter import Steps
from adjoint.backends.native.compiler import Program
from adjoint.core.spec import Spec
from adjoint.graph.control import Cond, Loop
from adjoint.graph.node import Builder, Graph, Node
from adjoint.ops import arithmetic as a
from adjoint.ops import compare as c
from adjoint.ops import movement as m

f8, i8, b1 = (np.dtype(name) for name in ("float64", "int64", "bool"))


def assert_same(graph: Graph, *points: Any) -> list[np.ndarray]:
    """Nothing is left to the interpreter, and both give the same at every point; gives the results at the last."""
    program = Program(graph)
    assert not program.left_out, [str(n.op) for n in program.left_out]
    for inputs in points:
        found = program(*inputs)
        for x, y in zip(found, Steps(graph)(*inputs), strict=True):
            assert (x.dtype, x.shape) == (np.asarray(y).dtype, np.shape(y))
            np.testing.assert_allclose(x, y, rtol=1e-12, atol=1e-12)
    return found


def assert_agrees(fn: Callable[..., Any], *points: tuple[Any, ...]) -> None:
    """A function and its gradient, at several points, through one compiled program each."""
    forward = ad.graph.trace_function(fn, list(points[0]))
    gradient = ad.graph.generate_grad_graph(forward)
    for graph in (ad.graph.optimize_grad_graph(forward), gradient, ad.graph.optimize_grad_graph(gradient)):
        assert_same(graph, *points)


V = np.array([0.3, -0.7, 1.1, 0.2, -0.4])
M = np.arange(9.0).reshape(3, 3) / 10


# ---------------------------------------------------------------- functions


def swapping(x, y):
    for _ in range(5):
        x, y = y, ops.sin(x) * 0.5
    return ops.sum(x * 2.0 - y)


def rotating(x, y):
    """Three arrays that change places, one of them unchanged."""
    z = x + y
    for _ in range(4):
        x, y, z = z, x, y
    return ops.sum(x * 1.0 + y * 2.0 + z * 3.0)


def overwriting(x, n):
    """Updates in place whose old value is needed in the same round."""
    for i in range(5):
        old = x[i] * 2.0
        x[i] = ops.sin(old) + x[4 - i]
        x[4 - i] = x[4 - i] * n + old
    return ops.sum(x * x)


def while_with_arrays(x, n):
    total = x * 0.0
    while ops.sum(total) < n:
        total = total + ops.exp(x) * 0.1
    return ops.sum(total * x)


def long_while(x, n):
    """More iterations than a stack has room for at first."""
    k = x * 0.0
    y = x
    while k < n:
        y = ops.sin(y) + 0.01 * x
        k = k + 1.0
    return y


def long_while_of_arrays(x, n):
    k = n * 0.0
    while k < n:
        x = ops.tanh(x * 1.01)
        k = k + 1.0
    return ops.sum(x)


def while_in_for(x, n):
    total = n * 0.0
    for v in x:
        y = v
        while y < n:
            y = y * 1.5 + 0.5
        total = total + y * v
    return total


def while_in_while(x, n):
    total = x * 0.0
    while total < n:
        y = x
        while y < 2.0:
            y = y + 0.3 + 0.1 * x
        total = total + y
    return total


def branch_in_loop(x, n):
    x = x.copy()  # else a write would be to the caller's array in some iterations and not in others
    for i in range(5):
        if x[i] > n:
            x = ops.flip(x, (0,)) * 0.5
        else:
            x[i] = x[i] + n
    return ops.sum(x * V)


def branch_of_arrays(x, n):
    if ops.sum(x) > n:
        y, z = x * 2.0, x[::-1]
    else:
        y, z = x, ops.cumsum(x, 0) * 0.0 + n
    return ops.sum(y * z)


def break_and_continue(x, n):
    total = n * 0.0
    for v in x:
        if v < 0.0:
            continue
        total = total + v * v
        if total > n:
            break
    return total


def stacked_rows(m, n):
    total = n * 0.0
    for row in m:
        total = ops.tanh(total + ops.sum(row * row) * n)
    return total


def matrix_power(m, n):
    p = m
    for _ in range(6):
        p = ops.tanh(p @ m) + m.T * n
    return ops.sum(p)


POINTS = {
    swapping: [(V, V[::-1].copy())],
    rotating: [(V, V[::-1] * 2.0)],
    overwriting: [(V, 0.5), (V[::-1].copy(), -1.0)],
    while_with_arrays: [(V, 3.0), (V, -1.0), (V, 40.0)],
    long_while: [(0.3, 1000.0), (0.3, 0.0), (0.3, 127.0), (0.3, 128.0), (0.3, 129.0)],
    long_while_of_arrays: [(V, 500.0), (V, 0.0)],
    while_in_for: [(np.abs(V), 3.0), (np.abs(V), 0.0), (np.abs(V), 1e30)],
    while_in_while: [(0.3, 5.0), (0.3, -1.0), (3.0, 4.0), (0.3, 900.0)],
    branch_in_loop: [(V, 0.1), (V, 5.0), (V, -5.0)],
    break_and_continue: [(V, 0.5), (V, 100.0), (-np.abs(V), 1.0)],
    stacked_rows: [(M, 0.7)],
    matrix_power: [(M, 0.3)],
}


@pytest.mark.parametrize("fn", POINTS, ids=lambda fn: fn.__name__)
def test_a_function_and_its_gradient(fn: Callable[..., Any]) -> None:
    assert_agrees(fn, *POINTS[fn])


# ---------------------------------------------------------------- nodes made by hand


def body(specs: list[Spec], make: Callable[..., list[Node]]) -> Graph:
    builder = Builder()
    params = [builder.param(s) for s in specs]
    return Graph(tuple(params), tuple(make(builder, *params)))


def loop_graph(loop: Loop, specs: list[Spec]) -> Graph:
    builder = Builder()
    params = [builder.param(s) for s in specs]
    call = builder.build(loop, params)
    return Graph(tuple(params), tuple(builder.pick(call, k) for k in range(len(call.spec))))


def doubling(b: Builder, x: Node, s: Node) -> list[Node]:
    total = b.build(a.Add(), [x, s])
    return [total, b.build(a.Mul(), [total, b.const(2.0)]), b.build(c.Greater(), [s, b.const(0.0)])]


@pytest.mark.parametrize("backwards", [False, True])
@pytest.mark.parametrize("shape", [(), (3,), (0,), (2, 17)], ids=str)
@pytest.mark.parametrize("iterations", [0, 1, 6])
def test_a_loop_over_slices_that_stacks_its_results(iterations: int, shape: tuple[int, ...], backwards: bool) -> None:
    one = Spec(shape, f8)
    loop = Loop(body([one, one], doubling), 1, 1, backwards=backwards)
    draw = np.random.default_rng(0)
    assert_same(
        loop_graph(loop, [one, Spec((iterations, *shape), f8)]), [draw.random(shape), draw.random((iterations, *shape))]
    )


@pytest.mark.parametrize("backwards", [False, True])
def test_rounds_that_do_not_take_place(backwards: bool) -> None:
    def make(b: Builder, x: Node, live: Node, s: Node) -> list[Node]:
        return doubling(b, x, s)[:2]

    specs = [Spec((4,), f8), Spec((), b1), Spec((4,), f8)]
    loop = Loop(body(specs, make), 1, 2, backwards=backwards, guarded=True)
    live = np.array([True, False, False, True, False])
    graph = loop_graph(loop, [Spec((4,), f8), Spec((5,), b1), Spec((5, 4), f8)])
    values = np.random.default_rng(0).random((5, 4))
    assert_same(graph, *([np.ones(4), flags, values] for flags in (live, ~live, live & False)))


def test_a_fixed_number_of_rounds_and_whole_numbers() -> None:
    def make(b: Builder, i: Node, x: Node) -> list[Node]:
        return [b.build(a.Add(), [i, b.const(1)]), b.build(a.Mul(), [x, i])]

    loop = Loop(body([Spec((), i8), Spec((), f8)], make), 2, 0, length=7)
    found = assert_same(loop_graph(loop, [Spec((), i8), Spec((), f8)]), [np.int64(1), 1.0])
    assert [float(x) for x in found] == [8.0, 5040.0]


def test_results_of_a_branch_that_are_inputs_constants_or_the_same_twice() -> None:
    builder = Builder()
    flag, x, y = builder.param(Spec((), b1)), *(builder.param(Spec((3,), f8)) for _ in range(2))
    table = np.array([7.0, 8.0, 9.0])
    specs = [x.spec, y.spec]
    left = body(specs, lambda b, p, q: [p, q, b.const(table), b.build(a.Add(), [p, q])])
    right = body(specs, lambda b, p, q: [(s := b.build(a.Mul(), [p, q])), s, p, p])
    call = builder.build(Cond(left, right), [flag, x, y])
    picks = [builder.pick(call, k) for k in range(4)]
    graph = Graph((flag, x, y), (*picks, x, picks[1], builder.const(table)))
    assert_same(graph, *([np.bool_(chosen), np.arange(3.0), np.arange(3.0) + 5] for chosen in (True, False)))


def test_results_are_the_callers_own() -> None:
    """Writing to a computed result changes no input, no constant, and not the next call."""
    builder = Builder()
    x = builder.param(Spec((3,), f8))
    total = builder.build(a.Add(), [x, builder.const(np.array([1.0, 2.0, 3.0]))])
    program = Program(Graph((x,), (total, builder.build(m.Reshape((3, 1)), [total]))))
    given = np.zeros(3)
    first = program(given)
    for found in first:
        found += 100.0
    second = program(given)
    assert given.tolist() == [0.0] * 3
    assert [f.ravel().tolist() for f in (*first, *second)] == [[101.0, 102.0, 103.0]] * 2 + [[1.0, 2.0, 3.0]] * 2


def test_an_index_out_of_range_is_refused_as_by_the_interpreter() -> None:
    def pick(x, i):
        return x[i] * 2.0

    graph = ad.graph.trace_function(pick, [V, np.int64(0)])
    program = Program(graph)
    assert float(program(V, np.int64(-5))[0]) == V[-5] * 2.0
    for i in (5, -6):
        with pytest.raises(IndexError) as wanted:
            Steps(graph)(V, np.int64(i))
        with pytest.raises(IndexError) as found:
            program(V, np.int64(i))
        assert str(found.value).splitlines()[0] == str(wanted.value).splitlines()[0]


NO_MEMORY = """
import resource
import numpy as np
import adjoint as ad
from adjoint import ops

def f(x, n):
    k = 0.0
    while k < n:
        x = ops.sin(x) * 1.01
        k = k + 1.0
    return ops.sum(x)

g = ad.jit(ad.grad(f))
x = np.ones(500_000)
before = g(x, 3.0)

def used():
    return int(open("/proc/self/statm").read().split()[0]) * resource.getpagesize()

resource.setrlimit(resource.RLIMIT_AS, (used() + 500_000_000,) * 2)
held = []
for _ in range(6):
    try:
        g(x, 500.0)
    except MemoryError as error:
        text = str(error)
        assert "a loop keeps values of each iteration" in text and "g(x, 500.0)" in text, error
        assert "the loop at no_memory.py:9: while k < n:" in text, error
        asked = int(text.split("there are no ")[1].split(" bytes")[0])
        assert asked % x.nbytes == 0 and asked > 100_000_000, error
    else:
        raise AssertionError("there should have been no memory")
    held.append(used())
assert max(held) - held[0] < 8_000_000, held
assert (g(x, 3.0) == before).all()
"""


@pytest.mark.skipif(sys.platform != "linux", reason="limits the memory of a process by what /proc says it has")
def test_a_stack_that_finds_no_memory_raises(tmp_path: Any) -> None:
    """It is an exception that names the loop and the bytes, what was kept is freed, and the function can be called again."""
    script = tmp_path / "no_memory.py"
    script.write_text(NO_MEMORY)
    this = {**os.environ, "PYTHONPATH": str(Path(ad.__file__).parents[1])}
    done = subprocess.run([sys.executable, str(script)], capture_output=True, text=True, timeout=200, env=this)
    assert done.returncode == 0, done.stderr[-2000:]


def test_a_stack_of_empty_arrays_grows() -> None:
    """A stack of no bytes is memory too: `realloc` to 0 bytes would free it."""

    def f(x, n):
        k = 0.0
        while k < n:
            x = ops.sin(x) * 1.01
            k = k + 1.0
        return ops.sum(x)

    assert ad.jit(ad.grad(f))(np.ones((0, 3)), 1000.0).shape == (0, 3)


def test_a_state_that_is_updated_where_it_is_has_one_place() -> None:
    def filled(x):
        u = x * 2.0
        for i in range(20):
            u[i] = u[i] * 0.5 + u[i + 1]
        return u.sum()

    x = np.linspace(0.0, 1.0, 100_000)
    step = ad.jit(filled)
    np.testing.assert_allclose(float(step(x)), float(filled(x)), rtol=1e-12)
    assert step.memory(x).peak_bytes < 1.5 * x.nbytes


def test_what_a_loop_overwrites_may_be_read_elsewhere() -> None:
    """The state before an update, a state that begins as another one does, and the beginning after the loop."""

    def passed_on(x):
        u = x + 1.0
        start, v = u, u * 1.0
        for i in range(20):
            old = u
            u = u.copy()
            u[i % 5] = old[4] * 0.5 + x[i % 5]
            v = old + v * 0.1
        return u, v, start * u

    x = np.linspace(-1.0, 1.0, 5)
    for found, expected in zip(ad.jit(passed_on)(x), passed_on(x), strict=True):
        np.testing.assert_allclose(np.asarray(found), expected, rtol=1e-12)

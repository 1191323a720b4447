"""Work in place: what is overwritten, what never is, and that results are the same."""

from __future__ import annotations

import numpy as np
import pytest

import adjoint as ad
from adjoint import ops
from adjoint.backends import interpreter
from adjoint.core.spec import Spec
from adjoint.graph.control import Control
from adjoint.graph.inplace import InPlace, updates_last
from adjoint.graph.trace import trace
from adjoint.graph.verify import problem
from adjoint.graph.walk import replay
from adjoint.ops.index import ScatterSet
from adjoint.passes.overwrite import inplace

X = np.arange(6.0)
AT = np.int64(2)


def updated(fn, *inputs):
    """The graph after the pass, its steps, and that results and inputs are as they were."""
    graph, _ = trace(lambda *xs: list(fn(*xs)), [Spec(np.shape(x), np.asarray(x).dtype) for x in inputs])
    better = inplace(graph)
    assert problem(better, graph) is None
    before = [np.copy(x) for x in inputs]
    for a, b in zip(interpreter.compile(better)(*inputs), replay(graph, inputs), strict=True):
        np.testing.assert_array_equal(a, b)
    for a, b in zip(inputs, before, strict=True):
        np.testing.assert_array_equal(a, b)
    return better


def in_place(graph):
    found = [n.op for n in graph.calls if isinstance(n.op, InPlace)]
    for node in graph.calls:
        if isinstance(node.op, Control) and not isinstance(node.op, InPlace):
            for inner in node.op.graphs().values():
                found += in_place(inner)
    return found


def assigned(x, i, v):
    y = x * 1.0
    y[i] = v
    return y


def test_an_update_of_a_fresh_array_is_in_place():
    graph = updated(lambda x, i: [assigned(x, i, 7.0)], X, AT)
    assert [type(op.op).__name__ for op in in_place(graph)][-1] in ("ScatterSet", "SetItem")


def test_the_callers_array_is_never_overwritten():
    graph = updated(lambda x: [x * 2.0, x + 1.0], X)
    for _ in range(2):
        interpreter.compile(graph)(X)
    np.testing.assert_array_equal(X, np.arange(6.0))


def test_a_value_that_is_read_afterwards_is_not_overwritten():
    def f(x, i):
        y = x * 2.0
        z = assigned(y, i, -1.0)
        return [z, y, ops.sum(y * z)]

    updated(f, X, AT)


def test_an_update_waits_for_the_readers_of_what_it_overwrites():
    def f(x, i):
        y = ops.sin(x)
        return [assigned_to(y, i), ops.sum(y)]

    def assigned_to(y, i):
        return ScatterSet()(y, np.float64(5.0), i)

    better = updated(f, X, AT)
    order = [type(n.op).__name__ for n in updates_last(better)]
    assert order.index("Sum") < order.index("InPlace")
    assert "InPlace" in [type(n.op).__name__ for n in better.calls]


def test_constants_are_never_overwritten():
    zeros = np.zeros(3)
    graph, _ = trace(lambda v: [ops.concat([assigned(zeros, 0, 1.0), v])], [Spec((3,))])
    run = interpreter.compile(inplace(graph))
    for _ in range(3):
        np.testing.assert_array_equal(run(np.ones(3))[0], [1, 0, 0, 1, 1, 1])
    np.testing.assert_array_equal(zeros, 0)


def test_scattered_cotangents_are_added_where_they_belong():
    def f(x):
        return x[1] * x[2] + ops.sum(x[2:] * 3.0)

    gradient = ad.jit(ad.grad(f))
    np.testing.assert_array_equal(gradient(X), [0, 2, 4, 3, 3, 3])
    kinds = [type(n.op.op if isinstance(n.op, InPlace) else n.op).__name__ for n in gradient.graph(X).calls]
    assert kinds.count("PutItem") <= 1


@pytest.mark.parametrize("kind", ["set", "add", "slice", "row", "mask"])
def test_updates_of_every_kind_in_a_loop(kind):
    def f(x, n):
        y = x * 1.0
        for k in range(20):
            i = k % 6
            if kind == "set":
                y[i] = ops.sin(y[(k + 1) % 6] + n)
            elif kind == "add":
                y[i] += 0.1 * n * y[i - 1]
            elif kind == "slice":
                y[1:3] = y[2:4] * 0.5
            elif kind == "row":
                y = y.reshape(2, 3)
                y[k % 2] = y[0] * n
                y = y.reshape(6)
            else:
                y[y > n] = 0.5
        return ops.sum(y * y)

    for off in ((), ("inplace",)):
        g = ad.jit(f, passes_off=off)
        np.testing.assert_allclose(g(X, 0.7), f(ad.Tensor(X), 0.7), rtol=1e-13)
        for a, b in zip(ad.grad(g, (0, 1))(X, 0.7), ad.grad(f, (0, 1))(X, 0.7), strict=True):
            np.testing.assert_allclose(a, b, rtol=1e-12)


def test_the_memory_is_really_the_same(monkeypatch):
    """A loop that updates its state fills one array, round after round."""
    places, overwrite = [], InPlace.overwrite

    def watching(self, *xs):
        result = overwrite(self, *xs)
        places.append(result.__array_interface__["data"][0])
        return result

    def f(x):
        y = x * 1.0
        for i in range(50):
            y[i] += ops.sin(y[i])
        return y

    g = ad.jit(f, backend="interpreter")
    assert len(in_place(g.graph(np.ones(50)))) == 1
    monkeypatch.setattr(InPlace, "overwrite", watching)
    np.testing.assert_allclose(g(np.ones(50)), 1 + np.sin(1.0))
    assert len(places) >= 49 and len(set(places)) == 1  # the first round may have to copy


def test_state_that_two_names_hold_is_copied_first():
    """Each round's state is kept for the way back, so that it may not be overwritten."""

    def f(x):
        y = x * 1.0
        for i in range(20):
            y[i % 3] = y[(i + 1) % 3] * y[i % 3]
        return ops.sum(y)

    x = np.array([0.9, 1.1, 1.05])
    np.testing.assert_allclose(ad.jit(ad.grad(f))(x), ad.grad(f)(x), rtol=1e-12)


# ---------------------------------------------------------------- arrays filled part by part


def columns(*values):
    """The columns of a matrix, put into zeros one by one."""
    y = ops.zeros((3, len(values)), "float64")
    for k, v in enumerate(values):
        y[:, k] = v
    return y


def kinds(graph):
    return [type(n.op.op if isinstance(n.op, InPlace) else n.op).__name__ for n in graph.calls]


def test_columns_set_one_by_one_are_side_by_side():
    x = np.arange(3.0)
    graph = updated(lambda x: [columns(x + 1, x * 2, x - 3, x * x)], x)
    assert kinds(graph).count("Stack") == 1 and "SetItem" not in kinds(graph)


def test_the_last_value_of_a_column_stays():
    def f(x):
        y = columns(x + 1, x * 2, x - 3)
        y[:, 1] = x * 5
        return [y]

    assert "Stack" in kinds(updated(f, np.arange(3.0)))


def test_what_is_used_in_between_is_kept():
    def f(x):
        y = columns(x + 1, x * 2, x - 3)
        before = y * 2
        y[:, 0] = x * 7
        return [y, before]

    updated(f, np.arange(3.0))


def test_a_few_columns_are_put_where_they_belong():
    def f(x):
        y = ops.zeros((3, 9), "float64")
        y[:, 1] = x
        y[:, 5] = x * 2
        return [y]

    assert "Stack" not in kinds(updated(f, np.arange(3.0)))


def test_parts_of_different_axes_stay_apart():
    def f(x):
        y = ops.zeros((3, 3), "float64")
        y[0] = x
        y[:, 1] = x * 2
        y[2] = x * 3
        return [y]

    updated(f, np.arange(3.0))


@pytest.mark.parametrize("order", [(0, 1, 2), (2, 0, 1)])
def test_gradients_of_columns_are_side_by_side(order):
    """The way back of x[:, k] adds to different columns: nothing is read back in between."""

    def f(x):
        g = ad.grad(lambda x: sum((x[:, k] ** (k + 2)).sum() for k in order))(x)
        return [g]

    graph = updated(f, np.arange(1.0, 13.0).reshape(4, 3))
    assert kinds(graph).count("Stack") == 1 and "SetItem" not in kinds(graph)


@pytest.mark.parametrize("key", [(slice(None, None, -1),), (..., slice(None, None, -1))], ids=["rows", "columns"])
@pytest.mark.parametrize("backend", ["native", "interpreter"])
def test_an_update_by_itself_overwrites_nothing(key, backend):
    def f(x):
        y = ops.sin(x)
        y[key] = y
        return ops.cumsum(ops.transpose(y, (1, 0)), 1)

    x = np.arange(12.0).reshape(3, 4)
    np.testing.assert_allclose(ad.jit(f, backend=backend)(x), np.cumsum(np.sin(x)[key].T, 1))

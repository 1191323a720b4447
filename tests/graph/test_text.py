"""A graph's text reads back: the same text, the same results, for every kind of node; errors name the line."""

from __future__ import annotations

import ml_dtypes
import numpy as np
import pytest

import adjoint as ad
from adjoint import ops
from adjoint.api.graph_call import GraphCall
from adjoint.backends import interpreter
from adjoint.core import tree
from adjoint.core.spec import Spec
from adjoint.graph.control import Loop
from adjoint.graph.flow import while_loop
from adjoint.graph.node import Builder, Graph
from adjoint.graph.text import GraphTextError, read, show
from adjoint.graph.trace import trace
from adjoint.graph.walk import replay
from adjoint.ops.card import card
from adjoint.ops.movement import Reshape
from adjoint.ops.slicing import GetItem
from corpus import PROGRAMS

NUMBERS = (np.ndarray, np.generic, float, complex)


def again(graph):
    """The graph read back from its text."""
    text = show(graph)
    back = read(text)
    assert show(back) == text
    return back


def agree(graph, *xs):
    back = again(graph)
    found, expected = (interpreter.compile(g)(*xs) for g in (back, graph))
    for a, b in zip(found, expected, strict=True):
        np.testing.assert_allclose(a, b, rtol=1e-13, atol=1e-15)  # BLAS rounds by the layout of constants
        assert np.asarray(a).dtype == np.asarray(b).dtype
    return back


def test_corpus():
    """Every program and its gradient; one in six is run."""
    programs = [p for p in PROGRAMS.values() if p.static]
    for k, program in enumerate(programs):
        graph = ad.graph.trace_function(program.fn, list(program.points[0]))
        inputs = [x for x in tree.leaves(list(program.points[0])) if isinstance(x, NUMBERS)]
        for each in (graph, ad.graph.generate_grad_graph(graph)):
            if k % 6 == 0 and len(inputs) == len(graph.params):
                agree(each, *inputs)
            else:
                again(each)


# ---------------------------------------------------------------- constants

CONSTANTS = [
    2.0, -0.0, 3, True, 1 - 2j, float("nan"), float("-inf"), complex(-0.0, float("nan")), 10**15,
    np.float64(0.1), np.array(1 / 3, "float32"), np.array([1.1, np.nan, -np.inf, -0.0, 5e-324]), np.array([1 / 3, 2], "float16"),
    np.array([True, False]), np.array([[1, -2]], "int8"), np.array([2**64 - 1], "uint64"), np.array([1 + 2j, complex(np.nan, -np.inf)], "complex64"),
    np.zeros((0, 3)), np.zeros((3, 0), "int32"), np.zeros((2, 0, 0), bool), np.linspace(0, 1, 1000).reshape(10, 100), np.arange(70, dtype="int16"),
    np.full((7, 11), 1 / 3, "float32"), np.full(80, -0.0), np.full(70, np.nan), np.full(66, 2 - 1j), np.ones(99, bool), np.full((9, 9), -3, "int8"),
    np.exp(1j * np.arange(100)), np.arange(70) % 3 == 0, np.asfortranarray(np.arange(100.0).reshape(10, 10)),
]  # fmt: skip


@pytest.mark.parametrize("value", CONSTANTS, ids=lambda v: f"{type(v).__name__}-{np.asarray(v).dtype}-{np.shape(v)}")
def test_constants(value):
    graph = Graph((), (Builder().const(value),))
    back = again(graph).outputs[0]
    assert back.spec == graph.outputs[0].spec
    assert type(back.op.value) is type(value) or isinstance(value, np.generic)
    np.testing.assert_array_equal(back.op.value, value)
    if np.asarray(value).dtype.kind in "fc":
        assert np.array_equal(np.signbit(np.real(back.op.value)), np.signbit(np.real(value)))


def test_a_number_repeated_is_written_once():
    graph = Graph((), (Builder().const(np.full((100, 50), 0.25)),))
    assert "float64[100, 50] = const all 0.25" in show(graph)


def test_bfloat16():
    x = np.array([1.5, -2.0, np.inf], ml_dtypes.bfloat16)
    graph, _ = trace(
        lambda x: [x * ad.Tensor(x_) + 1.0, x.astype("float32"), x.astype(ml_dtypes.bfloat16)], [Spec((3,), x.dtype)]
    )
    assert again(graph).specs == graph.specs
    large = Graph((), (Builder().const(np.arange(100).astype(ml_dtypes.bfloat16)),))
    np.testing.assert_array_equal(again(large).outputs[0].op.value, large.outputs[0].op.value)


x_ = np.array([1.0, 2.0, 3.0], "float32")


# ---------------------------------------------------------------- fields, control flow, effects


def test_fields():
    def f(x):
        y = x[1:, ::-1, None] + x[..., 0, :1][0]
        z = ops.einsum("ij,kj->ik", x, x).astype("float32").sum(0, keepdims=True)
        return [y, z, x.astype("complex64"), ops.transpose(x, (1, 0))]

    agree(trace(f, [Spec((3, 4))])[0], np.arange(12.0).reshape(3, 4))


def test_fields_of_any_kind():
    node = Builder().param(Spec((4,)))
    for index in ((Ellipsis,), (None, np.int64(2)), ((None, None, -1),)):
        op = GetItem(index)
        text = show(Graph((node,), (Builder().build(op, [node]),)))
        np.testing.assert_array_equal(replay(read(text), [np.arange(4.0)])[0], op.eval(np, np.arange(4.0)))


def test_weak_inputs():
    graph = ad.graph.trace_function(lambda x: x * np.float32(2.0), [2.0])
    assert "%0: float64[] weak" in show(graph)
    assert again(graph).params[0].spec.weak and again(graph).specs == graph.specs


def test_branches_and_loops():
    def f(x, v):
        for i in range(20):
            x = x + (ops.sin(x) if x > v[0] else v[i % 3])
        while x > 1.0:
            x = x * 0.5
        return x, v * x

    graph = ad.graph.trace_function(f, [2.0, np.arange(3.0)])
    back = agree(graph, 2.0, np.arange(3.0))
    agree(ad.graph.generate_grad_graph(graph), 2.0, np.arange(3.0))
    agree(ad.graph.generate_grad_graph(back), 2.0, np.arange(3.0))


@pytest.mark.parametrize("backwards", [False, True])
@pytest.mark.parametrize("guarded", [False, True])
def test_all_fields_of_a_loop(backwards, guarded):
    body, _ = trace(lambda c, go, s, k: [c * k + s, c], [Spec(()), Spec((), np.dtype(bool)), Spec(()), Spec(())])
    loop = Loop(body, 1, 2, backwards=backwards, guarded=guarded)
    graph, _ = trace(lambda *xs: list(loop(*xs)), [Spec(()), Spec((3,), np.dtype(bool)), Spec((3,)), Spec(())])
    back = agree(graph, 1.0, np.array([True, False, True]), np.arange(3.0), 2.0)
    read_loop = next(n.op for n in back.calls)
    assert (read_loop.carried, read_loop.stacked, read_loop.backwards, read_loop.guarded) == (1, 2, backwards, guarded)


@pytest.mark.parametrize("length", [None, 5])
def test_test_and_length(length):
    graph, _ = trace(lambda x: while_loop(lambda x: x < 9.0, lambda x: [x + 1.0], [x], length=length), [Spec(())])
    loop = next(n.op for n in agree(graph, 1.0).calls)
    assert loop.length == length and (loop.test is None) == (length is not None)


def test_calls():
    inner, _ = trace(lambda x: [ops.sin(x) * 2.0, x + 1.0], [Spec((3,))])
    call = GraphCall(inner)
    graph, _ = trace(lambda x: [*call(x), *call(x * 2.0)], [Spec((3,))])
    assert show(graph).count("@0 (") == 1  # held twice, printed once
    agree(graph, np.arange(3.0))


def test_effects(capsys):
    def f(x):
        print("x is", x, f"{x:.2f}", sep=" - ")
        assert x < 5.0, f"{x} is too large"
        for _ in range(12):
            x = x + 1.0
            if x > 6.0:
                print("large", {"x": [x]})
        return x

    graph = ad.graph.trace_function(f, [2.0])
    back = again(graph)
    assert len(back.effects) == len(graph.effects) >= 2 and "\n  effects %" in show(graph)
    capsys.readouterr()
    printed = []
    for each in (graph, back):
        assert interpreter.compile(each)(2.0) == [14.0]
        printed.append(capsys.readouterr().out)
        with pytest.raises(AssertionError, match="is too large"):
            interpreter.compile(each)(7.0)
        capsys.readouterr()
    assert printed[0] == printed[1] and printed[0].startswith("x is") and "large" in printed[0]


# ---------------------------------------------------------------- errors

GOOD = "graph (%0: float64[3]) -> %2\n  %1: float64[3] = Sin() %0\n  %2: float64[] = Sum(axes=(0,), keepdims=False) %1"
WRONG = [
    ("Sin() %0", "Sin() %7", "line 2: %7 is not defined"), ("Sin()", "Sinus()", "line 2: no op is called Sinus"),
    ("-> %2", "-> %9", "line 1: %9 is not defined"), ("axes=(0,)", "axes=(4,)", "line 3: ShapeError"), ("axes=", "axis=", "line 3: .*axis"),
    ("axes=(0,)", "axes=(__import__('os'),)", "line 3: no op is called __import__"), ("axes=(0,)", "axes=(open,)", "line 3: the name open"),
    ("axes=(0,)", "axes=(().__class__,)", "line 3: neither a number"), ("axes=(0,)", "axes=(0 for x in 9)", "line 3: neither a number"),
    ("float64[] =", "float32[] =", r"line 3: float32\[\] is written, float64\[\] comes out"), ("%2: ", "%1: ", "line 3: %1 is defined twice"),
    ("graph (", "grph (", "line 1: not the head of a graph"), ("  %1", "  one", "line 2: not a step"), ("Sin()", "Sin(", "line 2: not a"),
    ("float64[3])", "float65[3])", "line 1: no dtype is called float65"), ("Sin() %0", "pick 1 %0", "line 2: a pick of a result"),
    ("Sin() %0", "const [1.0, 2.0]", "line 2: cannot reshape"), ("Sin() %0", "const [1.0, 2.0, 3.0] weak", "line 2: only one Python number"),
    ("Sin() %0", "const hex 00", "line 2: "), ("Sin() %0", "Cond(true=@0, false=@0) %0", "line 2: there is no graph @0"), (GOOD, "", "line 1: "),
    ("Sin() %0", "GraphCall(graph=@0) %0\n@0 (%0: float64[3]) -> %1\n  %1: float64[3] = GraphCall(graph=@0) %0", "line 4: the graph @0 holds itself"),
]  # fmt: skip


@pytest.mark.parametrize("old, new, message", WRONG, ids=[w[2][:40] + f" {k}" for k, w in enumerate(WRONG)])
def test_errors_name_the_line(old, new, message):
    assert old in GOOD
    with pytest.raises(GraphTextError, match=message):
        read(GOOD.replace(old, new, 1))


def test_a_deep_graph():
    b = Builder()
    node = x = b.param(Spec((1,)))
    for k in range(3000):
        node = b.build(card(Reshape, (1, 1) if k % 2 == 0 else (1,)), [node])
    again(Graph((x,), (node,)))

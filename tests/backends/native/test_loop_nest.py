"""Loop nests: random mixtures of movements, reductions and elementwise ops, every axis, every size, any number of threads."""

from __future__ import annotations

import itertools
from collections.abc import Iterator
from random import Random

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from adjoint.backends.interpreter import Steps
from adjoint.backends.native.compiler import Program
from adjoint.backends.native.runtime import thread_pool
from adjoint.core.spec import Spec
from adjoint.graph.node import Builder, Graph, Node
from adjoint.ops import along_axis, slicing
from adjoint.ops import arithmetic as a
from adjoint.ops import movement as m
from adjoint.ops import reduce as r
from adjoint.ops import transcendental as t
from adjoint.testing.random_graphs import random_graph

f8, f4, i4, b1 = (np.dtype(name) for name in ("float64", "float32", "int32", "bool"))
SIZES = (1, 7, 8, 9, 15, 16, 17, 31, 33, 0)


def assert_equal(graph: Graph, inputs: list[np.ndarray]) -> None:
    """The program gives what the interpreter gives, to the last bit."""
    for k, (found, wanted) in enumerate(zip(Program(graph)(*inputs), Steps(graph)(*inputs), strict=True)):
        wanted = np.asarray(wanted)
        assert (found.dtype, found.shape) == (wanted.dtype, wanted.shape), f"result {k} of\n{graph}"
        np.testing.assert_array_equal(found, wanted, err_msg=f"result {k} of\n{graph}")


# ---------------------------------------------------------------- mixtures


@pytest.mark.parametrize("block", range(4))
def test_random_graphs(block: int) -> None:
    for seed in range(block * 12, block * 12 + 12):
        graph, inputs = random_graph(Random(seed), empty=seed % 4 == 3)
        assert_equal(graph, inputs)


def test_large_random_graphs() -> None:
    for seed in range(12):
        assert_equal(*random_graph(Random(seed), 14, large=True))


@settings(max_examples=30, deadline=None, derandomize=True, database=None)
@given(st.randoms(use_true_random=False))
def test_small_random_graphs(random: Random) -> None:
    """Few steps, so that a failure comes down to a graph that can be read."""
    assert_equal(*random_graph(random, 5, empty=True))


# ---------------------------------------------------------------- sizes and axes


def whole_numbers(shape: tuple[int, ...], dtype: np.dtype) -> np.ndarray:
    return np.asarray(np.random.default_rng(7).integers(-5, 6, shape), dtype)


def reductions(builder: Builder, x: Node) -> list[Node]:
    """Every reduction over every set of axes."""
    axes = [some for k in range(1, x.ndim + 1) for some in itertools.combinations(range(x.ndim), k)]
    kinds = (r.Any, r.All, r.Sum) if x.dtype.kind == "b" else (r.Sum, r.Max, r.Min)
    return [
        builder.build(kind(some), [x])
        for some in axes
        for kind in kinds
        if kind in (r.Sum, r.Any, r.All) or prod_of(x, some)
    ]


def prod_of(x: Node, axes: tuple[int, ...]) -> int:
    return int(np.prod([x.shape[k] for k in axes]))


@pytest.mark.parametrize("dtype", [f8, f4, i4, b1], ids=str)
def test_every_size_of_an_axis(dtype: np.dtype) -> None:
    """Full vectors, part of one, nothing at all; along the axis and across it, straight, backwards and in steps."""
    builder = Builder()
    params, outputs = [], []
    for n in SIZES:
        for shape in ((n,), (3, n), (n, 3)) if dtype == f8 else ((3, n),):
            x = builder.param(Spec(shape, dtype))
            params.append(x)
            flipped = builder.build(slicing.Flip((len(shape) - 1,)), [x])
            outputs += [flipped, builder.build(slicing.GetItem(((None, None, -2),)), [x])]
            outputs += [builder.build(m.Transpose(tuple(range(len(shape)))[::-1]), [x])]
            outputs += reductions(builder, x) if n in (1, 9, 17, 0) else reductions(builder, flipped)[:3]
    graph = Graph(tuple(params), tuple(outputs))
    assert_equal(graph, [whole_numbers(p.shape, dtype) for p in params])


@pytest.fixture
def restored() -> Iterator[None]:
    before = thread_pool.get_num_threads()
    yield
    thread_pool.set_num_threads(before)


LARGE = [(100_003,), (401, 307), (5, 40_009), (40_009, 5), (37, 41, 43), (2, 3, 20_011)]


@pytest.mark.parametrize("shape", LARGE, ids=str)
def test_large_nests_are_the_same_for_any_number_of_threads(shape: tuple[int, ...], restored: None) -> None:
    """Exact on whole numbers; on others the same to the last bit, though sums are made in chunks."""
    builder = Builder()
    x, y = (builder.param(Spec(shape, d)) for d in (f8, f4))
    flipped = builder.build(slicing.Flip((len(shape) - 1,)), [y])
    small = [n for n in reductions(builder, x) if not isinstance(n.op, r.Min)]
    outputs = [*small, *(n for n in reductions(builder, flipped) if isinstance(n.op, r.Sum))]
    outputs += [builder.build(a.Add(), [x, y]), builder.build(r.Sum((0,)), [builder.build(a.Mul(), [x, y])])]
    graph = Graph((x, y), tuple(outputs))
    program = Program(graph)
    assert not program.left_out
    draw = np.random.default_rng(1)
    for inputs in (
        [whole_numbers(shape, f8), whole_numbers(shape, f4)],
        [draw.standard_normal(shape), draw.standard_normal(shape).astype(f4)],
    ):
        thread_pool.set_num_threads(1)
        one = program(*inputs)
        thread_pool.set_num_threads(2)
        two = program(*inputs)
        for node, p, q, wanted in zip(outputs, one, two, Steps(graph)(*inputs), strict=True):
            assert p.tobytes() == q.tobytes(), f"{node.op} depends on the number of threads"
            if inputs[0][(0,) * len(shape)] % 1:
                size = 1 + np.max(np.abs(wanted))
                np.testing.assert_allclose(p, wanted, rtol=0, atol=(1e-12 if p.dtype == f8 else 3e-5) * size)
            else:
                np.testing.assert_array_equal(p, wanted, err_msg=str(node.op))


def test_long_sums_in_single_precision_keep_their_digits() -> None:
    """A tenth, a million times: added up one by one in single precision it would be 1% off."""
    builder = Builder()
    x = builder.param(Spec((2, 1_000_003), f4))
    back = builder.build(slicing.Flip((1,)), [x])
    outputs = [builder.build(r.Sum(axes), [v]) for v in (x, back) for axes in ((1,), (0, 1))]
    values = np.full(x.shape, 0.1, f4)
    for node, found in zip(outputs, Program(Graph((x,), tuple(outputs)))(values), strict=True):
        np.testing.assert_allclose(found, values.sum(node.op.axes, np.float64), rtol=1e-6)


def test_nan_and_infinity_in_reductions() -> None:
    builder = Builder()
    x = builder.param(Spec((5, 19), f8))
    outputs = reductions(builder, x)
    values = whole_numbers((5, 19), f8)
    values[1, 3], values[2, 18], values[3, 0], values[4, 7] = np.nan, np.inf, -np.inf, -0.0
    assert_equal(Graph((x,), tuple(outputs)), [values])


def test_positions_and_running_sums() -> None:
    """The first of equal elements, the first NaN; sums from either end; along every axis."""
    builder = Builder()
    params = [builder.param(Spec((4, 5, 3), d)) for d in (f8, i4, b1)]
    outputs = []
    for x in params:
        outputs += [
            builder.build(op(axis), [x]) for op in (r.ArgMax, r.ArgMin, along_axis.CumSum) for axis in (0, 1, -1)
        ]
        outputs += [builder.build(along_axis.CumSum(1, True), [x])]
        outputs += [builder.build(r.ArgMax(0), [builder.build(m.Reshape((60,)), [x])])]
    values = [whole_numbers((4, 5, 3), p.dtype) for p in params]
    values[0][1, 2], values[0][2, 2, 1], values[0][3, 0, 0], values[0][0, 0, 0] = np.nan, np.inf, -np.inf, -0.0
    graph = Graph(tuple(params), tuple(outputs))
    assert not Program(graph).left_out
    assert_equal(graph, values)


# ---------------------------------------------------------------- what is planned


def test_a_dear_op_used_twice_is_computed_once() -> None:
    """Two sums over different axes share one pass that stores the exponential, and agree with the interpreter."""
    builder = Builder()
    x = builder.param(Spec((9, 11), f8))
    e = builder.build(t.Exp(), [x])
    moved = builder.build(m.Transpose((1, 0)), [e])
    outputs = (builder.build(r.Sum((0,)), [e]), builder.build(r.Sum((0,)), [moved]), moved)
    values = np.random.default_rng(3).standard_normal((9, 11))
    graph = Graph((x,), outputs)
    for found, wanted in zip(Program(graph)(values), Steps(graph)(values), strict=True):
        np.testing.assert_allclose(found, wanted, rtol=1e-14)


def test_reshapes_of_results_and_inputs() -> None:
    """A reshape is the memory of what it reshapes, whichever of them is a result, an input of a kernel, or read later."""
    builder = Builder()
    x, w = builder.param(Spec((6,), f8)), builder.param(Spec((3, 3), f8))
    s = builder.build(a.Add(), [x, builder.const(1.0)])
    pair = builder.build(m.Reshape((2, 3)), [s])
    row = builder.build(m.Reshape((1, 6)), [s])
    again = builder.build(m.Reshape((6,)), [pair])
    column = builder.build(m.Reshape((6, 1)), [builder.build(a.Mul(), [row, builder.const(2.0)])])
    outputs = (pair, row, again, s, column, builder.build(m.Reshape((3, 2)), [x]), builder.build(a.Sub(), [again, x]))
    assert_equal(Graph((x, w), outputs), [whole_numbers((6,), f8), whole_numbers((3, 3), f8)])


@pytest.mark.parametrize("op", [r.Max, r.Min])
def test_nothing_has_no_extremum(op: type) -> None:
    builder = Builder()
    graph = Graph((x := builder.param(Spec((0, 3), f8)),), (builder.build(op((0,)), (x,)),))
    with pytest.raises(ValueError, match="zero-size"):
        Program(graph)(np.zeros((0, 3)))

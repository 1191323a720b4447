"""Graphs cut into stages: the stages one after another give what the graph gives, and the cut is the best there is."""

from __future__ import annotations

from itertools import combinations
from random import Random

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import adjoint as ad
from adjoint import ops, parallel
from adjoint.graph.node import Graph, Param
from adjoint.graph.steps import Steps
from adjoint.parallel.best_cut import CrossingValue, best_cut
from adjoint.passes import optimise
from adjoint.testing.random_graphs import random_graph


def steps_of(graph: Graph) -> int:
    """The largest number of stages, as the refusal says it."""
    with pytest.raises(ad.ArgumentError, match="cannot be cut into") as refused:
        parallel.cut_graph(graph, 10**6)
    return int(str(refused.value).split("graph of ")[1].split()[0])


@settings(max_examples=150)
@given(st.integers(0, 10**6), st.integers(1, 6), st.booleans())
def test_the_stages_of_a_random_graph_give_what_it_gives(seed: int, n: int, optimised: bool) -> None:
    random = Random(seed)
    graph, inputs = random_graph(random, random.randrange(3, 22), empty=seed % 5 == 0)  # integers: sums are exact
    graph = optimise(graph)[0] if optimised else graph
    count = steps_of(graph)
    if count == 0:
        return
    cut = parallel.cut_graph(graph, min(n, count))
    assert sum(s.steps for s in cut.stages) == count
    assert all(len(set(s.inputs)) == len(s.inputs) == len(s.graph.params) for s in cut.stages)
    for found, wanted in zip(cut(*inputs, backend="interpreter"), Steps(graph)(*inputs), strict=True):
        np.testing.assert_array_equal(found, wanted)
        assert np.asarray(found).dtype == np.asarray(wanted).dtype


@pytest.mark.parametrize("seed", range(6))
def test_the_stages_run_as_machine_code(seed: int) -> None:
    graph, inputs = random_graph(Random(seed), 12)
    cut = parallel.cut_graph(graph, 3)
    for found, wanted in zip(cut(*inputs), Steps(graph)(*inputs), strict=True):
        np.testing.assert_array_equal(found, wanted)


def cut_cost(seconds: list[float], values: list[CrossingValue], starts: tuple[int, ...]) -> tuple[float, int]:
    """The longest part and the bytes that cross, counted one by one."""
    parts, crossing, longest = list(zip((0, *starts), (*starts, len(seconds)), strict=True)), 0, 0.0
    for a, b in parts:
        time = sum(seconds[a:b])
        for v in values:
            if v.made < a and any(a <= r < b for r in v.readers):
                time, crossing = time + v.seconds, crossing + v.bytes
        longest = max(longest, time)
    return longest, crossing


@given(st.integers(0, 10**6))
def test_no_other_cut_is_better(seed: int) -> None:
    random = Random(seed)
    n = random.randrange(1, 9)
    seconds = [random.randrange(0, 9) / 2 for _ in range(n)]
    values = []
    for made in range(n - 1):
        readers = sorted(random.sample(range(made + 1, n), random.randrange(0, min(4, n - made))))
        values.append(CrossingValue(made, tuple(readers), random.randrange(0, 50), random.randrange(0, 5) / 2))
    for parts in range(1, n + 1):
        every = [cut_cost(seconds, values, c) for c in combinations(range(1, n), parts - 1)]
        assert cut_cost(seconds, values, tuple(best_cut(seconds, values, parts))) == min(every)


def layers(x, *weights):
    for w in weights:
        x = ops.tanh(x @ w)
    return x.sum()


def deep(count: int) -> Graph:
    return ad.graph.trace_function(layers, [ops.ones((8, 64)), *[ops.ones((64, 64))] * count])


def test_equal_layers_make_equal_stages() -> None:
    cut = parallel.cut_graph(deep(8), 4)
    assert [sum(isinstance(n.op, Param) for n in s.inputs) for s in cut.stages] == [3, 2, 2, 2]
    assert [s.received for s in cut.stages] == [0, 8 * 64 * 4, 8 * 64 * 4, 8 * 64 * 4]
    assert cut.balance > 0.98


def test_given_times_decide() -> None:
    graph = deep(4)
    products = [n for n in graph.calls if type(n.op).__name__ == "MatMul"]
    cut = parallel.cut_graph(graph, 2, times={products[0]: 3.0, **dict.fromkeys(products[1:], 1.0)})
    assert [round(s.seconds) for s in cut.stages] == [3, 3]
    cut = parallel.cut_graph(graph, 2, times=lambda node: float(node is products[3]))
    assert [s.seconds for s in cut.stages] == [1.0, 0.0]  # whose stage receives nothing


def test_measured_times_are_those_of_a_run() -> None:
    cut = parallel.cut_graph(deep(4), 2, inputs=[np.ones((8, 64), np.float32)] + [np.ones((64, 64), np.float32)] * 4)
    assert all(s.seconds > 0 for s in cut.stages)
    with pytest.raises(ad.ArgumentError, match="input 0 has shape"):
        parallel.cut_graph(deep(1), 2, inputs=[np.ones((8, 65)), np.ones((64, 64))])


def test_a_skipped_value_goes_from_where_it_is_made_to_where_it_is_read() -> None:
    def f(x, w):
        first = ops.tanh(x @ w)
        y = first
        for _ in range(6):
            y = ops.tanh(y @ w)
        return first + y

    x, w = np.full((4, 32), 0.1, np.float32), np.eye(32, dtype=np.float32)
    graph = ad.graph.trace_function(f, [x, w])
    cut = parallel.cut_graph(graph, 3)
    assert cut.stages[2].received == 2 * cut.stages[1].received  # the result of the stage before, and of the first
    np.testing.assert_array_equal(cut(x, w, backend="interpreter")[0], Steps(graph)(x, w)[0])


def test_what_is_repeated_is_made_where_it_is_read() -> None:
    """A row that is broadcast crosses as a row."""

    def f(x, row):
        big = ops.broadcast_to(ops.exp(row), (1000, 50))
        return (ops.sin(x) * big + ops.cos(x)) * big

    x, row = np.ones((1000, 50)), np.arange(50.0) / 50
    cut = parallel.cut_graph(ad.graph.trace_function(f, [x, row]), 2)
    assert cut.crossing_bytes < 2 * x.nbytes + 1000
    np.testing.assert_allclose(cut(x, row)[0], (np.sin(x) * np.exp(row) + np.cos(x)) * np.exp(row), rtol=1e-13)


def test_inputs_and_constants_that_are_results() -> None:
    graph = ad.graph.trace_function(lambda x: (x, ops.sin(x), ops.cos(ops.sin(x)), x.reshape(3, 1)), [np.arange(3.0)])
    found = parallel.cut_graph(graph, 2)(np.arange(3.0))
    np.testing.assert_array_equal(found[0], np.arange(3.0))
    np.testing.assert_allclose(found[2], np.cos(np.sin(np.arange(3.0))))
    assert found[3].shape == (3, 1)


def test_effects_stay_in_their_order(capfd: pytest.CaptureFixture[str]) -> None:
    def f(x):
        print("first", x)
        y = ops.sin(x)
        print("second", y)
        return ops.exp(y) * 2.0

    graph = ad.graph.trace_function(f, [ad.Tensor(0.0)])
    cut = parallel.cut_graph(graph, steps_of(graph))
    assert float(cut(np.float32(0.0), backend="interpreter")[0]) == 2.0
    assert capfd.readouterr().out.split() == ["first", "0.0", "second", "0.0"]
    with pytest.raises(ad.ArgumentError, match="not run only to be measured"):
        parallel.cut_graph(graph, 2, inputs=[np.float32(0.0)])


@pytest.mark.parametrize(
    ("n", "error", "said"),
    [
        (0, ad.ArgumentError, "at least one stage"),
        (-2, ad.ArgumentError, "at least one stage"),
        (99, ad.ArgumentError, "a graph of 5 steps cannot be cut into 99 stages"),
        (2.0, ad.ArgumentTypeError, "must be an integer"),
        (True, ad.ArgumentTypeError, "must be an integer"),
    ],
)
def test_impossible_numbers_of_stages_are_refused(n: object, error: type[Exception], said: str) -> None:
    with pytest.raises(error, match=said):
        parallel.cut_graph(deep(2), n)  # type: ignore[arg-type]


def test_other_wrong_arguments() -> None:
    graph = deep(2)
    with pytest.raises(ad.ArgumentTypeError, match="must be a Graph"):
        parallel.cut_graph(layers, 2)  # type: ignore[arg-type]
    with pytest.raises(ad.ArgumentError, match="not both"):
        parallel.cut_graph(graph, 2, times={}, inputs=[])
    with pytest.raises(ad.ArgumentError, match="it must be zero or more"):
        parallel.cut_graph(graph, 2, times=lambda node: float("nan"))
    with pytest.raises(ad.ArgumentError, match="1 inputs were given, the graph takes 3"):
        parallel.cut_graph(graph, 2)(np.ones(3))
    with pytest.raises(ad.ArgumentError, match="link_bandwidth must be above zero"):
        parallel.Machine("none", link_bandwidth=0.0)


def test_the_table_for_people_and_notebooks() -> None:
    cut = parallel.cut_graph(deep(2), 2)
    assert str(cut).splitlines()[0].split("  ")[0] == "stage" and "balance" in repr(cut)
    assert cut._repr_html_().startswith("<table>")

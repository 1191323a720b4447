"""Random graphs and programs as bounds-checked machine code; `make fuzz-native` runs very many of them."""

from __future__ import annotations

from collections import Counter
from random import Random
from typing import Any

import pytest

from adjoint import ops
from adjoint.backends.native.emit import planned_graph
from adjoint.backends.native.kernels import matmul
from adjoint.backends.native.plan import arena, computed_again, matmul_operands, result_rooms, unit_order, units
from adjoint.core import rules
from adjoint.graph.control import Control
from adjoint.graph.node import Graph
from adjoint.ops import Sin
from adjoint.testing import fuzz, fuzz_graphs
from adjoint.testing.random_graphs import random_graph

BLOCK = 150


@pytest.mark.parametrize("block", range(10))
def test_random_graphs(block: int) -> None:
    """Forward, in batches, their gradients, and batches of gradients."""
    seeds = range(block * BLOCK, (block + 1) * BLOCK)
    wrong = {seed: found for seed in seeds if (found := fuzz_graphs.disagreement(seed))}
    assert not wrong


def test_random_graphs_in_any_order(monkeypatch: pytest.MonkeyPatch) -> None:
    """Units in any order that keeps what each of them needs, and the layout that large graphs have, partly in results."""
    counts = {"order": 0, "layout": 0, "in results": 0}
    largest_first, in_results, random = arena._largest_first, arena.placed_in_results, Random(0)

    def any_order(tasks: Any, least: int = 1) -> list[int]:
        run = unit_order._Run(tasks)
        while len(run.order) < len(tasks):
            ready = [k for k in range(len(tasks)) if not run.done[k] and not run.missing[k]]
            run.run(random.choice(ready))
        counts["order"] += run.order != sorted(run.order)
        return run.order

    def counted(places: Any, last: int) -> Any:
        counts["layout"] += 1
        return largest_first(places, last)

    def counted_in_results(places: Any, rooms: Any, last: int) -> Any:
        found = in_results(places, rooms, last)
        counts["in results"] += len(found)
        return found

    monkeypatch.setattr(arena, "placed_in_results", counted_in_results)
    monkeypatch.setattr(result_rooms, "LEAST", 1)
    monkeypatch.setattr(result_rooms, "SHORT", 1 << 40)
    monkeypatch.setattr(unit_order, "_eager", any_order)
    monkeypatch.setattr(arena, "_largest_first", counted)
    monkeypatch.setattr(unit_order, "WORTH", -(1 << 40))
    monkeypatch.setattr(arena, "WORTH", -(1 << 40))
    wrong = {seed: found for seed in range(7000, 7120) if (found := fuzz_graphs.disagreement(seed))}
    assert not wrong
    assert min(counts.values()) > 50


def test_random_graphs_with_much_computed_again(monkeypatch: pytest.MonkeyPatch) -> None:
    """Whatever can be is computed again after the peak, whether that saves anything or not."""
    copies = 0

    def counted(*args: Any) -> Any:
        nonlocal copies
        found = computed_again.recomputing(*args)
        copies += len(units.recomputed(found)) if found else 0
        return found

    for name, value in {"LEAST": 1, "SHARE": 0, "SMALL": 0, "STEPS": 30}.items():
        monkeypatch.setattr(computed_again, name, value)
    monkeypatch.setattr(planned_graph, "recomputing", counted)
    for module in (planned_graph, unit_order, arena):
        monkeypatch.setattr(module, "WORTH", -(1 << 40))
    monkeypatch.setattr(units, "SHORT", 0)
    wrong = {seed: found for seed in range(8000, 8150) if (found := fuzz_graphs.disagreement(seed))}
    assert not wrong
    assert copies > 20


def test_differences_say_nothing_where_a_step_is_large() -> None:
    """A loop that multiplies changes by 1e10: quotients of differences are small, and far from the slope and from each other."""
    assert fuzz_graphs.disagreement(80000016) is None


def test_a_wrong_slope_is_found(monkeypatch: pytest.MonkeyPatch) -> None:
    """A derivative that is wrong in every mode is found by differences."""
    seeds = [seed for seed in range(300) if fuzz_graphs.KINDS[seed % len(fuzz_graphs.KINDS)] is fuzz_graphs.gradient]
    monkeypatch.setattr(Sin, "vjp", lambda self, g, y, x: (g * ops.cos(x) * 1.01,))
    rules.changed()
    found = [fuzz_graphs.disagreement(seed) or "" for seed in seeds[:40]]
    monkeypatch.undo()
    rules.changed()
    assert sum("along a direction" in text for text in found) > 3


@pytest.mark.parametrize("block", range(2))
def test_random_programs(block: int) -> None:
    seeds = range(block * 20, (block + 1) * 20)
    wrong = {seed: found for seed in seeds if (found := fuzz.examined(seed, backend="native"))}
    assert not wrong


def shapes(graph: Graph, found: Counter[str]) -> None:
    """What kinds of steps a graph has."""
    users = {i: n for n in graph.nodes for i in n.inputs}
    for node in graph.calls:
        name = type(node.op).__name__
        found[name] += 1
        if name == "MatMul":
            ranks = [min(i.ndim, 3) for i in node.inputs]
            found[f"MatMul {ranks[0]} {ranks[1]}"] += 1
            found[f"MatMul then {type(users[node].op).__name__ if node in users else 'nothing'}"] += 1
        if isinstance(node.op, Control):
            for inner in node.op.graphs().values():
                shapes(inner, found)


def test_random_graphs_have_every_kind_of_step() -> None:
    found: Counter[str] = Counter()
    for seed in range(600):
        shapes(random_graph(Random(seed), 10, real=seed % 3 == 0)[0], found)
    wanted = [f"MatMul {a} {b}" for a in (1, 2, 3) for b in (1, 2, 3)]
    wanted += [f"MatMul then {name}" for name in ("nothing", "Add", "Mul", "Minimum", "Relu", "Cast", "Where", "Sum")]
    wanted += [f"MatMul then {name}" for name in ("Transpose", "Reshape", "Sin")]
    wanted += ["Conv", "MaxPool", "SumPool", "Unfold", "Gather", "ScatterAdd", "ScatterSet", "Concat", "Stack", "Pad"]
    wanted += [
        "CumSum",
        "Einsum",
        "Cond",
        "Loop",
        "GetItem",
        "SetItem",
        "PutItem",
        "Flip",
        "BroadcastTo",
        "Max",
        "Mean",
    ]
    assert not [name for name in wanted if found[name] < 5]


def test_the_fuzzer_would_have_seen_the_last_axis_taken_for_columns(monkeypatch: pytest.MonkeyPatch) -> None:
    product, columns = matmul._product, matmul_operands.columns

    def with_own_columns(node: object) -> object:
        with pytest.MonkeyPatch.context() as patch:
            patch.setattr(matmul_operands, "columns", columns)
            return product(node)  # type: ignore[arg-type]

    monkeypatch.setattr(matmul, "_product", with_own_columns)
    monkeypatch.setattr(matmul_operands, "columns", lambda node: node.shape[-1])
    assert any("BoundsError" in (fuzz_graphs.disagreement(seed) or "") for seed in range(300))

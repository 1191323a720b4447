"""The list of passes, the verifier between them, and what each one did."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass

from adjoint.graph.node import Graph, Node
from adjoint.graph.verify import problem
from adjoint.passes.algebra import algebra
from adjoint.passes.dead import dead
from adjoint.passes.fold import fold
from adjoint.passes.inplace import inplace
from adjoint.passes.merge import merge
from adjoint.passes.rewrite import rebuild

Pass = Callable[[Graph], Graph]


def cse(graph: Graph) -> Graph:
    """Equal nodes become one: building interns them."""
    return rebuild(graph)


PASSES: tuple[tuple[str, Pass], ...] = (
    ("cse", cse),
    ("merge", merge),
    ("dead", dead),
    ("fold", fold),
    ("algebra", algebra),
    ("inplace", inplace),
)


@dataclass(frozen=True)
class Report:
    """What one pass did."""

    name: str
    before: int
    after: int
    seconds: float

    def __str__(self) -> str:
        return f"{self.name:<10} {self.before:>6} -> {self.after:<6} nodes  {self.seconds * 1e3:8.2f} ms"


def optimise(
    graph: Graph, off: Iterable[str] = (), passes: Sequence[tuple[str, Pass]] = PASSES
) -> tuple[Graph, list[Report]]:
    """The graph after all passes but those switched `off`, and a report of each. A pass that breaks the graph is named."""
    reports = []
    checked: set[Node] = set()
    for name, step in passes:
        if name in off:
            continue
        start, before = time.perf_counter(), len(graph.calls)
        better = step(graph)
        if wrong := problem(better, graph, checked):
            raise AssertionError(f"pass {name} broke the graph: {wrong}")
        graph = better
        reports.append(Report(name, before, len(graph.calls), time.perf_counter() - start))
    return graph, reports

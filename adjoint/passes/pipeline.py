"""The list of passes, the verifier between them, and what each one did."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, field

from adjoint.graph.control import Control
from adjoint.graph.node import Graph, Node
from adjoint.graph.rewrite import rebuild
from adjoint.graph.verify import problem
from adjoint.passes.algebra import algebra
from adjoint.passes.dead import dead
from adjoint.passes.fission import fission
from adjoint.passes.fold import fold
from adjoint.passes.hoist import hoist
from adjoint.passes.kept_inside import kept_inside
from adjoint.passes.merge import merge
from adjoint.passes.motion import motion
from adjoint.passes.overwrite import inplace
from adjoint.passes.strength import strength

Pass = Callable[[Graph], Graph]


def cse(graph: Graph) -> Graph:
    """Equal nodes become one: building interns them."""
    return rebuild(graph)


def again(graph: Graph) -> Graph:
    """What the passes in between have made constant, equal or useless."""
    return dead(rebuild(fold(graph)))


PASSES: tuple[tuple[str, Pass], ...] = (
    ("cse", cse),
    ("merge", merge),
    ("dead", dead),
    ("kept", kept_inside),
    ("fold", fold),
    ("algebra", algebra),
    ("strength", strength),
    ("motion", motion),
    ("hoist", hoist),
    ("fission", fission),
    ("again", again),
    ("inplace", inplace),
)


def size(graph: Graph) -> int:
    """The number of steps, with those inside branches and loops."""
    inside = sum(size(g) for n in graph.calls if isinstance(n.op, Control) for g in n.op.graphs().values())
    return len(graph.calls) + inside


@dataclass(frozen=True)
class Report:
    """What one pass did."""

    name: str
    seconds: float
    graphs: tuple[Graph, Graph] = field(repr=False, compare=False)

    @property
    def before(self) -> int:
        """The number of steps before it."""
        return size(self.graphs[0])

    @property
    def after(self) -> int:
        """The number of steps after it."""
        return size(self.graphs[1])

    def shown(self) -> str:
        """The graph before and after."""
        old, new = self.graphs
        return f"before {self.name}:\n{old}\nafter {self.name}:\n{new}"

    def __str__(self) -> str:
        return f"{self.name:<10} {self.before:>6} -> {self.after:<6} nodes  {self.seconds * 1e3:8.2f} ms"


def optimise(
    graph: Graph, off: Iterable[str] = (), passes: Sequence[tuple[str, Pass]] = PASSES
) -> tuple[Graph, list[Report]]:
    """The graph after all passes but those switched `off`, and a report of each. A pass that breaks the graph is named."""
    reports = []
    checked: set[Node | Graph] = set()
    for name, step in passes:
        if name in off:
            continue
        start = time.perf_counter()
        better = step(graph)
        if wrong := problem(better, graph, checked):
            raise AssertionError(f"pass {name} broke the graph: {wrong}")
        reports.append(Report(name, time.perf_counter() - start, (graph, better)))
        graph = better
    return graph, reports

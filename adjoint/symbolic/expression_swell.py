"""Expression swell: how large the formula of a derivative is when it is written out, against the graph that computes it."""

from __future__ import annotations

import os
from collections.abc import Callable
from dataclasses import dataclass
from math import prod
from typing import Any

from adjoint.api.graphs import build_computational_graph
from adjoint.api.inputs import check_function, name_of
from adjoint.core import drawing
from adjoint.core.errors import ArgumentError, boundary, called_at
from adjoint.core.progress import tracked
from adjoint.core.tables import Table
from adjoint.graph.control import Loop
from adjoint.graph.inplace import InPlace
from adjoint.graph.nested import Control
from adjoint.graph.node import Graph, Node
from adjoint.ops.families import Elementwise
from adjoint.symbolic.formula_calculus import differentiated, simplify
from adjoint.symbolic.math_functions import with_math
from adjoint.symbolic.op_formulas import sympy
from adjoint.symbolic.sympy_expressions import NoClosedFormError, to_sympy

SHORT, SHORT_POLYNOMIAL = 60, 400  # operations of a derivative above which it is not simplified: that takes minutes
MANY = 10**15  # operations that a formula may have to be counted


@dataclass(frozen=True)
class SwellRow:
    """What n applications of a function take, in operations."""

    n: int
    formula: int  # of the function, written out
    derivative: int  # of its symbolic derivative, written out
    simplified: int | None  # of that, simplified; None where it is too long for that
    graph: int  # of the function's graph
    gradient: int  # of the graph of its gradient, which computes the function too


@dataclass(frozen=True)
class Swell:
    """Sizes of formulas and of graphs, for more and more applications of a function."""

    name: str
    rows: tuple[SwellRow, ...]

    @property
    def table(self) -> Table:
        head = ("n", "formula", "derivative", "simplified", "graph", "gradient graph")
        cells = (
            (r.n, r.formula, r.derivative, "-" if r.simplified is None else r.simplified, r.graph, r.gradient)
            for r in self.rows
        )
        return Table(head, [tuple(map(str, row)) for row in cells])

    def __str__(self) -> str:
        return f"operations in n applications of {self.name}\n{self.table.text()}"

    def markdown(self) -> str:
        """The table in Markdown."""
        return self.table.markdown()

    def draw(self, path: str | os.PathLike[str] | None = None) -> Any:
        """The picture, as a figure of matplotlib; with a path it is written there, as PNG, SVG or what the name ends with."""
        made, axes = drawing.figure()
        n = [r.n for r in self.rows]
        lines: dict[str, list[int | None]] = {
            "derivative, written out": [r.derivative for r in self.rows],
            "derivative, simplified": [r.simplified for r in self.rows],
            "graph of the gradient": [r.gradient for r in self.rows],
            "graph of the function": [r.graph for r in self.rows],
        }
        if n[1:] and not any(lines["derivative, simplified"][1:]):
            lines["derivative, simplified"] = []
        for colour, mark, (label, sizes) in zip(
            drawing.COLOURS[1::-1] + drawing.COLOURS[2:], "osD^", lines.items(), strict=False
        ):
            shown = [(k, v) for k, v in zip(n, sizes, strict=False) if v]
            if not shown:
                continue
            axes.plot(*zip(*shown, strict=True), f"-{mark}", color=colour, markersize=5, label=label)
            axes.annotate(f" {shown[-1][1]}", shown[-1], (4, -3), textcoords="offset points", color=colour)
        axes.set_yscale("log")
        axes.set_xticks(n)
        axes.set_xlabel(f"applications of {self.name}")
        axes.set_ylabel("operations")
        axes.set_title(f"expression swell: {self.name}", fontsize=11)
        axes.margins(x=0.12)
        axes.legend(frameon=False, loc="upper left")
        if path is not None:
            drawing.save(made, path)
        return made

    def _repr_html_(self) -> str:
        return self.table.html() + drawing.picture_below(self.draw)


@boundary
def swell(f: Callable[..., Any], n: int = 6) -> Swell:
    """How the derivative of `f` applied 1 to n times grows as a formula, and as a graph.

    Args:
        f: a function of one number, such as one step of a recursion; or of a number and of how often to apply it.
        n: up to how often.

    >>> from adjoint import symbolic
    >>> print(symbolic.swell(lambda x: 4 * x * (1 - x), 3))
    operations in n applications of <lambda>
    n  formula  derivative  simplified  graph  gradient graph
    1        3           2           2      3               4
    2        8          21           8      6              11
    3       18          82          20      9              18
    """
    check_function("swell", f)
    if isinstance(n, bool) or not isinstance(n, int) or n < 1:
        raise ArgumentError(f"swell: n must be an integer above zero, not {n!r}{called_at()}")
    s = sympy()
    x = s.Symbol("x", real=True)
    rows, value = [], x
    counted = _takes_a_count(f)
    for k in tracked(range(1, n + 1), f"swell of {name_of(f)}", n):
        value = to_sympy(f, x, k) if counted else to_sympy(f, value)
        if not isinstance(value, s.Expr):
            raise ArgumentError(f"swell: {name_of(f)} must return one number{called_at()}")
        slope = differentiated(value, x)
        size = written_out(slope)
        limit = SHORT_POLYNOMIAL if slope.is_polynomial() else SHORT
        short = written_out(simplify(slope)) if size <= limit else None
        forward, gradient = build_computational_graph(_repeated(with_math(f), k, counted), [0.5])
        rows.append(SwellRow(k, written_out(value), size, short, operations(forward) or 0, operations(gradient) or 0))
    return Swell(name_of(f), tuple(rows))


def _takes_a_count(f: Callable[..., Any]) -> bool:
    """Whether a function takes how often to apply it."""
    from adjoint.symbolic.sympy_expressions import _parameters

    names = _parameters(f)
    if len(names) not in (1, 2):
        raise ArgumentError(
            f"swell: {name_of(f)} must take a number, or a number and how often to apply it{called_at()}"
        )
    return len(names) == 2


def _repeated(f: Callable[..., Any], n: int, counted: bool) -> Callable[[Any], Any]:
    if counted:
        return lambda x: f(x, n)
    made = f
    for _ in range(n - 1):
        made = _after(f, made)
    return made


def _after(f: Callable[..., Any], first: Callable[..., Any]) -> Callable[..., Any]:
    return lambda x: f(first(x))


def written_out(value: Any) -> int:
    """The operations in an expression when each is written as often as it stands there: + - * / ** and functions.

    >>> import sympy
    >>> x = sympy.Symbol("x")
    >>> written_out((x + 1) ** 2 * sympy.sin(x + 1))
    5
    """
    known: dict[Any, int] = {}
    waiting = [value]
    while waiting:  # no recursion: formulas that swell are deep
        e = waiting[-1]
        missing = [a for a in e.args if a not in known]
        if missing:
            waiting += missing
            continue
        own = 0 if e.is_Atom else _own(e)
        known[e] = own + sum(known[a] for a in e.args)
        if known[e] > MANY:
            raise NoClosedFormError(
                f"swell: the formula has more than {MANY:.0e} operations: take a smaller n{called_at()}"
            )
        waiting.pop()
    return known[value]


def _own(e: Any) -> int:
    """The operations of an expression itself; a sign is part of a sum, and the power -1 of a quotient."""
    if e.is_Mul or e.is_Add:
        return len(e.args) - 1 - (1 if e.is_Mul and e.args[0] == -1 else 0)
    return 0 if e.is_Pow and e.exp == -1 else 1


def operations(graph: Graph) -> int | None:
    """The operations on numbers that a graph computes, those of loops as often as they run; None where that is not known.

    >>> import adjoint as ad
    >>> operations(ad.graph.trace_function(lambda x: ad.ops.sin(x) * 2.0 + x, [2.0]))
    3
    """
    total = 0
    for node in graph.calls:
        if isinstance(node.op, InPlace) or not isinstance(node.op, Control):
            total += _on_numbers(node)
            continue
        times = node.op.iterations(node.op.parts([n.spec for n in node.inputs])[1]) if isinstance(node.op, Loop) else -1
        counts = [operations(g) for g in node.op.graphs().values()]
        if times < 0 or any(c is None for c in counts):
            return None
        total += times * sum(c or 0 for c in counts)
    return total


def _on_numbers(node: Node) -> int:
    """The operations of one call: one for each element, none where elements only move or integers count."""
    op = node.op.op if isinstance(node.op, InPlace) else node.op
    specs = node.spec if isinstance(node.spec, tuple) else (node.spec,)
    if all(s.dtype.kind in "iu" for s in specs):
        return 0
    if isinstance(op, Elementwise):
        return int(prod(specs[0].shape))
    return int(op.flops(node.spec, *(n.spec for n in node.inputs)))

"""A graph is run once, step by step: what the values are like, and how long each step takes."""

from __future__ import annotations

import time
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Any

import numpy as np

from adjoint.core.dispatch import Value
from adjoint.graph.nested import Control
from adjoint.graph.node import Graph, Node
from adjoint.graph.walk import apply, interpret
from adjoint.pictures.scopes import origin_of


@dataclass
class Measured:
    """What is known of the values of a step, in all iterations of the loops around it together. Times are the interpreter's."""

    seconds: float = 0.0
    runs: int = 0
    finite: int = 0
    lowest: float = np.inf
    highest: float = -np.inf
    total: float = 0.0
    nans: int = 0
    infinities: int = 0

    def add(self, value: Any, seconds: float) -> None:
        """Take in one result."""
        self.seconds += seconds
        self.runs += 1
        array = np.asarray(value._value if isinstance(value, Value) else value)
        if array.dtype.kind not in "fiubc" and array.dtype.name != "bfloat16":
            return
        array = np.abs(array) if array.dtype.kind == "c" else array
        array = array.astype(np.float64)
        good = array[np.isfinite(array)]
        self.nans += int(np.isnan(array).sum())
        self.infinities += int(np.isinf(array).sum())
        self.finite += good.size
        if good.size:
            self.lowest, self.highest = min(self.lowest, float(good.min())), max(self.highest, float(good.max()))
            self.total += float(good.sum())

    @property
    def mean(self) -> float:
        """The mean of the values that are finite."""
        return self.total / self.finite if self.finite else np.nan


@dataclass
class Measurement:
    """The steps of one run; `failure` says what stopped it, if anything did."""

    steps: dict[Node, Measured]
    failure: str = ""


def measure(graph: Graph, values: Sequence[Any]) -> Measurement:
    """Run a graph. Its prints and checks are passed over: they are the program's, not the picture's."""
    found = Measurement({})

    def step(node: Node, inputs: list[Any]) -> Any:
        if node.op.effect and not (isinstance(node.op, Control) and node.op.graphs()):
            return np.bool_(True)
        start = time.perf_counter()
        try:
            y = apply(node, inputs)
        except Exception as error:
            path, line = origin_of(node)
            found.failure = found.failure or f"{type(error).__name__}: {error} (line {line} of {path})"
            raise
        seconds = time.perf_counter() - start
        measured = found.steps.setdefault(node, Measured())
        if isinstance(y, tuple):
            measured.seconds, measured.runs = measured.seconds + seconds, measured.runs + 1
        else:
            measured.add(y, seconds)
        return y

    with np.errstate(all="ignore"), _watching(graph, step):
        try:
            interpret(graph, values, step)
        except Exception as error:  # whatever the program raises for these inputs: the picture says so
            found.failure = found.failure or f"{type(error).__name__}: {error}"
    for p, x in zip(graph.params, values, strict=True):
        found.steps.setdefault(p, Measured()).add(x, 0.0)
    return found


class _Watched:
    """Runs a graph inside control flow, in place of its prepared steps."""

    def __init__(self, graph: Graph, step: Any) -> None:
        self.graph, self.step = graph, step

    def __call__(self, *xs: Any) -> list[Any]:
        return interpret(self.graph, xs, self.step)

    def advance(self, carry: Sequence[Any], rest: Sequence[Any]) -> list[Any]:
        """One iteration of a loop."""
        return self(*carry, *rest)


@contextmanager
def _watching(graph: Graph, step: Any) -> Iterator[None]:
    """Control flow inside goes through `step` too."""
    inner = set(_inside(graph))
    before = {g: g.__dict__.get("_steps") for g in inner}
    for g in inner:
        g.__dict__["_steps"] = _Watched(g, step)
    try:
        yield
    finally:
        for g, steps in before.items():
            if steps is None:
                del g.__dict__["_steps"]
            else:
                g.__dict__["_steps"] = steps


def _inside(graph: Graph) -> Iterator[Graph]:
    for node in graph.calls:
        if isinstance(node.op, Control):
            for g in node.op.graphs().values():
                yield g
                yield from _inside(g)

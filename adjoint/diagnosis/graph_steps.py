"""A graph run step by step under a watcher: which node of which graph, and which iteration of the loops around it."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextvars import ContextVar
from functools import partial
from typing import Any

import numpy as np

from adjoint.core import context
from adjoint.core.dispatch import failure
from adjoint.graph.control import Loop
from adjoint.graph.inplace import InPlace
from adjoint.graph.nested import Control
from adjoint.graph.node import Const, Node, Param, Pick
from adjoint.graph.steps import Steps


class Frame:
    """A step that holds graphs, while it runs; `outer` is the one around it."""

    def __init__(self, node: Node, op: Any, inputs: list[Any], outer: Frame | None) -> None:
        self.node, self.op, self.outer = node, op, outer
        self.count = -1  # of the runs of a loop's body
        self.leaving: Any = None  # what a watcher hands from the graph inside to the step around it
        self._length: int | None = None  # where it is known before
        self._taken: list[int] | None = None  # the iterations that take place, of a loop of which some do not
        if isinstance(op, Loop) and op.test is None:
            stacked = op.parts(inputs)[1]
            self._length = op.iterations(stacked)
            if op.guarded:
                self._taken = np.flatnonzero(np.asarray(stacked[0])).tolist()

    @property
    def iteration(self) -> int:
        """The iteration that runs, in the order of the slices."""
        if self._taken is not None:
            k = len(self._taken) - 1 - self.count if self.op.backwards else self.count
            return self._taken[k] if 0 <= k < len(self._taken) else self.count
        backwards = self._length is not None and self.op.backwards
        return self._length - 1 - self.count if backwards and self._length is not None else self.count

    def begins(self, steps: Steps) -> None:
        """A graph of this step begins to run."""
        if isinstance(self.op, Loop) and steps.graph is self.op.body:
            self.count += 1


#: The step that runs around the graph that runs.
frame: ContextVar[Frame | None] = ContextVar("frame", default=None)


def iterations() -> tuple[int, ...]:
    """Those of the loops that run, outermost first."""
    found: list[int] = []
    at = frame.get()
    while at is not None:
        if isinstance(at.op, Loop) and at.count >= 0:
            found.append(at.iteration)
        at = at.outer
    return tuple(found[::-1])


def computing(steps: Steps) -> list[Node]:
    """The nodes of the steps of a graph, in their order."""
    return [n for n in steps.order if not isinstance(n.op, (Param, Const))]


def walked(
    steps: Steps, values: list[Any], run: Callable[[Node, Callable[[], Any]], Any]
) -> Iterator[tuple[Node, tuple[int, ...], int, Any]]:
    """Run step by step: after each come its node, the places of its inputs and that of its result, both still in `values`, and what
    the graphs inside the step have handed on.

    `run` is given the node and what computes it.
    """
    outer = frame.get()
    if outer is not None:
        outer.begins(steps)
    with np.errstate(all="ignore"):
        for node, (op, reads, write, done, _) in zip(computing(steps), steps.plan, strict=True):
            leaving = None
            if type(op) is Pick:
                values[write] = values[reads[0]][op.index]
            else:
                inputs = [values[i] for i in reads]
                inner = _frame_of(node, op, inputs, outer)
                values[write] = run(node, partial(_computed, op, inputs, inner))
                leaving = None if inner is None or inner is outer else inner.leaving
                del inputs
            yield node, reads, write, leaving
            for i in done:
                values[i] = None


def _frame_of(node: Node, op: Any, inputs: list[Any], outer: Frame | None) -> Frame | None:
    if isinstance(op, Control) and not isinstance(op, InPlace):
        return Frame(node, op, inputs, outer)
    return None if getattr(op, "opaque", False) else outer  # a function of the user's begins anew


def _computed(op: Any, inputs: list[Any], inner: Frame | None) -> Any:
    with context.setting(frame, inner):
        try:
            return op.eval(np, *inputs)
        except Exception as error:
            raise failure(op, inputs, error) from error

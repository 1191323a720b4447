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
        self._flags = np.asarray(op.parts(inputs)[1][0]) if isinstance(op, Loop) and op.guarded else None
        self._length = None
        if isinstance(op, Loop) and op.test is None:
            self._length = op.iterations(op.parts(inputs)[1])

    @property
    def iteration(self) -> int:
        """The iteration that runs, in the order of the slices."""
        order = list(range(self._length)) if self._length is not None else None
        if order is None:
            return self.count
        order = order[::-1] if self.op.backwards else order
        if self._flags is not None:
            order = [k for k in order if self._flags[k]]
        return order[self.count] if 0 <= self.count < len(order) else self.count

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

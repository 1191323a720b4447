"""Running a graph: one op after another on NumPy arrays, as a list of steps prepared once.

So run the graphs inside control flow, and whole graphs in the `interpreter` backend.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from adjoint.core import watching
from adjoint.core.arrays import holders
from adjoint.core.dispatch import InFloat32, evaluate
from adjoint.core.errors import place_error
from adjoint.core.spec import NUMBERS, is_half
from adjoint.graph.inplace import InPlace, updates_last
from adjoint.graph.nested import Control
from adjoint.graph.node import Const, Graph, Node, Param, Pick
from adjoint.ops.movement import Movement


class Steps:
    """The steps of a graph. A value is let go of after its last use, or overwritten if nothing else holds it."""

    def __init__(self, graph: Graph) -> None:
        order = updates_last(graph)
        slots = {node: i for i, node in enumerate(order)}
        self.template = [node.op.value if isinstance(node.op, Const) else None for node in order]
        self.inputs = [slots[p] for p in graph.params]
        self.outputs = [slots[n] for n in graph.outputs]
        self.graph, self.order = graph, order
        steps = [n for n in order if not isinstance(n.op, (Param, Const))]
        last = {slots[i]: k for k, node in enumerate(steps) for i in node.inputs}
        kept = {*self.outputs, *(slots[n] for n in order if isinstance(n.op, Const))}
        self.plan = []
        for k, node in enumerate(steps):
            reads = tuple([slots[i] for i in node.inputs])
            done = tuple({i for i in reads if last[i] == k and i not in kept})
            takes_over = isinstance(node.op, InPlace) and reads[0] in done and reads[0] not in reads[1:]
            op: Any = node.op.op if isinstance(node.op, InPlace) and not takes_over else node.op
            if in_half(node):
                op, takes_over = InFloat32(getattr(node.op, "op", node.op), node.spec), False
            self.plan.append((op, reads, slots[node], done, takes_over))

    def __call__(self, *arrays: Any) -> list[Any]:
        return [_own(y, arrays) for y in self.run(self._filled(arrays))]

    def giving_up(self, inputs: list[Any], donated: tuple[int, ...]) -> list[Any]:
        """The results; updates write over inputs that nothing else holds, which the donated ones are."""
        return self.advance(inputs, ())

    def explain(self) -> str:
        """How it runs."""
        return f"interpreter: {len(self.plan)} steps"

    def advance(self, state: list[Any], others: Sequence[Any]) -> list[Any]:
        """The results for a state that is given up: the list is emptied, so that updates may overwrite it."""
        values = self._filled((*state, *others))
        state.clear()
        return self.run(values)

    def _filled(self, arrays: Sequence[Any]) -> list[Any]:
        values = list(self.template)
        for slot, array in zip(self.inputs, arrays, strict=True):
            values[slot] = np.asarray(array)[()] if type(array) in NUMBERS else array  # its dtype stays
        return values

    def run(self, values: list[Any]) -> list[Any]:
        """Fill in the values, step by step."""
        if watching.active and (watcher := watching.watcher()) is not None:
            return watcher.steps(self, values)
        write, op = 0, None
        try:
            with np.errstate(all="ignore"):
                for op, reads, write, done, takes_over in self.plan:
                    if type(op) is Pick:
                        values[write] = values[reads[0]][op.index]
                    elif takes_over and _alone(values, reads[0]):
                        values[write] = op.overwrite(*[values[i] for i in reads])
                    else:
                        values[write] = evaluate(op.op if takes_over else op, [values[i] for i in reads])
                    for i in done:
                        values[i] = None
        except Exception as error:
            if op is not None:
                place_error(error, self.order[write].place, own=op.effect or op.opaque)
            raise
        return [values[i] for i in self.outputs]


def in_half(node: Node) -> bool:
    """Whether a step computes in half precision; moving elements about is no computing."""
    op = node.op
    if isinstance(op, (Movement, Pick)) or op.opaque or (isinstance(op, Control) and not isinstance(op, InPlace)):
        return False
    specs = [i.spec for i in node.inputs if not isinstance(i.spec, tuple)]
    return any(is_half(s.dtype) for s in specs)


def _own(y: Any, inputs: Sequence[Any]) -> Any:
    """A result with memory of its own: the caller may go on writing into an array of which it is a part."""
    if isinstance(y, np.ndarray) and (y.base is not None or any(y is x for x in inputs)):
        shared = any(np.may_share_memory(y, x) for x in inputs if isinstance(x, np.ndarray))
        return np.array(y) if shared else y
    return y


def _alone(values: list[Any], i: int) -> bool:
    """Whether an array's memory belongs to this list alone: no other name, no view, no Tensor of the user's."""
    x = values[i]
    if type(x) is not np.ndarray or not (x.flags.owndata and x.flags.writeable):
        return False
    del x
    return holders(values[i]) == 1


def steps(graph: Graph) -> Steps:
    """The prepared steps of a graph inside control flow, made once."""
    run = graph.__dict__.get("_steps")
    if run is None:
        run = graph.__dict__["_steps"] = Steps(graph)
    return run

"""Values that must be the same number for each of their readers.

XLA computes what it fuses into several readers anew for each of them, and may round it differently there: one contracts a product and a sum,
another does not. The derivative of a maximum asks which elements equal it. None might.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import numpy as np

from adjoint.backends.xla.devices import jax
from adjoint.core.spec import is_inexact
from adjoint.graph.inplace import InPlace
from adjoint.graph.node import Graph, Node, Pick
from adjoint.ops.arithmetic import Abs, Add, Neg, Sub
from adjoint.ops.casting import Cast
from adjoint.ops.compare import Comparison, Maximum, Minimum, Where
from adjoint.ops.movement import Movement
from adjoint.ops.pool import Peaks
from adjoint.ops.reduce import Peak
from adjoint.ops.transcendental import Relu

ROUNDED_ALIKE = (Abs, Add, Cast, Maximum, Minimum, Neg, Relu, Sub, Where)


def compared(graph: Graph) -> set[Node]:
    """What the largest elements are taken of and looked for in, with what it is a view of."""
    searched = {n for node in graph.nodes if isinstance(node.op, Comparison) for x in node.inputs for n in _views(x)}
    return {
        source
        for node in graph.nodes
        if isinstance(node.op, (Peak, Peaks))
        for source in _views(node.inputs[-1])
        if source in searched or isinstance(node.op, Peaks)
        if source.inputs and is_inexact(source.spec.dtype) and not _is_rounded_alike(source)
    }


def _is_rounded_alike(node: Node) -> bool:
    """Whether what XLA may compute anew has one rounding only: a step that reads memory, or sums and choices of what such steps give."""
    left, seen = [node], {node}
    while left:
        step = left.pop()
        card = step.op.op if isinstance(step.op, InPlace) else step.op
        if isinstance(card, (*ROUNDED_ALIKE, Movement, Pick)):
            left += [n for n in step.inputs if n not in seen]
            seen.update(step.inputs)
        elif step.inputs and card.elementwise:
            return False
    return True


def _views(node: Node) -> Iterator[Node]:
    yield node
    while isinstance(node.op, (Movement, Pick)):
        node = node.inputs[0]
        if not isinstance(node.spec, tuple):
            yield node


def stored(x: Any, platform: str) -> Any:
    """x, computed once. On CPUs, XLA drops its barriers before it fuses, but it leaves alone what a loop may have changed: this one, which
    is never entered or turns the signs twice."""
    if platform != "cpu" or not x.size:
        return jax().lax.optimization_barrier(x)
    times = jax().numpy.where(jax().numpy.isinf(x[(0,) * x.ndim]), np.int32(2), np.int32(0))

    def turned(state: Any) -> Any:
        return state[0] + 1, -state[1]

    return jax().lax.while_loop(lambda state: state[0] < times, turned, (np.int32(0), x))[1]

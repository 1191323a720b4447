"""The gradient graph: the reverse sweep from the sum of all results."""

from __future__ import annotations

from typing import Any

import numpy as np

from adjoint.core.rules import derived
from adjoint.core.spec import Spec
from adjoint.derive.reverse import vjp_graph
from adjoint.graph.control import float_positions
from adjoint.graph.node import Graph
from adjoint.graph.trace import trace
from adjoint.graph.walk import replay


@derived
def grad_graph(graph: Graph) -> Graph:
    """The graph from the inputs to the gradient of the sum of all floating-point results, by each such input."""
    wanted = float_positions([p.spec for p in graph.params])
    moving = float_positions(graph.specs)
    pull = vjp_graph(graph, wanted, moving)
    ones = [np.ones(graph.outputs[i].shape, graph.outputs[i].dtype) for i in moving]

    def gradient(*xs: Any) -> list[Any]:
        return replay(pull, [*xs, *ones])

    return trace(
        gradient, [Spec(p.spec.shape, p.spec.dtype) for p in graph.params], f"gradient of {graph.name}", replayed=True
    )[0]

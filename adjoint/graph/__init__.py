"""What a program is made of: frozen, interned nodes, and the one way to make them.

The public functions on graphs compose stages above this one: they stand in `adjoint.api.graphs`, and `adjoint/__init__.py`
puts them here, as `ad.graph.trace_function` and so on.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from adjoint.graph.node import Graph

build_computational_graph: Callable[[Callable[..., Any], Sequence[Any]], tuple[Graph, Graph]]
trace_function: Callable[[Callable[..., Any], Sequence[Any]], Graph]
generate_grad_graph: Callable[[Graph], Graph]
optimize_grad_graph: Callable[[Graph], Graph]

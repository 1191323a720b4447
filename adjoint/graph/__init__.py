"""What a program is made of: frozen, interned nodes, and the one way to make them.

The public functions on graphs compose stages above this one: they stand in `adjoint.api.graphs`, and are found here when they are
asked for, as `ad.graph.trace_function` and so on.
"""

from __future__ import annotations

import sys
from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from adjoint.graph.node import Graph

build_computational_graph: Callable[[Callable[..., Any], Sequence[Any]], tuple[Graph, Graph]]
trace_function: Callable[[Callable[..., Any], Sequence[Any]], Graph]
generate_grad_graph: Callable[[Graph], Graph]
optimize_grad_graph: Callable[[Graph], Graph]


def __getattr__(name: str) -> Any:
    if name in __annotations__:
        return getattr(sys.modules["adjoint.api.graphs"], name)
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")


def __dir__() -> list[str]:
    return sorted([*globals(), *__annotations__])

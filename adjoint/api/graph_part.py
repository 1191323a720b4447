"""A function as a graph of its own inside the graph being built, to be used there as one likes."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

from adjoint.api.inputs import whole
from adjoint.core import context, tree
from adjoint.core.dispatch import Value
from adjoint.core.random_counters import Made, source
from adjoint.graph.node import Graph
from adjoint.graph.recompute import as_part


def in_part(
    fn: Callable[..., Any],
    args: tuple[Any, ...],
    kwargs: dict[str, Any],
    applied: Callable[[Graph, Sequence[Any]], Sequence[Any]],
    name: str = "checkpoint",
) -> Any:
    """What a function returns: it is traced, and `applied` is given its graph and the values that it uses."""
    leaves: list[Any] = []
    rebuild: Callable[[list[Any]], Any] = tuple
    made = getattr(source.get(), "made", Made())
    scope: Any = context.bindings.get()
    before, written = dict(scope.stored), list[Any]()

    def run() -> list[Any]:
        nonlocal leaves, rebuild
        leaves, rebuild = tree.flatten(whole(fn(*args, **kwargs)))
        written[:] = scope.since(before)
        stored = [scope.stored[p] for p in written]
        scope.back_to(before)
        return [made.count, *stored, *(x for x in leaves if isinstance(x, Value))]

    count, *values = as_part(run, applied, name)
    for p in written:
        scope.store(p, values.pop(0))
    if not isinstance(made.count, int):  # the graph alone knows how many samples were drawn
        made.count = count
    it = iter(values)
    return rebuild([next(it) if isinstance(x, Value) else x for x in leaves])

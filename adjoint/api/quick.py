"""Short ways into compiled code, for calls like one that was seen before."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from contextvars import ContextVar
from typing import Any

import numpy as np

from adjoint.api.compiled import Entry
from adjoint.core import context
from adjoint.core.dispatch import EAGER, wrap
from adjoint.core.errors import boundary
from adjoint.core.parameter import resolve
from adjoint.core.tensor import Tensor
from adjoint.graph.call import GraphCall
from adjoint.graph.control import Control, Loop
from adjoint.graph.node import Graph
from adjoint.passes.schedule import total

BRIEF = 100_000  # estimated cost of a graph that takes some microseconds


def plain_key(args: tuple[Any, ...], kwargs: dict[str, Any]) -> tuple[Any, list[Any]]:
    """The shapes and dtypes of plain arrays and floats in lists, tuples and dicts, and the arrays; None for anything else."""
    key: list[Any] = []
    values: list[Any] = []
    plain = _collect(args, key, values)
    if kwargs and plain:
        key += (plain_key, *kwargs)  # unlike anything among the arguments
        plain = _collect(kwargs.values(), key, values)
    return (tuple(key) if plain else None), values


def _collect(args: Any, key: list[Any], values: list[Any]) -> bool:
    for x in args:
        kind = type(x)
        if kind is Tensor and x._trace is EAGER:
            x = x._value
            key += (x.shape, x.dtype)
            values.append(x)
        elif kind is np.ndarray:
            key += (x.shape, x.dtype)
            values.append(x)
        elif kind is float or kind is np.float64 or kind is np.float32:
            key.append(kind)
            values.append(x)
        elif kind is list or kind is tuple:
            key += (kind, len(x))
            if not _collect(x, key, values):
                return False
        elif kind is dict:
            key += (kind, *x)
            if not _collect(x.values(), key, values):
                return False
        elif kind is int or kind is str or kind is bool or x is None:  # part of the program
            key += (kind, x)
        else:
            return False
    return True


def plain_quick(run: Any, entry: Entry) -> Callable[[list[Any]], Any]:
    """A function of the plain arrays and floats of a call."""
    rebuild = entry.rebuild
    if len(entry.graph.outputs) == 1 and rebuild([run]) is run:  # the result is one Tensor, in no container
        return lambda values: wrap(run(*values)[0])
    return lambda values: rebuild([wrap(y) for y in run(*values)])


def bound_quick(graph: Graph, backend: str, entry: Entry) -> Callable[[list[Any]], Any]:
    """The same for a graph with Parameters or networks in it; NotImplemented if these are not as they were."""
    apply, parameters, rebuild = GraphCall(graph, backend), entry.parameters, entry.rebuild

    def quick(values: list[Any]) -> Any:
        if entry.outdated() or context.bindings.get() is not None:
            return NotImplemented
        return rebuild([wrap(y) for y in apply(*values, *map(resolve, parameters))])

    return boundary(quick)


def whole_quick(
    run: Any,
    graph: Graph,
    arguments: tuple[tuple[Any, ...], dict[str, Any]],
    numeric: Sequence[bool],
    rebuild: Callable[[list[Any]], Any],
    guards: Sequence[tuple[ContextVar, Any]],
) -> Callable[..., Any] | None:
    """A C function for calls with such arguments; None if there is no machine code, or not of the whole graph."""
    kernel = getattr(run, "whole", None)
    if kernel is None:
        return None
    from adjoint.backends.native.whole import whole_call  # there is machine code, so the package for it is there

    return whole_call(kernel, arguments, numeric, rebuild, guards, release_gil=not is_brief(graph))


def is_brief(graph: Graph) -> bool:
    """Whether a graph is done before it would be worth while to let other threads run."""
    return total(graph).cost < BRIEF and _ends_soon(graph)


def _ends_soon(graph: Graph) -> bool:
    """Whether there is no loop whose number of rounds is known only when it runs."""
    inside = [n.op for n in graph.calls if isinstance(n.op, Control)]
    return not any(isinstance(op, Loop) and op.test is not None for op in inside) and all(
        _ends_soon(g) for op in inside for g in op.graphs().values()
    )

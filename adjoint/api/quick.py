"""Short ways into compiled code, for calls like one that was seen before."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from types import FunctionType
from typing import Any

import numpy as np

from adjoint.api.compiled import Entry
from adjoint.api.graph_call import GraphCall
from adjoint.core import context
from adjoint.core.bare_containers import bare_children
from adjoint.core.dispatch import DEVICE, EAGER, wrap
from adjoint.core.errors import boundary
from adjoint.core.placement import is_device_array
from adjoint.core.tensor import Tensor
from adjoint.frontend.guards import EqualValue, Guard, Same, compiled
from adjoint.frontend.places import MISSING, AttributeOf, Free, Global
from adjoint.frontend.reads import recorder
from adjoint.graph.control import Control, Loop
from adjoint.graph.node import Graph
from adjoint.passes.cost import total

BRIEF = 100_000  # estimated cost of a graph that takes some microseconds


# Numbers that stand for themselves, besides the most frequent ones.
NUMBERS = frozenset({complex, *(np.dtype(code).type for code in "?bhilqBHILQeFD")})


def plain_key(args: tuple[Any, ...], kwargs: dict[str, Any]) -> tuple[Any, list[Any]]:
    """The shapes and dtypes of plain arrays and numbers in containers, and these numbers; None for anything else."""
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
        if kind is Tensor and (x._trace is EAGER or x._trace is DEVICE):
            key += (x._value.sharding,) if x._trace is DEVICE else ()  # which device, or how it lies on several
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
        elif kind in NUMBERS:
            key.append(kind)
            values.append(x)
        elif (inside := bare_children(x)) is not None:
            key += (kind, len(inside))
            if not _collect(inside, key, values):
                return False
        else:
            return False
    return True


def plain_quick(run: Any, entry: Entry) -> Callable[[list[Any]], Any]:
    """A function of the plain arrays and floats of a call; NotImplemented if something around it is not as it was."""
    rebuild, check = entry.rebuild, entry.check
    if len(entry.graph.outputs) == 1 and rebuild([run]) is run:  # the result is one Tensor, in no container
        return lambda values: wrap(run(*values)[0]) if check() else NotImplemented
    return lambda values: rebuild([wrap(y) for y in run(*values)]) if check() else NotImplemented


def bound_quick(graph: Graph, backend: str, entry: Entry) -> Callable[[list[Any]], Any]:
    """The same for a graph with Parameters or networks in it, or with inputs that are found around it."""
    apply, rebuild = GraphCall(graph, backend), entry.rebuild

    def quick(values: list[Any]) -> Any:
        if entry.outdated() or context.bindings.get() is not None or recorder.get() is not None:
            return NotImplemented
        if any(is_device_array(p._value) for p in entry.parameters) and backend[:3] != "xla":
            return NotImplemented
        return rebuild([wrap(y) for y in apply(*values, *entry.weights(), *entry.inputs())])

    return boundary(quick)


def c_ordered(quick: Callable[[list[Any]], Any]) -> Callable[[list[Any]], Any]:
    """The same for arrays in C order; NotImplemented for others."""

    def checked(values: list[Any]) -> Any:
        in_order = all(type(x) is not np.ndarray or x.flags.c_contiguous for x in values)
        return quick(values) if in_order else NotImplemented

    return checked


def watched(entry: Entry, by_value: bool) -> list[tuple[Any, ...]]:
    """The guards of a graph as compiled code checks them; those of other kinds are one test that Python makes.

    Compiled code asks for the very object. A number that is replaced by an equal one again and again is compared `by_value`.
    """
    found: list[tuple[Any, ...]] = []
    others: list[Guard] = []
    for guard in entry.guards:
        place, now = guard.place, guard.place.get()
        fixed = type(guard.image) is Same or (type(guard.image) is EqualValue and not by_value)
        array = type(now) is np.ndarray and now.flags.c_contiguous and not now.dtype.hasobject
        if (fixed or array) and isinstance(place, (Global, Free)):
            value = () if now is MISSING else (now,)
            found.append((place.namespace, place.name, *value) if isinstance(place, Global) else (place.cell, *value))
            found += [(now,)] * array
        elif type(place) is AttributeOf and type(place.owner) is FunctionType and _is_part(place.name, now):
            found.append((place.owner, place.name, now))
        else:
            others.append(guard)
    return [*found, *([(compiled(others),)] if others else [])]


def _is_part(name: str, now: Any) -> bool:
    """Whether compiled code can watch this part of a function."""
    if name == "__defaults__":
        return now is None or all(x is None or isinstance(x, (bool, int, float, complex, str, bytes)) for x in now)
    return name == "__code__" or (name == "__kwdefaults__" and now is None)


def whole_quick(
    run: Any,
    graph: Graph,
    arguments: tuple[tuple[Any, ...], dict[str, Any]],
    numeric: Sequence[bool],
    rebuild: Callable[[list[Any]], Any],
    guards: Sequence[tuple[Any, ...]],
) -> Callable[..., Any] | None:
    """A C function for calls with such arguments; None if there is no machine code, or not of the whole graph."""
    kernel = getattr(run, "only_kernel", None)
    if kernel is None:
        return None
    from adjoint.backends.native.runtime.container_call import (
        container_callable,  # there is machine code, so the package for it is there
    )

    noting = getattr(kernel, "noting", None)  # the kernel whose last result says whether an index was out of range
    return container_callable(
        noting or kernel,
        arguments,
        numeric,
        rebuild,
        guards,
        release_gil=not is_brief(graph),
        notes=noting is not None,
    )


def is_brief(graph: Graph) -> bool:
    """Whether a graph is done before it would be worth while to let other threads run."""
    return total(graph).cost < BRIEF and _ends_soon(graph)


def _ends_soon(graph: Graph) -> bool:
    """Whether there is no loop whose number of iterations is known only when it runs, and nothing that may ask for Python's lock."""
    if any(n.op.calls for n in graph.calls):  # SciPy's functions tell of errors, where `scipy.special.seterr` says so
        return False
    inside = [n.op for n in graph.calls if isinstance(n.op, Control)]
    return not any(isinstance(op, Loop) and op.test is not None for op in inside) and all(
        _ends_soon(g) for op in inside for g in op.graphs().values()
    )

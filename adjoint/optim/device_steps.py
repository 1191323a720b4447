"""Training steps on a device, one after another: Parameters and state stay there, and Python looks at no array more than it must."""

from __future__ import annotations

import sys
from collections.abc import Sequence
from operator import is_
from typing import Any

import numpy as np

from adjoint import backends
from adjoint.api.compiled import Entry, executable
from adjoint.api.device_choice import backend_for
from adjoint.api.jit import Jitted
from adjoint.core import context, tree, watching
from adjoint.core.arrays import kept
from adjoint.core.dispatch import Value, wrap
from adjoint.core.placement import HOST, device_of, is_device_array
from adjoint.graph.indices import Indices, indices
from adjoint.graph.node import Graph
from adjoint.optim.optimizer import Optimizer


class _Holder:
    """What holds an array as a Parameter does."""

    def __init__(self) -> None:
        self._value = object()


def _usual_holders() -> int:
    """What `getrefcount` says of an array that a Parameter and the list of the last step hold, and none else."""
    one = _Holder()
    last, now = [one._value], [one._value]
    return max(map(sys.getrefcount, now)) + 0 * len(last)


_ALONE = _usual_holders()


class DeviceSteps:
    """The steps of one compiled graph, for batches like that which it was made for.

    A call gives NotImplemented where anything is not as it was: another batch, a Parameter that was written to. The step writes over
    Parameters and state; an array that somebody else holds is copied first. Indices in the batch are looked at before the step, so that
    the step need not be waited for to know whether one was out of range; a batch that is on the device already is looked at once.
    """

    def __init__(self, optimiser: Optimizer, backend: str, entry: Entry, batch: Sequence[Any]) -> None:
        self.optimiser, self.entry, graph = optimiser, entry, entry.graph
        self.held = [optimiser.global_step, *_slots(optimiser), *optimiser.parameters]
        self.last: list[Any] = [p._value for p in self.held]
        self.count = int(optimiser.global_step._value)
        self.like = [_likeness(x) for x in batch]
        self.rates: tuple[Any, list[Any]] = (None, [])
        self.checks = _Checks(graph, len(self.held) + len(tree.leaves(optimiser.inputs()[2])))
        out, new, state = entry.rebuild([_Place(i) for i in range(len(graph.outputs) - len(entry.stored))])
        fresh = [state["step"], *(place for slot in optimiser.slots for place in state[slot]), *new]
        self.places = [place.index for place in fresh]
        self.out, self.rebuild_out = tree.flatten(out)
        self.dtypes = [p.spec.dtype for p in graph.params]
        self.run = executable(graph, backend)
        self.direct: Any = None

    def __call__(self, batch: tuple[Any, ...]) -> Any:
        held = [p._value for p in self.held]
        if context.bindings.get() is not None or context.open_tape.get() is not None or watching.active:
            return NotImplemented  # which refuses a step there, or looks on
        if not all(map(is_, held, self.last)) or self.entry.outdated():
            return NotImplemented
        if len(batch) != len(self.like) or any(map(_differs, batch, self.like)):
            return NotImplemented
        given = [kept(x) if type(x) is np.ndarray else x for x in map(_array, batch)]
        if not self.checks.hold(given):
            return NotImplemented
        draws = self.entry.draws
        if self.direct is None:  # samples are drawn once it is known that they are taken here
            like = [] if draws is None else [np.int64(0), np.int64(0)]
            self.direct = self.run.direct([*held, *self._rest(given, like)], range(len(held)), trusted=True)
            if self.direct is None:
                return NotImplemented
        rest = self._rest(given, [] if draws is None else draws.begin())
        if max(map(sys.getrefcount, held)) > _ALONE:
            held = self._spared(held)
        found = self.direct(*held, *rest)
        return self._taken(found)

    def _rest(self, batch: list[Any], drawn: list[Any]) -> list[Any]:
        """What the graph takes behind Parameters and state."""
        others = [*map(_array, self.entry.weights()), *map(_array, self.entry.inputs()), *drawn]
        return [*self._rates(), *batch, *map(_host_value, others, self.dtypes[len(self.dtypes) - len(others) :])]

    def _spared(self, held: list[Any]) -> list[Any]:
        """The arrays, with copies of those that somebody else holds: the step writes over what it is given."""
        self.last = []
        shared = [count > _ALONE - 1 for count in map(sys.getrefcount, held)]
        return [self.run.copied(x) if yes else x for x, yes in zip(held, shared, strict=True)]

    def _taken(self, found: Sequence[Any]) -> Any:
        """Give the Parameters what the step has made of them; the loss is returned."""
        for p, y in zip(self.entry.stored, found, strict=False):
            p._value = y
        first = len(self.entry.stored)
        self.last = [found[first + k] for k in self.places]
        for p, y in zip(self.held, self.last, strict=True):
            p._value = y
        self.count += 1
        self.entry.calls[None] += 1
        return self.rebuild_out([wrap(found[first + m.index]) if type(m) is _Place else m for m in self.out])

    def _rates(self) -> list[Any]:
        """The learning rates of this step, on the device already if they are those of the last."""
        rates = self.optimiser.numbers_at(self.count)
        if rates != self.rates[0]:
            fresh = [
                np.asarray(x, dtype)
                for x, dtype in zip(tree.leaves(rates), self.dtypes[len(self.held) :], strict=False)
            ]
            alone = len(self.last[-1].devices()) == 1
            self.rates = rates, [self.run.put(x, self.last[-1]) for x in fresh] if alone else fresh
        return self.rates[1]


class _Checks:
    """The indices of a graph that are in the batch: whether they are in range is known before the step."""

    def __init__(self, graph: Graph, first: int) -> None:
        self.found: Indices | None = indices(graph)
        self.first, self.count = first, len(graph.params)
        used = set() if self.found is None else _reached(self.found.graph)
        self.used = [k for k, p in enumerate(graph.params) if p in used]
        self.known: list[Any] = []  # arrays on the device that have been looked at

    def hold(self, batch: Sequence[Any]) -> bool:
        """Whether all of them are in range; False too if that cannot be said."""
        if self.found is None:
            return False
        places = [k - self.first for k in self.used]
        if any(not 0 <= k < len(batch) for k in places):
            return not self.found.sizes
        looked = [batch[k] for k in places]
        fixed = not any(type(x) is np.ndarray for x in looked)  # what is on a device is never written to
        if fixed and len(looked) == len(self.known) and all(map(is_, looked, self.known)):
            return True
        inputs: list[Any] = [None] * self.count
        for k, x in zip(self.used, looked, strict=True):
            inputs[k] = np.asarray(x) if getattr(x, "is_fully_addressable", True) else x
        good = self.found.in_range(inputs)
        self.known = looked if good and fixed else []
        return good


def _reached(graph: Graph) -> set[Any]:
    """The nodes that the results are made of."""
    found: set[Any] = set()
    left = list(graph.outputs)
    while left:
        node = left.pop()
        if node not in found:
            found.add(node)
            left += node.inputs
    return found


class _Place:
    """Which result of a graph stands at a place."""

    def __init__(self, index: int) -> None:
        self.index = index


def steps_on_device(optimiser: Optimizer, step: Jitted, batch: tuple[Any, ...]) -> DeviceSteps | None:
    """What runs this step and those after it, with Parameters and state on the step's device; None where there is more to do."""
    simple = all(isinstance(x, (Value, np.ndarray)) and not getattr(x, "tracked", False) for x in batch)
    arrays = [p._value for p in optimiser.parameters]
    runs = backend_for(step._backend, arrays)
    if not simple or not arrays or not backends.has_kernels(runs):
        return None
    there = [x for x in arrays if is_device_array(x)]
    if there and runs == f"xla:{HOST}":  # which refuses them
        return None
    if not there or len(there[0].devices()) == 1:
        place = backends.home(runs) or (device_of(there[0]) if there else None)
        if place is None:
            return None
        for p in (optimiser.global_step, *_slots(optimiser), *optimiser.parameters):
            if not is_device_array(p._value) or (len(p._value.devices()) == 1 and device_of(p._value) != place):
                p.move(place)
    del arrays, there
    state, params, rates = optimiser.inputs()
    arguments: tuple[Any, ...] = ([], state, params, rates, batch)
    made, entry, size = step._prepared(arguments, {})
    usual = not (entry.written or entry.python or entry.is_rare(size)) and size is None
    if not usual or (entry.draws is not None and entry.draws.count is None):
        return None
    if len(made.numbers) != len(tree.leaves(arguments)):  # a number of Python's in it is part of the program
        return None
    step._keep_layouts(made, entry, entry.graph, made.numbers)
    return DeviceSteps(optimiser, runs, entry, batch)


def _slots(optimiser: Optimizer) -> list[Any]:
    return [p for held in optimiser.slots.values() for p in held]


def _array(x: Any) -> Any:
    return x._value if isinstance(x, Value) else x


def _host_value(x: Any, dtype: Any) -> Any:
    """What is on the host as an array of its own; what is on a device as it is."""
    return np.array(x, dtype) if isinstance(x, (np.ndarray, np.generic, float, int, complex)) else x


def _likeness(x: Any) -> tuple[Any, ...]:
    array = _array(x)
    return type(x), array.shape, array.dtype, getattr(array, "sharding", None)


def _differs(x: Any, like: tuple[Any, ...]) -> bool:
    return (isinstance(x, Value) and x.tracked) or not hasattr(_array(x), "dtype") or _likeness(x) != like

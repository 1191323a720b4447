"""Values of Tensors with `requires_grad`, and of Tensors on a device, that Python reads while a graph is built.

As an input of the graph such a Tensor may hold what it likes. Where its value goes into the graph otherwise (`float(w[0])`,
`w.detach()`, an `if`), the graph holds for this value alone: it is guarded.
"""

from __future__ import annotations

import threading
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

from adjoint.core import context
from adjoint.core.autograd import autograd
from adjoint.core.dispatch import DEVICE, OnDevice, Value
from adjoint.core.parameter import Parameter
from adjoint.frontend.guards import Guard, Held, Same
from adjoint.frontend.places import Itself
from adjoint.frontend.reads import Reads, recorder
from adjoint.graph.trace import identity, is_graph_value
from adjoint.transforms.records import Leaf, Record, now
from adjoint.transforms.tape import AMBIENT, Ambient

_lock = threading.Lock()
_traces = [0]  # how many graphs are being built


class _NotingTape(Ambient):
    """What AMBIENT is while a graph is built."""

    def apply(self, op: Any, xs: tuple[Any, ...]) -> Any:
        _note(xs)
        return super().apply(op, xs)

    def below(self, x: Any) -> Any:
        _note((x,))
        return super().below(x)


class _NotingDevice(OnDevice):
    """What DEVICE is while a graph is built."""

    def apply(self, op: Any, xs: tuple[Any, ...]) -> Any:
        _note(xs)
        y = super().apply(op, xs)
        if (reads := recorder.get()) is not None:
            for part in y if type(y) is tuple else (y,):
                reads.results[identity(part)] = part
        return y

    def below(self, x: Any) -> Any:
        _note((x,))
        return super().below(x)


@contextmanager
def noting() -> Iterator[int]:
    """While a graph is built, values that are read of such Tensors are noted. Outside of it nothing looks on. Gives the moment."""
    with _lock:
        if _traces[0] == 0:
            AMBIENT.__class__, DEVICE.__class__ = _NotingTape, _NotingDevice
            vars(autograd)["get_accumulated"] = _gradient
        _traces[0] += 1
    try:
        yield now()
    finally:
        with _lock:
            _traces[0] -= 1
            if _traces[0] == 0:
                AMBIENT.__class__, DEVICE.__class__ = Ambient, OnDevice
                vars(autograd)["get_accumulated"] = _accumulated


def _note(xs: Any) -> None:
    """The values of some Tensors are read."""
    reads = recorder.get()
    if reads is None:
        return
    for x in xs:
        if isinstance(x, Value) and (x._trace is AMBIENT or x._trace is DEVICE):
            _guard(reads, x)


def _guard(reads: Reads, x: Any) -> None:
    record = x._extra
    new = record.order > reads.since if isinstance(record, Record) else identity(x) in reads.results
    if new:
        return
    place = reads.tensors.get(identity(x))
    known = x if place is None else place.get()
    if not isinstance(known, Value) or identity(known) != identity(x):
        known = x
    _add(reads, Itself(known, "the value of a Tensor" if place is None else f"the value of {place.label}"), known)
    if place is None and isinstance(record, Leaf):  # it may be a copy that ops have made: the leaf is the same
        leaf = reads.attribute(record, "y", "the value of a Tensor with requires_grad")
        reads.guards.setdefault((leaf.key, False), Guard(leaf, Same(record.y)))


def _add(reads: Reads, place: Itself, x: Any) -> None:
    reads.guards.setdefault((place.key, False), Guard(place, Held(x, x._value, None, x._trace)))


_accumulated = autograd.get_accumulated


def _gradient(x: Any) -> Any:
    """`x.grad`, which is read."""
    found = _accumulated(x)
    reads = recorder.get()
    if reads is None or is_graph_value(x) or is_graph_value(found):
        return found
    if x._trace is not AMBIENT and not isinstance(x, Parameter):
        return found
    with context.setting(recorder, None):  # what is there is asked again
        return reads.see(reads.attribute(x, "grad", "the gradient of a Tensor"), found)

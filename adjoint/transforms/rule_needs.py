"""What a derivative rule reads of a call: the result, inputs, or nothing but their shapes.

A rule is run once on stand-ins that have a shape and a dtype and know where they come from; it cannot read numbers from them. What
it computes with is what it needs. What it seems not to need is handed to it as a Tensor that fetches the numbers if it
asks for them after all.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from adjoint.core import rules
from adjoint.core.absent import ZERO
from adjoint.core.dispatch import Trace, Value, make
from adjoint.core.errors import DtypeError
from adjoint.core.layout import UNKNOWN, layout_of, reordered
from adjoint.core.spec import Spec, spec_of
from adjoint.transforms.records import Record

Needs = tuple[bool, tuple[bool, ...]]  # of the result; of each input
_ARRAYS = (np.ndarray, np.generic)
_NUMBERS = (bool, int, float, complex)
_known: dict[Any, Needs | None] = {}
_MOST = 4096  # rules that are remembered
LARGE = 1 << 16  # bytes


class _StandIns(Trace):
    """Tensors without numbers. Those that stand for a value of the call have its place; an op on them reads them."""

    level = float("inf")

    def __init__(self) -> None:
        self.read: set[int] = set()

    def made(self, spec: Spec, place: int | None = None) -> Any:
        return make(np.broadcast_to(np.zeros((), spec.dtype), spec.shape), self, place)

    def note(self, x: Any) -> None:
        """Something is computed from a value, or is the value itself."""
        if isinstance(x, Value) and x._trace is not self:
            raise DtypeError("a stand-in has no numbers")
        if isinstance(x, Value) and x._extra is not None:
            self.read.add(x._extra)

    def apply(self, op: Any, xs: tuple[Any, ...]) -> Any:
        if op.opaque or op.effect:
            raise DtypeError("a stand-in has no numbers")
        for x in xs:
            self.note(x)
        found = op.infer(*map(spec_of, xs))
        return tuple(map(self.made, found)) if isinstance(found, tuple) else self.made(found)

    def below(self, x: Any) -> Any:
        raise DtypeError("a stand-in has no numbers")

    def layout(self, x: Any) -> Any:
        return UNKNOWN

    def in_order(self, x: Any, layout: Any) -> Any:
        raise DtypeError("a stand-in lies nowhere in memory")


def needs_of(record: Record) -> Needs | None:
    """What the rule of a call needs, for the inputs that have records; None if that is not known: everything."""
    op, y, xs = record.op, record.y, record.xs
    if not isinstance(y, _ARRAYS) or op.opaque or op.effect or type(op) in rules.replaced:
        return None
    key: list[Any] = [op, y.shape, y.dtype]
    for p, x in zip(record.parents, xs, strict=True):
        if isinstance(x, _ARRAYS):
            key.append((p is not None, x.shape, x.dtype))
        elif type(x) in _NUMBERS and p is None:
            key.append((type(x), x))
        else:
            return None
    try:
        found = _known.get(tuple(key), False)
    except TypeError:  # an op that holds an array
        return None
    if found is False:
        if len(_known) >= _MOST:
            _known.clear()
        found = _known[tuple(key)] = _probed(op, y, xs, [p is not None for p in record.parents])
    return found  # type: ignore[return-value]


def _probed(op: Any, y: Any, xs: Sequence[Any], wanted: Sequence[bool]) -> Needs | None:
    """What a rule reads on its way to the wanted cotangents, as it computes them on stand-ins."""
    trace = _StandIns()
    inputs = [x if type(x) in _NUMBERS else trace.made(spec_of(x), i) for i, x in enumerate(xs)]
    try:
        for c, yes in zip(op.vjp(trace.made(spec_of(y)), trace.made(spec_of(y), -1), *inputs), wanted, strict=True):
            if yes and c is not ZERO:
                trace.note(c() if callable(c) else c)
    except Exception:  # the rule wants numbers, or knows nothing of stand-ins
        return None
    return -1 in trace.read, tuple(i in trace.read for i in range(len(xs)))


class _Deferred(Trace):
    """Tensors whose numbers are fetched when an op is applied to them."""

    level = float("inf")

    def apply(self, op: Any, xs: tuple[Any, ...]) -> Any:
        return op(*(self.below(x) if isinstance(x, Value) and x._trace is self else x for x in xs))

    def below(self, x: Any) -> Any:
        return x._extra()

    def layout(self, x: Any) -> Any:
        return layout_of(x._extra())

    def in_order(self, x: Any, layout: Any) -> Any:
        return reordered(x._extra(), layout)


_DEFERRED = _Deferred()


def forgetful(record: Record) -> None:
    """Let go of what the rule of a call does not read, where it is large: its shape and dtype are enough."""
    needs = needs_of(record)
    if needs is None:
        return
    record.xs = [x if n or not is_large(x) else _absent(x) for x, n in zip(record.xs, needs[1], strict=True)]
    if not needs[0] and is_large(record.y):
        record.y = _absent(record.y)


def is_large(x: Any) -> bool:
    """Whether a value is an array worth letting go of."""
    return type(x) is np.ndarray and x.nbytes >= LARGE


def _absent(x: np.ndarray) -> Any:
    return deferred(spec_of(x), _refuse)


def _refuse() -> Any:
    raise DtypeError("a derivative rule reads a value of the forward pass that it did not read before")


def deferred(spec: Spec, fetch: Callable[[], Any]) -> Any:
    """A Tensor of this shape and dtype whose numbers are fetched if they are asked for."""
    return make(np.broadcast_to(np.zeros((), spec.dtype), spec.shape), _DEFERRED, fetch)

"""What a derivative rule reads of a call: the result, inputs, or nothing but their shapes.

A rule is run once on stand-ins that have a shape and a dtype and know where they come from; it cannot read numbers from them. What
its cotangents come from is what it needs. What it seems not to need is handed to it as a Tensor that fetches the numbers if it
asks for them after all.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

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


class _StandIns(Trace):
    """Tensors without numbers, each with the set of values that it was computed from."""

    level = float("inf")

    def apply(self, op: Any, xs: tuple[Any, ...]) -> Any:
        sources = frozenset().union(*(x._extra for x in xs if isinstance(x, Value) and x._trace is self))
        if op.opaque or op.effect or any(isinstance(x, Value) and x._trace is not self for x in xs):
            raise DtypeError("a stand-in has no numbers")
        found = op.infer(*map(spec_of, xs))
        return tuple(_stand_in(s, sources) for s in found) if isinstance(found, tuple) else _stand_in(found, sources)

    def below(self, x: Any) -> Any:
        raise DtypeError("a stand-in has no numbers")

    def layout(self, x: Any) -> Any:
        return UNKNOWN

    def in_order(self, x: Any, layout: Any) -> Any:
        raise DtypeError("a stand-in lies nowhere in memory")


_STAND_INS = _StandIns()


def _stand_in(spec: Spec, sources: frozenset[int]) -> Any:
    return make(np.broadcast_to(np.zeros((), spec.dtype), spec.shape), _STAND_INS, sources)


def needs_of(record: Record) -> Needs | None:
    """What the rule of a call needs, for the inputs that have records; None if that is not known: everything."""
    op, y, xs = record.op, record.y, record.xs
    if not isinstance(y, _ARRAYS) or op.opaque or op.effect:
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
    """What the wanted cotangents of a rule come from, as it computes them on stand-ins."""
    g = _stand_in(spec_of(y), frozenset())
    inputs = [
        x if type(x) in _NUMBERS else _stand_in(spec_of(x), frozenset([i] if tracked else []))
        for i, (x, tracked) in enumerate(zip(xs, wanted, strict=True))
    ]
    read: set[int] = set()
    try:
        for c, tracked in zip(op.vjp(g, _stand_in(spec_of(y), frozenset([-1])), *inputs), wanted, strict=True):
            if tracked and c is not ZERO:
                found = c() if callable(c) else c
                if not isinstance(found, Value) or found._trace is not _STAND_INS:
                    return None
                read |= found._extra
    except Exception:  # the rule wants numbers, or knows nothing of stand-ins
        return None
    return -1 in read, tuple(i in read for i in range(len(xs)))


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


def deferred(spec: Spec, fetch: Callable[[], Any]) -> Any:
    """A Tensor of this shape and dtype whose numbers are fetched if they are asked for."""
    return make(np.broadcast_to(np.zeros((), spec.dtype), spec.shape), _DEFERRED, fetch)

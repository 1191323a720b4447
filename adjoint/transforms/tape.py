"""Reverse mode: record each op call, then sweep back from the results.

A tracked Tensor points at the Record that made it, a Record at the Records of its inputs: what nothing points at is freed,
and the sweep visits only what the results depend on.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from heapq import heappop, heappush
from typing import Any, Protocol

import numpy as np

from adjoint.core import context, watching
from adjoint.core.absent import ZERO, instantiate
from adjoint.core.arrays import kept
from adjoint.core.dispatch import BACKWARD, EAGER, Trace, Value, differentiable, failure, gathered, make, snapshot, wrap
from adjoint.core.errors import ArgumentError, EndedTransformError, called_at
from adjoint.core.spec import dtype_of, float64, shape_of
from adjoint.core.tensor import Tensor
from adjoint.ops.slicing import GetItem
from adjoint.transforms.packed_values import PackedInputs, pack, unpacked
from adjoint.transforms.records import ForgottenInputs, Leaf, Record, ResultRecord, restore
from adjoint.transforms.rule_needs import LARGE, forgetful

_muted_below = context.muted_below.get
_open_tape = context.open_tape.get
_replays = context.replays.get
_packing = context.packing.get
_place = context.place
_watched = watching.active
_new = Tensor.__new__
_own_rule = GetItem.vjp
_NUMBER, _ARRAY = np.float64, np.ndarray


class Tape(Trace):
    """Records the ops on Tensors of its level."""

    #: Whether large arrays that the sweep does not read are left out.
    sparing = True

    def __init__(self, what: str = "grad") -> None:
        self.what = what
        self.level = context.new_level()
        self.ended = False
        # Below the outermost transform constants are plain arrays, unless an open GradientTape must see them.
        self.base = EAGER if context.open_tape.get() is None else None

    def track(self, value: Any) -> Any:
        """A Tensor for a value one level below, as an input of this tape."""
        if type(value) is _ARRAY and value.shape == () and value.dtype is float64:
            value = value[()]  # as results are: NumPy is quicker with numbers than with arrays of one
        return make(value, self, Leaf(value))

    def recall(self, op: Any, xs: Sequence[Any], y: Any) -> Any:
        """The result of a call that is known already: recorded, not computed."""
        mine = [isinstance(x, Value) and x._trace is self for x in xs]
        if not op.differentiable or not any(mine):
            return y
        parents = [x._extra if own else None for x, own in zip(xs, mine, strict=True)]
        values = [x._value if own else x for x, own in zip(xs, mine, strict=True)]
        call = Record(op, parents, values, y)
        if type(y) is not tuple:
            return make(y, self, call)
        return tuple(make(v, self, ResultRecord(call, i)) if differentiable(v) else v for i, v in enumerate(y))

    def seeds(self, ys: Iterable[Any], gs: Iterable[Any]) -> list[tuple[Record, Any]]:
        """Where a sweep begins, given results and their cotangents: those results that this tape has recorded."""
        return [(y._extra, g) for y, g in zip(ys, gs, strict=True) if isinstance(y, Value) and y._trace is self]

    def sweep(self, seeds: list[tuple[Record, Any]], again: bool = False) -> dict[Record, Any]:
        """Cotangents of this tape's inputs; `again` if it may be asked for them once more."""
        return sweep(seeds)

    def apply(self, op: Any, xs: tuple[Any, ...]) -> Any:
        if self.ended:
            raise EndedTransformError(
                f"a Tensor made inside {self.what} was kept and used after {self.what} had ended. Return it from the "
                f"function (has_aux=True returns extra values), or keep x.detach() instead.{called_at()}"
            )
        inner = _open_tape()
        if inner is not None and inner.level > self.level:
            return inner.record(op, xs)
        base = self.base
        parents: list[Record | None] = []
        values: list[Any] = []
        plain = not _watched  # a watcher is told by the op
        for x in xs:
            record = None
            kind = type(x)
            if kind is Tensor or (kind is not float and isinstance(x, Value)):
                trace = x._trace
                if trace is self:
                    record, x = x._extra, x._value
                elif trace is base:
                    x = x._value
                if (kind := type(x)) is not _NUMBER and kind is not _ARRAY and isinstance(x, Value):
                    plain = False
                    if record is None:  # the user's own Tensor: `x[i] = v` may change it before the sweep
                        x = snapshot(x)
            elif kind is not float and isinstance(x, np.ndarray):
                if x.dtype.hasobject:
                    return op(*gathered(xs))
                x = kept(x)  # the user may write to it before the sweep
            parents.append(record)
            values.append(x)
        if plain:
            try:
                y = op.eval(np, *values)
            except Exception as error:
                raise failure(op, values, error) from error
        else:
            y = op.show(*values)
        if not op.differentiable:
            return wrap(y)
        if _muted_below() > self.level:
            op = op.muted()
            if op is None:
                return wrap(y)
        if type(y) is tuple:
            call = Record(op, parents, values, y)
            if _watched:
                noted(call)
            return tuple(
                make(v, self, ResultRecord(call, i)) if differentiable(v) else wrap(v) for i, v in enumerate(y)
            )
        result = _new(Tensor)
        result._value, result._trace, result._kin = y, self, None
        result._extra = record = Record(op, parents, values, y)
        if plain and _packing() is not None:
            pack(record, _packing())
        elif plain and self.sparing and type(y) is np.ndarray and y.nbytes >= LARGE and not _replays():
            forgetful(record)
        elif _watched:
            noted(record)
        return result


def noted(record: Record) -> None:
    """Tell who looks on of a call."""
    if (watcher := watching.watcher()) is not None:
        watcher.recorded(record)


def pulled(record: Record, g: Any, y: Any, xs: Any) -> Any:
    """The cotangents of a call's inputs, while somebody looks on."""
    watcher = watching.watcher()
    return record.op.vjp(g, y, *xs) if watcher is None else watcher.pulled(record, g, y, xs)


class Store(Protocol):
    """What holds the values of a tape that keeps less than all."""

    def values(self, record: Record, g: Any, grads: dict[int, Any]) -> tuple[Any, Any]:
        """The result and the inputs of a call, whose cotangent has come, among others that wait."""

    def passed(self, record: Record, grads: dict[int, Any]) -> None:
        """The sweep is through with a call, and with those after it."""


def sweep(
    seeds: list[tuple[Record, Any]], keep: set[Record] | None = None, store: Store | None = None
) -> dict[Record, Any]:
    """Cotangents of the tape's inputs (and of the records to `keep`), given those of some results.

    Records are visited latest first, when their cotangent is complete; each is let go of then, so that what it saved is
    freed as the sweep goes on, if nothing else holds it. `seeds` is emptied for the same reason. Without a `store` the values
    are in the records.
    """
    grads: dict[int, Any] = {}
    records: dict[int, Record] = {}
    heap: list[int] = []
    results: dict[Record, Any] = {}

    def add(record: Record, g: Any) -> None:
        key = record.order
        held = grads.get(key)
        if held is None:
            grads[key], records[key] = g, record
            heappush(heap, -key)
        else:
            grads[key] = g + held if type(g) is Scattered else held + g

    while seeds:
        add(*seeds.pop())
    with np.errstate(all="ignore"):
        token = _place.set(_place.get())
        try:
            while heap:
                key = -heappop(heap)
                record, g = records.pop(key), grads.pop(key)
                op, y, xs = record.op, record.y, record.xs
                if store is not None:
                    y, xs = store.values(record, g, grads)
                elif type(xs) is not list:
                    y, xs = _saved(record)
                if type(g) is Scattered:
                    g = g.dense()
                if record.hooks:
                    g = _hooked(record, g)
                if keep is not None and record in keep:
                    results[record] = g
                if type(op) is GetItem and not isinstance(g, Value) and GetItem.vjp is _own_rule:
                    (source,) = record.parents
                    if source is not None:
                        add(source, Scattered(xs[0], op.key, g))
                elif op is not None:
                    if (kind := type(y)) is not _NUMBER and kind is not _ARRAY:
                        if kind is tuple:
                            _place.set(_origin(y))
                            g = g if op.takes_zero else _filled(g, y)
                        elif isinstance(y, Value):
                            _place.set(_origin(y))
                    found = pulled(record, g, y, xs) if _watched else op.vjp(g, y, *xs)
                    for parent, c in zip(record.parents, found, strict=True):
                        if parent is not None:  # only the cotangents that are wanted
                            if callable(c):
                                c = c()
                            if c is ZERO:
                                continue
                            key = parent.order  # as in `add`, without a call: most of the time goes by here
                            held = grads.get(key)
                            if held is None:
                                grads[key], records[key] = c, parent
                                heappush(heap, -key)
                            else:
                                grads[key] = c + held if type(c) is Scattered else held + c
                                held = None
                elif isinstance(record, ResultRecord):
                    call, i = record.call, record.index
                    if call.order not in grads:
                        add(call, [ZERO] * len(call.y))
                    parts = grads[call.order]
                    parts[i] = g if parts[i] is ZERO else parts[i] + g
                else:
                    results[record] = g
                if store is not None:
                    g = y = xs = c = parts = found = None
                    store.passed(record, grads)
        finally:
            _place.reset(token)
    if _watched and (watcher := watching.watcher()) is not None:
        watcher.swept(results)
    return results


def _saved(record: Record) -> tuple[Any, Any]:
    """The result and the inputs of a call: computed again if a checkpoint forgot them, unpacked if they were packed."""
    if type(record.xs) is ForgottenInputs:
        restore(record)
    return unpacked(record) if type(record.xs) is PackedInputs else (record.y, record.xs)


class Scattered:
    """Cotangents of pieces x[i] of one array, put in place when all have come: a loop over the pieces stays linear."""

    __slots__ = ("base", "dtype", "parts", "shape")
    __array_ufunc__ = None  # so that array + Scattered comes to us

    def __init__(self, x: Any, key: Any, g: Any) -> None:
        self.shape, self.dtype = shape_of(x), dtype_of(x)
        self.base: Any = None
        self.parts = [(key, g)]

    def __add__(self, other: Any) -> Scattered:
        if isinstance(other, Scattered):
            self.parts += other.parts
            other = other.base
        if other is not None:
            self.base = other if self.base is None else self.base + other
        return self

    __radd__ = __add__

    def dense(self) -> Any:
        """The sum as an array."""
        if isinstance(self.base, Value):  # tracked by an outer transform
            rest = Scattered.__new__(Scattered)
            rest.shape, rest.dtype, rest.base, rest.parts = self.shape, self.dtype, None, self.parts
            return self.base + rest.dense()
        total = np.zeros(self.shape, self.dtype) if self.base is None else np.array(self.base, self.dtype)
        for key, g in self.parts:
            total[key] += g
        return total


def _origin(y: Any) -> Any:
    """The user's line that made a value, where a graph value knows it: what its derivative is the derivative of."""
    y = y[0] if type(y) is tuple and y else y
    while isinstance(y, Value):
        if y._trace.deferred:
            return None
        y = y._value
    made_at = getattr(y, "place", None)
    return None if made_at is None else context.derivative_place(made_at)


def _filled(parts: list[Any], ys: Sequence[Any]) -> tuple[Any, ...]:
    """The cotangents of all results of a call, zeros where none has come."""
    return tuple(map(instantiate, parts, ys))


def _hooked(record: Record, g: Any) -> Any:
    for hook in list(record.hooks or ()):
        new = hook(wrap(g))
        if new is not None:
            if shape_of(new) != shape_of(g):
                raise ArgumentError(
                    f"a hook returned a gradient of shape {shape_of(new)} in place of one of shape {shape_of(g)}{called_at()}"
                )
            g = new._value if isinstance(new, Value) and new._trace is EAGER else kept(new)
    return g


class Ambient(Tape):
    """The tape that never ends: it tracks Tensors with `requires_grad`, for `backward()`."""

    def __init__(self) -> None:
        super().__init__("backward")
        self.level = BACKWARD
        self.base = EAGER

    def apply(self, op: Any, xs: tuple[Any, ...]) -> Any:
        tape = context.open_tape.get()
        return super().apply(op, xs) if tape is None else tape.record(op, xs)


AMBIENT = Ambient()

"""What a tape has recorded: calls of ops, each pointing at those that made its inputs. It is a program, and can be run again.

A checkpoint forgets the values inside a part of it (`forget`); the sweep computes them again, op by op, when it comes to the
first call that needs them (`restore`). The ops and their order are what was recorded: so is every bit of the values.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterable, Sequence
from itertools import count
from operator import attrgetter
from threading import RLock
from typing import Any

from adjoint.core.dispatch import Value

_next_order = count().__next__
FORGOTTEN: Any = object()  # in place of a value


class Record:
    """One recorded call: `op` on the values `xs` gave `y`. `op is None` marks an input of the tape."""

    __slots__ = ("hooks", "op", "order", "parents", "xs", "y")

    def __init__(self, op: Any, parents: Sequence[Record | None], xs: Any, y: Any) -> None:
        self.op = op
        self.parents = parents
        self.xs = xs
        self.y = y
        self.order = _next_order()
        self.hooks: list[Callable[[Any], Any]] | None = None  # called with the cotangent, once it is known


class Leaf(Record):
    """An input of a tape, with what backward() has accumulated for it."""

    __slots__ = ("grad",)

    def __init__(self, value: Any) -> None:
        super().__init__(None, (), (), value)
        self.grad: Any = None


class ResultRecord(Record):
    """One of several results of a call: the parent is the call itself."""

    __slots__ = ("call", "index")

    def __init__(self, call: Record, index: int) -> None:
        super().__init__(None, (call,), (), call.y[index])
        self.call, self.index = call, index


class ForgottenInputs(list):
    """The inputs of a call inside a checkpoint: those that were made there are forgotten."""

    __slots__ = ("checkpoint", "forgot")

    def __init__(self, xs: Iterable[Any], checkpoint: Checkpoint) -> None:
        super().__init__(xs)
        self.checkpoint = checkpoint  # the innermost that the call is in
        self.forgot: Checkpoint | None = None  # which of them has forgotten the result


class Checkpoint:
    """A part of a program whose values are forgotten, perhaps inside another one."""

    __slots__ = ("outer",)

    def __init__(self) -> None:
        self.outer: Checkpoint | None = None

    def around(self) -> list[Checkpoint]:
        """This one and those around it."""
        return [self] if self.outer is None else [self, *self.outer.around()]


def now() -> int:
    """A moment, to tell the calls recorded since."""
    return _next_order()


def forget(results: Iterable[Any], since: int) -> None:
    """Forget what was recorded since a moment on the way to these results, but for the results themselves."""
    roots = set(_records_of(results))
    inside = [r for r in upstream(roots, since) if r.op is not None]
    checkpoint = Checkpoint()
    gone = {r for r in inside if r not in roots and _is_repeatable(r)}
    for r in inside:
        if type(r.xs) is not ForgottenInputs:
            r.xs = ForgottenInputs(r.xs, checkpoint)
        elif (outermost := r.xs.checkpoint.around()[-1]) is not checkpoint:
            outermost.outer = checkpoint
        for i, parent in enumerate(r.parents):
            if parent in gone:
                r.xs[i] = FORGOTTEN
        if r in gone and r.y is not FORGOTTEN:
            r.y, r.xs.forgot = FORGOTTEN, checkpoint


def _is_repeatable(record: Record) -> bool:
    """Whether the op alone gives the result again: a user's function may not, an effect should not; one of several results is kept."""
    return not (record.op.opaque or record.op.effect or type(record.y) is tuple)


def _records_of(results: Iterable[Any]) -> Iterable[Record]:
    """The records of Tensors, of all tapes that track them."""
    stack = list(results)
    while stack:
        x = stack.pop()
        if isinstance(x, Value):
            stack += [x._value, x._extra]
        elif isinstance(x, Record):
            yield x


def upstream(roots: Iterable[Record], since: int = -1) -> list[Record]:
    """The roots and all they were computed from, as far as made since a moment, in the order they were made."""
    found: set[Record] = set()
    stack = list(roots)
    while stack:
        r = stack.pop()
        if r.order > since and r not in found:
            found.add(r)
            stack += [p for p in r.parents if p is not None]
    return sorted(found, key=attrgetter("order"))


_restoring = RLock()  # one tape may be swept by several threads


def restore(record: Record) -> None:
    """Compute again what a call inside a checkpoint needs."""
    with _restoring:
        if type(record.xs) is ForgottenInputs:  # not by another thread meanwhile
            _restore(record)


def _restore(record: Record) -> None:
    """Compute again what a record of a checkpoint needs and others around it will need; what checkpoints further in have
    forgotten is computed on the way, and let go of again."""
    needed = _missing(record)
    around = set(record.xs.checkpoint.around())
    left = Counter(parent for r in needed for _, parent in _forgotten(r))
    values: dict[Record, Any] = {}
    for r in needed:
        xs = list(r.xs)
        for i, parent in _forgotten(r):
            xs[i] = values.get(parent, parent.y)
            left[parent] -= 1
            if not left[parent]:
                values.pop(parent, None)
        y = r.op.show(*xs) if r.y is FORGOTTEN else r.y
        if left[r]:
            values[r] = y
        if r is record or r.xs.forgot in around:
            r.y = y
        if r is record:
            r.xs = xs


def _forgotten(record: Record) -> list[tuple[int, Record]]:
    """The places of forgotten inputs, and the records that made them."""
    return [(i, p) for i, (p, x) in enumerate(zip(record.parents, record.xs, strict=True)) if p and x is FORGOTTEN]


def _missing(record: Record) -> list[Record]:
    """The records to go through again, first to last, so that nothing that this one holds is forgotten."""
    found: set[Record] = set()
    stack = [record]
    while stack:
        r = stack.pop()
        if r not in found:
            found.add(r)
            stack += [p for _, p in _forgotten(r) if p.y is FORGOTTEN]
    return sorted(found, key=attrgetter("order"))

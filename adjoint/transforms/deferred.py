"""Deferred evaluation: the op calls of a program that was seen before are noted, not computed.

A function that is differentiated again and again mostly makes the same op calls. The first time they are computed as always, and
learned: each call is a step from one ProgramState to the next, known by the op and by where its inputs come from. Another time the
program walks along these States, and its Tensors are Pending: they know their shapes, not their numbers. If it ends where a
program ended before, all of it, backward pass included, can be computed at once by other means.

Whoever asks a Pending Tensor for more than its shape has the whole program computed up to there, op by op, under the transform
below; from then on it runs as if nothing had been deferred. A step that was never seen does the same.
"""

from __future__ import annotations

from collections.abc import Sequence
from contextlib import suppress
from contextvars import copy_context
from typing import Any

import numpy as np

from adjoint.core import context
from adjoint.core.arrays import kept, numpy_may_raise
from adjoint.core.dispatch import EAGER, Trace, Value, make
from adjoint.core.spec import Shape
from adjoint.core.tensor import Tensor
from adjoint.transforms.deferred_programs import (
    ProgramState,
    ValueSlot,
    alike,
    fits,
    is_caught,
    may_fail,
    run,
    step_from,
)

MOST = 8_000  # values of a program that is learned: compiling longer ones takes too long, and so does their memory

_muted_below = context.muted_below.get
_open_tape = context.open_tape.get
_replays = context.replays.get
_held, _hold = (
    vars(Value)["_value"].__get__,
    vars(Value)["_value"].__set__,
)  # the slot: the value if it is known, or None


class Pending(Tensor):
    """A Tensor of a deferred program. Asked for its numbers, it becomes the Tensor that it would have been from the start."""

    __slots__ = ()

    @property
    def slot(self) -> ValueSlot:
        """Which value of the program it is."""
        return self._extra  # type: ignore[no-any-return]

    def settled(self) -> Tensor:
        """The same Tensor, no longer pending."""
        found = self._trace.asked(self)  # type: ignore[attr-defined]
        self.__class__ = Tensor  # type: ignore[assignment]
        self._value, self._trace, self._extra = found._value, found._trace, found._extra
        return self

    def __reduce__(self) -> Any:
        return self.settled().__reduce__()

    @property
    def _value(self) -> Any:  # type: ignore[override]
        return self.settled()._value

    @_value.setter
    def _value(self, new: Any) -> None:
        self.settled()._value = new

    @property
    def shape(self) -> Shape:
        """The size of each axis."""
        return self._extra.shape

    @property
    def dtype(self) -> np.dtype:
        """The NumPy dtype of the elements."""
        return self._extra.dtype

    @property
    def device(self) -> str:
        """Deferred programs run on the host."""
        return "cpu"

    @property
    def tracked(self) -> bool:
        """Whether the transform below tracks it."""
        return self._extra.tracked


# What errors and printed types say: to a user it is a Tensor.
Pending.__name__, Pending.__qualname__, Pending.__module__ = Tensor.__name__, Tensor.__qualname__, Tensor.__module__


class Deferral(Trace):
    """Notes the ops on Tensors of its level, above the transform that computes them where they must be computed."""

    transparent = False
    deferred = True

    def __init__(self, start: ProgramState, inputs: Sequence[Any]) -> None:
        """`inputs` are Tensors of the transform below. The program is computed and learned if nothing leads on from `start`."""
        self.level = context.new_level()
        self.state: ProgramState | None = start  # None: nothing is noted any more
        self.inputs = dict(enumerate(inputs))  # by slot: those, and the values from outside as they come in
        self.pending = bool(start.following)  # whether nothing is computed yet
        self.hopeless = False  # whether it is of a kind that can never be deferred
        self.over: Any = None  # the transform below, when it has ended
        self._values: list[Any] = []  # of what was pending, once it is computed
        self._error: BaseException | None = None  # where that ended
        self._outside: dict[int, int] = {}  # the slots of values from outside, by their ids
        # What is noted is computed as at the beginning, whatever block of the user's asks for it.
        self._around = copy_context()

    def leaves(self, slots: Sequence[ValueSlot]) -> list[Any]:
        """The inputs of the program as its Tensors."""
        return [self._made(s, None if self.pending else self.inputs[s.index]) for s in slots]

    def end(self, over: Any, inputs: Sequence[Any]) -> None:
        """The transform below has ended: what is asked for later is computed from plain inputs, and belongs to it no less."""
        self.over = over
        if self.pending:
            self.inputs.update(enumerate(inputs))

    def _made(self, slot: ValueSlot, value: Any = None) -> Any:
        x = Pending.__new__(Pending)
        x._extra, x._trace, x._kin = slot, self, None
        _hold(x, value)
        return x

    # ------------------------------------------------------------ what others ask of a trace

    def shape(self, x: Any) -> Shape:
        return x._extra.shape  # type: ignore[no-any-return]

    def below(self, x: Any) -> Any:
        return x.settled()

    def layout(self, x: Any) -> Any:
        return x._extra.layout

    def in_order(self, x: Any, layout: Any) -> Any:
        x = x.settled()
        return x._trace.in_order(x, layout)

    def content(self, x: Any) -> Any:
        return x._extra

    def twin(self, x: Any) -> Any:
        return self._made(x._extra, _held(x))

    def rebind(self, x: Any, y: Any) -> None:
        if type(x) not in (Tensor, Pending):
            y.settled()._trace.rebind(x, y)
            return
        x.__class__ = Pending
        x._extra, x._trace = y._extra, self
        _hold(x, _held(y))

    # ------------------------------------------------------------ calls of ops

    def apply(self, op: Any, xs: tuple[Any, ...]) -> Any:
        if self.over is not None:
            return op(*[x.settled() if type(x) is Pending else x for x in xs])  # the transform below says what is wrong
        inner = _open_tape()
        if inner is not None and inner.level > self.level:
            return inner.record(op, xs)
        state = self.state
        if state is None or inner is not None or op.opaque or op.effect:
            return self._alone(op, xs)
        if _replays():  # a checkpoint, which must see what it forgets
            self.hopeless = True
            return self._alone(op, xs)
        inputs: list[Any] = [_muted_below() > self.level]  # what the step is known by, beside the op
        taken: list[Any] = []
        for x in xs:
            kind = type(x)
            if kind is Pending and x._trace is self:
                inputs.append(x._extra.index)
            elif kind is float or kind is int or kind is bool or kind is complex:
                inputs.append((kind, repr(x) if x == 0 or x != x or kind is complex else x))
            else:
                if kind is Tensor and x._trace is EAGER:
                    x = x._value
                elif kind is np.ndarray and not x.dtype.hasobject:
                    x = kept(x)  # whoever has it may write to it
                elif not isinstance(x, np.generic):
                    return self._alone(op, xs)
                known = self._outside.get(id(x))
                if known is None:
                    taken.append(x)
                    inputs.append((x.shape, x.dtype))
                else:
                    inputs.append(known)
        expected = state.expected
        if expected is not None and expected.op is op and expected.known_by == inputs:
            after: ProgramState | None = expected
        else:
            try:
                after = state.following.get((op, *inputs))
            except TypeError:  # a field of the op has no hash
                return self._alone(op, xs)
            if after is not None and after.op is not op and not alike(after.op, op):
                return self._alone(op, xs)
            state.expected = after
        if self.pending:
            if after is not None:
                return self._went_on(after, taken, None)
            self.compute()
        return self._learned(state, after, (op, *inputs), taken, xs)

    def _went_on(self, after: ProgramState, taken: list[Any], results: Sequence[Any] | None) -> Any:
        if taken:
            for slot, x in zip(after.taken, taken, strict=True):
                self._outside[id(x)] = slot.index
                self.inputs[slot.index] = x
        self.state = after
        if results is None:
            if not after.several:
                return self._made(after.made[0])
            results = [None] * len(after.made)
        made = [self._made(s, y) for s, y in zip(after.made, results, strict=True)]
        return tuple(made) if after.several else made[0]

    def _learned(
        self, state: ProgramState, after: ProgramState | None, key: tuple[Any, ...], taken: list[Any], xs: Any
    ) -> Any:
        """Compute a call, and note it as a step if it is new."""
        result = key[0].show(*self._computed(xs))
        several = type(result) is tuple
        results = result if several else (result,)
        long = state.count + len(taken) + len(results) > MOST
        if self.state is not state or long or not all(fits(y) for y in (*results, *taken)):
            self.state, self.hopeless = None, self.hopeless or long
            return result
        if after is None:
            if numpy_may_raise() or (may_fail(key[0], xs, result) and is_caught()):
                self.state, self.hopeless = None, True
                return result
            after = step_from(state, key, xs, taken, results)
            after.several = several
            after.fails = bool(key[0].indexing or key[0].fails_where) and may_fail(key[0], xs, result)
            after = state.following.setdefault(key, after)
        return self._went_on(after, taken, results)

    def _computed(self, xs: Sequence[Any]) -> list[Any]:
        return [self._known(x) if type(x) is Pending and x._trace is self else x for x in xs]

    def _known(self, x: Pending) -> Any:
        value = _held(x)
        if value is None:
            value = self._values[x._extra.index]
            if value is None and self._error is not None:
                raise self._error
        return value

    # ------------------------------------------------------------ from noted to computed

    def _alone(self, op: Any, xs: Sequence[Any]) -> Any:
        """A call that is no step: nothing is noted from here on."""
        self.stop()
        return op.show(*self._computed(xs))

    def stop(self) -> None:
        """Note nothing from here on: what comes is computed by the transform below."""
        if self.pending:
            self.compute()
        self.state = None

    def asked(self, x: Pending) -> Any:
        """What a Tensor holds, for whoever cannot go on without."""
        if self.over is None:
            self.stop()
        elif self.pending:
            with suppress(Exception):  # it may stand behind what is asked for
                self.compute()
        found = self._known(x)
        found = found if isinstance(found, Value) else make(found, EAGER)
        return make(found._value, self.over) if x._extra.tracked and found._trace is EAGER else found

    def settle_kept(self) -> None:
        """The call is over: compute what others than the caller have kept of it, as its inputs may be written to later."""
        if self.pending:
            self.compute()

    def compute(self) -> None:
        """Do, op by op, what was noted."""
        assert self.state is not None
        self.pending = False
        self._values = [None] * self.state.count
        for index, x in self.inputs.items():
            self._values[index] = x
        try:
            self._around.run(run, self.state.steps(), self._values)
        except Exception as error:
            self._error = error
            raise

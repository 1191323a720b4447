"""Programs of op calls, as `transforms.deferred` learns them: states, steps between them, and how to go through them again."""

from __future__ import annotations

import dis
import sys
from collections.abc import Sequence
from functools import lru_cache
from types import CodeType, FrameType
from typing import Any

import numpy as np

from adjoint.core import context
from adjoint.core.dispatch import EAGER, Value
from adjoint.core.errors import user_place
from adjoint.core.layout import layout_of
from adjoint.core.spec import Spec, is_half, spec_of
from adjoint.ops.card import Op

_TRANSFORMS = ("adjoint.api.grad", "adjoint.api.deferred_transforms")
_muted_below = context.muted_below.get


class ValueSlot:
    """A value of a program: an input, or the result of a step. What is known of it without its numbers."""

    __slots__ = ("dtype", "index", "layout", "shape", "tracked")

    def __init__(self, index: int, x: Any, tracked: bool) -> None:
        self.index, self.shape, self.dtype, self.layout, self.tracked = index, x.shape, x.dtype, layout_of(x), tracked


class PythonNumber:
    """A Python number that is an input of a step: part of the program."""

    __slots__ = ("value",)

    def __init__(self, value: Any) -> None:
        self.value = value


class ProgramState:
    """How far a program has come: the step that led here, and those that lead on."""

    __slots__ = (
        "count",
        "expected",
        "fails",
        "following",
        "inputs",
        "known_by",
        "made",
        "muted",
        "op",
        "parent",
        "place",
        "programs",
        "several",
        "taken",
    )

    op: Any
    known_by: list[Any]  # what tells the step that led here from others of the same op
    inputs: list[int | PythonNumber]  # of the step: slots and numbers
    muted: bool  # whether it was made under `no_grad`
    fails: bool  # whether its numbers may raise an error
    several: bool  # whether it gives a tuple
    place: tuple[str, int] | None  # the user's line

    def __init__(self, parent: ProgramState | None, count: int) -> None:
        self.parent = parent
        self.count = count  # how many slots there are
        self.following: dict[Any, ProgramState] = {}
        self.expected: ProgramState | None = None  # the one of them that came last
        self.programs: dict[Any, Any] = {}  # what is known of the programs that end here, by their results
        self.taken: list[ValueSlot] = []  # the values from outside that came in with the step
        self.made: list[ValueSlot] = []  # its results

    def steps(self) -> list[ProgramState]:
        """The way here from the beginning."""
        found: list[ProgramState] = []
        state = self
        while state.parent is not None:
            found.append(state)
            state = state.parent
        return found[::-1]


def run(steps: Sequence[ProgramState], values: list[Any]) -> None:
    """Do the steps of a program on the values of its inputs, which stand at their slots; the results come to stand at theirs."""
    loud = _muted_below()
    with context.setting(context.place, context.place.get()), context.setting(context.muted_below, loud):
        for state in steps:
            context.place.set(state.place)
            context.muted_below.set(float("inf") if state.muted else loud)
            result = state.op.show(*[values[x] if type(x) is int else x.value for x in state.inputs])  # type: ignore[union-attr]
            for slot, y in zip(state.made, result if state.several else (result,), strict=True):
                values[slot.index] = y


def step_from(
    state: ProgramState, key: tuple[Any, ...], xs: Sequence[Any], taken: list[Any], results: Sequence[Any]
) -> ProgramState:
    """A new step from a state."""
    first = state.count
    after = ProgramState(state, first + len(taken) + len(results))
    after.op, *after.known_by = key
    after.muted, *inputs = after.known_by
    after.place = user_place()
    after.taken = [ValueSlot(first + k, x, False) for k, x in enumerate(taken)]
    after.made = [ValueSlot(first + len(taken) + k, y, y._trace is not EAGER) for k, y in enumerate(results)]
    new = iter(after.taken)
    after.inputs = []
    for x, at in zip(xs, inputs, strict=True):
        if type(at) is int:
            after.inputs.append(at)
        else:
            after.inputs.append(PythonNumber(x) if isinstance(at[0], type) else next(new).index)
    return after


def that_may_fail(steps: Sequence[ProgramState], needed: Sequence[int] = ()) -> list[int]:
    """A slot of each step whose numbers may raise an error, but of those that the needed slots are computed from."""
    wanted, found = set(needed), []
    for step in reversed(steps):
        if any(s.index in wanted for s in step.made):
            wanted.update(x for x in step.inputs if type(x) is int)
        elif step.fails:
            found.append(step.made[0].index)
    return found


def may_fail(op: Any, xs: Sequence[Any], result: Any) -> bool:
    """Whether such a call can fail when it runs."""
    made = tuple(map(spec_of, result)) if type(result) is tuple else spec_of(result)
    return bool(op.may_fail(made, *[_spec(x) for x in xs]))


def _spec(x: Any) -> Any:
    slot = getattr(x, "_extra", None)
    return Spec(slot.shape, slot.dtype) if type(slot) is ValueSlot else spec_of(x)


def is_caught() -> bool:
    """Whether an error would come to a `try` or `with` of the user's, inside of the transform: it must come where the call stands."""
    frame: FrameType | None = sys._getframe(1)
    while frame is not None and frame.f_globals.get("__name__") not in _TRANSFORMS:
        if str(frame.f_globals.get("__name__", "")).partition(".")[0] != "adjoint" and has_handlers(frame.f_code):
            return True
        frame = frame.f_back
    return False


@lru_cache(maxsize=1024)
def has_handlers(code: CodeType) -> bool:
    """Whether there is a `try` or a `with` in a function's code."""
    if sys.version_info >= (3, 11):
        return bool(code.co_exceptiontable)
    return any(i.opname in ("SETUP_FINALLY", "SETUP_WITH") for i in dis.get_instructions(code))


def alike(a: Any, b: Any) -> bool:
    """Whether values that are equal are also of the same types: 1 is not 1.0, 0.0 is not -0.0.

    >>> alike((1, "a"), (1, "a")), alike((1,), (1.0,)), alike(0.0, -0.0)
    (True, False, False)
    """
    if type(a) is not type(b):
        return False
    if isinstance(a, (tuple, list)):
        return len(a) == len(b) and all(map(alike, a, b))
    if isinstance(a, (float, complex)):
        return repr(a) == repr(b)
    if isinstance(a, Op):
        return all(map(alike, vars(a).values(), vars(b).values()))
    return True


def fits(x: Any) -> bool:
    """Whether a value is one that a slot can describe: an array on the host, with a shape, not in half precision."""
    if isinstance(x, Value):
        return x._trace is EAGER or (x._trace.level > 1 and not x._trace.shapeless and not is_half(x.dtype))
    return isinstance(x, (np.ndarray, np.generic)) and not x.dtype.hasobject and not is_half(x.dtype)

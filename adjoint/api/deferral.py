"""When gradients in dynamic mode are deferred, and how a deferred program becomes machine code.

A function is known by its code. Its second call is learned; from the estimated times of a call and of compiling follows after how
many calls the compiled form has made up for its cost. From then on calls are deferred, and a program that was learned is computed
by machine code, backward pass included. All of it depends on what is called and how often, never on the clock: every run of
a program gives the same numbers.
"""

from __future__ import annotations

import threading
from collections import deque
from collections.abc import Callable, Sequence
from math import inf
from types import CodeType, FunctionType, MethodType
from typing import Any

import numpy as np

from adjoint.api.inputs import lowered
from adjoint.core import context, rules, tree, views, watching
from adjoint.core.absent import ZERO, instantiate
from adjoint.core.arrays import holders, numpy_may_raise
from adjoint.core.dispatch import wrap
from adjoint.core.spec import Spec, elements
from adjoint.graph.trace import trace
from adjoint.transforms.deferred import Deferral, Pending
from adjoint.transforms.deferred_programs import ProgramState, ValueSlot, run, that_may_fail
from adjoint.transforms.tape import Tape

FUNCTIONS = 256  # that are known at one time
COMPILED = 32  # programs that are held as machine code, with the memory that it works in
PROGRAMS = 32  # that one function may have before it is given up
TRIES = 3  # to go through a function that asks for numbers on the way
#: Estimates in microseconds: of a recorded call with its derivative, of compiling, of compiling one of the first steps, which make
#: units of their own, and one of the others.
CALL, COMPILE, COMPILE_FIRST, COMPILE_STEP = 8.0, 60_000.0, 5_000.0, 1_000.0
FIRST = 40
#: What is done in a microsecond, derivatives included: bytes made or read, operations on numbers.
BYTES, FLOPS = 700.0, 10_000.0
lock = threading.RLock()  # while a program is compiled
Run = Callable[[list[Any]], list[Any]]


class KnownProgram:
    """A way through a function from beginning to end, with its results."""

    __slots__ = ("code", "due", "outputs", "state")

    def __init__(self, state: ProgramState, inputs: Sequence[ValueSlot], outputs: tuple[int, ...], calls: int) -> None:
        self.state, self.outputs = state, outputs
        self.code: dict[Any, Any] = {}
        steps = state.steps()
        slots = {s.index: s for s in inputs} | {s.index: s for step in steps for s in (*step.taken, *step.made)}
        time = sum(_time(step, slots) for step in steps)
        first = min(len(steps), FIRST)
        compiling = COMPILE + COMPILE_FIRST * first + COMPILE_STEP * (len(steps) - first)
        self.due = calls + max(1.0, compiling / max(time, 1.0))

    def made(self, key: Any, make: Callable[[], Any]) -> Any:
        """The code of this kind, made once; that of programs which were compiled long ago goes."""
        with lock:
            code = self.code.get(key)
            if code is None:
                code = self.code[key] = make()
                _recent.append(self)
                if len(_recent) > COMPILED:
                    _recent.popleft().code.clear()
        return code


_recent: deque[KnownProgram] = deque()


def _time(step: ProgramState, slots: dict[int, ValueSlot]) -> float:
    """An estimate of what a step and its derivative take in dynamic mode."""
    if step.op.view:
        return CALL
    made = [Spec(s.shape, s.dtype) for s in step.made]
    given = [Spec(slots[x].shape, slots[x].dtype) if type(x) is int else Spec(()) for x in step.inputs]
    work = step.op.flops(tuple(made) if step.several else made[0], *given)
    return CALL + max(_bytes(made), _bytes(given)) / BYTES + work / FLOPS


def _bytes(specs: Sequence[Spec]) -> int:
    return sum(elements(s) * s.dtype.itemsize for s in specs)


class KnownFunction:
    """What is known of a user's function of such inputs: how often it was called, and its programs."""

    __slots__ = ("calls", "code", "following", "programs", "slots", "start", "tries")

    def __init__(self, code: CodeType) -> None:
        self.code = code  # held, so that no other gets its id
        self.calls = self.programs = self.tries = 0
        self.following: float = 2  # the call that is deferred next
        self.slots: list[ValueSlot] = []  # of the inputs

    def begin(self, tracked: Sequence[Any]) -> Deferral:
        """A call, with these inputs in the hands of a transform."""
        if not self.slots:
            self.start = ProgramState(None, len(tracked))
            self.slots = [ValueSlot(k, x, True) for k, x in enumerate(tracked)]  # last: other threads ask for them
        return Deferral(self.start, tracked)

    def due(self, trace: Deferral, outputs: tuple[int, ...]) -> KnownProgram | None:
        """The program that a call has gone through, if it is time for machine code."""
        if not trace.pending or trace.state is None:
            return None
        found = trace.state.programs.get(outputs)
        return None if found is None or self.calls < found.due else found  # type: ignore[no-any-return]

    def learn(self, state: ProgramState, outputs: tuple[int, ...]) -> None:
        """A call has ended here, with these results."""
        program = state.programs.get(outputs)
        if program is None:
            program = state.programs[outputs] = KnownProgram(state, self.slots, outputs, self.calls)
            self.programs += 1
            if self.programs > PROGRAMS:
                self.give_up()
        self.following = min(self.following, program.due) if self.calls < self.following else program.due

    def needs_numbers(self, hopeless: bool = False) -> None:
        """A call could not be deferred to its end."""
        self.tries += 1
        self.following = 2 * self.calls
        if self.tries >= TRIES or hopeless:
            self.give_up()

    def give_up(self) -> None:
        """The function is computed as it is called from here on."""
        self.following = inf
        self.slots = []


_functions: dict[Any, KnownFunction] = {}


def _code(fn: Any) -> CodeType | None:
    """The code of a user's function, or of a network's `construct`; of a function around it, that of the one inside."""
    while (inside := getattr(fn, "__wrapped__", None)) is not None:
        fn = inside
    kind = type(fn)
    if kind is FunctionType:
        return fn.__code__  # type: ignore[no-any-return]
    if kind is MethodType:
        return getattr(fn.__func__, "__code__", None)
    return getattr(getattr(kind, "construct", None), "__code__", None)


_unset = (
    context.bindings, context.open_tape, context.checkpointing, context.packing, context.branch, context.reader, context.tracer,
    context.autocast, context.device,
)  # fmt: skip
_false = (context.integers, context.replays, context.replaying, context.static_mode, context.lenient)


def _is_outermost() -> bool:
    """Whether nothing is around the transform that looks on, records, or wants its calls for itself."""
    if watching.active or not context.deferred.get():
        return False
    for v in _unset:
        if v.get() is not None:
            return False
    for v in _false:
        if v.get():
            return False
    return context.backend.get() in (None, "native") and not numpy_may_raise()


def function_of(fn: Any, leaves: Sequence[Any], settings: tuple[Any, ...] = ()) -> KnownFunction | None:
    """What is known of a function of such arrays, if this call of it is to be deferred or learned."""
    code = _code(fn)
    if code is None or not leaves:
        return None
    specs: list[Any] = [id(code), *settings]
    for x in leaves:
        if type(x) is not np.ndarray or x.dtype.itemsize == 2 or x.dtype.hasobject:
            return None
        specs += (x.shape, x.dtype)
    key = tuple(specs)
    known = _functions.get(key)
    if known is None:
        if len(_functions) >= FUNCTIONS:
            _functions.clear()
        known = _functions[key] = KnownFunction(code)
    known.calls += 1
    return known if known.calls >= known.following and _is_outermost() else None


def deferral(fn: Any, leaves: Sequence[Any], tracked: Sequence[Any]) -> DeferredCall | None:
    """The call of a function of these arrays, tracked by a tape, if it is to be deferred or learned."""
    known = function_of(fn, leaves)
    return None if known is None else DeferredCall(known, leaves, tracked)


class DeferredCall:
    """One call of a function whose ops are noted."""

    __slots__ = ("function", "leaves", "program", "trace")

    def __init__(self, function: KnownFunction, leaves: Sequence[Any], tracked: Sequence[Any]) -> None:
        self.function, self.leaves = function, leaves
        self.trace = function.begin(tracked)
        self.program: KnownProgram | None = None

    def inputs(self) -> list[Any]:
        """The inputs of the program, as the function gets them."""
        return self.trace.leaves(self.function.slots)

    def end(self, tape: Any) -> None:
        """The function has returned, or raised."""
        self.trace.end(tape, [wrap(x) for x in self.leaves])

    def settled(self, out: Any) -> Any:
        """The output of the function as it is without deferral, and a note of how it was come by."""
        state, function = self.trace.state, self.function
        if state is None:
            function.needs_numbers(self.trace.hopeless)
        else:
            function.learn(state, _slots(self._pending(out)))
        return tree.map(lambda x: x.settled() if type(x) is Pending else x, out)

    def is_compiled(self, out: Any) -> bool:
        """Whether there is machine code for the program that has led to this output, or is to be now."""
        self.program = self.function.due(self.trace, _slots(self._pending(out)))
        return self.program is not None

    def _pending(self, out: Any) -> list[Pending]:
        """The Tensors of the output whose numbers are not known."""
        return [x for x in tree.leaves(out) if type(x) is Pending and x._trace is self.trace]

    def run(self, out: Any, ys: Sequence[Any], gs: Sequence[Any] | None) -> tuple[Any, list[Any]]:
        """The output and the gradients by the inputs, by machine code.

        `ys` are the parts of the output to differentiate, `gs` their cotangents if these are not ones.
        """
        trace, program, found = self.trace, self.program, self._pending(out)
        assert program is not None
        self.function.following = 0
        active = [i for i, y in enumerate(ys) if type(y) is Pending]
        seeds = _slots([ys[i] for i in active])
        cotangents = [] if gs is None else [gs[i] for i in active]
        key = seeds, gs is None, rules.version
        code = program.made(key, lambda: _compiled(program, trace.inputs, self.leaves, seeds, cotangents))
        values = {**trace.inputs, **dict(enumerate(self.leaves))}
        results = code([values[k] for k in sorted(values)] + cotangents)
        others = holders(trace) - 2 - known_by_results(trace, found)
        if others > 0:
            trace.settle_kept()
            self.function.needs_numbers()  # what the function keeps would be computed twice in each call
        known = {id(x): wrap(y) for x, y in zip(found, results, strict=False)}
        return tree.map(lambda x: known.get(id(x), x), out), results[len(found) :]


def known_by_results(trace: Deferral, results: Sequence[Any]) -> int:
    """How many Tensors of a trace only its results know: they themselves, and the roots that those were views of."""
    alone = [y for y in results if y._kin is not None and not views.relatives(y)]
    return len({id(y) for y in results}) + len({id(y._kin[0]) for y in alone if y._kin[0].base._trace is trace})


def _slots(xs: Sequence[Any]) -> tuple[int, ...]:
    return tuple([x.slot.index for x in xs])


def _compiled(
    program: KnownProgram, inputs: Any, leaves: Sequence[Any], seeds: tuple[int, ...], cotangents: Sequence[Any]
) -> Run:
    """A function from the values of a program's inputs, by slot, and the cotangents of some results to all results and the gradients."""
    slots, count, steps = sorted(inputs), len(leaves), program.state.steps()
    checked = that_may_fail(steps, program.outputs)

    def gradient(*xs: Any) -> list[Any]:
        tape = Tape("grad")
        values: list[Any] = [None] * program.state.count
        for slot, x in zip(slots, xs, strict=False):
            values[slot] = tape.track(x) if slot < count else x
        nodes = [values[k]._extra for k in range(count)]
        run(steps, values)
        tape.ended = True
        ys = [values[k] for k in seeds]
        gs = xs[len(slots) :] if cotangents else [np.ones(y.shape, y.dtype) for y in ys]
        found = tape.sweep(tape.seeds(ys, gs))
        gradients = [instantiate(found.get(n, ZERO), x) for n, x in zip(nodes, xs, strict=False)]
        results, errors = ([lowered(tape, values[k]) for k in slots_of] for slots_of in (program.outputs, checked))
        return [*results, *gradients, *errors]

    return compiled(gradient, [*leaves, *(inputs[k] for k in slots[count:]), *cotangents], len(checked))


def compiled(function: Callable[..., list[Any]], arrays: Sequence[Any], checked: int) -> Run:
    """A function of flat inputs like these arrays as machine code; so many of its last results are there for their errors only."""
    from adjoint import backends  # and all of static mode: when it is needed
    from adjoint.api.compiled import executable, optimised
    from adjoint.passes import optimise

    with context.setting(context.place, None):
        graph = trace(function, [Spec(x.shape, x.dtype) for x in arrays], "deferred", "grad", replayed=True)[0]
        graph = optimise(graph)[0]
    optimised.add(graph)
    count = len(graph.outputs) - checked
    return lambda values: executable(graph, backends.chosen())(*values)[:count]  # type: ignore[no-any-return]

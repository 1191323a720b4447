"""From a function to its graph, before any pass: run it once on graph values, and take note of all that it reads."""

from __future__ import annotations

import functools
import sys
import threading
import weakref
from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import replace
from types import FunctionType, MethodType
from typing import Any

import numpy as np

from adjoint import backends
from adjoint.api import promotion
from adjoint.api.arguments import NUMBERS, CallArguments, Signature
from adjoint.api.compiled import CellChange, Entry, TracedParameters, attributes, guards_of, in_order, put_together
from adjoint.api.device_choice import traced_device
from adjoint.api.inputs import name_of
from adjoint.api.lenient import ARRAYS, is_python_number
from adjoint.api.ruled_calls import note_reads
from adjoint.api.written import Containers, written
from adjoint.core import context, rules, views
from adjoint.core.dispatch import Value
from adjoint.core.errors import (
    AdjointError,
    ArgumentError,
    RecompileWarning,
    called_at,
    forget_refusal,
    refusal_behind,
    warn_user,
)
from adjoint.core.foreign import check_leaf
from adjoint.core.parameter import Parameter, resolve
from adjoint.core.random_counters import InGraph, batches, source
from adjoint.core.short_text import short
from adjoint.core.spec import Spec
from adjoint.frontend import SourceError, convert, leaks
from adjoint.frontend.calls import call, unread_hint
from adjoint.frontend.files import is_users
from adjoint.frontend.guards import Guard, Held, compiled
from adjoint.frontend.reads import PlaceInput, Reads, recorder
from adjoint.frontend.tracked import noting
from adjoint.graph.fused import fused
from adjoint.graph.node import Graph
from adjoint.graph.numbers import is_large
from adjoint.graph.ruled import uses
from adjoint.graph.trace import NeedsNumberError, Tracer
from adjoint.ops.stacking import array

FEW = 3  # changes of one place after which a number there becomes an input of the graph


DEEP = 5000  # frames that a trace may have: each call of the user's takes some of ours

_deep_lock, _deep = threading.Lock(), [0, 0]  # how many traces run, and the limit outside of them


@contextmanager
def deeper() -> Iterator[None]:
    """More room for recursion while a function is traced: some hundred calls deep it must be as in Python."""
    with _deep_lock:
        if _deep[0] == 0:
            _deep[1] = sys.getrecursionlimit()
            sys.setrecursionlimit(max(_deep[1], DEEP))
        _deep[0] += 1
    try:
        yield
    finally:
        with _deep_lock:
            _deep[0] -= 1
            if _deep[0] == 0:
                sys.setrecursionlimit(_deep[1])


def _result(y: Any) -> Any:
    """A result as a graph value or a constant: what a Parameter stands for, a Tensor for an array of Tensors."""
    if isinstance(y, Parameter):
        return resolve(y)
    return array(y) if isinstance(y, np.ndarray) and y.dtype.hasobject else y


class UnreadableError(NeedsNumberError):
    """Control flow that depends on numbers, in a function whose source cannot be read."""


class Traced:
    """A function that can be traced; the part of `Jitted` that makes graphs."""

    _signature: Signature
    _donate: frozenset[str]
    backend: Any  # the name of what runs the graphs
    _backend: str | None

    def __init__(self, fn: Callable[..., Any]) -> None:
        self._fn = fn
        self._self: weakref.ref[Any] | None = None  # the object whose method this is
        self.notes: list[str] = []  # functions whose source could not be read, and batch sizes that could not vary
        self._change: Guard | CellChange | str | None = None  # what made the last graph useless
        self._changes: Counter[str] = Counter()  # how often each place has changed
        self._values: dict[str, list[str]] = {}  # what was there of late
        self._inputs: set[str] = set()  # the places whose numbers are inputs of the graph
        self._lifting = True  # whether they may be
        self._promoted = False  # whether there was a warning that float32 becomes float64

    def _target(self) -> Any:
        """The function, or the method of its object."""
        return self._fn if self._self is None else MethodType(self._fn, self._self())

    def _traced(self, made: CallArguments, specs: Sequence[Spec]) -> Entry:
        """The graph of the function for such inputs, before any pass."""
        with context.setting(context.graph_device, traced_device(self._backend, made.numbers)):
            return self._traced_there(made, specs)

    def _backend_there(self) -> str:
        return "xla" if context.graph_device.get() is not None else self.backend

    def _traced_there(self, made: CallArguments, specs: Sequence[Spec]) -> Entry:
        reads = Reads(Tracer("jit"), frozenset(self._inputs), self._lifting)
        try:
            return self._trace(made, specs, reads)
        except Exception:  # whatever it is: without inputs from outside it comes again, or was due to them
            if not any(type(x) is PlaceInput for x in reads.tracer.captured):
                raise
        found = self._trace(made, specs, Reads(Tracer("jit"), lifting=False))
        self._lifting = False  # Python needs the numbers of what was made an input: they are part of the program
        return found

    def _trace(self, made: CallArguments, specs: Sequence[Spec], reads: Reads) -> Entry:
        tracer = reads.tracer
        parameters = TracedParameters(context.bindings.get(), tracer)
        drawing = InGraph(tracer)
        reads.weakly = None if self._self is None else self._self()
        for leaf in made.statics:
            reads.instance(leaf)
        try:
            placeholders = [tracer.param(s) for s in specs]
            nodes = [x._value for x in placeholders]
            tracer.points = {n for n in nodes if not n.shape}
            for i in made.points():
                views.as_array(placeholders[i])
            tracer.layouts.update(zip(nodes, made.layouts(specs), strict=True))
            args, kwargs = made.filled(placeholders)
            containers = Containers((args, kwargs))
            cells: dict[Any, float] = {}
            with (
                context.setting(context.bindings, parameters),
                context.setting(context.reader, functools.partial(self._read, reads)),
                context.setting(context.cells, cells),
                context.setting(source, drawing),
                context.setting(batches, (drawing,)),
                context.setting(context.tracer, tracer),
                context.setting(context.fused, fused if backends.has_kernels(self._backend_there()) else None),
                context.setting(recorder, reads),
                noting() as reads.since,
                context.setting(views.kept, {} if context.lenient.get() else None),
                deeper(),
            ):
                ys, rebuild = self._run(args, kwargs, reads)
                ys = [_result(y) for y in ys]
                left = [views.outside(x) for x in placeholders]  # for the caller
            containers.check(
                name_of(self._fn), self._signature.describe, lambda path: self._signature.belongs(path, self._donate)
            )
            if not ys and not parameters.stored:
                raise ArgumentError(
                    f"jit: {name_of(self._fn)} returned nothing (did you forget `return`?){called_at()}"
                )
            lenient = context.lenient.get()
            numeric = [isinstance(y, ARRAYS if lenient else (*NUMBERS, bool, int)) and not is_large(y) for y in ys]
            python = [lenient and is_python_number(y) for y, yes in zip(ys, numeric, strict=True) if yes]
            for y, yes in zip(ys, numeric, strict=True):
                if not yes:
                    check_leaf(f"jit: a result of {name_of(self._fn)}", y)
            if not any(numeric) and not parameters.stored:
                size = " of at most 64 bits" if any(map(is_large, ys)) else ""
                raise ArgumentError(
                    f"jit: {name_of(self._fn)} returned no number{size}, so there is no graph{called_at()}"
                )
            results = [y for y, yes in zip(ys, numeric, strict=True) if yes]
            donated = [self._signature.belongs(path, self._donate) for path in made.paths()]
            places = tuple(i for i in written(left, nodes) if not donated[i])  # those are not to be used again
            if lenient:  # what a branch or a loop held is not to be had here
                places = tuple(i for i in places if left[i] is placeholders[i] or left[i]._trace is tracer)
            after = [*(left[i] for i in places), *parameters.stored.values()]
            outputs = tuple([tracer.node(y) for y in (*after, *results, *drawing.ends())])
        finally:
            tracer.ended = True
        params = in_order(tracer, len(specs), parameters, drawing)
        graph = Graph(params, outputs, name_of(self._fn), tuple(tracer.effects))
        if not self._promoted and recorder.get() is None:
            arguments = {n: self._signature.describe(path) for n, path in zip(nodes, made.paths(), strict=True)}
            inside = {*nodes, *parameters.nodes, *(x._value for x in drawing.inputs)}
            others = zip((n for n in params if n not in inside), tracer.captured, strict=True)
            arrays = [n for n, x in others if type(x) is PlaceInput and not isinstance(x.place.get(), Value)]
            self._promoted = promotion.warn(graph, arguments, parameters.nodes, arrays)
        for card, getter in rules.replaced.items():  # what the rule reads, the graph's derivatives read
            if uses(graph, lambda op, card=card: isinstance(op, card)):  # type: ignore[misc]
                note_reads(getter, reads)
        still = [y for y, yes in zip(ys, numeric, strict=True) if not yes]
        together, draws = put_together(rebuild, numeric, still, python), drawing.draws()
        together = together if draws is None else draws.finishing(together)
        captured, guards = guards_of(reads, tracer.captured, cells)
        reads.weakly = None
        return replace(
            Entry(
                graph, parameters.order, together, captured, draws, places, cells, guards=guards, check=compiled(guards)
            ),
            attributes={cell: attributes(cell) for cell in cells},
            orders=made.orders() if tracer.wrote and tracer.reshaped else None,
            points=made.points() if tracer.pointed else None,
            tracked=parameters.tracked,
            python=any(python),
            stored=tuple(parameters.stored),
        )

    def _run(self, args: tuple[Any, ...], kwargs: dict[str, Any], reads: Reads) -> Any:
        """The function on graph values."""
        forget_refusal()
        try:
            return leaks.run(context.readable(self._target()), args, kwargs)
        except NeedsNumberError as error:
            if reads.unread:
                raise UnreadableError(f"{reads.unread[-1]}\n    {error}") from None
            if hint := unread_hint(error):
                raise type(error)(f"{error}\n    {hint}") from None
            raise
        except (IndexError, TypeError, ValueError) as error:
            if isinstance(error, AdjointError) or (refusal := refusal_behind(error)) is None:
                raise
            raise refusal from error
        except RecursionError as error:
            raise RecursionError(
                f"jit: {name_of(self._fn)} calls itself, or others, too deeply to be traced ({error}): write the recursion as "
                f"a loop, or raise `sys.setrecursionlimit`{called_at()}"
            ) from None
        finally:
            self.notes += [note for note in reads.unrolled.values() if note not in self.notes]
            for note in reads.unread:
                if note not in self.notes:
                    self.notes.append(note)
                    if "has changed since" in note:
                        warn_user(note)

    def _read(self, reads: Reads, fn: Any) -> Any:
        """A function with its control flow ready for graph values; as it is, with a note, if its source is not to be had."""
        if isinstance(fn, FunctionType) and is_users(fn.__code__.co_filename):
            reads.visit(fn)
            try:
                return convert(fn)
            except SourceError as error:
                reads.leave_unread(fn, error)
                return fn
        return functools.partial(call, fn)

    def _worth_it(self, entry: Entry, change: Any) -> None:
        """Forget earlier changes of a network's attribute if the graph before this one has been used: it does not always change."""
        if isinstance(change, CellChange) and not entry.hardly_used():
            self._changes.pop(change.label, None)

    def _count_change(self) -> None:
        """A place that changes again and again: a number there becomes an input, of anything else there is a warning."""
        change = self._change
        if change is None or isinstance(change, str) or (isinstance(change, CellChange) and recorder.get() is not None):
            return  # of what changes in a network, the function that is called tells, not one inside it
        label = change.label if isinstance(change, CellChange) else change.place.label
        self._changes[label] += 1
        now = change.now if isinstance(change, CellChange) else short(change.place.get())
        self._values[label] = [*self._values.get(label, []), now][-FEW:]
        if isinstance(change, CellChange):
            if self._changes[label] == FEW + 1 and label.split("`")[1] != "training":
                self._warn_of(
                    label,
                    "keep it in a Parameter and write to that with `set_data`, or make it an argument of the call",
                )
            return
        if self._changes[label] < FEW:
            return
        number = isinstance(change.image, Held) or type(getattr(change.image, "value", None)) in (
            float,
            np.ndarray,
            tuple,
        )
        if self._lifting and number and label not in self._inputs:
            self._inputs.add(label)
        elif self._changes[label] == 2 * FEW:
            self._warn_of(
                label, "pass it as an argument, make it a float or a Tensor, or let it be what it is between calls"
            )

    def _warn_of(self, label: str, instead: str) -> None:
        """Warn of something that makes each call compile anew."""
        values = ", ".join(self._values[label])
        warn_user(
            f"{self!r} has been compiled {self._changes[label]} times because {label} changes (last values: {values}): {instead}",
            RecompileWarning,
        )

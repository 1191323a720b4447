"""Static mode: source -> graph -> derivative graph -> optimised graph -> executable, cached by the Specs of the inputs."""

from __future__ import annotations

import contextlib
import functools
import time
from collections.abc import Callable, Iterable, Sequence
from dataclasses import replace
from types import FunctionType
from typing import Any

from adjoint import backends
from adjoint import derive as derive  # fills the verbs that control flow speaks
from adjoint.api.arguments import NUMBERS, Call, Key, Signature
from adjoint.api.compiled import (
    Compilation,
    Entry,
    TracedParameters,
    executable,
    in_order,
    opened,
    optimised,
    plain_key,
    put_together,
)
from adjoint.api.donate import give_up
from adjoint.api.inputs import check_function, name_of
from adjoint.api.symbolic import PROBES, NotSymbolicError, fitted
from adjoint.backends import interpreter as interpreter  # fills the verb `steps`
from adjoint.core import context, tree
from adjoint.core.dispatch import wrap
from adjoint.core.errors import ArgumentError, ShapeError, boundary, called_at
from adjoint.core.parameter import resolve
from adjoint.core.spec import Spec, spec_of
from adjoint.core.verbs import verbs
from adjoint.frontend import SourceError, convert, leaks, loops
from adjoint.frontend.calls import call, is_users
from adjoint.graph.call import GraphCall
from adjoint.graph.node import Graph, constants_apart
from adjoint.graph.trace import Tracer, is_graph_value
from adjoint.graph.walk import replay
from adjoint.passes import PASSES, Report, groups, optimise, schedule

_open_tape = context.open_tape.get


class Jitted:
    """A function that runs as a graph. Made by `jit`."""

    def __init__(
        self,
        fn: Callable[..., Any],
        static: Sequence[str],
        dynamic: Sequence[str],
        donate: Sequence[str],
        off: Iterable[str],
        backend: str | None,
    ) -> None:
        self._fn = fn
        self._static, self._dynamic, self._donate = frozenset(static), frozenset(dynamic), frozenset(donate)
        self._off = tuple(off)
        self._backend = None if backend is None else backends.checked(backend)
        if unknown := set(self._off) - {name for name, _ in PASSES}:
            known = ", ".join(name for name, _ in PASSES)
            raise ArgumentError(f"jit: passes_off names {sorted(unknown)}; the passes are {known}{called_at()}")
        self._entries: dict[Any, Entry] = {}
        self.compilations: list[Compilation] = []
        self.notes: list[str] = []  # functions whose source could not be read, and batch sizes that could not vary
        self._last: Key | None = None
        self._change: str | None = None  # what made the last graph useless
        self._quick: dict[Any, Callable[[list[Any]], Any]] = {}
        self._closed: set[Key] = set()  # calls whose batch size cannot vary
        functools.update_wrapper(self, fn, updated=())
        self._signature = Signature(fn, static_argnames=static, dynamic=dynamic, donate=donate)

    def __call__(self, *args: Any, **kwargs: Any) -> Any:
        if not kwargs and not self._donate and _open_tape() is None:
            key, values = plain_key(args)
            quick = self._quick.get(key)
            if quick is not None:
                return quick(values)
        return self._call(*args, **kwargs)

    @boundary
    def _call(self, *args: Any, **kwargs: Any) -> Any:
        made, entry, size = self._prepared(args, kwargs)
        inputs = [*made.numbers, *(resolve(p) for p in entry.parameters), *entry.captured]
        graph = entry.at(size)
        if any(is_graph_value(x) for x in inputs):
            return entry.rebuild(replay(graph, inputs))
        if self._donate:
            return entry.rebuild([wrap(y) for y in self._giving_up(made, graph, inputs)])
        if size is not None:
            entry.calls[size] += 1
        backend = "interpreter" if entry.is_rare(size) else self.backend
        found = GraphCall(graph, backend)(*inputs)
        if not (kwargs or entry.template or entry.cells or entry.parameters or entry.captured or self._static):
            self._remember(args, graph, entry.rebuild)
        return entry.rebuild([wrap(y) for y in found])

    @property
    def backend(self) -> str:
        """What runs the graphs: "native" or "interpreter"."""
        return self._backend or backends.chosen()

    def _remember(self, args: tuple[Any, ...], graph: Graph, rebuild: Callable[[list[Any]], Any]) -> None:
        """A short way for calls like this one: plain arrays and floats, nothing else to look at."""
        key, _ = plain_key(args)
        if key is None or (self._backend is None and context.backend.get() != context.backend_default):
            return
        run = executable(graph, self.backend)
        if len(graph.outputs) == 1 and rebuild([run]) is run:  # the result is one Tensor, in no container

            def quick(values: list[Any]) -> Any:
                return wrap(run(*values)[0])
        else:

            def quick(values: list[Any]) -> Any:
                return rebuild([wrap(y) for y in run(*values)])

        self._quick[key] = quick

    def __get__(self, instance: Any, owner: Any = None) -> Any:
        return self if instance is None else functools.partial(self, instance)

    def __repr__(self) -> str:
        return f"jit({name_of(self._fn)})"

    # ------------------------------------------------------------ from a call to its graph

    def _prepared(self, args: tuple[Any, ...], kwargs: dict[str, Any]) -> tuple[Call, Entry, int | None]:
        """The call, a graph that fits it, and the batch size if that may vary."""
        special = bool(self._static or self._dynamic or self._donate)
        made = self._signature.split(args, kwargs, self._static, special)
        key, size = made.key(), None
        if self._dynamic:
            batched = [self._signature.belongs(path, self._dynamic) for path in made.paths()]
            size = self._batch_size(made, batched)
            if size > 1:  # a batch of one broadcasts, an empty one may be refused: those are programs of their own
                open_key = replace(
                    key, specs=tuple(opened(s) if yes else s for s, yes in zip(key.specs, batched, strict=True))
                )
                entry = self._current(open_key)
                if entry is None and open_key not in self._closed:
                    entry = self._symbolic(made, batched, open_key)
                if entry is not None and key not in self._entries and self._serves(entry, made, batched, size):
                    return made, entry, size
        entry = self._current(key) or self._compile(made, key)
        return made, entry, size

    def _current(self, key: Key) -> Entry | None:
        """The graph for a key, unless a network in it has changed."""
        entry = self._entries.get(key)
        if entry is not None and (change := entry.outdated()):
            self._change = change
            del self._entries[key]
            return None
        return entry

    def _batch_size(self, made: Call, batched: list[bool]) -> int:
        """The size that the named arguments have in common."""
        found = {
            self._signature.describe(path): spec_of(x).shape[:1]
            for path, x, yes in zip(made.paths(), made.numbers, batched, strict=True)
            if yes
        }
        if len(set(found.values())) != 1 or () in found.values():
            shown = ", ".join(f"{name} {size[0] if size else 'no axis'}" for name, size in found.items()) or "no array"
            raise ShapeError(
                f"jit: the dynamic arguments must share the size of their first axis; found {shown}{called_at()}"
            )
        return next(iter(found.values()))[0]

    def _giving_up(self, made: Call, graph: Graph, inputs: list[Any]) -> list[Any]:
        """Run with the donated arguments' memory free to be overwritten."""
        leaves = tree.leaves(made.whole)
        numbers = [leaf for leaf, yes in zip(leaves, made.numeric, strict=True) if yes]
        mine = [self._signature.belongs(path, self._donate) for path in made.paths()]
        given = [x for x, yes in zip(numbers, mine, strict=True) if yes]
        made.numbers.clear()
        del leaves, numbers
        give_up(given, repr(self))
        donated = tuple(k for k, yes in enumerate(mine) if yes)
        return executable(graph, self.backend).giving_up(inputs, donated)

    # ------------------------------------------------------------ compiling

    def _compile(self, made: Call, key: Key) -> Entry:
        start = time.perf_counter()
        entry, reports = self._better(self._traced(made, [spec_of(x) for x in made.numbers]))
        return self._kept(entry, reports, made, key, start)

    def _symbolic(self, made: Call, batched: list[bool], key: Key) -> Entry | None:
        """A graph for every batch size; None, with a note, if the program does not allow it."""
        start = time.perf_counter()
        size = made.numbers[batched.index(True)].shape[0]
        raw = [self._at_size(made, batched, n) for n in (*PROBES, size)]
        found = [self._better(entry) for entry in raw[:-1]]
        try:
            fitted([e.graph for e in raw], (*PROBES, size))
            template = fitted([e.graph for e, _ in found], PROBES)
        except NotSymbolicError as error:
            self._closed.add(key)
            self.notes.append(f"{self!r} compiles anew for each batch size: {error}")
            return None
        (entry, reports), *_ = found
        entry = replace(entry, template=template, plain=[e.graph for e in raw[:-1]])
        entry.at(size)
        return self._kept(entry, reports, made, key, start)

    def _at_size(self, made: Call, batched: list[bool], n: int) -> Entry:
        """The graph for a batch size, with no loop unrolled only because it is short."""
        specs = [spec_of(x) for x in made.numbers]
        sized = [replace(s, shape=(n, *s.shape[1:])) if b else s for s, b in zip(specs, batched, strict=True)]
        with context.setting(loops.few, 0), context.setting(constants_apart, True):
            return self._traced(made, sized)

    def _serves(self, entry: Entry, made: Call, batched: list[bool], size: int) -> bool:
        """Whether the formulas hold for a size not seen before: the function may branch on it."""
        if size in entry.sizes:
            return True
        try:
            fitted([*entry.plain, self._at_size(made, batched, size).graph], (*PROBES, size))
        except NotSymbolicError:
            return False
        return True

    def _kept(self, entry: Entry, reports: list[Report], made: Call, key: Key, start: float) -> Entry:
        reason = self._change or self._signature.reason(made, key, self._last)
        self._change = None
        self.compilations.append(Compilation(reason, entry.graph, time.perf_counter() - start, tuple(reports)))
        if not entry.captured:  # a value of an outer transform belongs to this call alone
            self._entries[key] = entry
        self._last = key
        return entry

    def _traced(self, made: Call, specs: Sequence[Spec]) -> Entry:
        """The graph of the function for such inputs, before any pass."""
        tracer = Tracer("jit")
        parameters = TracedParameters(context.bindings.get(), tracer)
        try:
            args, kwargs = made.filled([tracer.param(s) for s in specs])
            cells: dict[Any, int] = {}
            settings = ((context.bindings, parameters), (context.reader, self._read), (context.cells, cells))
            with contextlib.ExitStack() as stack:
                for variable, value in settings:
                    stack.enter_context(context.setting(variable, value))
                ys, rebuild = leaks.run(context.readable(self._fn), args, kwargs)
            if not ys:
                raise ArgumentError(
                    f"jit: {name_of(self._fn)} returned nothing (did you forget `return`?){called_at()}"
                )
            numeric = [isinstance(y, (*NUMBERS, bool, int)) for y in ys]
            outputs = tuple([tracer.node(y) for y, yes in zip(ys, numeric, strict=True) if yes])
        finally:
            tracer.ended = True
        params = in_order(tracer, len(specs), parameters)
        graph = Graph(params, outputs, name_of(self._fn), tuple(tracer.effects))
        still = [y for y, yes in zip(ys, numeric, strict=True) if not yes]
        return Entry(graph, parameters.order, put_together(rebuild, numeric, still), tracer.captured, cells)

    def _better(self, entry: Entry) -> tuple[Entry, list[Report]]:
        """The same with its graph optimised."""
        graph, reports = optimise(entry.graph, self._off)
        optimised.add(graph)
        return replace(entry, graph=graph), reports

    def _read(self, fn: Any) -> Any:
        """A function with its control flow ready for graph values; as it is, with a note, if its source is not to be had."""
        if isinstance(fn, FunctionType) and is_users(fn.__code__.co_filename):
            try:
                return convert(fn)
            except SourceError as error:
                if str(error) not in self.notes:
                    self.notes.append(str(error))
                return fn
        return functools.partial(call, fn)

    # ------------------------------------------------------------ looking inside

    def graph(self, *args: Any, **kwargs: Any) -> Graph:
        """The optimised graph for these arguments."""
        _, entry, size = self._prepared(args, kwargs)
        return entry.at(size)

    def explain(self, *args: Any, **kwargs: Any) -> str:
        """What compiling for these arguments did: why, each pass with its time, and the graph.

        The graph before and after one pass: `print(f.compilations[-1].reports[0].shown())`.
        """
        _, entry, size = self._prepared(args, kwargs)
        made = next(c for c in reversed(self.compilations) if c.graph is entry.graph)
        lines = [
            f"{self!r}: {made.reason}; {made.seconds * 1e3:.2f} ms",
            *self.notes,
            *map(str, made.reports),
            executable(entry.at(size), self.backend).explain(),
            f"{len(groups(entry.graph))} groups that one loop nest can compute; {schedule(entry.graph).summary()}",
            str(entry.at(size)),
        ]
        return "\n".join(lines)


def jit(
    fn: Callable[..., Any] | None = None,
    *,
    static_argnames: str | Sequence[str] = (),
    dynamic: str | Sequence[str] = (),
    donate: str | Sequence[str] = (),
    passes_off: Iterable[str] = (),
    backend: str | None = None,
) -> Any:
    """A function that runs as an optimised graph, built once for each set of input shapes and dtypes.

    Args:
        fn: a function or Cell; without it, a decorator is returned.
        static_argnames: arguments that are part of the program rather than inputs: a new value makes a new graph.
            Whole numbers, strings and other things that are not arrays or floats are static anyway.
        dynamic: arguments whose first axis is a batch of any size: one graph serves every size above one; a size that comes
            again and again gets machine code of its own. A program that cannot be written for every size is compiled for
            each, and `notes` says why.
        donate: arguments whose memory the function may overwrite for its results. The Tensors given cannot be used again.
        passes_off: names of optimisation passes to leave out.
        backend: "native" for machine code, "interpreter" for one NumPy call an op; by default what `set_context` says.

    The result composes with every transform: `grad(jit(f))`, `jit(grad(f))`, `vmap(jit(f))`, `jit` inside `jit`. Its
    `compilations` say what was compiled and why; `explain(*args)` shows the passes and the graph.

    >>> import adjoint as ad
    >>> f = ad.jit(lambda x: ad.ops.sin(x) * x)
    >>> print(f(ad.Tensor([0.0, 0.0])), ad.grad(f)(0.0))
    [0. 0.] 0.0
    >>> [c.reason for c in f.compilations]
    ['first call', 'shape of `x` changed from (2,) to ()']
    >>> g = ad.jit(lambda x: ad.ops.mean(x), dynamic="x")
    >>> [float(g(ad.ops.ones(n))) for n in (2, 3, 50)], len(g.compilations)
    ([1.0, 1.0, 1.0], 1)
    """
    static, free, given = (_names(names) for names in (static_argnames, dynamic, donate))
    if fn is None:
        return lambda f: jit(
            f, static_argnames=static, dynamic=free, donate=given, passes_off=passes_off, backend=backend
        )
    check_function("jit", fn)
    off = (passes_off,) if isinstance(passes_off, str) else passes_off
    return Jitted(fn, static, free, given, off, backend)


def _names(names: str | Sequence[str]) -> tuple[str, ...]:
    return (names,) if isinstance(names, str) else tuple(names)


def trace_function(fn: Callable[..., Any], inputs: Sequence[Any]) -> Graph:
    """The graph of a function for such inputs, before any pass."""
    return jit(fn, passes_off=[name for name, _ in PASSES]).graph(*inputs)


verbs.trace_function = trace_function

"""Static mode: source -> graph -> derivative graph -> optimised graph -> executable, cached by the Specs of the inputs."""

from __future__ import annotations

import functools
import time
from collections.abc import Callable, Iterable, Sequence
from dataclasses import replace
from types import MethodType
from typing import Any

from adjoint import backends
from adjoint.api import call_outline
from adjoint.api.arguments import CallArguments, Key, Signature, all_but, names_at, names_of
from adjoint.api.compiled import (
    Compilation,
    Entry,
    executable,
    memory_of,
    opened,
    optimised,
    taken_over,
)
from adjoint.api.compiling import takes_time
from adjoint.api.device_choice import backend_for, check_inlined
from adjoint.api.donate import bare, give_up, set_free
from adjoint.api.graph_call import GraphCall
from adjoint.api.inputs import check_function, name_of
from adjoint.api.jit_methods import Methods
from adjoint.api.jit_reports import Reports
from adjoint.api.lenient import as_python_runs, instead, op_by_op
from adjoint.api.memory_budget import fitting
from adjoint.api.quick import bound_quick, c_ordered, plain_key, plain_quick, watched, whole_quick
from adjoint.api.symbolic import PROBES, NotSymbolicError, fitted
from adjoint.api.tracing import FEW, Traced, UnreadableError
from adjoint.api.written import shared, store_back, write_back
from adjoint.core import compile_line, context, rules, tree, tree_containers, watching
from adjoint.core.checkpoint_policy import byte_count
from adjoint.core.dispatch import wrap
from adjoint.core.errors import ArgumentError, boundary, called_at
from adjoint.core.spec import spec_of
from adjoint.frontend import loops
from adjoint.frontend.reads import PlaceInput, recorder
from adjoint.graph.indices import indices
from adjoint.graph.loop_checkpoints import with_plans
from adjoint.graph.node import Graph, constants_apart
from adjoint.graph.ruled import uses
from adjoint.graph.trace import is_graph_value
from adjoint.graph.walk import replay
from adjoint.passes import PASSES, Report, optimise

backends.load(backends.chosen())  # with `jit` itself, so that the first call need not wait for it

MANY = 8  # kinds of calls that have a C function of their own; each is asked in turn
KEPT = 4  # graphs for one kind of call, for things around it that change to and fro

_open_tape, _set_backend, _autocast = context.open_tape.get, context.backend.get, context.autocast.get


class Jitted(Methods, Reports, Traced):
    """A function that runs as a graph. Made by `jit`."""

    def __init__(
        self,
        fn: Callable[..., Any],
        static: Sequence[str],
        dynamic: Sequence[str],
        donate: Sequence[str],
        off: Iterable[str],
        backend: str | None,
        memory: int | None = None,
    ) -> None:
        Traced.__init__(self, fn)
        self._methods: dict[int, tuple[Any, Any]] = {}
        self._static, self._dynamic, self._donate = frozenset(static), frozenset(dynamic), frozenset(donate)
        self._off = tuple(off)
        self._backend, self._memory = None if backend is None else backends.checked(backend), memory
        if unknown := set(self._off) - {name for name, _ in PASSES}:
            known = ", ".join(name for name, _ in PASSES)
            raise ArgumentError(f"jit: passes_off names {sorted(unknown)}; the passes are {known}{called_at()}")
        self._entries: dict[Any, list[Entry]] = {}  # several for a key if a network is in training and in use by turns
        self.exclusive = False  # whether donated arrays are known to have no other holders than their owner
        self.compilations: list[Compilation] = []
        self._last: call_outline.CallOutline | None = None
        self._unreadable = False  # whether it runs op by op, for want of source
        self._whole: tuple[Callable[..., Any], ...] = ()  # calls that C functions do
        self._quick: dict[Any, Callable[[list[Any]], Any]] = {}  # calls of plain arrays and floats, by key and backend
        self._closed: set[Key] = set()  # calls whose batch size cannot vary
        functools.update_wrapper(self, fn, updated=())
        self._signature = Signature(fn, static_argnames=static, dynamic=dynamic, donate=donate)
        rules.compiled.add(self)

    def forget(self, why: str) -> None:
        """Compile anew at the next call."""
        self._change = why if self._entries else self._change
        self._whole, self._quick, self._entries = (), {}, {}

    def __call__(self, *args: Any, **kwargs: Any) -> Any:
        for run in self._whole:
            found = run(args, kwargs)
            if found is not NotImplemented:
                return found
        if self._quick and _open_tape() is None and _autocast() is None:
            key, values = plain_key(args, kwargs)
            quick = self._quick.get((key, self._backend or _set_backend()))
            if quick is not None:
                found = quick(values)
                if found is not NotImplemented:
                    return found
        return self._call(args, kwargs)

    @boundary
    def _call(self, args: tuple[Any, ...], kwargs: dict[str, Any]) -> Any:
        if self._unreadable:
            return as_python_runs(self._target(), args, kwargs)
        try:
            made, entry, size = self._prepared(args, kwargs)
        except UnreadableError as error:
            if recorder.get() is not None:  # the graph around it cannot be built either
                raise
            return op_by_op(self, error)(*args, **kwargs)
        except Exception as error:
            return instead(self, error, args, kwargs)
        if entry.written and context.lenient.get() and shared(entry.written, made):
            return as_python_runs(self._target(), args, kwargs)
        inputs = [*made.numbers, *entry.weights(), *taken_over(entry, recorder.get())]
        if entry.draws is not None:
            inputs += entry.draws.begin()
        graph = entry.at(size)
        if any(is_graph_value(x) for x in inputs):
            check_inlined(self._backend)
            policy = context.checkpointing.get()
            graph = graph if policy is None else with_plans(graph, policy)
            return entry.rebuild(store_back(entry.stored, write_back(entry.written, made, replay(graph, inputs))))
        self._keep_layouts(made, entry, graph, inputs)
        entry.calls[size] += 1
        if self._donate:
            found = write_back(entry.written, made, self._giving_up(made, graph, inputs))
            return entry.rebuild([wrap(y) for y in store_back(entry.stored, found)])
        rare = entry.is_rare(size)
        runs = backend_for(self._backend, inputs, rare)
        found = GraphCall(graph, runs, context.checkpointing.get())(*inputs)
        fixed = runs != self.backend or any(type(x) is not PlaceInput for x in entry.captured)
        if entry.written or entry.stored:
            found = store_back(entry.stored, write_back(entry.written, made, found))
        elif entry.calls[size] > 1 and not (rare or fixed or entry.draws or watching.active):
            self._remember(args, kwargs, made, entry, graph)
        return entry.rebuild([wrap(y) for y in found])

    def _bound(self, instance: Any, reference: Any) -> Any:
        return BoundJitted(self, instance, reference)

    @property
    def backend(self) -> str:
        """What runs the graphs: "native" or "interpreter"."""
        return self._backend or backends.chosen()

    def _remember(
        self, args: tuple[Any, ...], kwargs: dict[str, Any], made: CallArguments, entry: Entry, graph: Graph
    ) -> None:
        """A short way for calls like this one. The first call has to pay for none: it may be the only one."""
        if kwargs and (self._static or self._dynamic):  # the arguments are not in the order of the call
            return
        if entry.points is not None or any(entry.orders or ()) or entry.python or _autocast() is not None:
            return
        run, wanted = executable(graph, self.backend), self._backend or _set_backend()
        key, _ = plain_key(args, kwargs)
        alone = not (entry.cells or entry.parameters or entry.captured)
        if key is not None and not self._static:
            quick = plain_quick(run, entry) if alone else bound_quick(graph, self.backend, entry)
            self._quick[key, wanted] = quick if entry.orders is None else c_ordered(quick)
        entry.served["whole"] += 1
        if alone and entry.served["whole"] <= MANY:
            outside = watched(entry, by_value=entry.served["whole"] > FEW)
            chosen = [(context.backend, wanted)] * (self._backend is None)
            guards = [(context.open_tape, None), (context.autocast, None), *chosen, *outside]
            if whole := whole_quick(run, graph, (args, kwargs), made.numeric, entry.rebuild, guards):
                kept = self._whole[-MANY + 1 :]
                self._whole = (*kept, whole)

    def __repr__(self) -> str:
        return f"jit({name_of(self._fn)})"

    # ------------------------------------------------------------ from a call to its graph

    def _prepared(self, args: tuple[Any, ...], kwargs: dict[str, Any]) -> tuple[CallArguments, Entry, int | None]:
        """The call, a graph that fits it, and the batch size if that may vary."""
        special = bool(self._static or self._dynamic or self._donate)
        try:
            made = self._signature.split(args, kwargs, self._static, special)
        except RecursionError:
            if tree_containers.contains_itself((args, kwargs)):
                raise ArgumentError(
                    f"jit: an argument of {name_of(self._fn)} contains itself: pass what is needed of it{called_at()}"
                ) from None
            raise
        key, size = made.key(), None
        if self._dynamic:
            batched = [self._signature.belongs(path, self._dynamic) for path in made.paths()]
            size = self._signature.batch_size(made, batched)
            if size > 1:  # a batch of one broadcasts, an empty one may be refused: those are programs of their own
                open_key = replace(
                    key, specs=tuple(opened(s) if yes else s for s, yes in zip(key.specs, batched, strict=True))
                )
                entry = self._current(open_key, made)
                if entry is None and open_key not in self._closed:
                    entry = self._symbolic(made, batched, open_key)
                if entry is not None and not self._entries.get(key) and self._serves(entry, made, batched, size):
                    return made, entry, size
        entry = self._current(key, made) or self._compile(made, key)
        return made, entry, size

    def _current(self, key: Key, made: CallArguments) -> Entry | None:
        """The graph for a call and its key, unless a network in it has changed."""
        known = self._entries.get(key, [])
        for entry in reversed(known):
            change = entry.misfit(made, self._signature.describe) or entry.change()
            if change is None:
                self._change = None
                return entry
            self._change = self._change or change
            self._worth_it(entry, change)
        known[:] = [entry for entry in known if not entry.is_over()][1 - KEPT :]
        return None

    def _giving_up(self, made: CallArguments, graph: Graph, inputs: list[Any]) -> list[Any]:
        """Run with the donated arguments' memory free to be overwritten."""
        leaves = tree.leaves(made.whole)
        numbers = [leaf for leaf, yes in zip(leaves, made.numeric, strict=True) if yes]
        mine = [self._signature.belongs(path, self._donate) for path in made.paths()]
        given = [x for x, yes in zip(numbers, mine, strict=True) if yes]
        made.numbers.clear()
        del leaves, numbers
        bare(inputs)
        give_up(given, repr(self))
        donated = tuple(k for k, yes in enumerate(mine) if yes)
        if not self.exclusive:
            set_free(inputs, donated)
        run, checks = executable(graph, backend_for(self._backend, inputs)), indices(graph)
        safe = checks is not None and checks.in_range(inputs)  # a run that may fail overwrites nothing
        return run.giving_up(inputs, donated) if safe and hasattr(run, "giving_up") else run(*inputs)

    # ------------------------------------------------------------ compiling

    @takes_time
    def _compile(self, made: CallArguments, key: Key) -> Entry:
        start = time.perf_counter()
        self._count_change()
        entry, reports = self._fitting(made)
        return self._kept(entry, reports, made, key, start)

    def _fitting(self, made: CallArguments) -> tuple[Entry, list[Report]]:
        """The graph of a call, within the budget of memory if there is one."""
        specs = [spec_of(x) for x in made.numbers]
        donated = self._donated(made)
        return fitting(
            self._memory,
            lambda: self._better(self._traced(made, specs)),
            lambda program: memory_of(program[0].graph, self.backend, donated),
            repr(self),
        )

    @takes_time
    def _symbolic(self, made: CallArguments, batched: list[bool], key: Key) -> Entry | None:
        """A graph for every batch size; None, with a note, if the program does not allow it."""
        start = time.perf_counter()
        self._count_change()
        size = made.numbers[batched.index(True)].shape[0]
        try:
            raw = [self._at_size(made, batched, n) for n in (*PROBES, size)]
            found = [self._better(entry) for entry in raw[:-1]]
            fitted([e.graph for e in raw], (*PROBES, size))
            template = fitted([e.graph for e, _ in found], PROBES)
        except Exception as error:  # the function may refuse a size that the caller never gave: its own size decides
            self._closed.add(key)
            said = (
                error
                if isinstance(error, NotSymbolicError)
                else f"it fails at another one ({type(error).__name__}: {error})"
            )
            self.notes.append(f"{self!r} compiles anew for each batch size: {said}")
            return None
        (entry, reports), *_ = found
        entry = replace(entry, template=template, plain=[e.graph for e in raw[:-1]])
        entry.at(size)
        return self._kept(entry, reports, made, key, start)

    def _at_size(self, made: CallArguments, batched: list[bool], n: int) -> Entry:
        """The graph for a batch size, with no loop unrolled only because it is short."""
        specs = [spec_of(x) for x in made.numbers]
        sized = [replace(s, shape=(n, *s.shape[1:])) if b else s for s, b in zip(specs, batched, strict=True)]
        with context.setting(loops.few, 0), context.setting(constants_apart, True):
            return self._traced(made, sized)

    def _serves(self, entry: Entry, made: CallArguments, batched: list[bool], size: int) -> bool:
        """Whether the formulas hold for a size not seen before: the function may branch on it."""
        if size in entry.sizes:
            return True
        try:
            fitted([*entry.plain, self._at_size(made, batched, size).graph], (*PROBES, size))
        except Exception:  # a size that the function refuses is refused where it is compiled for that size
            return False
        return True

    def _kept(self, entry: Entry, reports: list[Report], made: CallArguments, key: Key, start: float) -> Entry:
        change = self._change
        reason = change if change is None or isinstance(change, str) else change.reason()
        reason = reason or call_outline.reason(self._signature, made, key, self._last)
        self._change = None
        self.compilations.append(Compilation(reason, entry.graph, time.perf_counter() - start, tuple(reports)))
        # A value of another transform belongs to this call alone, and so does one that comes from we know not where.
        if all(type(x) is PlaceInput for x in entry.captured):
            self._entries.setdefault(key, []).append(entry)
        self._last = call_outline.CallOutline(made, key)
        return entry

    def _better(self, entry: Entry) -> tuple[Entry, list[Report]]:
        """The same with its graph optimised; as it is where a rule from outside must find the ops that it is for."""
        if rules.replaced and uses(entry.graph, lambda op: isinstance(op, tuple(rules.replaced))):
            return entry, []
        compile_line.stage(f"optimising {len(entry.graph.nodes):,} nodes")
        graph, reports = optimise(entry.graph, self._off)
        optimised.add(graph)
        return replace(entry, graph=graph), reports


class BoundJitted(Jitted):
    """A compiled method of one object, called with that object first, as methods are."""

    def __init__(self, parent: Jitted, instance: Any, reference: Any) -> None:
        super().__init__(parent._fn, (), (), (), parent._off, parent._backend, parent._memory)
        self._static, self._dynamic, self._donate = parent._static, parent._dynamic, parent._donate
        self._parent, self._self = parent, reference
        self.compilations, self.notes = parent.compilations, parent.notes
        self._signature = Signature(MethodType(parent._fn, instance))

    def __call__(self, instance: Any, /, *args: Any, **kwargs: Any) -> Any:
        if self._self is None or self._self() is not instance:  # a copy of the method
            return self._parent.__get__(instance)(*args, **kwargs)
        return super().__call__(*args, **kwargs)


def jit(
    fn: Callable[..., Any] | None = None,
    *,
    static_argnames: str | Sequence[str] = (),
    static_argnums: int | Sequence[int] = (),
    dynamic: str | Sequence[str] | bool = (),
    donate: str | Sequence[str] = (),
    passes_off: Iterable[str] = (),
    backend: str | None = None,
    device: str | None = None,
    memory: int | str | None = None,
) -> Any:
    """A function that runs as an optimised graph, built once for each set of input shapes and dtypes.

    Args:
        fn: a function or Cell; without it, a decorator is returned.
        static_argnames: arguments that are part of the program rather than inputs: a new value makes a new graph.
            Integers, strings and other things that are not arrays or floats are static anyway. `static_argnums` names them by position.
        dynamic: arguments whose first axis is a batch of any size, True for all: one graph serves every size above one; a size that comes
            again and again gets machine code of its own. A program that cannot be written for every size is compiled for
            each, and `notes` says why.
        donate: arguments whose memory the function may overwrite for its results. The Tensors given cannot be used again.
        passes_off: names of optimisation passes to leave out.
        backend: "native" for machine code, "interpreter" for one NumPy call an op, "xla" (JAX), or one of your own; by default as `set_context` says.
        device: where XLA runs it: "gpu", "tpu" or "cpu", or one of several by its number, as "gpu:1".
        memory: what a call may take beyond its arguments, as bytes or text like "200MB": gradients inside compute again what they
            cannot keep. What cannot fit raises `MemoryBudgetError` before anything runs.

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
    static, given = names_of(static_argnames), names_of(donate)
    runs = backends.on_device(backend, device)
    if fn is None:
        return lambda f: jit(
            f, static_argnames=static, static_argnums=static_argnums, dynamic=dynamic, donate=given, passes_off=passes_off, backend=runs, memory=memory
        )  # fmt: skip
    check_function("jit", fn)
    static = (*static, *names_at(fn, static_argnums))
    free = all_but(fn, static) if dynamic is True else names_of(dynamic or ())
    off = (passes_off,) if isinstance(passes_off, str) else passes_off
    size = None if memory is None else byte_count("jit: memory", memory)
    if size is not None and free:
        raise ArgumentError(f"jit: memory= is for one batch size, dynamic= for any: give one of them{called_at()}")
    return Jitted(fn, static, free, given, off, runs, size)

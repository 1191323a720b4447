"""Static mode: source -> graph -> derivative graph -> optimised graph -> executable, cached by the Specs of the inputs."""

from __future__ import annotations

import functools
import inspect
import time
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, field
from types import FunctionType
from typing import Any
from weakref import WeakSet

import numpy as np

from adjoint import derive as derive  # fills the verbs that control flow speaks
from adjoint.api.inputs import check_function, name_of
from adjoint.backends import interpreter
from adjoint.core import context, tree
from adjoint.core.dispatch import Value, lift, wrap
from adjoint.core.errors import ArgumentError, boundary, called_at
from adjoint.core.parameter import Parameter, resolve
from adjoint.core.spec import Spec, spec_of
from adjoint.core.verbs import verbs
from adjoint.frontend import SourceError, convert
from adjoint.frontend.calls import call, is_users
from adjoint.graph.call import GraphCall
from adjoint.graph.node import Graph
from adjoint.graph.trace import is_graph_value, trace
from adjoint.graph.walk import replay
from adjoint.passes import PASSES, Report, optimise

_optimised: WeakSet[Graph] = WeakSet()  # graphs that need no further pass
SOURCE = True  # control flow is read from the source
NUMBERS = (Value, np.ndarray, np.generic, float, complex)


@functools.lru_cache(maxsize=1024)
def executable(graph: Graph) -> Callable[..., list[Any]]:
    """The compiled form of a graph, made once."""
    return interpreter.compile(graph if graph in _optimised else optimise(graph)[0])


verbs.executable, verbs.optimise = executable, optimise


@dataclass(frozen=True)
class Compilation:
    """One graph of a compiled function, and why it was made."""

    reason: str
    graph: Graph
    seconds: float
    reports: tuple[Report, ...] = field(repr=False, default=())


class _TracedParameters(dict):
    """While a graph is built, each Parameter stands for an input of it."""

    def __init__(self, outer: dict | None) -> None:
        super().__init__()
        self.outer = outer or {}
        self.order: list[Parameter] = []
        self.make: Callable[[Spec, str], Any] = lambda spec, name: None

    def __contains__(self, p: object) -> bool:
        return True

    def __missing__(self, p: Parameter) -> Any:
        self.order.append(p)
        self[p] = value = self.make(spec_of(self.outer.get(p, p._value)), p.name)
        return value


@dataclass(frozen=True)
class _Key:
    """What a graph was built for."""

    shape: Any
    numeric: tuple[bool, ...]
    specs: tuple[Spec, ...]
    statics: tuple[Any, ...]


@dataclass(frozen=True, eq=False)
class _Split:
    """A call's arguments, the numbers taken out."""

    whole: tuple[tuple[Any, ...], dict[str, Any]]
    rebuild: Callable[[list[Any]], Any]
    numeric: list[bool]
    statics: list[Any]

    def filled(self, numbers: Sequence[Any]) -> Any:
        """The arguments with other numbers."""
        moving, still = iter(numbers), iter(self.statics)
        return self.rebuild([next(moving) if yes else next(still) for yes in self.numeric])

    def paths(self, numeric: bool) -> list[str]:
        """Where the numbers, or the static values, stand."""
        found = tree.paths(self.whole)
        return [path for (path, _), yes in zip(found, self.numeric, strict=True) if yes == numeric]


@dataclass(frozen=True, eq=False)
class _Entry:
    """A graph ready to be called."""

    graph: Graph
    parameters: list[Parameter]
    rebuild: Callable[[list[Any]], Any]
    captured: list[Any]


class Jitted:
    """A function that runs as a graph. Made by `jit`."""

    def __init__(self, fn: Callable[..., Any], static_argnames: Sequence[str], passes_off: Iterable[str]) -> None:
        self._fn = fn
        self._static = frozenset(static_argnames)
        self._off = tuple(passes_off)
        self._entries: dict[Any, _Entry] = {}
        self.compilations: list[Compilation] = []
        self.notes: list[str] = []  # functions whose source could not be read
        self._last: tuple[_Split, _Key] | None = None
        functools.update_wrapper(self, fn, updated=())
        self._signature = _signature(fn)
        if missing := self._static - set(self._signature.parameters if self._signature else ()):
            raise ArgumentError(
                f"jit: static_argnames names {sorted(missing)}, which {name_of(fn)} does not take{called_at()}"
            )

    @boundary
    def __call__(self, *args: Any, **kwargs: Any) -> Any:
        leaves, split, key = self._sorted(args, kwargs)
        entry = self._entries.get(key)
        if entry is None:
            entry = self._compile(leaves, split, key)
        inputs = [*leaves, *(resolve(p) for p in entry.parameters), *entry.captured]
        if any(is_graph_value(x) for x in inputs):
            return entry.rebuild(replay(entry.graph, inputs))
        return entry.rebuild([wrap(y) for y in GraphCall(entry.graph)(*inputs)])

    def __get__(self, instance: Any, owner: Any = None) -> Any:
        return self if instance is None else functools.partial(self, instance)

    def __repr__(self) -> str:
        return f"jit({name_of(self._fn)})"

    # ------------------------------------------------------------ inputs

    def _sorted(self, args: tuple[Any, ...], kwargs: dict[str, Any]) -> tuple[list[Any], _Split, Any]:
        """Numbers apart from what is static, and the key under which the graph is kept."""
        whole = self._bound(args, kwargs) if self._static else (args, kwargs)
        leaves, rebuild = tree.flatten(whole)
        numeric = [isinstance(x, NUMBERS) for x in leaves]
        if self._static:
            paths = [p for p, _ in tree.paths(whole)]
            numeric = [yes and not self._is_static(p) for yes, p in zip(numeric, paths, strict=True)]
        numbers = [_value(x) for x, yes in zip(leaves, numeric, strict=True) if yes]
        statics = [x for x, yes in zip(leaves, numeric, strict=True) if not yes]
        key = _Key(tree.shape(whole), tuple(numeric), tuple(map(spec_of, numbers)), tuple(map(_static_key, statics)))
        return numbers, _Split(whole, rebuild, numeric, statics), key

    def _bound(self, args: tuple[Any, ...], kwargs: dict[str, Any]) -> tuple[tuple[Any, ...], dict[str, Any]]:
        """Arguments in the order of the signature, however they were passed."""
        if self._signature is None:
            return args, kwargs
        bound = self._signature.bind(*args, **kwargs)
        return bound.args, bound.kwargs

    def _is_static(self, path: str) -> bool:
        if not self._static or self._signature is None:
            return False
        names = list(self._signature.parameters)
        for name in self._static:
            if path.startswith(f"[0][{names.index(name)}]") or path.startswith(f"[1][{name!r}]"):
                return True
        return False

    # ------------------------------------------------------------ compiling

    def _compile(self, leaves: list[Any], split: _Split, key: _Key) -> _Entry:
        start = time.perf_counter()
        parameters = _TracedParameters(context.bindings.get())
        structure: list[Any] = []

        def run(*values: Any) -> list[Any]:
            tracer = values[0]._trace if values else None
            parameters.make = lambda spec, name: _new_param(tracer, spec, name)
            args, kwargs = split.filled(values)
            with context.setting(context.bindings, parameters), context.setting(context.reader, self._read):
                out = context.readable(self._fn)(*args, **kwargs)
            ys, rebuild = tree.flatten(out)
            if not ys:
                raise ArgumentError(
                    f"jit: {name_of(self._fn)} returned nothing (did you forget `return`?){called_at()}"
                )
            return self._outputs(ys, rebuild, structure)

        graph, captured = trace(run, [spec_of(x) for x in leaves], name_of(self._fn))
        graph, order = _parameters_first(graph, len(leaves), parameters, captured)
        graph, reports = optimise(graph, self._off)
        _optimised.add(graph)
        entry = _Entry(graph, order, structure[0], captured)
        reason = self._reason(split, key)
        self.compilations.append(Compilation(reason, graph, time.perf_counter() - start, tuple(reports)))
        if not captured:  # a value of an outer transform belongs to this call alone
            self._entries[key] = entry
        self._last = split, key
        return entry

    def _outputs(self, ys: list[Any], rebuild: Any, structure: list[Any]) -> list[Any]:
        """The numbers among the results; anything else is kept as it is."""
        numeric = [isinstance(y, (*NUMBERS, bool, int)) for y in ys]
        still = [y for y, yes in zip(ys, numeric, strict=True) if not yes]

        def put_together(values: list[Any]) -> Any:
            moving, others = iter(values), iter(still)
            return rebuild([next(moving) if yes else next(others) for yes in numeric])

        structure.append(put_together)
        return [y for y, yes in zip(ys, numeric, strict=True) if yes]

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

    def _reason(self, split: _Split, key: _Key) -> str:
        """Why the graphs made before do not fit."""
        if self._last is None:
            return "first call"
        old = self._last[1]
        if key.shape != old.shape or key.numeric != old.numeric:
            return "the arguments have another structure"
        for path, new, was in zip(split.paths(True), key.specs, old.specs, strict=True):
            if new.shape != was.shape:
                return f"shape of {self._name(path)} changed from {was.shape} to {new.shape}"
            if new != was:
                return f"dtype of {self._name(path)} changed from {was.dtype} to {new.dtype}"
        for path, new, was in zip(split.paths(False), key.statics, old.statics, strict=True):
            if new != was:
                return f"static value of {self._name(path)} changed from {was[1]!r} to {new[1]!r}"
        return "a value of an outer transform is used"

    def _name(self, path: str) -> str:
        """The argument's name for a path like [0][1]['w']."""
        kind, rest = path[1], path[3:]
        if kind == "1":
            name, _, tail = rest[2:].partition("']")
            return f"`{name}{tail}`"
        index, _, tail = rest[1:].partition("]")
        names = list(self._signature.parameters) if self._signature else []
        name = names[int(index)] if int(index) < len(names) else f"argument {index}"
        return f"`{name}{tail}`"

    # ------------------------------------------------------------ looking inside

    def graph(self, *args: Any, **kwargs: Any) -> Graph:
        """The optimised graph for these arguments."""
        leaves, split, key = self._sorted(args, kwargs)
        entry = self._entries.get(key) or self._compile(leaves, split, key)
        return entry.graph

    def explain(self, *args: Any, **kwargs: Any) -> str:
        """What compiling for these arguments did: why, each pass with its time, and the graph."""
        graph = self.graph(*args, **kwargs)
        made = next(c for c in reversed(self.compilations) if c.graph is graph)
        lines = [
            f"{self!r}: {made.reason}; {made.seconds * 1e3:.2f} ms",
            *self.notes,
            *map(str, made.reports),
            str(graph),
        ]
        return "\n".join(lines)


def _value(x: Any) -> Any:
    return resolve(x) if isinstance(x, Parameter) else lift(x)


def _static_key(x: Any) -> Any:
    try:
        hash(x)
        return type(x), x
    except TypeError:
        return type(x), id(x)


def _signature(fn: Any) -> inspect.Signature | None:
    try:
        return inspect.signature(fn.construct if hasattr(fn, "construct") else fn)
    except (TypeError, ValueError):
        return None


def _new_param(tracer: Any, spec: Spec, name: str) -> Any:
    if tracer is None:
        raise ArgumentError(f"jit: a function without array inputs cannot use Parameters yet{called_at()}")
    return tracer.param(spec, name)


def _parameters_first(
    graph: Graph, count: int, parameters: _TracedParameters, captured: list[Any]
) -> tuple[Graph, list[Parameter]]:
    """The graph with its inputs in order: arguments, Parameters, values from outside."""
    if not parameters.order:
        return graph, []
    mine = {id(v._value) for v in (parameters[p] for p in parameters.order)}
    rest = graph.params[count:]
    order = [*graph.params[:count], *(n for n in rest if id(n) in mine), *(n for n in rest if id(n) not in mine)]
    return Graph(tuple(order), graph.outputs, graph.name), parameters.order


def jit(
    fn: Callable[..., Any] | None = None, *, static_argnames: str | Sequence[str] = (), passes_off: Iterable[str] = ()
) -> Any:
    """A function that runs as an optimised graph, built once for each set of input shapes and dtypes.

    Args:
        fn: a function or Cell; without it, a decorator is returned.
        static_argnames: arguments that are part of the program rather than inputs: a new value makes a new graph.
            Whole numbers, strings and other things that are not arrays or floats are static anyway.
        passes_off: names of optimisation passes to leave out.

    The result composes with every transform: `grad(jit(f))`, `jit(grad(f))`, `vmap(jit(f))`, `jit` inside `jit`. Its
    `compilations` say what was compiled and why; `explain(*args)` shows the passes and the graph.

    >>> import adjoint as ad
    >>> f = ad.jit(lambda x: ad.ops.sin(x) * x)
    >>> print(f(ad.Tensor([0.0, 0.0])), ad.grad(f)(0.0))
    [0. 0.] 0.0
    >>> [c.reason for c in f.compilations]
    ['first call', 'shape of `x` changed from (2,) to ()']
    """
    names = (static_argnames,) if isinstance(static_argnames, str) else tuple(static_argnames)
    if fn is None:
        return lambda f: jit(f, static_argnames=names, passes_off=passes_off)
    check_function("jit", fn)
    return Jitted(fn, names, passes_off)


def trace_function(fn: Callable[..., Any], inputs: Sequence[Any]) -> Graph:
    """The graph of a function for such inputs, before any pass."""
    return jit(fn, passes_off=[name for name, _ in PASSES]).graph(*inputs)


verbs.trace_function = trace_function

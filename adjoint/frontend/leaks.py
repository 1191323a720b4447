"""Graph values left behind in objects that outlive the trace: an error at the place that stored them.

Code that is converted reports what it stores in attributes and containers. Objects made by the traced function may hold graph
values; they are gone when it has returned. Whatever is still there then was made outside.
"""

from __future__ import annotations

import gc
import sys
import weakref
from collections import Counter, deque
from collections.abc import Callable, Iterator, Sequence
from contextvars import ContextVar
from dataclasses import dataclass, field, replace
from typing import Any

from adjoint.core import context, random_counters, tree, tree_containers
from adjoint.core.dispatch import Value
from adjoint.core.parameter import Parameter
from adjoint.frontend import aliases, reading, state
from adjoint.frontend.calls import call
from adjoint.frontend.errors import ControlFlowError, LeakError, contains_itself
from adjoint.frontend.heap import Heap, HeldFacet
from adjoint.frontend.kinds import ATTRIBUTES, FUNCTION
from adjoint.frontend.reading import OF_NETWORKS
from adjoint.frontend.reads import recorder
from adjoint.frontend.site import Site
from adjoint.graph.trace import Tracer

_watches: ContextVar[tuple[_Watch, ...]] = ContextVar("watches", default=())


def run(fn: Callable[..., Any], args: tuple[Any, ...], kwargs: dict[str, Any]) -> tuple[list[Any], Any]:
    """The leaves of what a function gives for graph values, and how to put them together again: see `tree.flatten`.

    Raises LeakError if the function stored graph values in an object that is still there afterwards. The containers of its
    arguments and results are not meant: they are copies, made for the trace.
    """
    given = tree.leaves((args, kwargs))
    heap = Heap([("", fn), *(("", x) for x in given if not isinstance(x, Value))])
    watch = _Watch(heap, max((x._trace.level for x in given if isinstance(x, Value)), default=0))
    try:
        with context.setting(_watches, (*_watches.get(), watch)), aliases.tracing((args, kwargs), heap):
            out = fn(*args, **kwargs)
        if tree_containers.contains_itself(out):
            raise contains_itself("what the function returns")
        leaves, rebuild = tree.flatten(out)
        if watch.stores:
            watch.check({id(x) for whole in (args, kwargs, out) for x in _parts(whole)})
        if context.lenient.get() or getattr(context.tracer.get(), "wrote", False):
            _check_unchanged(heap)
    except BaseException:
        heap.restore()  # no graph values stay behind
        raise
    return leaves, rebuild


def _check_unchanged(heap: Heap) -> None:
    """What a function stores outside would happen only when its graph is built: where Python can run it, Python does."""
    lenient = context.lenient.get()
    for h in heap.changed():
        tensor = isinstance(h.owner, Value)
        if not isinstance(h.owner, Parameter) and (tensor or (lenient and not _only_ours(h))):
            raise ControlFlowError(f"the function changes `{h.name}`, which was there before")


def _only_ours(h: HeldFacet) -> bool:
    """Whether nothing has changed but what networks and converted functions keep for themselves."""
    if h.facet not in (ATTRIBUTES, FUNCTION):
        return False
    kept = OF_NETWORKS if "_version" in getattr(h.owner, "__dict__", {}) else ()
    return all(name in kept or name.startswith("_ad_") for name in h.changed_attributes())


def stored(site: Site, holder: Any, attribute: str | None = None) -> None:
    """Take note of `holder.attribute = ...`, or of `holder[...] = ...`."""
    store = None
    if not isinstance(holder, Value) and (refusal := aliases.refusal(holder)) is not None:
        raise ControlFlowError(f"`{site.text}` at {site.place} changes an object in place, but {refusal}")
    for watch in _watches.get():
        store = watch.note(site, holder, attribute, store)
    if (reads := recorder.get()) is not None:
        reads.written(holder, attribute)


def outlives(holder: Any) -> bool:
    """Whether an object was there before the function that is being traced was called."""
    return any(holder in watch.heap for watch in _watches.get()[:1])


def leak(holder: Any) -> LeakError | None:
    """The error for a value of the trace that was stored in an object from outside, if one was."""
    for watch in _watches.get():
        for store in watch.stores.values():
            if store.object() is holder and holder in watch.heap:
                return LeakError(store.site, store.value)
    return None


def kept(site: Site, places: Sequence[state.Place]) -> None:
    """Take note of what the graph has chosen for attributes and containers."""
    for place in places if _watches.get() else ():
        if (
            isinstance(place, (state.HeldAttribute, state.HeldContents))
            and type(place.owner) is not random_counters.Made
        ):
            stored(replace(site, text=place.name), place.owner, getattr(place, "attribute", None))


def mutate(site: Site, method: Any, /, *args: Any, **kwargs: Any) -> Any:
    """A call of a method, or of `setattr`, that may store its arguments."""
    result = call(method, *args, **kwargs)
    if _watches.get():
        if method is setattr:
            stored(site, *args[:2])
        elif isinstance(holder := getattr(method, "__self__", None), (list, dict, set, deque)):
            if isinstance(holder, dict) and args and getattr(method, "__name__", "") == "setdefault":
                reading.items(holder, args[0], site.text)  # what was there, or is there from now on
            stored(site, holder)
    return result


@dataclass(eq=False)
class _Store:
    """A place that held a graph value when it was written to."""

    site: Site
    holder: Any
    attribute: str | None
    weak: bool
    value: str

    def object(self) -> Any:
        return self.holder() if self.weak else self.holder

    def is_gone(self, records: Counter[int]) -> bool:
        """Whether nothing but records knows the object; each of its attributes has one."""
        if self.weak:
            return self.holder() is None
        return sys.getrefcount(self.holder) <= 1 + records[id(self.holder)]


@dataclass(eq=False)
class _Watch:
    """What has been stored during one trace, whose values have this level or a higher one; `heap` is what was there before."""

    heap: Heap
    level: float
    stores: dict[tuple[int, str | None], _Store] = field(default_factory=dict)

    def note(self, site: Site, holder: Any, attribute: str | None, store: _Store | None) -> _Store | None:
        """Remember a store. The traces around one another share it: none of them alone keeps the object alive."""
        known = self.stores.get((id(holder), attribute))
        if isinstance(holder, Parameter) or (known is not None and known.object() is holder):
            return known
        value = self.found(holder, attribute)
        if value is None:
            return store
        if store is None:
            weak = type(holder).__weakrefoffset__ != 0
            store = _Store(site, weakref.ref(holder) if weak else holder, attribute, weak, state.described(value))
        self.stores[id(holder), attribute] = store
        return store

    def found(self, holder: Any, attribute: str | None) -> Any:
        """A value of the trace that a place holds, or None."""
        inside = holder if attribute is None else state.HeldAttribute(holder, attribute, "").get()
        inside = holder if inside is state.UNDEFINED else inside  # a property keeps it somewhere
        parts = list(inside) if isinstance(inside, (set, frozenset)) else inside
        return next((x for x in state.reachable(parts) if self._is_ours(x)), None)

    def _is_ours(self, x: Any) -> bool:
        while isinstance(x, Value) and not isinstance(x, Parameter):
            if isinstance(x._trace, Tracer):
                return x._trace.level >= self.level
            x = x._value
        return False

    def check(self, allowed: set[int]) -> None:
        """Raise LeakError for a place that still holds a value of the trace."""
        self.stores = {key: s for key, s in self.stores.items() if key[0] not in allowed}
        self._report([s for s in self.stores.values() if s.object() in self.heap])
        self._forget()
        for generation in (1, 2):  # objects that refer to one another; most are young, and only the rest takes long
            if self.stores and gc.isenabled():
                gc.collect(generation)
                self._forget()
        self._report(list(self.stores.values()))

    def _report(self, stores: list[_Store]) -> None:
        for store in stores:
            value = self.found(store.object(), store.attribute)
            if value is not None:
                raise LeakError(store.site, state.described(value))

    def _forget(self) -> None:
        """Drop the places whose object is gone, and those that were in these."""
        while self.stores:
            records = Counter(id(store.holder) for store in self.stores.values())
            gone = [key for key, store in self.stores.items() if store.is_gone(records)]
            if not gone:
                break
            for key in gone:
                del self.stores[key]


def _parts(value: Any) -> Iterator[Any]:
    """The containers and Tensors of a value: those that a trace makes anew."""
    if isinstance(value, Value):
        yield value
    elif not tree.is_leaf(value):
        yield value
        for child in value.values() if isinstance(value, dict) else _members(value):
            yield from _parts(child)


def _members(value: Any) -> list[Any]:
    return list(value) if isinstance(value, (list, tuple)) else list(getattr(value, "__dict__", {}).values())

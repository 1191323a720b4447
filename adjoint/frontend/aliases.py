"""Objects that a branch or loop of the graph has copied, and who else holds the originals.

In Python, `c = a if x > 1 else b` makes `c` another name of `a` or of `b`. In a graph it is a value of its own, so that a write to
one of them would not reach the others: as long as there are others it is refused.
"""

from __future__ import annotations

import gc
import sys
import weakref
from collections.abc import Iterable, Iterator, Sequence
from contextlib import contextmanager
from contextvars import ContextVar
from types import CodeType, FrameType, FunctionType, ModuleType, TracebackType
from typing import Any

import numpy as np

from adjoint.core import context, tree, tree_containers, views
from adjoint.core.dispatch import Value
from adjoint.frontend.errors import ControlFlowError
from adjoint.frontend.facets import Facet
from adjoint.frontend.files import is_users
from adjoint.frontend.heap import Heap
from adjoint.frontend.kinds import facets, is_closed
from adjoint.frontend.libraries import is_users_class

_SKIPPED = (ModuleType, CodeType, FrameType, TracebackType, str, bytes, int, float, complex, np.generic, np.dtype)


class TracedFunction:
    """One function that is being traced: its arguments, what was there before it, and the objects that it may not change."""

    def __init__(self, given: Any, heap: Heap, caller: FrameType) -> None:
        self.given, self.heap = given, heap
        self.caller = id(caller)  # it runs as long as the trace goes on
        inside = [*tree.leaves(given), *(x for _, x in tree_containers.containers(given))]
        self._arguments = {id(x): x for x in inside if isinstance(x, (Value, list, dict)) or not tree.is_leaf(x)}
        self.refused: dict[int, tuple[Any, str]] = {}
        self._saved: list[tuple[Any, Facet, Any, str]] = []

    def refuse(self, objects: Sequence[Any], reason: str) -> None:
        """Refuse later changes in place; Tensors are not kept alive, and refuse by themselves."""
        self.refused |= {id(x): (weakref.ref(x) if isinstance(x, Value) else x, reason) for x in objects}
        others = [x for x in objects if not isinstance(x, Value)]
        self._saved += [(x, facet, facet.save(x), reason) for x in others for facet in facets(x)]

    def takes(self, x: Any) -> bool:
        """Whether an object stands for an argument: two of them may be one in another call."""
        return self._arguments.get(id(x)) is x

    def check(self) -> None:
        """Raise for a change by code that does not report what it writes: a method, a builtin, a library."""
        for x, facet, saved, reason in self._saved:
            if facet.differs(x, saved):
                raise ControlFlowError(f"a {type(x).__name__} is changed in place, but {reason}")


_traces: ContextVar[tuple[TracedFunction, ...]] = ContextVar("traces", default=())


@contextmanager
def tracing(given: Any, heap: Heap) -> Iterator[None]:
    """Trace a function with these arguments."""
    trace = TracedFunction(given, heap, sys._getframe(2))  # beyond contextlib
    with context.setting(_traces, (*_traces.get(), trace)):
        yield
        trace.check()


def current() -> TracedFunction | None:
    """The innermost trace."""
    return _traces.get()[-1] if _traces.get() else None


def is_active(trace: TracedFunction | None) -> bool:
    """Whether a trace still goes on."""
    return trace in _traces.get()


def refusal(x: Any) -> str | None:
    """What speaks against a change of an object in place: the graph has made copies of it, or it is one."""
    for trace in _traces.get():
        found, reason = trace.refused.get(id(x), (None, None))
        if found is x or (type(found) is weakref.ref and found() is x):
            return reason
    return None


def are_arguments(*objects: Any) -> bool:
    """Whether some objects are all arguments of functions that are being traced."""
    return all(any(trace.takes(x) for trace in _traces.get()) for x in objects)


# ---------------------------------------------------------------- who holds an object


def held(objects: Iterable[Any]) -> set[int]:
    """The ids of those objects that a variable of a traced function holds, an argument, or what was there before the trace."""
    wanted = {id(x): x for x in objects}
    found = {i for i, x in wanted.items() if _is_older(x)}
    memory = {id(_root(x)): i for i, x in wanted.items() if isinstance(x, np.ndarray)}
    seen: dict[int, Any] = {}
    stack = list(_holders())
    while stack and len(found) < len(wanted):
        x = stack.pop()
        if id(x) in seen or x is None or isinstance(x, _SKIPPED):
            continue
        seen[id(x)] = x
        if id(x) in wanted:
            found.add(id(x))
        elif isinstance(x, np.ndarray) and id(_root(x)) in memory:
            found.add(memory[id(_root(x))])
        if not _is_older(x):
            stack += _inside(x)
    return found


def _is_older(x: Any) -> bool:
    """Whether an object was there before a trace, and within its reach."""
    return any(x in trace.heap for trace in _traces.get())


def _holders() -> Iterator[Any]:
    """Where an object made by a trace may be: arguments, variables of traced functions, and what was put into older objects."""
    for trace in _traces.get():
        yield trace.given
        for older in trace.heap.changed():
            yield from (x for _, x in older.facet.parts(older.owner))
    for frame in _frames():
        yield from frame.f_locals.values()


def _frames() -> Iterator[FrameType]:
    """The user's functions that are running, inside the outermost trace."""
    callers = {trace.caller for trace in _traces.get()[:1]}
    frame: FrameType | None = sys._getframe(1)
    while frame is not None and id(frame) not in callers:
        if is_users(frame.f_code.co_filename):
            yield frame
        frame = frame.f_back


def _root(x: Any) -> Any:
    while isinstance(x.base, np.ndarray):
        x = x.base
    return x


def _inside(x: Any) -> list[Any]:
    """What an object holds."""
    if isinstance(x, Value):
        return views.relatives(x)
    if isinstance(x, FunctionType):
        named = [y for name, y in x.__dict__.items() if not name.startswith("_ad_")]
        return [*(x.__closure__ or ()), *(x.__defaults__ or ()), *(x.__kwdefaults__ or {}).values(), *named]
    if isinstance(x, type):
        return list(vars(x).values()) if is_users_class(x) else []
    return [] if is_closed(type(x)) else gc.get_referents(x)

"""Objects that a branch or a loop of the graph hands on as copies: what is written to them in place is refused.

In Python, `c = a if x > 1 else b` makes `c` another name of `a` or of `b`. In a graph it is a value of its own.
"""

from __future__ import annotations

import sys
import weakref
from collections import Counter, deque
from collections.abc import Iterator, Sequence
from typing import Any

from adjoint.core import views
from adjoint.core.dispatch import Value
from adjoint.core.errors import called_at
from adjoint.core.parameter import Parameter
from adjoint.frontend import leaks, state
from adjoint.frontend.errors import ControlFlowError
from adjoint.frontend.heap import Heap
from adjoint.frontend.site import Site
from adjoint.graph.numbers import is_number


def _is_array(x: Any) -> bool:
    return isinstance(x, Value) and not isinstance(x, Parameter) and not is_number(x) and bool(x.shape)


def parts(value: Any) -> Iterator[Any]:
    """The Tensors with axes and the containers in a value."""
    if _is_array(value):
        yield value
    elif isinstance(value, (list, tuple, dict, deque)):
        if not isinstance(value, tuple):
            yield value
        for x in value.values() if isinstance(value, dict) else value:
            yield from parts(x)


def has_parts(value: Any) -> bool:
    """Whether there is a Tensor with axes or a container in a value."""
    return next(parts(value), None) is not None


class Copied:
    """What the places hold after each way through a branch or loop, and what the graph makes of it."""

    def __init__(self, site: Site, frame: state.Frame, snapshot: state.Snapshot, ways: Sequence[Sequence[Any]]) -> None:
        self.site, self.frame, self.snapshot, self.ways = site, frame, snapshot, ways
        self.twice = {k for way in ways for k, n in Counter(i for v in way for i in _ids(v)).items() if n > 1}
        held = [v for _, v in snapshot.before] + [v.get() for v in frame.others.values()]
        self.before = {id(x) for v in held for x in state.reachable(v)}

    def note(self, places: Sequence[state.Place]) -> None:
        """Refuse later writes to what the variables hold and to what it is a copy of, if that has other names."""
        for i, place in enumerate(places):
            if isinstance(place, (state.Box, state.Variable)):
                self._note(i, place)

    def _note(self, i: int, place: state.Place) -> None:
        value = place.get()
        sources = {id(x): x for way in self.ways if i < len(way) for x in parts(way[i])}
        made = [x for x in parts(value) if id(x) not in sources]
        now = {id(x) for x in parts(value)}
        lost = [x for x in sources.values() if id(x) not in now]
        if not made or not lost:
            return
        variables = {**self.frame.others, **self.frame.variables}.items()
        others = {id(x) for n, v in variables if v is not place and n != state.DRAWS for x in state.reachable(v.get())}
        shared = [x for x in lost if id(x) in others or id(x) in self.twice or self._is_outside(x)]
        if shared:
            self._refuse(place.name, made, shared)

    def _is_outside(self, x: Any) -> bool:
        """Whether something else than the variables holds an object that was there before."""
        return x in self.snapshot.heap and id(x) not in self.before

    def _refuse(self, name: str, made: list[Any], shared: list[Any]) -> None:
        what, how = (
            (name, "the copy") if " " in name or name[:4] == "_ad_" else (f"`{name}`", f"`{name} = {name}.copy()`")
        )
        what = "the returned value" if name[:4] == "_ad_" else what
        reason = (
            f"which object {what} is after the `{self.site.kind}` at {self.site.place} is known only when the graph runs, so "
            f"that the write would not reach all its names. Write to a copy of it: {how}"
        )
        leaks.note_copies([x for x in (*made, *shared) if not isinstance(x, Value)], reason)
        arrays = [x for x in (*made, *shared) if isinstance(x, Value)]
        refuse = _refusal([weakref.ref(y) for x in arrays for y in (x, *views.relatives(x))], reason)
        for x in arrays:
            views.guard(x, refuse)


def _ids(value: Any) -> set[int]:
    return {id(x) for x in parts(value)}


def _refusal(group: list[Any], reason: str) -> Any:
    """Raises for a write to a Tensor while others of the group are there, and the trace goes on."""
    active = leaks.tracing()

    def refuse(x: Any) -> None:
        if active() and any(r() is not None and r() is not x for r in group):
            raise ControlFlowError(f"a Tensor is written to in place, but {reason}{called_at()}")

    return refuse


def refuse_exchanged(names: list[str], entered: list[Any], after: list[Any], shared: set[str], where: str) -> None:
    """`a, b = b, a; a[0] = v` writes to both in turn; in a graph, not to what else has the names of the first ones."""
    came = {id(x): i for i, v in enumerate(entered) for x in parts(v)}
    for i, name in enumerate(names):
        for x in parts(after[i]):
            if (k := came.get(id(x), i)) != i and {name, names[k]} & shared:
                raise ControlFlowError(
                    f"`{name}` and `{names[k]}` are exchanged and changed in place in the {where}, and may have other names: "
                    f"make copies of them before the loop"
                )


def growing(frame: state.Frame, site: Site) -> list[tuple[state.Contents, int]]:
    """The lists to which the loop appends and which it uses for nothing else, with their lengths before it."""
    found = []
    for name in site.appended:
        owner = frame.value(name)
        others = Heap((n, v.get()) for n, v in frame.variables.items() if n != name)
        if type(owner) is list and owner not in others:
            found.append((state.Contents(name, owner), len(owner)))
    return found


def shared_names(places: list[state.Place]) -> set[str]:
    """The variables whose value has other holders than the variable and the places."""
    held = Counter(id(p.owner) for p in places if isinstance(p, state.Contents))
    variables = [p for p in places if isinstance(p, state.Variable)]
    return {p.name for p in variables if sys.getrefcount(p.get()) > 2 + held[id(p.get())]}

"""What a branch or a loop of the graph hands on: the objects themselves where all ways leave the same, otherwise copies."""

from __future__ import annotations

import sys
import weakref
from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Any

from adjoint.core import tree, views
from adjoint.core.dispatch import Value
from adjoint.core.errors import called_at
from adjoint.frontend import aliases, state
from adjoint.frontend.errors import ControlFlowError
from adjoint.frontend.heap import Heap
from adjoint.frontend.site import Site


@dataclass(frozen=True, eq=False)
class Objects:
    """A value, and the objects that it consists of: unlike the containers themselves this stays as it is."""

    x: Any
    inner: tuple[Objects, ...] = ()

    @staticmethod
    def of(value: Any) -> Objects:
        found = None if value is state.UNDEFINED else tree.children(value)
        return Objects(value, () if found is None else tuple(map(Objects.of, found[0])))

    def __iter__(self) -> Iterator[Objects]:
        yield self
        for part in self.inner:
            yield from part


def parts(value: Any) -> list[Any]:
    """The arrays, containers and other objects in a value that can be changed."""
    return [o.x for o in Objects.of(value) if state.is_mutable(o.x)]


class Merge:
    """Puts values together from what the ways through a branch leave, and from what the graph chooses."""

    def __init__(self, heap: Heap, outputs: Sequence[Any]) -> None:
        self.heap, self.outputs = heap, list(outputs)
        self.made: dict[tuple[int, ...], Any] = {}  # by the objects of each way: names of one object stay that

    def value(self, a: Any, b: Any, ways: list[Objects]) -> Any:
        """The value after the branches, whose numbers are next in line; `ways` are the objects behind those that are used."""
        key = tuple(id(way.x) for way in ways)
        if ways and state.is_mutable(ways[0].x):
            known = ways[0].x if len(set(key)) == 1 and ways[0].x in self.heap else self.made.get(key)
            if known is not None:
                del self.outputs[: sum(map(state.is_dynamic, tree.leaves(a)))]
                return known
        found, others = tree.children(a), tree.children(b)
        if found is None or others is None:
            chosen = self.outputs.pop(0) if state.is_dynamic(a) else a
            merged = a if state.same(a, b) else chosen
        else:
            pairs = enumerate(zip(found[0], others[0], strict=True))
            merged = found[1]([self.value(x, y, [way.inner[k] for way in ways]) for k, (x, y) in pairs])
        if key:
            self.made[key] = merged
        return merged


@dataclass(frozen=True, eq=False)
class _Copy:
    """An object that stands for one of several, which it is on each way."""

    name: str
    x: Any
    sources: list[tuple[int, Any]]


def note_copies(where: str, places: Sequence[state.Place], ways: Sequence[Sequence[Objects | None]]) -> None:
    """Refuse later writes to what the places hold now, if it is a copy of objects that others hold.

    `where` says what has made the copies; `ways` are, for each place, the objects after each way through the branch or loop; None where a way's are never used.
    """
    found: list[_Copy] = []
    for place, each in zip(places, ways, strict=True):
        now = Objects.of(place.get())
        if not isinstance(place, state.HeldContents):
            found += _copies(place.name, now, each)
        elif not isinstance(place.owner, Value):  # it is the same object; what it holds may be others
            for k, part in enumerate(now.inner):
                found += _copies(place.name, part, [way and way.inner[k] for way in each])
    sources = {id(x): x for copy in found for _, x in copy.sources}
    held = aliases.held(sources.values()) if found else set()
    for group in _groups(found, held):
        shared = {i: x for copy in group for _, x in copy.sources if (i := id(x)) in held}
        made = {id(copy.x): copy.x for copy in group}
        if shared or len(made) > 1:
            _refuse(where, group[0].name, [*made.values(), *shared.values()])
    for copy in found:
        _inherit(copy)


def _inherit(copy: _Copy) -> None:
    """A copy of a copy: what speaks against a write to that one speaks against a write to this one."""
    for _, source in copy.sources:
        if isinstance(source, Value):
            kin = getattr(source, "_kin", None)
            for refusal in () if kin is None else kin[0].refusals:
                if isinstance(refusal, _Refusal) and isinstance(copy.x, Value):
                    refusal.join(copy.x)
        elif (reason := aliases.refusal(source)) is not None and (trace := aliases.current()) is not None:
            trace.refuse([copy.x], reason)


def _copies(name: str, now: Objects, ways: Sequence[Objects | None]) -> list[_Copy]:
    """What in a value is not the same object as on every way."""
    known = [(k, way) for k, way in enumerate(ways) if way is not None]
    found: list[_Copy] = []
    if state.is_mutable(now.x) and not all(way.x is now.x for _, way in known):
        found.append(_Copy(name, now.x, [(k, way.x) for k, way in known if way.x is not now.x]))
    for i, part in enumerate(now.inner):
        found += _copies(name, part, [way and way.inner[i] for way in ways])
    return found


def _groups(copies: Sequence[_Copy], held: set[int]) -> list[list[_Copy]]:
    """The copies by what they may be: those that on one way are one object, or show elements of one, or copies of what others hold."""
    groups: dict[Any, list[_Copy]] = {}
    for copy in copies:
        joined = [copy]
        for old in {id(g): g for key in _keys(copy, held) if (g := groups.get(key)) is not None}.values():
            joined += old
        for each in joined:
            groups |= dict.fromkeys(_keys(each, held), joined)
    return list({id(g): g for g in groups.values()}.values())


def _keys(copy: _Copy, held: set[int]) -> list[Any]:
    """What two copies have in common if a write to one may have to reach the other."""
    keys: list[Any] = [id(x) for _, x in copy.sources if id(x) in held]
    for k, x in copy.sources:
        keys.append((k, id(x)))
        if (kin := getattr(x, "_kin", None)) is not None:  # a slice and its Tensor
            keys.append((k, "kin", id(kin[0])))
    return keys


def chosen(value: Any, candidates: Sequence[Any], where: str) -> Any:
    """A value that the graph has chosen among some, without a branch."""
    note_copies(where, [state.Box("the value", value)], [[Objects.of(x) for x in candidates]])
    return value


def _refuse(where: str, name: str, group: list[Any]) -> None:
    temporary = " " in name or name[:4] == "_ad_"
    what = "the returned value" if name[:4] == "_ad_" else name if temporary else f"`{name}`"
    how = "first" if temporary else f"first: `{name} = {name}.copy()`"
    reason = (
        f"which object {what} is {where} is known only when the graph runs, so that the write would not "
        f"reach all its names. Make a copy {how}"
    )
    trace = aliases.current()
    if trace is not None:
        trace.refuse(group, reason)
    arrays = [x for x in group if isinstance(x, Value)]
    others = [y for x in arrays for y in (x, *views.relatives(x))]
    refusal = _Refusal(trace, others, len(group) > len(arrays), reason)
    for x in arrays:
        views.guard(x, refusal)


class _Refusal:
    """Raises for a write to a Tensor while someone holds others of its group; it keeps none of them alive."""

    def __init__(self, trace: Any, group: Sequence[Any], always: bool, reason: str) -> None:
        self.trace = None if trace is None else weakref.ref(trace)
        self.group, self.always, self.reason = [weakref.ref(x) for x in group], always, reason

    def join(self, x: Any) -> None:
        """One more that a write would have to reach."""
        if not any(r() is x for r in self.group):
            self.group.append(weakref.ref(x))
        views.guard(x, self)

    def lasts(self) -> bool:
        """Whether the trace goes on."""
        return self.trace is not None and aliases.is_active(self.trace())

    def __call__(self, x: Any) -> None:
        others = [y for r in self.group if (y := r()) is not None and y is not x]
        if self.lasts() and (self.always or aliases.held(others)):
            raise ControlFlowError(f"a Tensor is written to in place, but {self.reason}{called_at()}")


def refuse_exchanged(
    names: list[str], entered: list[Any], after: list[Any], written: list[int], shared: set[str], where: str
) -> None:
    """`a, b = b, a; a[0] = v` writes to both in turn; in a graph, not to what else has the names of the first ones."""
    came = {id(x): i for i, v in enumerate(entered) for x in parts(v)}
    for i, name in enumerate(names):
        for x in parts(after[i]):
            if (k := came.get(id(x), i)) != i and {i, k} & {*written} and {name, names[k]} & shared:
                raise ControlFlowError(
                    f"`{name}` and `{names[k]}` are exchanged and changed in place in the {where}, and may have other names: "
                    f"make copies of them before the loop"
                )


def growing(frame: state.FrameVariables, site: Site) -> list[tuple[state.HeldContents, int]]:
    """The lists to which the loop appends and which it uses for nothing else, with their lengths before it."""
    found = []
    for name in site.appended:
        owner = frame.value(name)
        others = Heap((n, v.get()) for n, v in frame.variables.items() if n != name)
        if type(owner) is list and owner not in others:
            found.append((state.HeldContents(name, owner), len(owner)))
    return found


def shared_names(places: list[state.Place]) -> set[str]:
    """The variables whose value has other holders than the variable and the places."""
    held = Counter(id(p.owner) for p in places if isinstance(p, state.HeldContents))
    variables = [p for p in places if isinstance(p, state.Variable)]
    return {p.name for p in variables if sys.getrefcount(p.get()) > 2 + held[id(p.get())]}


def is_shown_elsewhere(i: int, start: Sequence[Any], after: Sequence[Any]) -> bool:
    """Whether a slice of what is in place i, before the loop or after an iteration, is in another place or a variable."""
    kin = [y for v in (start[i], after[i]) for x in parts(v) if isinstance(x, Value) for y in views.relatives(x)]
    places = {id(x) for values in (start, after) for v in values for x in parts(v)}
    return any(id(y) in places for y in kin) or bool(kin and aliases.held(kin))


def refuse_sliced(places: Sequence[state.Place], start: Sequence[Any], where: str) -> None:
    """A slice from before the loop that an iteration writes to shows what is replaced: the first write would have to be seen in it."""
    replaced = {
        id(x): p.name for p, v in zip(places, start, strict=True) if isinstance(p, state.Variable) for x in parts(v)
    }
    for place in places:
        if isinstance(place, state.HeldContents) and isinstance(place.owner, Value):
            for x in views.relatives(place.owner):
                if (name := replaced.get(id(x))) is not None:
                    raise ControlFlowError(
                        f"`{name}` is replaced in the {where}, and what shares its elements, {place.name}, is changed in "
                        f"place: make a copy of it before the loop"
                    )


def refuse_augmented(frame: state.FrameVariables, site: Site, where: str) -> None:
    """`x += v` changes an array or a container in place, for all who know it; a graph would make another one."""
    for name in site.augmented:
        value = frame.value(name)
        if isinstance(value, (state.np.ndarray, list, dict)):
            raise ControlFlowError(
                f"`{name}`, {state.described(value)}, is changed in place in the {where}: use a Tensor, or write "
                f"`{name} = {name} + ...`"
            )

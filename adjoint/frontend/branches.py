"""`if` and ternaries: Python's on plain conditions, `cond` on graph values."""

from __future__ import annotations

import functools
from collections.abc import Callable
from dataclasses import replace
from typing import Any

from adjoint.core import tree_containers
from adjoint.core.dispatch import Value
from adjoint.core.errors import last_refusal
from adjoint.core.parameter import Parameter, resolve
from adjoint.core.spec import Spec, spec_of
from adjoint.frontend import aliases, effects, leaks, region, state
from adjoint.frontend.copies import Merge, Objects, note_copies
from adjoint.frontend.errors import ControlFlowError, contains_itself, only_defined_in
from adjoint.frontend.logic import both, compared, either, tested, truth
from adjoint.frontend.numbers import unidentified
from adjoint.frontend.passed_values import does_not_pass, label, locate, stand_in, unfit
from adjoint.frontend.returns import RESULT
from adjoint.frontend.site import Site
from adjoint.frontend.state import (
    UNDEFINED,
    Again,
    Box,
    Flat,
    FrameVariables,
    HeldAttribute,
    HeldContents,
    Place,
    Snapshot,
)
from adjoint.graph import flow
from adjoint.graph.numbers import marked
from adjoint.graph.trace import traced
from adjoint.graph.walk import replay
from adjoint.ops.functional import logical_not

Block = Callable[[], Any]


def _nothing() -> None:
    """An `else` that is not there."""


def if_(test: Any, body: Block, orelse: Block | None, names: Callable[[], Any], site: Site) -> None:
    """`if test: body() else: orelse()`."""
    test = tested(test)
    if state.is_graph_value(test):
        Branches(test, body, orelse or _nothing, FrameVariables(names), site).run()
    elif test:
        body()
    elif orelse is not None:
        orelse()


def choose(test: Any, site: Site, names: Block | None, yes: Block, no: Block) -> Any:
    """`yes() if test else no()`."""
    test = tested(test)
    if not state.is_graph_value(test):
        return yes() if test else no()
    box, frame = Box("the value"), FrameVariables(names)
    Branches(test, lambda: box.set(yes()), lambda: box.set(no()), frame, site, [box, *frame.places(site)]).run()
    return box.value


def and_(value: Any, site: Site, names: Block | None, *rest: Block) -> Any:
    """`value and ...`."""
    for following in rest:
        if state.is_graph_value(value):
            found = _truth_at_once(value, following, names, site)
            value = both(value, *found) if found else choose(value, site, names, following, _known(value))
        elif state.is_graph_value(decides := tested(value)):
            value = choose(decides, site, names, following, _known(value))
        elif decides:
            value = following()
        else:
            return value
    return value


def or_(value: Any, site: Site, names: Block | None, *rest: Block) -> Any:
    """`value or ...`."""
    for following in rest:
        if state.is_graph_value(value):
            found = _truth_at_once(value, following, names, site)
            value = either(value, *found) if found else choose(value, site, names, _known(value), following)
        elif state.is_graph_value(decides := tested(value)):
            value = choose(decides, site, names, _known(value), following)
        elif decides:
            return value
        else:
            value = following()
    return value


def _truth_at_once(value: Any, following: Block, names: Block | None, site: Site) -> list[Any]:
    """[what a function gives] if the graph may as well compute it at once, and the outcome is a number or a truth, not an object."""
    found = [] if site.names or not _has_no_names(value) else at_once(following, names, site.place)
    return found if all(map(_has_no_names, found)) else []


def _has_no_names(x: Any) -> bool:
    """Whether nobody asks which object a value is: it is a number, or a truth without axes."""
    return not state.is_mutable(x) or (isinstance(x, Value) and x.shape == () and x.dtype.kind == "b")


def _known(value: Any) -> Block:
    return lambda: value


def at_once(following: Block, names: Block | None, place: str) -> list[Any]:
    """[what a function gives], computed whether or not it is wanted; [] if that might fail or do something."""
    found: list[Any] = []

    def run() -> list[Any]:
        y = following()
        found[:] = [resolve(y) if isinstance(y, Parameter) else y]
        return [x for x in found if state.is_dynamic(x)]

    snapshot, before = Snapshot(FrameVariables(names), [], following), last_refusal()
    try:
        with region.inside(region.Block(snapshot.heap, f"a part of the condition at {place}"), None):
            graph, outside, marks = traced(run, [], branch=True)
        acts = any(snapshot.heap.changed())
    except Again:
        acts = True
    except Exception as error:
        if not effects.is_of_program(error, before):
            raise
        acts = True  # it may not be reached
    finally:
        snapshot.restore()
    if acts or not graph.outputs or not flow.harmless(graph):
        return []
    return [marked(replay(graph, outside)[0], marks[0])] if state.is_graph_value(found[0]) else found


def compare(signs: tuple[str, ...], left: Any, right: Any, *rest: Block) -> Any:
    """`left < right < b`: each value is computed once, and only as long as the outcome is open."""
    if signs[0] in ("is", "is not") and _may_be_one(left, right):
        raise unidentified()
    value = compared(signs[0], left, right)
    if not rest or not (state.is_graph_value(value) or value):
        return value
    if not state.is_graph_value(value):
        return compare(signs[1:], right, rest[0](), *rest[1:])
    tail = functools.partial(_tail, signs[1:], right, rest)
    following = at_once(tail, None, "the chained comparison")
    if following:
        return both(value, *following)
    return choose(value, _COMPARISON, None, lambda: truth(tail()), lambda: False)


def _may_be_one(a: Any, b: Any) -> bool:
    """Whether two objects may be the same in Python: one is a copy, or both are arguments."""
    distinct = a is not b and state.is_mutable(a) and state.is_mutable(b)
    return distinct and (any(map(aliases.refusal, (a, b))) or aliases.are_arguments(a, b))


_COMPARISON = Site("a chained comparison", 0, 0, "and")


def _tail(signs: tuple[str, ...], left: Any, rest: tuple[Block, ...]) -> Any:
    return compare(signs, left, rest[0](), *rest[1:])


class Branches:
    """One `if` on a graph value: run both blocks from the same state, and merge what they leave."""

    def __init__(
        self,
        test: Any,
        body: Block,
        orelse: Block,
        frame: FrameVariables,
        site: Site,
        places: list[Place] | None = None,
    ) -> None:
        self.site = site
        self.frame = frame
        self.test = truth(test)
        self.blocks = {"body": body, "orelse": orelse}
        self.places = frame.places(site) if places is None else places
        self.snapshot = Snapshot(frame, self.places, body, orelse)
        self.stand_ins: dict[tuple[str, int], Any] = {}
        self.what = site.kind if site.kind == "ternary" else f"`{site.kind}`"
        self.where = f"a branch of the {self.what} at {site.place}"
        self.block = region.Block(self.snapshot.heap, self.where)
        self.held: dict[str, list[Objects]] = {}  # the objects in the places after each side
        self.unused: set[tuple[str, int]] = set()  # sides after which what is in a place is never used
        self.raising: set[str] = set()  # sides that end by an exception
        self.failed: list[Exception] = []  # those that no `raise` of the user's raised
        # The side that defines more of what has no value yet goes first, so that the other one knows what to stand in.
        undefined = {p.name for p in self.places if p.get() is UNDEFINED}
        self.order = ["body", "orelse"]
        if len(undefined & site.second) > len(undefined & site.first):
            self.order.reverse()
            self.test = logical_not(self.test)
        self.first: list[Any] = []
        self.second: list[Any] = []

    def run(self) -> None:
        """Replace the state by what the graph chooses."""
        while True:
            sides = self._conditions() if self.block.wanted else None
            try:
                outputs = self._chosen(sides) if sides else flow.cond(self.test, self._run_first, self._run_second)
                break
            except Again:
                continue
            except RecursionError:
                if any(tree_containers.contains_itself(p.get()) for p in self.places):
                    raise contains_itself(f"a value after the {self.what} at {self.site.place}") from None
                raise ControlFlowError(
                    f"a function calls itself in a branch of the `if` at {self.site.place}, whose condition is known only when the "
                    f"graph runs, so the calls have no end. Write the recursion as a `while` loop"
                ) from None
            except flow.MismatchError as error:
                raise self._mismatch(*self._locate(error.index), error.left, error.right) from None
        if len(self.raising) == 2:
            raise self.failed[0] if self.failed else effects.both_raise(self.site)
        merge = Merge(self.snapshot.heap, outputs)
        ways = [self._ways(i) for i in range(len(self.places))]
        for i, (place, a, b) in enumerate(zip(self.places, self.first, self.second, strict=True)):
            if a is not UNDEFINED:
                place.set(merge.value(a, b, [way for way in ways[i] if way is not None]))
            elif isinstance(place, HeldAttribute):  # both sides delete it
                place.set(UNDEFINED)
        leaks.kept(self.site, self.places)
        note_copies(f"after the {self.what} at {self.site.place}", self.places, ways)

    def _ways(self, i: int) -> list[Objects | None]:
        """The objects in a place after each side; None where they are never used."""
        return [None if side in self.raising or (side, i) in self.unused else self.held[side][i] for side in self.order]

    def _conditions(self) -> tuple[Any, Any]:
        """When the first and when the second side takes place."""
        around = effects.when()
        return effects.both(around, self.test), effects.both(around, logical_not(self.test))

    def _chosen(self, sides: tuple[Any, Any]) -> list[Any]:
        """`flow.cond` of sides that print or check: they are told when they take place."""
        first, second = lambda a, _: [*self._run_first(a), a], lambda _, b: [*self._run_second(b), b]
        return flow.branches(self.test, first, second, sides)

    def _values(self, side: str, when: Any) -> list[Any]:
        """What the places hold after one block; the state is as before again."""
        self.snapshot.restore()
        try:
            with region.inside(self.block, when), effects.failing(self.site, self.failed):
                self.blocks[side]()
        except region.Abandoned:
            self.raising.add(side)
        except BaseException as error:
            self.snapshot.restore()
            raise region.outcome(error, self.block) from None
        try:
            self.held[side] = [Objects.of(p.get()) for p in self.places]
            values = [self.snapshot.frozen(p.get()) for p in self.places]
            unforeseen = self.snapshot.changed(self.places, self.where)
        finally:
            self.snapshot.restore()
        if unforeseen:
            self.places += unforeseen
            raise Again
        return [self.stand_ins.get((side, i), v) for i, v in enumerate(values)]

    def _run_first(self, when: Any = None) -> list[Any]:
        self.first = self._values(self.order[0], when)
        return [x for v in self.first if v is not UNDEFINED for x in Flat.of(v).leaves if state.is_dynamic(x)]

    def _run_second(self, when: Any = None) -> list[Any]:
        side, other = self.order[1], self.order[0]
        self.second = self._values(side, when)
        if side in self.raising:
            self.second = [stand_in(a) for a in self.first]
        elif other in self.raising and any((other, i) not in self.stand_ins for i in range(len(self.places))):
            self.stand_ins |= {(other, i): stand_in(b) for i, b in enumerate(self.second)}
            raise Again
        out = []
        for i, (place, a, b) in enumerate(zip(self.places, self.first, self.second, strict=True)):
            if not _agree(a, b):
                if a is not UNDEFINED and self._free(place, b, a, side):
                    b = self.second[i] = stand_in(a)
                    self.unused.add((side, i))
                elif b is not UNDEFINED and self._free(place, a, b, other) and (other, i) not in self.stand_ins:
                    self.stand_ins[other, i] = stand_in(b)
                    self.unused.add((other, i))
                    raise Again
                else:
                    raise self._disagreement(place, a, b)
            if a is not UNDEFINED:
                self._refuse_unfit(place, Flat.of(a).leaves, Flat.of(b).leaves)
            if b is not UNDEFINED:
                out += [y for x, y in zip(Flat.of(a).leaves, Flat.of(b).leaves, strict=True) if state.is_dynamic(x)]
        return out

    def _refuse_unfit(self, place: Place, left: list[Any], right: list[Any]) -> None:
        """Integers of more than 64 bits, and numbers of classes of their own, cannot be chosen by a graph."""
        for x, y in zip(left, right, strict=True):
            if (wrong := unfit(x, y)) and not state.same(x, y):
                raise does_not_pass(label(place), wrong[0], self.where)

    def _free(self, place: Place, value: Any, other: Any, side: str) -> bool:
        """Whether the value that a place has after a block is never used."""
        if place.name == RESULT or place.name in self.site.optional:
            return value is UNDEFINED
        if isinstance(place, HeldAttribute) and value is UNDEFINED and place.is_cached:
            return not any(map(state.is_graph_value, Flat.of(other).leaves))
        return place.name[:4] != "_ad_" and side in self.site.abandoned

    # ------------------------------------------------------------ errors

    def _sides(self, a: Any, b: Any) -> tuple[Any, Any]:
        return (a, b) if self.order[0] == "body" else (b, a)

    def _locate(self, index: int) -> tuple[Place, str]:
        """The place and the path in it of a value that passed through the graph."""
        return locate(
            self.places, [label(p) for p in self.places], self.first, index, lambda i, j, x: state.is_dynamic(x)
        )

    def _disagreement(self, place: Place, a: Any, b: Any) -> Exception:
        name, site = label(place), self.site
        leaked = leaks.leak(place.owner) if isinstance(place, (HeldContents, HeldAttribute)) else None
        if leaked is not None:
            return leaked
        if a is UNDEFINED or b is UNDEFINED:
            return only_defined_in(f"one branch of the `if` at {site.place}", name, "the `if`")
        for (path, x), (_, y) in zip(state.tree.paths(a, name), state.tree.paths(b, name)):
            if not _agree(x, y):
                return self._mismatch(place, path, _spec(x), _spec(y))
        return self._mismatch(place, name, state.described(a), state.described(b))

    def _mismatch(self, place: Place, path: str, left: Any, right: Any) -> ControlFlowError:
        left, right = self._sides(left, right)
        if place.name == RESULT:
            what = f"the function returns {left} in the `if` branch and {right} otherwise"
        elif self.site.kind in ("ternary", "and", "or") or (
            self.site.kind.startswith("ad.") and isinstance(place, Box)
        ):
            part = f"for {path} " if path != place.name else ""
            what = f"the {self.what} gives {part}{left} if the condition holds and {right} if not"
        else:
            ways = (
                ("one branch", "the other")
                if self.site.kind.startswith("ad.")
                else ("the `if` branch", "the `else` branch")
            )
            what = f"`{path}` is {left} after {ways[0]} and {right} after {ways[1]}"
        how = "Make both of the same kind, or choose between them with ops.where"
        if _shapes_differ(left, right):
            how = "Make both the same shape, or choose between them with ops.where"
        elif left == right and isinstance(left, str):
            how = "A graph cannot choose between two objects: make one before, and set in both cases what it holds"
        return ControlFlowError(f"{what} ({self.site.place}). {how}")


def _spec(x: Any) -> Any:
    return spec_of(x) if isinstance(x, state.ARRAYS) else state.described(x)


def _shapes_differ(left: Any, right: Any) -> bool:
    return isinstance(left, Spec) and isinstance(right, Spec) and left.shape != right.shape


def _agree(a: Any, b: Any) -> bool:
    """Whether two values can be merged, as far as can be seen before the graph is asked."""
    if a is UNDEFINED or b is UNDEFINED:
        return a is b
    x, y = Flat.of(a), Flat.of(b)
    return x.shape == y.shape and all(map(_leaves_agree, x.leaves, y.leaves))


def _leaves_agree(a: Any, b: Any) -> bool:
    if not (state.is_dynamic(a) and state.is_dynamic(b)):
        return state.same(a, b)
    s, t = spec_of(a), spec_of(b)
    return s.shape == t.shape and (s.weak or t.weak or s.dtype == t.dtype)


def guarded(condition: Any, block: Block, frame: FrameVariables, site: Site) -> None:
    """Run a block if a graph value holds: an iteration of an unrolled loop after a `break`."""
    as_if = replace(site, kind="if", first=frozenset(site.names))
    Branches(condition, block, _nothing, frame, as_if).run()

"""The backward pass of a loop that holds few of its states: binomial checkpoints (Griewank's Revolve) at run time.

The iterations are cut into segments of equal length, and the first ones that are left over. A segment is pulled back as a whole loop
is (`loop_rules.pull_back`), from the state before it, with the states of its iterations on stacks. States before segments are held in
`snapshots` slots. Where the state before the last segment is not there, the loop advances from the nearest one, and leaves a snapshot
on the way where the fewest iterations will be computed again. Everything is one loop, whose number of iterations is a matter of
the schedule, so that the number of iterations of the loop itself may be known only at run time.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any

import numpy as np

from adjoint.core.absent import ZERO, instantiate
from adjoint.core.checkpoint_policy import not_on_disk
from adjoint.core.rules import derived, kept
from adjoint.core.spec import Spec, dtype_of, int64, shape_of, spec_of
from adjoint.graph.control import Cond, Loop
from adjoint.graph.loop_rules import Places, pull_back
from adjoint.graph.nested import float_positions, silent
from adjoint.graph.node import Builder, Const, Graph, Node, Param
from adjoint.graph.recompute import Recomputed
from adjoint.graph.trace import identity, trace
from adjoint.graph.walk import replay
from adjoint.ops.index import add_at, gather, put_at
from adjoint.ops.language import add, bitwise_or, broadcast_to, cast, floor_divide, less, less_equal, mod, where
from adjoint.ops.reduce import max as largest

ON_DISK = -1  # what `Loop.snapshots` says where no state is to be held in memory


def revolved_vjp(loop: Loop, gs: Sequence[Any], ys: Sequence[Any], xs: Sequence[Any]) -> tuple[Any, ...]:
    """The cotangents of a loop's inputs, with `loop.snapshots` states held at a time."""
    if loop.snapshots == ON_DISK:
        raise not_on_disk()
    carry, stacked, constants = loop.parts(xs)
    a, s = loop.carried, loop.stacked
    cf, sf, kf = (float_positions(part) for part in (carry, stacked, constants))
    yf = tuple(i for i in float_positions(loop.body.specs[a:]) if gs[a + i] is not ZERO)
    count = () if loop.test is None else (_most(ys[0]),)
    given = [*xs, *count, *(instantiate(gs[i], carry[i]) for i in cf), *(gs[a + i] for i in yf)]
    specs = tuple([Spec(shape_of(x), dtype_of(x)) for x in given])
    found = Recomputed(_pulled(loop, specs, (cf, sf, kf, yf)))(*given)
    result: list[Any] = [ZERO] * len(xs)
    for place, g in zip([*cf, *(a + s + i for i in kf), *(a + i for i in sf)], found, strict=True):
        result[place] = g
    return tuple(result)


def _most(count: Any) -> Any:
    """The number of iterations; of a batch, those of the example that takes the most."""
    return largest(count) if shape_of(count) else count


@derived
def _pulled(loop: Loop, specs: tuple[Spec, ...], places: tuple[Places, Places, Places, Places]) -> Graph:
    """The graph from a loop's inputs (with the number of iterations, if its test decides on it) and cotangents to the cotangents of
    its carry, its constants and its stacked inputs."""

    def pulled(*values: Any) -> list[Any]:
        carry, stacked, constants = loop.parts(values[: len(loop.body.params)])
        rest = list(values[len(loop.body.params) :])
        n = loop.iterations(stacked) if loop.test is None else rest.pop(0)
        gc, gy = rest[: len(places[0])], rest[len(places[0]) :]
        return Reversal(loop, n, (carry, stacked, constants), places, gy).pulled(gc)

    return trace(pulled, specs, f"vjp of {loop.body.name}", replayed=True)[0]


# ---------------------------------------------------------------- arrays read row by row


@dataclass(frozen=True)
class InTurn:
    """A constant of a loop that iteration i reads at `start + offset + i`, where `start` is what a part of the carry begins with."""

    constant: int
    counter: int
    offset: int


@kept
def by_rows(loop: Loop) -> tuple[Loop, tuple[InTurn, ...]]:
    """The loop with slices where its body reads constants in turn, and which these are. So their derivatives are rows too."""
    body, a, s = silent(loop.body), loop.carried, loop.stacked
    counters = {p: k for k, (p, y) in enumerate(zip(body.params[:a], body.outputs, strict=False)) if _counts(p, y)}
    constants = {p: k for k, p in enumerate(body.params[a + s :])}
    found: dict[InTurn, list[Node]] = {}
    for node in body.nodes:
        if node.op == gather and len(node.inputs) == 2 and node.inputs[0] in constants:
            counter, offset = _plus(node.inputs[1])
            if counter in counters and node.inputs[0].shape[0] > 0:
                found.setdefault(InTurn(constants[node.inputs[0]], counters[counter], offset), []).append(node)
    slices = {n: Node(Param(0), (), nodes[0].spec) for nodes in found.values() for n in nodes[:1]}
    for nodes in found.values():
        slices |= dict.fromkeys(nodes, slices[nodes[0]])
    params = (*body.params[: a + s], *dict.fromkeys(slices.values()), *body.params[a + s :])
    better = _with_slices(body, params, slices)
    plain = replace(loop, body=better, stacked=s + len(found), test=None, guarded=False, snapshots=0, segment=0)
    return replace(plain, backwards=False), tuple(found)


def _counts(p: Node, y: Node) -> bool:
    """Whether a part of the carry goes up by 1."""
    return not p.shape and p.dtype == int64 and _plus(y) == (p, 1)


def _plus(node: Node) -> tuple[Node, int]:
    """A node as another one and a number that is added."""
    if node.op == add:
        for x, y in (node.inputs, node.inputs[::-1]):
            if isinstance(y.op, Const) and not y.shape and y.dtype.kind == "i":
                return x, int(y.op.value)
    return node, 0


def _with_slices(body: Graph, params: tuple[Node, ...], slices: dict[Node, Node]) -> Graph:
    """A graph with inputs in place of some of its nodes."""
    builder, found = Builder(), {**{p: p for p in params}, **slices}
    for node in body.nodes:
        if node not in found:
            found[node] = builder.keep(node, node.op, tuple([found[i] for i in node.inputs]))
    return Graph(params, tuple([found[n] for n in body.outputs]), body.name)


# ---------------------------------------------------------------- the backward pass


class Reversal:
    """One loop to be pulled back: its inputs, its number of iterations (a number or a graph value), and its plan."""

    def __init__(
        self,
        loop: Loop,
        n: Any,
        parts: tuple[list[Any], list[Any], list[Any]],
        places: tuple[Places, Places, Places, Places],
        gy: Sequence[Any],
    ) -> None:
        self.n, self.slots, self.size, self.gy = n, loop.snapshots, loop.segment, gy
        self.loop, turns = by_rows(loop)
        carry, stacked, self.constants = parts
        specs = self.loop.body.specs
        self.carry = [x if dtype_of(x) == s.dtype else cast(x, s.dtype) for x, s in zip(carry, specs, strict=False)]
        self.arrays = [*stacked, *(self.constants[t.constant] for t in turns)]
        self.sign = -1 if loop.backwards else 1
        first = self.n - 1 if loop.backwards else 0
        self.bases = [*(first for _ in stacked), *(self.carry[t.counter] + t.offset for t in turns)]
        self.signs = [*(self.sign for _ in stacked), *(1 for _ in turns)]
        self.first = first  # the place of iteration 0 in stacked results
        cf, sf, kf, yf = places
        rows = [k for k, t in enumerate(turns, len(stacked)) if t.constant in kf]
        self.places = (cf, (*sf, *rows), kf, yf)
        self.targets = [
            kf.index(turns[k - len(stacked)].constant) for k in rows
        ]  # the constants that these are rows of
        self.known = isinstance(n, int)

    @cached_property
    def rest(self) -> Any:
        """How many iterations come before the segments."""
        if self.known:
            return (self.n - 1) % self.size + 1 if self.n else 0
        return where(less(0, self.n), mod(self.n - 1, self.size) + 1, 0)

    def pulled(self, gc: Sequence[Any], snapshots: Sequence[Any] = ()) -> list[Any]:
        """The cotangents of the carry, the constants and the stacked inputs; `snapshots` are the states before all segments, if
        these are there."""
        _, sf, kf, _ = self.places
        gk = [instantiate(ZERO, self.constants[i]) for i in kf]
        rows = [instantiate(ZERO, self.arrays[i]) for i in sf]
        segments = (self.n - self.rest) // self.size if self.known else floor_divide(self.n - self.rest, self.size)
        if not self.known or segments:
            if snapshots:
                gc, gk, rows = self._over(snapshots, gc, gk, rows)
            else:
                gc, gk, rows = self._segments(segments, gc, gk, rows)
        if not self.known or self.rest:
            gc, gk, more = self._first_iterations(gc, gk)
            rows = [self._added(r, m, i, np.arange(shape_of(m)[0])) for r, m, i in zip(rows, more, sf, strict=True)]
        own = len(sf) - len(self.targets)
        for place, row in zip(self.targets, rows[own:], strict=True):
            gk[place] = gk[place] + row
        return [*gc, *gk, *rows[:own]]

    def _added(self, total: Any, rows: Any, i: int, at: Any) -> Any:
        return add_at(total, rows, self._index(i, at))

    def _index(self, i: int, at: Any) -> Any:
        """Where an iteration reads a stacked input; an iteration that does not take place reads the first row."""
        index = self.bases[i] + at if self.signs[i] > 0 else self.bases[i] - at
        return index if self.known or not shape_of(index) else where(less(at, self.n), index, 0)

    def _rows(self, at: Any) -> list[Any]:
        return [gather(x, self._index(i, at)) for i, x in enumerate(self.arrays)]

    def _result_rows(self, at: Any) -> list[Any]:
        """The cotangents of stacked results."""
        return [gather(g, self.first + at if self.sign > 0 else self.first - at) for g in self.gy]

    # ------------------------------------------------------------ forwards and backwards

    def _advanced(self, state: Sequence[Any], i: Any, until: Any) -> list[Any]:
        """The state before iteration `until`, from that before iteration i."""
        a = self.loop.carried

        def step(*xs: Any) -> list[Any]:
            return [*replay(self.loop.body, [*xs[:a], *self._rows(xs[a]), *self.constants])[:a], xs[a] + 1]

        return while_do(lambda *xs: less(xs[a], until), step, [*state, i])[:a]

    def _segment(self, state: Sequence[Any], at: Any, gc: Sequence[Any], gk: Sequence[Any]) -> tuple[Any, ...]:
        """Pull back through the iterations at these places."""
        loop = replace(self.loop, length=shape_of(at)[0])
        return pull_back(loop, [*state, *self._rows(at), *self.constants], self.places, gc, gk, self._result_rows(at))

    def _first_iterations(self, gc: Sequence[Any], gk: Sequence[Any]) -> tuple[list[Any], list[Any], list[Any]]:
        """Pull back through the iterations before the segments."""
        if self.known:
            return self._parted(self._segment(self.carry, np.arange(self.rest), gc, gk))
        at, a = np.arange(self.size), self.loop.carried
        body = self.loop.body
        guard = Node(Param(a), (), Spec((), np.dtype(bool)))
        loop = replace(
            self.loop, body=replace(body, params=(*body.params[:a], guard, *body.params[a:])), guarded=True,
            stacked=self.loop.stacked + 1, length=self.size,
        )  # fmt: skip
        cf, sf, kf, yf = self.places
        found = pull_back(
            loop, [*self.carry, less(at, self.rest), *self._rows(at), *self.constants],
            (cf, tuple([i + 1 for i in sf]), kf, yf), gc, gk, [],
        )  # fmt: skip
        return self._parted(found)

    def _parted(self, found: Sequence[Any]) -> tuple[list[Any], list[Any], list[Any]]:
        n, m = len(self.places[0]), len(self.places[0]) + len(self.places[2])
        return list(found[:n]), list(found[n:m]), list(found[m:])

    def _over(
        self, snapshots: Sequence[Any], gc: Sequence[Any], gk: Sequence[Any], rows: Sequence[Any]
    ) -> tuple[list[Any], list[Any], list[Any]]:
        """Pull back through all segments from the states before them."""
        n, m = len(gc), len(gk)
        begin = self.rest + self.size * np.arange(shape_of(snapshots[0])[0])

        def step(*xs: Any) -> list[Any]:
            gc, gk, rows, (i, *state) = xs[:n], xs[n : n + m], xs[n + m : carried], xs[carried:]
            at = i + np.arange(self.size)
            found = self._parted(self._segment(state, at, gc, gk))
            return [
                *found[0],
                *found[1],
                *(self._added(*r, at) for r in zip(rows, found[2], self.places[1], strict=True)),
            ]

        init, carried = [*gc, *gk, *rows], n + m + len(rows)
        slices = [Spec(shape_of(x)[1:], dtype_of(x)) for x in (begin, *snapshots)]
        (body,), outside = traced_together([step], [*(Spec(shape_of(x), dtype_of(x)) for x in init), *slices])
        found = Loop(body, carried, len(slices), backwards=True)(*init, begin, *snapshots, *outside)
        return self._parted(found)

    # ------------------------------------------------------------ the schedule

    def _segments(
        self, segments: Any, gc: Sequence[Any], gk: Sequence[Any], rows: Sequence[Any]
    ) -> tuple[list[Any], list[Any], list[Any]]:
        """Pull back through all segments, from the last to the first."""
        a, slots, cf, kf = self.loop.carried, self.slots, self.places[0], self.places[2]
        state = self._advanced(self.carry, np.int64(0), self.rest)
        held = [broadcast_to(x, (slots + 1, *shape_of(x))) for x in state]
        start = [np.zeros(slots + 1, int), np.int64(0), segments + np.int64(0)]

        def step(*xs: Any) -> list[Any]:
            held, (positions, top, end) = xs[:a], xs[a : a + 3]
            gc, gk, rows = (
                xs[a + 3 : a + 3 + len(cf)],
                xs[a + 3 + len(cf) :][: len(kf)],
                xs[a + 3 + len(cf) + len(kf) :],
            )
            here = gather(positions, top)
            last = less_equal(end - here, 1)
            leaf = bitwise_or(last, less_equal(slots - top, 1))
            ahead = where(leaf, end - here - 1, split(where(leaf, 1, end - here), slots - top))
            i = self.rest + here * self.size
            state = self._advanced([gather(x, top) for x in held], i, i + ahead * self.size)
            slot = where(leaf, slots, top + 1)
            at = i + ahead * self.size + np.arange(self.size)
            found = self._parted(self._if_leaf(leaf, state, at, gc, gk))
            more = [
                self._added(r, m, k, where(leaf, at, 0)) for r, m, k in zip(rows, found[2], self.places[1], strict=True)
            ]
            return [
                *(put_at(x, y, slot) for x, y in zip(held, state, strict=True)), put_at(positions, here + ahead, slot),
                where(leaf, where(last, top - 1, top), top + 1), where(leaf, end - 1, end), *found[0], *found[1], *more,
            ]  # fmt: skip

        found = while_do(lambda *xs: less(0, xs[a + 2]), step, [*held, *start, *gc, *gk, *rows])
        return self._parted(found[a + 3 :])

    def _if_leaf(self, leaf: Any, state: Sequence[Any], at: Any, gc: Sequence[Any], gk: Sequence[Any]) -> Sequence[Any]:
        """Pull back through a segment if its time has come; else the cotangents stay, and those of its rows are zeros."""
        n, m, a = len(gc), len(gk), self.loop.carried
        rows = [Spec((self.size, *shape_of(self.arrays[i])[1:]), dtype_of(self.arrays[i])) for i in self.places[1]]

        def yes(*xs: Any) -> list[Any]:
            return list(self._segment(xs[:a], xs[a], xs[a + 1 : a + 1 + n], xs[a + 1 + n : a + 1 + n + m]))

        def no(*xs: Any) -> list[Any]:
            return [*xs[a + 1 :], *(np.zeros(s.shape, s.dtype) for s in rows)]

        given = [*state, at, *gc, *gk]
        graphs, outside = traced_together([yes, no], [spec_of(x) for x in given])
        return Cond(*graphs)(leaf, *given, *outside)  # type: ignore[no-any-return]


def split(length: Any, slots: Any) -> Any:
    """How many of `length` segments to advance before the next snapshot, where so many slots are left, the one at the beginning
    included: so that the fewest segments are computed again.

    With s slots, and no segment computed more than r times before it is pulled back, (s + r)! / (s! r!) of them can be pulled back.
    """

    def more(r: Any, most: Any) -> list[Any]:
        return [r + 1, floor_divide(most * (slots + r + 1), r + 1)]

    r, most = while_do(lambda r, most: less(most, length), more, [np.int64(0), np.int64(1)])
    before = floor_divide(most * r, slots + r)  # with one time less
    behind = floor_divide(before * slots, where(less(1, slots + r), slots + r - 1, 1))  # and one slot less
    return where(less(before, length - behind), before, length - behind)


# ---------------------------------------------------------------- control flow from functions


def while_do(test: Callable[..., Any], step: Callable[..., Sequence[Any]], init: Sequence[Any]) -> list[Any]:
    """A loop on a state, while a test of it holds."""
    specs = [Spec(shape_of(x), dtype_of(x)) for x in init]
    (decide, body), outside = traced_together([lambda *xs: [test(*xs)], step], specs)
    return list(Loop(body, len(specs), 0, decide)(*init, *outside))


def traced_together(
    fns: Sequence[Callable[..., Sequence[Any]]], specs: Sequence[Spec]
) -> tuple[list[Graph], list[Any]]:
    """Graphs of several functions of the same inputs, and what they take from outside, which are further inputs of all."""
    found = [trace(fn, specs, replayed=True) for fn in fns]
    outside = {identity(x): x for _, values in found for x in values}
    graphs = []
    for graph, values in found:
        own = dict(zip(map(identity, values), graph.params[len(specs) :], strict=True))
        missing = {i: Node(Param(0), (), Spec(shape_of(x), dtype_of(x))) for i, x in outside.items() if i not in own}
        extra = [own[i] if i in own else missing[i] for i in outside]
        graphs.append(replace(graph, params=(*graph.params[: len(specs)], *extra)))
    return graphs, list(outside.values())

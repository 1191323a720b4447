"""Ops that hold graphs: a branch and a loop. Their derivatives are ops of the same kind, so any order works.

`Loop` repeats its body on a carried state, over slices of stacked inputs, and stacks results. With a condition the number of
iterations is known only at run time; the first axis of what it stacks is then `UNKNOWN`.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any

from adjoint.core import context
from adjoint.core.absent import ZERO
from adjoint.core.spec import Spec, shape_of
from adjoint.graph.derivatives import jvp_graph, taylor_graph, vjp_graph, vmap_graph
from adjoint.graph.loop_rules import loop_jvp, loop_taylor, loop_vjp, loop_vmap
from adjoint.graph.nested import Control as Control
from adjoint.graph.nested import Passing, active_series, float_positions, select, silent, spread, spread_series
from adjoint.graph.node import Graph, Node, Param
from adjoint.graph.python_results import has_calls, noted, noting, noting_both, noting_inside
from adjoint.graph.steps import steps
from adjoint.graph.untaken import batch_if_wanted
from adjoint.ops.broadcast import batch_front
from adjoint.ops.language import bitwise_not

UNKNOWN = -1


@dataclass(frozen=True, repr=False)
class Cond(Passing):
    """One of two graphs, by a truth value: `Cond(true, false)(chosen, *inputs)`. Always returns a tuple."""

    total = True  # it fails only where a step inside does

    true: Graph
    false: Graph

    def __call__(self, *xs):
        if not (has_calls(self.true) or has_calls(self.false)):
            return super().__call__(*xs)
        return super(Cond, self.noting()).__call__(*xs)[: len(self.true.outputs)]

    def noting(self) -> Cond:
        """The branch that also puts out what calls of Python in it gave."""
        return Cond(*noting_both([noting_inside(side) for side in (self.true, self.false)]))

    def infer(self, chosen, *xs):
        return tuple(Spec(a.shape, a.dtype) for a in self.true.specs)

    def eval(self, xp, chosen, *xs):
        return tuple(steps(self.true if chosen else self.false)(*xs))

    def _called(self, rule):
        """The branches without their effects, and where the results of their calls of Python are."""
        quiet = [silent(side) for side in (self.true, self.false)]
        return quiet, [noted(side, 0, rule) for side in quiet]

    def vjp(self, gs, ys, chosen, *xs):
        wanted, active = float_positions(xs), tuple(i for i in float_positions(ys) if gs[i] is not ZERO)
        quiet, given = self._called("bprop")
        sides = [
            vjp_graph(side, wanted, active, tuple(y for y, _ in own)) for side, own in zip(quiet, given, strict=True)
        ]
        if any(given):
            sides = _with_both(sides, len(xs), given)
        found = Cond(*sides)(chosen, *xs, *(ys[k] for own in given for _, k in own), *(gs[i] for i in active))
        return (ZERO, *spread(found, wanted, len(xs)))

    def jvp(self, ts, ys, chosen, *xs):
        active = tuple(i for i, t in enumerate(ts[1:]) if t is not ZERO)
        kept = float_positions(ys)
        quiet, given = self._called("jvp")
        sides = [
            jvp_graph(side, active, kept, tuple(y for y, _ in own)) for side, own in zip(quiet, given, strict=True)
        ]
        if any(given):
            sides = _with_both(sides, len(xs), given)
        found = Cond(*sides)(chosen, *xs, *(ys[k] for own in given for _, k in own), *(ts[i + 1] for i in active))
        return tuple(spread(found, kept, len(ys)))

    def taylor(self, order, series, ys, chosen, *xs):
        (active, later), kept = active_series(series[1:], xs), float_positions(ys)
        sides = [taylor_graph(side, active, order, kept) for side in (self.true, self.false)]
        return spread_series(Cond(*sides)(chosen, *xs, *later), order, kept, len(ys))

    def vmap(self, dims, chosen, *xs):
        size = next(shape_of(x)[d] for x, d in zip((chosen, *xs), dims, strict=True) if d is not None)
        xs = tuple([x if d is None else batch_front(x, d) for x, d in zip(xs, dims[1:], strict=True)])
        batched = tuple(d is not None for d in dims[1:])
        if dims[0] is None:
            return Cond(*(vmap_graph(side, batched, size) for side in (self.true, self.false)))(chosen, *xs)
        mask = batch_front(chosen, dims[0])
        yes = batch_if_wanted(self.true, batched, size, xs, mask)
        no = batch_if_wanted(self.false, batched, size, xs, bitwise_not(mask))
        with context.handing_on():
            return tuple([select(mask, a, b) for a, b in zip(yes, no, strict=True)])


def _with_both(sides: list[Graph], n: int, given: list[list[tuple[Node, int]]]) -> list[Graph]:
    """The branches of a derivative, each of which takes what the calls of Python in both have given."""
    (true, false), a = sides, len(given[0])
    unused = [[Node(Param(n + k), (), y.spec.strong) for k, (y, _) in enumerate(own)] for own in given]
    return [
        replace(true, params=(*true.params[: n + a], *unused[1], *true.params[n + a :])),
        replace(false, params=(*false.params[:n], *unused[0], *false.params[n:])),
    ]


@dataclass(frozen=True, repr=False)
class Loop(Passing):
    """`body` again and again: `Loop(...)(*carry, *stacked, *constants)` gives `(*carry, *stacked results)`.

    The body takes the carry, a slice of each stacked input and the constants, and returns the new carry and a slice of each
    stacked result. `test`, on carry and constants, decides whether there is another iteration; without it there
    are `length` of them, or as many as the stacked inputs have slices. `backwards` takes and puts the slices from the last to
    the first. If it is `guarded`, the first stacked input says of each iteration whether it takes place; one that does not
    leaves the carry as it is and puts out zeros. With `snapshots`, its backward pass holds so many states, each before a number of
    segments of `segment` iterations, and computes the others again; the first part of the carry of a loop with a test then counts the iterations.
    """

    total = True  # it fails only where a step inside does

    body: Graph
    carried: int
    stacked: int
    test: Graph | None = None
    length: int | None = None
    backwards: bool = False
    guarded: bool = False
    snapshots: int = 0
    segment: int = 0

    def __call__(self, *xs):
        if not has_calls(self.body):
            return super().__call__(*xs)
        return super(Loop, self.noting()).__call__(*xs)[: len(self.body.outputs)]

    def noting(self) -> Loop:
        """The loop that also puts out what calls of Python in it gave."""
        return self.with_body(noting(noting_inside(self.body), self.carried))

    def parts(self, xs: Sequence[Any]) -> tuple[list[Any], list[Any], list[Any]]:
        """Carry, stacked inputs, constants."""
        a, b = self.carried, self.carried + self.stacked
        return list(xs[:a]), list(xs[a:b]), list(xs[b:])

    def iterations(self, stacked: Sequence[Any]) -> int:
        """The number of iterations, as far as it is known."""
        if self.test is not None:
            return UNKNOWN
        return self.length if self.length is not None else shape_of(stacked[0])[0]

    def infer(self, *xs):
        n = self.iterations(self.parts(xs)[1])
        results = self.body.specs[self.carried :]
        return (
            *(Spec(c.shape, c.dtype) for c in self.body.specs[: self.carried]),
            *(Spec((n, *s.shape), s.dtype) for s in results),
        )

    def eval(self, xp, *xs):
        carry, stacked, constants = self.parts(xs)
        carry = [xp.asarray(c, s.dtype) for c, s in zip(carry, self.body.specs, strict=False)]
        results: list[list[Any]] = [[] for _ in self.body.outputs[self.carried :]]
        n, k = self.iterations(stacked), 0
        step, test = steps(self.body), None if self.test is None else steps(self.test)
        while k < n or (test is not None and test(*carry, *constants)[0]):
            at = n - 1 - k if self.backwards else k
            k += 1
            if self.guarded and not stacked[0][at]:
                out = [*carry, *(xp.zeros(s.shape, s.dtype) for s in self.body.specs[self.carried :])]
            else:
                out = step.advance(carry, [*(s[at] for s in stacked), *constants])
            carry, out = out[: self.carried], out[self.carried :]
            for kept, y in zip(results, out, strict=True):
                kept.append(y)
        specs = self.body.specs[self.carried :]
        return (*carry, *(self._stack(xp, kept, s) for kept, s in zip(results, specs, strict=True)))

    def _stack(self, xp: Any, slices: list[Any], spec: Spec) -> Any:
        if not slices:
            return xp.zeros((0, *spec.shape), spec.dtype)
        return xp.stack(slices[::-1] if self.backwards else slices)

    def vjp(self, gs, ys, *xs):
        if not self.snapshots:
            return loop_vjp(self, gs, ys, xs)
        from adjoint.graph.loop_revolve import revolved_vjp

        return revolved_vjp(self, gs, ys, xs)

    def jvp(self, ts, ys, *xs):
        return loop_jvp(self, ts, ys, xs)

    def taylor(self, order, series, ys, *xs):
        return loop_taylor(self, order, series, ys, xs)

    def vmap(self, dims, *xs):
        return loop_vmap(self, dims, xs)

    def with_body(self, body: Graph, **changes: Any) -> Loop:
        """The same loop with another body."""
        return replace(self, body=body, **changes)

"""A loop of known length that holds the states before its segments: forwards in segments, backwards over those states.

The forward pass leaves the states, so that every iteration is computed again once and not more. As a part of a graph it becomes
loops in loops, whose own rules serve where another transform is around.
"""

from __future__ import annotations

from dataclasses import dataclass, field, replace
from typing import Any

from adjoint.core.absent import ZERO, instantiate
from adjoint.core.rules import derived, kept
from adjoint.core.spec import Spec, dtype_of, shape_of
from adjoint.graph.control import Loop
from adjoint.graph.loop_revolve import Reversal
from adjoint.graph.loop_rules import Places
from adjoint.graph.nested import float_positions
from adjoint.graph.node import Graph
from adjoint.graph.recompute import Recomputed
from adjoint.graph.trace import trace
from adjoint.ops.joining import concat
from adjoint.ops.language import reshape


@dataclass(frozen=True, eq=False, repr=False)
class SegmentedLoop(Recomputed):
    """What the loop gives, and behind it the states before all segments, which its backward pass needs."""

    loop: Loop = field(kw_only=True)

    def vjp(self, gs, ys, *xs):
        loop, a = self.loop, self.loop.carried
        carry, _, constants = loop.parts(xs)
        if any(
            g is not ZERO for g in gs[len(loop.body.outputs) :]
        ):  # another derivative rule than ours has used the states
            return super().vjp(gs, ys, *xs)
        cf, kf = float_positions(carry), float_positions(constants)
        yf = tuple(i for i in float_positions(loop.body.specs[a:]) if gs[a + i] is not ZERO)
        snapshots = ys[len(loop.body.outputs) :]
        given = [*xs, *snapshots, *(instantiate(gs[i], carry[i]) for i in cf), *(gs[a + i] for i in yf)]
        specs = tuple([Spec(shape_of(x), dtype_of(x)) for x in given])
        found = Recomputed(_pulled_over(loop, specs, (cf, (), kf, yf)))(*given)
        result: list[Any] = [ZERO] * len(xs)
        for place, g in zip([*cf, *(a + i for i in kf)], found, strict=True):
            result[place] = g
        return tuple(result)


def suits(loop: Loop, n: int) -> bool:
    """Whether a loop with a plan has as many slots as it has segments, and no more to it than a state and results."""
    counted = loop.test is None and loop.snapshots > 0 and n > loop.segment
    plain = not (loop.stacked or loop.backwards or loop.guarded or loop.effect)
    return counted and plain and loop.snapshots + 1 >= -(-n // loop.segment) - 1


@kept
def segmented(loop: Loop, n: int) -> SegmentedLoop:
    """The loop as an op that also gives the states before its segments."""
    size, a = loop.segment, loop.carried
    first = (n - 1) % size + 1
    segments = (n - first) // size
    plain = replace(loop, snapshots=0, segment=0)

    def run(*xs: Any) -> list[Any]:
        carry, constants = xs[:a], xs[a:]
        state = replace(plain, length=first)(*carry, *constants)

        def segment(*ys: Any) -> list[Any]:
            found = replace(plain, length=size)(*ys)
            return [*found[:a], *found[a:], *ys[:a]]

        specs = [p.spec.strong for p in loop.body.params]
        body = trace(segment, specs, loop.body.name, replayed=True)[0]
        found = Loop(body, a, 0, None, segments)(*state[:a], *constants)
        stacks = [
            concat([x, reshape(y, (segments * size, *shape_of(y)[2:]))])
            for x, y in zip(state[a:], found[a : len(loop.body.outputs)], strict=True)
        ]
        return [*found[:a], *stacks, *found[len(loop.body.outputs) :]]

    specs = [p.spec.strong for p in loop.body.params]
    return SegmentedLoop(trace(run, specs, loop.body.name, replayed=True)[0], loop=replace(loop, length=n))


@derived
def _pulled_over(loop: Loop, specs: tuple[Spec, ...], places: tuple[Places, Places, Places, Places]) -> Graph:
    """The graph from a loop's inputs, the states before its segments and cotangents to the cotangents of its carry and its constants."""
    a, count = loop.carried, len(loop.body.params)

    def pulled(*values: Any) -> list[Any]:
        snapshots, rest = values[count : count + a], values[count + a :]
        reversal = Reversal(loop, loop.length, loop.parts(values[:count]), places, rest[len(places[0]) :])
        return reversal.pulled(rest[: len(places[0])], snapshots)

    return trace(pulled, specs, f"vjp of {loop.body.name}", replayed=True)[0]

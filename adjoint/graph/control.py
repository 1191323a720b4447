"""Ops that hold graphs: a branch and a loop. Their derivatives are ops of the same kind, so any order works.

`Loop` repeats its body on a carried state, over slices of stacked inputs, and stacks results. With a condition the number of
rounds is known only at run time; the first axis of what it stacks is then `UNKNOWN`.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from adjoint.core.absent import ZERO
from adjoint.core.spec import Spec, dtype_of, is_inexact, shape_of
from adjoint.core.verbs import verbs
from adjoint.graph.node import Builder, Graph, Node
from adjoint.graph.walk import replay
from adjoint.ops.broadcast import batch_front
from adjoint.ops.card import Op
from adjoint.ops.language import reshape, where

UNKNOWN = -1


class Control(Op):
    """Ops that hold graphs. They are not in the registry: their samples are whole programs."""

    takes_zero = True

    @classmethod
    def samples(cls, draw: Any) -> Any:
        yield from ()

    def graphs(self) -> dict[str, Graph]:
        """The graphs that it holds, by their fields."""
        return {name: value for name, value in vars(self).items() if isinstance(value, Graph)}

    @property
    def effect(self) -> bool:  # type: ignore[override]
        return any(graph.effects for graph in self.graphs().values())

    def mapped(self, change: Callable[[Graph], Graph]) -> Any:
        """The same op on changed graphs; itself if none changes."""
        old = self.graphs()
        new = {name: change(graph) for name, graph in old.items()}
        return self if new == old else replace(self, **new)  # type: ignore[type-var]

    def __repr__(self) -> str:
        return type(self).__name__


def silent(graph: Graph) -> Graph:
    """The graph without its effects, and without those of the graphs inside."""
    if not graph.effects:
        return graph
    builder = Builder()
    found: dict[Node, Node] = {p: p for p in graph.params}
    for node in Graph(graph.params, graph.outputs).nodes:
        if node not in found:
            op = node.op.mapped(silent) if isinstance(node.op, Control) else node.op
            found[node] = builder.keep(node, op, tuple([found[i] for i in node.inputs]))
    return Graph(graph.params, tuple([found[n] for n in graph.outputs]), graph.name)


def float_positions(specs: Sequence[Any]) -> tuple[int, ...]:
    """Which values have derivatives."""
    return tuple(i for i, s in enumerate(specs) if is_inexact(dtype_of(s)))


@dataclass(frozen=True, repr=False)
class Cond(Control):
    """One of two graphs, by a truth value: `Cond(true, false)(chosen, *inputs)`. Always returns a tuple."""

    true: Graph
    false: Graph

    def infer(self, chosen, *xs):
        return tuple(Spec(a.shape, a.dtype) for a in self.true.specs)

    def eval(self, xp, chosen, *xs):
        return tuple(verbs.steps(self.true if chosen else self.false)(*xs))

    def vjp(self, gs, ys, chosen, *xs):
        wanted, moving = float_positions(xs), tuple(i for i in float_positions(ys) if gs[i] is not ZERO)
        sides = [verbs.vjp_graph(side, wanted, moving) for side in (self.true, self.false)]
        found = Cond(*sides)(chosen, *xs, *(gs[i] for i in moving))
        return (ZERO, *_spread(found, wanted, len(xs)))

    def jvp(self, ts, ys, chosen, *xs):
        moving = tuple(i for i, t in enumerate(ts[1:]) if t is not ZERO)
        kept = float_positions(ys)
        sides = [verbs.jvp_graph(side, moving, kept) for side in (self.true, self.false)]
        found = Cond(*sides)(chosen, *xs, *(ts[i + 1] for i in moving))
        return tuple(_spread(found, kept, len(ys)))

    def vmap(self, dims, chosen, *xs):
        size = next(shape_of(x)[d] for x, d in zip((chosen, *xs), dims, strict=True) if d is not None)
        xs = [x if d is None else batch_front(x, d) for x, d in zip(xs, dims[1:], strict=True)]
        batched = tuple(d is not None for d in dims[1:])
        sides = [verbs.vmap_graph(side, batched, size) for side in (self.true, self.false)]
        if dims[0] is None:
            return Cond(*sides)(chosen, *xs)
        mask = batch_front(chosen, dims[0])
        yes, no = (replay(side, xs) for side in sides)
        return tuple(_select(mask, a, b) for a, b in zip(yes, no, strict=True))


def _spread(values: Sequence[Any], places: Sequence[int], count: int) -> list[Any]:
    """Values at some places, ZERO at the others."""
    result: list[Any] = [ZERO] * count
    for place, value in zip(places, values, strict=True):
        result[place] = value
    return result


def _select(mask: Any, a: Any, b: Any) -> Any:
    """a where the mask holds for the example, else b."""
    shape = shape_of(mask)
    lined_up = reshape(mask, shape + (1,) * (max(len(shape_of(a)), len(shape_of(b))) - len(shape)))
    return where(lined_up, a, b)


@dataclass(frozen=True, repr=False)
class Loop(Control):
    """`body` again and again: `Loop(...)(*carry, *stacked, *constants)` gives `(*carry, *stacked results)`.

    The body takes the carry, a slice of each stacked input and the constants, and returns the new carry and a slice of each
    stacked result. `test`, on carry and constants, decides whether there is another round; without it there are `length`
    rounds, or as many as the stacked inputs have slices. `backwards` takes and puts the slices from the last to the first.
    If it is `guarded`, the first stacked input says of each round whether it takes place; one that does not leaves the carry
    as it is and puts out zeros.
    """

    body: Graph
    carried: int
    stacked: int
    test: Graph | None = None
    length: int | None = None
    backwards: bool = False
    guarded: bool = False

    def parts(self, xs: Sequence[Any]) -> tuple[list[Any], list[Any], list[Any]]:
        """Carry, stacked inputs, constants."""
        a, b = self.carried, self.carried + self.stacked
        return list(xs[:a]), list(xs[a:b]), list(xs[b:])

    def rounds(self, stacked: Sequence[Any]) -> int:
        """The number of rounds, as far as it is known."""
        if self.test is not None:
            return UNKNOWN
        return self.length if self.length is not None else shape_of(stacked[0])[0]

    def infer(self, *xs):
        n = self.rounds(self.parts(xs)[1])
        results = self.body.specs[self.carried :]
        return (
            *(Spec(c.shape, c.dtype) for c in self.body.specs[: self.carried]),
            *(Spec((n, *s.shape), s.dtype) for s in results),
        )

    def eval(self, xp, *xs):
        carry, stacked, constants = self.parts(xs)
        carry = [xp.asarray(c, s.dtype) for c, s in zip(carry, self.body.specs, strict=False)]
        results: list[list[Any]] = [[] for _ in self.body.outputs[self.carried :]]
        n, k = self.rounds(stacked), 0
        step, test = verbs.steps(self.body), None if self.test is None else verbs.steps(self.test)
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

    # ------------------------------------------------------------ derivatives

    def jvp(self, ts, ys, *xs):
        """The same loop on state and tangents side by side."""
        carry, stacked, constants = self.parts(xs)
        ct, st, kt = self.parts(ts)
        moving = [float_positions(carry), *(tuple(i for i, t in enumerate(part) if t is not ZERO) for part in (st, kt))]
        pushed = verbs.loop_jvp(self, moving)
        found = pushed(
            *carry, *(or_zeros(ct[i], carry[i]) for i in moving[0]),
            *stacked, *(st[i] for i in moving[1]),
            *constants, *(kt[i] for i in moving[2]),
        )  # fmt: skip
        return verbs.loop_tangents(self, moving, found, ys)

    def vjp(self, gs, ys, *xs):
        """Run again keeping each round's state, then go through the rounds from the last to the first."""
        return verbs.loop_vjp(self, gs, ys, xs)

    def vmap(self, dims, *xs):
        return verbs.loop_vmap(self, dims, xs)

    def with_body(self, body: Graph, **changes: Any) -> Loop:
        """The same loop with another body."""
        return replace(self, body=body, **changes)


def or_zeros(t: Any, x: Any) -> Any:
    """A derivative as an array: zeros like x where there is none."""
    return np.zeros(shape_of(x), dtype_of(x)) if t is ZERO else t

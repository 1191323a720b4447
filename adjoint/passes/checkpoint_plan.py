"""From a policy to a plan: which parts of a forward graph are computed again in its backward pass."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from contextvars import ContextVar
from dataclasses import dataclass
from itertools import accumulate, pairwise
from math import log2, sqrt

from adjoint.core.checkpoint_policy import CheckpointPolicy, KeepEverything, ShareOfMemory, not_on_disk
from adjoint.core.errors import MemoryBudgetError, called_at
from adjoint.graph.node import Graph, Node
from adjoint.passes.checkpoint_choice import CheckpointChoice, Item, PlannedPart, crossing_items
from adjoint.passes.forward_items import Forward, forward_items
from adjoint.passes.segments import Segments

SLOWER = 0.3  # the most that "balanced" adds to the work of a gradient

#: Where the plans are noted that gradients make, if they are wanted.
plans: ContextVar[list[CheckpointPlan] | None] = ContextVar("plans", default=None)


def planned(graph: Graph, wanted: Sequence[int], policy: CheckpointPolicy, times: int = 1) -> Graph:
    """The graph with parts that are computed again in the backward pass by the `wanted` inputs; itself if there are none.

    `times` says how many such graphs run side by side, as under `vmap`."""
    if isinstance(policy, KeepEverything):
        return graph
    plan = checkpoint_plan(graph, wanted, policy, times)
    if (noted := plans.get()) is not None:
        noted.append(plan)
    return Segments(plan.forward).graph_of(plan.parts) if len(plan.parts) > 1 else graph


@dataclass(frozen=True)
class CheckpointPlan:
    """The parts of a forward graph, in order, and how much is computed again."""

    forward: Forward
    parts: tuple[PlannedPart, ...]

    def held(self) -> list[list[int]]:
        """For each part, the steps in it whose results are kept."""
        items, lower, found = self.forward.items, 0, []
        for part in self.parts:
            lower |= sum(1 << k for k in part.items)
            crossing = crossing_items(items, lower)
            found.append(
                [k for k in part.items if crossing >> k & 1 or (not (part.again or part.inside) and items[k].needed)]
            )
        return found

    def kept(self) -> list[Node]:
        """The nodes whose values are kept from the forward pass for the backward pass."""
        return [self.forward.steps[k] for held in self.held() for k in held]

    @property
    def recomputed(self) -> float:
        """What is computed again, in parts of the work of the forward and the backward pass."""
        return sum(_again(self.forward.items, self.parts, 0)) / max(self.forward.cost, 1)


def _again(items: Sequence[Item], parts: Sequence[PlannedPart], lower: int) -> Iterator[int]:
    """The cost of each part that is computed again, and of those inside it."""
    for part in parts:
        below = lower
        lower |= sum(1 << k for k in part.items)
        crossing, required = crossing_items(items, lower), 0
        for k in reversed(part.items):
            if required >> k & 1 or (items[k].needed and not crossing >> k & 1):
                yield items[k].cost * part.again
                required |= sum(1 << i for i in items[k].inputs if not crossing >> i & 1)
        yield from _again(items, part.inside, below)


def checkpoint_plan(graph: Graph, wanted: Sequence[int], policy: CheckpointPolicy, times: int = 1) -> CheckpointPlan:
    """What a policy makes of a graph."""
    if policy.strategy == "offload":
        raise not_on_disk()
    forward = forward_items(graph, wanted)
    if not any(item.needed for item in forward.items):
        if isinstance(policy, ShareOfMemory):
            policy.asked.append((0, 0))  # there is nothing to choose here, but perhaps inside of loops
        return CheckpointPlan(forward, (PlannedPart(tuple(range(len(forward.items)))),))
    if policy.strategy == "sqrt":
        return CheckpointPlan(forward, _even(forward))
    choice = CheckpointChoice(forward.items, forward.family)
    return CheckpointPlan(forward, choice.parts(_amount(forward, choice, policy, times)))


def _amount(forward: Forward, choice: CheckpointChoice, policy: CheckpointPolicy, times: int) -> int:
    """The bytes that a policy allows."""
    once = sum(item.cost for item in forward.items)
    sizes = [f for f in choice.frontier if f[1] <= once * log2(len(choice.family))] or choice.frontier[-1:]
    least, most = sizes[0][0], sizes[-1][0]
    if isinstance(policy, ShareOfMemory):
        policy.asked.append((least * times, most * times))
        return int(least + policy.share * (most - least))
    if policy.memory is not None:
        if policy.memory // times < least:
            raise MemoryBudgetError(
                f"GradientCheckpoint: what the backward pass holds cannot be made to fit into {policy.memory} bytes: it takes "
                f"{least * times} at the least by estimate. Allow as much, or take a smaller batch{called_at()}"
            )
        return policy.memory // times
    if policy.strategy == "binomial":
        return least
    quick = [f for f in sizes if f[1] <= SLOWER * forward.cost]
    return min(quick, key=lambda f: (forward.cost + f[1]) * f[0])[0]


def _even(forward: Forward) -> tuple[PlannedPart, ...]:
    """About √n parts with about as much that is needed in each, cut where little is held: so many that least is held in all."""
    items = forward.items
    needed = [item.needed for item in items]
    root = max(1, round(sqrt(sum(needed) ** 2 / sum(x * x for x in needed))))
    run = [0, *accumulate(needed)]
    sets = sorted(s for s in forward.family if s and (s & (s + 1)) == 0 and s.bit_length() < len(items))
    held = {s.bit_length(): _held(items, s) for s in sets}
    found = dict.fromkeys(tuple(_cuts(count, run, held)) for count in range(1, 2 * root + 1))
    chosen = min(found, key=lambda cuts: _most_held(items, run, cuts))
    parts = [PlannedPart(tuple(range(a, b)), again=True) for a, b in pairwise(chosen)]
    return (*parts, PlannedPart(tuple(range(chosen[-1], len(items)))))


def _cuts(count: int, run: Sequence[int], held: Mapping[int, tuple[int, int]]) -> Iterator[int]:
    """Where so many parts begin. `run` is what is needed up to each item, `held` what is held where there may be a cut."""
    share, last = run[-1] / count, 0
    yield 0
    for k in range(1, count):
        near = [p for p in held if p > last and abs(run[p] - k * share) <= share / 3]
        if near:
            last = min(near, key=lambda p: (*held[p], abs(run[p] - k * share)))
            yield last


def _most_held(items: Sequence[Item], run: Sequence[int], cuts: Sequence[int]) -> int:
    """The most bytes that the backward pass holds: what crosses the cuts before a part, and what the part needs."""
    crossing = most = 0
    for a, b in pairwise([*cuts, len(items)]):
        crossing |= crossing_items(items, (1 << a) - 1)
        kept = sum(item.bytes for g, item in enumerate(items) if crossing >> g & 1)
        most = max(most, kept + run[b] - run[a])
    return most


def _held(items: Sequence[Item], lower: int) -> tuple[int, int]:
    """The bytes that are held at a lower set, and those of them that no backward pass needs."""
    crossing = crossing_items(items, lower)
    held = [item for g, item in enumerate(items) if crossing >> g & 1]
    return sum(item.bytes for item in held), sum(item.bytes for item in held if not item.needed)

"""The memory of one compiled function, from the plan of its arena: nothing has been compiled or run."""

from __future__ import annotations

from collections.abc import Iterable

from adjoint.backends.memory_report import HeldMemory, Moment, Part, bytes_of, held, name_of
from adjoint.backends.native.emit.function_state import FunctionState
from adjoint.backends.native.node_facts import same_memory
from adjoint.backends.native.plan.arena_places import Place, events
from adjoint.backends.native.plan.epilogue_fusion import FusedMatMul
from adjoint.backends.native.plan.units import Nest, Unit
from adjoint.graph.node import Node


def memory_of(shared: FunctionState, results: Iterable[Node]) -> Part:
    """What a function holds: the places of its arena over time, and the results that it has memory for."""
    arena = shared.arena
    made = list(dict.fromkeys(results))
    part = Part(arena.size - arena.given_back, sum(bytes_of(n.spec) for n in made), keeps=True)
    part.per_iteration = [HeldMemory("stack of a loop", size, None, loop.place) for loop, size in shared.stacks]
    changes = [(moment, taken, place) for moment, taken, place in events(arena.places, arena.now + 1)]
    waiting = {same_memory(n): n for n in made}
    live: dict[Place, None] = {}
    ready: list[Node] = []  # results that have been computed
    bytes_live = bytes_ready = highest = scratch = scratch_live = k = 0
    ends = [*(moment for moment, _ in arena.marks[1:]), arena.now + 1]
    for (_, group), end in zip(arena.marks, ends, strict=True):
        for node in stored(group):
            if node in waiting:
                ready.append(waiting.pop(node))
                bytes_ready += bytes_of(node.spec)
        most = bytes_live + bytes_ready
        while k < len(changes) and changes[k][0] <= end:
            _, taken, place = changes[k]
            k += 1
            sign = 1 if taken else -1
            bytes_live += sign * place.room
            scratch_live += sign * place.room * (place.use in ("scratch", "packed"))
            scratch = max(scratch, scratch_live)
            if taken:
                live[place] = None
            else:
                del live[place]
            most = max(most, bytes_live + bytes_ready)
            if bytes_live + bytes_ready > highest:
                highest = bytes_live + bytes_ready
                part.at_peak = [*map(_held, live), *map(held, ready)]
        node = stored(group)[-1]
        part.timeline.append(Moment(name_of(node), most, node.place))
    part.scratch = scratch
    return part


def stored(group: Iterable[Unit]) -> list[Node]:
    """The nodes that units store."""
    found: list[Node] = []
    for unit in group:
        if isinstance(unit, Nest):
            found += unit.roots
        else:
            found += [unit.node, *unit.roots] if isinstance(unit, FusedMatMul) else [unit.node]
    return found


def _held(place: Place) -> HeldMemory:
    if place.node is None:
        return HeldMemory(place.use, place.size)
    return held(place.node, f" ({place.use})" if place.use else "", place.size)

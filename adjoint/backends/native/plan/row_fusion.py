"""Row fusion: nests that follow one another row by row, such as the passes of a softmax or a layer norm, share one loop over rows."""

from __future__ import annotations

from collections.abc import Sequence
from math import prod

from adjoint.backends.native.node_facts import same_memory
from adjoint.backends.native.plan.coalesce_axes import coalesced, loads_of
from adjoint.backends.native.plan.loop_expressions import Load
from adjoint.backends.native.plan.units import Nest, Unit, cuts
from adjoint.graph.node import Node

LEAST_ROWS, LEAST_ROW, LARGEST_ROW = 4, 16, 16384
MOST = 64  # nests in a group
SHORT = 4  # the work in short rows is at most all work over this


def row_fused(units: Sequence[Unit]) -> list[tuple[list[Unit], int]]:
    """The units in groups: row-fused nests with the number of axes they share, anything else alone with 0."""
    found: list[tuple[list[Unit], int]] = []
    k, ends = 0, _ends(units)
    while k < len(units):
        group, lead = _fused(units[k : min(ends[k], k + MOST)])  # type: ignore[arg-type]
        if len(group) < 2:
            found.append(([units[k]], 0))
            k += 1
        else:
            found.append((list(group), lead))
            k += len(group)
    return found


def _ends(units: Sequence[Unit]) -> list[int]:
    """For each unit, where the run of nests ends that begins with it; behind itself where none of them is large enough to have rows."""
    ends: list[int] = []
    end, large = len(units), False
    for k, unit in reversed([*enumerate(units)]):
        size = prod(unit.space) if isinstance(unit, Nest) and not unit.late else 0
        if not size:
            end = k
        large = size > 0 and (large or size >= LEAST_ROWS * LEAST_ROW)
        ends.append(end if large else k + 1)
    return ends[::-1]


def _fused(run: Sequence[Nest]) -> tuple[Sequence[Nest], int]:
    """The longest beginning of a run that can be fused, and how many axes it shares."""
    best: tuple[Sequence[Nest], int] = (run[:1], 0)
    for end in range(2, len(run) + 1):
        lead = _shared(run[:end])
        if not lead:
            break
        if _can_fuse(run[:end], lead):
            best = run[:end], lead
    return best


def _shared(nests: Sequence[Nest]) -> int:
    """How many first axes all nests have in common and no reduction touches."""
    spaces = [n.space for n in nests]
    count = min(map(len, spaces))
    for nest in nests:
        for root in nest.roots:
            if root.op.reduction:
                count = min(count, *root.op.axes)
    while count and any(s[:count] != spaces[0][:count] for s in spaces):
        count -= 1
    return count


def _can_fuse(nests: Sequence[Nest], lead: int) -> bool:
    """Whether each row needs only what other nests make of the same row, and rows are of a good size."""
    rows = prod(nests[0].space[:lead])
    lengths = [prod(n.space[lead:]) for n in nests]
    if rows < LEAST_ROWS or not LEAST_ROW <= max(lengths) <= LARGEST_ROW:
        return False
    work = [n * len(nest.nodes()[1]) for n, nest in zip(lengths, nests, strict=True)]
    if sum(w for w, n in zip(work, lengths, strict=True) if n < LEAST_ROW) * SHORT > sum(work):
        return False  # too much would be computed in vectors that are not full
    made: set[Node] = set()
    linked = False
    for nest in nests:
        loads = loads_of(nest.roots.values())
        space, strides, _ = coalesced(nest, loads, lead)
        if space[0] != rows or any(axis < lead for axis in cuts(nest.roots.values())):
            return False
        for load, steps in zip(loads, strides, strict=False):
            if same_memory(load.leaf) in made:
                linked = True
                if not _in_row(load, steps, space, rows):
                    return False
        made |= set(nest.roots)
    return linked


def _in_row(load: Load, steps: Sequence[int], space: Sequence[int], rows: int) -> bool:
    """Whether a load at row i reads row i alone."""
    size, rest = divmod(prod(load.leaf.shape), rows)
    ends = [0, 0]
    for stride, n in zip(steps[1:], space[1:], strict=True):
        ends[stride > 0] += stride * (n - 1)
    return rest == 0 and steps[0] == size and load.offset + ends[0] >= 0 and load.offset + ends[1] < size

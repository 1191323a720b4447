"""Results of units written over inputs that die there.

A root may have the memory of an array that the unit reads if nothing reads that array later, both have the same bytes, and the unit reads
it only at the index at which it writes: an element is then loaded before anything is stored over it, and never again. Arguments,
constants and results are never written over so.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from math import prod
from typing import TYPE_CHECKING

from adjoint.backends.native.node_facts import same_memory
from adjoint.backends.native.plan.coalesce_axes import loads_of
from adjoint.backends.native.plan.epilogue_fusion import FusedMatMul
from adjoint.backends.native.plan.loop_expressions import Load, contiguous
from adjoint.backends.native.plan.units import Kernel, Nest
from adjoint.graph.inplace import InPlace
from adjoint.graph.node import Const, Node, Param, Pick

if TYPE_CHECKING:
    from adjoint.backends.native.emit.graph_emitter import GraphEmitter


def place_stores(emitter: GraphEmitter, nests: Sequence[Nest], roots: Iterable[Node]) -> None:
    """Memory for what nests store: an input's where that may be. Those that share a loop over rows hand memory on to one another."""
    if len(nests) > 1:
        _place_in_rows(emitter, nests)
        return
    free = _read_where_written(nests[0])
    for root in roots:
        _place(emitter, root, free)


def _place_in_rows(emitter: GraphEmitter, nests: Sequence[Nest]) -> None:
    """Memory for what nests store row by row: what the last reader of a row makes of it, element by element, is stored over it."""
    stored: dict[Node, Node] = {}  # with what has its memory in the end
    for k, nest in enumerate(nests):
        free = [n for n in _read_where_written(nest) if n in stored and _is_read_last(emitter, n, nests[k + 1 :])]
        for root in nest.roots:
            if not root.op.reduction:
                old = next((n for n in free if n not in emitter.targets and _alike(n, root)), None)
                if old is not None:
                    free.remove(old)
                    stored[old] = root
                stored[root] = root
    for root, heir in stored.items():
        while stored[heir] is not heir:
            heir = stored[heir]
        if heir not in emitter.values:
            emitter.values[heir] = emitter.memory_for(heir)
        emitter.values[root] = emitter.values[heir]


def _is_read_last(emitter: GraphEmitter, node: Node, later: Iterable[Nest]) -> bool:
    """Whether nothing reads a node but the group being written, and in it none of these nests."""
    return emitter.last.get(node, -1) <= emitter.now and not any(
        same_memory(n) is node for nest in later for n in nest.nodes()[0]
    )


def place_epilogue(emitter: GraphEmitter, unit: FusedMatMul, factors: Sequence[Node], sums_in_registers: bool) -> None:
    """Memory for what an epilogue stores. One root keeps memory of its own, in which sums may be, unless they need none."""
    arrays = dict.fromkeys(same_memory(e.leaf) for e in loads_of(unit.roots.values()))
    free = [n for n in arrays if n is not unit.node and unit.may_overwrite(n, factors)]
    for k, root in enumerate(unit.roots):
        _place(emitter, root, free if k or sums_in_registers else [])


def _place(emitter: GraphEmitter, root: Node, free: list[Node]) -> None:
    old = next((n for n in free if may_take_over(emitter, n, root)), None)
    if old is None:
        emitter.values[root] = emitter.memory_for(root)
        return
    free.remove(old)
    emitter.values[root] = emitter.value(old)
    emitter.hold(root, emitter.places.pop(old))


def may_take_over(emitter: GraphEmitter, old: Node, root: Node) -> bool:
    """Whether a root may have an array's memory, as far as that is known without what the unit reads."""
    if root in emitter.targets or isinstance(old.op, Pick) or len(emitter.places.get(old, ())) != 1:
        return False
    return _alike(old, root) and emitter.dies_here(old)


def _alike(old: Node, root: Node) -> bool:
    """Whether two arrays have as many bytes, element by element."""
    return prod(old.shape) == prod(root.shape) and old.spec.dtype.itemsize == root.spec.dtype.itemsize


def update_within_results(emitter: GraphEmitter) -> None:
    """Let what an update makes a result of, and nothing reads afterwards, be computed in the memory of that result."""
    place = {unit.node: k for k, unit in enumerate(emitter.units) if isinstance(unit, Kernel)}
    for node, pointer in list(emitter.targets.items()):
        while pointer in emitter.shared.results and isinstance(node.op, InPlace) and node in place:
            base = same_memory(node.inputs[0])
            if isinstance(base.op, (Param, Const, Pick)) or base in emitter.targets or base.spec != node.spec:
                break
            if emitter.last[base] != place[node]:
                break
            emitter.targets[base] = pointer
            node = base


def _read_where_written(nest: Nest) -> list[Node]:
    """The arrays that a nest reads at the index of its space alone."""
    loads: dict[Node, list[Load]] = {}
    for e in loads_of(nest.roots.values()):
        loads.setdefault(same_memory(e.leaf), []).append(e)
    whole = tuple(contiguous(nest.space))
    return [n for n, reads in loads.items() if all(e.offset == 0 and e.strides == whole for e in reads)]

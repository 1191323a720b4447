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
from adjoint.backends.native.plan.units import Nest
from adjoint.graph.node import Node, Pick

if TYPE_CHECKING:
    from adjoint.backends.native.emit.graph_emitter import GraphEmitter


def place_stores(emitter: GraphEmitter, nests: Sequence[Nest], roots: Iterable[Node]) -> None:
    """Memory for what nests store: an input's where that may be. Nests that share a loop over rows have memory of their own."""
    free = _read_where_written(nests[0]) if len(nests) == 1 else []
    for root in roots:
        _place(emitter, root, free)


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
    emitter.places[root] = emitter.places.pop(old)


def may_take_over(emitter: GraphEmitter, old: Node, root: Node) -> bool:
    """Whether a root may have an array's memory, as far as that is known without what the unit reads."""
    if root in emitter.targets or isinstance(old.op, Pick) or len(emitter.places.get(old, ())) != 1:
        return False
    alike = prod(old.shape) == prod(root.shape) and old.spec.dtype.itemsize == root.spec.dtype.itemsize
    return alike and emitter.dies_here(old)


def _read_where_written(nest: Nest) -> list[Node]:
    """The arrays that a nest reads at the index of its space alone."""
    loads: dict[Node, list[Load]] = {}
    for e in loads_of(nest.roots.values()):
        loads.setdefault(same_memory(e.leaf), []).append(e)
    whole = tuple(contiguous(nest.space))
    return [n for n, reads in loads.items() if all(e.offset == 0 and e.strides == whole for e in reads)]

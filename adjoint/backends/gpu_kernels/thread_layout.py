"""How the points of a nest are shared among the blocks and threads of a GPU."""

from __future__ import annotations

from dataclasses import dataclass
from math import gcd, prod
from typing import Any

import numpy as np

from adjoint.backends.native.dtypes import is_computed
from adjoint.backends.native.plan.coalesce_axes import coalesced, loads_of
from adjoint.backends.native.plan.loop_expressions import Load, Scalar, within
from adjoint.backends.native.plan.units import Nest, cuts, nodes_of
from adjoint.core.spec import Spec, float32, float64
from adjoint.graph.node import Node

THREADS = 256  # of a block
WARP = 32
WARPS = THREADS // WARP
WIDTH = 4  # elements that a thread takes at once
PROCESSORS = 132  # of a large GPU
PER_PROCESSOR = (16, 20, 24, 28, 32)  # how many blocks each of them may be given, whose threads go on to further points
SHORT_ROW = 1024  # a row of so many elements is the work of one warp, a longer one that of a block
MOST_POINTS = 1 << 30  # indices are of 32 bits
FOLDS = frozenset(("sum", "max", "min"))


@dataclass(frozen=True)
class BlockReduction:
    """A reduction: how it combines, the dtype of a thread's own sums and that in which sums of threads are added up."""

    node: Node
    kind: str
    lane: np.dtype
    total: np.dtype


class ThreadLayout:
    """The space of a nest, and who computes which part of it.

    In a "map" there are no reductions. In a "full" one all axes are reduced: each block leaves a partial result. In "rows" the
    last axis is reduced: a warp or a block does a row.
    """

    def __init__(self, nest: Nest) -> None:
        self.roots = nest.roots
        self.loads: list[Load] = loads_of(nest.roots.values())
        self.scalars = list(dict.fromkeys(e.leaf for e in within(nest.roots.values()) if isinstance(e, Scalar)))
        self.space, steps, gone = coalesced(nest, self.loads)
        self.strides = dict(zip(map(id, self.loads), steps, strict=False))
        self.stores: dict[Node, tuple[int, ...]] = {}
        self.folds: list[BlockReduction] = []
        flags = set()
        for root, stride, away in zip(nest.roots, steps[len(self.loads) :], gone, strict=False):
            if root.op.reduction:
                flags.add(away)
            else:
                self.stores[root] = stride
        self.kind = _kind(flags)
        self.rows = prod(self.space[:-1])
        self.folds = [self._fold(root) for root in nest.roots if root.op.reduction]
        #: What the kernel reads.
        self.inputs = list(dict.fromkeys([*(e.leaf for e in self.loads), *self.scalars]))
        last = self.space[-1]
        along = [self.strides[id(e)][-1] for e in self.loads] + [s[-1] for s in self.stores.values()]
        whole = last % WIDTH == 0 or (len(self.space) == 1 and last >= WIDTH)
        self.width = WIDTH if whole and (1 in along or not along) else 1
        self.warp_rows = self.kind == "rows" and last <= SHORT_ROW
        self.blocks = self._blocks()

    def _fold(self, root: Node) -> BlockReduction:
        kind, dtype = root.op.reduction, root.spec.dtype
        wide = kind == "sum" and dtype == float32 and (self.kind == "full" or self.space[-1] > SHORT_ROW)
        return BlockReduction(root, kind, dtype, float64 if wide else dtype)

    def _blocks(self) -> int:
        if self.kind == "rows":
            return -(-self.rows // WARPS) if self.warp_rows else self.rows
        return shared_out(max(self.items, 1))

    @property
    def items(self) -> int:
        """How many steps all threads of a map or a full reduction take together; those at the end of a single axis come on top."""
        return self.rows * (self.space[-1] // self.width)

    @property
    def left(self) -> int:
        """How many elements of a single axis are left when all vectors are full."""
        return self.space[-1] % self.width

    def alignment(self, strides: tuple[int, ...], offset: int, dtype: np.dtype) -> int:
        """Of which number of bytes the address of a vector is a multiple; arrays begin at multiples of 16 and more."""
        elements = gcd(offset, self.width, *strides[:-1])
        return min(dtype.itemsize * elements, 16)

    @property
    def results(self) -> list[Spec]:
        """What the kernel writes: what is stored, what is reduced, and partial results of blocks."""
        found = [root.spec for root in (*self.stores, *(f.node for f in self.folds))]
        if self.kind == "full":
            found += [Spec((self.blocks,), f.total) for f in self.folds]
        return found

    @property
    def made(self) -> list[Node]:
        """The nodes that the first results are."""
        return [*self.stores, *(f.node for f in self.folds)]


def shared_out(items: int) -> int:
    """Into how many blocks steps are shared out: as many for each processor, of which the last is not left with few."""
    steps = -(-items // (THREADS * PROCESSORS))  # steps of a thread, if there were one block for each processor
    if steps <= PER_PROCESSOR[0]:
        return -(-items // THREADS)
    return PROCESSORS * min(PER_PROCESSOR, key=lambda many: -(-steps // many) * many)


def _kind(flags: set[tuple[bool, ...]]) -> str:
    if not flags:
        return "map"
    (away,) = flags
    return "full" if all(away) else "rows"


def obstacle(nest: Nest) -> str:
    """Why a nest can be no kernel; empty if it can."""
    if not 0 < prod(nest.space) <= MOST_POINTS or any(n < 1 for n in nest.space):
        return f"a space of {nest.space}"
    if strange := [
        n.spec.dtype for n in (*nodes_of(nest.roots.values())[0], *nest.roots) if not is_computed(n.spec.dtype)
    ]:
        return f"values of {strange[0]}"
    if cuts(nest.roots.values()):
        return "slices that are set"
    flags = {tuple(axis in root.op.axes for axis in range(len(nest.space))) for root in nest.roots if root.op.reduction}
    if flags and not all(all(f) for f in flags):
        *_, gone = coalesced(nest, loads_of(nest.roots.values()))
        shapes = {g for g, root in zip(gone, nest.roots, strict=True) if root.op.reduction}
        if len(shapes) > 1 or any(not g[-1] or any(g[:-1]) for g in shapes):
            return "a reduction along other axes than all or the last"
    for root in nest.roots:
        if root.op.reduction and (root.op.reduction not in FOLDS or root.spec.dtype.kind not in "fi"):
            return f"{type(root.op).__name__} of {root.spec.dtype}"
    return ""


def sizes(nest: Nest) -> tuple[int, int]:
    """Bytes that a nest reads and writes, and how many expensive steps it takes at each point."""
    leaves, applied = nodes_of(nest.roots.values())
    nodes: Any = (*leaves, *nest.roots)
    return sum(prod(n.shape) * n.spec.dtype.itemsize for n in nodes), sum(n.op.expensive for n in applied)

"""What follows a product point by point is computed while its tile is near: bias, activation, residual, a step of descent.

A nest that reads a product where it stores its own values becomes the epilogue of that product. What the nest adds up stays
behind, in a nest that reads what the epilogue has stored.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from math import prod
from typing import Any

from adjoint.backends.native.emit.expression_code import Point, expression_dtype
from adjoint.backends.native.emit.lanes import Lanes
from adjoint.backends.native.emit.llvm_ir import Code
from adjoint.backends.native.emit.vector_access import put
from adjoint.backends.native.kernels import gemm
from adjoint.backends.native.kernels.gemm_tiles import Spot
from adjoint.backends.native.plan.coalesce_axes import loads_of
from adjoint.backends.native.plan.loop_expressions import Choice, Expr, contiguous, within
from adjoint.backends.native.plan.units import Kernel, Nest, Plan, Unit, parts_of, same_memory
from adjoint.graph.node import Const, Node, Param, Pick
from adjoint.ops.contract import MatMul

NARROW = 8  # columns below which a product has no epilogue


@dataclass(eq=False)
class Fused(Kernel):
    """A product and what is made of it."""

    roots: dict[Node, Expr]
    rows: dict[int, tuple[int, int]]  # for each load, the distances between rows and between columns
    kept: bool  # whether the product itself is wanted too

    def reads(self) -> list[Node]:
        """What the roots need, the product apart."""
        return [n for n in parts_of(self.roots.values())[0] if same_memory(n) is not self.node]

    def may_overwrite(self, root: Node, node: Node, factors: Iterable[Node]) -> bool:
        """Whether a root may be stored over an array: it is read where it is written, if at all."""
        loads = [e for e in loads_of(self.roots.values()) if same_memory(e.leaf) is node]
        here = all(e.offset == 0 and self.rows[id(e)] == (columns(self.node), 1) for e in loads)
        return here and all(same_memory(f) is not node for f in factors)


def columns(product: Node) -> int:
    """How many columns a product is computed with: a vector on the right is one column, which is no axis of the result."""
    right = product.inputs[1]
    return right.shape[-1] if right.ndim > 1 else 1


def folded(plan: Plan, reads: Callable[[Unit], Iterable[Node]]) -> list[Unit]:
    """The units of a plan, nests folded into the products that they follow."""
    units = list(plan.units)
    made: dict[Node, int] = {n: -1 for n in plan.graph.nodes if isinstance(n.op, (Param, Const))}
    readers: dict[Node, set[int]] = {}
    for k, unit in enumerate(units):
        for node in unit.roots if isinstance(unit, Nest) else (unit.node,):
            made[node] = k
        for node in reads(unit):
            readers.setdefault(same_memory(node), set()).add(k)
    wanted = {same_memory(node) for node in plan.graph.outputs}
    gone: set[int] = set()
    for j, nest in enumerate(units):
        if not isinstance(nest, Nest) or not prod(nest.space):
            continue
        k = max([made[m] for n in nest.parts()[0] if _has_epilogue(m := same_memory(n)) and m in made], default=-1)
        product = units[k]
        if k < 0 or type(product) is not Kernel:
            continue
        node = product.node
        rows: dict[int, tuple[int, int]] = {}
        roots = {
            root: e
            for root, e in nest.roots.items()
            if not root.op.reduction and _fits(e, nest.space, node, lambda n: made.get(_source(n), k) < k, rows)  # noqa: B023
        }
        rest = _without(nest, roots, plan)
        if roots and not any(same_memory(n) is node for n in rest.parts()[0]):
            kept = node in wanted or readers[node] != {j}
            units[k] = Fused(node, roots, rows, kept)
            made |= dict.fromkeys(roots, k)
            units[j] = rest
            if not rest.roots:
                gone.add(j)
    return [unit for j, unit in enumerate(units) if j not in gone]


def _source(node: Node) -> Node:
    """The node whose unit makes this one."""
    return node.inputs[0] if isinstance(node.op, Pick) else node


def _has_epilogue(node: Node) -> bool:
    return isinstance(node.op, MatMul) and node.ndim > 1 and columns(node) >= NARROW and node.spec.dtype.kind == "f"


def _without(nest: Nest, roots: Iterable[Node], plan: Plan) -> Nest:
    """What is left of a nest without some roots, which are then in memory."""
    rest = Nest(nest.space, plan.in_memory)
    rest.inside = nest.inside - set(roots)
    for root in nest.roots:
        if root not in roots:
            rest.roots[root] = rest.writer.at_each_point(root if root in rest.inside else root.inputs[0])
    return rest


def _fits(
    e: Expr, space: Sequence[int], product: Node, before: Callable[[Node], bool], rows: dict[int, tuple[int, int]]
) -> bool:
    """Whether an expression can be an epilogue: it reads the product where it is computed, and all else is there before.

    Notes how its loads go along rows and columns.
    """
    if (
        space[-1] != columns(product)
        or prod(space) != prod(product.shape)
        or any(isinstance(part, Choice) for part in within([e]))
    ):
        return False
    reads = {same_memory(n) for n in parts_of([e])[0]}
    if product not in reads or not all(n is product or before(n) for n in reads):
        return False
    line = space[-1] if prod(space[:-1]) > 1 else 0
    for load in loads_of([e]):
        steps = _row_step(load.strides[:-1], space[:-1]), load.strides[-1]
        if steps[0] is None or steps[1] not in (0, 1):
            return False
        if same_memory(load.leaf) is product and (load.offset, *steps) != (0, line, 1):
            return False
        rows[id(load)] = steps  # type: ignore[assignment]
    return True


def _row_step(strides: Sequence[int], sizes: Sequence[int]) -> int | None:
    """The one stride of several axes taken together, None if they have none."""
    axes = [(s, c) for s, c, n in zip(strides, contiguous(sizes), sizes, strict=True) if n > 1]
    if not axes:
        return 0
    step = axes[-1][0] // axes[-1][1]
    return step if all(s == step * c for s, c in axes) else None


# ---------------------------------------------------------------- code


def sums_place(frame: Any, unit: Fused) -> str | None:
    """Memory of the product's shape in which its sums may be: its own, or that of a root which nothing is read from."""
    if unit.kept:
        frame.values[unit.node] = frame.place(unit.node)
        return frame.values[unit.node]
    read = {frame.value(n) for n in unit.reads()}
    own = [frame.value(r) for r in unit.roots if r.spec.dtype == unit.node.spec.dtype]
    return next((place for place in own if place not in read), None)


def written(frame: Any, unit: Fused) -> gemm.Epilogue:
    """The code of the epilogue."""
    leaves = unit.reads()
    arrays = [*leaves, *unit.roots]
    line = (columns(unit.node), 1)
    alike = {e.leaf for e in loads_of(unit.roots.values()) if (e.offset, unit.rows[id(e)]) == (0, line)}

    def write(spot: Spot) -> None:
        code, width = spot.code, spot.width
        values = dict(zip(arrays, spot.captured, strict=True))

        def begin(pointer: str, offset: int, row_step: int, step: int, dtype: Any) -> str:
            at = code.add(offset, code.add(code.mul(spot.row, row_step), code.mul(spot.column, step)))
            return code.element(pointer, at, dtype)

        bases = {
            id(e): spot.sums
            if same_memory(e.leaf) is unit.node
            else begin(values[e.leaf], e.offset, *unit.rows[id(e)], e.leaf.spec.dtype)
            for e in loads_of(unit.roots.values())
        }
        targets = [begin(values[root], 0, columns(unit.node), 1, root.spec.dtype) for root in unit.roots]
        point = Point(Row(code, values, unit.rows), bases, {})
        for e in unit.roots.values():
            point.hoist(e)
        for v, mask in enumerate(spot.masks):
            at = point.at(str(v * width), width, mask)
            found = [at(e) for e in unit.roots.values()]  # before the first store, which may be over an input
            for (root, e), value, target in zip(unit.roots.items(), found, targets, strict=True):
                value = Lanes(code, width).cast(value, expression_dtype(e), root.spec.dtype)
                put(code, value, target, 1, str(v * width), root.spec.dtype, width, mask)

    given = [(frame.value(n), None if n.shape else n.spec.dtype) for n in arrays]
    near = [(k, n.spec.dtype) for k, n in enumerate(arrays) if n in alike or n in unit.roots]
    return gemm.Epilogue(write, given, near)


@dataclass(frozen=True)
class Row:
    """What a point has to know: where numbers are, and how loads go on along the row."""

    code: Code
    values: dict[Any, str]
    strides: dict[int, tuple[int, int]]

    def chosen(self, e: Expr) -> Expr:
        return e

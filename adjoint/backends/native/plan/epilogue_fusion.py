"""What follows a matrix product element by element becomes its epilogue: bias, activation, residual, a step of descent.

A nest that reads a product where it stores its own values becomes the epilogue of that product, computed on each tile while it
is in the cache. What the nest adds up stays behind, in a nest that reads what the epilogue has stored.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from math import prod

from adjoint.backends.native.node_facts import same_memory
from adjoint.backends.native.plan import matmul_operands
from adjoint.backends.native.plan.coalesce_axes import loads_of
from adjoint.backends.native.plan.loop_expressions import Choice, Expr, contiguous, within
from adjoint.backends.native.plan.units import Kernel, Nest, Plan, Unit, nodes_of
from adjoint.graph.node import Const, Node, Param, Pick
from adjoint.ops.contract import MatMul

NARROW = 8  # columns below which a product has no epilogue


@dataclass(eq=False)
class FusedMatMul(Kernel):
    """A matrix product and its epilogue."""

    roots: dict[Node, Expr]
    rows: dict[int, tuple[int, int]]  # for each load, the distances between rows and between columns
    kept: bool  # whether the product itself is wanted too

    def reads(self) -> list[Node]:
        """What the roots need, the product apart."""
        return [n for n in nodes_of(self.roots.values())[0] if same_memory(n) is not self.node]

    def may_overwrite(self, node: Node, factors: Iterable[Node]) -> bool:
        """Whether a root may be stored over an array: the array is read where the root is written, if at all."""
        loads = [e for e in loads_of(self.roots.values()) if same_memory(e.leaf) is node]
        here = all(e.offset == 0 and self.rows[id(e)] == (matmul_operands.columns(self.node), 1) for e in loads)
        return here and all(same_memory(f) is not node for f in factors)


def with_epilogues(plan: Plan, reads: Callable[[Unit], Iterable[Node]]) -> list[Unit]:
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
        if not isinstance(nest, Nest) or not prod(nest.space) or nest.late:
            continue
        k = max([made[m] for n in nest.nodes()[0] if _has_epilogue(m := same_memory(n)) and m in made], default=-1)
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
        if roots and not any(same_memory(n) is node for n in rest.nodes()[0]):
            kept = node in wanted or readers[node] != {j}
            units[k] = FusedMatMul(node, roots, rows, kept)
            made |= dict.fromkeys(roots, k)
            units[j] = rest
            if not rest.roots:
                gone.add(j)
    return [unit for j, unit in enumerate(units) if j not in gone]


def _source(node: Node) -> Node:
    """The node whose unit makes this one."""
    return node.inputs[0] if isinstance(node.op, Pick) else node


def _has_epilogue(node: Node) -> bool:
    return (
        isinstance(node.op, MatMul)
        and node.ndim > 1
        and matmul_operands.columns(node) >= NARROW
        and node.spec.dtype.kind == "f"
    )


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
        space[-1] != matmul_operands.columns(product)
        or prod(space) != prod(product.shape)
        or any(isinstance(part, Choice) for part in within([e]))
    ):
        return False
    reads = {same_memory(n) for n in nodes_of([e])[0]}
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

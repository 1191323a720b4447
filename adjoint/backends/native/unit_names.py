"""What the units of a kernel are, in words: for `explain` and for profiles."""

from __future__ import annotations

import itertools

from adjoint.backends.native.emit.function_state import FunctionState
from adjoint.backends.native.emit.llvm_ir import Module
from adjoint.backends.native.emit.planned_graph import planned
from adjoint.backends.native.plan.epilogue_fusion import FusedMatMul
from adjoint.backends.native.plan.independent_branches import SideBySide
from adjoint.backends.native.plan.units import Kernel, Nest, Register, Unit, nodes_of
from adjoint.graph.node import Graph, Node


def units_shown(graph: Graph, bits: int) -> list[str]:
    """The units of work that the code of a graph consists of, in order: what each one is and the ops it computes."""
    targets = {k: f"%target{k}" for k, o in enumerate(graph.outputs) if o.shape}
    emitter = planned(FunctionState(Module(), bits), graph, [f"%x{k}" for k in range(len(graph.params))], targets)
    order = {node: k for k, node in enumerate(emitter.graph.nodes)}
    lines = []
    for scalars, groups in itertools.groupby((g for g, _ in emitter.groups), lambda g: isinstance(g[0], Register)):
        for group in [list(itertools.chain.from_iterable(groups))] if scalars else groups:
            nodes = sorted({n for unit in group for n in computed(unit)}, key=lambda n: order[n])
            what = "row-fused loops" if len(group) > 1 and not scalars else NAMES[type(group[0])]
            if isinstance(nodes[0].op, SideBySide):
                what, nodes = "branches side by side", [n for b in nodes[0].op.branches for n in b.calls]
            spaces = " then ".join(str(unit.space) for unit in group if isinstance(unit, Nest))
            names = ", ".join(type(n.op).__name__ for n in nodes)
            lines.append(f"{what} over {spaces}: {names}" if spaces else f"{what}: {names}")
    return lines


def computed(unit: Unit) -> list[Node]:
    """The nodes that a unit computes, stored or not."""
    if isinstance(unit, (Nest, FusedMatMul)):
        inside = [*nodes_of(unit.roots.values())[1], *unit.roots]
        return inside if isinstance(unit, Nest) else [unit.node, *inside]
    return [unit.node]


NAMES = {Nest: "loop nest", Kernel: "kernel", FusedMatMul: "product with epilogue", Register: "scalars"}

"""Graph -> graph in which nests that gain by it are calls of kernels of our own; elsewhere XLA fuses as it does."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from math import prod
from typing import Any, ClassVar

from adjoint.backends.gpu_kernels.thread_layout import ThreadLayout, obstacle, sizes
from adjoint.backends.native.node_facts import IN_NESTS
from adjoint.backends.native.plan.units import Nest, Plan
from adjoint.backends.native.rewrite.canonical import without_axes
from adjoint.core.errors import GpuKernelError
from adjoint.core.spec import Spec
from adjoint.graph.inplace import InPlace
from adjoint.graph.node import Builder, Graph, Node, Structural
from adjoint.graph.rewrite import Make, changed, rebuild
from adjoint.ops.families import Elementwise

LEAST_BYTES = 1 << 22  # that a nest reads and writes, from which on a kernel of our own was measured to be faster
LEAST_POINTS = 1 << 16  # of such a nest
LEAST_FUNCTIONS = 3  # elementary functions at a point, likewise


@dataclass(frozen=True, eq=False)
class KernelCall(Structural):
    """The call of a kernel: what it computes of its inputs, and the name by which XLA knows it."""

    opaque: ClassVar[bool] = True  # no table of Specs holds it

    geometry: ThreadLayout
    target: str

    def infer(self, *_: Spec) -> tuple[Spec, ...]:
        return tuple(node.spec for node in self.geometry.made)

    def run(self, *arrays: Any) -> tuple[Any, ...]:
        """The results, as values that JAX traces."""
        import jax

        results = [jax.ShapeDtypeStruct(s.shape, s.dtype) for s in self.geometry.results]
        found = jax.ffi.ffi_call(self.target, results)(*arrays)
        return tuple(found[: len(self.geometry.made)])

    def __str__(self) -> str:
        return f"KernelCall({self.target})"


@dataclass
class WithKernels:
    """What became of a graph."""

    graph: Graph
    kernels: list[str] = field(default_factory=list)  # what each kernel computes
    left: list[str] = field(default_factory=list)  # why nests were left to XLA

    def explain(self) -> str:
        """Which kernels there are, and why there are no others."""
        return "\n".join([*(f"  own kernel: {k}" for k in self.kernels), *(f"  left to XLA: {w}" for w in self.left)])


def replaced(
    graph: Graph, register: Callable[[ThreadLayout], str], worth: Callable[[Nest], str] | None = None
) -> WithKernels:
    """The graph with kernels in it. `register` makes a kernel known to XLA and gives its name; `worth` says why one is not wanted.

    Without a `worth`, kernels are where they were measured to be faster than XLA.
    """
    if worth is None and not any(map(_is_large_total, graph.nodes)):
        return WithKernels(graph)  # most graphs: they need no plan
    if any(n < 0 for node in graph.nodes for s in _specs(node) for n in s.shape):
        return WithKernels(graph, left=["sizes that are known at run time only"])
    better = rebuild_top(graph)
    found = WithKernels(better)
    calls: dict[Node, tuple[Nest, ThreadLayout, str]] = {}
    for nest in (unit for unit in Plan(better).units if isinstance(unit, Nest)):
        shown = _shown(nest)
        why = obstacle(nest) or (worth or not_worth)(nest)
        if not why:
            try:
                geometry = ThreadLayout(nest)
                target = register(geometry)
            except GpuKernelError as error:
                why = str(error)
        if why:
            found.left.append(f"{shown}: {why}")
            continue
        found.kernels.append(shown)
        calls |= dict.fromkeys(geometry.made, (nest, geometry, target))
    found.graph = _with_calls(better, calls) if calls else graph
    return found


def _specs(node: Node) -> list[Spec]:
    return list(node.spec) if isinstance(node.spec, tuple) else [node.spec]


def _shown(nest: Nest) -> str:
    names = dict.fromkeys(type(n.op).__name__ for n in (*nest.nodes()[1], *nest.roots))
    return f"over {nest.space}: {', '.join(names)}"


def not_worth(nest: Nest) -> str:
    """Why XLA is as fast; empty where a kernel of our own was measured to be faster.

    XLA makes one pass for a total and another for what is stored, and computes the same elementary functions in both.
    """
    size, expensive = sizes(nest)
    if size < LEAST_BYTES:
        return f"{size} bytes are too few"
    if any(n.op.calls for n in nest.nodes()[1]):
        return "SciPy computes some of it"
    totals = [root for root in nest.roots if root.op.reduction]
    if not totals or len(totals) == len(nest.roots) or any(prod(root.shape) > 1 for root in totals):
        return "one pass of XLA's"
    return "" if expensive >= LEAST_FUNCTIONS else f"{expensive} elementary functions are too few"


def _is_large_total(node: Node) -> bool:
    """Whether a node may be the total of a nest for which a kernel is worth while."""
    if not node.op.reduction or isinstance(node.spec, tuple) or prod(node.shape) != 1:
        return False
    return prod(node.inputs[0].shape) >= LEAST_POINTS


def rebuild_top(graph: Graph) -> Graph:
    """The graph in the forms that nests are made of: nothing in place, means as sums, reductions that drop their axes."""

    def rule(builder: Builder, node: Node, inputs: tuple[Node, ...]) -> Node | None:
        op = node.op
        if isinstance(op, InPlace) and isinstance(op.op, Elementwise):
            return builder.build(op.op, inputs)
        if op.reduction in IN_NESTS and op.keepdims and op.axes:
            return without_axes(builder, op, inputs[0])
        return op.expand(Make(builder), *inputs) if op.reduction == "mean" else None

    return rebuild(graph, rule)


def _with_calls(graph: Graph, calls: dict[Node, tuple[Nest, ThreadLayout, str]]) -> Graph:
    """The graph with the roots of nests as results of calls."""
    builder = Builder()
    found: dict[Node, Node] = {p: p for p in graph.params}
    made: dict[int, Node] = {}
    needed: list[Node] = list(reversed([*graph.params, *graph.effects, *graph.outputs]))
    while needed:  # a root needs what its kernel reads, not what it is made of in the graph
        node = needed[-1]
        if node in found:
            needed.pop()
            continue
        call = calls.get(node)
        inputs = node.inputs if call is None else call[1].inputs
        missing = [i for i in inputs if i not in found]
        if missing:
            needed += missing
            continue
        new = tuple([found[i] for i in inputs])
        if call is None:
            found[node] = builder.keep(node, node.op, new)
        else:
            nest, geometry, target = call
            if id(nest) not in made:
                made[id(nest)] = builder.build(KernelCall(geometry, target), new)
            found[node] = builder.pick(made[id(nest)], geometry.made.index(node))
        needed.pop()
    return changed(graph, found)

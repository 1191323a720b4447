"""The steps of a forward graph as the choice of checkpoints sees them: costs, bytes, and what the backward pass reads."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from math import prod
from typing import Any

from adjoint.core.absent import ZERO, instantiate
from adjoint.core.dispatch import Value
from adjoint.core.spec import Spec
from adjoint.graph.nested import float_positions
from adjoint.graph.node import Const, Graph, Node, Param, Pick
from adjoint.graph.trace import trace
from adjoint.graph.walk import apply, interpret
from adjoint.passes.checkpoint_choice import Item, lower_sets
from adjoint.passes.cost import Work, work
from adjoint.transforms.tape import Tape, sweep

GROUPS = 72  # the steps of a larger graph are taken together


@dataclass(frozen=True)
class Forward:
    """The steps of a forward graph, as items, and the lower sets at which it may be cut."""

    graph: Graph
    steps: tuple[Node, ...]
    items: tuple[Item, ...]
    family: tuple[int, ...]
    cost: int  # of the forward and the backward pass


def forward_items(graph: Graph, wanted: Sequence[int], most: int = GROUPS) -> Forward:
    """The items of a graph that is to be differentiated by the `wanted` inputs."""
    needed, backward = read_by_backward(graph, wanted)
    steps = [n for n in graph.nodes if not (isinstance(n.op, (Param, Const, Pick)) or is_free(n))]
    items = _items(graph, steps, {maker(source(n)) for n in needed})
    total = sum(x.cost for x in items) + backward
    return Forward(graph, tuple(steps), tuple(items), tuple(_family(items, most)), total)


def is_free(node: Node) -> bool:
    """Whether a node computes nothing and holds nothing: it shows what another one holds."""
    return node.op.view or node.op.same_bytes


def source(node: Node) -> Node:
    """The node that holds what this one shows."""
    while is_free(node):
        node = node.inputs[0]
    return node


def maker(node: Node) -> Node:
    """The step that makes a value: the call, of one of several results."""
    return node.inputs[0] if isinstance(node.op, Pick) else node


def bytes_of(spec: Spec | tuple[Spec, ...]) -> int:
    """The bytes of a value, as far as its size is known."""
    if isinstance(spec, tuple):
        return sum(map(bytes_of, spec))
    return prod(max(n, 0) for n in spec.shape) * spec.dtype.itemsize


def _time(w: Work) -> int:
    """About how long some work takes: eight operations in the time of a byte."""
    return max(w.flops // 8, w.bytes)


def read_by_backward(graph: Graph, wanted: Sequence[int]) -> tuple[set[Node], int]:
    """The nodes whose values the backward pass of a graph reads, and about how long that pass takes."""
    made: dict[Node, Any] = {}
    active = float_positions(graph.specs)
    n = len(graph.params)

    def step(node: Node, values: list[Any]) -> Any:
        y = apply(node, values)
        if not isinstance(y, tuple):
            made[node] = _bottom(y)
        return y

    def pulled(*xs: Any) -> list[Any]:
        tape, inputs = Tape(), list(xs[:n])
        for i in wanted:
            inputs[i] = tape.track(xs[i])
        made.update((p, x._value) for p, x in zip(graph.params, xs, strict=False))
        ys = interpret(graph, inputs, step)
        found = sweep(tape.seeds([ys[i] for i in active], xs[n:]))
        return [instantiate(found.get(inputs[i]._extra, ZERO), xs[i]) for i in wanted]

    strong = [Spec(s.shape, s.dtype) for s in (graph.outputs[i].spec for i in active)]
    whole = trace(pulled, [*(p.spec for p in graph.params), *strong], "backward", "grad", replayed=True)[0]
    forward = {y: node for node, y in made.items() if isinstance(y, Node)}
    later = [x for x in whole.nodes if x not in forward and not isinstance(x.op, (Param, Const))]
    calls = {x.inputs[0] for x in forward if isinstance(x.op, Pick)}
    later = [x for x in later if x not in calls]
    return {forward[i] for x in later for i in x.inputs if i in forward}, sum(_time(work(x)) for x in later)


def _bottom(y: Any) -> Any:
    while isinstance(y, Value):
        y = y._value
    return y


def _items(graph: Graph, steps: Sequence[Node], needed: set[Node]) -> list[Item]:
    """Each step as an item. Effects stay in their order."""
    place = {node: k for k, node in enumerate(steps)}
    size = {node: bytes_of(node.spec) for node in steps}
    before = dict(zip(graph.effects[1:], graph.effects, strict=False))
    found = []
    for node in steps:
        reads = [maker(source(i)) for i in node.inputs]
        reads = [i for i in reads if i in place]
        after = [before[node]] if before.get(node) in place else []
        working = size[node] + max((size[i] for i in reads), default=0)
        needs = size[node] if node in needed else 0
        inputs = tuple(dict.fromkeys(place[i] for i in (*reads, *after)))
        found.append(Item(_time(work(node)), size[node], needs, inputs, working))
    return found


def _family(items: Sequence[Item], most: int) -> list[int]:
    """Lower sets of the items, a few hundred at the most; in a large graph those of groups of items."""
    ends = _ends(items, most)
    starts = [0, *ends[:-1]]
    group = {k: g for g, (a, b) in enumerate(zip(starts, ends, strict=True)) for k in range(a, b)}
    reads: list[set[int]] = [set() for _ in ends]
    for k, item in enumerate(items):
        reads[group[k]].update(group[i] for i in item.inputs if group[i] != group[k])
    masks = [(1 << b) - (1 << a) for a, b in zip(starts, ends, strict=True)]
    found = lower_sets([tuple(r) for r in reads], most + 1)
    return [sum(m for g, m in enumerate(masks) if s >> g & 1) for s in found]


def _ends(items: Sequence[Item], most: int) -> list[int]:
    """Where groups end: everywhere, or in a large graph at places with little to hold, about evenly by what is needed."""
    n = len(items)
    if n <= most:
        return list(range(1, n + 1))
    held, unneeded = _held_at(items)
    weight = [item.needed + item.bytes / 64 + item.cost / 1024 for item in items]
    total, run = sum(weight) or 1, 0.0
    best: dict[int, tuple[float, float, int]] = {}
    for k in range(1, n):
        run += weight[k - 1]
        found = (held[k], unneeded[k], -k)
        slice_ = min(int(run / total * most), most - 1)
        best[slice_] = min(best.get(slice_, found), found)
    return [*sorted(-k for _, _, k in best.values()), n]


def _held_at(items: Sequence[Item]) -> tuple[list[int], list[int]]:
    """Before each item, the bytes that later ones read of earlier ones; and those among them that no backward pass needs."""
    last = [-1] * len(items)
    for k, item in enumerate(items):
        for i in item.inputs:
            last[i] = k
    held, unneeded = [0] * (len(items) + 1), [0] * (len(items) + 1)
    for i, item in enumerate(items):
        if last[i] > i:
            for row, size in ((held, item.bytes), (unneeded, 0 if item.needed else item.bytes)):
                row[i + 1] += size
                row[last[i] + 1] -= size
    for row in (held, unneeded):
        for k in range(1, len(row)):
            row[k] += row[k - 1]
    return held, unneeded

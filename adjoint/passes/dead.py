"""Dead code: what no result needs goes, inside branches and loops too.

A result of a branch or loop that nobody reads is not computed; a part of a loop's state that never changes is no state but
a constant; a constant of the graph outside is one inside.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace
from typing import Any

from adjoint.graph.control import UNKNOWN, Cond, Loop
from adjoint.graph.node import Builder, Const, Graph, Node, Pick


def dead(graph: Graph, final: bool = False) -> Graph:
    """Leave out the nodes that no result needs; of a `final` graph, of which no batch is made any more, guards that always say yes too.

    The examples of a batch may differ in their number of iterations: their loops need a guard where one alone does not.
    """
    return _pruned(graph, range(len(graph.outputs)), final)[0]


@dataclass(frozen=True, eq=False)
class _Narrow:
    """A branch or loop that computes less: the op, the inputs it takes, and where each old result is now.

    A result is a new result (`outputs`) or simply an input (`inputs`).
    """

    op: Any
    takes: tuple[int, ...]
    outputs: dict[int, int]
    inputs: dict[int, int]


def _pruned(graph: Graph, wanted: Iterable[int], final: bool) -> tuple[Graph, set[Node]]:
    """The graph with the wanted results alone, and the nodes of the old graph that it needs."""
    wanted = tuple(wanted)
    needed, narrow = _needs(graph, [graph.outputs[i] for i in wanted], final)
    builder = Builder()
    found: dict[Node, Node] = {p: p for p in graph.params}
    for node in graph.nodes:
        if node in found or node not in needed:
            continue
        if node in narrow:
            plan = narrow[node]
            inputs = tuple([found[node.inputs[i]] for i in plan.takes])
            found[node] = builder.keep(node, node.op if plan.op == node.op else plan.op, inputs)
        elif isinstance(node.op, Pick) and node.inputs[0] in narrow:
            call, index = node.inputs[0], node.op.index
            plan = narrow[call]
            if index in plan.inputs:
                found[node] = found[call.inputs[plan.inputs[index]]]
            elif found[call] is call:
                found[node] = builder.keep(node, node.op, (call,))
            else:
                found[node] = builder.pick(found[call], plan.outputs[index])
        else:
            found[node] = builder.keep(node, node.op, tuple([found[i] for i in node.inputs]))
    outputs = tuple([found[graph.outputs[i]] for i in wanted])
    effects = tuple([found[n] for n in graph.effects])
    if outputs == graph.outputs and effects == graph.effects:
        return graph, needed
    return replace(graph, outputs=outputs, effects=effects), needed


def _needs(graph: Graph, roots: Sequence[Node], final: bool) -> tuple[set[Node], dict[Node, _Narrow]]:
    """The nodes that the roots and the effects need, and how much of each branch and loop."""
    needed = {*roots, *graph.effects}
    wanted: dict[Node, set[int]] = {}
    narrow: dict[Node, _Narrow] = {}
    for node in reversed(graph.nodes):
        if node not in needed:
            continue
        if isinstance(node.op, Pick):
            wanted.setdefault(node.inputs[0], set()).add(node.op.index)
        if isinstance(node.op, (Cond, Loop)):
            shrink: Any = _narrow_loop if isinstance(node.op, Loop) else _narrow_cond
            plan = narrow[node] = shrink(node, sorted(wanted.get(node, ())), final)
            takes = {*plan.takes, *plan.inputs.values()}
            needed.update(node.inputs[i] for i in takes)
        else:
            needed.update(node.inputs)
    return needed, narrow


def _narrow_cond(node: Node, wanted: list[int], final: bool) -> _Narrow:
    constant = {i: n for i, n in enumerate(node.inputs[1:]) if isinstance(n.op, Const)}
    pruned = [_pruned(_with_constants(side, constant), wanted, final) for side in (node.op.true, node.op.false)]
    used = [i for i in range(len(node.inputs) - 1) if any(side.params[i] in needs for side, needs in pruned)]
    sides = [_with_params(side, used) for side, _ in pruned]
    return _Narrow(Cond(*sides), (0, *(i + 1 for i in used)), {w: k for k, w in enumerate(wanted)}, {})


def _narrow_loop(node: Node, wanted: list[int], final: bool) -> _Narrow:
    loop: Loop = node.op
    a, s = loop.carried, loop.stacked
    total = len(node.inputs)
    still = [i for i in range(a) if loop.body.outputs[i] is loop.body.params[i] and _same(node, i)]
    constant = {i: node.inputs[i] for i in (*still, *range(a + s, total)) if isinstance(node.inputs[i].op, Const)}
    body = _with_constants(loop.body, constant)
    test = loop.test and _with_constants(loop.test, {i if i < a else i - s: n for i, n in constant.items()})
    in_test = _pruned(test, [0], final)[1] if test else set()

    carry = [i for i in wanted if i < a and i not in still]
    results = [i for i in wanted if i >= a]
    if test:
        carry += [i for i in range(a) if test.params[i] in in_test and i not in carry and i not in still]
    while True:  # the state that the needed state needs
        outs = [*sorted(carry), *results]
        smaller, needs = _pruned(body, outs, final)
        more = [i for i in range(a) if smaller.params[i] in needs and i not in carry and i not in still]
        if not more:
            break
        carry += more
    carry = sorted(carry)
    guarded = loop.guarded and not _always(node.inputs[a], final)
    slices = [i for i in range(a, a + s) if smaller.params[i] in needs or (guarded and i == a)]
    length = loop.length
    if not slices and s and test is None and length is None:
        length = node.inputs[a].spec.shape[0]
        if length == UNKNOWN:
            slices, length = [a], None
    used = {i for i in (*still, *range(a + s, total)) if smaller.params[i] in needs}
    if test:
        used |= {i for i in still if test.params[i] in in_test}
        used |= {i for i in range(a + s, total) if test.params[i - s] in in_test}
    constants = sorted(used)
    counted = test is None or 0 in carry  # its derivative must know how many iterations there were
    test_params = [*carry, *(i if i < a else i - s for i in constants)]
    op = Loop(
        _with_params(smaller, [*carry, *slices, *constants]), len(carry), len(slices),
        test and _with_params(test, test_params), length, loop.backwards, guarded, loop.snapshots if counted else 0, loop.segment,
    )  # fmt: skip
    places = {w: k for k, w in enumerate(outs)}
    return _Narrow(op, (*carry, *slices, *constants), places, {i: i for i in still if i in wanted})


def _always(guard: Node, final: bool) -> bool:
    """Whether every iteration takes place: the loop that says so puts out the constant True."""
    if guard.spec.shape[0] == UNKNOWN and not final:
        return False
    if not (isinstance(guard.op, Pick) and isinstance(guard.inputs[0].op, Loop)):
        return False
    loop = guard.inputs[0].op
    told = loop.body.outputs[guard.op.index]
    return not loop.guarded and isinstance(told.op, Const) and bool(told.op.value)


def _same(node: Node, i: int) -> bool:
    """Whether a state begins with the dtype that it keeps."""
    begin, kept = node.inputs[i].spec, node.op.body.outputs[i].spec
    return begin.shape == kept.shape and begin.dtype == kept.dtype and not begin.weak


def _with_constants(graph: Graph, constants: dict[int, Node]) -> Graph:
    """The graph with constants in place of some inputs, which it then does not need any more."""
    known = {graph.params[i]: n for i, n in constants.items() if not n.spec.weak or graph.params[i].spec.weak}
    if not any(p in n.inputs for p in known for n in graph.nodes) and not any(o in known for o in graph.outputs):
        return graph
    builder = Builder()
    found: dict[Node, Node] = {p: known.get(p, p) for p in graph.params}
    for node in graph.nodes:
        if node not in found:
            found[node] = builder.keep(node, node.op, tuple([found[i] for i in node.inputs]))
    return replace(
        graph, outputs=tuple([found[n] for n in graph.outputs]), effects=tuple([found[n] for n in graph.effects])
    )


def _with_params(graph: Graph, places: Sequence[int]) -> Graph:
    params = tuple([graph.params[i] for i in places])
    return graph if params == graph.params else replace(graph, params=params)

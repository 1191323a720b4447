"""How NumPy's arrays would lie in memory, for the nodes of a graph that is being built: see `core.layout`."""

from __future__ import annotations

from collections.abc import Sequence
from math import prod
from typing import Any

import numpy as np

from adjoint.core.layout import PAIR, UNKNOWN, layout_of, same, scaled, tidy, written_out
from adjoint.graph.node import Const, Node, Param, Pick
from adjoint.ops.movement import View

LARGE = 100_000  # elements that are not computed with only to see how they lie
Layouts = dict[Node, Any]  # a tuple of layouts for a node with several results


def layout_of_node(node: Node, known: Layouts) -> Any:
    """The layout of a node; `known` gets those of the nodes it was computed from, and holds those of the inputs."""
    stack = [node]
    while stack:
        n = stack[-1]
        if n in known:
            stack.pop()
        elif _is_flat(n):
            known[stack.pop()] = None
        elif missing := [i for i in n.inputs if i not in known]:
            stack += missing
        else:
            known[stack.pop()] = _layout(n, [known[i] for i in n.inputs])
    return known[node]


def _is_flat(node: Node) -> bool:
    """Whether there is but one order for its elements."""
    return isinstance(node.op, Param) or (not isinstance(node.spec, tuple) and sum(n != 1 for n in node.shape) < 2)


def _layout(node: Node, inputs: Sequence[Any]) -> Any:
    op = node.op
    if isinstance(op, Const):
        return layout_of(op.value)
    if isinstance(op, Pick):
        return inputs[0][op.index]
    if graphs := getattr(op, "graphs", None):
        return _after_graphs(node, list(graphs().values()), inputs)
    if op.opaque or op.effect:
        return _each(node, None)
    if any(x is UNKNOWN for x in inputs) or any(size < 0 for n in node.inputs for size in n.shape):
        return _each(node, UNKNOWN)  # stacks of unknown length belong to a backward pass, which shows none of them
    if op.view:
        return _view(node, written_out(inputs[0], node.inputs[0].shape))
    if op.c_order and all(x is None for x in inputs):
        return _each(node, None)
    if op.elementwise:
        return _elementwise(node, inputs)
    return _computed(node, inputs)


def _view(node: Node, array: np.ndarray) -> Any:
    if isinstance(node.op, View) and not node.op.is_view(array):
        return None
    y = node.op.eval(np, array)
    return tuple(map(tidy, y)) if isinstance(y, tuple) else tidy(y)


def _each(node: Node, layout: Any) -> Any:
    return (layout,) * len(node.spec) if isinstance(node.spec, tuple) else layout


def _elementwise(node: Node, inputs: Sequence[Any]) -> Any:
    """As NumPy allocates the result of a ufunc: in the order of the inputs' axes."""
    arrays = [written_out(x, n.shape)["f0"] for x, n in zip(inputs, node.inputs, strict=True)]
    flags: Any = [["readonly"]] * len(arrays) + [["writeonly", "allocate"]]
    made = np.nditer([*arrays, None], ["zerosize_ok"], flags, order="K").operands[-1]
    return tidy(np.empty_like(made, PAIR))


def _computed(node: Node, inputs: Sequence[Any]) -> Any:
    """As the kernel leaves it, found out with zeros: few of them where the op allows it."""
    for most in (2, None):
        shapes = [tuple(n if most is None else min(n, most) for n in i.shape) for i in node.inputs]
        if most is None and sum(map(prod, shapes)) > LARGE:
            break
        lies = [scaled(x, shape) for x, shape in zip(inputs, shapes, strict=True)]
        zeros = [
            np.zeros(shape, i.dtype) if x is None else np.zeros_like(x, i.dtype)
            for x, shape, i in zip(lies, shapes, node.inputs, strict=True)
        ]
        try:
            with np.errstate(all="ignore"):
                found = node.op.eval(np, *zeros)
        except Exception:  # a kernel that takes no zeros, or whose op names sizes
            continue
        ys, specs = (v if isinstance(v, tuple) else (v,) for v in (found, node.spec))
        if all(np.shape(y) == tuple(n if most is None else min(n, most) for n in t.shape) for y, t in zip(ys, specs)):
            layouts = tuple(scaled(layout_of(np.asarray(y)), t.shape) for y, t in zip(ys, specs, strict=True))
            return layouts if isinstance(node.spec, tuple) else layouts[0]
    return _each(node, UNKNOWN)


def _after_graphs(node: Node, graphs: list[Any], inputs: Sequence[Any]) -> Any:
    """The results of a branch or a loop: known where all its ways agree, and each iteration leaves what it found."""
    from adjoint.graph.control import Cond, Loop

    op, count = node.op, len(node.spec) if isinstance(node.spec, tuple) else 1
    if isinstance(op, Cond):
        ways = [_outputs(g, inputs[1:]) for g in (op.true, op.false)]
    elif isinstance(op, Loop):
        carry = list(inputs[: op.carried])
        given = [*carry, *[None] * op.stacked, *inputs[op.carried + op.stacked :]]
        after = _outputs(op.body, given)
        stacks = [None if x is None else UNKNOWN for x in after[op.carried :]]
        ways = [[*after[: op.carried], *stacks], [*carry, *stacks]]
    elif all(x is None for x in inputs) and not any(_has_order(g) for g in graphs):
        ways = [[None] * count]
    else:
        ways = [[UNKNOWN] * count]
    found = tuple(ys[0] if all(same(ys[0], y) for y in ys) else UNKNOWN for ys in zip(*ways, strict=True))
    return found if isinstance(node.spec, tuple) else found[0]


def _outputs(graph: Any, given: Sequence[Any]) -> list[Any]:
    known: Layouts = dict(zip(graph.params, given, strict=True))
    return [layout_of_node(y, known) for y in graph.outputs]


def _has_order(graph: Any) -> bool:
    """Whether a graph makes anything but arrays in C order of such ones."""
    return any(x is not None for x in _outputs(graph, [None] * len(graph.params)))

"""Movement of transposes, broadcasts and reshapes past other steps, so that they cancel and the steps work on less.

A broadcast moves towards the results: what comes after it is computed on the small array. A transpose or reshape that all inputs
of an elementwise step share moves behind it, where it meets its inverse. Reductions take both in. Nothing is moved that would
make a step larger.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from functools import lru_cache, partial
from math import prod

import numpy as np

from adjoint.core.spec import Shape, is_inexact
from adjoint.graph.node import Builder, Graph, Node
from adjoint.graph.rewrite import Make, rebuild
from adjoint.ops.algebra_laws import reshape_again, transpose_again
from adjoint.ops.broadcasting import BroadcastTo
from adjoint.ops.card import Op, card
from adjoint.ops.contract import MatMul
from adjoint.ops.families import Reduction
from adjoint.ops.laws import made_by, number
from adjoint.ops.movement import Reshape, Transpose, inverse_permutation
from adjoint.passes.algebra import accepted
from adjoint.passes.uses import all_uses

#: Gets `b`, which builds nodes, the node, its new inputs, and whether an input has no other use.
Move = Callable[..., "Node | None"]


# ---------------------------------------------------------------- past elementwise steps


def after_broadcast(b: Make, node: Node, inputs: tuple[Node, ...], alone: Callable[[int], bool]) -> Node | None:
    """`op(broadcast x, broadcast y)` computed on x and y, and broadcast if that is still needed."""
    small = [_unspread(b, x) for x in inputs]
    if all(s is x for s, x in zip(small, inputs, strict=True)):
        return None
    made = b(node.op, *small)
    return made if made.shape == node.shape else b(card(BroadcastTo, node.shape), made)


def _unspread(b: Make, x: Node) -> Node:
    """What a broadcast repeats; the one number of a constant that is the same everywhere."""
    if made_by(x, BroadcastTo):
        return x.inputs[0]
    if prod(x.shape) > 1 and number(x) is not None:
        return b.const(np.asarray(x.op.value).flat[0])
    return x


def after_common(b: Make, node: Node, inputs: tuple[Node, ...], alone: Callable[[int], bool]) -> Node | None:
    """`op(move x, move y)` as `move op(x, y)`, for one and the same transpose or reshape of all inputs that have axes."""
    moved = [i for i, x in enumerate(inputs) if x.shape]
    ops = {inputs[i].op for i in moved}
    if len(ops) != 1 or not isinstance(move := ops.pop(), (Transpose, Reshape)):
        return None
    before = {inputs[i].inputs[0].shape for i in moved}
    if (
        len(before) != 1
        or any(inputs[i].shape != node.shape for i in moved)
        or (len(moved) == 1 and not alone(moved[0]))
    ):
        return None
    return b(move, b(node.op, *(x.inputs[0] if x.shape else x for x in inputs)))


def cancelled(b: Make, node: Node, inputs: tuple[Node, ...], alone: Callable[[int], bool]) -> Node | None:
    """A transpose of an elementwise step on inputs that were all transposed the other way: the step on what they were."""
    inner = inputs[0]
    if not inner.op.elementwise:
        return None
    back = inverse_permutation(node.op.perm)
    moved = [x for x in inner.inputs if x.shape]
    if not moved or any(not made_by(x, Transpose) or x.op.perm != back or x.shape != inner.shape for x in moved):
        return None
    return b(inner.op, *(x.inputs[0] if x.shape else x for x in inner.inputs))


# ---------------------------------------------------------------- past other movements


def merged(b: Make, node: Node, inputs: tuple[Node, ...], alone: Callable[[int], bool]) -> Node | None:
    """Two transposes, or two reshapes, as one."""
    return (transpose_again if isinstance(node.op, Transpose) else reshape_again)(b, node.op, inputs[0])


def single_element(b: Make, node: Node, inputs: tuple[Node, ...], alone: Callable[[int], bool]) -> Node | None:
    """A reshape or transpose of one number repeated: that number repeated."""
    inner = made_by(inputs[0], BroadcastTo)
    if inner is None or prod(inner.inputs[0].shape) != 1:
        return None
    x = inner.inputs[0]
    return b(card(BroadcastTo, node.shape), b(card(Reshape, ()), x) if x.shape else x)


def before_broadcast(b: Make, node: Node, inputs: tuple[Node, ...], alone: Callable[[int], bool]) -> Node | None:
    """A transpose of a broadcast: a broadcast of the transposed small array."""
    inner = made_by(inputs[0], BroadcastTo)
    if inner is None or len(inner.inputs[0].shape) != len(node.shape):
        return None
    return b(card(BroadcastTo, node.shape), b(node.op, inner.inputs[0]))


def product_of_transposes(b: Make, node: Node, inputs: tuple[Node, ...], alone: Callable[[int], bool]) -> Node | None:
    """(X' Y')' = Y X, and (X' Y)' = Y' X if X' has no other use."""
    product = made_by(inputs[0], MatMul)
    rank = len(node.shape)
    if product is None or rank < 2 or node.op.perm != (*range(rank - 2), rank - 1, rank - 2):
        return None
    x, y = product.inputs
    if len(x.shape) != rank or len(y.shape) != rank:
        return None
    flipped = [n.inputs[0] if made_by(n, Transpose) and n.op.perm == node.op.perm else None for n in (x, y)]
    if flipped == [None, None] or (None in flipped and not alone(0)):
        return None
    left, right = (f if f is not None else b(node.op, n) for f, n in zip(flipped, (x, y), strict=True))
    return b(product.op, right, left)


# ---------------------------------------------------------------- into reductions


def reduced_transpose(b: Make, node: Node, inputs: tuple[Node, ...], alone: Callable[[int], bool]) -> Node | None:
    """A reduction of a transpose: the same reduction along the axes where they were, then a smaller transpose if any."""
    moved = made_by(inputs[0], Transpose)
    if moved is None:
        return None
    op, perm = node.op, moved.op.perm
    made = b(replace(op, axes=tuple(sorted(perm[a] for a in op.axes))), moved.inputs[0])
    left = perm if op.keepdims else tuple(p for a, p in enumerate(perm) if a not in op.axes)
    order = tuple(sorted(left).index(p) for p in left)
    return made if order == tuple(range(len(order))) else b(card(Transpose, order), made)


def reduced_twice(b: Make, node: Node, inputs: tuple[Node, ...], alone: Callable[[int], bool]) -> Node | None:
    """A sum of a sum along all axes at once. (Not for max: equal elements would share a gradient otherwise.)"""
    inner = made_by(inputs[0], type(node.op))
    if inner is None or not alone(0) or node.op.reduction not in ("sum", "mean", "any", "all"):
        return None
    first, second = inner.op, node.op
    rank = len(inner.inputs[0].shape)
    places = [a for a in range(rank) if first.keepdims or a not in first.axes]
    axes = set(first.axes) | {places[a] for a in second.axes}
    keepdims = first.keepdims and second.keepdims
    made = b(replace(second, axes=tuple(sorted(axes)), keepdims=keepdims), inner.inputs[0])
    return made if made.shape == node.shape else b(card(Reshape, node.shape), made)


def reduced_broadcast(b: Make, node: Node, inputs: tuple[Node, ...], alone: Callable[[int], bool]) -> Node | None:
    """A reduction of a broadcast, on the small array: a sum of n equal terms is n times one of them."""
    spread = made_by(inputs[0], BroadcastTo)
    if spread is None or not node.op.reduction:
        return None
    x, big, axes = spread.inputs[0], spread.shape, node.op.axes
    lead = len(big) - len(x.shape)
    small = (1,) * lead + x.shape
    repeated = [a for a in axes if small[a] == 1 != big[a]]
    count = prod(big[a] for a in repeated)
    if not repeated or 0 in big or not _counts_exactly(count, x.dtype):
        return None
    real = tuple(a - lead for a in axes if a >= lead and small[a] != 1)
    made = node.op.of_copies(b, b(replace(node.op, axes=real, keepdims=True), x) if real else x, count)
    left: Shape = tuple(
        1 if a in axes else n
        for a, n in enumerate((1,) * lead + made.shape)
        if a not in axes or node.op.keepdims
    )  # fmt: skip
    made = made if made.shape == left else b(card(Reshape, left), made)
    return made if made.shape == node.shape else b(card(BroadcastTo, node.shape), made)


def _counts_exactly(count: int, dtype: np.dtype) -> bool:
    """Whether the dtype holds the number of terms."""
    return is_inexact(dtype) and count <= (256 if dtype.itemsize == 2 else 1 << 24)


# ---------------------------------------------------------------- the pass

PAST_ELEMENTWISE: list[Move] = [after_broadcast, after_common]
OF_TRANSPOSE: list[Move] = [merged, single_element, cancelled, before_broadcast, product_of_transposes]
OF_RESHAPE: list[Move] = [merged, single_element]
OF_REDUCTION: list[Move] = [reduced_transpose, reduced_twice, reduced_broadcast]


@lru_cache(maxsize=1024)
def moves(kind: type[Op]) -> list[Move]:
    """What may happen to a step of a kind."""
    if kind.elementwise:
        return PAST_ELEMENTWISE
    if kind in (Transpose, Reshape):
        return OF_TRANSPOSE if kind is Transpose else OF_RESHAPE
    return OF_REDUCTION if issubclass(kind, Reduction) else []


def motion(graph: Graph) -> Graph:
    """Move transposes, broadcasts and reshapes to where they cancel or cost less.

    >>> import adjoint as ad
    >>> graph = ad.graph.trace_function(lambda x: ad.ops.exp(ad.ops.broadcast_to(x, (1000,))).sum(), [2.0])
    >>> [f"{type(n.op).__name__} {n.spec}" for n in motion(graph).calls]
    ['Exp float64[]', 'Mul float64[]']
    """
    counts = all_uses(graph)

    def moved(builder: Builder, node: Node, inputs: tuple[Node, ...]) -> Node | None:
        possible = moves(node.op.__class__)
        if not possible or any(n < 0 for x in (node, *inputs) for n in _shape(x)):  # a size known at run time only
            return None

        def alone(i: int) -> bool:
            return counts[node.inputs[i]] == 1

        for move in possible:
            better = accepted(builder, node, partial(move, node=node, inputs=inputs, alone=alone))
            if better is not None:
                return better
        return None

    better = rebuild(graph, moved)
    return graph if better is graph else motion(better)


def _shape(node: Node) -> Shape:
    return () if isinstance(node.spec, tuple) else node.shape

"""Products leave loops: what each iteration multiplies by itself is multiplied for all iterations at once.

A product of a slice and a constant is taken before the loop, one that only adds to a sum or is a result is taken after it, from
its stacked factors. So the loop of a recurrent network keeps only what depends on the iteration before, and the gradients of its
weights are one product each. An element read or written in each iteration, one after the other, is a slice of its array.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from math import prod
from typing import Any

import numpy as np

from adjoint.graph.control import Loop
from adjoint.graph.node import Builder, Const, Graph, Node, Param, Pick
from adjoint.graph.rewrite import rebuild
from adjoint.graph.walk import uses
from adjoint.ops.arithmetic import Add
from adjoint.ops.card import card
from adjoint.ops.contract import MatMul
from adjoint.ops.movement import Reshape, Transpose
from adjoint.ops.reduce import Sum
from adjoint.ops.slicing import GetItem
from adjoint.passes.overwrite import zero

LARGEST = 1 << 26  # elements that are stacked for a product
#: Gives what a value of the body is in all iterations, stacked.
Stacked = Callable[[Node], Node]


def fission(graph: Graph) -> Graph:
    """Take products out of loops.

    >>> import adjoint as ad
    >>> def f(xs, w, h):
    ...     for i in range(20):
    ...         h = ad.ops.tanh(h + xs[i] @ w)
    ...     return h
    >>> graph = ad.graph.trace_function(f, [np.ones((20, 2)), np.ones((2, 3)), np.ones(3)])
    >>> [type(n.op).__name__ for n in fission(graph).calls]
    ['MatMul', 'Loop']
    """
    parted: dict[Node, list[Node | None]] = {}  # what the results of a loop are now
    done: dict[Graph, Graph] = {}

    def apart(builder: Builder, node: Node, inputs: tuple[Node, ...]) -> Node | None:
        if isinstance(node.op, Pick) and inputs[0] in parted:
            return parted[inputs[0]][node.op.index]
        if not isinstance(node.op, Loop):
            return None
        loop = node.op.mapped(lambda inner: rebuild(inner, apart, done))
        counted = loop.test is None and not loop.guarded and not loop.effect and not loop.snapshots
        found = _Parts(builder, loop, inputs).apart() if counted else None
        if found is None:
            return builder.keep(node, loop, inputs)
        parted[found[0]] = list(found[1])
        return found[0]

    return rebuild(graph, apart, done)


class _Parts:
    """A loop, and what of it is known outside."""

    def __init__(self, builder: Builder, loop: Loop, inputs: tuple[Node, ...]) -> None:
        self.builder, self.loop, self.body = builder, loop, loop.body
        self.carry, self.stacked, self.constants = loop.parts(inputs)
        self.iterations = loop.iterations(self.stacked)
        self.uses = uses(self.body)
        carry, slices, constants = loop.parts(self.body.params)
        self.inits = dict(zip(carry, self.carry, strict=True))
        self.slices: dict[Node, Node] = dict(zip(slices, self.stacked, strict=True))  # their arrays, outside
        self.fixed: dict[Node, Node] = dict(zip(constants, self.constants, strict=True))  # the same in every iteration
        self.counts = {s for s, x in self.slices.items() if _counts(x)}  # the number of the iteration
        if not loop.backwards:
            ends = zip(self.carry, carry, self.body.outputs, strict=False)
            self.counts |= {p for begin, p, end in ends if is_counter(begin, p, end)}
        self.fresh: list[Node] = []  # slices that were not stacked inputs
        self.results: list[Node] = []  # what is stacked now

    def apart(self) -> tuple[Node, list[Node]] | None:
        """The loop without the products that can leave it, and what its results are; None if there are none."""
        if self.iterations < 2:
            return None
        for node in self.body.nodes:
            self._before(node)
        after: dict[int, Callable[[Stacked], Node]] = {}
        for _ in range(2):  # what has been stacked for one may serve another
            for k, y in enumerate(self.body.outputs):
                if k not in after and (found := self._sum(k, y) if k < self.loop.carried else self._result(y)):
                    after[k] = found
        used = {i for n in self.body.nodes for i in n.inputs}
        if not after and not any(n in used for n in self.fresh):
            return None
        return self._built(after)

    # ------------------------------------------------------------ before the loop

    def _before(self, node: Node) -> None:
        """Find what is known outside before the loop: constants, slices, and products of them."""
        op, inputs, builder = node.op, node.inputs, self.builder
        if isinstance(op, Const):
            self.fixed[node] = node
        elif isinstance(op, (Transpose, Reshape)) and inputs[0] in self.fixed:
            self.fixed[node] = builder.keep(node, op, (self.fixed[inputs[0]],))
        elif op.indexing == "get" and self._in_turn(node):
            whole = self.fixed[inputs[0]]
            if whole.shape[0] > self.iterations:
                whole = builder.build(card(GetItem, ((0, self.iterations, None),)), (whole,))
            self._slice(node, whole)
        elif isinstance(op, MatMul) and inputs[0] in self.slices and self._is_matrix(inputs[1]) and self._fits(node):
            self._slice(node, builder.build(op, (self.slices[inputs[0]], self.fixed[inputs[1]])))

    def _fits(self, node: Node) -> bool:
        """Whether a value may be held for all iterations."""
        return self.iterations * prod(node.shape) <= LARGEST

    def _slice(self, node: Node, whole: Node) -> None:
        self.slices[node] = whole
        self.fresh.append(node)

    def _in_turn(self, node: Node) -> bool:
        """Whether an array is read at the number of the iteration."""
        array, *indices = node.inputs
        return (
            array in self.fixed
            and len(indices) == 1
            and indices[0] in self.counts
            and array.shape[0] >= self.iterations
        )

    def _is_matrix(self, node: Node) -> bool:
        return node in self.fixed and node.ndim == 2

    # ------------------------------------------------------------ after the loop

    def _sum(self, k: int, y: Node) -> Callable[[Stacked], Node] | None:
        """What a carry that only adds up ends as: its first value, and the sum of all that is added."""
        p = self.body.params[k]
        if p not in y.inputs or self.uses[p] != 1 or self.uses[y] != 1:
            return None
        if y.op.indexing == "add" and y.inputs[0] is p:
            total = self._put_in_turn(y)
        elif isinstance(y.op, Add):
            total = self._total(y.inputs[0] if y.inputs[1] is p else y.inputs[1])
        else:
            total = None
        if total is None:
            return None
        return lambda stacked: self._added(self.inits[p], total(stacked))

    def _put_in_turn(self, x: Node) -> Callable[[Stacked], Node] | None:
        """The values that all iterations put into an array, each at its own place."""
        _, value, *indices = x.inputs
        in_turn = len(indices) == 1 and indices[0] in self.counts and x.shape[0] == self.iterations
        return self._stack(value) if in_turn and value.shape == x.shape[1:] else None

    def _total(self, x: Node) -> Callable[[Stacked], Node] | None:
        """The sum of a value over all iterations, if it is better taken at once."""
        if self.uses[x] != 1:
            return None
        if x.op.indexing == "add" and zero(x.inputs[0]):
            return self._put_in_turn(x)
        if isinstance(x.op, Sum) and not x.op.keepdims and (x.inputs[0] in self.results or x.inputs[0] in self.slices):
            axes = (0, *(a + 1 for a in x.op.axes))
            return lambda stacked: self.builder.build(card(Sum, axes, False), (stacked(x.inputs[0]),))
        return self._product(x) if isinstance(x.op, MatMul) else None

    def _product(self, x: Node) -> Callable[[Stacked], Node] | None:
        """The sum over all iterations of A'B, as one product."""
        left, right = x.inputs
        if not isinstance(left.op, Transpose) or left.op.perm != (1, 0) or right.ndim != 2:
            return None
        first, second = self._stack(left.inputs[0]), self._stack(right)
        if first is None or second is None:
            return None

        def product(stacked: Stacked) -> Node:
            a, b = (self._flat(f(stacked)) for f in (first, second))
            return self.builder.build(x.op, (self.builder.build(left.op, (a,)), b))

        return product

    def _result(self, y: Node) -> Callable[[Stacked], Node] | None:
        """A stacked result that is better computed outside."""
        if y in self.counts and y.spec.dtype == np.int64:
            return lambda stacked: self.builder.const(np.arange(self.iterations))
        if y in self.slices:
            return lambda stacked: self.slices[y]
        if isinstance(y.op, MatMul) and self.uses[y] == 1:
            return self._stack(y)
        return None

    def _stack(self, x: Node) -> Callable[[Stacked], Node] | None:
        """A value in all iterations; a product that nothing else needs is taken afterwards. None if it is too large."""
        if isinstance(x.op, MatMul) and self.uses[x] == 1 and self._is_matrix(x.inputs[1]) and x not in self.slices:
            rows, op = self._stack(x.inputs[0]), x.op
            return rows and (lambda stacked: self.builder.build(op, (rows(stacked), self.fixed[x.inputs[1]])))
        if not self._fits(x) or x in self.fixed:
            return None
        if x not in self.slices and x not in self.results:
            self.results.append(x)
        return lambda stacked: stacked(x)

    def _added(self, first: Node, total: Node) -> Node:
        return total if zero(first) and first.spec == total.spec else self.builder.build(card(Add), (first, total))

    def _flat(self, x: Node) -> Node:
        """The rows of all iterations below one another."""
        return self.builder.build(card(Reshape, (x.shape[0] * x.shape[1], x.shape[2])), (x,))

    # ------------------------------------------------------------ the loop that is left

    def _built(self, after: dict[int, Callable[[Stacked], Node]]) -> tuple[Node, list[Node]]:
        carried, body = self.loop.carried, self.body
        kept = [k for k in range(len(body.outputs)) if k not in after]
        staying = [k for k in kept if k < carried]
        slices = [*body.params[carried : carried + self.loop.stacked], *self.fresh]
        order = [*(body.params[k] for k in staying), *slices, *body.params[carried + self.loop.stacked :]]
        inner = Builder()
        found: dict[Node, Node] = {n: Node(Param(i), (), n.spec) for i, n in enumerate(order)}
        params = tuple(found.values())
        outputs = [*(body.outputs[k] for k in kept), *self.results]
        for node in Graph(tuple(order), tuple(outputs)).nodes:
            if node not in found:
                found[node] = inner.keep(node, node.op, tuple([found[i] for i in node.inputs]))
        rest = Graph(params, tuple([found[n] for n in outputs]), body.name)
        inputs = [*(self.carry[k] for k in staying), *(self.slices[n] for n in slices), *self.constants]
        op = replace(self.loop, body=rest, carried=len(staying), stacked=len(slices), length=self.iterations)
        loop = self.builder.build(op, inputs)
        places = {n: len(kept) + i for i, n in enumerate(self.results)}

        def stacked(x: Node) -> Node:
            return self.slices[x] if x in self.slices else self.builder.pick(loop, places[x])

        results: list[Any] = [after[k](stacked) if k in after else None for k in range(len(body.outputs))]
        for place, k in enumerate(kept):
            results[k] = self.builder.pick(loop, place)
        return loop, results


def is_counter(begin: Node, p: Node, end: Node) -> bool:
    """Whether a part p of a loop's state begins at 0 and goes up by 1 in each iteration."""
    if not isinstance(end.op, Add) or p not in end.inputs or p.shape or p.dtype.kind != "i":
        return False
    step = end.inputs[0] if end.inputs[1] is p else end.inputs[1]
    return all(isinstance(n.op, Const) and n.op.value == v for n, v in ((begin, 0), (step, 1)))


def _counts(x: Node) -> bool:
    """Whether an array holds 0, 1, 2, ..."""
    return (
        isinstance(x.op, Const)
        and x.dtype.kind == "i"
        and x.ndim == 1
        and np.array_equal(x.op.value, range(x.shape[0]))
    )

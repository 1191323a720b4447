"""Einstein sums as what has code: matrix products, elementwise products, sums, and movements of axes."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from itertools import combinations
from math import prod

from adjoint.graph.node import Builder, Node
from adjoint.ops.arithmetic import Mul
from adjoint.ops.card import card
from adjoint.ops.contract import MatMul
from adjoint.ops.einstein_sum import Einsum
from adjoint.ops.movement import Reshape, Transpose
from adjoint.ops.reduce import Sum


def as_products(builder: Builder, node: Node, inputs: Sequence[Node]) -> Node | None:
    """An Einstein sum, or a product of two vectors, in other ops; None for any other node and for numbers that are not real."""
    dtypes = {i.spec.dtype for i in inputs if not isinstance(i.spec, tuple)}
    if not isinstance(node.op, (Einsum, MatMul)) or len(dtypes) != 1 or dtypes.pop().kind != "f":
        return None
    if any(n < 0 for i in inputs for n in i.shape):
        return None
    if isinstance(node.op, Einsum):
        terms, result = node.op.terms, node.op.result
    elif all(i.ndim == 1 for i in inputs):
        terms, result = ("i", "i"), ""
    else:
        return None
    factors = [Term(builder, x, letters) for x, letters in zip(inputs, terms, strict=True)]
    while len(factors) > 1:
        x, y = min(combinations(factors, 2), key=lambda pair: _cost(*pair))
        factors = [f for f in factors if f is not x and f is not y]
        kept = set(result).union(*(f.letters for f in factors))
        factors.append(_contracted(x, y, kept, result))
    return factors[0].summed(result).ordered(result).node


@dataclass(frozen=True, eq=False)
class Term:
    """A factor, and a letter for each of its axes."""

    builder: Builder
    node: Node
    letters: str

    def size(self, letters: Iterable[str]) -> int:
        return prod(self.node.shape[self.letters.index(a)] for a in letters)

    def summed(self, kept: Iterable[str]) -> Term:
        """Added up along all axes but those of `kept`."""
        axes = tuple(k for k, a in enumerate(self.letters) if a not in set(kept))
        if not axes:
            return self
        left = "".join(a for k, a in enumerate(self.letters) if k not in axes)
        return Term(self.builder, self.builder.build(card(Sum, axes, False), (self.node,)), left)

    def ordered(self, letters: str) -> Term:
        """The axes in another order."""
        if letters == self.letters:
            return self
        perm = tuple(self.letters.index(a) for a in letters)
        return Term(self.builder, self.builder.build(card(Transpose, perm), (self.node,)), letters)

    def shaped(self, *sizes: int) -> Node:
        if sizes == self.node.shape:
            return self.node
        return self.builder.build(card(Reshape, sizes), (self.node,))

    def matrix(self, batch: str, rows: str, columns: str) -> Node:
        """A matrix for each index of the batch. What lies along memory stays so: the product reads it transposed at no cost."""
        lead = (self.size(batch),) if batch else ()
        down, across = self.size(rows), self.size(columns)
        if not columns or not self.letters.endswith(tuple(rows)):
            return self.ordered(batch + rows + columns).shaped(*lead, down, across)
        transposed = self.ordered(batch + columns + rows).shaped(*lead, across, down)
        n = len(lead)
        return self.builder.build(card(Transpose, (*range(n), n + 1, n)), (transposed,))


def _cost(x: Term, y: Term) -> int:
    """How many products of numbers two factors make."""
    return x.size(x.letters) * y.size(a for a in y.letters if a not in x.letters)


def _contracted(x: Term, y: Term, kept: set[str], result: str) -> Term:
    """The product of two factors, added up along what nothing else has."""
    x, y = x.summed({*kept, *y.letters}), y.summed({*kept, *x.letters})
    both = [a for a in x.letters if a in y.letters]
    batch, inner = ("".join(a for a in both if (a in kept) == known) for known in (True, False))
    left, right = ("".join(a for a in t.letters if a not in both) for t in (x, y))
    if not inner or not (left or right):
        return _multiplied(x, y, sorted(x.letters + right, key=(result + inner).find)).summed(kept)
    if _position(right, result) < _position(left, result):
        x, y, left, right = y, x, right, left
    product = x.builder.build(card(MatMul), (x.matrix(batch, left, inner), y.matrix(batch, inner, right)))
    letters = batch + left + right
    sizes = [(x if a in x.letters else y).size(a) for a in letters]
    return Term(x.builder, Term(x.builder, product, letters).shaped(*sizes), letters)


def _position(letters: str, result: str) -> int:
    """Where the first of these letters stands in the result, if it does."""
    return min([result.index(a) for a in letters if a in result], default=len(result))


def _multiplied(x: Term, y: Term, order: Sequence[str]) -> Term:
    """The elementwise product over the axes of both."""
    spread = []
    for term in (x, y):
        mine = term.ordered("".join(a for a in order if a in term.letters))
        spread.append(mine.shaped(*(mine.size(a) if a in mine.letters else 1 for a in order)))
    return Term(x.builder, x.builder.build(card(Mul), spread), "".join(order))

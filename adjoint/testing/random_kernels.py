"""Steps of random graphs that have kernels of their own: products and what follows them, convolution, pooling, indexing with
arrays, sums over named axes, branches and loops."""

from __future__ import annotations

from math import prod
from random import Random
from typing import Any

import numpy as np

from adjoint.core.spec import Spec, float32, float64, int32, int64
from adjoint.graph.control import Cond, Loop
from adjoint.graph.node import Builder, Graph, Node
from adjoint.ops import arithmetic as a
from adjoint.ops import compare as c
from adjoint.ops import movement as m
from adjoint.ops import reduce as r
from adjoint.ops.casting import Cast
from adjoint.ops.contract import MatMul
from adjoint.ops.conv import Conv
from adjoint.ops.einstein_sum import Einsum
from adjoint.ops.index import Gather, ScatterAdd, ScatterSet
from adjoint.ops.padding import Pad
from adjoint.ops.pool import MaxPool, MaxPoolIndex
from adjoint.ops.sum_pool import SumPool
from adjoint.ops.transcendental import Relu
from adjoint.ops.unfolding import Unfold

WORK = 200_000  # multiplications in a product of small arrays
SUMS = (
    "ij,jk->ik", "ij,kj->ik", "ji,jk->ik", "bij,bjk->bik", "bij,j->bi", "bij,bj->bi", "j,bij->bi", "ij,ij->", "ij,ij->i",
    "ij->ji", "ij->j", "bij->i", "bij,kj->bik", "abc,abd->cd", "abc,bc->a", "i,j->ij", "ij,i,j->", "abi,abj->ij", "bij,bij->bj",
)  # fmt: skip


class KernelSteps:
    """The steps; what they choose from is in `GraphWriter`."""

    random: Random
    builder: Builder
    nodes: list[Node]
    raw: list[Node]  # products to put out as they are
    sizes: Any
    limit: int
    work: int
    real: bool  # numbers of every kind, and smooth ops
    inner: int  # how many graphs this one is inside of

    choice: Any
    chance: Any
    node: Any
    build: Any
    held: Any
    const: Any
    like: Any
    sub: Any

    def operand(self, shape: tuple[int, ...], dtype: np.dtype) -> Node:
        """A node of this shape: one that is there, the transpose of a new input, a new input, or a constant."""
        same = [n for n in self.nodes if n.shape == shape and n.spec.dtype == dtype]
        if same and self.chance(40):
            return self.choice(same)
        if len(shape) > 1 and self.chance(35):
            n = len(shape)
            turned = self._fresh((*shape[:-2], shape[-1], shape[-2]), dtype)
            return self.builder.build(m.Transpose((*range(n - 2), n - 1, n - 2)), (turned,))
        return self._fresh(shape, dtype)

    def _fresh(self, shape: tuple[int, ...], dtype: np.dtype) -> Node:
        if self.inner or self.chance(15):
            return self.const(shape, dtype)
        return self.builder.param(Spec(shape, dtype))

    def size(self) -> int:
        return self.choice([n for n in self.sizes if n])

    # ------------------------------------------------------------ products

    def product(self) -> Node | None:
        """Vectors, matrices and stacks of them in every combination, and mostly something that follows."""
        x = self.node("f")
        if not x.ndim or not prod(x.shape) or self.chance(50):
            lead = tuple(self.choice((1, 1, 2, 3, 5)) for _ in range(self.choice((0, 0, 1, 1, 2))))
            shape = (*lead, *(self.size() for _ in range(self.choice((1, 2, 2)))))
            if prod(shape) > self.limit:
                return None
            x = self.operand(shape, self.choice((float64, float32)))
        k = x.shape[-1]
        lead = tuple(
            self.choice((n, 1)) if n > 1 else self.choice((1, 1, 2, 3)) for n in x.shape[:-2][self.choice((0, 0, 1)) :]
        )
        kinds = [(k,), (k, self.size()), (*lead, k, self.size()), (self.choice((1, 2, 3)), *lead, k, self.size())]
        if not self.real:
            kinds.append((k, 8 * self.choice((1, 2, 3))))
        shape = self.choice(kinds)
        if prod(shape) > self.limit or prod(x.shape[:-1]) * prod(shape) > self.work:
            return None
        y = self.builder.build(MatMul(), (x, self.operand(shape, x.spec.dtype)))
        return self.followed(y) if prod(y.shape) <= self.limit else None

    def followed(self, y: Node) -> Node:
        """What comes after a product: nothing, or some steps point by point, or a movement, or several consumers."""
        product = y
        if self.chance(15):
            self.raw.append(y)
        for _ in range(self.choice((0, 1, 1, 2, 3))):
            kind = self.random.randrange(9)
            if kind == 0:  # a bias
                y = self.builder.build(a.Add(), (y, self.const(y.shape[-1:], y.spec.dtype)))
            elif kind == 1:  # something of the same shape
                y = self.builder.build(a.Add(), (y, self.operand(y.shape, y.spec.dtype)))
            elif kind == 2:
                y = self.builder.build(Relu(), (y,))
            elif kind == 3:
                y = self.builder.build(a.Mul(), (y, self.like(y)))
            elif kind == 4:
                test = self.builder.build(c.Greater(), (self.like(y), self.builder.const(0)))
                if test.ndim <= y.ndim:
                    y = self.builder.build(c.Where(), (test, y, self.builder.const(1.0)))
            elif kind == 5:
                y = self.builder.build(Cast(self.choice((float64, float32))), (y,))
            elif kind == 6 and y.ndim:
                y = self.builder.build(m.Transpose(tuple(range(y.ndim))[::-1]), (y,))
            elif kind == 7 and y.ndim:
                y = self.builder.build(r.Sum((self.random.randrange(y.ndim),)), (y,))
            else:
                y = self.builder.build(m.Reshape((prod(y.shape), 1)[:: self.choice((1, -1))]), (y,))
            y = self.held(y)
        if self.chance(25):
            self.nodes.append(self.held(product))
        return self.held(y)

    def einsum(self) -> Node | None:
        text, _, result = self.choice(SUMS).partition("->")
        sizes = {letter: self.size() for letter in sorted(set(text) - {","})}
        dtype = self.choice((float64, float32))
        shapes = [tuple(sizes[letter] for letter in term) for term in text.split(",")]
        if prod(sizes.values()) > self.work // 4 or any(prod(s) > self.limit for s in shapes):
            return None
        op = Einsum(tuple(text.split(",")), result)
        return self.followed(self.builder.build(op, tuple(self.operand(s, dtype) for s in shapes)))

    # ------------------------------------------------------------ windows

    def _geometry(self, rank: int) -> tuple[Any, Any, Any]:
        return (
            tuple(self.choice((1, 1, 2, 3)) for _ in range(rank)),
            tuple((self.choice((0, 0, 1, 2)), self.choice((0, 0, 1))) for _ in range(rank)),
            tuple(self.choice((1, 1, 1, 2)) for _ in range(rank)),
        )

    def conv(self) -> Node | None:
        rank, groups = self.choice((1, 2, 2)), self.choice((1, 1, 1, 2, 3))
        channels, filters = self.choice((1, 1, 2, 3, 8)), groups * self.choice((1, 2, 4, 7, 9))
        space = tuple(self.choice((3, 4, 5, 7, 8, 9, 15, 16, 17)) for _ in range(rank))
        shape, dtype = (self.choice((1, 2, 3)), channels * groups, *space), self.choice((float64, float32))
        window = tuple(self.choice((1, 2, 3, 3, 5)) for _ in range(rank))
        if prod(shape) > self.limit or prod(shape) * filters * prod(window) > self.work:
            return None
        x, w = self.operand(shape, dtype), self.operand((filters, channels, *window), dtype)
        y = self.builder.build(Conv(*self._geometry(rank), groups=groups), (x, w))
        return self.followed(y) if prod(y.shape) <= self.limit else None

    def pool(self) -> Node | None:
        x = self.node("f")
        rank = self.choice((1, 2))
        if x.ndim < rank or not prod(x.shape):
            return None
        op = self.choice((MaxPool, MaxPool, SumPool, Unfold, *(() if self.real else (MaxPoolIndex,))))
        window = tuple(self.choice((1, 2, 2, 3)) for _ in range(rank))
        stride, padding, dilation = self._geometry(rank)
        padding = tuple((min(p, w - 1), min(q, w - 1)) for (p, q), w in zip(padding, window, strict=True))
        y = self.builder.build(op(window, stride, padding, dilation), (x,))
        return self.held(y) if prod(y.shape) <= self.limit else None

    def pad(self) -> Node | None:
        x = self.node()
        y = self.builder.build(Pad(tuple((self.choice((0, 1, 3)), self.choice((0, 2))) for _ in x.shape)), (x,))
        return y if prod(y.shape) <= self.limit else None

    # ------------------------------------------------------------ indexing with arrays

    def _indices(self, x: Node) -> tuple[list[Node], tuple[int, ...]]:
        shapes = self.choice([[(3,)], [(1,)], [(9,)], [()], [(4, 1)], [(3,), (3,)], [(2, 1), (5,)], [(), (8,)]])[
            : x.ndim
        ]
        draw = np.random.default_rng(self.random.randrange(2**31))
        kinds = [self.choice((int64, int32)) for _ in shapes]
        drawn = [draw.integers(-n, n, s).astype(k) for s, n, k in zip(shapes, x.shape, kinds, strict=False)]
        part = (*np.broadcast_shapes(*shapes), *x.shape[len(shapes) :])
        return [self.builder.const(np.asarray(i)) for i in drawn], part

    def gather(self) -> Node | None:
        x = self.node("fi" if not self.real else "f")
        if not x.ndim or not prod(x.shape):
            return None
        indices, part = self._indices(x)
        return self.builder.build(Gather(), (x, *indices)) if prod(part) <= self.limit else None

    def scatter(self) -> Node | None:
        x = self.node("fi" if not self.real else "f")
        if not x.ndim or not prod(x.shape):
            return None
        indices, part = self._indices(x)
        if prod(part) > self.limit:
            return None
        v = self.const(part[self.random.randrange(len(part) + 1) :], x.spec.dtype)
        kind = ScatterAdd if self.real else self.choice((ScatterAdd, ScatterSet))
        return self.held(self.builder.build(kind(), (x, v, *indices)))

    # ------------------------------------------------------------ graphs inside

    def _same(self, y: Node, x: Node) -> Node:
        """Something of y with the spec of x."""
        if y.shape == x.shape and y.spec.dtype == x.spec.dtype and not y.spec.weak:
            return y
        total = self.builder.build(r.Sum(tuple(range(y.ndim))), (y,)) if y.ndim else y
        total = self.held(self.builder.build(Cast(x.spec.dtype), (total,)))
        return self.held(self.builder.build(a.Add(), (x, total)))

    def _inside(self, specs: list[Spec], results: int, stacked: int = 0) -> Graph:
        """A graph of some inputs: its first results are like its first inputs."""
        writer = self.sub()
        params = [writer.builder.param(s) for s in specs]
        writer.nodes = list(params)
        writer.grow(self.choice((2, 4, 6)))
        outputs = [writer._same(writer.node("fib" if not self.real else "f"), p) for p in params[:results]]
        outputs += [writer._same(writer.node("f"), params[0]) for _ in range(stacked)]
        return Graph(tuple(params), tuple(outputs))

    def _given(self) -> list[Node]:
        """Some nodes for a graph inside, floats first."""
        some = [self.node("f") for _ in range(self.choice((1, 2)))]
        return [n for n in dict.fromkeys([*some, self.node("f" if self.real else "fi")]) if not n.spec.weak]

    def branch(self) -> Node | None:
        given = self._given()
        if self.inner > 1 or not given:
            return None
        total = self.builder.build(r.Sum(tuple(range(given[-1].ndim))), (given[-1],)) if given[-1].ndim else given[-1]
        test = self.builder.build(c.Less(), (total, self.builder.const(self.choice((-2, 0, 1)))))
        specs = [Spec(n.shape, n.spec.dtype) for n in given]
        count = self.random.randrange(1, len(given) + 1)
        call = self.builder.build(Cond(self._inside(specs, count), self._inside(specs, count)), (test, *given))
        return self._picked(call, count)

    def _picked(self, call: Node, count: int) -> Node:
        found = [self.builder.pick(call, k) for k in range(count)]
        self.nodes += [n for n in found[1:] if prod(n.shape) <= self.limit]
        return found[0]

    def loop(self) -> Node | None:
        """A loop of known or unknown length, with slices to read, results to stack, constants."""
        given = [n for n in self._given() if prod(n.shape) <= 300]
        if self.inner > 1 or not given:
            return None
        carried = self.random.randrange(1, len(given) + 1)
        carry, constants = given[:carried], given[carried:]
        iterations = self.choice((1, 2, 3, 7, 9))
        lists = [n for n in self.nodes if n.shape[:1] == (iterations,) and n.spec.dtype.kind == "f" and not n.spec.weak]
        slices = [self.choice(lists)] if lists and self.chance(50) else []
        if not slices and self.chance(40):
            slices = [self._fresh((iterations, *carry[0].shape), carry[0].spec.dtype)]
        if any(prod(n.shape) > self.limit for n in slices):
            return None
        if not slices and self.chance(40):
            return self._while(carry, constants, iterations)
        kept = self.choice((0, 1)) if prod(carry[0].shape) * iterations <= self.limit else 0
        specs = [Spec(n.shape, n.spec.dtype) for n in carry] + [Spec(n.shape[1:], n.spec.dtype) for n in slices]
        body = self._inside([*specs, *(Spec(n.shape, n.spec.dtype) for n in constants)], carried, kept)
        op = Loop(body, carried, len(slices), None, None if slices else iterations, self.chance(30))
        return self._picked(self.builder.build(op, (*carry, *slices, *constants)), carried + kept)

    def _while(self, carry: list[Node], constants: list[Node], iterations: int) -> Node:
        """A loop that counts up to a number among its constants."""
        specs = [Spec((), int64), *(Spec(n.shape, n.spec.dtype) for n in carry)]
        after = [*(Spec(n.shape, n.spec.dtype) for n in constants), Spec((), int64)]
        inside = self._inside([*specs[1:], *after[:-1]], len(carry))
        builder = Builder()
        params = [builder.param(s) for s in (*specs, *after)]
        found: dict[Node, Node] = dict(zip(inside.params, params[1:-1], strict=True))
        for node in inside.nodes:
            if node not in found:
                found[node] = builder.keep(node, node.op, tuple([found[i] for i in node.inputs]))
        following = builder.build(a.Add(), (params[0], builder.const(1)))
        body = Graph(tuple(params), (following, *(found[n] for n in inside.outputs)))
        builder = Builder()
        params = [builder.param(s) for s in (*specs, *after)]
        test = Graph(tuple(params), (builder.build(c.Less(), (params[0], params[-1])),))
        begin, end = self.builder.const(np.int64(0)), self.builder.const(np.int64(iterations))
        call = self.builder.build(Loop(body, len(specs), 0, test), (begin, *carry, *constants, end))
        self.nodes += [self.builder.pick(call, k) for k in range(2, len(specs))]
        return self.builder.pick(call, 1)

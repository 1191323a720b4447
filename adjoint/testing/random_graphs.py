"""Writes random graphs of elementwise ops, movements, reductions, joins, index updates, kernels and control flow, for backends to
agree on.

All numbers are small integers, in whatever dtype: every order of adding gives the same sum, so results can be compared
bit for bit. With `real`, they are any numbers, and ops are such as have derivatives.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from math import prod
from random import Random
from typing import Any

import numpy as np

from adjoint.core.errors import ShapeError
from adjoint.core.spec import Spec, bfloat16, bool_, float16, float32, float64, int32, int64, is_half
from adjoint.graph.node import Builder, Graph, Node
from adjoint.ops import along_axis, joining, slicing
from adjoint.ops import arithmetic as a
from adjoint.ops import compare as c
from adjoint.ops import movement as m
from adjoint.ops import reduce as r
from adjoint.ops.broadcasting import BroadcastTo
from adjoint.ops.casting import Cast
from adjoint.ops.contract import MatMul
from adjoint.ops.index import Gather, ScatterAdd, ScatterSet
from adjoint.ops.stacking import Stack
from adjoint.ops.transcendental import Relu, Sigmoid
from adjoint.ops.trigonometric import Atan, Cos, Sin, Tanh
from adjoint.testing.random_kernels import WORK, KernelSteps

SIZES = (1, 2, 3, 4, 5, 7, 8, 9, 15, 16, 17, 31, 33)
DTYPES = (float64, float64, float64, float32, float32, int64, int32, bool_)
REAL = (float64, float64, float64, float32)
UNARY = (a.Neg, a.Abs, a.Sign, c.Floor, c.Round, c.IsFinite, c.IsNan)
BINARY = (a.Add, a.Sub, a.Mul, a.MaskedMul, c.Maximum, c.Minimum)
COMPARE = (c.Less, c.LessEqual, c.Greater, c.GreaterEqual, c.Equal, c.NotEqual)
REDUCTIONS = (r.Sum, r.Sum, r.Max, r.Min, r.Any, r.All)
LARGE = (1, 2, 3, 64, 200, 257, 500, 40_000)  # for nests that threads share
WIDE = (1, 8, 33, 64, 65, 100, 130, 200, 257, 300)  # for products in several blocks
LIMIT, LARGE_LIMIT, WIDE_LIMIT = 2000, 200_000, 40_000  # elements of an array


class GraphWriter(KernelSteps):
    """Writes one graph, node by node."""

    def __init__(
        self,
        random: Random,
        sizes: Sequence[int],
        limit: int,
        *,
        real: bool = False,
        half: bool = False,
        kernels: int = 1,
        inner: int = 0,
    ) -> None:
        self.random, self.builder = random, Builder()
        self.sizes, self.limit, self.real, self.kernels, self.inner = sizes, limit, real, kernels, inner
        self.half = half
        self.work = max(WORK, 100 * limit)
        self.dtypes = REAL if real else (float16, bfloat16(), *DTYPES[2:]) if half else DTYPES
        self.nodes: list[Node] = []
        self.raw: list[Node] = []
        self.steps: list[Callable[[], Node | None]] = [
            self.binary, self.binary, self.binary, self.smooth, self.where, self.cast,
            self.transpose, self.flip, self.reshape, self.reshape, self.broadcast, self.part, self.part,
            self.reduce, self.reduce, self.reduce, self.along, self.join, self.update, self.put, self.lookup,
            *(() if real else (self.unary, self.compare)),
            *(self.product, self.product, self.product, self.conv, self.pool, self.gather, self.scatter, self.einsum,
              self.pad, self.branch, self.loop) * kernels,
        ]  # fmt: skip

    def sub(self) -> GraphWriter:
        """A writer of a graph inside this one."""
        sizes = [n for n in self.sizes if n < 10]
        return GraphWriter(
            self.random, sizes, 200, real=self.real, half=self.half, kernels=self.kernels, inner=self.inner + 1
        )

    # ------------------------------------------------------------ choosing

    def choice(self, options: Any) -> Any:
        return options[self.random.randrange(len(options))]

    def chance(self, percent: int) -> bool:
        return self.random.randrange(100) < percent

    def node(self, kinds: str = "fib") -> Node:
        """A node made before, often one of the last."""
        fitting = [n for n in self.nodes if _kind(n) in kinds] or [self.builder.const(2.0)]
        return self.choice(fitting[-4:] if self.chance(60) else fitting)

    def shape(self) -> tuple[int, ...]:
        while True:
            found = tuple(self.choice(self.sizes) for _ in range(self.choice((0, 1, 1, 2, 2, 3, 4))))
            if prod(found) <= self.limit:
                return found

    def like(self, node: Node) -> Node:
        """A node whose shape broadcasts with this one's: another one, a part of it, or a constant."""
        fitting = [n for n in self.nodes if _broadcasts(n.shape, node.shape)]
        if fitting and self.chance(70):
            return self.choice(fitting)
        return self.const(tuple(n if self.chance(60) else 1 for n in node.shape[self.random.randrange(3) :]))

    def const(self, shape: tuple[int, ...] = (), dtype: np.dtype | None = None) -> Node:
        if not shape and dtype is None and self.chance(60):
            return self.builder.const(self.choice((2, 3.0, True, -1, 0.0, 1.0)))
        return self.builder.const(self.numbers(Spec(shape, dtype or self.choice(self.dtypes))))

    def numbers(self, spec: Spec) -> np.ndarray:
        draw = np.random.default_rng(self.random.randrange(2**31))
        if self.real and spec.dtype.kind == "f":
            return np.asarray(draw.normal(size=spec.shape), spec.dtype)
        return np.asarray(draw.integers(-3, 4, spec.shape), spec.dtype)

    def build(self, op: Any, *inputs: Node) -> Node:
        """The node, held to small numbers."""
        node = self.builder.build(op, inputs)
        grows = isinstance(op, (a.Mul, a.Add, a.Sub, a.MaskedMul, r.Sum, along_axis.CumSum, MatMul, ScatterAdd))
        return self.held(node) if grows else node

    def held(self, node: Node) -> Node:
        """The node's numbers, or nearby ones that are small."""
        if node.spec.dtype.kind == "b":
            return node
        if self.real:
            if node.spec.dtype.kind == "f" and self.chance(50):
                return self.builder.build(Sin(), (node,))
            return self.builder.build(a.Mul(), (node, self.builder.const(0.3)))
        bound = self.builder.const(9)
        low = self.builder.build(c.Minimum(), (node, bound))
        return self.builder.build(c.Maximum(), (low, self.builder.const(-9)))

    # ------------------------------------------------------------ element by element

    def unary(self) -> Node | None:
        op, x = self.choice(UNARY)(), self.node("fi")
        return self.build(op, x)

    def binary(self) -> Node | None:
        x = self.node("fi")
        pair = [x, self.like(x)]
        kinds = (a.Add, a.Sub, a.Mul) if self.real else BINARY
        return self.build(self.choice(kinds)(), *(pair if self.chance(50) else pair[::-1]))

    def compare(self) -> Node | None:
        x = self.node()
        return self.build(self.choice(COMPARE)(), x, self.like(x))

    def where(self) -> Node | None:
        x = self.node("fi")
        test = self.build(self.choice(COMPARE)(), self.like(x), self.like(x))
        if not _broadcasts(test.shape, x.shape):
            return None
        return self.build(c.Where(), test, x, self.const())

    def cast(self) -> Node | None:
        return self.build(Cast(self.choice(self.dtypes)), self.node())

    def smooth(self) -> Node | None:
        """An expensive op; what it gives is rounded far from where rounding is in doubt."""
        if self.real:
            return self.build(self.choice((Sin, Cos, Tanh, Sigmoid, Atan, Relu))(), self.node("f"))
        y = self.build(self.choice((Tanh, Relu))(), self.node("f"))
        return self.build(c.Round(), self.build(a.Mul(), y, self.builder.const(4)))

    # ------------------------------------------------------------ movements

    def transpose(self) -> Node | None:
        x = self.node()
        perm = list(range(x.ndim))
        self.random.shuffle(perm)
        return self.build(m.Transpose(tuple(perm)), x)

    def flip(self) -> Node | None:
        x = self.node()
        return self.build(slicing.Flip(tuple(k for k in range(x.ndim) if self.chance(50))), x)

    def reshape(self) -> Node | None:
        x = self.node()
        if self.chance(40):  # ones put in or left out
            kept = [n for n in x.shape if n != 1 or self.chance(40)]
            kept.insert(self.random.randrange(len(kept) + 1), 1)
            return self.build(m.Reshape(tuple(kept)), x)
        left, shape = prod(x.shape), []
        while left > 1 and self.chance(80):
            shape.append(self.choice([n for n in range(1, min(left, 1000) + 1) if left % n == 0]))
            left //= shape[-1]
        return self.build(m.Reshape((*shape, left)), x)

    def broadcast(self) -> Node | None:
        x = self.node()
        shape = tuple(self.choice((1, 3, 8)) if n == 1 else n for n in x.shape)
        shape = (*(self.choice((1, 2, 5)) for _ in range(self.random.randrange(2))), *shape)
        return self.build(BroadcastTo(shape), x) if prod(shape) <= self.limit else None

    def index(self, shape: tuple[int, ...], *, new_axes: bool = True) -> tuple:
        """A static index: integers, slices of any step, new axes, an ellipsis."""
        key: list[Any] = []
        for n in shape[: self.random.randrange(len(shape) + 1)]:
            kind = self.random.randrange(10)
            if kind < 3 and n:
                key.append(self.random.randrange(-n, n))
            elif kind < 8:
                ends = [self.choice((None, self.random.randrange(-n - 1, n + 2))) for _ in range(2)]
                key.append((*ends, self.choice((None, 1, 2, 3, -1, -2))))
            else:
                key.append((None, None, None))
        if new_axes:
            for _ in range(self.choice((0, 0, 0, 1, 2))):
                key.insert(self.random.randrange(len(key) + 1), None)
        if self.chance(20):
            key.append(...)
        return tuple(key)

    def part(self) -> Node | None:
        x = self.node()
        return self.build(slicing.GetItem(self.index(x.shape)), x)

    def join(self) -> Node | None:
        x = self.node()
        if not x.ndim or self.chance(30):
            same = [n for n in self.nodes if n.shape == x.shape]
            return self.build(Stack(self.random.randrange(x.ndim + 1)), x, self.choice(same or [x]))
        axis = self.random.randrange(x.ndim)
        others = [n for n in self.nodes if n.ndim == x.ndim and _same_but(n.shape, x.shape, axis)]
        parts = [x, *(self.choice(others) for _ in range(self.random.randrange(1, 3)) if others)]
        return self.build(joining.Concat(axis), *parts)

    def update(self) -> Node | None:
        x = self.node("fi")
        op = slicing.SetItem(self.index(x.shape, new_axes=False))
        shape = op.picked(x.shape)
        fitting = [n for n in self.nodes if n.shape == shape and n.spec.dtype == x.spec.dtype]
        return self.build(op, x, self.choice(fitting) if fitting else self.builder.const(2))

    def put(self) -> Node | None:
        shape = self.shape()
        index = self.index(shape)
        part = slicing.GetItem(index).picked(shape)
        fitting = [n for n in self.nodes if n.shape == part]
        return self.build(slicing.PutItem(index, shape), self.choice(fitting) if fitting else self.const(part))

    # ------------------------------------------------------------ many to one

    def reduce(self) -> Node | None:
        x = self.node()
        axes = tuple(k for k in range(x.ndim) if self.chance(50)) or tuple(range(x.ndim))[:1]
        op = self.choice((r.Sum, r.Mean, r.Max) if self.real else REDUCTIONS)(axes, self.chance(30))
        if not prod(x.shape[k] for k in axes) and isinstance(op, (r.Max, r.Min)):
            return None
        return self.build(op, x)

    def along(self) -> Node | None:
        x = self.node()
        if not prod(x.shape) or not x.ndim:
            return None
        axis = self.random.randrange(x.ndim)
        ops: tuple[Any, ...] = (along_axis.CumSum(axis), along_axis.CumSum(axis, True))
        ops += () if self.real else (r.ArgMax(axis), r.ArgMin(axis), along_axis.CumArgMax(axis))
        return self.build(self.choice(ops), x)

    def lookup(self) -> Node | None:
        """Read or write at an index that is known only at run time."""
        x = self.node("fi")
        if not prod(x.shape) or not x.ndim:
            return None
        number = self.build(r.Sum(tuple(range(self.nodes[-1].ndim))), self.nodes[-1])
        if self.real:  # far from where it would be rounded the other way
            number = self.build(c.Floor(), self.builder.build(a.Mul(), (number, self.builder.const(0.0))))
        n = x.shape[0]
        held = self.builder.build(c.Minimum(), (number, self.builder.const(n - 1)))
        held = self.builder.build(c.Maximum(), (held, self.builder.const(-n)))
        index = self.build(Cast(self.choice((int64, int32))), held)
        if self.chance(50):
            return self.build(Gather(), x, index)
        return self.build(self.choice((ScatterSet, ScatterAdd))(), x, self.builder.const(2), index)

    # ------------------------------------------------------------ the whole

    def graph(self, steps: int) -> Graph:
        for _ in range(self.random.randrange(1, 5)):
            self.nodes.append(self.builder.param(Spec(self.shape(), self.choice(self.dtypes))))
        self.grow(steps)
        outputs = [self.choice(self.nodes) for _ in range(self.random.randrange(1, 5))]
        if self.chance(20):
            outputs.append(self.builder.const(self.numbers(Spec((3,), float64))))
        return Graph(tuple(self.builder.params), (self.nodes[-1], *outputs, *self.raw))

    def grow(self, steps: int) -> None:
        """Some more nodes."""
        for _ in range(steps):
            try:
                node = self.choice(self.steps)()
            except ShapeError:  # a window that does not fit
                continue
            if node is not None and prod(node.shape) <= self.limit:
                self.nodes.append(node)


def _kind(node: Node) -> str:
    return "f" if is_half(node.spec.dtype) else node.spec.dtype.kind


def _broadcasts(shape: tuple[int, ...], to: tuple[int, ...]) -> bool:
    last = to[len(to) - len(shape) :]
    return len(shape) <= len(to) and all(n in (1, k) for n, k in zip(shape, last, strict=True))


def _same_but(one: tuple[int, ...], other: tuple[int, ...], axis: int) -> bool:
    return all(k == axis or p == q for k, (p, q) in enumerate(zip(one, other, strict=True)))


def random_graph(
    random: Random,
    steps: int = 25,
    *,
    empty: bool = False,
    large: bool = False,
    wide: bool = False,
    real: bool = False,
    half: bool = False,
) -> tuple[Graph, list[np.ndarray]]:
    """A graph, and inputs for it; with `empty` some arrays have no elements, with `large` some have very many, with `wide` there
    are large products and what follows them, with `half` some are in half precision."""
    sizes = LARGE if large else WIDE if wide else (*SIZES, 0) if empty else SIZES
    limit = LARGE_LIMIT if large else WIDE_LIMIT if wide else LIMIT
    writer = GraphWriter(random, sizes, limit, real=real, half=half, kernels=0 if large else 1)
    if wide:
        writer.steps = [writer.product, writer.product, writer.product, writer.einsum, writer.binary, writer.reduce]
    graph = writer.graph(steps)
    return graph, [writer.numbers(p.spec) for p in graph.params]

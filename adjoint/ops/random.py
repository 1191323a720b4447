"""Random bits: the one card behind every sample."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from math import prod
from typing import Any

import numpy as np

from adjoint.core.spec import Shape, Spec, int64, shape_of
from adjoint.ops.arithmetic import add, mul
from adjoint.ops.bitwise import BitwiseAnd, BitwiseXor, RightShift
from adjoint.ops.broadcast import batch_front, batch_size
from adjoint.ops.card import card, register
from adjoint.ops.facts import Rewriter
from adjoint.ops.families import NotDifferentiable
from adjoint.ops.language import reshape
from adjoint.ops.movement import Reshape

#: A step between numbers that are hashed, and the factors of the hash: odd, with their bits well mixed.
STEP, FIRST, SECOND = 0x9E3779B97F4A7C15, 0xBF58476D1CE4E5B9, 0x94D049BB133111EB
WORD = 2**64 - 1
BLOCK = 32768  # elements that are hashed at once: they stay in the cache


@register
@dataclass(frozen=True)
class Bits(NotDifferentiable):
    """64 random bits for each element, as an integer: `Bits(shape)(counter)`, the same for the same counter.

    An element's bits are a hash of the counter and of its place. Along the first `shared` axes the place does not count: there
    the counter alone makes the difference, whose axes are the first ones of the shape. Further inputs are not read; where one
    of them is a batch, each example has bits of its own.
    """

    shape: Shape
    shared: int = 0

    def infer(self, counter, *like):
        return Spec(self.shape, int64)

    def eval(self, xp, counter, *like):
        axes = np.ndim(counter)
        counters = np.broadcast_to(counter, self.shape[:axes]).ravel().tolist()
        length, places = prod(self.shape[axes:]), prod(self.shape[self.shared : axes])
        keys = [mixed(t * STEP) for t in counters]
        starts = _column(key + row % places * length * STEP for row, key in enumerate(keys))
        others = _column(mixed(key + STEP) for key in keys)
        bits = np.empty((len(counters), length), np.uint64)
        rows = max(1, BLOCK // max(1, length))
        for r in range(0, len(counters), rows):
            for k in range(0, length, BLOCK):
                part = slice(r, r + rows)
                _fill(bits[part, k : k + BLOCK], starts[part] + np.uint64(k * STEP & WORD), others[part])
        return bits.view(np.int64).reshape(self.shape)

    def expand(self, b, counter, *like):
        """What `eval` computes, on integers with a sign, in steps that need no array: a row's place, and the place in it."""
        if not prod(self.shape):
            return None
        if counter.shape:
            counter = b(card(Reshape, counter.shape + (1,) * (len(self.shape) - counter.ndim)), counter)
        step = b.const(_signed(STEP))
        key = _mixed(b, b(mul, counter, step))
        other = _mixed(b, b(add, key, step))
        x, inner = key, self.shape[self.shared :]
        if inner:  # so that no table is as long as the result
            rows = np.arange(prod(inner[:-1])).reshape(*inner[:-1], 1) * inner[-1]
            x = x if rows.size == 1 else b(add, x, b.const(rows * _signed(STEP)))
            x = b(add, x, b.const(np.arange(inner[-1]) * _signed(STEP)))
        return _mixed(b, x, other)

    def vmap(self, dims, counter, *like):
        size = batch_size(dims, (counter, *like))
        if dims[0] is not None:
            counter = batch_front(counter, dims[0])
        elif shape_of(counter):
            counter = reshape(counter, (1, *shape_of(counter)))
        own = any(d is not None for d in dims[1:])
        batched = Bits((size, *self.shape), 0 if own else self.shared + 1)
        return batched(counter, *(batch_front(x, d) for x, d in zip(like, dims[1:], strict=True)))

    @classmethod
    def samples(cls, draw: Any) -> Any:
        yield cls((2, 3)), (np.int64(5),)
        yield cls(()), (np.int64(-7),)
        yield cls((2, 3, 4), 1), (np.array([5, 6]),)
        yield cls((2, 3, 4)), (np.array([[5], [6]]),)


def _column(numbers: Iterable[int]) -> np.ndarray:
    return np.array([n & WORD for n in numbers], np.uint64).reshape(-1, 1)


def _fill(x: np.ndarray, start: np.ndarray, key: np.ndarray) -> None:
    """Fill rows with the hashes of numbers a STEP apart, from `start` on; the key comes in halfway."""
    moved = np.empty(x.shape, np.uint64)
    np.add(start, np.arange(x.shape[1], dtype=np.uint64) * np.uint64(STEP), out=x)
    x ^= np.right_shift(x, 30, out=moved)
    x *= np.uint64(FIRST)
    x ^= np.right_shift(x, 27, out=moved)
    x += key
    x *= np.uint64(SECOND)
    x ^= np.right_shift(x, 31, out=moved)


def _signed(bits: int) -> np.int64:
    return np.uint64(bits).astype(np.int64)


def _mixed(b: Rewriter, x: Any, key: Any = None) -> Any:
    """The hash of a node's numbers; the key comes in halfway."""

    def folded(x: Any, by: int) -> Any:
        """x ^ (x >> by), with zeros moving in from the left."""
        moved = b(card(RightShift), x, b.const(np.int64(by)))
        return b(card(BitwiseXor), x, b(card(BitwiseAnd), moved, b.const(np.int64(2 ** (64 - by) - 1))))

    x = folded(b(mul, folded(x, 30), b.const(_signed(FIRST))), 27)
    x = x if key is None else b(add, x, key)
    return folded(b(mul, x, b.const(_signed(SECOND))), 31)


def mixed(x: int) -> int:
    """The hash of one number, without a key."""
    x &= WORD
    x = ((x ^ x >> 30) * FIRST) & WORD
    x = ((x ^ x >> 27) * SECOND) & WORD
    return x ^ x >> 31

"""Random bits: the one card behind every sample."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from math import prod
from typing import Any

import numpy as np

from adjoint.core.spec import Shape, Spec, int64, shape_of
from adjoint.ops.broadcast import batch_front, batch_size
from adjoint.ops.card import register
from adjoint.ops.families import NotDifferentiable
from adjoint.ops.language import reshape

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


def mixed(x: int) -> int:
    """The hash of one number, without a key."""
    x &= WORD
    x = ((x ^ x >> 30) * FIRST) & WORD
    x = ((x ^ x >> 27) * SECOND) & WORD
    return x ^ x >> 31

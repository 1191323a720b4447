"""Discrete Fourier transforms of few numbers in registers: what the stages of a long one consist of."""

from __future__ import annotations

from collections.abc import Sequence
from math import sqrt
from typing import Any

import numpy as np

from adjoint.backends.native.emit.lanes import LaneEmitter
from adjoint.backends.native.rewrite.fourier_steps import unit_roots

Number = tuple[Any, Any]  # the real and the imaginary part, each in a register


class Butterflies:
    """Writes them with a builder of lanes."""

    def __init__(self, b: LaneEmitter) -> None:
        self.b = b

    def add(self, x: Number, y: Number) -> Number:
        return self.b.add(x[0], y[0]), self.b.add(x[1], y[1])

    def sub(self, x: Number, y: Number) -> Number:
        return self.b.sub(x[0], y[0]), self.b.sub(x[1], y[1])

    def times(self, x: Number, w: Number) -> Number:
        b = self.b
        re = b.fma(x[0], w[0], b.neg(b.mul(x[1], w[1])))
        return re, b.fma(x[0], w[1], b.mul(x[1], w[0]))

    def plus_turned(self, x: Number, y: Number) -> Number:
        """x + i y."""
        return self.b.sub(x[0], y[1]), self.b.add(x[1], y[0])

    def minus_turned(self, x: Number, y: Number) -> Number:
        """x - i y."""
        return self.b.add(x[0], y[1]), self.b.sub(x[1], y[0])

    def transform(self, xs: Sequence[Number]) -> list[Number]:
        """The transform of so many numbers."""
        if len(xs) == 2:
            return [self.add(*xs), self.sub(*xs)]
        if len(xs) == 4:
            return self._of_four(*xs)
        return self._of_eight(xs) if len(xs) == 8 else self._of_odd(xs)

    def _of_four(self, x: Number, y: Number, z: Number, w: Number) -> list[Number]:
        a, c = self.add(x, z), self.sub(x, z)
        e, f = self.add(y, w), self.sub(y, w)
        return [self.add(a, e), self.minus_turned(c, f), self.sub(a, e), self.plus_turned(c, f)]

    def _of_eight(self, xs: Sequence[Number]) -> list[Number]:
        b, half = self.b, sqrt(0.5)
        even, odd = self._of_four(*xs[::2]), self._of_four(*xs[1::2])
        (u, v), (p, q) = odd[1], odd[3]
        odd[1] = b.mul(b.add(u, v), half), b.mul(b.sub(v, u), half)
        odd[3] = b.mul(b.sub(q, p), half), b.mul(b.add(p, q), -half)
        first = [
            self.add(even[0], odd[0]),
            self.add(even[1], odd[1]),
            self.minus_turned(even[2], odd[2]),
            self.add(even[3], odd[3]),
        ]
        last = [
            self.sub(even[0], odd[0]),
            self.sub(even[1], odd[1]),
            self.plus_turned(even[2], odd[2]),
            self.sub(even[3], odd[3]),
        ]
        return first + last

    def _of_odd(self, xs: Sequence[Number]) -> list[Number]:
        """An odd number of them: those at equal distances from the ends share their cosines and sines."""
        n = len(xs)
        half = range(1, n // 2 + 1)
        sums = {k: self.add(xs[k], xs[n - k]) for k in half}
        differences = {k: self.sub(xs[k], xs[n - k]) for k in half}
        cosine, sine = unit_roots(np.arange(n), n)
        found: list[Any] = [xs[0]] * n
        for k in half:
            found[0] = self.add(found[0], sums[k])
        for j in half:
            cosines, sines = ([float(x[j * k % n]) for k in half] for x in (cosine, sine))
            even = self._weighted(cosines, [sums[k] for k in half], xs[0])
            odd = self._weighted(sines, [differences[k] for k in half], None)
            found[j], found[n - j] = self.plus_turned(even, odd), self.minus_turned(even, odd)
        return found

    def _weighted(self, weights: Sequence[float], xs: Sequence[Number], start: Number | None) -> Number:
        """The sum of real numbers times complex ones, and of a first term if there is one."""
        total = start
        for w, x in zip(weights, xs, strict=True):
            re, im = (self.b.mul(x[k], w) if total is None else self.b.fma(x[k], w, total[k]) for k in (0, 1))
            total = re, im
        assert total is not None, "an odd number of them has three or more"
        return total

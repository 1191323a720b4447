"""Sums and averages of windows."""

from __future__ import annotations

from dataclasses import dataclass
from math import prod
from typing import Any

import numpy as np

from adjoint.core.spec import Shape, Spec, dtype_of, is_inexact, shape_of, spec_of
from adjoint.ops.card import card, register
from adjoint.ops.casting import in_single
from adjoint.ops.families import Linear
from adjoint.ops.pool import FLAT, SAMPLES, Pool, geometry_of
from adjoint.ops.publish import public
from adjoint.ops.windows import Sizes, add_up, places


@register
@dataclass(frozen=True)
class SumPool(Pool, Linear):
    """The sum of each window."""

    complex = True

    def infer(self, x):
        return Spec(self.pooled(x.shape), x.dtype)

    def eval(self, xp, x):
        values = self.elements(xp, x)
        y = xp.array(next(values))
        for value in values:
            y = y + value
        return y

    def vjp(self, g, y, x):
        return (card(SumPoolPull, *self.geometry, self.split(shape_of(x))[1])(g),)

    @classmethod
    def samples(cls, draw):
        for geometry, x in SAMPLES:
            yield cls(*geometry), (draw(*x),)


@register
@dataclass(frozen=True)
class SumPoolPull(Pool, Linear):
    """Each element added to every place of its window, in zeros of sizes `space`; the transpose of SumPool."""

    space: Shape = ()

    complex = True

    def infer(self, g):
        lead, count = self.split(g.shape)
        self.expect("cotangent", count, places(self, self.space, self.window))
        return Spec(lead + self.space, g.dtype)

    def eval(self, xp, g):
        shape = self.infer(spec_of(g)).shape
        return add_up(xp, self, (g for _ in range(prod(self.window))), self.window, shape, g.dtype)

    def vjp(self, h, y, g):
        return (card(SumPool, *self.geometry)(h),)

    @classmethod
    def samples(cls, draw):
        for geometry, x in SAMPLES:
            op = cls(*geometry, x[-len(geometry[0]) :])
            yield op, (draw(*op.pooled(x)),)

    @classmethod
    def errors(cls):
        yield cls(*FLAT, (4,)), (Spec((2, 4)),), "the cotangent must have shape (3,), not (4,)"


@in_single
def _average(
    x: Any, what: str, rank: int, window: Any, stride: Any, padding: Any, ceil_mode: bool, include: bool, divisor: Any
) -> Any:
    window, stride, pairs, wider, dilation = geometry_of(what, rank, x, window, stride, padding, 1, ceil_mode)
    total = card(SumPool, window, stride, wider, dilation)(x)
    if divisor:
        return total / float(divisor)
    space = shape_of(x)[-rank:]
    axes = zip(space, window, stride, pairs, shape_of(total)[-rank:], strict=True)
    counts = [_inside(n, k, s, pair, m, include) for n, k, s, pair, m in axes]
    count = np.ones(())
    for axis in counts:
        count = np.multiply.outer(count, axis)
    if count.size and (count == count.flat[0]).all():
        return total / float(count.flat[0])
    return total / (count.astype(dtype_of(x)) if is_inexact(dtype_of(x)) else count)


def _inside(size: int, window: int, stride: int, pair: tuple[int, int], places: int, include: bool) -> np.ndarray:
    """How many elements of each window along an axis count: those of the input, and of its padding if `include`."""
    start = np.arange(places) * stride - pair[0]
    end = np.minimum(start + window, size + pair[1])
    return end - start if include else np.minimum(end, size) - np.maximum(start, 0)


@public()
def avg_pool1d(
    input_x: Any, kernel_size: Sizes = 1, stride: Sizes | None = 1, padding: Any = 0, ceil_mode: bool = False,
    count_include_pad: bool = True,
) -> Any:  # fmt: skip
    """The average of each window of (N, C, L); see `avg_pool2d`.

    >>> from adjoint import ops, Tensor
    >>> print(ops.avg_pool1d(Tensor([[[1.0, 5.0, 2.0, 4.0]]]), 2, 2))
    [[[3. 3.]]]
    """
    return _average(input_x, "avg_pool1d", 1, kernel_size, stride, padding, ceil_mode, count_include_pad, 0)


@public()
def avg_pool2d(
    input_x: Any, kernel_size: Sizes = 1, stride: Sizes | None = 1, padding: Any = 0, ceil_mode: bool = False,
    count_include_pad: bool = True, divisor_override: int = 0,
) -> Any:  # fmt: skip
    """The average of each window of (N, C, H, W). The stride is 1, as in MindSpore; None takes the window's size.

    `count_include_pad` says whether padding counts as elements; a `divisor_override` other than 0 divides instead.

    >>> from adjoint import ops, Tensor
    >>> print(ops.avg_pool2d(Tensor([[[[1.0, 2.0], [4.0, 3.0]]]]), 2))
    [[[[2.5]]]]
    """
    return _average(
        input_x, "avg_pool2d", 2, kernel_size, stride, padding, ceil_mode, count_include_pad, divisor_override
    )


@public()
def avg_pool3d(
    input_x: Any, kernel_size: Sizes = 1, stride: Sizes | None = 1, padding: Any = 0, ceil_mode: bool = False,
    count_include_pad: bool = True, divisor_override: int = 0,
) -> Any:  # fmt: skip
    """The average of each window of (N, C, D, H, W); see `avg_pool2d`.

    >>> from adjoint import ops
    >>> ops.avg_pool3d(ops.ones((1, 2, 4, 4, 4)), 2, None).shape
    (1, 2, 2, 2, 2)
    """
    return _average(
        input_x, "avg_pool3d", 3, kernel_size, stride, padding, ceil_mode, count_include_pad, divisor_override
    )

"""What the cards of convolution, and their functions, have in common."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from math import prod, sqrt
from typing import Any, ClassVar

from adjoint.core.errors import ShapeError, called_at
from adjoint.core.spec import Shape, Spec, elements, shape_of
from adjoint.ops.broadcast import batch_front, batch_size, push
from adjoint.ops.card import Op
from adjoint.ops.language import moveaxis, reshape
from adjoint.ops.power_series import of_product
from adjoint.ops.windows import Padding, covered, sizes_of, taps

COLUMNS = 1 << 19  # elements: windows are written out for so many samples at once that they stay near the processor


# ---------------------------------------------------------------- batches


def fold_batch(x: Any, axis: int, groups: int) -> Any:
    """The batch axis 0 put into another axis, behind its groups: (B, ..., G * c, ...) becomes (..., G * B * c, ...)."""
    size, *rest = shape_of(x)
    n = rest[axis]
    x = reshape(x, (size, *rest[:axis], groups, n // groups, *rest[axis + 1 :]))
    return reshape(moveaxis(x, 0, axis + 1), (*rest[:axis], n * size, *rest[axis + 1 :]))


def unfold_batch(y: Any, axis: int, groups: int, size: int) -> Any:
    """The batch of `size` taken out of an axis again."""
    shape = shape_of(y)
    n = shape[axis] // size
    y = reshape(y, (*shape[:axis], groups, size, n // groups, *shape[axis + 1 :]))
    return reshape(moveaxis(y, axis + 1, 0), (size, *shape[:axis], n, *shape[axis + 1 :]))


# ---------------------------------------------------------------- the family


@dataclass(frozen=True)
class Convolution(Op):
    """What the three cards have in common. Fields: stride, padding as pairs, dilation, groups."""

    stride: Shape
    padding: Padding
    dilation: Shape
    groups: int = 1

    complex, dense, expensive, half_precision = True, True, True, True
    #: Where a batch goes: of the first input alone, of the second alone, and of both. Each entry is the axis of the
    #: input (or inputs), the axis of the result, and whether the batch stands behind the groups of either.
    folds: ClassVar[tuple[tuple, tuple, tuple]]

    def flops(self, y, *xs):
        """As for a product of matrices, where the three sizes are mk, kn and mn."""
        return int(2 * sqrt(elements(y) * prod(map(elements, xs))))

    @property
    def geometry(self) -> tuple:
        return self.stride, self.padding, self.dilation, self.groups

    @property
    def rank(self) -> int:
        return len(self.stride)

    @cached_property
    def name(self) -> str:
        return type(self).__name__

    def check_axes(self, **specs: Spec) -> None:
        """Every array has two axes besides those in space."""
        for what, spec in specs.items():
            if spec.ndim != self.rank + 2:
                raise ShapeError(f"{self.name}: the {what} must have {self.rank + 2} axes, not the shape {spec.shape}")

    def check_channels(self, channels: int, filters: Shape) -> None:
        """The channels of the input and of the filters agree."""
        if channels != filters[1] * self.groups:
            raise ShapeError(
                f"{self.name}: filters of shape {filters} in {self.groups} groups take {filters[1] * self.groups} "
                f"channels, the input has {channels}"
            )
        if filters[0] % self.groups:
            raise ShapeError(f"{self.name}: {filters[0]} filters cannot be shared among {self.groups} groups")

    def check_result(self, count: Shape, result: Spec, filters: int) -> None:
        """The cotangent has the shape of the convolution's result."""
        if result.shape[1:] != (filters, *count):
            raise ShapeError(
                f"{self.name}: the cotangent has shape {result.shape}, the convolution's result "
                f"{(result.shape[0], filters, *count)}"
            )

    def columns(self, xp: Any, x: Any, window: Shape, count: Shape) -> Any:
        """The windows of a padded input as columns of a matrix for each group: (G, c * window, n * count)."""
        x = x.swapaxes(0, 1)
        parts = [x[tap] for tap in taps(self, window, count)]
        size = x.shape[0] // self.groups * len(parts)
        return xp.stack(parts, axis=1).reshape(self.groups, size, x.shape[1] * prod(count))

    def rows(self, g: Any) -> Any:
        """A result of the convolution as a matrix for each group: (G, filters, n * count)."""
        n, filters, *count = g.shape
        return g.swapaxes(0, 1).reshape(self.groups, filters // self.groups, n * prod(count))

    def matrix(self, w: Any) -> Any:
        """The filters as a matrix for each group: (G, filters, c * window)."""
        return w.reshape(self.groups, w.shape[0] // self.groups, prod(w.shape[1:]))

    def batches(self, samples: int, channels: int, window: Shape, count: Shape) -> list[slice]:
        """Samples to work on at once. There is always a batch, if an empty one."""
        step = max(COLUMNS // max(channels * prod(window) * prod(count), 1), 1)
        return [slice(k, k + step) for k in range(0, max(samples, 1), step)]

    def coefficient(self, k, y, a, b):
        return of_product(self, k, a, b)

    def jvp(self, ts, y, a, b):
        return push(ts, lambda t: self(t, b), lambda t: self(a, t))

    def vmap(self, dims, a, b):
        size = batch_size(dims, (a, b))
        a, b = (batch_front(v, d) for v, d in zip((a, b), dims, strict=True))
        first, second, both = self.folds
        if dims[1] is None:
            (axis, grouped), (out, behind) = first
            y = self(fold_batch(a, axis, self.groups if grouped else 1), b)
        elif dims[0] is None:
            (axis, grouped), (out, behind) = second
            y = self(a, fold_batch(b, axis, self.groups if grouped else 1))
        else:
            left, right, out = both
            behind = False
            y = replace(self, groups=self.groups * size)(fold_batch(a, left, 1), fold_batch(b, right, 1))
        return unfold_batch(y, out, self.groups if behind else 1, size)


# ---------------------------------------------------------------- arguments


def same_padding(
    space: Sequence[int], window: Sequence[int], stride: Sequence[int], dilation: Sequence[int]
) -> Padding:
    """The padding that gives as many windows as the input has strides; an odd element goes to the end."""
    size = covered(tuple(window), tuple(dilation))
    totals = (max(-(-n // s) * s - s + k - n, 0) for n, s, k in zip(space, stride, size, strict=True))
    return tuple((t // 2, t - t // 2) for t in totals)


def is_single(what: str, rank: int, x: Any, weight: Any, groups: int) -> bool:
    """Whether the input is a single sample; an error if there is no room for the channels."""
    sizes_of(what, "groups", groups, 1)
    if len(shape_of(x)) not in (rank + 1, rank + 2) or len(shape_of(weight)) != rank + 2:
        raise ShapeError(
            f"{what}: an input of {rank + 2} axes (or {rank + 1} for a single sample) and a weight of {rank + 2} are "
            f"needed, not the shapes {shape_of(x)} and {shape_of(weight)}{called_at()}"
        )
    return len(shape_of(x)) == rank + 1


def finish(what: str, y: Any, bias: Any, rank: int, single: bool) -> Any:
    """Add the bias of each channel, and drop the axis that a single sample was given."""
    if bias is not None:
        channels = shape_of(y)[1]
        if shape_of(bias) != (channels,):
            raise ShapeError(
                f"{what}: the bias must have an element for each of the {channels} channels of the result, not the shape "
                f"{shape_of(bias)}{called_at()}"
            )
        y = y + reshape(bias, (channels, *(1,) * rank))
    return reshape(y, shape_of(y)[1:]) if single else y

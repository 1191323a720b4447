"""Windows written out, and put back."""

from __future__ import annotations

from dataclasses import dataclass
from math import prod
from typing import Any

from adjoint.core.errors import ShapeError, called_at
from adjoint.core.spec import Shape, Spec, shape_of, spec_of
from adjoint.ops.card import card, register
from adjoint.ops.families import Linear
from adjoint.ops.language import reshape
from adjoint.ops.pool import FLAT, SAMPLES, Pool
from adjoint.ops.publish import public
from adjoint.ops.windows import Sizes, add_up, pairs_of, places, sizes_of


@register
@dataclass(frozen=True)
class Unfold(Pool, Linear):
    """The windows written out: an axis with the elements of a window stands before those in space."""

    complex = True

    def infer(self, x):
        lead, count = self.split(self.pooled(x.shape))
        return Spec((*lead, prod(self.window), *count), x.dtype)

    def eval(self, xp, x):
        return xp.stack(list(self.elements(xp, x)), axis=-self.rank - 1)

    def vjp(self, g, y, x):
        return (card(Fold, *self.geometry, self.split(shape_of(x))[1])(g),)

    @classmethod
    def samples(cls, draw):
        for geometry, x in SAMPLES:
            yield cls(*geometry), (draw(*x),)


@public()
def unfold(input: Any, kernel_size: Sizes, dilation: Sizes = 1, padding: Any = 0, stride: Sizes = 1) -> Any:
    """The windows of images (N, C, H, W) as columns: (N, C * KH * KW, number of windows).

    >>> from adjoint import ops, Tensor
    >>> print(ops.unfold(Tensor([[[[1.0, 2.0, 3.0]]]]), (1, 2)))
    [[[1. 2.]
      [2. 3.]]]
    """
    n, channels, *_ = _four_axes("unfold", input)
    window, stride, dilation = _windows("unfold", kernel_size, stride, dilation)
    y = card(Unfold, window, stride, pairs_of("unfold", padding, 2), dilation)(input)
    return reshape(y, (n, channels * prod(window), prod(shape_of(y)[3:])))


@register
@dataclass(frozen=True)
class Fold(Pool, Linear):
    """Windows put back into an array of sizes `space`; where they overlap they add up. The transpose of Unfold."""

    space: Shape = ()

    complex = True

    def infer(self, g):
        want = (prod(self.window), *places(self, self.space, self.window))
        cut = max(g.ndim - self.rank - 1, 0)
        self.expect("input, in its last axes,", g.shape[cut:], want)
        return Spec(g.shape[:cut] + self.space, g.dtype)

    def eval(self, xp, g):
        shape = self.infer(spec_of(g)).shape
        return add_up(xp, self, xp.moveaxis(g, -self.rank - 1, 0), self.window, shape, g.dtype)

    def vjp(self, h, y, g):
        return (card(Unfold, *self.geometry)(h),)

    @classmethod
    def samples(cls, draw):
        for geometry, x in SAMPLES:
            op = cls(*geometry, x[-len(geometry[0]) :])
            yield op, (draw(*Unfold(*geometry).infer(Spec(x)).shape),)

    @classmethod
    def errors(cls):
        yield cls(*FLAT, (4,)), (Spec((2, 4)),), "must have shape (2, 3), not (2, 4)"


@public()
def fold(
    input: Any, output_size: Sizes, kernel_size: Sizes, dilation: Sizes = 1, padding: Any = 0, stride: Sizes = 1
) -> Any:
    """Columns (N, C * KH * KW, number of windows) put back as windows of images; where they overlap they add up.

    >>> from adjoint import ops, Tensor
    >>> print(ops.fold(Tensor([[[1.0, 2.0], [2.0, 3.0]]]), (1, 3), (1, 2)))
    [[[[1. 4. 3.]]]]
    """
    window, stride, dilation = _windows("fold", kernel_size, stride, dilation)
    space, pairs = sizes_of("fold", "output_size", output_size, 2), pairs_of("fold", padding, 2)
    op: Any = card(Fold, window, stride, pairs, dilation, space)
    count = op.pooled(space)
    shape = shape_of(input)
    if len(shape) != 3 or shape[1] % prod(window) or shape[2] != prod(count):
        raise ShapeError(
            f"fold: windows of {window} in {space} need an input of shape (N, C * {prod(window)}, {prod(count)}), "
            f"not {shape}{called_at()}"
        )
    return op(reshape(input, (shape[0], shape[1] // prod(window), prod(window), *count)))


def _windows(what: str, *values: Any) -> list[tuple[int, ...]]:
    names = ("kernel_size", "stride", "dilation")
    return [sizes_of(what, name, value, 2) for name, value in zip(names, values, strict=True)]


def _four_axes(what: str, x: Any) -> tuple[int, ...]:
    if len(shape_of(x)) != 4:
        raise ShapeError(f"{what}: an input (N, C, H, W) is needed, not the shape {shape_of(x)}{called_at()}")
    return shape_of(x)

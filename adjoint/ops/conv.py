"""Convolution: the product of every window of an input with a filter, and its two transposes.

Layouts are those of MindSpore and PyTorch: inputs (N, C, *space), filters (O, C / groups, *window), for any number of
axes in space. The three cards are bilinear and the derivatives of one are made of the other two.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from math import prod
from typing import Any

from adjoint.core.errors import ArgumentError, ShapeError, called_at
from adjoint.core.spec import Shape, Spec, promote, shape_of, spec_of
from adjoint.ops import wide_windows
from adjoint.ops.broadcast import conj, match
from adjoint.ops.card import card, register
from adjoint.ops.convolution import Convolution, finish, is_single, same_padding
from adjoint.ops.language import reshape
from adjoint.ops.publish import public
from adjoint.ops.windows import Padding, Sizes, add_up, covered, named_padding, padded, pairs_of, places, sizes_of


@register
@dataclass(frozen=True)
class Conv(Convolution):
    """The sum of products of each window of x (N, C, *space) with each filter of w (O, C / groups, *window)."""

    folds = (((0, False), (0, False)), ((0, True), (1, True)), (1, 0, 1))

    def expand(self, b, x, w):
        wide = wide_windows.is_wide(w.shape[2:], x.shape, w.shape)
        return wide_windows.forward(b, self, x, w, places(self, x.shape[2:], w.shape[2:])[-1]) if wide else None

    def infer(self, x, w):
        self.check_axes(input=x, filter=w)
        self.check_channels(x.shape[1], w.shape)
        return Spec((x.shape[0], w.shape[0], *places(self, x.shape[2:], w.shape[2:])), promote([x, w]))

    def eval(self, xp, x, w):
        _, filters, *count = self.infer(spec_of(x), spec_of(w)).shape
        window = w.shape[2:]
        x, matrix = padded(xp, self, x), self.matrix(w)
        parts = []
        for batch in self.batches(x.shape[0], x.shape[1], window, count):
            part = xp.matmul(matrix, self.columns(xp, x[batch], window, count))
            parts.append(part.reshape(filters, x[batch].shape[0], *count).swapaxes(0, 1))
        return xp.concatenate(parts)

    def vjp(self, g, y, x, w):
        return (
            lambda: match(card(ConvInput, *self.geometry, shape_of(x)[2:])(g, conj(w)), x),
            lambda: match(card(ConvFilter, *self.geometry, shape_of(w)[2:])(conj(x), g), w),
        )

    @classmethod
    def samples(cls, draw):
        for geometry, x, w in SAMPLES:
            yield cls(*geometry), (draw(*x), draw(*w))

    @classmethod
    def errors(cls):
        flat = cls((1,), ((0, 0),), (1,), 2)
        yield flat, (Spec((2, 4)), Spec((2, 2, 3))), "the input must have 3 axes, not the shape (2, 4)"
        yield flat, (Spec((1, 4, 5)), Spec((2, 3, 3))), "take 6 channels, the input has 4"
        yield flat, (Spec((1, 4, 5)), Spec((3, 2, 3))), "3 filters cannot be shared among 2 groups"
        yield flat, (Spec((1, 4, 2)), Spec((2, 2, 3))), "more than the padded input has: (2,)"


def _conv(
    what: str, rank: int, x: Any, weight: Any, bias: Any, stride: Any, pad_mode: str, padding: Any, dilation: Any,
    groups: int,
) -> Any:  # fmt: skip
    single = is_single(what, rank, x, weight, groups)
    x = reshape(x, (1, *shape_of(x))) if single else x
    stride, dilation = (sizes_of(what, n, v, rank) for n, v in (("stride", stride), ("dilation", dilation)))
    pad_mode, padding = named_padding(what, pad_mode, padding, "valid")
    pairs = pairs_of(what, padding, rank)
    if pad_mode not in ("valid", "same", "pad"):
        raise ArgumentError(f"{what}: pad_mode must be 'valid', 'same' or 'pad', not {pad_mode!r}{called_at()}")
    if pad_mode != "pad" and any(map(any, pairs)):
        raise ArgumentError(f"{what}: padding={padding!r} needs pad_mode='pad', not {pad_mode!r}{called_at()}")
    if pad_mode == "same":
        pairs = same_padding(shape_of(x)[2:], shape_of(weight)[2:], stride, dilation)
    return finish(what, card(Conv, stride, pairs, dilation, groups)(x, weight), bias, rank, single)


@public()
def conv1d(
    input: Any, weight: Any, bias: Any = None, stride: Sizes = 1, pad_mode: str = "valid", padding: Any = 0,
    dilation: Sizes = 1, groups: int = 1,
) -> Any:  # fmt: skip
    """The product of each window of an input (N, C, L) with filters (O, C / groups, K), summed; see `conv2d`.

    >>> from adjoint import ops, Tensor
    >>> print(ops.conv1d(Tensor([[[1.0, 2.0, 4.0]]]), Tensor([[[-1.0, 1.0]]])))
    [[[1. 2.]]]
    """
    return _conv("conv1d", 1, input, weight, bias, stride, pad_mode, padding, dilation, groups)


@public()
def conv2d(
    input: Any, weight: Any, bias: Any = None, stride: Sizes = 1, pad_mode: str = "valid", padding: Any = 0,
    dilation: Sizes = 1, groups: int = 1,
) -> Any:  # fmt: skip
    """The product of each window of an input (N, C, H, W) with filters (O, C / groups, KH, KW), summed.

    `pad_mode` is "valid" for no padding, "same" for as many windows as the input has strides, or "pad": then `padding`
    zeros are put around the input (one number, one for each axis, or one for each end of each axis).

    >>> from adjoint import ops
    >>> y = ops.conv2d(ops.ones((1, 2, 3, 3)), ops.ones((1, 2, 2, 2)), pad_mode="pad", padding=1, stride=2)
    >>> print(y[0, 0])
    [[2. 4.]
     [4. 8.]]
    """
    return _conv("conv2d", 2, input, weight, bias, stride, pad_mode, padding, dilation, groups)


@public()
def conv3d(
    input: Any, weight: Any, bias: Any = None, stride: Sizes = 1, pad_mode: str = "valid", padding: Any = 0,
    dilation: Sizes = 1, groups: int = 1,
) -> Any:  # fmt: skip
    """The product of each window of an input (N, C, D, H, W) with filters (O, C / groups, KD, KH, KW); see `conv2d`.

    >>> from adjoint import ops
    >>> ops.conv3d(ops.ones((1, 2, 5, 4, 4)), ops.ones((3, 2, 2, 2, 2)), pad_mode="same", stride=2).shape
    (1, 3, 3, 2, 2)
    """
    return _conv("conv3d", 3, input, weight, bias, stride, pad_mode, padding, dilation, groups)


@register
@dataclass(frozen=True)
class ConvInput(Convolution):
    """The cotangent of Conv's input, of sizes `space`, for a cotangent g of its result and filters w."""

    space: Shape = ()

    folds = (((0, False), (0, False)), ((1, False), (1, True)), (1, 0, 1))

    def expand(self, b, g, w):
        wide = wide_windows.is_wide(w.shape[2:], g.shape, w.shape, self.space)
        return wide_windows.by_input(b, self, g, w) if wide else None

    def infer(self, g, w):
        self.check_axes(cotangent=g, filter=w)
        self.check_channels(w.shape[1] * self.groups, w.shape)
        self.check_result(places(self, self.space, w.shape[2:]), g, w.shape[0])
        return Spec((g.shape[0], w.shape[1] * self.groups, *self.space), promote([g, w]))

    def eval(self, xp, g, w):
        _, channels, *_ = self.infer(spec_of(g), spec_of(w)).shape
        window, count = w.shape[2:], g.shape[2:]
        matrix = self.matrix(w).swapaxes(1, 2)
        parts = []
        for batch in self.batches(g.shape[0], channels, window, count):
            rows = self.rows(g[batch])
            # A product over one filter is slow as a matrix product, and every depthwise convolution has it.
            columns = matrix * rows if rows.shape[1] == 1 else xp.matmul(matrix, rows)
            samples = g[batch].shape[0]
            columns = columns.reshape(channels, prod(window), samples, *count).swapaxes(0, 1).swapaxes(1, 2)
            parts.append(add_up(xp, self, columns, window, (samples, channels, *self.space), columns.dtype))
        return xp.concatenate(parts)

    def vjp(self, h, x, g, w):
        return (
            lambda: match(card(Conv, *self.geometry)(h, conj(w)), g),
            lambda: match(card(ConvFilter, *self.geometry, shape_of(w)[2:])(h, conj(g)), w),
        )

    @classmethod
    def samples(cls, draw):
        for geometry, x, w in SAMPLES:
            result = Conv(*geometry).infer(Spec(x), Spec(w))
            yield cls(*geometry, x[2:]), (draw(*result.shape), draw(*w))

    @classmethod
    def errors(cls):
        flat = cls((1,), ((0, 0),), (1,), 1, (5,))
        yield flat, (Spec((2, 4)), Spec((2, 2, 3))), "the cotangent must have 3 axes, not the shape (2, 4)"
        yield flat, (Spec((1, 2, 4)), Spec((2, 2, 3))), "shape (1, 2, 4), the convolution's result (1, 2, 3)"


def _conv_transpose(
    what: str, rank: int, x: Any, weight: Any, bias: Any, stride: Any, padding: Any, output_padding: Any, groups: int,
    dilation: Any,
) -> Any:  # fmt: skip
    single = is_single(what, rank, x, weight, groups)
    x = reshape(x, (1, *shape_of(x))) if single else x
    stride, dilation = (sizes_of(what, n, v, rank) for n, v in (("stride", stride), ("dilation", dilation)))
    pairs = pairs_of(what, padding, rank)
    extra = sizes_of(what, "output_padding", output_padding, rank, 0)
    if any(e >= s for e, s in zip(extra, stride, strict=True)):
        raise ArgumentError(f"{what}: output_padding {extra} must be smaller than the stride {stride}{called_at()}")
    size = covered(shape_of(weight)[2:], dilation)
    axes = zip(shape_of(x)[2:], stride, size, pairs, extra, strict=True)
    space = tuple((n - 1) * s + k - lo - hi + e for n, s, k, (lo, hi), e in axes)
    if any(n < 1 for n in space):
        raise ShapeError(f"{what}: padding {padding!r} leaves nothing of the result: {space}{called_at()}")
    return finish(what, card(ConvInput, stride, pairs, dilation, groups, space)(x, weight), bias, rank, single)


@public(aliases=("conv1d_transpose",))
def conv_transpose1d(
    input: Any, weight: Any, bias: Any = None, stride: Sizes = 1, padding: Any = 0, output_padding: Sizes = 0,
    groups: int = 1, dilation: Sizes = 1,
) -> Any:  # fmt: skip
    """The transpose of `conv1d`: each element of (N, C, L) times filters (C, O / groups, K), added where they overlap.

    >>> from adjoint import ops, Tensor
    >>> print(ops.conv_transpose1d(Tensor([[[1.0, 2.0]]]), Tensor([[[1.0, 10.0]]]), stride=2))
    [[[ 1. 10.  2. 20.]]]
    """
    return _conv_transpose(
        "conv_transpose1d", 1, input, weight, bias, stride, padding, output_padding, groups, dilation
    )


@public(aliases=("conv2d_transpose",))
def conv_transpose2d(
    input: Any, weight: Any, bias: Any = None, stride: Sizes = 1, padding: Any = 0, output_padding: Sizes = 0,
    groups: int = 1, dilation: Sizes = 1,
) -> Any:  # fmt: skip
    """The transpose of `conv2d`: each element of (N, C, H, W) times filters (C, O / groups, KH, KW), added up.

    `padding` is taken off the result; `output_padding` adds to its end what a stride left open.

    >>> from adjoint import ops
    >>> ops.conv_transpose2d(ops.ones((1, 2, 3, 3)), ops.ones((2, 4, 3, 3)), stride=2, padding=1, output_padding=1).shape
    (1, 4, 6, 6)
    """
    return _conv_transpose(
        "conv_transpose2d", 2, input, weight, bias, stride, padding, output_padding, groups, dilation
    )


@public(aliases=("conv3d_transpose",))
def conv_transpose3d(
    input: Any, weight: Any, bias: Any = None, stride: Sizes = 1, padding: Any = 0, output_padding: Sizes = 0,
    groups: int = 1, dilation: Sizes = 1,
) -> Any:  # fmt: skip
    """The transpose of `conv3d`, with filters (C, O / groups, KD, KH, KW); see `conv_transpose2d`.

    >>> from adjoint import ops
    >>> ops.conv_transpose3d(ops.ones((1, 2, 1, 2, 2)), ops.ones((2, 1, 2, 2, 2)), stride=2).shape
    (1, 1, 2, 4, 4)
    """
    return _conv_transpose(
        "conv_transpose3d", 3, input, weight, bias, stride, padding, output_padding, groups, dilation
    )


conv1d_transpose, conv2d_transpose, conv3d_transpose = conv_transpose1d, conv_transpose2d, conv_transpose3d


@public()
def conv2d_backprop_input(
    input_size: Sequence[int], weight: Any, dout: Any, stride: Sizes = 1, padding: Any = 0, dilation: Sizes = 1,
    groups: int = 1,
) -> Any:  # fmt: skip
    """The gradient of `conv2d` by its input of shape `input_size`, for the gradient `dout` of its result.

    >>> from adjoint import ops
    >>> print(ops.conv2d_backprop_input((1, 1, 2, 2), ops.ones((1, 1, 1, 2)), ops.ones((1, 1, 2, 1)))[0, 0])
    [[1. 1.]
     [1. 1.]]
    """
    what = "conv2d_backprop_input"
    stride, dilation = (sizes_of(what, n, v, 2) for n, v in (("stride", stride), ("dilation", dilation)))
    space = tuple(int(n) for n in input_size[2:])
    dx = card(ConvInput, stride, pairs_of(what, padding, 2), dilation, groups, space)(dout, weight)
    return _expect(what, "input_size", tuple(input_size), dx)


def _expect(what: str, name: str, want: tuple[int, ...], y: Any) -> Any:
    if shape_of(y) != want:
        raise ShapeError(f"{what}: {name} is {want}, the other inputs give {shape_of(y)}{called_at()}")
    return y


@register
@dataclass(frozen=True)
class ConvFilter(Convolution):
    """The cotangent of Conv's filters, of sizes `window`, for an input x and a cotangent g of its result."""

    window: Shape = ()

    folds = (((1, True), (1, False)), ((1, True), (0, True)), (1, 1, 0))

    def expand(self, b, x, g):
        wide = wide_windows.is_wide(self.window, x.shape, g.shape)
        return wide_windows.by_filter(b, self, x, g) if wide else None

    def infer(self, x, g):
        self.check_axes(input=x, cotangent=g)
        if x.shape[0] != g.shape[0]:
            raise ShapeError(f"ConvFilter: {x.shape[0]} samples in the input and {g.shape[0]} in the cotangent")
        filters = (g.shape[1], x.shape[1] // self.groups, *self.window)
        self.check_channels(x.shape[1], filters)
        self.check_result(places(self, x.shape[2:], self.window), g, g.shape[1])
        return Spec(filters, promote([x, g]))

    def eval(self, xp, x, g):
        shape = self.infer(spec_of(x), spec_of(g)).shape
        count = g.shape[2:]
        x = padded(xp, self, x)
        total: Any = None
        for batch in self.batches(x.shape[0], x.shape[1], self.window, count):
            columns = self.columns(xp, x[batch], self.window, count)
            part = xp.matmul(self.rows(g[batch]), columns.swapaxes(1, 2))
            total = part if total is None else total + part
        return total.reshape(shape)

    def vjp(self, h, w, x, g):
        return (
            lambda: match(card(ConvInput, *self.geometry, shape_of(x)[2:])(conj(g), h), x),
            lambda: match(card(Conv, *self.geometry)(conj(x), h), g),
        )

    @classmethod
    def samples(cls, draw):
        for geometry, x, w in SAMPLES:
            result = Conv(*geometry).infer(Spec(x), Spec(w))
            yield cls(*geometry, w[2:]), (draw(*x), draw(*result.shape))

    @classmethod
    def errors(cls):
        flat = cls((1,), ((0, 0),), (1,), 1, (3,))
        yield flat, (Spec((2, 2, 5)), Spec((3, 2, 3))), "2 samples in the input and 3 in the cotangent"
        yield flat, (Spec((2, 2, 5)), Spec((2, 2, 4))), "shape (2, 2, 4), the convolution's result (2, 2, 3)"


@public()
def conv2d_backprop_filter(
    input: Any, filter_size: Sequence[int], dout: Any, stride: Sizes = 1, padding: Any = 0, dilation: Sizes = 1,
    groups: int = 1,
) -> Any:  # fmt: skip
    """The gradient of `conv2d` by its weight of shape `filter_size`, for the gradient `dout` of its result.

    >>> from adjoint import ops
    >>> print(ops.conv2d_backprop_filter(ops.ones((1, 1, 2, 2)), (1, 1, 1, 2), ops.ones((1, 1, 2, 1)))[0, 0])
    [[2. 2.]]
    """
    what = "conv2d_backprop_filter"
    stride, dilation = (sizes_of(what, n, v, 2) for n, v in (("stride", stride), ("dilation", dilation)))
    window = tuple(int(n) for n in filter_size[2:])
    dw = card(ConvFilter, stride, pairs_of(what, padding, 2), dilation, groups, window)(input, dout)
    return _expect(what, "filter_size", tuple(filter_size), dw)


#: Geometry, shape of the input, shape of the filters.
SAMPLES: list[tuple[tuple[Shape, Padding, Shape, int], Shape, Shape]] = [
    (((1,), ((0, 0),), (1,), 1), (2, 2, 4), (3, 2, 2)),
    (((2,), ((0, 1),), (1,), 2), (2, 4, 4), (2, 2, 2)),
    (((2, 1), ((1, 0), (0, 2)), (1, 2), 1), (1, 2, 4, 3), (2, 2, 3, 2)),
    (((1, 1), ((0, 0), (1, 0)), (1, 1), 2), (2, 2, 2, 2), (4, 1, 2, 1)),
    (((1, 2, 1), ((0, 0), (0, 1), (0, 0)), (1, 1, 1), 1), (1, 1, 1, 3, 2), (1, 1, 1, 2, 2)),
    (((3,), ((0, 0),), (1,), 1), (0, 1, 3), (1, 1, 2)),
]

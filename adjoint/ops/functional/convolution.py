"""Convolutions, their transposes, and windows written out, in MindSpore's and PyTorch's layout (N, C, *space)."""

from __future__ import annotations

from collections.abc import Sequence
from math import prod
from typing import Any

from adjoint.core.errors import ArgumentError, ShapeError, called_at
from adjoint.core.spec import shape_of
from adjoint.ops.card import card
from adjoint.ops.conv import Conv, ConvFilter, ConvInput, Padding, covered
from adjoint.ops.language import reshape
from adjoint.ops.pool import Fold, Unfold

Sizes = int | Sequence[int]


# ---------------------------------------------------------------- arguments


def sizes_of(what: str, name: str, value: Any, rank: int, least: int = 1) -> tuple[int, ...]:
    """One number for each axis in space, given as one for all or as a sequence."""
    sizes = tuple(int(v) for v in value) if isinstance(value, (tuple, list)) else (int(value),)
    sizes = sizes * rank if len(sizes) == 1 else sizes
    if len(sizes) != rank or any(n < least for n in sizes):
        several = f", or {rank} of them" if rank > 1 else ""
        raise ArgumentError(f"{what}: {name} must be an integer >= {least}{several}, not {value!r}{called_at()}")
    return sizes


def pairs_of(what: str, padding: Any, rank: int) -> Padding:
    """A pair for each axis in space: from one number, one for each axis, two for each axis, or pairs."""
    if isinstance(padding, (tuple, list)) and padding and all(isinstance(p, (tuple, list)) for p in padding):
        padding = [n for pair in padding for n in pair]
    if isinstance(padding, (tuple, list)) and len(padding) == 2 * rank:
        flat = sizes_of(what, "padding", padding, 2 * rank, 0)
        return tuple(zip(flat[::2], flat[1::2], strict=True))
    return tuple((n, n) for n in sizes_of(what, "padding", padding, rank, 0))


def _same(space: Sequence[int], window: Sequence[int], stride: Sequence[int], dilation: Sequence[int]) -> Padding:
    """The padding that gives as many windows as the input has strides; an odd element goes to the end."""
    size = covered(tuple(window), tuple(dilation))
    totals = (max(-(-n // s) * s - s + k - n, 0) for n, s, k in zip(space, stride, size, strict=True))
    return tuple((t // 2, t - t // 2) for t in totals)


def _check(what: str, rank: int, x: Any, weight: Any, groups: int) -> bool:
    """Whether the input is a single sample; an error if there is no room for the channels."""
    sizes_of(what, "groups", groups, 1)
    if len(shape_of(x)) not in (rank + 1, rank + 2) or len(shape_of(weight)) != rank + 2:
        raise ShapeError(
            f"{what}: an input of {rank + 2} axes (or {rank + 1} for a single sample) and a weight of {rank + 2} are "
            f"needed, not the shapes {shape_of(x)} and {shape_of(weight)}{called_at()}"
        )
    return len(shape_of(x)) == rank + 1


def _finish(what: str, y: Any, bias: Any, rank: int, single: bool) -> Any:
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


# ---------------------------------------------------------------- convolution


def _conv(
    what: str, rank: int, x: Any, weight: Any, bias: Any, stride: Any, pad_mode: str, padding: Any, dilation: Any,
    groups: int,
) -> Any:  # fmt: skip
    single = _check(what, rank, x, weight, groups)
    x = reshape(x, (1, *shape_of(x))) if single else x
    stride, dilation = (sizes_of(what, n, v, rank) for n, v in (("stride", stride), ("dilation", dilation)))
    pairs = pairs_of(what, padding, rank)
    if pad_mode not in ("valid", "same", "pad"):
        raise ArgumentError(f"{what}: pad_mode must be 'valid', 'same' or 'pad', not {pad_mode!r}{called_at()}")
    if pad_mode != "pad" and any(map(any, pairs)):
        raise ArgumentError(f"{what}: padding={padding!r} needs pad_mode='pad', not {pad_mode!r}{called_at()}")
    if pad_mode == "same":
        pairs = _same(shape_of(x)[2:], shape_of(weight)[2:], stride, dilation)
    return _finish(what, card(Conv, stride, pairs, dilation, groups)(x, weight), bias, rank, single)


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


def _expect(what: str, name: str, want: tuple[int, ...], y: Any) -> Any:
    if shape_of(y) != want:
        raise ShapeError(f"{what}: {name} is {want}, the other inputs give {shape_of(y)}{called_at()}")
    return y


# ---------------------------------------------------------------- transposed convolution


def _conv_transpose(
    what: str, rank: int, x: Any, weight: Any, bias: Any, stride: Any, padding: Any, output_padding: Any, groups: int,
    dilation: Any,
) -> Any:  # fmt: skip
    single = _check(what, rank, x, weight, groups)
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
    return _finish(what, card(ConvInput, stride, pairs, dilation, groups, space)(x, weight), bias, rank, single)


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


# ---------------------------------------------------------------- windows


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

"""What convolution and pooling become in ONNX."""

from __future__ import annotations

from math import prod
from typing import Any

import numpy as np

from adjoint.deploy.onnx_arrays import part, reshaped
from adjoint.deploy.onnx_writer import CardCall, Rule
from adjoint.ops.windows import Padding, covered, places, taps


def pads(padding: Padding) -> list[int]:
    """Padding in ONNX's order: all that comes before, then all behind."""
    return [a for a, _ in padding] + [b for _, b in padding]


def geometry(op: Any, window: tuple[int, ...], padding: Padding | None = None) -> dict[str, Any]:
    """The attributes that windows have in ONNX."""
    chosen = op.padding if padding is None else padding
    return {
        "kernel_shape": list(window),
        "strides": list(op.stride),
        "pads": pads(chosen),
        "dilations": list(op.dilation),
    }


def convolution(c: CardCall) -> str:
    x, w = c.all()
    return str(c.add("Conv", x, w, group=c.op.groups, **geometry(c.op, c.specs[1].shape[2:])))


def left_over(op: Any, space: tuple[int, ...], window: tuple[int, ...], count: tuple[int, ...]) -> list[int]:
    """What the windows of a convolution do not reach at the end of its input."""
    reached = [(n - 1) * s + k for n, s, k in zip(count, op.stride, covered(window, op.dilation), strict=True)]
    return [n + sum(p) - r for n, p, r in zip(space, op.padding, reached, strict=True)]


def transposed_convolution(c: CardCall) -> str:
    g, w = c.all()
    window = c.specs[1].shape[2:]
    rest = left_over(c.op, c.op.space, window, c.specs[0].shape[2:])
    return str(
        c.add("ConvTranspose", g, w, group=c.op.groups, output_padding=rest, **geometry(c.op, window))
    )  # fmt: skip


def filter_gradient(c: CardCall) -> str:
    """A convolution with samples as channels: the cotangent is the filter, steps between windows and inside them change places."""
    x, g = c.all()
    (samples, channels, *space), groups = c.specs[0].shape, c.op.groups
    rank = len(space)
    rest = range(3, 3 + rank)
    parts = reshaped(c, x, (samples, groups, channels // groups, *space))
    swapped = c.add("Transpose", parts, perm=[2, 1, 0, *rest])
    lines = reshaped(c, swapped, (channels // groups, groups * samples, *space))
    filters = c.add("Transpose", g, perm=[1, 0, *range(2, 2 + rank)])
    shape: dict[str, Any] = {
        "kernel_shape": list(c.specs[1].shape[2:]),
        "strides": list(c.op.dilation),
        "dilations": list(c.op.stride),
        "pads": pads(c.op.padding),
    }
    found = c.add("Conv", lines, filters, group=groups, **shape)
    axes = c.ints(*range(2, 2 + rank))
    found = c.add("Slice", found, c.ints(*[0] * rank), c.ints(*c.op.window), axes)
    return str(c.add("Transpose", found, perm=[1, 0, *range(2, 2 + rank)]))


def lines_of(c: CardCall, x: str, shape: tuple[int, ...], channels: bool) -> str:
    """An input with two axes before those in space, as ONNX has it: samples and channels."""
    lead, space = c.op.split(shape)
    if channels and len(lead) == 2:
        return x
    return reshaped(c, x, (prod(lead), 1, *space))


def pooled(c: CardCall, outputs: int) -> Any:
    """MaxPool on two axes before those in space; None of it is padding alone."""
    if c.specs[0].dtype.name not in ("float32", "float64", "float16", "int8", "uint8"):
        raise c.refuse(f"MaxPool is not for {c.specs[0].dtype}")
    sizes = covered(c.op.window, c.op.dilation)
    if any(max(pair) >= k for pair, k in zip(c.op.padding, sizes, strict=True)):
        raise c.refuse("some windows see nothing but padding")
    x = lines_of(c, c.x(), c.specs[0].shape, True)
    return c.add("MaxPool", x, outputs=outputs, **geometry(c.op, c.op.window))


def max_pool(c: CardCall) -> str:
    return reshaped(c, pooled(c, 1), c.spec.shape)


def max_pool_index(c: CardCall) -> str:
    """Places in the space of one channel: ONNX counts through all."""
    _, places_found = pooled(c, 2)
    _, space = c.op.split(c.specs[0].shape)
    return reshaped(c, c.add("Mod", places_found, c.ints(prod(space))), c.spec.shape)


def ones(c: CardCall) -> str:
    return str(c.constant(np.ones((1, 1, *c.op.window)), c.dtype))


def sum_pool(c: CardCall) -> str:
    x = lines_of(c, c.x(), c.specs[0].shape, False)
    return reshaped(c, c.add("Conv", x, ones(c), **geometry(c.op, c.op.window)), c.spec.shape)


def sum_pool_pull(c: CardCall) -> str:
    lead, count = c.op.split(c.specs[0].shape)
    g = reshaped(c, c.x(), (prod(lead), 1, *count))
    rest = left_over(c.op, c.op.space, c.op.window, count)
    found = c.add("ConvTranspose", g, ones(c), output_padding=rest, **geometry(c.op, c.op.window))
    return reshaped(c, found, c.spec.shape)


def unfold(c: CardCall) -> str:
    """For each element of a window, a slice of the padded input."""
    lead, space = c.op.split(c.specs[0].shape)
    count = places(c.op, space, c.op.window)
    x, none = c.x(), (0, 0)
    if any(map(any, c.op.padding)):
        x = c.add("Pad", x, c.ints(*pads((*[none] * len(lead), *c.op.padding))), c.number(0), mode="constant")
    shape = (*lead, *(n + a + b for n, (a, b) in zip(space, c.op.padding, strict=True)))
    whole = (slice(None),) * len(lead)
    parts = [part(c, x, (*whole, *tap[1:]), shape) for tap in taps(c.op, c.op.window, count)]
    return str(c.add("Concat", *[c.add("Unsqueeze", y, c.ints(len(lead))) for y in parts], axis=len(lead)))


RULES: dict[str, Rule] = {
    "Conv": convolution,
    "ConvInput": transposed_convolution,
    "ConvFilter": filter_gradient,
    "MaxPool": max_pool,
    "MaxPoolIndex": max_pool_index,
    "SumPool": sum_pool,
    "SumPoolPull": sum_pool_pull,
    "Unfold": unfold,
}

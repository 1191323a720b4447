"""Layers that add elements at the ends of axes, and layers that change the resolution."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from adjoint import ops
from adjoint.core.errors import ArgumentError, ShapeError, called_at
from adjoint.core.spec import shape_of
from adjoint.nn.basic import positive
from adjoint.nn.cell import Cell


class _Padding(Cell):
    """Padding of the last `rank` axes: one number for all ends, or (left, right, top, bottom, front, back)."""

    rank: int
    mode: str

    def __init__(self, padding: int | Sequence[int]) -> None:
        super().__init__()
        widths = (padding,) * (2 * self.rank) if isinstance(padding, int) else tuple(padding)
        if len(widths) != 2 * self.rank or not all(isinstance(n, int) for n in widths):
            raise ArgumentError(
                f"{type(self).__name__}: padding must be an integer, or {2 * self.rank} of them, not "
                f"{padding!r}{called_at()}"
            )
        self.padding, self.value = widths, 0.0

    def construct(self, x: Any) -> Any:
        return ops.pad(x, self.padding, self.mode, self.value)

    def extra_repr(self) -> str:
        return f"padding={self.padding}" + (f", value={self.value}" if self.value else "")


class ConstantPad1d(_Padding):
    """A value added at the ends of the last axis.

    >>> import adjoint as ad
    >>> print(ad.nn.ConstantPad1d((1, 2), 9.0)(ad.Tensor([1.0, 2.0])))
    [9. 1. 2. 9. 9.]
    """

    rank, mode = 1, "constant"

    def __init__(self, padding: int | Sequence[int], value: float) -> None:
        super().__init__(padding)
        self.value = value


class ConstantPad2d(ConstantPad1d):
    """A value added at the ends of the last two axes: (left, right, top, bottom).

    >>> import adjoint as ad
    >>> ad.nn.ConstantPad2d((1, 2, 0, 1), 9.0)(ad.ops.ones((1, 2, 2))).shape
    (1, 3, 5)
    """

    rank = 2


class ConstantPad3d(ConstantPad1d):
    """A value added at the ends of the last three axes: (left, right, top, bottom, front, back).

    >>> import adjoint as ad
    >>> ad.nn.ConstantPad3d(1, 9.0)(ad.ops.ones((1, 2, 2, 2))).shape
    (1, 4, 4, 4)
    """

    rank = 3


class ZeroPad2d(_Padding):
    """Zeros added at the ends of the last two axes: (left, right, top, bottom).

    >>> import adjoint as ad
    >>> ad.nn.ZeroPad2d((1, 2, 0, 1))(ad.ops.ones((1, 2, 2))).shape
    (1, 3, 5)
    """

    rank, mode = 2, "constant"


class ReflectionPad1d(_Padding):
    """The last axis reflected at its ends, which are not repeated.

    >>> import adjoint as ad
    >>> print(ad.nn.ReflectionPad1d(1)(ad.Tensor([[1.0, 2.0, 3.0]])))
    [[2. 1. 2. 3. 2.]]
    """

    rank, mode = 1, "reflect"


class ReflectionPad2d(_Padding):
    """The last two axes reflected at their ends.

    >>> import adjoint as ad
    >>> ad.nn.ReflectionPad2d(1)(ad.ops.ones((1, 2, 2))).shape
    (1, 4, 4)
    """

    rank, mode = 2, "reflect"


class ReflectionPad3d(_Padding):
    """The last three axes reflected at their ends.

    >>> import adjoint as ad
    >>> ad.nn.ReflectionPad3d(1)(ad.ops.ones((1, 2, 2, 2))).shape
    (1, 4, 4, 4)
    """

    rank, mode = 3, "reflect"


class ReplicationPad1d(_Padding):
    """The first and the last element of the last axis repeated.

    >>> import adjoint as ad
    >>> print(ad.nn.ReplicationPad1d((1, 2))(ad.Tensor([[1.0, 2.0]])))
    [[1. 1. 2. 2. 2.]]
    """

    rank, mode = 1, "replicate"


class ReplicationPad2d(_Padding):
    """The outermost elements of the last two axes repeated.

    >>> import adjoint as ad
    >>> ad.nn.ReplicationPad2d(1)(ad.ops.ones((1, 2, 2))).shape
    (1, 4, 4)
    """

    rank, mode = 2, "replicate"


class ReplicationPad3d(_Padding):
    """The outermost elements of the last three axes repeated.

    >>> import adjoint as ad
    >>> ad.nn.ReplicationPad3d(1)(ad.ops.ones((1, 2, 2, 2))).shape
    (1, 4, 4, 4)
    """

    rank, mode = 3, "replicate"


class Pad(Cell):
    """Padding with a pair of widths for each axis, from the first: "CONSTANT" (zeros), "REFLECT" or "SYMMETRIC".

    >>> import adjoint as ad
    >>> print(ad.nn.Pad(((0, 0), (1, 1)), "SYMMETRIC")(ad.Tensor([[1.0, 2.0]])))
    [[1. 1. 2. 2.]]
    """

    def __init__(self, paddings: Sequence[Sequence[int]], mode: str = "CONSTANT") -> None:
        super().__init__()
        if mode not in ("CONSTANT", "REFLECT", "SYMMETRIC"):
            raise ArgumentError(f"Pad: mode must be CONSTANT, REFLECT or SYMMETRIC, not {mode!r}{called_at()}")
        self.paddings, self.mode = tuple((int(a), int(b)) for a, b in paddings), mode

    def construct(self, x: Any) -> Any:
        if len(self.paddings) != len(shape_of(x)):
            raise ShapeError(
                f"Pad: {len(self.paddings)} pairs of widths for an input of shape {shape_of(x)}{called_at()}"
            )
        return ops.pad_widths(x, self.paddings, self.mode.lower())

    def extra_repr(self) -> str:
        return f"paddings={self.paddings}, mode={self.mode}"


class Upsample(Cell):
    """(N, C, *space) resized to `size` or by `scale_factor`: "nearest", "linear", "bilinear", "trilinear" or "area".

    >>> import adjoint as ad
    >>> print(ad.nn.Upsample(scale_factor=2.0)(ad.Tensor([[[1.0, 3.0]]])))
    [[[1. 1. 3. 3.]]]
    """

    def __init__(
        self, size: Any = None, scale_factor: Any = None, mode: str = "nearest", align_corners: bool | None = None
    ) -> None:
        super().__init__()
        if (size is None) == (scale_factor is None):
            raise ArgumentError(f"Upsample: one of size and scale_factor must be given{called_at()}")
        self.size, self.scale_factor, self.mode, self.align_corners = size, scale_factor, mode, align_corners

    def construct(self, x: Any) -> Any:
        return ops.interpolate(x, self.size, self.scale_factor, self.mode, self.align_corners)

    def extra_repr(self) -> str:
        by = f"size={self.size}" if self.size is not None else f"scale_factor={self.scale_factor}"
        return f"{by}, mode={self.mode}"


def _rearranged(x: Any, lead: Sequence[int], parts: Sequence[int], order: Sequence[int], shape: Sequence[int]) -> Any:
    """The axes behind `lead` cut into parts, put in another order, and joined to the given shape."""
    n = len(lead)
    x = ops.permute(ops.reshape(x, (*lead, *parts)), (*range(n), *(n + k for k in order)))
    return ops.reshape(x, (*lead, *shape))


class PixelShuffle(Cell):
    """(..., C r², H, W) as (..., C, H r, W r): channels become pixels.

    >>> import adjoint as ad
    >>> ad.nn.PixelShuffle(2)(ad.ops.ones((1, 8, 3, 4))).shape
    (1, 2, 6, 8)
    """

    def __init__(self, upscale_factor: int) -> None:
        super().__init__()
        positive("PixelShuffle", upscale_factor=upscale_factor)
        self.upscale_factor = upscale_factor

    def construct(self, x: Any) -> Any:
        r, shape = self.upscale_factor, shape_of(x)
        if len(shape) < 3 or shape[-3] % r**2:
            raise ShapeError(f"PixelShuffle: the shape {shape} has no multiple of {r**2} channels{called_at()}")
        *lead, c, h, w = shape
        return _rearranged(x, lead, (c // r**2, r, r, h, w), (0, 3, 1, 4, 2), (c // r**2, h * r, w * r))


class PixelUnshuffle(Cell):
    """(..., C, H r, W r) as (..., C r², H, W): pixels become channels.

    >>> import adjoint as ad
    >>> ad.nn.PixelUnshuffle(2)(ad.ops.ones((1, 2, 6, 8))).shape
    (1, 8, 3, 4)
    """

    def __init__(self, downscale_factor: int) -> None:
        super().__init__()
        positive("PixelUnshuffle", downscale_factor=downscale_factor)
        self.downscale_factor = downscale_factor

    def construct(self, x: Any) -> Any:
        r, shape = self.downscale_factor, shape_of(x)
        if len(shape) < 3 or shape[-1] % r or shape[-2] % r:
            raise ShapeError(f"PixelUnshuffle: the last two axes of {shape} are no multiples of {r}{called_at()}")
        *lead, c, h, w = shape
        return _rearranged(x, lead, (c, h // r, r, w // r, r), (0, 2, 4, 1, 3), (c * r * r, h // r, w // r))

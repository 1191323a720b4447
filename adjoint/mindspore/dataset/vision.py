"""mindspore.dataset.vision: operations on images, arrays of (height, width, channels)."""

from __future__ import annotations

from enum import Enum
from typing import Any

import numpy as np

from adjoint import ops
from adjoint.core.tensor import Tensor
from adjoint.mindspore.dataset.samplers import generator


class Inter(Enum):
    """How pixels between pixels are found."""

    NEAREST = 0
    LINEAR = BILINEAR = 2
    BICUBIC = CUBIC = 3


class Rescale:
    """`image * rescale + shift`, as float32."""

    def __init__(self, rescale: float, shift: float) -> None:
        self.rescale, self.shift = float(rescale), float(shift)

    def __call__(self, image: Any) -> Any:
        return (np.asarray(image, np.float32) * np.float32(self.rescale) + np.float32(self.shift)).astype(np.float32)


class Normalize:
    """`(image - mean) / std` of each channel, as float32."""

    def __init__(self, mean: Any, std: Any, is_hwc: bool = True) -> None:
        if len(mean) != len(std):
            raise ValueError("Length of mean and std must be equal.")
        self.mean, self.std, self.is_hwc = np.asarray(mean, np.float32), np.asarray(std, np.float32), is_hwc

    def __call__(self, image: Any) -> Any:
        image = np.asarray(image, np.float32)
        shape = (-1,) if self.is_hwc or image.ndim == 2 else (-1, 1, 1)
        return (image - self.mean.reshape(shape)) / self.std.reshape(shape)


class HWC2CHW:
    """Channels first."""

    def __call__(self, image: Any) -> Any:
        image = np.asarray(image)
        if image.ndim not in (2, 3):
            raise RuntimeError(f"HWC2CHW: rank of input should be 2 or 3, but got {image.ndim}.")
        return image if image.ndim == 2 else np.ascontiguousarray(image.transpose(2, 0, 1))


class ToTensor:
    """Channels first, values from 0 to 1."""

    def __init__(self, output_type: Any = np.float32) -> None:
        self.output_type = np.dtype(output_type)

    def __call__(self, image: Any) -> Any:
        image = np.asarray(image)
        image = image[..., None] if image.ndim == 2 else image
        return (image.transpose(2, 0, 1) / 255.0).astype(self.output_type)


class ToType:
    """Images in another dtype."""

    def __init__(self, data_type: Any) -> None:
        self.data_type = np.dtype(data_type)

    def __call__(self, image: Any) -> Any:
        return np.asarray(image).astype(self.data_type)


class Resize:
    """Images of another size, their pixels interpolated; one number is the shorter side."""

    def __init__(self, size: Any, interpolation: Inter = Inter.LINEAR) -> None:
        self.size, self.interpolation = size, interpolation

    def __call__(self, image: Any) -> Any:
        image = np.asarray(image)
        height, width = image.shape[:2]
        if isinstance(self.size, int):
            scale = self.size / min(height, width)
            wanted = (self.size, int(width * scale)) if height <= width else (int(height * scale), self.size)
        else:
            wanted = tuple(self.size)
        if wanted == (height, width):
            return image
        flat = image[..., None] if image.ndim == 2 else image
        x = Tensor(flat.transpose(2, 0, 1)[None].astype(np.float32))
        nearest = self.interpolation is Inter.NEAREST
        y = ops.interpolate(x, wanted, None, *(("nearest",) if nearest else ("bilinear", False)))
        found = y.asnumpy()[0].transpose(1, 2, 0)
        found = np.clip(np.round(found), 0, 255) if image.dtype == np.uint8 else found
        return (found[..., 0] if image.ndim == 2 else found).astype(image.dtype)


class CenterCrop:
    """The middle of an image."""

    def __init__(self, size: Any) -> None:
        self.size = (size, size) if isinstance(size, int) else tuple(size)

    def __call__(self, image: Any) -> Any:
        image = np.asarray(image)
        top, left = (max(0, n - k) // 2 for n, k in zip(image.shape[:2], self.size, strict=True))
        return image[top : top + self.size[0], left : left + self.size[1]]


class Crop:
    """A part of an image."""

    def __init__(self, coordinates: Any, size: Any) -> None:
        self.at, self.size = tuple(coordinates), (size, size) if isinstance(size, int) else tuple(size)

    def __call__(self, image: Any) -> Any:
        (top, left), (height, width) = self.at, self.size
        return np.asarray(image)[top : top + height, left : left + width]


class Pad:
    """A border of one value."""

    def __init__(self, padding: Any, fill_value: int = 0, padding_mode: Any = None) -> None:
        if padding_mode is not None and getattr(padding_mode, "name", str(padding_mode)).lower() != "constant":
            raise NotImplementedError("vision.Pad: padding_mode other than constant is not provided")
        self.padding, self.fill_value = padding, fill_value

    def __call__(self, image: Any) -> Any:
        image, p = np.asarray(image), self.padding
        left, top, right, bottom = (p,) * 4 if isinstance(p, int) else tuple(p) * 2 if len(p) == 2 else tuple(p)
        widths = [(top, bottom), (left, right)] + [(0, 0)] * (image.ndim - 2)
        return np.pad(image, widths, constant_values=self.fill_value)


class RandomCrop:
    """A part of an image at a random place, after padding."""

    def __init__(
        self, size: Any, padding: Any = None, pad_if_needed: bool = False, fill_value: int = 0, padding_mode: Any = None
    ) -> None:
        self.size = (size, size) if isinstance(size, int) else tuple(size)
        self.pad = None if padding is None else Pad(padding, fill_value, padding_mode)

    def __call__(self, image: Any) -> Any:
        image = np.asarray(image) if self.pad is None else self.pad(image)
        room = [n - k for n, k in zip(image.shape[:2], self.size, strict=True)]
        if min(room) < 0:
            raise RuntimeError(f"RandomCrop: the crop size {self.size} is larger than the image {image.shape[:2]}.")
        top, left = (int(generator().integers(n + 1)) for n in room)
        return image[top : top + self.size[0], left : left + self.size[1]]


class HorizontalFlip:
    """Left and right exchanged."""

    def __call__(self, image: Any) -> Any:
        return np.ascontiguousarray(np.asarray(image)[:, ::-1])


class VerticalFlip:
    """Top and bottom exchanged."""

    def __call__(self, image: Any) -> Any:
        return np.ascontiguousarray(np.asarray(image)[::-1])


class RandomHorizontalFlip(HorizontalFlip):
    """Left and right exchanged, at random."""

    def __init__(self, prob: float = 0.5) -> None:
        self.prob = prob

    def __call__(self, image: Any) -> Any:
        return super().__call__(image) if generator().random() < self.prob else np.asarray(image)


class RandomVerticalFlip(VerticalFlip):
    """Top and bottom exchanged, at random."""

    def __init__(self, prob: float = 0.5) -> None:
        self.prob = prob

    def __call__(self, image: Any) -> Any:
        return super().__call__(image) if generator().random() < self.prob else np.asarray(image)


def __getattr__(name: str) -> Any:
    if name[0].isupper():
        from adjoint.mindspore.absent import Absent

        return Absent(f"mindspore.dataset.vision.{name}")
    raise AttributeError(f"module 'mindspore.dataset.vision' has no attribute {name!r}")

"""Images: how alike two of them are, their gradients, their centres."""

from __future__ import annotations

import math
from typing import Any

import numpy as np

from adjoint import ops
from adjoint.core.spec import dtype_of, float32, shape_of
from adjoint.mindspore.nn.cell import Cell

__all__ = ["CentralCrop", "ImageGradients", "MSSSIM", "PSNR", "SSIM"]


class CentralCrop(Cell):
    """The middle of images (C, H, W) or (N, C, H, W), a fraction of each axis.

    >>> import adjoint.mindspore as mindspore
    >>> CentralCrop(0.5)(mindspore.ops.ones((3, 8, 6))).shape
    (3, 4, 4)
    """

    def __init__(self, central_fraction: float) -> None:
        super().__init__()
        if not 0 < central_fraction <= 1:
            raise ValueError(f"For 'CentralCrop', 'central_fraction' must be in (0, 1], but got {central_fraction}.")
        self.central_fraction = central_fraction

    def construct(self, image: Any) -> Any:
        if image.ndim not in (3, 4):
            raise ValueError(f"CentralCrop image must be 3d or 4d, but got shape {shape_of(image)}")
        starts = [int((n - n * self.central_fraction) / 2) for n in shape_of(image)[-2:]]
        rows, columns = (slice(a, n - a) for a, n in zip(starts, shape_of(image)[-2:], strict=True))
        return image[..., rows, columns]


class ImageGradients(Cell):
    """The differences of neighbours down and across images (N, C, H, W), with zeros in the last row and column."""

    def construct(self, images: Any) -> Any:
        down = images[:, :, 1:, :] - images[:, :, :-1, :]
        across = images[:, :, :, 1:] - images[:, :, :, :-1]
        return ops.pad(down, (0, 0, 0, 1)), ops.pad(across, (0, 1))


def _unit(image: Any) -> Any:
    """An image in float32; integers as parts of the largest one."""
    dtype = dtype_of(image)
    wide = ops.cast(image, float32)
    return wide / float(np.iinfo(dtype).max) if dtype.kind in "iu" else wide


class PSNR(Cell):
    """The ratio of the peak to the noise between two images, in decibels."""

    def __init__(self, max_val: float = 1.0) -> None:
        super().__init__()
        _check_peak("PSNR", max_val)
        self.max_val = max_val

    def construct(self, img1: Any, img2: Any) -> Any:
        peak = self.max_val / (np.iinfo(dtype_of(img1)).max if dtype_of(img1).kind in "iu" else 1.0)
        distance = _unit(img1) - _unit(img2)
        return 10 * ops.log(peak**2 / ops.mean(distance * distance, (-3, -2, -1))) / math.log(10.0)


def _check_peak(what: str, max_val: float) -> None:
    if not max_val > 0:
        raise ValueError(f"For '{what}', the 'max_val' must be greater than 0, but got {max_val}.")


def _window(size: int, sigma: float) -> np.ndarray:
    at = np.arange(size) - (size - 1) // 2 if size % 2 else np.arange(size) - size // 2 + 1
    bell = np.exp(-(at**2) / (2 * sigma**2))
    square = np.multiply.outer(bell, bell)
    return (square / square.sum()).astype(np.float32)[None, None]


class _Similarity(Cell):
    """Structural similarity, in a window that moves over the images."""

    def _settings(self, max_val: float, filter_size: int, filter_sigma: float, k1: float, k2: float) -> None:
        _check_peak(type(self).__name__, max_val)
        self.max_val, self.k1, self.k2 = max_val, k1, k2
        self.window = ops.array(_window(filter_size, filter_sigma))

    def _compare(self, img1: Any, img2: Any, peak: float) -> tuple[Any, Any]:
        """The similarity of each channel, and that of its contrast and structure alone: (N, C)."""
        n, c, h, w = shape_of(img1)

        def smooth(x: Any) -> Any:
            return ops.conv2d(ops.reshape(x, (n * c, 1, h, w)), self.window)

        mean1, mean2 = smooth(img1), smooth(img2)
        spread1 = smooth(img1 * img1) - mean1 * mean1
        spread2 = smooth(img2 * img2) - mean2 * mean2
        shared = smooth(img1 * img2) - mean1 * mean2
        c1, c2 = (self.k1 * peak) ** 2, (self.k2 * peak) ** 2
        structure = (2 * shared + c2) / (spread1 + spread2 + c2)
        light = (2 * mean1 * mean2 + c1) / (mean1 * mean1 + mean2 * mean2 + c1)
        both, alone = (ops.reshape(ops.mean(x, (1, 2, 3)), (n, c)) for x in (light * structure, structure))
        return both, alone


def _peak(self: Any, img: Any) -> float:
    return self.max_val / (float(np.iinfo(dtype_of(img)).max) if dtype_of(img).kind in "iu" else 1.0)


class SSIM(_Similarity):
    """The structural similarity of images (N, C, H, W), for each sample."""

    def __init__(
        self, max_val: float = 1.0, filter_size: int = 11, filter_sigma: float = 1.5, k1: float = 0.01, k2: float = 0.03
    ) -> None:
        super().__init__()
        self._settings(max_val, filter_size, filter_sigma, k1, k2)

    def construct(self, img1: Any, img2: Any) -> Any:
        return ops.mean(self._compare(_unit(img1), _unit(img2), _peak(self, img1))[0], -1)


class MSSSIM(_Similarity):
    """The structural similarity at several sizes of the images, each half of the one before."""

    def __init__(
        self, max_val: float = 1.0, power_factors: Any = (0.0448, 0.2856, 0.3001, 0.2363, 0.1333),
        filter_size: int = 11, filter_sigma: float = 1.5, k1: float = 0.01, k2: float = 0.03,
    ) -> None:  # fmt: skip
        super().__init__()
        self._settings(max_val, filter_size, filter_sigma, k1, k2)
        self.power_factors = tuple(power_factors)

    def construct(self, img1: Any, img2: Any) -> Any:
        peak, img1, img2 = _peak(self, img1), _unit(img1), _unit(img2)
        product: Any = 1.0
        for k, power in enumerate(self.power_factors):
            both, alone = self._compare(img1, img2, peak)
            last = k == len(self.power_factors) - 1
            product = product * ops.pow(ops.relu(both if last else alone), power)
            img1, img2 = ops.avg_pool2d(img1, 2, 2), ops.avg_pool2d(img2, 2, 2)
        return ops.mean(product, -1)

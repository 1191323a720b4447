"""Distances of surfaces of two segmentations, and what hiding parts of an image does to a model's output."""

from __future__ import annotations

from typing import Any

import numpy as np
import scipy  # which loads ndimage when it is used

from adjoint.core.tensor import Tensor
from adjoint.mindspore.checks import bools, floats, type_error
from adjoint.mindspore.nn.cell import Cell
from adjoint.mindspore.train.metrics.metric import Metric, rearrange_inputs

DISTANCES = ("euclidean", "chessboard", "taxicab")


class _Surfaces(Metric):
    """The edges of a label in two images, and how far one is from the other."""

    def __init__(self, distance_metric: str) -> None:
        super().__init__()
        if not isinstance(distance_metric, str):
            raise type_error(type(self).__name__, "distance_metric", "str", distance_metric)
        if distance_metric not in DISTANCES:
            raise ValueError(
                f"For '{type(self).__name__}', the 'distance_metric' must be one of {DISTANCES}, but got {distance_metric!r}."
            )
        self.distance_metric = distance_metric
        self.clear()

    def clear(self) -> None:
        self._edges: Any = None

    @rearrange_inputs
    def update(self, *inputs: Any) -> None:
        name = type(self).__name__
        if len(inputs) != 3:
            raise ValueError(
                f"For '{name}.update', it needs 3 inputs (predicted value, true value, label index), but got {len(inputs)}."
            )
        y_pred, y, label = self._convert_data(inputs[0]), self._convert_data(inputs[1]), inputs[2]
        if not isinstance(label, (int, float)):
            kind = TypeError if isinstance(self, RootMeanSquareDistance) else ValueError
            raise kind(f"For '{name}.update', the label index (input[2]) must be int or float, but got {type(label)}.")
        if label not in y_pred and label not in y:
            raise ValueError(
                f"For '{name}.update', the label index (input[2]) must be in predicted value (input[0]) or true value "
                f"(input[1]), but {label} is not."
            )
        if y_pred.size == 0 or y_pred.shape != y.shape:
            raise ValueError(
                f"For '{name}.update', predicted value and true value must have elements and the same shape, but got "
                f"{y_pred.shape} and {y.shape}."
            )
        self._edges = self._edges_of(*(x if x.dtype == bool else x == label for x in (y_pred, y)))

    def _edges_of(self, y_pred: np.ndarray, y: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        return scipy.ndimage.binary_erosion(y_pred) ^ y_pred, scipy.ndimage.binary_erosion(y) ^ y

    def _distances(self, of: np.ndarray, to: np.ndarray) -> np.ndarray:
        if not to.any():
            return np.full(int(of.sum()), np.inf)
        if self.distance_metric == "euclidean":
            return scipy.ndimage.distance_transform_edt(~to)[of]
        return scipy.ndimage.distance_transform_cdt(~to, metric=self.distance_metric)[of]


class HausdorffDistance(_Surfaces):
    """The largest distance of a point of one surface to the other, or a percentile of these distances."""

    def __init__(
        self, distance_metric: str = "euclidean", percentile: float | None = None, directed: bool = False,
        crop: bool = True,
    ) -> None:  # fmt: skip
        super().__init__(distance_metric)
        if percentile is not None:
            floats("HausdorffDistance", percentile=percentile)
        bools("HausdorffDistance", directed=directed, crop=crop)
        self.percentile, self.directed, self.crop = percentile, directed, crop

    def _edges_of(self, y_pred: np.ndarray, y: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        if self.crop and (either := y_pred | y).any():
            box = tuple(slice(k.min(), k.max() + 1) for k in np.nonzero(either))
            y_pred, y = np.squeeze(y_pred[box]), np.squeeze(y[box])
        return super()._edges_of(y_pred, y)

    def eval(self) -> Any:
        self._needs(self._edges is not None)
        one, other = self._edges
        found = self._largest(one, other)
        return found if self.directed else max(found, self._largest(other, one))

    def _largest(self, of: np.ndarray, to: np.ndarray) -> Any:
        distances = self._distances(of, to)
        if distances.size == 0:
            return np.inf
        if not self.percentile:
            return distances.max()
        if not 0 <= self.percentile <= 100:
            raise ValueError(
                f"For 'HausdorffDistance', the value of the argument 'percentile' must be [0, 100], but got {self.percentile}."
            )
        return np.percentile(distances, self.percentile)


class MeanSurfaceDistance(_Surfaces):
    """The mean distance of the points of one surface to the other; of both ways if `symmetric`."""

    def __init__(self, symmetric: bool = False, distance_metric: str = "euclidean") -> None:
        super().__init__(distance_metric)
        bools(type(self).__name__, symmetric=symmetric)
        self.symmetric = symmetric

    def eval(self) -> Any:
        self._needs(self._edges is not None)
        one, other = self._edges
        found = [self._distances(one, other)] + ([self._distances(other, one)] if self.symmetric else [])
        if any(d.size == 0 for d in found):
            return np.inf
        return self._combined(found)

    def _combined(self, found: list[np.ndarray]) -> Any:
        return np.mean([d.mean() for d in found])


class RootMeanSquareDistance(MeanSurfaceDistance):
    """The mean square distance of the points of one surface to the other; its root, of both ways, if `symmetric`."""

    def _combined(self, found: list[np.ndarray]) -> Any:
        mean = np.mean([(d**2).mean() for d in found])
        return np.sqrt(mean) if self.symmetric else mean


class OcclusionSensitivity(Metric):
    """By how much a model's output of a label falls when a part of the image is hidden, for each place."""

    def __init__(
        self, pad_val: float = 0.0, margin: Any = 2, n_batch: int = 128, b_box: list[int] | None = None
    ) -> None:
        super().__init__()
        floats("OcclusionSensitivity", pad_val=pad_val)
        for name, value, kinds in (("margin", margin, (int, list)), ("n_batch", n_batch, (int,))):
            if not isinstance(value, kinds):
                raise type_error("OcclusionSensitivity", name, " or ".join(k.__name__ for k in kinds), value)
        if b_box is not None and not isinstance(b_box, list):
            raise type_error("OcclusionSensitivity", "b_box", "list", b_box)
        self.pad_val, self.margin, self.n_batch, self.b_box = pad_val, margin, n_batch, b_box
        self.clear()

    def clear(self) -> None:
        self._result: Any = None

    @rearrange_inputs
    def update(self, *inputs: Any) -> None:
        if len(inputs) != 3:
            raise ValueError(
                "For 'OcclusionSensitivity.update', it needs 3 inputs (classification model, predicted value, label), but got "
                f"{len(inputs)}."
            )
        model, image, label = inputs[0], self._convert_data(inputs[1]), self._convert_data(inputs[2])
        if not isinstance(model, Cell):
            raise type_error("OcclusionSensitivity", "model", "Cell", model)
        if image.shape[0] > 1 or label.size != image.shape[0]:
            raise RuntimeError(
                f"For 'OcclusionSensitivity.update', one image and one label are needed, but got {image.shape[0]} and "
                f"{label.size}."
            )
        sizes = image.shape[1:]
        low, high = self._box(sizes)
        shape = tuple(h - b + 1 for b, h in zip(low, high, strict=True))
        chosen, margins = (
            int(label.ravel()[0]),
            self.margin if isinstance(self.margin, list) else [self.margin] * len(sizes),
        )
        hidden = np.repeat(image, int(np.prod(shape)), 0)
        for k, place in enumerate(np.ndindex(*shape)):
            spots = [i + b for i, b in zip(place, low, strict=True)]
            part = tuple(slice(max(0, i - m), min(n, i + m)) for i, m, n in zip(spots, margins, sizes, strict=True))
            index: Any = (k, *part)
            hidden[index] = self.pad_val
        groups = [hidden[i : i + self.n_batch] for i in range(0, len(hidden), self.n_batch)]
        scores = np.concatenate([model(Tensor(g)).asnumpy()[:, chosen] for g in groups])
        self._result = model(Tensor(image)).asnumpy()[0, chosen] - np.squeeze(scores.reshape(shape))

    def _box(self, sizes: tuple[int, ...]) -> tuple[list[int], list[int]]:
        if self.b_box is None:
            return [0] * len(sizes), [n - 1 for n in sizes]
        if len(self.b_box) != 2 * len(sizes):
            raise ValueError(
                "For 'OcclusionSensitivity', the bounding box must contain upper and lower for all dimensions (except batch "
                f"number), but got 'b_box' length {len(self.b_box)} for {len(sizes)} dimensions."
            )
        low = [max(b, 0) for b in self.b_box[::2]]
        high = [n - 1 if b < 0 else b for b, n in zip(self.b_box[1::2], sizes, strict=True)]
        if any(h >= n for h, n in zip(high, sizes, strict=True)) or any(b > h for b, h in zip(low, high, strict=True)):
            raise ValueError(
                "For 'OcclusionSensitivity', the bounding box must lie inside the image, its minimum first."
            )
        return low, high

    def eval(self) -> Any:
        self._needs(self._result is not None)
        return self._result

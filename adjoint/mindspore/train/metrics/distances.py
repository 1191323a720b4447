"""Metrics of distance: errors, the loss itself, perplexity, Dice's coefficient, cosine similarity."""

from __future__ import annotations

import math
from typing import Any

import numpy as np

from adjoint.mindspore.checks import bools, float_above, type_error
from adjoint.mindspore.train.metrics.metric import Metric, rearrange_inputs


class _Mean(Metric):
    """A sum over samples by their number."""

    def __init__(self) -> None:
        super().__init__()
        self.clear()

    def clear(self) -> None:
        self._sum, self._samples_num = 0.0, 0

    def eval(self) -> Any:
        self._needs(self._samples_num)
        return self._sum / self._samples_num


class MAE(_Mean):
    """The sum of absolute errors by the number of samples."""

    @rearrange_inputs
    def update(self, *inputs: Any) -> None:
        y_pred, y = self._pair(inputs)
        self._sum += float(np.abs(y.reshape(y_pred.shape) - y_pred).sum())
        self._samples_num += y.shape[0]


class MSE(_Mean):
    """The sum of squared errors by the number of samples."""

    @rearrange_inputs
    def update(self, *inputs: Any) -> None:
        y_pred, y = self._pair(inputs)
        self._sum += float(np.power(y.reshape(y_pred.shape) - y_pred, 2).sum())
        self._samples_num += y.shape[0]


class Loss(_Mean):
    """The mean loss of the batches.

    >>> from adjoint.mindspore import Tensor, train
    >>> print(train.Loss()(Tensor(0.25)))
    0.25
    """

    @rearrange_inputs
    def update(self, *inputs: Any) -> None:
        if len(inputs) != 1:
            raise ValueError(f"For 'Loss.update', it needs 1 input (loss), but got {len(inputs)}")
        loss = np.atleast_1d(self._convert_data(inputs[0]))
        if loss.ndim != 1:
            raise ValueError(f"For 'Loss.update', the dimension of your input (loss) must be 1, but got {loss.ndim}.")
        self._sum += float(loss.mean(-1))
        self._samples_num += 1


class Perplexity(_Mean):
    """The exponential of the mean cross entropy of predicted probabilities."""

    def __init__(self, ignore_label: int | None = None) -> None:
        if ignore_label is not None and not isinstance(ignore_label, int):
            raise type_error("Perplexity", "ignore_label", "int", ignore_label)
        self.ignore_label = ignore_label
        super().__init__()

    @rearrange_inputs
    def update(self, *inputs: Any) -> None:
        y_pred, y = self._pair(inputs, "(predicted value, label)")
        if y.size != y_pred.size / y_pred.shape[-1]:
            raise RuntimeError(
                "For 'Perplexity.update', predicted value (input[0]) and label (input[1]) should have the same shape, but got "
                f"predicted value shape {y_pred.shape}, label shape {y.shape}."
            )
        y = y.reshape(-1).astype(int)
        picked = y_pred.reshape(-1, y_pred.shape[-1])[np.arange(y.size), y]
        kept = np.ones(y.size, bool) if self.ignore_label is None else y != self.ignore_label
        self._sum -= np.log(np.maximum(1e-10, picked[kept])).sum()
        self._samples_num += int(kept.sum())

    def eval(self) -> float:
        return math.exp(super().eval())


class Dice(_Mean):
    """Twice what two sets share, by their sizes: the sum over batches by the number of samples."""

    def __init__(self, smooth: float = 1e-5) -> None:
        float_above("Dice", smooth=smooth)
        self.smooth = smooth
        super().__init__()

    @rearrange_inputs
    def update(self, *inputs: Any) -> None:
        y_pred, y = self._pair(inputs)
        self._samples_num += y.shape[0]
        if y_pred.shape != y.shape:
            raise ValueError(
                "For 'Dice.update', predicted value (input[0]) and true value (input[1]) should have same shape, but got "
                f"predicted value shape: {y_pred.shape}, true value shape: {y.shape}."
            )
        a, b = y_pred.ravel(), y.ravel()
        self._sum += 2 * float(a @ b) / float(a @ a + b @ b + self.smooth)


class CosineSimilarity(Metric):
    """The cosines, or dot products, of the rows of a matrix with one another."""

    def __init__(self, similarity: str = "cosine", reduction: str = "none", zero_diagonal: bool = True) -> None:
        super().__init__()
        for name, value, known in (
            ("similarity", similarity, ("dot", "cosine")),
            ("reduction", reduction, ("none", "sum", "mean")),
        ):
            if not isinstance(value, str):
                raise type_error("CosineSimilarity", name, "str", value)
            if value not in known:
                raise ValueError(f"For 'CosineSimilarity', the '{name}' must be one of {known}, but got {value!r}.")
        bools("CosineSimilarity", zero_diagonal=zero_diagonal)
        self.similarity, self.reduction, self.zero_diagonal = similarity, reduction, zero_diagonal
        self.clear()

    def clear(self) -> None:
        self.sqr_mtx_res: Any = 0
        self._is_update = False

    @rearrange_inputs
    def update(self, *inputs: Any) -> None:
        rows = self._convert_data(inputs[0])
        if self.similarity == "cosine":
            rows = rows / np.linalg.norm(rows, ord=2, axis=1, keepdims=True)
        self.sqr_mtx_res, self._is_update = rows @ rows.T, True

    def eval(self) -> Any:
        self._needs(self._is_update)
        if self.zero_diagonal:
            np.fill_diagonal(self.sqr_mtx_res, 0)
        if self.reduction != "none":
            self.sqr_mtx_res = (np.mean if self.reduction == "mean" else np.sum)(self.sqr_mtx_res, axis=-1)
        return self.sqr_mtx_res

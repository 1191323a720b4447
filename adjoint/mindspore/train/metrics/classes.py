"""Metrics of classification: accuracy, precision, recall, F scores and top-k accuracy."""

from __future__ import annotations

import sys
from typing import Any

import numpy as np

from adjoint.mindspore.checks import bools, type_error
from adjoint.mindspore.train.metrics.metric import (
    EvaluationBase,
    Metric,
    is_one_hot,
    one_hot_pair,
    rearrange_inputs,
    same_classes,
)

TINY = sys.float_info.min


class Accuracy(EvaluationBase):
    """The share of samples whose class, or all of whose labels, are right.

    >>> from adjoint.mindspore import Tensor, train
    >>> print(train.Accuracy()(Tensor([[0.2, 0.5], [0.3, 0.1]]), Tensor([1, 1])))
    0.5
    """

    def __init__(self, eval_type: str = "classification") -> None:
        super().__init__(eval_type)
        self.clear()

    def clear(self) -> None:
        self._correct_num = self._total_num = self._class_num = 0

    @rearrange_inputs
    def update(self, *inputs: Any) -> None:
        y_pred, y = self._checked(inputs)
        if self._type == "classification":
            right = (y_pred.argmax(axis=1) == y).reshape(-1)
        else:
            last = y_pred.ndim - 1
            rows = [x.swapaxes(1, last).reshape(-1, self._class_num) for x in (y_pred, y)]
            right = (rows[0] == rows[1]).all(axis=1)
        self._correct_num += right.sum()
        self._total_num += right.shape[0]

    def eval(self) -> Any:
        self._needs(self._total_num)
        return self._correct_num / self._total_num


class _Rate(EvaluationBase):
    """True positives by all that are predicted, or by all that are true."""

    _of_predictions = True

    def __init__(self, eval_type: str = "classification") -> None:
        super().__init__(eval_type)
        self.eps = TINY
        self.clear()

    def clear(self) -> None:
        self._class_num = 0
        self._true_positives: Any = np.empty(0) if self._type == "multilabel" else 0
        self._positives: Any = np.empty(0) if self._type == "multilabel" else 0
        self._sum_of_rates, self._rates = 0.0, 0

    @rearrange_inputs
    def update(self, *inputs: Any) -> None:
        y_pred, y = self._checked(inputs)
        if self._type == "classification":
            y_pred, y = one_hot_pair(type(self).__name__, y_pred, y, self._class_num)
        else:
            y_pred, y = (x.swapaxes(1, 0).reshape(self._class_num, -1) for x in (y_pred, y))
        counted = (y_pred if self._of_predictions else y).sum(axis=0)
        right = (y * y_pred).sum(axis=0)
        if self._type == "multilabel":
            self._sum_of_rates += float(np.sum(right / (counted + self.eps)))
            self._rates += len(counted)
            self._true_positives = np.concatenate((self._true_positives, right))
            self._positives = np.concatenate((self._positives, counted))
        else:
            self._true_positives = self._true_positives + right
            self._positives = self._positives + counted

    def eval(self, average: bool = False) -> Any:
        self._needs(self._class_num)
        bools(type(self).__name__, average=average)
        if average and self._type == "multilabel":
            return self._sum_of_rates / (self._rates + self.eps)
        result = self._true_positives / (self._positives + self.eps)
        return result.mean() if average else result


class Precision(_Rate):
    """Of each class, the share of predictions that are right; with `eval(True)`, their mean."""


class Recall(_Rate):
    """Of each class, the share of samples that are found; with `eval(True)`, their mean."""

    _of_predictions = False


class Fbeta(Metric):
    """Of each class, the F score: the harmonic mean of precision and recall, recall weighted by `beta` squared."""

    def __init__(self, beta: float) -> None:
        super().__init__()
        if not beta > 0:
            raise ValueError(f"For 'Fbeta', the argument 'beta' must be greater than 0, but got {beta}.")
        self.beta, self.eps = beta, TINY
        self.clear()

    def clear(self) -> None:
        self._class_num = 0
        self._true_positives: Any = 0
        self._actual_positives: Any = 0
        self._positives: Any = 0

    @rearrange_inputs
    def update(self, *inputs: Any) -> None:
        y_pred, y = self._pair(inputs)
        if y_pred.ndim == y.ndim and is_one_hot(y):
            y = y.argmax(axis=1)
        self._class_num = same_classes("Fbeta", self._class_num, y_pred)
        y_pred, y = one_hot_pair("Fbeta", y_pred, y, self._class_num)
        self._positives = self._positives + y_pred.sum(axis=0)
        self._actual_positives = self._actual_positives + y.sum(axis=0)
        self._true_positives = self._true_positives + (y * y_pred).sum(axis=0)

    def eval(self, average: bool = False) -> Any:
        bools(type(self).__name__, average=average)
        self._needs(self._class_num)
        square = self.beta**2
        below = square * self._actual_positives + self._positives + self.eps
        found = (1.0 + square) * self._true_positives / below
        return found.mean() if average else found


class F1(Fbeta):
    """Of each class, the harmonic mean of precision and recall."""

    def __init__(self) -> None:
        super().__init__(1.0)


class TopKCategoricalAccuracy(Metric):
    """The share of samples whose class is among the k largest outputs."""

    def __init__(self, k: int) -> None:
        super().__init__()
        if not isinstance(k, int):
            raise type_error("TopKCategoricalAccuracy", "k", "int", k)
        if k < 1:
            raise ValueError(
                f"For 'TopKCategoricalAccuracy', the argument 'k' must be at least 1, but got 'k' value: {k}."
            )
        self.k = k
        self.clear()

    def clear(self) -> None:
        self._correct_num = self._samples_num = 0

    @rearrange_inputs
    def update(self, *inputs: Any) -> None:
        y_pred, y = self._pair(inputs)
        if y_pred.ndim == y.ndim and is_one_hot(y):
            y = y.argmax(axis=1)
        best = np.argsort(-y_pred, axis=1)[:, : self.k]
        self._correct_num += (best == y.reshape(-1, 1)).sum()
        self._samples_num += y.size

    def eval(self) -> Any:
        self._needs(self._samples_num)
        return self._correct_num / self._samples_num


class Top1CategoricalAccuracy(TopKCategoricalAccuracy):
    """The share of samples whose class has the largest output."""

    def __init__(self) -> None:
        super().__init__(1)


class Top5CategoricalAccuracy(TopKCategoricalAccuracy):
    """The share of samples whose class is among the five largest outputs."""

    def __init__(self) -> None:
        super().__init__(5)

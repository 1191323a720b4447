"""mindspore.train.Metric: numbers gathered over a dataset, batch by batch."""

from __future__ import annotations

import functools
from abc import ABCMeta, abstractmethod
from collections.abc import Callable
from typing import Any

import numpy as np

from adjoint.core.tensor import Tensor

KINDS = ("classification", "multilabel")


def rearrange_inputs(func: Callable[..., Any]) -> Callable[..., Any]:
    """Decorates `update` of a metric: its inputs are chosen by `set_indexes`."""

    @functools.wraps(func)
    def wrapper(self: Any, *inputs: Any) -> Any:
        chosen = [inputs[i] for i in self.indexes] if self.indexes else inputs
        return func(self, *chosen)

    return wrapper


class Metric(metaclass=ABCMeta):
    """A number over a dataset: `clear()`, `update(*inputs)` for each batch, `eval()`.

    >>> from adjoint.mindspore import Tensor, train
    >>> metric = train.MAE()
    >>> metric.update(Tensor([1.0, 4.0]), Tensor([1.0, 2.0]))
    >>> print(metric.eval())
    1.0
    """

    def __init__(self) -> None:
        self._indexes: list[int] | None = None

    def _convert_data(self, data: Any) -> np.ndarray:
        if isinstance(data, Tensor):
            return data.asnumpy()
        if isinstance(data, (list, np.ndarray)):
            return np.array(data)
        raise TypeError(
            "For 'Metric' and its derived classes, the input data type must be tensor, list or numpy.ndarray, but got "
            f"{type(data)}."
        )

    def _pair(self, inputs: Any, what: str = "(predicted value, true value)") -> tuple[np.ndarray, np.ndarray]:
        """The two inputs of `update`."""
        if len(inputs) != 2:
            raise ValueError(f"For '{type(self).__name__}.update', it needs 2 inputs {what}, but got {len(inputs)}.")
        return self._convert_data(inputs[0]), self._convert_data(inputs[1])

    def _needs(self, count: Any) -> None:
        """Refuse to evaluate before anything was seen."""
        if not count:
            raise RuntimeError(
                f"The '{type(self).__name__}' can not be calculated, because the number of samples is 0: call 'update' "
                "before 'eval'."
            )

    @property
    def indexes(self) -> list[int] | None:
        """Which inputs `update` takes; None for all."""
        return getattr(self, "_indexes", None)

    def set_indexes(self, indexes: list[int]) -> Metric:
        """Choose which of (loss, output, label, ...) `update` takes, and in which order."""
        if not isinstance(indexes, list) or not all(isinstance(i, int) for i in indexes):
            raise ValueError(
                "For 'set_indexes', the argument 'indexes' must be a list and all its elements must be int."
            )
        self._indexes = indexes
        return self

    def __call__(self, *inputs: Any) -> Any:
        self.clear()
        self.update(*inputs)
        return self.eval()

    @abstractmethod
    def clear(self) -> None:
        """Forget everything."""

    @abstractmethod
    def update(self, *inputs: Any) -> None:
        """Take a batch into account."""

    @abstractmethod
    def eval(self) -> Any:
        """The number over everything since `clear`."""


class EvaluationBase(Metric):
    """Base of metrics of classification or multilabel outputs."""

    def __init__(self, eval_type: str) -> None:
        super().__init__()
        if eval_type not in KINDS:
            raise TypeError(f"The argument 'eval_type' must be in {set(KINDS)}, but got {eval_type}")
        self._type = eval_type
        self._class_num = 0

    def _checked(self, inputs: Any) -> tuple[np.ndarray, np.ndarray]:
        """Outputs and labels of one shape, and the number of classes noted."""
        y_pred, y = self._pair(inputs)
        if self._type == "classification" and y_pred.ndim == y.ndim and is_one_hot(y):
            y = y.argmax(axis=1)
        wanted = y_pred.shape if self._type == "multilabel" else (y_pred.shape[0], *y_pred.shape[2:])
        if y.shape != wanted:
            raise ValueError(
                f"In {self._type} case, the shape of y (true value) should be {wanted} for y_pred (predicted value) of shape "
                f"{y_pred.shape}, but got y shape: {y.shape}."
            )
        if self._type == "multilabel" and not all(np.equal(x**2, x).all() for x in (y_pred, y)):
            raise ValueError("In multilabel case, all elements in y_pred and y should be 0 or 1.")
        self._class_num = same_classes(type(self).__name__, self._class_num, y_pred)
        return y_pred, y


def same_classes(name: str, before: int, y_pred: np.ndarray) -> int:
    """The number of classes of an output, which must be that of earlier ones."""
    if before and y_pred.shape[1] != before:
        raise ValueError(
            f"For '{name}.update', class number not match, last input predicted data contain {before} classes, but current "
            f"predicted data contain {y_pred.shape[1]} classes."
        )
    return y_pred.shape[1]


def is_one_hot(data: np.ndarray) -> bool:
    """Whether labels are written as ones and zeros along axis 1."""
    return data.ndim > 1 and bool(np.equal(data**2, data).all()) and bool((data.sum(axis=1) == 1).all())


def one_hot_pair(name: str, y_pred: np.ndarray, y: np.ndarray, classes: int) -> tuple[np.ndarray, np.ndarray]:
    """The predicted and the true class of each sample, as ones and zeros."""
    if y.max() + 1 > classes:
        raise ValueError(
            f"For '{name}.update', predicted value(inputs[0]) and true value(inputs[1]) should contain same classes, but got "
            f"predicted value contains {classes} classes and true value contains {y.max() + 1} classes."
        )
    rows = np.eye(classes)
    return rows[y_pred.argmax(axis=1).reshape(-1)], rows[y.reshape(-1)]

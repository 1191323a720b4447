"""Metrics: numbers gathered over a whole dataset, batch by batch."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from typing import Any

import numpy as np

from adjoint.core.errors import AdjointError, ArgumentError, ShapeError, called_at
from adjoint.core.tensor import Tensor


class Metric:
    """A number over a dataset: `clear()`, then `update(output, label)` for each batch, then `eval()`.

    A class of your own defines `observe(output, label)`, which returns a sum and how many values it is over.

    >>> class Largest(Metric):
    ...     def observe(self, output, label):
    ...         return (output - label).max(), 1
    >>> metric = Largest()
    >>> metric.update([1.0, 5.0], [1.0, 2.0])
    >>> metric.eval()
    3.0
    """

    needs_loss = False  # whether Model.eval gives it the loss instead of output and label

    def __init__(self) -> None:
        self.clear()

    def clear(self) -> None:
        """Forget everything."""
        self.total, self.count = 0.0, 0

    def observe(self, output: np.ndarray, label: np.ndarray) -> tuple[float, int]:
        """The sum over a batch and how many values it is over: to be written by each class."""
        raise NotImplementedError(f"{type(self).__name__} has no `observe`")

    def update(self, *inputs: Any) -> None:
        """Take a batch into account."""
        total, count = self.observe(*map(_array, inputs))
        self.total += float(total)
        self.count += int(count)

    def eval(self) -> float:
        """The number over everything since `clear`."""
        if self.count == 0:
            raise AdjointError(f"{type(self).__name__}: there is nothing to evaluate; call update first{called_at()}")
        return self.total / self.count

    def __call__(self, *inputs: Any) -> float:
        self.clear()
        self.update(*inputs)
        return self.eval()


class TopK(Metric):
    """The share of samples whose class is among the k largest outputs.

    >>> TopK(2)([[0.1, 0.5, 0.4], [0.8, 0.1, 0.05]], [2, 2])
    0.5
    """

    def __init__(self, k: int = 5) -> None:
        super().__init__()
        if k < 1:
            raise ArgumentError(f"TopK: k must be at least 1, not {k}{called_at()}")
        self.k = k

    def observe(self, output: np.ndarray, label: np.ndarray) -> tuple[float, int]:
        label = _classes(type(self).__name__, output, label)
        # Ties count for the class that comes first, as in argmax.
        best = np.argsort(-output, axis=1, kind="stable")[:, : self.k]
        return (best == label[:, None]).any(axis=1).sum(), len(label)


class Accuracy(TopK):
    """The share of samples whose class is the largest output. Labels are classes, or one-hot.

    >>> metric = Accuracy()
    >>> metric.update([[0.1, 0.9], [0.7, 0.3]], [1, 1])
    >>> metric.update([[0.2, 0.8]], [[0, 1]])
    >>> round(metric.eval(), 4)
    0.6667
    """

    def __init__(self) -> None:
        super().__init__(1)


class Loss(Metric):
    """The mean loss, each batch weighted by its size.

    >>> metric = Loss()
    >>> metric.update(1.0, 3)
    >>> metric.update(2.0, 1)
    >>> metric.eval()
    1.25
    """

    needs_loss = True

    def update(self, *inputs: Any) -> None:
        """Take a batch into account: its loss and, if not 1, its size."""
        loss, size = inputs if len(inputs) == 2 else (*inputs, 1)
        self.total += float(_array(loss).mean()) * size
        self.count += size


class MAE(Metric):
    """The mean absolute error of each element.

    >>> MAE()([1.0, 5.0], [2.0, 2.0])
    2.0
    """

    def observe(self, output: np.ndarray, label: np.ndarray) -> tuple[float, int]:
        return np.abs(_difference("MAE", output, label)).sum(), output.size


class MSE(Metric):
    """The mean squared error of each element.

    >>> MSE()([1.0, 5.0], [2.0, 2.0])
    5.0
    """

    def observe(self, output: np.ndarray, label: np.ndarray) -> tuple[float, int]:
        return np.square(_difference("MSE", output, label)).sum(), output.size


METRICS: dict[str, Callable[[], Metric]] = {
    "accuracy": Accuracy, "acc": Accuracy, "loss": Loss, "mae": MAE, "mse": MSE,
    "top_1_accuracy": lambda: TopK(1), "top_5_accuracy": lambda: TopK(5),
}  # fmt: skip


def get_metrics(given: Mapping[str, Any] | Iterable[str] | None) -> dict[str, Metric]:
    """Metrics by name, from names or from a dict of Metrics.

    >>> list(get_metrics(["accuracy", "loss"]))
    ['accuracy', 'loss']
    """
    if given is None:
        return {}
    if isinstance(given, Mapping):
        return {name: METRICS[m]() if isinstance(m, str) else m for name, m in given.items()}
    names = sorted(given) if isinstance(given, (set, frozenset)) else list(given)
    if unknown := [n for n in names if n not in METRICS]:
        raise ArgumentError(f"there is no metric {unknown[0]!r}; there are {', '.join(METRICS)}{called_at()}")
    return {name: METRICS[name]() for name in names}


def _array(value: Any) -> np.ndarray:
    return value.asnumpy() if isinstance(value, Tensor) else np.asarray(value)


def _classes(what: str, output: np.ndarray, label: np.ndarray) -> np.ndarray:
    if output.ndim == 2 and label.shape == output.shape:
        label = label.argmax(axis=1)
    if output.ndim != 2 or label.shape != output.shape[:1]:
        raise ShapeError(
            f"{what}: outputs must be [samples, classes], labels [samples]; found {output.shape}, {label.shape}"
        )
    return label


def _difference(what: str, output: np.ndarray, label: np.ndarray) -> np.ndarray:
    if output.shape != label.shape:
        raise ShapeError(f"{what}: the output has shape {output.shape}, the label {label.shape}{called_at()}")
    return output.astype(np.float64) - label

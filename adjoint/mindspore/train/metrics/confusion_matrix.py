"""Metrics from counts of right and wrong decisions."""

from __future__ import annotations

from typing import Any

import numpy as np

from adjoint.mindspore.checks import bools, floats, type_error
from adjoint.mindspore.train.metrics.metric import Metric, rearrange_inputs

#: What rates are called; from tp, fp, tn, fn.
NAMES = {
    "tpr": ("sensitivity", "recall", "hit_rate", "true_positive_rate"),
    "tnr": ("specificity", "selectivity", "true_negative_rate"),
    "ppv": ("precision", "positive_predictive_value"),
    "npv": ("negative_predictive_value",),
    "fnr": ("miss_rate", "false_negative_rate"),
    "fpr": ("fall_out", "false_positive_rate"),
    "fdr": ("false_discovery_rate",),
    "for": ("false_omission_rate",),
    "pt": ("prevalence_threshold",),
    "ts": ("threat_score", "critical_success_index", "csi"),
    "acc": ("accuracy",),
    "ba": ("balanced_accuracy",),
    "f1": ("f1_score",),
    "mcc": ("matthews_correlation_coefficient",),
    "fm": ("fowlkes_mallows_index",),
    "bm": ("informedness", "bookmaker_informedness"),
    "mk": ("markedness", "deltap"),
}
REDUCTIONS = ("none", "mean", "sum", "mean_batch", "sum_batch", "mean_channel", "sum_channel")


class ConfusionMatrix(Metric):
    """How often each class (rows) was taken for each (columns)."""

    def __init__(self, num_classes: int, normalize: str = "no_norm", threshold: float = 0.5) -> None:
        super().__init__()
        if not isinstance(num_classes, int):
            raise type_error("ConfusionMatrix", "num_classes", "int", num_classes)
        if normalize not in ("target", "prediction", "all", "no_norm"):
            raise ValueError(
                "For 'ConfusionMatrix', the argument 'normalize' must be in ['all', 'prediction', 'target', 'no_norm'], but got "
                f"{normalize}."
            )
        floats("ConfusionMatrix", threshold=threshold)
        self.num_classes, self.normalize, self.threshold = num_classes, normalize, threshold
        self.clear()

    def clear(self) -> None:
        self.confusion_matrix = np.zeros((self.num_classes, self.num_classes))
        self._is_update = False

    @rearrange_inputs
    def update(self, *inputs: Any) -> None:
        y_pred, y = self._pair(inputs)
        if y_pred.ndim - y.ndim not in (0, 1):
            raise ValueError(
                "For 'ConfusionMatrix.update', predicted value (input[0]) and true value (input[1]) should have same "
                "dimensions, or the dimension of predicted value equals the dimension of true value add 1, but got predicted "
                f"value ndim: {y_pred.ndim}, true value ndim: {y.ndim}."
            )
        if y_pred.ndim == y.ndim + 1:
            y_pred = np.argmax(y_pred, axis=1)
        if y_pred.dtype.kind == "f":
            y_pred = (y_pred >= self.threshold).astype(int)
        pairs = (y.reshape(-1) * self.num_classes + y_pred.reshape(-1)).astype(int)
        counts = np.bincount(pairs, minlength=self.num_classes**2)
        self.confusion_matrix += counts.reshape(self.num_classes, self.num_classes)
        self._is_update = True

    def eval(self) -> Any:
        self._needs(self._is_update)
        matrix = self.confusion_matrix.astype(float)
        if self.normalize == "no_norm":
            return matrix
        axis = {"target": 1, "prediction": 0, "all": None}[self.normalize]
        whole = matrix.sum(axis=axis, keepdims=True)
        return np.divide(matrix, whole, out=np.zeros_like(matrix), where=whole != 0)


class ConfusionMatrixMetric(Metric):
    """A rate from a confusion matrix, such as sensitivity, of ones and zeros in (batch, class, ...)."""

    def __init__(
        self, skip_channel: bool = True, metric_name: str = "sensitivity", calculation_method: bool = False,
        decrease: str = "mean",
    ) -> None:  # fmt: skip
        super().__init__()
        bools("ConfusionMatrixMetric", skip_channel=skip_channel, calculation_method=calculation_method)
        for name, value in (("metric_name", metric_name), ("decrease", decrease)):
            if not isinstance(value, str):
                raise type_error("ConfusionMatrixMetric", name, "str", value)
        if decrease not in REDUCTIONS:
            raise ValueError(
                f"For 'ConfusionMatrixMetric', the 'decrease' must be one of {REDUCTIONS}, but got {decrease!r}."
            )
        self.skip_channel, self.metric_name = skip_channel, metric_name
        self.calculation_method, self.decrease = calculation_method, decrease
        self.clear()

    def clear(self) -> None:
        self._sum, self._class_num, self._counts = 0.0, 0, np.zeros(4)

    @rearrange_inputs
    def update(self, *inputs: Any) -> None:
        y_pred, y = self._pair(inputs)
        if not np.all(y.astype(np.uint8) == y):
            raise ValueError("For 'ConfusionMatrix.update', the true value (input[1]) must be a binarized ndarray.")
        if y_pred.ndim < 2:
            raise ValueError(
                "For 'ConfusionMatrix.update', the predicted value (input[0]) must have at least 2 dimensions, but got "
                f"{y_pred.ndim}."
            )
        counts = decisions(y_pred, y, self.skip_channel)
        if self.calculation_method and not (y_pred.ndim == 2 or (y_pred.ndim == 3 and y_pred.shape[-1] == 1)):
            score, known = reduced(rate(self.metric_name, counts), self.decrease)
            self._sum += score.item() * int(known.item())
            self._class_num += int(known.item())
        else:
            self._counts += np.nansum(counts, axis=(0, 1))

    def eval(self) -> Any:
        if self.calculation_method:
            self._needs(self._class_num)
            return self._sum / self._class_num
        return rate(self.metric_name, self._counts[None])


def decisions(y_pred: np.ndarray, y: np.ndarray, skip_channel: bool = True) -> np.ndarray:
    """True and false positives, true and false negatives of each sample and class."""
    if not skip_channel:
        y, y_pred = (x[:, 1:] if x.shape[1] > 1 else x for x in (y, y_pred))
    if y.shape != y_pred.shape:
        raise ValueError(f"For 'ConfusionMatrix.update', y_shape {y.shape} must equal y_pred_shape {y_pred.shape}.")
    y, y_pred = (x.astype(float).reshape(*x.shape[:2], -1) for x in (y, y_pred))
    tp, tn = ((y_pred + y == k).sum(axis=2).astype(float) for k in (2, 0))
    p = y.sum(axis=2)
    n = y.shape[-1] - p
    return np.stack([tp, n - tn, tn, p - tp], axis=-1)


def reduced(chart: np.ndarray, how: str) -> tuple[np.ndarray, np.ndarray]:
    """A table of rates (samples, classes) in fewer numbers, and over how many known ones they are."""
    known = (~np.isnan(chart)).astype(float)
    chart = np.where(np.isnan(chart), 0.0, chart)
    axis: Any = {"sum": (0, 1), "mean_batch": 0, "sum_batch": 0, "mean_channel": 1, "sum_channel": 1}.get(how)
    if how == "none":
        return chart, known
    if how == "mean":
        rows, counts = _mean(chart, known, 1)
        return _mean(rows, (counts > 0).astype(float), 0)
    if how.startswith("mean"):
        return _mean(chart, known, axis)
    return chart.sum(axis=axis), known.sum(axis=axis)


def _mean(chart: np.ndarray, known: np.ndarray, axis: int) -> tuple[np.ndarray, np.ndarray]:
    count = known.sum(axis=axis)
    return np.where(count > 0, chart.sum(axis=axis) / np.maximum(count, 1), 0.0), count


def rate(metric_name: str, counts: np.ndarray) -> np.ndarray:
    """A rate by one of its names from counts `[tp, fp, tn, fn]`; NaN where it is not known."""
    tp, fp, tn, fn = np.moveaxis(counts, -1, 0)
    p, n = tp + fn, fp + tn
    tpr, tnr = _ratio(tp, p), _ratio(tn, n)
    ppv, npv = _ratio(tp, tp + fp), _ratio(tn, tn + fn)
    found = {
        "tpr": lambda: tpr,
        "tnr": lambda: tnr,
        "ppv": lambda: ppv,
        "npv": lambda: npv,
        "fnr": lambda: _ratio(fn, p),
        "fpr": lambda: _ratio(fp, n),
        "fdr": lambda: _ratio(fp, fp + tp),
        "for": lambda: _ratio(fn, fn + tn),
        "pt": lambda: _ratio(np.sqrt(tpr * (1.0 - tnr)) + tnr - 1.0, tpr + tnr - 1.0),
        "ts": lambda: _ratio(tp, tp + fn + fp),
        "acc": lambda: _ratio(tp + tn, p + n),
        "ba": lambda: (tpr + tnr) / 2.0,
        "f1": lambda: _ratio(2.0 * tp, 2.0 * tp + fn + fp),
        "mcc": lambda: _ratio(tp * tn - fp * fn, np.sqrt((tp + fp) * (tp + fn) * (tn + fp) * (tn + fn))),
        "fm": lambda: np.sqrt(ppv * tpr),
        "bm": lambda: tpr + tnr - 1.0,
        "mk": lambda: ppv + npv - 1.0,
    }
    return found[_short(metric_name)]()


def _ratio(above: np.ndarray, below: np.ndarray) -> np.ndarray:
    return np.where(below != 0, above / np.where(below != 0, below, 1.0), np.nan)


def _short(metric_name: str) -> str:
    name = metric_name.replace(" ", "_").lower()
    for short, long in NAMES.items():
        if name == short or name in long:
            return short
    raise NotImplementedError("The metric is not implemented.")

"""The receiver operating characteristic, the area under a curve, and the BLEU score."""

from __future__ import annotations

from collections import Counter
from typing import Any

import numpy as np

from adjoint.mindspore.checks import bools, type_error
from adjoint.mindspore.train.metrics.metric import Metric, rearrange_inputs


class ROC(Metric):
    """False and true positive rates by thresholds: arrays for two classes, lists of them for several."""

    def __init__(self, class_num: int | None = None, pos_label: int | None = None) -> None:
        super().__init__()
        for name, value in (("class_num", class_num), ("pos_label", pos_label)):
            if value is not None and not isinstance(value, int):
                raise type_error("ROC", name, "int", value)
        self.class_num, self.pos_label = class_num, pos_label
        self.clear()

    def clear(self) -> None:
        self.y_pred: Any = 0
        self.y: Any = 0
        self._is_update = False

    @rearrange_inputs
    def update(self, *inputs: Any) -> None:
        y_pred, y = self._pair(inputs)
        if y_pred.ndim == y.ndim:
            if self.class_num not in (None, 1):
                raise ValueError(
                    "For 'ROC', when predicted value (input[0]) and true value (input[1]) have the same shape, the 'class_num' "
                    f"must be 1, but got {self.class_num}."
                )
            self.class_num, self.pos_label = 1, 1 if self.pos_label is None else self.pos_label
            y_pred = y_pred.ravel()
        elif y_pred.ndim == y.ndim + 1:
            if self.pos_label is not None:
                raise ValueError(
                    f"For 'ROC', with several classes the 'pos_label' must be None, but got {self.pos_label}."
                )
            if self.class_num != y_pred.shape[1]:
                raise ValueError(
                    "For 'ROC', the 'class_num' must equal the number of classes from predicted value (input[0]), but got "
                    f"'class_num' {self.class_num}, the number of classes from predicted value {y_pred.shape[1]}."
                )
            y_pred = np.moveaxis(y_pred, 1, -1).reshape(-1, y_pred.shape[1])
        else:
            raise ValueError(
                "For 'ROC', predicted value (input[0]) and true value (input[1]) must have same dimensions, or the dimension "
                f"of predicted value equal the dimension of true value add 1, but got {y_pred.ndim} and {y.ndim}."
            )
        self.y_pred, self.y, self._is_update = y_pred, y.ravel(), True

    def eval(self) -> Any:
        self._needs(self._is_update)
        if self.class_num == 1:
            return _curve(self.y_pred, self.y, self.pos_label)
        curves = [_curve(self.y_pred[:, c], self.y, c) for c in range(self.class_num or 0)]
        return tuple(map(list, zip(*curves, strict=True)))


def _curve(scores: np.ndarray, y: np.ndarray, label: Any) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    order = np.argsort(-scores)
    scores, hit = scores[order], (y[order] == label).astype(np.int64)
    ends = np.append(np.where(np.diff(scores))[0], y.shape[0] - 1)
    right = np.append(0, np.cumsum(hit)[ends])
    wrong = np.append(0, 1 + ends) - right
    if wrong[-1] <= 0 or right[-1] <= 0:
        kind = "negative" if wrong[-1] <= 0 else "positive"
        raise ValueError(f"For 'ROC.eval', there is no {kind} samples in true value, so the rate is meaningless.")
    thresholds = np.hstack([scores[ends][:1] + 1, scores[ends]])
    return wrong / wrong[-1], right / right[-1], thresholds


def auc(x: Any, y: Any, reorder: bool = False) -> Any:
    """The area under a curve by trapezia; `x` must be sorted, or is sorted with `reorder`.

    >>> import numpy as np
    >>> float(auc(np.array([0.0, 1.0]), np.array([0.0, 1.0])))
    0.5
    """
    if not isinstance(x, np.ndarray) or not isinstance(y, np.ndarray):
        raise TypeError(f"For 'auc', the argument 'x' and 'y' must all be np.ndarray, but got {type(x)}, {type(y)}")
    if x.ndim == 0 or y.ndim == 0:
        raise TypeError("Singleton array cannot be considered as a valid collection.")
    if x.shape[0] != y.shape[0]:
        raise ValueError(f"Found input variables with inconsistent numbers of samples: {[x.shape[0], y.shape[0]]}.")
    for one in (x, y):
        if one.ndim > 2 or (one.ndim == 2 and one.shape[1] != 1):
            raise ValueError(f"For 'auc', the input must be a 1-dimensional array, but got shape {one.shape}.")
    x, y = x.ravel(), y.ravel()
    if x.shape[0] < 2:
        raise ValueError(f"For 'auc', the argument 'x' needs at least 2 elements, but got {x.shape[0]}.")
    sign = 1
    if reorder:
        order = np.lexsort((y, x))
        x, y = x[order], y[order]
    elif (np.diff(x) < 0).any():
        if not (np.diff(x) <= 0).all():
            raise ValueError(f"For 'auc', the argument 'x' array must be increasing or decreasing, but got 'x': {x}")
        sign = -1
    return sign * ((y[1:] + y[:-1]) / 2 * np.diff(x)).sum()


class BleuScore(Metric):
    """BLEU of translations (lists of words) against references (several for each)."""

    def __init__(self, n_gram: int = 4, smooth: bool = False) -> None:
        super().__init__()
        if not isinstance(n_gram, int):
            raise type_error("BleuScore", "n_gram", "int", n_gram)
        if not 1 <= n_gram <= 4:
            raise ValueError(f"For 'BleuScore', the argument 'n_gram' should range from 1 to 4, but got {n_gram}.")
        bools("BleuScore", smooth=smooth)
        self.n_gram, self.smooth = n_gram, smooth
        self.clear()

    def clear(self) -> None:
        self._found, self._all = np.zeros(self.n_gram), np.zeros(self.n_gram)
        self._length, self._wanted, self._is_update = 0, 0, False

    def _counted(self, words: Any) -> Counter:
        return Counter(
            tuple(words[j : j + n]) for n in range(1, self.n_gram + 1) for j in range(len(words) - n + 1)
        )  # every run of up to n words

    @rearrange_inputs
    def update(self, *inputs: Any) -> None:
        if len(inputs) != 2:
            raise ValueError(
                "For 'BleuScore.update', it needs 2 inputs (candidate_corpus, reference_corpus), but got "
                f"{len(inputs)}."
            )
        candidates, references = inputs
        if len(candidates) != len(references):
            raise ValueError(
                "For 'BleuScore.update', 'translate_corpus' (inputs[0]) and 'reference_corpus' (inputs[1]) should be equal in "
                f"length, but got {len(candidates)}, {len(references)}"
            )
        for words, several in zip(candidates, references, strict=True):
            self._length += len(words)
            lengths = [len(ref) for ref in several]
            self._wanted += lengths[int(np.argmin([abs(n - len(words)) for n in lengths]))]
            mine = self._counted(words)
            theirs: Counter = Counter()
            for ref in several:
                theirs |= self._counted(ref)
            for run, count in (mine & theirs).items():
                self._found[len(run) - 1] += count
            for run, count in mine.items():
                self._all[len(run) - 1] += count
        self._is_update = True

    def eval(self) -> Any:
        self._needs(self._is_update)
        if self._found.min() == 0:
            return np.array(0.0)
        rates = (self._found + self.smooth) / (self._all + self.smooth)
        short = 1.0 if self._length > self._wanted else np.exp(1 - self._wanted / self._length)
        return short * np.exp(np.log(rates).mean())

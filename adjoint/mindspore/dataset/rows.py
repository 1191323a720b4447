"""Rows of a dataset: arrays, batches of them, and iteration."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import numpy as np

from adjoint.core.tensor import Tensor

Row = tuple[np.ndarray, ...]


def as_array(value: Any) -> np.ndarray:
    return value.asnumpy() if isinstance(value, Tensor) else np.asarray(value)


def as_row(sample: Any) -> Row:
    return tuple(map(as_array, sample if isinstance(sample, (tuple, list)) else (sample,)))


def as_names(given: Any) -> list[str]:
    return [given] if isinstance(given, str) else list(given)


class Rows:
    def __init__(self, dataset: Any, as_numpy: bool, named: bool) -> None:
        self.dataset, self.as_numpy, self.named = dataset, as_numpy, named
        self._open: Iterator[Any] | None = None

    def _passed(self) -> Iterator[Any]:
        names = self.dataset.get_col_names()
        for row in self.dataset.rows():
            values = list(row) if self.as_numpy else [Tensor(x) if x.dtype.kind in "biufc" else x for x in row]
            yield dict(zip(names, values, strict=True)) if self.named else values

    def __iter__(self) -> Iterator[Any]:
        return self._passed()

    def __next__(self) -> Any:
        self._open = self._passed() if self._open is None else self._open
        return next(self._open)

    def __len__(self) -> int:
        return self.dataset.get_dataset_size()


class BatchInfo:
    """Which batch a function is called for."""

    def __init__(self, number: int) -> None:
        self._number = number

    def get_batch_num(self) -> int:
        """The number of the batch in this pass."""
        return self._number

    def get_epoch_num(self) -> int:
        """The number of the pass."""
        return 0


def stacked(values: Any) -> np.ndarray:
    arrays = [as_array(v) for v in values]
    if len({a.shape for a in arrays}) > 1:
        raise RuntimeError(
            "Inconsistent batch shapes, batch operation expects same shape for each data row, but got "
            f"{sorted({a.shape for a in arrays})}."
        )
    return np.stack(arrays)

"""mindspore.dataset.transforms: operations on single values of a dataset."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from adjoint.mindspore.dataset.samplers import generator


class Compose:
    """Operations one after another."""

    def __init__(self, transforms: Sequence[Callable[..., Any]]) -> None:
        self.transforms = list(transforms)

    def __call__(self, *values: Any) -> Any:
        for transform in self.transforms:
            found = transform(*values)
            values = found if isinstance(found, tuple) else (found,)
        return values if len(values) > 1 else values[0]


class TypeCast:
    """Values in another dtype."""

    def __init__(self, output_type: Any) -> None:
        self.output_type = np.dtype(output_type)

    def __call__(self, x: Any) -> Any:
        return np.asarray(x).astype(self.output_type)


class OneHot:
    """Classes as ones and zeros; `smoothing_rate` is shared among all."""

    def __init__(self, num_classes: int, smoothing_rate: float = 0.0) -> None:
        if num_classes < 1:
            raise ValueError("num_classes must be at least 1.")
        self.num_classes, self.smoothing_rate = num_classes, smoothing_rate

    def __call__(self, x: Any) -> Any:
        labels = np.asarray(x)
        found = np.eye(self.num_classes, dtype=labels.dtype)[labels]
        if not self.smoothing_rate:
            return found
        return (found * (1 - self.smoothing_rate) + self.smoothing_rate / self.num_classes).astype(np.float64)


class Fill:
    """One value in place of all."""

    def __init__(self, fill_value: Any) -> None:
        self.fill_value = fill_value

    def __call__(self, x: Any) -> Any:
        return np.full_like(x, self.fill_value)


class Concatenate:
    """Values behind or before others."""

    def __init__(self, axis: int = 0, prepend: Any = None, append: Any = None) -> None:
        self.axis, self.prepend, self.append = axis, prepend, append

    def __call__(self, *xs: Any) -> Any:
        parts = [p for p in (self.prepend, *xs, self.append) if p is not None]
        return np.concatenate(parts, self.axis)


class Duplicate:
    """A column twice."""

    def __call__(self, x: Any) -> Any:
        return x, np.array(x)


class Slice:
    """A part of a value."""

    def __init__(self, *slices: Any) -> None:
        self.slices = tuple(slices)

    def __call__(self, x: Any) -> Any:
        return np.asarray(x)[self.slices]


class Mask:
    """Where values compare with a constant."""

    def __init__(self, operator: Any, constant: Any, dtype: Any = np.bool_) -> None:
        self.operator, self.constant, self.dtype = operator, constant, np.dtype(dtype)

    def __call__(self, x: Any) -> Any:
        name = getattr(self.operator, "value", str(self.operator)).lower()
        functions = {"eq": np.equal, "ne": np.not_equal, "lt": np.less, "le": np.less_equal, "gt": np.greater,
                     "ge": np.greater_equal}  # fmt: skip
        return functions[name](x, self.constant).astype(self.dtype)


class RandomApply:
    """Operations, or none, at random."""

    def __init__(self, transforms: Sequence[Callable[..., Any]], prob: float = 0.5) -> None:
        self.whole, self.prob = Compose(transforms), prob

    def __call__(self, *xs: Any) -> Any:
        return self.whole(*xs) if generator().random() < self.prob else (xs if len(xs) > 1 else xs[0])


class RandomChoice:
    """One of several operations, at random."""

    def __init__(self, transforms: Sequence[Callable[..., Any]]) -> None:
        self.transforms = list(transforms)

    def __call__(self, *xs: Any) -> Any:
        return self.transforms[int(generator().integers(len(self.transforms)))](*xs)


class RandomOrder:
    """Operations in random order."""

    def __init__(self, transforms: Sequence[Callable[..., Any]]) -> None:
        self.transforms = list(transforms)

    def __call__(self, *xs: Any) -> Any:
        return Compose([self.transforms[k] for k in generator().permutation(len(self.transforms))])(*xs)

"""Primitives that check, note, number and reorder: CheckNumerics, summaries, formats of data, confusion matrices, Morph."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from adjoint import ops
from adjoint.api.custom import custom_vjp
from adjoint.core import context
from adjoint.core.dispatch import Value
from adjoint.core.spec import dtype_of, shape_of
from adjoint.mindspore.absent import elsewhere as _elsewhere
from adjoint.mindspore.ops.primitive import Primitive, primitive


class Morph(Primitive):
    """A function of a program's own as one operator, with a derivative of its own if `bprop_fn` gives one.

    >>> from adjoint.mindspore import Tensor, ops
    >>> twice = Morph(lambda x: x * 2, lambda x: x, lambda x: x, lambda x, out, dout: (dout * 10,))
    >>> print(twice(Tensor([3.0])), ops.grad(twice)(Tensor([3.0])))
    [6.] [10.]
    """

    def __init__(
        self,
        fn: Callable[..., Any],
        infer_shape: Callable[..., Any],
        infer_dtype: Callable[..., Any],
        bprop_fn: Callable[..., Any] | None = None,
    ) -> None:
        super().__init__("Morph")
        self.fn, self.bprop_fn = fn, bprop_fn
        self._infer_shape, self._infer_dtype = infer_shape, infer_dtype

    def __call__(self, *inputs: Any) -> Any:
        """What the function gives."""
        function = context.readable(self.fn)
        if self.bprop_fn is None:
            return function(*inputs)
        rule = context.readable(self.bprop_fn)
        return custom_vjp(lambda *xs: function(*xs), lambda *args: tuple(rule(*args)))(*inputs)


def _check_numerics(self: Any, x: Any) -> Any:
    for what, found in (("NaN", ops.isnan(x)), ("infinite", ops.isinf(x))):
        if (not isinstance(found, Value) or not found.tracked) and bool(ops.any(found)):
            raise RuntimeError(f"For 'CheckNumerics', the Tensor has {what} values.")
    return x


def _confusion(self: Any, labels: Any, predictions: Any, weights: Any = None) -> Any:
    """How often each class was taken for each."""
    counted = ops.ones_like(labels) if weights is None else weights
    places = ops.cast(labels, np.int64) * self.num_classes + ops.cast(predictions, np.int64)
    zeros = ops.zeros((self.num_classes**2,), dtype_of(counted))
    table = ops.scatter_add(zeros, 0, places, counted)
    return ops.cast(ops.reshape(table, (self.num_classes, self.num_classes)), self.dtype)


def _format_map(self: Any, x: Any) -> Any:
    table = np.array([self.src_format.index(c) for c in self.dst_format], np.int32)
    return ops.cast(ops.take(table, ops.mod(x, 4), 0), dtype_of(x))


def _format_permute(self: Any, x: Any) -> Any:
    source = self.src_format if shape_of(x)[0] == 4 else "".join(c for c in self.src_format if c in "HW")
    target = self.dst_format if shape_of(x)[0] == 4 else "".join(c for c in self.dst_format if c in "HW")
    return ops.take(x, np.array([source.index(c) for c in target]), 0)


def _bitpack(self: Any, x: Any, threshold: Any) -> Any:
    bits = ops.cast(ops.greater(x, threshold), np.int64)
    groups = ops.reshape(bits, (*shape_of(x)[:-1], shape_of(x)[-1] // 8, 8))
    return ops.cast(ops.sum(groups * (2 ** np.arange(7, -1, -1)), -1), np.uint8)


def _nth(self: Any, x: Any, n: Any) -> Any:
    values = ops.sort(-x if self.reverse else x, -1)
    picked = ops.take(values[0] if isinstance(values, tuple) else values, int(n), -1)
    return -picked if self.reverse else picked


def _same(self: Any, x: Any, *rest: Any) -> Any:
    return x


def _noted(self: Any, name: str, value: Any) -> None:
    """Nothing is written unless a record of the training is kept, which there is none of."""


CheckNumerics = primitive("CheckNumerics", _check_numerics)
ConfusionMatrix = primitive("ConfusionMatrix", _confusion, num_classes=..., dtype="int32")
DataFormatDimMap = primitive("DataFormatDimMap", _format_map, src_format="NHWC", dst_format="NCHW")
DataFormatVecPermute = primitive("DataFormatVecPermute", _format_permute, src_format="NHWC", dst_format="NCHW")
CompareAndBitpack = primitive("CompareAndBitpack", _bitpack)
NthElement = primitive("NthElement", _nth, reverse=False)
MoveTo = primitive("MoveTo", _same)
Reusing = primitive("Reusing", _same)
ScalarSummary, ImageSummary, TensorSummary, HistogramSummary = (
    primitive(name, _noted) for name in ("ScalarSummary", "ImageSummary", "TensorSummary", "HistogramSummary")
)

__all__ = [
    name for name, value in globals().items() if getattr(value, "__module__", "") == "mindspore.ops.operations"
] + ["Morph"]

__getattr__ = _elsewhere(__name__, "adjoint.mindspore.ops.operations")

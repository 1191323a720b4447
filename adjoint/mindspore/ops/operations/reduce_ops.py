"""Primitives that collapse axes, order elements or run along an axis."""

from __future__ import annotations

from typing import Any

import numpy as np

from adjoint import ops
from adjoint.core.spec import float32, int32, int64
from adjoint.mindspore.ops import linalg_functions as _linalg
from adjoint.mindspore.ops import reduction_functions as _f
from adjoint.mindspore.ops.primitive import primitive
from adjoint.mindspore.ops.promotion import axes, static, tensor, to_dtype

ReduceSum = primitive(
    "ReduceSum",
    lambda self, x, axis=(): _f.reduce_sum(x, axis, self.keep_dims, self.skip_mode),
    keep_dims=False,
    skip_mode=False,
)


def _reduction(name: str, function: Any) -> Any:
    return primitive(name, lambda self, x, axis=(): function(x, axis, self.keep_dims), keep_dims=False)


ReduceMean = _reduction("ReduceMean", _f.mean)
ReduceMax = _reduction("ReduceMax", _f.reduce_max)
ReduceMin = _reduction("ReduceMin", _f.reduce_min)
ReduceProd = _reduction("ReduceProd", _f.reduce_prod)
ReduceAll = _reduction("ReduceAll", _f.all)
ReduceAny = _reduction("ReduceAny", _f.any)
EuclideanNorm = _reduction("EuclideanNorm", lambda x, axis, keep: ops.vector_norm(x, 2, axes(axis), keep))
ReduceStd = primitive(
    "ReduceStd",
    lambda self, x: _f.reduce_std(x, self.axis, self.unbiased, self.keep_dims),
    axis=(),
    unbiased=True,
    keep_dims=False,
)
LpNorm = primitive(
    "LpNorm",
    lambda self, x: _linalg.lp_norm(x, self.axis, self.p, self.keep_dims, self.epsilon),
    axis=...,
    p=2,
    keep_dims=False,
    epsilon=1e-12,
)
CountNonZero = primitive("CountNonZero", lambda self, x: _f.count_nonzero(x, self.dims, dtype=int64), dims=None)


def _with_value(largest: bool) -> Any:
    def call(self: Any, x: Any) -> Any:
        value, index = _f.value_at(tensor(x), self.axis, self.keep_dims, largest)
        return index, value

    return call


ArgMaxWithValue = primitive("ArgMaxWithValue", _with_value(True), axis=0, keep_dims=False)
ArgMinWithValue = primitive("ArgMinWithValue", _with_value(False), axis=0, keep_dims=False)
Argmax = primitive(
    "Argmax", lambda self, x: ops.cast(ops.argmax(tensor(x), self.axis), self.output_type), axis=-1, output_type=int32
)
Argmin = primitive(
    "Argmin", lambda self, x: ops.cast(ops.argmin(tensor(x), self.axis), self.output_type), axis=-1, output_type=int32
)


def _median(self: Any, x: Any) -> Any:
    if self.global_median:
        value, _ = _f.median(ops.reshape(x, (-1,)), 0)
        return value, ops.zeros((), int64)
    return (_f.nanmedian if self.ignore_nan else _f.median)(x, self.axis, self.keep_dims)


Median = primitive("Median", _median, global_median=False, axis=0, keep_dims=False, ignore_nan=False)
Sort = primitive("Sort", lambda self, x: _f.sort(x, self.axis, self.descending), axis=-1, descending=False)
TopK = primitive("TopK", lambda self, x, k: _f.topk(x, k, sorted=self.sorted), sorted=True)
Cummax = primitive("Cummax", lambda self, x: _f.cummax(x, self.axis), axis=...)
Cummin = primitive("Cummin", lambda self, x: _f.cummin(x, self.axis), axis=...)


def _running(name: str, function: Any, first: Any) -> Any:
    def call(self: Any, x: Any, axis: Any) -> Any:
        x = tensor(x)
        found = _f.running(function, x, axis, self.exclusive, self.reverse, first)
        return to_dtype(found, x.dtype)

    return primitive(name, call, exclusive=False, reverse=False)


CumSum = _running("CumSum", ops.cumsum, 0)
CumProd = _running("CumProd", ops.cumprod, 1)
CumulativeLogsumexp = _running("CumulativeLogsumexp", _f.logcumsumexp, float(np.finfo(np.float32).min))
Histogram = primitive(
    "Histogram", lambda self, x: _f.histc(x, self.bins, self.min, self.max), bins=100, min=0.0, max=0.0
)
Bincount = primitive(
    "Bincount", lambda self, array, size, weights: _f.bincount(array, weights, int(static(size)))[: int(static(size))]
)
Quantile = primitive(
    "Quantile",
    lambda self, x, q: _f.quantile(x, q, self.dim, self.keep_dims),
    dim=None,
    keep_dims=False,
    ignore_nan=False,
)
Renorm = primitive(
    "Renorm", lambda self, x: _linalg.renorm(x, self.p, self.dim, self.maxnorm), p=..., dim=..., maxnorm=...
)

__all__ = [name for name, value in globals().items() if getattr(value, "__module__", "") == "mindspore.ops.operations"]
del float32

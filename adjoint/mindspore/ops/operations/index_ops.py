"""Primitives that pick elements by index or mask, put them there, and reduce segments."""

from __future__ import annotations

from typing import Any

import numpy as np

from adjoint import ops
from adjoint.core.spec import int32, int64
from adjoint.mindspore.ops import index_functions as _f
from adjoint.mindspore.ops.operations.math_ops import plain
from adjoint.mindspore.ops.primitive import primitive
from adjoint.mindspore.ops.promotion import static, tensor

Gather = primitive("Gather", lambda self, x, indices, axis: _f.gather(x, indices, axis, self.batch_dims), batch_dims=0)
GatherV2 = plain("GatherV2", lambda x, indices, axis: _f.gather(x, indices, axis))
SparseGatherV2 = plain("SparseGatherV2", lambda x, indices, axis: _f.gather(x, indices, axis))
GatherD = plain("GatherD", _f.gather_d)
GatherNd = plain("GatherNd", lambda x, indices: ops.gather_nd(tensor(x), tensor(indices)))
Select = plain("Select", _f.select)
MaskedFill = plain("MaskedFill", _f.masked_fill)
MaskedSelect = plain("MaskedSelect", lambda x, mask: ops.masked_select(tensor(x), tensor(mask)))
MaskedScatter = plain("MaskedScatter", _f.masked_scatter)
IndexFill = plain("IndexFill", lambda x, axis, index, value: ops.index_fill(x, static(axis), index, value))
IndexPut = primitive(
    "IndexPut", lambda self, x, values, indices: _f.index_put(x, indices, values, bool(self.accumulate)), accumulate=0
)
InplaceAdd = primitive("InplaceAdd", lambda self, x, v: _f.inplace_add(x, v, self.indices), indices=...)
InplaceSub = primitive("InplaceSub", lambda self, x, v: _f.inplace_sub(x, v, self.indices), indices=...)
InplaceUpdate = primitive("InplaceUpdate", lambda self, x, v: _f.inplace_update(x, v, self.indices), indices=...)
InplaceUpdateV2 = plain("InplaceUpdateV2", lambda x, indices, v: _f.inplace_update(x, v, indices))
NonZero = plain("NonZero", _f.nonzero)
Unique = plain("Unique", _f.unique)
UniqueWithPad = plain("UniqueWithPad", _f.unique_with_pad)
UniqueConsecutive = primitive(
    "UniqueConsecutive",
    lambda self, x: _f.unique_consecutive(x, self.return_inverse, self.return_counts, self.dim),
    return_inverse=False,
    return_counts=False,
    dim=None,
)
SearchSorted = primitive(
    "SearchSorted",
    lambda self, sequence, values, sorter=None: ops.cast(
        _f.searchsorted(sequence, values, right=self.right, sorter=sorter), self.dtype
    ),
    dtype=int64,
    right=False,
)
Bucketize = primitive("Bucketize", lambda self, x: _f.bucketize(x, self.boundaries, right=True), boundaries=...)

ScatterNd = plain("ScatterNd", _f.scatter_nd)
TensorScatterUpdate = plain("TensorScatterUpdate", _f.tensor_scatter_update)
TensorScatterAdd = plain("TensorScatterAdd", _f.tensor_scatter_add)
TensorScatterSub = plain("TensorScatterSub", _f.tensor_scatter_sub)
TensorScatterMax = plain("TensorScatterMax", _f.tensor_scatter_max)
TensorScatterMin = plain("TensorScatterMin", _f.tensor_scatter_min)
TensorScatterMul = plain("TensorScatterMul", _f.tensor_scatter_mul)
TensorScatterDiv = plain("TensorScatterDiv", _f.tensor_scatter_div)
ScatterNonAliasingAdd = plain("ScatterNonAliasingAdd", _f.tensor_scatter_add)
TensorScatterElements = primitive(
    "TensorScatterElements",
    lambda self, x, indices, updates: _f.tensor_scatter_elements(x, indices, updates, self.axis, self.reduction),
    axis=0,
    reduction="none",
)
ScatterAddWithAxis = primitive(
    "ScatterAddWithAxis",
    lambda self, x, indices, updates: _f.tensor_scatter_elements(x, indices, updates, self.axis, "add"),
    axis=0,
)

UnsortedSegmentSum = plain("UnsortedSegmentSum", _f.unsorted_segment_sum)
UnsortedSegmentMax = plain("UnsortedSegmentMax", _f.unsorted_segment_max)
UnsortedSegmentMin = plain("UnsortedSegmentMin", _f.unsorted_segment_min)
UnsortedSegmentProd = plain("UnsortedSegmentProd", _f.unsorted_segment_prod)
SegmentSum = plain("SegmentSum", _f.segments("sum"))
SegmentMean = plain("SegmentMean", _f.segments("mean"))
SegmentMax = plain("SegmentMax", _f.segments("max"))
SegmentMin = plain("SegmentMin", _f.segments("min"))
SegmentProd = plain("SegmentProd", _f.segments("prod"))


def _unravel_index(indices: Any, dims: Any) -> Any:
    found = np.unravel_index(tensor(indices).asnumpy(), static(dims))
    return tensor(np.stack(found).astype(tensor(indices).dtype))


UnravelIndex = plain("UnravelIndex", _unravel_index)


def _list_diff(self: Any, x: Any, y: Any) -> Any:
    values = x.asnumpy()
    kept = np.flatnonzero(~np.isin(values, y.asnumpy()))
    return tensor(values[kept]), tensor(kept.astype(self.out_idx))


ListDiff = primitive("ListDiff", _list_diff, out_idx=int32)


def _fill_diagonal(self: Any, x: Any) -> Any:
    rows, columns = x.shape[0], x.shape[1]
    place = np.arange(rows)[:, None]
    if x.ndim > 2:
        i = np.arange(rows)
        return ops.setitem(x, (i,) * x.ndim, self.fill_value)
    on = place % (columns + 1) == np.arange(columns) if self.wrap else place == np.arange(columns)
    return ops.where(on, ops.cast(tensor(self.fill_value), x.dtype), x)


FillDiagonal = primitive("FillDiagonal", _fill_diagonal, fill_value=..., wrap=False)


def _bound(side: Any) -> Any:
    def call(self: Any, sorted_x: Any, values: Any) -> Any:
        rows = [np.searchsorted(a, v, side) for a, v in zip(sorted_x.asnumpy(), values.asnumpy(), strict=True)]
        return tensor(np.stack(rows).astype(self.out_type))

    return call


LowerBound = primitive("LowerBound", _bound("left"), out_type=int32)
UpperBound = primitive("UpperBound", _bound("right"), out_type=int32)

__all__ = [name for name, value in globals().items() if getattr(value, "__module__", "") == "mindspore.ops.operations"]

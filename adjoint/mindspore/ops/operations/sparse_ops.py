"""mindspore.ops.operations.sparse_ops: products and sums of sparse and dense matrices."""

from __future__ import annotations

from typing import Any

from adjoint import ops
from adjoint.mindspore.absent import elsewhere as _elsewhere
from adjoint.mindspore.ops.primitive import primitive


def _dense(indices: Any, values: Any, shape: Any) -> Any:
    sizes = tuple(shape.tolist()) if hasattr(shape, "tolist") else tuple(shape)
    places = indices if len(indices.shape) == 2 else indices[:, None]
    return ops.tensor_scatter_add(ops.zeros(sizes, dtype=values.dtype), places, values)


def _product(self: Any, indices: Any, values: Any, sparse_shape: Any, dense: Any) -> Any:
    left = _dense(indices, values, sparse_shape)
    return ops.matmul(left.T if self.adjoint_st else left, dense.T if self.adjoint_dt else dense)


SparseToDense = primitive(
    "SparseToDense", lambda self, indices, values, sparse_shape: _dense(indices, values, sparse_shape)
)
SparseTensorDenseMatmul = primitive("SparseTensorDenseMatmul", _product, adjoint_st=False, adjoint_dt=False)
SparseTensorDenseAdd = primitive(
    "SparseTensorDenseAdd",
    lambda self, x1_indices, x1_values, x1_shape, x2: _dense(x1_indices, x1_values, x1_shape) + x2,
)

__getattr__ = _elsewhere(__name__, "adjoint.mindspore.ops.operations")

"""mindspore.ops: functions of sparse matrices."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from adjoint import ops
from adjoint.core.tensor import Tensor
from adjoint.mindspore.common.sparse_tensor import (
    COOTensor,
    CSRTensor,
    RowTensor,
    RowTensorInner,
    SparseTensor,
    merged,
    row_numbers,
    row_starts,
)

_UNARY = (
    "abs", "acos", "acosh", "asin", "asinh", "atan", "atanh", "ceil", "cos", "cosh", "exp", "expm1", "floor", "inv", "isfinite",
    "isinf", "isnan", "log", "log1p", "neg", "relu", "relu6", "round", "sigmoid", "sin", "sinh", "softsign", "sqrt", "square",
    "tan", "tanh",
)  # fmt: skip


def _on_values(prefix: str, kind: Any, name: str) -> Callable[[Any], Any]:
    def function(x: Any) -> Any:
        from adjoint.mindspore import ops as face

        if not isinstance(x, kind):
            raise TypeError(f"For '{prefix}_{name}', the input must be a {kind.__name__}, but got {type(x)}.")
        found = ops.reciprocal if name == "inv" else getattr(ops, name, None) or getattr(face, name)
        return x.with_values(found(x.values))

    function.__name__ = function.__qualname__ = f"{prefix}_{name}"
    function.__doc__ = f"`{name}` of the values of a {kind.__name__}; what is not stored stays zero."
    return function


_MADE = {
    f"{prefix}_{name}": _on_values(prefix, kind, name)
    for prefix, kind in (("coo", COOTensor), ("csr", CSRTensor))
    for name in _UNARY
}
globals().update(_MADE)


def dense_to_sparse_coo(tensor: Any) -> COOTensor:
    """The nonzero elements of a matrix, by their places.

    >>> print(dense_to_sparse_coo(Tensor([[0.0, 5.0], [7.0, 0.0]])).values)
    [5. 7.]
    """
    if not isinstance(tensor, Tensor):
        raise TypeError(
            f"For functional operator dense_to_sparse_coo, input argument must be a Tensor, but got {type(tensor)}."
        )
    places = Tensor(np.argwhere(tensor.asnumpy()).astype(np.int32))
    return COOTensor(places, ops.gather_nd(tensor, places), tensor.shape)


def dense_to_sparse_csr(tensor: Any) -> CSRTensor:
    """The nonzero elements of a matrix, by rows."""
    if not isinstance(tensor, Tensor):
        raise TypeError(
            f"For functional operator dense_to_sparse_csr, input argument must be a Tensor, but got {type(tensor)}."
        )
    return dense_to_sparse_coo(tensor).to_csr()


def csr_to_dense(csr_tensor: CSRTensor) -> Any:
    """The matrix of a CSRTensor."""
    return csr_tensor.to_dense()


def csr_to_coo(tensor: CSRTensor) -> COOTensor:
    """A CSRTensor by places."""
    if not isinstance(tensor, CSRTensor):
        raise TypeError(
            f"For functional operator csr_to_coo, input argument must be a CSRTensor, but got {type(tensor)}."
        )
    return tensor.to_coo()


def csr2coo(indptr: Any, nnz: int) -> Any:
    """The row of each value, from where rows begin."""
    return row_numbers(indptr, nnz)


def coo2csr(row_indices: Any, height: int) -> Any:
    """Where each row begins, from the row of each value."""
    return row_starts(row_indices, height)


def coalesce(x_indices: Any, x_values: Any, x_shape: Any) -> tuple[Any, Any, Any]:
    """Places (a column each) in the order of rows, each once, with the sums of their values."""
    indices, values = merged(x_indices.T, x_values, tuple(x_shape.tolist()))
    return indices.T, values, x_shape


def coo_add(x1: COOTensor, x2: COOTensor, thresh: Any) -> COOTensor:
    """The sum of two, without values smaller than a threshold."""
    for x in (x1, x2):
        if not isinstance(x, COOTensor):
            raise TypeError(f"Expect COOTensor, but got {type(x)}")
    return x1.add(x2, thresh)


def csr_add(a: CSRTensor, b: CSRTensor, alpha: Any, beta: Any) -> CSRTensor:
    """`alpha * a + beta * b`."""
    if not (isinstance(a, CSRTensor) and isinstance(b, CSRTensor)):
        raise TypeError(
            f"For functional operator csr_add, both inputs must be CSRTensors, but got {type(a)}, {type(b)}."
        )
    return a.add(b, alpha, beta)


def csr_mul(x: CSRTensor, y: Any) -> CSRTensor:
    """The product by elements with a dense matrix."""
    if not isinstance(x, CSRTensor):
        raise TypeError(f"For functional operator csr_mul, the first input must be a CSRTensor, but got {type(x)}.")
    return x * y


def csr_div(x: CSRTensor, y: Any) -> CSRTensor:
    """The quotient by elements with a dense matrix."""
    if not isinstance(x, CSRTensor):
        raise TypeError(f"For functional operator csr_div, the first input must be a CSRTensor, but got {type(x)}.")
    return x / y


def csr_mv(csr_tensor: CSRTensor, dense: Any) -> Any:
    """The product with a vector."""
    return csr_tensor.mv(dense)


def csr_mm(
    a: CSRTensor,
    b: Any,
    trans_a: bool = False,
    trans_b: bool = False,
    adjoint_a: bool = False,
    adjoint_b: bool = False,
) -> Any:
    """The product of two matrices, the first sparse; each may be transposed, or conjugated too."""
    left, right = (_turned(x, t, c) for x, t, c in ((a, trans_a, adjoint_a), (b, trans_b, adjoint_b)))
    return left.mm(right)


def _turned(x: Any, transposed: bool, conjugated: bool) -> Any:
    if not (transposed or conjugated):
        return x
    if isinstance(x, Tensor):
        return ops.conj(x.T) if conjugated else x.T
    coo = x.to_coo()
    values = ops.conj(coo.values) if conjugated else coo.values
    return COOTensor(coo.indices[:, ::-1], values, x.shape[::-1]).to_csr()


def csr_reduce_sum(csr_tensor: CSRTensor, axis: int) -> Any:
    """The sums along an axis."""
    return csr_tensor.sum(axis)


def csr_gather(indptr: Any, indices: Any, dense: Any, sparse_shape: tuple[int, ...]) -> Any:
    """The elements of a dense matrix at places given by rows."""
    rows = row_numbers(indptr, indices.shape[0])
    return ops.gather_nd(ops.broadcast_to(dense, sparse_shape), ops.stack((rows, indices), 1))


def csr_softmax(logits: CSRTensor, dtype: Any) -> CSRTensor:
    """Softmax of each row, over the values that are stored."""
    rows, values = logits.rows(), logits.values.astype(dtype)
    hidden = ops.full(logits.shape, -np.inf, dtype=dtype)
    highest = ops.max(ops.stop_gradient(ops.tensor_scatter_update(hidden, logits.to_coo().indices, values)), 1)
    top = highest[0] if isinstance(highest, tuple) else highest
    powers = ops.exp(values - top[rows])
    totals = ops.index_add(ops.zeros((logits.shape[0],), dtype=dtype), rows, powers)
    return logits.with_values(powers / totals[rows])


def coo_concat(sp_input: Any, concat_dim: int = 0) -> COOTensor:
    """Matrices beside one another along an axis, with places in the order of rows."""
    if not isinstance(sp_input, tuple):
        raise TypeError(f"Expected the input of coo_concat to be a tuple of COOTensors, but got {type(sp_input)}")
    if not sp_input or not all(isinstance(x, COOTensor) for x in sp_input):
        raise ValueError("Expected the input of coo_concat to be COOTensors, at least one")
    axis, start, parts = concat_dim % 2, 0, []
    for x in sp_input:
        parts.append(x.indices + Tensor([start, 0] if axis == 0 else [0, start], x.indices.dtype))
        start += x.shape[axis]
    shape = (start, sp_input[0].shape[1]) if axis == 0 else (sp_input[0].shape[0], start)
    indices, values = ops.concat(parts), ops.concat([x.values for x in sp_input])
    order = ops.argsort(indices[:, 0] * shape[1] + indices[:, 1])
    return COOTensor(indices[order], values[order], shape)


# ---------------------------------------------------------------- making them, and their parts


def make_coo_tensor(indices: Any, values: Any, dense_shape: tuple[int, ...]) -> COOTensor:
    """A COOTensor."""
    return COOTensor(indices, values, dense_shape)


def make_csr_tensor(indptr: Any, indices: Any, values: Any, dense_shape: tuple[int, ...]) -> CSRTensor:
    """A CSRTensor."""
    return CSRTensor(indptr, indices, values, dense_shape)


def make_sparse_tensor(indices: Any, values: Any, dense_shape: tuple[int, ...]) -> SparseTensor:
    """A SparseTensor."""
    return SparseTensor(indices, values, dense_shape)


def make_row_tensor(indices: Any, values: Any, dense_shape: tuple[int, ...]) -> RowTensor:
    """A RowTensor."""
    return RowTensor(indices, values, dense_shape)


def make_row_tensor_inner(indices: Any, values: Any, dense_shape: tuple[int, ...]) -> RowTensorInner:
    """A RowTensorInner."""
    return RowTensorInner(indices, values, dense_shape)


def _part(name: str, attribute: str) -> Callable[[Any], Any]:
    def function(x: Any) -> Any:
        return getattr(x, attribute)

    function.__name__ = function.__qualname__ = name
    function.__doc__ = f"The `{attribute}` of a sparse tensor."
    return function


_PARTS = {
    "coo_tensor_get_indices": "indices", "coo_tensor_get_values": "values", "coo_tensor_get_dense_shape": "shape",
    "csr_tensor_get_indptr": "indptr", "csr_tensor_get_indices": "indices", "csr_tensor_get_values": "values",
    "csr_tensor_get_dense_shape": "shape", "row_tensor_get_indices": "indices", "row_tensor_get_values": "values",
    "row_tensor_get_dense_shape": "dense_shape",
}  # fmt: skip
_GETTERS = {name: _part(name, attribute) for name, attribute in _PARTS.items()}
globals().update(_GETTERS)

__all__ = [
    *_MADE, *_GETTERS, "coalesce", "coo2csr", "coo_add", "coo_concat", "csr2coo", "csr_add", "csr_div", "csr_gather", "csr_mm",
    "csr_mul", "csr_mv", "csr_reduce_sum", "csr_softmax", "csr_to_coo", "csr_to_dense", "dense_to_sparse_coo", "dense_to_sparse_csr",
    "make_coo_tensor", "make_csr_tensor", "make_row_tensor", "make_row_tensor_inner", "make_sparse_tensor",
]  # fmt: skip

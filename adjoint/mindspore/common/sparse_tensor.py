"""mindspore.common.sparse_tensor: matrices given by their nonzero elements.

They are containers to every transform: gradients flow through the values; indices and shape are carried along.

>>> import adjoint.mindspore as mindspore
>>> from adjoint.mindspore import COOTensor, Tensor
>>> indices = Tensor([[0, 1], [1, 2]])
>>> print(mindspore.grad(lambda v: COOTensor(indices, v * v, (2, 3)).to_dense().sum())(Tensor([1.0, 3.0])))
[2. 6.]
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

from adjoint import ops
from adjoint.core.tensor import Tensor
from adjoint.mindspore.common import sparse_checks as checks
from adjoint.mindspore.common import types


class _Sparse:
    """What the formats have in common: an array of values, and a shape."""

    values: Any
    shape: tuple[int, ...]

    def with_values(self, values: Any) -> Any:
        """The same pattern with other values."""
        raise NotImplementedError

    @property
    def dtype(self) -> Any:
        """The dtype of the values."""
        return types.of(self.values.dtype)

    @property
    def size(self) -> int:
        """How many values there are."""
        return int(np.prod(self.values.shape))

    @property
    def itemsize(self) -> int:
        """The bytes of one value."""
        return self.values.dtype.itemsize

    @property
    def ndim(self) -> int:
        """How many axes there are."""
        return len(self.shape)

    def astype(self, dtype: Any) -> Any:
        """The same with values of another dtype."""
        return self.with_values(self.values.astype(dtype))

    def abs(self) -> Any:
        """The same with absolute values."""
        return self.with_values(ops.abs(self.values))

    def __neg__(self) -> Any:
        return self.with_values(-self.values)

    def _same_shape(self, other: Any) -> None:
        if tuple(self.shape) != tuple(other.shape):
            raise ValueError("Input tensors should have the same shape.")

    def _no(self, what: str, other: Any) -> TypeError:
        return TypeError(f"{type(self).__name__} {what} with {type(other)} is not supported.")


@dataclass(init=False, eq=False, repr=False)
class COOTensor(_Sparse):
    """A matrix by the places of its nonzero elements, one row of `indices` each, and their values.

    >>> from adjoint.mindspore import Tensor
    >>> print(COOTensor(Tensor([[0, 1], [1, 0]]), Tensor([5.0, 7.0]), (2, 2)).to_dense())
    [[0. 5.]
     [7. 0.]]
    """

    indices: Any
    values: Any

    def __init__(self, indices: Any = None, values: Any = None, shape: Any = None, coo_tensor: Any = None) -> None:
        if coo_tensor is not None:
            checks.check_copied("coo_tensor", coo_tensor, COOTensor, (indices, values, shape))
            indices, values, shape = coo_tensor.indices, coo_tensor.values, coo_tensor.shape
        else:
            checks.check_coo(indices, values, shape)
        self.indices, self.values, self.shape = indices, values, shape

    def with_values(self, values: Any) -> COOTensor:
        return type(self)(self.indices, values, self.shape)

    def __repr__(self) -> str:
        return f"{_head(self)}, indices={self.indices!r}, values={self.values!r})"

    def to_tuple(self) -> tuple[Any, Any, tuple[int, ...]]:
        """Indices, values and shape."""
        return self.indices, self.values, self.shape

    def to_dense(self) -> Any:
        """The matrix; values of one place are summed."""
        return ops.tensor_scatter_add(ops.zeros(self.shape, dtype=self.values.dtype), self.indices, self.values)

    def to_csr(self) -> CSRTensor:
        """The same by rows."""
        order = ops.argsort(self.indices[:, 0])
        rows = self.indices[:, 0][order]
        return CSRTensor(row_starts(rows, self.shape[0]), self.indices[:, 1][order], self.values[order], self.shape)

    def coalesce(self) -> COOTensor:
        """The same with one value for each place, in the order of rows."""
        indices, values = merged(self.indices, self.values, self.shape)
        return COOTensor(indices, values, self.shape)

    def add(self, other: Any, thresh: Any) -> COOTensor:
        """The sum with another one, without values smaller than a threshold."""
        self._same_shape(other)
        indices = ops.concat((self.indices, other.indices.astype(self.indices.dtype)))
        indices, values = merged(indices, ops.concat((self.values, other.values)), self.shape)
        kept = np.flatnonzero(np.abs(values.asnumpy()) >= np.asarray(thresh.asnumpy()))
        return COOTensor(indices[Tensor(kept)], values[Tensor(kept)], self.shape)

    def __add__(self, other: Any) -> Any:
        self._same_shape(other)
        if isinstance(other, Tensor):
            return ops.tensor_scatter_add(other, self.indices, self.values)
        if isinstance(other, COOTensor):
            return self.add(other, Tensor(0, self.values.dtype))
        raise self._no("add", other)

    __radd__ = __add__

    def __sub__(self, other: Any) -> Any:
        self._same_shape(other)
        if isinstance(other, Tensor):
            return ops.tensor_scatter_add(-other, self.indices, self.values)
        if isinstance(other, COOTensor):
            return self.add(-other, Tensor(0, self.values.dtype))
        raise self._no("subtract", other)

    def __mul__(self, other: Any) -> COOTensor:
        self._same_shape(other)
        if isinstance(other, Tensor):
            return self.with_values(self.values * ops.gather_nd(other, self.indices))
        raise self._no("multiply", other)

    __rmul__ = __mul__

    def __truediv__(self, other: Any) -> COOTensor:
        self._same_shape(other)
        if isinstance(other, Tensor):
            return self.with_values(self.values / ops.gather_nd(other, self.indices))
        raise self._no("divide", other)


@dataclass(init=False, eq=False, repr=False)
class SparseTensor(COOTensor):
    """An older name of COOTensor, whose shape may have any number of axes."""

    def __init__(self, indices: Any, values: Any, shape: Any) -> None:
        if not (isinstance(indices, Tensor) and isinstance(values, Tensor) and isinstance(shape, tuple)):
            raise TypeError("Inputs must follow: COOTensor(indices, values, shape).")
        self.indices, self.values, self.shape = indices, values, shape


@dataclass(init=False, eq=False, repr=False)
class CSRTensor(_Sparse):
    """A matrix by rows: `indptr` says where each row begins among the column `indices` and the `values`.

    >>> from adjoint.mindspore import Tensor
    >>> x = CSRTensor(Tensor([0, 1, 2]), Tensor([1, 0]), Tensor([5.0, 7.0]), (2, 2))
    >>> print(x.mv(Tensor([[1.0], [10.0]])))
    [[50.]
     [ 7.]]
    """

    indptr: Any
    indices: Any
    values: Any

    def __init__(
        self, indptr: Any = None, indices: Any = None, values: Any = None, shape: Any = None, csr_tensor: Any = None
    ) -> None:
        if csr_tensor is not None:
            checks.check_copied("csr_tensor", csr_tensor, CSRTensor, (indptr, indices, values, shape))
            indptr, indices, values, shape = csr_tensor.to_tuple()
        else:
            checks.check_csr(indptr, indices, values, shape)
        self.indptr, self.indices, self.values, self.shape = indptr, indices, values, shape

    def with_values(self, values: Any) -> CSRTensor:
        return CSRTensor(self.indptr, self.indices, values, self.shape)

    def __repr__(self) -> str:
        parts = f"indptr={self.indptr!r}, indices={self.indices!r}, values={self.values!r}"
        return f"{_head(self)}, {parts})"

    def to_tuple(self) -> tuple[Any, Any, Any, tuple[int, ...]]:
        """Where rows begin, column indices, values and shape."""
        return self.indptr, self.indices, self.values, self.shape

    def rows(self) -> Any:
        """The row of each value."""
        return row_numbers(self.indptr, self.values.shape[0])

    def to_coo(self) -> COOTensor:
        """The same by places."""
        if self.ndim != 2:
            raise ValueError("Currently only support 2-D CSRTensor when converting to COOTensor.")
        return COOTensor(ops.stack((self.rows(), self.indices), 1), self.values, self.shape)

    def to_dense(self) -> Any:
        """The matrix."""
        return self.to_coo().to_dense()

    def gathered(self, dense: Any) -> Any:
        """The elements of a dense matrix, or of one that is broadcast to the shape, at the places of the values."""
        return ops.gather_nd(ops.broadcast_to(dense, self.shape), self.to_coo().indices)

    def mv(self, dense_vector: Any) -> Any:
        """The product with a vector, given as a matrix of one column."""
        if not isinstance(dense_vector, Tensor):
            raise TypeError(f"For 'CSRTensor.mv', 'dense_vector' must be a Tensor, but got {type(dense_vector)}")
        return self.mm(dense_vector)

    def mm(self, matrix: Any) -> Any:
        """The product with a matrix."""
        if isinstance(matrix, CSRTensor):
            product = self.mm(matrix.to_dense())
            pattern = self.with_values(ops.ones_like(self.values)).mm(
                matrix.with_values(ops.ones_like(matrix.values)).to_dense()
            )
            places = Tensor(np.argwhere(pattern.asnumpy()).astype(self.indices.dtype))
            return COOTensor(places, ops.gather_nd(product, places), product.shape).to_csr()
        if not isinstance(matrix, Tensor):
            raise TypeError(f"For 'CSRTensor.mm', 'matrix' must be a Tensor or a CSRTensor, but got {type(matrix)}")
        zeros = ops.zeros((self.shape[0], matrix.shape[1]), dtype=self.values.dtype)
        return ops.index_add(zeros, self.rows(), self.values[:, None] * matrix[self.indices])

    def sum(self, axis: int) -> Any:
        """The sums along an axis, which stays with length 1."""
        return ops.sum(self.to_dense(), axis, keepdims=True)

    def add(self, b: Any, alpha: Any, beta: Any) -> CSRTensor:
        """`alpha` times this plus `beta` times another one."""
        scaled = [x.with_values(k * x.values).to_coo() for x, k in ((self, alpha), (b, beta))]
        indices = ops.concat([x.indices for x in scaled])
        places, values = merged(indices, ops.concat([x.values for x in scaled]), self.shape)
        return COOTensor(places, values, self.shape).to_csr()

    def __mul__(self, other: Any) -> CSRTensor:
        return self.with_values(self.values * self.gathered(other))

    __rmul__ = __mul__

    def __truediv__(self, other: Any) -> CSRTensor:
        return self.with_values(self.values / self.gathered(other))

    def __add__(self, other: Any) -> CSRTensor:
        return self._sum("add", other, 1)

    def __sub__(self, other: Any) -> CSRTensor:
        return self._sum("subtract", other, -1)

    def _sum(self, what: str, other: Any, sign: int) -> CSRTensor:
        self._same_shape(other)
        if not isinstance(other, CSRTensor):
            raise self._no(what, other)
        return self.add(other, Tensor(1, self.values.dtype), Tensor(sign, self.values.dtype))


@dataclass(init=False, eq=False, repr=False)
class RowTensorInner:
    """Some rows of a larger array: `dense[indices[i]] = values[i]`."""

    indices: Any
    values: Any

    def __init__(self, indices: Any = None, values: Any = None, shape: Any = None, row_tensor: Any = None) -> None:
        if row_tensor is not None:
            checks.check_copied("row_tensor", row_tensor, RowTensorInner, (indices, values, shape))
            indices, values, shape = row_tensor.indices, row_tensor.values, row_tensor.dense_shape
        self.indices, self.values, self.dense_shape = indices, values, shape

    def __repr__(self) -> str:
        return f"RowTensor(shape={list(self.dense_shape)}, indices={self.indices!r}, values={self.values!r})"


class RowTensor(RowTensorInner):
    """Some rows of a larger array: `dense[indices[i]] = values[i]`."""


def _head(x: Any) -> str:
    return f"{type(x).__name__}(shape={list(x.shape)}, dtype={x.dtype}"


# ---------------------------------------------------------------- patterns


def row_numbers(indptr: Any, count: int) -> Any:
    """The row of each of `count` values, from where the rows begin."""
    return (ops.searchsorted(indptr, ops.arange(count), right=True) - 1).astype(indptr.dtype)


def row_starts(rows: Any, height: int) -> Any:
    """Where each row begins, from the row of each value, in order."""
    return ops.searchsorted(rows, ops.arange(height + 1)).astype(rows.dtype)


def merged(indices: Any, values: Any, shape: tuple[int, ...]) -> tuple[Any, Any]:
    """Places in the order of rows, each once, with the sums of their values. The number of places must be known."""
    places = indices.asnumpy()
    flat, slots = np.unique(np.ravel_multi_index(tuple(places.T), shape), return_inverse=True)
    once = np.stack(np.unravel_index(flat, shape), axis=1).astype(places.dtype)
    return Tensor(once), ops.index_add(ops.zeros((len(flat),), dtype=values.dtype), Tensor(slots.reshape(-1)), values)

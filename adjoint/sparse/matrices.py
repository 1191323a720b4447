"""Matrices given by their nonzero elements: by places (COO), or row by row (CSR)."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

from adjoint.core import foreign, tree
from adjoint.core.dispatch import Value, wrap
from adjoint.core.errors import ArgumentError, ArgumentTypeError, DtypeError, IndexingError, ShapeError, called_at
from adjoint.core.tensor import Tensor
from adjoint.ops import functional as _f
from adjoint.ops.indexing import index_put_add
from adjoint.ops.language import cast, reshape

Shape = tuple[int, int]


class SparseMatrix:
    """What the formats have in common. Each gives the row and the column of each value."""

    # What NumPy would make of `array @ A`: an array of objects. It is ours instead.
    __array_ufunc__ = None
    __array_priority__ = 2000

    values: Any
    shape: Shape

    def __array_function__(self, function: Any, types: Any, args: Any, kwargs: Any) -> Any:
        raise ArgumentTypeError(
            f"numpy.{function.__name__} of a sparse matrix: write A @ x, A * s, A.T or A.sum(axis), or A.todense() first{called_at()}"
        )

    def places(self) -> tuple[Any, Any]:
        """The row and the column of each value."""
        raise NotImplementedError

    def with_values(self, values: Any) -> Any:
        """The same places with other values: a Tensor or an array of as many."""
        raise NotImplementedError

    @property
    def dtype(self) -> np.dtype:
        """The dtype of the values."""
        return self.values.dtype

    @property
    def ndim(self) -> int:
        """2."""
        return 2

    @property
    def nnz(self) -> int:
        """How many values are stored."""
        return int(self.values.shape[0])

    def __repr__(self) -> str:
        return f"{type(self).__name__}(shape={self.shape}, dtype={self.dtype}, nnz={self.nnz})"

    def astype(self, dtype: Any) -> Any:
        """The same with values of another dtype."""
        return self.with_values(cast(self.values, np.dtype(dtype)))

    def todense(self) -> Any:
        """The matrix as a Tensor; values that share a place are added up."""
        rows, cols = self.places()
        flat = index_put_add(
            np.zeros(self.shape[0] * self.shape[1], self.dtype), (rows * self.shape[1] + cols,), self.values
        )
        return wrap(reshape(flat, self.shape))

    def __matmul__(self, other: Any) -> Any:
        """The product with a vector or a matrix."""
        if isinstance(other, SparseMatrix):
            raise ArgumentTypeError(f"a product of two sparse matrices: make one dense, A @ B.todense(){called_at()}")
        rows, cols = self.places()
        return _product("A @ x", self.values, rows, cols, self.shape, _dense(other))

    def __rmatmul__(self, other: Any) -> Any:
        rows, cols = self.places()
        x = _dense(other)
        if len(x.shape) == 1:
            return _product("x @ A", self.values, cols, rows, self.shape[::-1], x)
        if len(x.shape) != 2:
            raise ShapeError(f"x @ A: x must be a vector or a matrix, not of shape {x.shape}{called_at()}")
        return _product("x @ A", self.values, cols, rows, self.shape[::-1], x.T).T

    dot = __matmul__

    @property
    def T(self) -> Any:
        """The transposed matrix."""
        rows, cols = self.places()
        return COO(self.values, cols, rows, self.shape[::-1])

    def transpose(self) -> Any:
        """The transposed matrix."""
        return self.T

    def __mul__(self, number: Any) -> Any:
        """The matrix times a number, or element by element times a dense matrix of its shape."""
        if isinstance(number, SparseMatrix):
            raise ArgumentTypeError(
                f"A * B of two sparse matrices: make one dense, A * B.todense(); the product is A @ x{called_at()}"
            )
        factor = _dense(number)
        if len(factor.shape) == 0:
            return self.with_values(self.values * number)
        if factor.shape != self.shape:
            raise ShapeError(
                f"A * x: x has shape {factor.shape}, the matrix {self.shape}; the product is A @ x{called_at()}"
            )
        rows, cols = self.places()
        return self.with_values(self.values * factor[rows, cols])

    __rmul__ = __mul__

    def __truediv__(self, number: Any) -> Any:
        return self.with_values(self.values / number)

    def __neg__(self) -> Any:
        return self.with_values(-self.values)

    def __add__(self, other: Any) -> Any:
        """The sum: sparse with another sparse matrix, dense with a dense one."""
        if not isinstance(other, SparseMatrix):
            return self.todense() + other
        if other.shape != self.shape:
            raise ShapeError(f"A + B: the shapes {self.shape} and {other.shape} differ{called_at()}")
        pairs = zip((self.values, *self.places()), (other.values, *other.places()), strict=True)
        (values, more), *places = pairs
        rows, cols = (np.concatenate(pair) for pair in places)
        return COO(_f.concat([values, more], 0), rows, cols, self.shape)

    def __getitem__(self, index: Any) -> Any:
        raise _unsupported(f"A[{index!r}]")

    def __pow__(self, power: Any) -> Any:
        raise _unsupported(f"A ** {power!r}")

    def __abs__(self) -> Any:
        raise _unsupported("abs(A)")

    def __radd__(self, other: Any) -> Any:
        return other + self.todense()

    def __sub__(self, other: Any) -> Any:
        return self + (-other)

    def __rsub__(self, other: Any) -> Any:
        return other - self.todense()

    def sum(self, axis: int | None = None) -> Any:
        """The sum of all values, of each column (`axis=0`) or of each row (`axis=1`), as a Tensor."""
        if axis is None:
            return _f.sum(self.values)
        if axis not in (0, 1, -1, -2):
            raise ShapeError(f"sum: axis {axis} of a matrix{called_at()}")
        rows, cols = self.places()
        by_row = axis in (1, -1)
        return _f.segment_sum(self.values, rows if by_row else cols, self.shape[0 if by_row else 1])

    def to_scipy(self) -> Any:
        """The same as a sparse array of SciPy's, in its format; no gradient flows through it."""
        raise NotImplementedError


def _unsupported(what: str) -> ArgumentTypeError:
    return ArgumentTypeError(
        f"{what} of a sparse matrix is not supported: compute with its values, as in A.with_values(f(A.values)), or with "
        f"A.todense(){called_at()}"
    )


def _product(what: str, values: Any, rows: Any, cols: Any, shape: Shape, x: Any) -> Any:
    """The rows of x that the values meet, times these, added up by the rows of the result."""
    if len(x.shape) not in (1, 2) or x.shape[0] != shape[1]:
        inner = "x @ A: the last axis" if what.startswith("x") else "A @ x: the first axis"
        raise ShapeError(
            f"{inner} of x, of shape {x.shape if not what.startswith('x') else x.shape[::-1]}, must have the size "
            f"{shape[1]} of the matrix {shape if not what.startswith('x') else shape[::-1]}{called_at()}"
        )
    met = _f.take(x, cols, 0)
    terms = met * (values if len(x.shape) == 1 else reshape(values, (values.shape[0], 1)))
    return wrap(_f.segment_sum(terms, rows, shape[0]))


def _dense(x: Any) -> Any:
    if foreign.kind_of(type(x)) == "scipy":
        raise foreign.refusal("an operand", x)
    return x if isinstance(x, Value) else wrap(foreign.operand(x) if not isinstance(x, np.ndarray) else x)


@dataclass(frozen=True, eq=False, repr=False)
class COO(SparseMatrix):
    """A matrix by its values and the row and the column of each; those that share a place are added up."""

    values: Any
    rows: Any
    cols: Any
    shape: Shape

    def places(self) -> tuple[Any, Any]:
        """The row and the column of each value."""
        return self.rows, self.cols

    def with_values(self, values: Any) -> COO:
        """The same places with other values."""
        return COO(values, self.rows, self.cols, self.shape)

    def tocsr(self) -> CSR:
        """The same row by row; values that share a place stay apart."""
        rows, cols = (_known(i) for i in self.places())
        order = np.lexsort((cols, rows))
        starts = np.searchsorted(rows[order], np.arange(self.shape[0] + 1))
        return CSR(_f.take(self.values, order, 0), cols[order], starts, self.shape)

    def to_scipy(self) -> Any:
        from scipy import sparse

        places = tuple(_known(i) for i in self.places())
        return sparse.coo_array((_numbers(self.values), places), shape=self.shape)


@dataclass(frozen=True, eq=False, repr=False)
class CSR(SparseMatrix):
    """A matrix row by row: row i has the values, and the columns, from `starts[i]` to `starts[i + 1]`."""

    values: Any
    cols: Any
    starts: Any
    shape: Shape

    def places(self) -> tuple[Any, Any]:
        """The row and the column of each value."""
        return np.repeat(np.arange(self.shape[0]), np.diff(np.asarray(self.starts))), self.cols

    def with_values(self, values: Any) -> CSR:
        """The same places with other values."""
        return CSR(values, self.cols, self.starts, self.shape)

    def tocoo(self) -> COO:
        """The same by places."""
        return COO(self.values, *self.places(), self.shape)

    def to_scipy(self) -> Any:
        from scipy import sparse

        parts = (_numbers(self.values), _known(self.cols), _known(self.starts))
        return sparse.csr_array(parts, shape=self.shape)


# Places are part of what a matrix is: a function compiled for it is compiled for these.
tree.declare_static(COO, frozenset({"rows", "cols", "shape"}))
tree.declare_static(CSR, frozenset({"cols", "starts", "shape"}))


def _known(places: Any) -> np.ndarray:
    return places.asnumpy() if isinstance(places, Value) else np.asarray(places)


def _numbers(values: Any) -> np.ndarray:
    return values.asnumpy() if isinstance(values, Value) else np.asarray(values)


def _values(values: Any) -> Any:
    found = values if isinstance(values, Value) else Tensor(values)
    if len(found.shape) != 1:
        raise ShapeError(f"the values must be a vector, not of shape {found.shape}{called_at()}")
    return found


def _places(what: str, places: Any, size: int, count: int) -> np.ndarray:
    found = _known(places)
    if found.dtype.kind not in "iu" and found.size:
        raise DtypeError(f"the {what} must be integers, not {found.dtype}{called_at()}")
    found = found.astype(np.int64)
    if found.shape != (count,):
        raise ShapeError(f"{count} values, but {what} of shape {found.shape}{called_at()}")
    if found.size and (found.min() < 0 or found.max() >= size):
        wrong = found[(found < 0) | (found >= size)][0]
        raise IndexingError(f"the {what} name {wrong}, outside of an axis of size {size}{called_at()}")
    return found


def _shape(shape: Any) -> Shape:
    found = tuple(int(n) for n in shape)
    if len(found) != 2 or min(found) < 0:
        raise ShapeError(f"a matrix has two sizes, not the shape {shape!r}{called_at()}")
    return found[0], found[1]


def coo(values: Any, rows: Any, cols: Any, shape: Any) -> COO:
    """A sparse matrix by its values and the row and the column of each; values that share a place are added up.

    >>> from adjoint import sparse
    >>> print(sparse.coo([2.0, 3.0], [0, 1], [1, 1], (2, 3)).todense())
    [[0. 2. 0.]
     [0. 3. 0.]]
    """
    values, shape = _values(values), _shape(shape)
    count = values.shape[0]
    return COO(values, _places("rows", rows, shape[0], count), _places("cols", cols, shape[1], count), shape)


def csr(values: Any, cols: Any, starts: Any, shape: Any) -> CSR:
    """A sparse matrix row by row: row i has the values and the columns from `starts[i]` to `starts[i + 1]`.

    >>> from adjoint import sparse
    >>> print(sparse.csr([2.0, 3.0], [1, 1], [0, 1, 2], (2, 3)).todense())
    [[0. 2. 0.]
     [0. 3. 0.]]
    """
    values, shape = _values(values), _shape(shape)
    starts = _known(starts)
    count = values.shape[0]
    fits = starts.shape == (shape[0] + 1,) and starts.dtype.kind in "iu" and starts[0] == 0 and starts[-1] == count
    if not fits or (np.diff(starts.astype(np.int64)) < 0).any():
        raise ArgumentError(
            f"starts must be {shape[0] + 1} growing integers from 0 to the number of values, {count}{called_at()}"
        )
    return CSR(values, _places("cols", cols, shape[1], count), starts.astype(np.int64), shape)


def from_scipy(matrix: Any) -> COO | CSR:
    """A sparse matrix or array of SciPy's: CSR stays so, every other format becomes COO. Values keep their dtype.

    >>> import numpy as np
    >>> import scipy.sparse
    >>> from adjoint import sparse
    >>> sparse.from_scipy(scipy.sparse.eye_array(3, format="csr"))
    CSR(shape=(3, 3), dtype=float64, nnz=3)
    """
    if foreign.kind_of(type(matrix)) != "scipy" or not hasattr(matrix, "tocoo"):
        raise ArgumentTypeError(
            f"from_scipy takes a sparse matrix of SciPy's, not a {type(matrix).__name__}{called_at()}"
        )
    if len(matrix.shape) != 2:
        raise ShapeError(f"from_scipy: a matrix has two axes, this array the shape {matrix.shape}{called_at()}")
    if matrix.format == "csr":
        return csr(np.array(matrix.data), matrix.indices, matrix.indptr, matrix.shape)
    found = matrix.tocoo()
    return coo(np.array(found.data), found.coords[0], found.coords[1], found.shape)


def from_dense(matrix: Any) -> COO:
    """The elements of a dense matrix that are not zero; gradients flow to these, places are those of the numbers now.

    >>> import adjoint as ad
    >>> from adjoint import sparse
    >>> sparse.from_dense(ad.Tensor([[0.0, 5.0], [7.0, 0.0]])).rows
    array([0, 1])
    """
    x = _dense(matrix)
    if len(x.shape) != 2:
        raise ShapeError(f"from_dense: a matrix has two axes, not the shape {x.shape}{called_at()}")
    rows, cols = np.nonzero(x.asnumpy())
    return COO(x[rows, cols], rows, cols, _shape(x.shape))

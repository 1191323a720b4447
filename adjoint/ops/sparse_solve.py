"""Linear systems with sparse matrices, given by their elements."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

from adjoint.core.absent import ZERO
from adjoint.core.errors import ShapeError
from adjoint.core.spec import Spec, promote, shape_of
from adjoint.ops.broadcast import batch_all, batch_front, conj, match, ndim, push
from adjoint.ops.card import card, register
from adjoint.ops.families import MatrixWork
from adjoint.ops.indexing import getitem, index_put_add
from adjoint.ops.language import expand_last, permute, reshape, squeeze_last, sum_axes, zeros_like
from adjoint.ops.linalg import inexact_dtype
from adjoint.ops.publish import public
from adjoint.ops.stacking import array


@register
@dataclass(frozen=True)
class SparseSolve(MatrixWork):
    """The y with A y = b for a square A with the elements `data` at `rows` and `columns`, and zeros elsewhere; or A' y = b.

    Elements at the same place add up. The kernel is SuperLU.
    """

    adjoint: bool = False

    complex, work = True, 10

    def infer(self, data, rows, columns, b):
        if data.ndim != 1 or data.shape != rows.shape or data.shape != columns.shape:
            raise ShapeError(
                f"SparseSolve: {data.shape} elements need as many rows and columns, not {rows.shape} and {columns.shape}"
            )
        if b.ndim != 2:
            raise ShapeError(f"SparseSolve: the right side must be a matrix, not shape {b.shape}")
        return Spec(b.shape, inexact_dtype(promote([data, b])))

    def eval(self, xp, data, rows, columns, b):
        from scipy.sparse import csc_matrix
        from scipy.sparse.linalg import splu

        dtype, n = inexact_dtype(np.result_type(data, b)), b.shape[0]
        double = np.result_type(dtype, np.float64)
        if not b.size:
            return np.zeros(b.shape, dtype)
        rows, columns = np.asarray(rows), np.asarray(columns)
        places = (columns, rows) if self.adjoint else (rows, columns)
        elements = np.asarray(data, double)
        matrix = csc_matrix((elements.conj() if self.adjoint else elements, places), (n, n))
        return splu(matrix).solve(np.asarray(b, double)).astype(dtype)

    def vjp(self, g, y, data, rows, columns, b):
        back = card(SparseSolve, not self.adjoint)(data, rows, columns, g)

        def pull_elements():
            left, right = (y, back) if self.adjoint else (back, y)
            return match(-sum_axes(getitem(left, rows) * conj(getitem(right, columns)), (1,)), data)

        return pull_elements, ZERO, ZERO, lambda: match(back, b)

    def jvp(self, ts, y, data, rows, columns, b):
        def push_elements(t):
            source, target = (rows, columns) if self.adjoint else (columns, rows)
            t = conj(t) if self.adjoint else t
            return -index_put_add(zeros_like(y), target, expand_last(t) * getitem(y, source))

        return self(data, rows, columns, push([ts[0], ts[3]], push_elements, lambda t: t))

    def vmap(self, dims, data, rows, columns, b):
        if all(d is None for d in dims[:3]):
            size, n, k = shape_of(b := batch_front(b, dims[3]))
            wide = self(data, rows, columns, reshape(permute(b, (1, 0, 2)), (n, size * k)))
            return permute(reshape(wide, (n, size, k)), (1, 0, 2))
        # One after the other, as one large system: matrices on a diagonal do not meet.
        data, rows, columns, b = batch_all(dims, (data, rows, columns, b))
        size, n, k = shape_of(b)
        shift, count = n * np.arange(size)[:, None], shape_of(data)[1]
        flat = [reshape(v, (size * count,)) for v in (data, rows + shift, columns + shift)]
        return reshape(self(*flat, reshape(b, (size * n, k))), (size, n, k))

    @classmethod
    def samples(cls, draw):
        rows, columns = np.array([0, 0, 1, 2, 2, 2]), np.array([0, 2, 1, 0, 2, 2])
        for op in (cls(), cls(True)):
            data = draw(6, domain=(-0.5, 0.5))
            yield op, (data + np.array([3, 0, 3, 0, 3, 0]).astype(data.dtype), rows, columns, draw(3, 2))
        yield cls(), (draw(2) + 3, np.arange(2), np.arange(2), draw(2, 1))
        yield cls(), (draw(2) + 3, np.arange(2), np.arange(2), draw(2, 0))

    @classmethod
    def errors(cls):
        places = Spec((3,), np.dtype(np.int64))
        yield (
            cls(),
            (Spec((2,)), places, places, Spec((3, 1))),
            "SparseSolve: (2,) elements need as many rows and columns",
        )
        yield cls(), (Spec((3,)), places, places, Spec((3,))), "the right side must be a matrix, not shape (3,)"


@public()
def solve_sparse(data: Any, rows: Any, columns: Any, b: Any) -> Any:
    """The x with A @ x = b for the square A with the elements `data` at `rows` and `columns`, and zeros elsewhere.

    >>> from adjoint import ops
    >>> print(ops.solve_sparse([2.0, 4.0], [0, 1], [0, 1], [2.0, 2.0]))
    [1.  0.5]
    """
    data, rows, columns, b = map(array, (data, rows, columns, b))
    solve = card(SparseSolve)
    return squeeze_last(solve(data, rows, columns, expand_last(b))) if ndim(b) == 1 else solve(data, rows, columns, b)

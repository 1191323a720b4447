"""mindspore.nn.sparse: Cells on sparse matrices."""

from __future__ import annotations

from typing import Any

from adjoint.mindspore.ops.operations import sparse_ops
from adjoint.nn import Cell


class SparseToDense(Cell):
    """A sparse matrix as a dense one."""

    def construct(self, input: Any) -> Any:
        """The dense matrix of a COOTensor."""
        return sparse_ops.SparseToDense()(input.indices, input.values, input.shape)


class SparseTensorDenseMatmul(Cell):
    """The product of a sparse matrix, by its parts, with a dense one; each may be transposed."""

    def __init__(self, adjoint_st: bool = False, adjoint_dt: bool = False) -> None:
        super().__init__()
        self.adj_st, self.adj_dt = adjoint_st, adjoint_dt
        self.product = sparse_ops.SparseTensorDenseMatmul(adjoint_st, adjoint_dt)

    def construct(self, indices: Any, values: Any, sparse_shape: Any, dense: Any) -> Any:
        """The product."""
        return self.product(indices, values, sparse_shape, dense)

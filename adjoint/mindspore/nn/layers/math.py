"""Mathematical functions as Cells."""

from __future__ import annotations

from typing import Any

from adjoint import ops
from adjoint.core.spec import dtype_of
from adjoint.mindspore.nn.cell import Cell

__all__ = [
    "DiGamma", "IGamma", "LBeta", "LGamma", "MatDet", "MatInverse", "MatMul", "Moments", "ReduceLogSumExp",
]  # fmt: skip


class MatMul(Cell):
    """The product of two arrays of matrices, each transposed first if said so.

    >>> import adjoint.mindspore as mindspore
    >>> print(MatMul(transpose_x2=True)(mindspore.Tensor([[1.0, 2.0]]), mindspore.Tensor([[3.0, 4.0]])))
    [[11.]]
    """

    def __init__(self, transpose_x1: bool = False, transpose_x2: bool = False) -> None:
        super().__init__()
        self.transpose_x1, self.transpose_x2 = transpose_x1, transpose_x2

    def construct(self, x1: Any, x2: Any) -> Any:
        x1 = ops.swapaxes(x1, -1, -2) if self.transpose_x1 and x1.ndim > 1 else x1
        x2 = ops.swapaxes(x2, -1, -2) if self.transpose_x2 and x2.ndim > 1 else x2
        return ops.matmul(x1, x2)


class Moments(Cell):
    """The mean and the variance over axes."""

    def __init__(self, axis: Any = None, keep_dims: bool | None = None) -> None:
        super().__init__()
        self.axis, self.keep_dims = axis, bool(keep_dims)

    def construct(self, x: Any) -> Any:
        axis = None if self.axis in (None, ()) else self.axis
        centre = ops.mean(x, axis, keepdims=True)
        distance = x - ops.stop_gradient(centre)
        variance = ops.mean(distance * distance, axis, keepdims=self.keep_dims)
        return ops.mean(x, axis, keepdims=self.keep_dims), variance


class ReduceLogSumExp(Cell):
    """The logarithm of the sum of exponentials over axes."""

    def __init__(self, axis: Any, keep_dims: bool = False) -> None:
        super().__init__()
        self.axis, self.keep_dims = axis, keep_dims

    def construct(self, x: Any) -> Any:
        return ops.logsumexp(x, None if self.axis == () else self.axis, self.keep_dims)


class LGamma(Cell):
    """The logarithm of the absolute gamma function."""

    def construct(self, x: Any) -> Any:
        return ops.lgamma(x)


class DiGamma(Cell):
    """The derivative of the logarithm of the gamma function."""

    def construct(self, x: Any) -> Any:
        return ops.digamma(x)


class IGamma(Cell):
    """The regularised lower incomplete gamma function."""

    def construct(self, a: Any, x: Any) -> Any:
        from adjoint.mindspore import ops as functions

        return functions.igamma(a, x)


class LBeta(Cell):
    """The logarithm of the beta function."""

    def construct(self, x: Any, y: Any) -> Any:
        return ops.lgamma(x) + ops.lgamma(y) - ops.lgamma(x + y)


class MatDet(Cell):
    """The determinant of symmetric positive definite matrices."""

    def construct(self, a: Any) -> Any:
        return ops.det(a)


class MatInverse(Cell):
    """The inverse of symmetric positive definite matrices."""

    def construct(self, a: Any) -> Any:
        return ops.cast(ops.inv(a), dtype_of(a))

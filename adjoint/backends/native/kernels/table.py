"""The kernels, by card."""

from __future__ import annotations

from adjoint.backends.native.kernel_registry import KernelRule
from adjoint.backends.native.kernels.argmax_cumsum import argument_writer, has_elements, write_cumsum
from adjoint.backends.native.kernels.gather_scatter import (
    indices_fit,
    scatter_fits,
    write_gather,
    write_in_range,
    write_scatter,
)
from adjoint.backends.native.kernels.gather_scatter import (
    operands as indexed,
)
from adjoint.backends.native.kernels.matmul import fits, prepare, write_fused, write_matmul
from adjoint.backends.native.kernels.slice_update import (
    same_dtypes,
    slice_fits,
    write_joined,
    write_put_item,
    write_set_item,
)
from adjoint.backends.native.plan.matmul_operands import operands
from adjoint.backends.native.rewrite.fourier_steps import FourierStep
from adjoint.backends.native.rewrite.indexed import InRange
from adjoint.ops.along_axis import ArgPartition, ArgSort, ArgTopK, CumArgMax, CumSum
from adjoint.ops.contract import MatMul
from adjoint.ops.conv import Conv, ConvFilter, ConvInput
from adjoint.ops.decompose import QR, Cholesky, Complement
from adjoint.ops.determinant import Cofactor, Det, SLogDet
from adjoint.ops.index import Gather, ScatterAdd, ScatterSet
from adjoint.ops.joining import Concat
from adjoint.ops.linalg import Inv, Solve, TriangularSolve
from adjoint.ops.pool import MaxPool, MaxPoolIndex, MaxPoolPull, MaxPoolPush
from adjoint.ops.reduce import ArgMax, ArgMin
from adjoint.ops.slicing import PutItem, SetItem
from adjoint.ops.spectral import SVD, Eigh, Eigvalsh, Pinv, SVDVals
from adjoint.ops.stacking import Stack
from adjoint.ops.sum_pool import SumPool, SumPoolPull
from adjoint.ops.unfolding import Fold, Unfold

KERNELS: dict[type, KernelRule] = {
    MatMul: KernelRule(write_matmul, fits, operands, write_fused, prepare),
    Gather: KernelRule(write_gather, indices_fit, indexed, copies=True),
    ScatterSet: KernelRule(write_scatter, scatter_fits, indexed, copies=True),
    ScatterAdd: KernelRule(write_scatter, scatter_fits, indexed),
    InRange: KernelRule(write_in_range),
    SetItem: KernelRule(write_set_item, slice_fits, copies=True),
    PutItem: KernelRule(write_put_item, slice_fits, copies=True),
    Concat: KernelRule(write_joined, same_dtypes, copies=True),
    Stack: KernelRule(write_joined, same_dtypes, copies=True),
    ArgMax: KernelRule(argument_writer("gt"), has_elements),
    ArgMin: KernelRule(argument_writer("lt"), has_elements),
    CumSum: KernelRule(write_cumsum, has_elements),
}
_SYSTEMS = (Cholesky, TriangularSolve, Solve, Inv, Det, SLogDet, Cofactor)
_SPECTRAL = (QR, Complement, Eigh, Eigvalsh, SVD, SVDVals, Pinv)
_SORTS = (ArgSort, ArgTopK, ArgPartition, CumArgMax)
_POOLS = (MaxPool, MaxPoolPush, MaxPoolIndex, SumPool, Unfold, MaxPoolPull, SumPoolPull, Fold)
#: Few programs need these: the module that has them in its own `KERNELS`.
LATE: dict[type, str] = {
    **dict.fromkeys((Conv, ConvInput, ConvFilter), "adjoint.backends.native.kernels.direct_convolution"),
    **dict.fromkeys(_SYSTEMS, "adjoint.backends.native.kernels.square_matrices"),
    **dict.fromkeys(_SPECTRAL, "adjoint.backends.native.kernels.orthogonal_factors"),
    **dict.fromkeys(_SORTS, "adjoint.backends.native.kernels.sorting"),
    FourierStep: "adjoint.backends.native.kernels.fourier_transform",
    **dict.fromkeys(_POOLS, "adjoint.backends.native.kernels.window_pooling"),
}

"""Linear algebra and special functions: values and gradients."""

import mindspore as ms
import numpy as np
from mindspore import Tensor, nn, ops
from mindspore.ops import operations as P

from mindspore_tables import case, numbers

M, N = numbers(2, 3), numbers(3, 4, seed=1)
SQUARE = numbers(3, 3, seed=4) + 4 * np.eye(3, dtype=np.float32)
BATCH = numbers(2, 3, 3, seed=4) + 4 * np.eye(3, dtype=np.float32)
POSITIVE = (SQUARE @ SQUARE.T).astype(np.float32)
LOWER = np.tril(SQUARE).astype(np.float32)
V, W = numbers(3, seed=2), numbers(3, seed=6)
U = numbers(4, low=0.3, high=2.5)
A, B, INSIDE = (
    np.array([1.5, 2.0, 0.7], np.float32),
    np.array([2.0, 3.0, 1.2], np.float32),
    np.array([0.3, 0.6, 0.9], np.float32),
)

case_MatMul = case(lambda: P.MatMul(), M, N)
case_MatMul_with_the_first_transposed = case(lambda: P.MatMul(transpose_a=True), numbers(3, 2), N)
case_MatMul_with_the_second_transposed = case(lambda: P.MatMul(transpose_b=True), M, numbers(4, 3))
case_MatMul_with_both_transposed = case(lambda: P.MatMul(True, True), numbers(3, 2), numbers(4, 3))
case_BatchMatMul = case(lambda: P.BatchMatMul(), numbers(2, 2, 3), numbers(2, 3, 4))
case_BatchMatMul_transposed = case(lambda: P.BatchMatMul(transpose_b=True), numbers(2, 2, 3), numbers(2, 4, 3))
case_matmul_of_vectors = case(lambda: ops.matmul, V, W)
case_matmul_of_a_matrix_and_a_vector = case(lambda: ops.matmul, M, V)
case_matmul_broadcasts = case(lambda: ops.matmul, numbers(2, 1, 2, 3), numbers(3, 3, 2))
case_bmm = case(lambda: ops.bmm, numbers(2, 2, 3), numbers(2, 3, 1))
case_mm = case(lambda: ops.mm, M, N)
case_mv = case(lambda: ops.mv, M, V)
case_dot_of_matrices = case(lambda: ops.dot, M, N)
case_inner = case(lambda: ops.inner, M, numbers(4, 3))
case_outer = case(lambda: ops.outer, V, U)
case_ger = case(lambda: ops.ger, V, U)
case_kron = case(lambda: ops.kron, M, numbers(2, 2), grad=False)
case_tensor_dot = case(lambda: ops.tensor_dot, numbers(2, 3, 4), numbers(4, 3, 2), constants=(((1, 2), (1, 0)),))
case_batch_dot = case(lambda: ops.batch_dot, numbers(2, 3, 4), numbers(2, 4, 2))
case_cross = case(lambda: ops.cross, numbers(2, 3), numbers(2, 3, seed=4), constants=(1,))
case_Cross = case(lambda: P.Cross(dim=1), numbers(2, 3), numbers(2, 3, seed=4))
case_addmm = case(lambda: ops.addmm, numbers(2, 4), M, N)
case_addmv = case(lambda: ops.addmv, numbers(2), M, V)
case_addr = case(lambda: ops.addr, numbers(3, 4), V, U)
case_addbmm = case(lambda: ops.addbmm, numbers(2, 4), numbers(2, 2, 3), numbers(2, 3, 4))
case_baddbmm = case(lambda: ops.baddbmm, numbers(2, 2, 4), numbers(2, 2, 3), numbers(2, 3, 4), constants=(0.5, 2))
case_Cdist = case(lambda: P.Cdist(), numbers(1, 3, 2), numbers(1, 4, 2, seed=1), grad=False)
case_cdist_of_order_1 = case(lambda: ops.cdist, numbers(1, 3, 2), numbers(1, 4, 2, seed=1), constants=(1.0,))
case_dist = case(lambda: ops.dist, M, numbers(2, 3, seed=4))
case_Trace = case(lambda: P.Trace(), SQUARE)
case_diag_embed = case(lambda: ops.diag_embed, M, constants=(1,))
case_diagonal = case(lambda: ops.diagonal, N, constants=(1,))
case_MatrixInverse = case(lambda: P.MatrixInverse(), BATCH)
case_MatrixInverse_adjoint = case(lambda: P.MatrixInverse(adjoint=True), SQUARE, grad=False)
case_MatrixDeterminant = case(lambda: P.MatrixDeterminant(), BATCH)
case_LogMatrixDeterminant = case(lambda: P.LogMatrixDeterminant(), BATCH, kind="second")
case_slogdet = case(lambda: ops.slogdet, BATCH, kind="second")
case_Cholesky = case(lambda: P.Cholesky(), POSITIVE, grad=False)
case_Cholesky_upper = case(lambda: P.Cholesky(upper=True), POSITIVE, grad=False)
case_CholeskyInverse = case(lambda: P.CholeskyInverse(), LOWER, grad=False)
case_CholeskySolve = case(lambda: P.CholeskySolve(), numbers(3, 2), LOWER, grad=False)
case_MatrixSolve = case(lambda: P.MatrixSolve(), SQUARE, numbers(3, 2))
case_MatrixTriangularSolve = case(lambda: P.MatrixTriangularSolve(), LOWER, numbers(3, 2), grad=False)
case_Svd_values = case(lambda: P.Svd(compute_uv=False), N, grad=False)
case_svd_values = case(lambda: ops.svd, M, constants=(False, False))
case_Qr_of_a_square = case(lambda: P.Qr(), SQUARE, grad=False)
case_matrix_power = case(lambda: ops.matrix_power, SQUARE, constants=(3,), grad=False)
case_MatrixBandPart = case(lambda: P.MatrixBandPart(), N, constants=(1, 0))
case_matrix_diag = case(lambda: ops.matrix_diag, M, constants=(Tensor([-1, 0], ms.int32),))
case_matrix_diag_with_padding = case(
    lambda: ops.matrix_diag,
    V,
    constants=(Tensor(1, ms.int32), Tensor(4, ms.int32), Tensor(4, ms.int32), Tensor(0.5)),
    grad=False,
)
case_matrix_diag_part = case(lambda: ops.matrix_diag_part, N, constants=(Tensor([-1, 1], ms.int32), Tensor(0.25)))
case_matrix_set_diag = case(lambda: ops.matrix_set_diag, N, V)
case_renorm = case(lambda: ops.renorm, N, constants=(2, 0, 1.5), grad=False)

for _name in ["J0", "J1", "I0", "I0e", "I1", "I1e", "K0", "K0e", "K1", "K1e", "Y0", "Y1"]:
    globals()[f"case_Bessel{_name}"] = case(lambda name=_name: getattr(P, f"Bessel{name}")(), U)
case_Bessel_of_negative_numbers = case(lambda: P.BesselI1e(), -U)
case_Igamma = case(lambda: P.Igamma(), A, B)
case_Igammac = case(lambda: P.Igammac(), A, B)
case_Betainc = case(lambda: P.Betainc(), A, B, INSIDE)
case_Zeta = case(lambda: P.Zeta(), A + 1, B)
case_Lgamma = case(lambda: P.Lgamma(), U)
case_Digamma = case(lambda: P.Digamma(), U)
case_polygamma = case(lambda: ops.polygamma, np.array(1, np.int32), U)
case_mvlgamma = case(lambda: ops.mvlgamma, U + 2, constants=(2,))
case_i0 = case(lambda: ops.i0, U)


def case_a_network_with_matrices():
    class Net(nn.Cell):
        def __init__(self):
            super().__init__()
            self.matmul = P.MatMul()
            self.w = ms.Parameter(Tensor(N), name="w")

        def construct(self, x):
            return self.matmul(x, self.w).sum() + ops.det(ops.matmul(x, x.T))

    net = Net()
    return ms.grad(net, 0, net.trainable_params())(Tensor(M))

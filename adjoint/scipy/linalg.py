"""scipy.linalg for Tensors."""
# ruff: noqa: I001  (a line for each name)

from numpy.linalg import LinAlgError as LinAlgError

from adjoint.scipy.linear_systems import (
    cho_factor as cho_factor,
    cho_solve as cho_solve,
    cholesky as cholesky,
    det as det,
    eig as eig,
    eigh as eigh,
    eigvals as eigvals,
    eigvalsh as eigvalsh,
    inv as inv,
    lstsq as lstsq,
    lu as lu,
    lu_factor as lu_factor,
    lu_solve as lu_solve,
    norm as norm,
    pinv as pinv,
    qr as qr,
    solve as solve,
    solve_banded as solve_banded,
    solve_triangular as solve_triangular,
    solveh_banded as solveh_banded,
    svd as svd,
    svdvals as svdvals,
)
from adjoint.scipy.linalg_functions import (
    coshm as coshm,
    cosm as cosm,
    expm as expm,
    logm as logm,
    orthogonal_procrustes as orthogonal_procrustes,
    polar as polar,
    sinhm as sinhm,
    sinm as sinm,
    solve_continuous_lyapunov as solve_continuous_lyapunov,
    solve_discrete_lyapunov as solve_discrete_lyapunov,
    solve_lyapunov as solve_lyapunov,
    solve_sylvester as solve_sylvester,
    sqrtm as sqrtm,
    tanhm as tanhm,
    tanm as tanm,
)
from adjoint.scipy.special_matrices import (
    block_diag as block_diag,
    circulant as circulant,
    convolution_matrix as convolution_matrix,
    hankel as hankel,
    khatri_rao as khatri_rao,
    matmul_toeplitz as matmul_toeplitz,
    solve_circulant as solve_circulant,
    solve_toeplitz as solve_toeplitz,
    toeplitz as toeplitz,
)
from adjoint.scipy.wrapping import absent as _absent

__getattr__ = _absent(__name__)

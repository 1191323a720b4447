"""Functions of matrices and matrix equations of scipy.linalg, for Tensors."""
# ruff: noqa: ARG001  (arguments of SciPy that are about memory, speed and checks)

from __future__ import annotations

from typing import Any

import numpy as np

from adjoint.core.errors import ArgumentError, called_at
from adjoint.core.spec import is_inexact
from adjoint.ops import functional as _f
from adjoint.ops import language as F
from adjoint.ops.functional import linalg as _l
from adjoint.ops.linalg import adjoint as _adjoint
from adjoint.ops.matrix_equations import complex_root_of_real
from adjoint.ops.numpylike.common import array_of, is_known, tensor


def expm(A: Any) -> Any:
    """As scipy.linalg.expm."""
    return _l.expm(tensor(A))


def logm(A: Any, disp: Any = True) -> Any:
    """As scipy.linalg.logm; a real matrix must have a real logarithm."""
    _shown("logm", disp)
    return _l.logm(tensor(A))


def sqrtm(A: Any, disp: Any = True, blocksize: Any = None) -> Any:
    """As scipy.linalg.sqrtm; in compiled code a real matrix must have a real root."""
    _shown("sqrtm", disp)
    x = tensor(A)
    return complex_root_of_real(x) if _has_negative_eigenvalue(x) else _l.sqrtm(x)


def _has_negative_eigenvalue(x: Any) -> bool:
    """Whether an eigenvalue on the negative axis makes the root of a real matrix complex. The result's dtype then depends on values,
    which compiled code and batches do not have: the op refuses there, by name."""
    if x.dtype.kind == "c" or x.ndim != 2 or x.shape[0] != x.shape[1] or not x.size or not is_known(x):
        return False
    values = np.linalg.eigvals(array_of(x).astype(np.float64))
    size, eps = np.sqrt(np.abs(values)), np.finfo(x.dtype if x.dtype.kind == "f" else np.float64).eps
    return bool(np.any((values.real < 0) & (values.imag == 0) & (size > 1e3 * eps * max(1.0, size.max()))))


def _shown(what: str, disp: Any) -> None:
    if disp is False:
        raise ArgumentError(
            f"{what}: disp=False, which returns an estimate of the error too, is not supported for Tensors{called_at()}"
        )


def _parts(A: Any) -> tuple[Any, Any, bool]:
    """The exponentials of iA and -iA, and whether A is complex."""
    x = tensor(A)
    return _l.expm(1j * x), _l.expm(-1j * x), x.dtype.kind == "c"


def cosm(A: Any) -> Any:
    """As scipy.linalg.cosm."""
    plus, minus, mixed = _parts(A)
    return 0.5 * (plus + minus) if mixed else F.real(plus)


def sinm(A: Any) -> Any:
    """As scipy.linalg.sinm."""
    plus, minus, mixed = _parts(A)
    return -0.5j * (plus - minus) if mixed else _f.imag(plus)


def tanm(A: Any) -> Any:
    """As scipy.linalg.tanm."""
    return _l.solve(cosm(A), sinm(A))


def coshm(A: Any) -> Any:
    """As scipy.linalg.coshm."""
    x = tensor(A)
    return 0.5 * (_l.expm(x) + _l.expm(-x))


def sinhm(A: Any) -> Any:
    """As scipy.linalg.sinhm."""
    x = tensor(A)
    return 0.5 * (_l.expm(x) - _l.expm(-x))


def tanhm(A: Any) -> Any:
    """As scipy.linalg.tanhm."""
    return _l.solve(coshm(A), sinhm(A))


def polar(a: Any, side: str = "right") -> Any:
    """As scipy.linalg.polar."""
    if side not in ("right", "left"):
        raise ArgumentError(f"polar: side must be 'right' or 'left', not {side!r}{called_at()}")
    x = tensor(a)
    x = x if is_inexact(x.dtype) else F.cast(x, np.float64)
    u = _l.polar_factor(x)
    p = F.matmul(_adjoint(u), x) if side == "right" else F.matmul(x, _adjoint(u))
    return u, 0.5 * (p + _adjoint(p))


def orthogonal_procrustes(A: Any, B: Any, check_finite: bool = True) -> Any:
    """As scipy.linalg.orthogonal_procrustes."""
    product = _f.swapaxes(F.matmul(_f.swapaxes(tensor(B), -1, -2), tensor(A)), -1, -2)
    turn = _l.polar_factor(product)
    return turn, _f.sum(turn * product)


def solve_sylvester(a: Any, b: Any, q: Any) -> Any:
    """As scipy.linalg.solve_sylvester."""
    return _l.solve_sylvester(tensor(a), tensor(b), tensor(q))


def solve_continuous_lyapunov(a: Any, q: Any) -> Any:
    """As scipy.linalg.solve_continuous_lyapunov."""
    a = tensor(a)
    return _l.solve_sylvester(a, _adjoint(a), tensor(q))


solve_lyapunov = solve_continuous_lyapunov


def solve_discrete_lyapunov(a: Any, q: Any, method: str | None = None) -> Any:
    """As scipy.linalg.solve_discrete_lyapunov, by the bilinear transform or as one system."""
    a, q = tensor(a), tensor(q)
    n = a.shape[-1]
    method = method or ("direct" if n < 10 else "bilinear")
    if method not in ("direct", "bilinear"):
        raise ArgumentError(
            f"solve_discrete_lyapunov: method must be 'direct' or 'bilinear', not {method!r}{called_at()}"
        )
    if method == "direct":
        conjugate = F.conj(a) if a.dtype.kind == "c" else a
        system = np.eye(n * n) - _l.kron(a, conjugate)
        return _f.reshape(_l.solve(system, _f.reshape(q, (n * n,))), (n, n))
    eye, back = np.eye(n), _adjoint(a)
    inverse = _l.inv(back + eye)
    b = F.matmul(back - eye, inverse)
    c = 2 * F.matmul(_l.solve(a + eye, q), inverse)
    return solve_continuous_lyapunov(_adjoint(b), -c)

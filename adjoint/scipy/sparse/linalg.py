"""scipy.sparse.linalg for Tensors: systems of constant matrices, differentiable by the right side."""
# ruff: noqa: I001  (a line for each name)

from adjoint.scipy.sparse_products import (
    bicg as bicg,
    bicgstab as bicgstab,
    cg as cg,
    gmres as gmres,
    minres as minres,
    spsolve as spsolve,
)
from adjoint.scipy.wrapping import absent as _absent

__getattr__ = _absent(__name__)

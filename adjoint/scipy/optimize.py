"""scipy.optimize for Tensors."""
# ruff: noqa: I001  (a line for each name)

from adjoint.scipy.optimisers import (
    bisect as bisect,
    brenth as brenth,
    brentq as brentq,
    curve_fit as curve_fit,
    fixed_point as fixed_point,
    fsolve as fsolve,
    least_squares as least_squares,
    minimize as minimize,
    newton as newton,
    ridder as ridder,
    root as root,
    root_scalar as root_scalar,
    rosen as rosen,
    rosen_der as rosen_der,
    rosen_hess as rosen_hess,
    rosen_hess_prod as rosen_hess_prod,
    toms748 as toms748,
)
from adjoint.scipy.wrapping import absent as _absent

__getattr__ = _absent(__name__)

"""scipy.integrate for Tensors."""
# ruff: noqa: I001  (a line for each name)

from adjoint.scipy.initial_value import (
    odeint as odeint,
    solve_ivp as solve_ivp,
)
from adjoint.scipy.quadrature import (
    dblquad as dblquad,
    fixed_quad as fixed_quad,
    quad as quad,
)
from adjoint.scipy.sampled_integrals import (
    cumulative_trapezoid as cumulative_trapezoid,
    romb as romb,
    simpson as simpson,
    trapezoid as trapezoid,
)
from adjoint.scipy.wrapping import absent as _absent

__getattr__ = _absent(__name__)

"""SciPy's optimisers with exact derivatives: minima, least squares, roots and fixed points, themselves differentiable."""

from adjoint.optimize.minimise import minimize as minimize
from adjoint.optimize.results import OptimizeResult as OptimizeResult
from adjoint.optimize.roots import fixed_point as fixed_point
from adjoint.optimize.roots import root as root
from adjoint.optimize.roots import root_scalar as root_scalar
from adjoint.optimize.squares import curve_fit as curve_fit
from adjoint.optimize.squares import least_squares as least_squares

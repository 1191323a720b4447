"""Symbolic differentiation: a Python function as an expression of SymPy's, and an expression as a function of ours.

>>> from adjoint import symbolic
>>> symbolic.derivative(lambda x: x**2 * (1 - x))
-x**2 + 2*x*(1 - x)
"""

from adjoint.symbolic.expression_swell import Swell, swell
from adjoint.symbolic.formula_calculus import StationaryPoint, derivative, gradient, latex, simplify, stationary_points
from adjoint.symbolic.sympy_expressions import NoClosedFormError, to_sympy
from adjoint.symbolic.sympy_functions import from_sympy

__all__ = [
    "NoClosedFormError",
    "StationaryPoint",
    "Swell",
    "derivative",
    "from_sympy",
    "gradient",
    "latex",
    "simplify",
    "stationary_points",
    "swell",
    "to_sympy",
]

"""Derivatives by differences: what every other way to differentiate is checked against.

>>> from adjoint import numeric
>>> round(numeric.derivative(lambda x: x**2, 3.0), 8)
6.0
"""

from adjoint.numeric.difference_derivatives import Estimate, derivative, estimate, gradient, hessian, jacobian
from adjoint.numeric.error_curves import ErrorCurve, error_curve

__all__ = ["ErrorCurve", "Estimate", "derivative", "error_curve", "estimate", "gradient", "hessian", "jacobian"]

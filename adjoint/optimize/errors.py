"""What can go wrong when a solution is differentiated."""

from __future__ import annotations

from adjoint.core.errors import AdjointError


class NotConvergedError(AdjointError, RuntimeError):
    """A derivative of a solution was asked for, and the solver had not found one."""


class SingularSystemError(AdjointError, ArithmeticError):
    """A derivative of a solution was asked for where the solution does not move smoothly with its arguments."""

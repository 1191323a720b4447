"""A solver as one op: SciPy finds the solution, the implicit function theorem differentiates it.

At a solution `residual(z, θ) = 0` holds. When θ moves by dθ, z moves by dz with `∂residual/∂z · dz = -∂residual/∂θ · dθ`: one
linear system, whatever the solver did on its way.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from adjoint.api.forward import jvp
from adjoint.api.grad import vjp
from adjoint.core.absent import ZERO
from adjoint.core.dispatch import lift, wrap
from adjoint.core.errors import called_at
from adjoint.core.spec import Spec, dtype_of, float64, has_derivative, int64, shape_of
from adjoint.ops.card import Op
from adjoint.ops.language import moveaxis
from adjoint.ops.linalg import solve
from adjoint.ops.stacking import stack
from adjoint.optimize.errors import NotConvergedError, SingularSystemError
from adjoint.optimize.program import SolverFunction, apart

STATS = ("success", "status", "nit", "nfev", "njev")


class ImplicitSolve(Op):
    """`ImplicitSolve(...)(start, *inputs)` gives the solution with its multipliers, the state of each bound and constraint, and counts.

    Args:
        name: of the solver and the function, for messages.
        work: `work(start, *inputs)` on NumPy arrays gives what SciPy found, as such a triple.
        residual: `residual(z, states, *inputs)` is zero at a solution, in ops.
        program: how its Jacobian is taken.
        size: of the solution with its multipliers.
    """

    opaque = True

    def __init__(
        self, name: str, work: Callable[..., Any], residual: Callable[..., Any], program: SolverFunction, size: int
    ) -> None:
        self.name, self.work, self.residual, self.program, self.size = name, work, residual, program, size

    def __repr__(self) -> str:
        return self.name

    def __hash__(self) -> int:
        return id(self)

    def infer(self, *specs: Spec) -> tuple[Spec, ...]:
        return Spec((self.size,), float64), Spec((self.size,), int64), Spec((len(STATS) + 1,), int64)

    def eval(self, xp: Any, *xs: Any) -> Any:
        z, states, stats = apart(self.work, *(np.asarray(x) for x in xs))
        return np.asarray(z, float64), np.asarray(states, np.int64), np.asarray(stats, np.int64)

    def _system(self, y: Any, inputs: Sequence[Any]) -> tuple[Any, Any, Any]:
        """The solution, the states, and the matrix of the linear system that its derivatives obey."""
        z, states, stats = map(wrap, y)
        matrix = self.program.square(lambda v: self.residual(v, states, *inputs), z)
        return z, states, wrap(Sound(self.name)(lift(matrix), lift(stats)))

    def vjp(self, g: Any, y: Any, *xs: Any) -> tuple[Any, ...]:
        _, *inputs = map(wrap, xs)
        floats = [i for i, x in enumerate(inputs) if has_derivative(dtype_of(x))]
        found: dict[int, Any] = {}

        def pulled() -> dict[int, Any]:
            if not found:
                z, states, matrix = self._system(y, inputs)
                u = solve(matrix.T, wrap(g[0]))
                _, pull = vjp(
                    lambda *xs: self.residual(z, states, *_filled(inputs, floats, xs)), *(inputs[i] for i in floats)
                )
                found.update(zip(floats, pull(-u), strict=True))
            return found

        return (ZERO, *((lambda i=i: lift(pulled()[i])) if i in floats else ZERO for i in range(len(inputs))))

    def jvp(self, ts: Sequence[Any], y: Any, *xs: Any) -> Any:
        _, *inputs = map(wrap, xs)
        active = [i for i, t in enumerate(ts[1:]) if t is not ZERO]
        if not active:
            return (ZERO,) * 3
        z, states, matrix = self._system(y, inputs)
        _, moved = jvp(
            lambda *xs: self.residual(z, states, *_filled(inputs, active, xs)),
            tuple(inputs[i] for i in active),
            tuple(wrap(ts[i + 1]) for i in active),
        )
        return lift(solve(matrix, -moved)), ZERO, ZERO

    def vmap(self, dims: Sequence[int | None], *xs: Any) -> Any:
        fronted = [x if d is None else moveaxis(x, d, 0) for x, d in zip(xs, dims, strict=True)]
        count = next(shape_of(x)[0] for x, d in zip(fronted, dims, strict=True) if d is not None)
        each = [self(*(x if d is None else x[i] for x, d in zip(fronted, dims, strict=True))) for i in range(count)]
        return tuple(stack(parts) for parts in zip(*each, strict=True))

    @classmethod
    def samples(cls, draw: Any) -> Any:
        yield from ()


def _filled(inputs: Sequence[Any], spots: Sequence[int], values: Sequence[Any]) -> list[Any]:
    new = list(inputs)
    for i, value in zip(spots, values, strict=True):
        new[i] = value
    return new


class Converged(Op):
    """A value handed on, if a solve has converged."""

    opaque = True

    def __init__(self, name: str) -> None:
        self.name = name

    def __repr__(self) -> str:
        return f"check of {self.name}"

    def __hash__(self) -> int:
        return id(self)

    def infer(self, value: Spec, success: Spec) -> Spec:
        return value

    def eval(self, xp: Any, value: Any, success: Any) -> Any:
        if not np.asarray(success):
            raise NotConvergedError(
                f"{self.name} did not converge, so its result is no solution. Start nearer, allow more iterations, or try another "
                f"method{called_at()}"
            )
        return np.array(value)

    def vjp(self, g: Any, y: Any, value: Any, success: Any) -> tuple[Any, ...]:
        return g, ZERO

    def jvp(self, ts: Sequence[Any], y: Any, value: Any, success: Any) -> Any:
        return ts[0]

    def vmap(self, dims: Sequence[int | None], value: Any, success: Any) -> Any:
        fronted = [x if d is None else moveaxis(x, d, 0) for x, d in zip((value, success), dims, strict=True)]
        count = next(shape_of(x)[0] for x, d in zip(fronted, dims, strict=True) if d is not None)
        each = [self(*(x if d is None else x[i] for x, d in zip(fronted, dims, strict=True))) for i in range(count)]
        return stack(each)

    @classmethod
    def samples(cls, draw: Any) -> Any:
        yield from ()


class Sound(Converged):
    """A matrix handed on, if the solve has converged and the matrix is regular: else its inverse means nothing."""

    def eval(self, xp: Any, value: Any, success: Any) -> Any:
        stats, array = np.asarray(success), np.asarray(value)
        if not stats[-1]:
            raise NotConvergedError(
                f"{self.name} did not converge (status {int(stats[1])} after {int(stats[2])} iterations), so its result is no "
                f"solution whose derivative could be taken. See `.success` and `.message`; start nearer, allow more iterations, or "
                f"try another method{called_at()}"
            )
        rank = np.linalg.matrix_rank(array) if np.isfinite(array).all() else 0
        if rank < len(array):
            raise SingularSystemError(
                f"{self.name}: the solution has no derivative, since the linear system for it is singular (rank {rank} of "
                f"{len(array)}): the solution is not unique, a constraint is given twice, or the function is flat there. Add a small "
                f"term such as 1e-6 * (x ** 2).sum(){called_at()}"
            )
        return array

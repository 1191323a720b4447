"""Loops over a few numbers: an ODE, an iteration until it has converged, a recurrence.

The programs are plain Python; a framework that cannot differentiate Python's loops has its own formulation below.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from benchmarks.workload import Workload

CLOSE = 1e-12
DT = 0.01


def rates(prey: Any, hunters: Any, p: Any) -> tuple[Any, Any]:
    """Lotka and Volterra's equations."""
    return prey * (p[0] - p[1] * hunters), hunters * (p[2] * prey - p[3])


def rk4(x: Any, y: Any, p: Any) -> tuple[Any, Any]:
    """One step of Runge and Kutta's method."""
    a1, b1 = rates(x, y, p)
    a2, b2 = rates(x + 0.5 * DT * a1, y + 0.5 * DT * b1, p)
    a3, b3 = rates(x + 0.5 * DT * a2, y + 0.5 * DT * b2, p)
    a4, b4 = rates(x + DT * a3, y + DT * b3, p)
    return x + DT / 6.0 * (a1 + 2.0 * a2 + 2.0 * a3 + a4), y + DT / 6.0 * (b1 + 2.0 * b2 + 2.0 * b3 + b4)


def ode(steps: int) -> Workload:
    def program(F: Any, p: Any) -> Any:
        x, y = p[4], p[5]
        for _ in range(steps):
            x, y = rk4(x, y, p)
        return x + y

    def program_jax(F: Any, p: Any) -> Any:
        import jax

        x, y = jax.lax.fori_loop(0, steps, lambda _, state: rk4(*state, p), (p[4], p[5]))
        return x + y

    return Workload(
        name="ode",
        title=f"Lotka–Volterra, {steps:,} steps of RK4",
        what="gradient",
        inputs=lambda rng: (np.array([1.1, 0.4, 0.1, 0.4, 10.0, 5.0]) + 0.01 * rng.normal(size=6),),
        program=program,
        others={"jax": program_jax},
        tolerance=1e-9,
        scalar=True,
    )


def recurrence(steps: int) -> Workload:
    def program(F: Any, p: Any) -> Any:
        r, x = p[0], p[1]
        for _ in range(steps):
            x = r * x * (1.0 - x)
        return x

    def program_jax(F: Any, p: Any) -> Any:
        import jax

        return jax.lax.fori_loop(0, steps, lambda _, x: p[0] * x * (1.0 - x), p[1])

    return Workload(
        name="logistic_map",
        title=f"logistic map, {steps:,} steps",
        what="gradient",
        inputs=lambda rng: (np.array([3.3, 0.4]) + 0.01 * rng.normal(size=2),),
        program=program,
        others={"jax": program_jax},
        tolerance=1e-9,
        scalar=True,
    )


def residual(x: Any, a: Any) -> Any:
    return x * x * x + x - a


def improved(x: Any, a: Any) -> Any:
    return x - residual(x, a) / (3.0 * x * x + 1.0)


def newton(F: Any, a: Any) -> Any:
    """The root of x³ + x = a by Newton's method, until it is good enough."""
    x = a
    while F.abs(residual(x, a)) > CLOSE:
        x = improved(x, a)
    return x


def newton_jax(F: Any, a: Any) -> Any:
    """JAX cannot reverse a `while_loop`; it has a root finder differentiated by the implicit function theorem."""
    import jax

    def solve(f: Any, start: Any) -> Any:
        return jax.lax.while_loop(lambda x: F.abs(residual(x, a)) > CLOSE, lambda x: improved(x, a), start)

    return jax.lax.custom_root(lambda x: residual(x, a), a, solve, lambda g, y: y / g(F.ones_like(y)))


def newton_casadi(F: Any, a: Any) -> Any:
    """CasADi's expressions have no loop of unknown length; its root finder is differentiated implicitly too."""
    import casadi

    x, b = casadi.SX.sym("x"), casadi.SX.sym("a")
    equation = casadi.Function("equation", [x, b], [residual(x, b)])
    return casadi.rootfinder("solve", "fast_newton", equation, {"abstol": CLOSE})(a, a)


def workloads(tiny: bool) -> list[Workload]:
    steps = 10 if tiny else 1000
    convergence = Workload(
        name="newton",
        title="Newton's method until converged",
        what="gradient",
        inputs=lambda rng: (np.array(10.0 + rng.random()),),
        program=newton,
        others={"jax": newton_jax, "casadi": newton_casadi},
        tolerance=1e-9,
        scalar=True,
    )
    return [ode(steps), convergence, recurrence(steps)]

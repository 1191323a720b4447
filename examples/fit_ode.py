"""Parameters of a differential equation from noisy data: gradients through every step of the solver.

    python examples/fit_ode.py [--noise 0.05] [--picture fit_ode.png]

Foxes and rabbits (Lotka and Volterra): the four rates of the model, and both numbers at the start, are found from 61
observations. The solver is an ordinary Python loop; static mode keeps it a loop and differentiates it.
"""

from __future__ import annotations

import argparse
import sys

import figures
import numpy as np
from scipy.integrate import solve_ivp
from scipy.optimize import minimize

import adjoint as ad
from adjoint import ops

TRUE = np.array([1.1, 0.4, 0.4, 0.1, 10.0, 5.0])  # growth, hunt, death, feed; rabbits and foxes at the start
NAMES = ("growth", "hunt", "death", "feed", "rabbits", "foxes")
TIMES = np.linspace(0.0, 15.0, 61)
INSIDE = 8  # steps of the solver between two observations


def rates(state, growth, hunt, death, feed):
    rabbits, foxes = state[0], state[1]
    return ops.stack([growth * rabbits - hunt * rabbits * foxes, feed * rabbits * foxes - death * foxes])


def path(logs):
    """Rabbits and foxes at each time, by the classical Runge-Kutta method; parameters are positive, hence logarithms."""
    p = ops.exp(logs)
    k = (p[0], p[1], p[2], p[3])
    h = float(TIMES[1] - TIMES[0]) / INSIDE
    state = p[4:6]
    found = ops.zeros((len(TIMES), 2), ad.float64)
    found[0] = state
    for i in range(1, len(TIMES)):
        for _ in range(INSIDE):
            k1 = rates(state, *k)
            k2 = rates(state + 0.5 * h * k1, *k)
            k3 = rates(state + 0.5 * h * k2, *k)
            k4 = rates(state + h * k3, *k)
            state = state + h / 6.0 * (k1 + 2.0 * k2 + 2.0 * k3 + k4)
        found[i] = state
    return found


def misfit(logs, observed):
    return ((ops.log(path(logs)) - ops.log(observed)) ** 2).mean()


def picture(path_to: str, observed: np.ndarray, start: np.ndarray, fitted: np.ndarray) -> None:
    """What was observed, what the first guess gives, and what the found rates give."""
    if (pyplot := figures.pyplot()) is None:
        return
    figure, axes = pyplot.subplots(figsize=(9, 4.5), layout="constrained")
    for k, (name, colour) in enumerate((("rabbits", "tab:green"), ("foxes", "tab:orange"))):
        axes.plot(TIMES, observed[:, k], "o", color=colour, markersize=4, label=f"{name}, observed")
        axes.plot(TIMES, fitted[:, k], color=colour, label=f"{name}, fitted")
        axes.plot(TIMES, start[:, k], color=colour, linestyle=":", label=f"{name}, first guess")
    axes.set(xlabel="time", ylabel="number", title="Foxes and rabbits: rates found by gradients through the solver")
    axes.legend(ncols=2)
    axes.grid(alpha=0.3)
    figures.save(figure, path_to)


def main(arguments: list[str] | None = None) -> int:
    parser = argparse.ArgumentParser(description="Find the rates of a model of foxes and rabbits.")
    parser.add_argument("--noise", type=float, default=0.05)
    parser.add_argument("--picture", default="fit_ode.png", help="where to draw; empty for no picture")
    options = parser.parse_args(arguments)

    def exact(t, s):
        return [TRUE[0] * s[0] - TRUE[1] * s[0] * s[1], TRUE[3] * s[0] * s[1] - TRUE[2] * s[1]]

    solution = solve_ivp(exact, (0, TIMES[-1]), TRUE[4:], t_eval=TIMES, rtol=1e-9, atol=1e-9).y.T
    observed = solution * np.exp(options.noise * np.random.default_rng(0).standard_normal(solution.shape))

    gradient = ad.jit(ad.value_and_grad(misfit))

    def for_scipy(logs):
        value, slope = gradient(logs, observed)
        return value.item(), slope.asnumpy()

    start = np.log([0.8, 0.3, 0.6, 0.15, 8.0, 6.0])
    fitted = minimize(for_scipy, start, jac=True, method="BFGS")
    found = np.exp(fitted.x)
    print(f"Misfit {for_scipy(start)[0]:.3f} -> {fitted.fun:.5f} in {fitted.nit} steps, {fitted.nfev} gradients")
    for name, a, b in zip(NAMES, TRUE, found, strict=True):
        print(f"  {name:8s} true {a:7.3f}   found {b:7.3f}")
    if options.picture:
        solve = ad.jit(path)
        picture(options.picture, observed, solve(start).asnumpy(), solve(fitted.x).asnumpy())
    return 0 if np.abs(found / TRUE - 1).max() < 0.1 else 1


if __name__ == "__main__":
    sys.exit(main())

"""A Gaussian process in plain NumPy and SciPy: what it is made of is learnt from the data, and so is how sure it is.

    python examples/gaussian_process.py [--points 60] [--picture gaussian_process.png]

The covariance is written with NumPy, its Cholesky factor is SciPy's, and the likelihood's gradient goes through both. A trend, a
wave and noise are found by SciPy's optimiser, and the process says what comes after the data.
"""

from __future__ import annotations

import argparse
import sys

import figures
import numpy as np
from scipy import linalg, optimize

import adjoint as ad

NAMES = ("trend size", "trend length", "wave size", "wave period", "wave memory", "noise")
START = np.log([1.0, 1.0, 1.0, 1.15, 5.0, 0.3])
END = 6.0  # where the data end


def truth(t):
    return 0.4 * (t - 3) + np.sin(2 * np.pi * t) * np.exp(-0.05 * t)


def covariance(logs, a, b):
    """How values of the trend and the wave at times a and at times b hang together."""
    p = np.exp(logs)
    distance = a[:, None] - b[None, :]
    trend = p[0] ** 2 * np.exp(-0.5 * (distance / (10 * p[1])) ** 2)
    wave = np.exp(-2 * np.sin(np.pi * distance / p[3]) ** 2 - 0.5 * (distance / p[4]) ** 2)
    return trend + p[2] ** 2 * wave


def surprise(logs, t, y):
    """Minus the logarithm of the likelihood of the data."""
    factor = linalg.cholesky(covariance(logs, t, t) + np.exp(2 * logs[5]) * np.eye(len(t)), lower=True)
    weights = linalg.cho_solve((factor, True), y)
    return 0.5 * y @ weights + np.sum(np.log(np.diag(factor))) + 0.5 * len(t) * np.log(2 * np.pi)


def prediction(logs, t, y, at):
    """The mean of the function at other times, and its standard deviation."""
    factor = linalg.cholesky(covariance(logs, t, t) + np.exp(2 * logs[5]) * np.eye(len(t)), lower=True)
    across = linalg.solve_triangular(factor, covariance(logs, t, at), lower=True)
    mean = across.T @ linalg.solve_triangular(factor, y, lower=True)
    variance = np.diag(covariance(logs, at, at)) - np.sum(across**2, 0)
    return mean, np.sqrt(np.maximum(variance, 0.0))


def picture(path: str, t: np.ndarray, y: np.ndarray, before: np.ndarray, after: np.ndarray) -> None:
    """What the process believes before and after its parameters have been learnt."""
    if (pyplot := figures.pyplot()) is None:
        return
    at = np.linspace(0, END + 3, 400)
    figure, axes = pyplot.subplots(2, 1, figsize=(9, 6), sharex=True, sharey=True, layout="constrained")
    for axis, logs, title in zip(axes, (before, after), ("first guess", "learnt from the data"), strict=True):
        mean, deviation = prediction(logs, t, y, at)
        axis.fill_between(at, mean - 2 * deviation, mean + 2 * deviation, alpha=0.25, label="95% of what is likely")
        axis.plot(at, mean, label="mean")
        axis.plot(at, truth(at), "k--", linewidth=1, label="truth")
        axis.plot(t, y, ".", color="tab:red", label="data")
        axis.axvline(END, color="gray", linewidth=0.8)
        axis.set(title=f"{title}: surprise {float(surprise(logs, t, y)):.1f}", ylabel="y", ylim=(-5, 5))
        axis.grid(alpha=0.3)
    axes[0].legend(loc="lower left", ncols=4)
    axes[1].set(xlabel="time; there are no data right of the line")
    figures.save(figure, path)


def main(arguments: list[str] | None = None) -> int:
    parser = argparse.ArgumentParser(description="Learn the parameters of a Gaussian process.")
    parser.add_argument("--points", type=int, default=60)
    parser.add_argument("--noise", type=float, default=0.2)
    parser.add_argument("--picture", default="gaussian_process.png", help="where to draw; empty for no picture")
    options = parser.parse_args(arguments)

    draw = np.random.default_rng(1)
    t = np.sort(draw.uniform(0, END, options.points))
    y = truth(t) + options.noise * draw.standard_normal(len(t))

    found = optimize.minimize(
        ad.jit(ad.value_and_grad(surprise)),
        START,
        args=(t, y),
        jac=True,
        method="L-BFGS-B",
        bounds=[(-5, 4)] * len(START),
    )
    print(
        f"Surprise {float(surprise(START, t, y)):.2f} -> {found.fun:.2f} in {found.nit} steps, {found.nfev} gradients"
    )
    for name, first, last in zip(NAMES, np.exp(START), np.exp(found.x), strict=True):
        print(f"  {name:12s} {first:6.3f} -> {last:6.3f}")

    later = np.linspace(END, END + 2, 50)
    mean, deviation = prediction(found.x, t, y, later)
    inside = np.mean(np.abs(mean - truth(later)) < 2 * deviation + 1e-9)
    error = np.sqrt(np.mean((mean - truth(later)) ** 2))
    print(f"Two time units beyond the data: error {error:.3f}, {100 * inside:.0f}% of the truth within the band")
    if options.picture:
        picture(options.picture, t, y, START, found.x)
    return 0 if abs(np.exp(found.x[3]) - 1) < 0.05 and error < 0.5 else 1


if __name__ == "__main__":
    sys.exit(main())

"""A Kalman filter whose own noise is learnt: gradients through every prediction and correction.

    python examples/kalman.py [--steps 100] [--picture kalman.png]

Something moves in a plane; a radar sees where it is, with noise. How strongly it is pushed about and how bad the radar is are not
known: they are found by maximising the likelihood of what was seen, through the whole filter. The filter is an ordinary loop.
"""

from __future__ import annotations

import argparse
import sys

import figures
import numpy as np

import adjoint as ad

STEP = 0.2  # seconds between two observations
PUSH, RADAR = 0.8, 0.5  # the true accelerations and errors
MOVE = np.kron(np.array([[1, STEP], [0, 1]]), np.eye(2))  # position and velocity, one step later
KICK = np.kron(np.array([[STEP**3 / 3, STEP**2 / 2], [STEP**2 / 2, STEP]]), np.eye(2))
SEE = np.eye(2, 4)  # what the radar sees of a state


def filtered(logs, seen):
    """The likelihood of all that was seen, and the position at each time as far as it was known then."""
    push, radar = np.exp(2 * logs[0]), np.exp(2 * logs[1])
    state, spread = np.zeros(4), 10.0 * np.eye(4)
    surprise, path = 0.0, ad.numpy.zeros((len(seen), 2))
    for k in range(len(seen)):
        state, spread = MOVE @ state, MOVE @ spread @ MOVE.T + push * KICK
        wrong = seen[k] - SEE @ state
        width = SEE @ spread @ SEE.T + radar * np.eye(2)
        gain = np.linalg.solve(width, SEE @ spread).T
        surprise = surprise + 0.5 * (wrong @ np.linalg.solve(width, wrong) + np.log(np.linalg.det(width)))
        state, spread = state + gain @ wrong, spread - gain @ SEE @ spread
        path[k] = state[:2]
    return surprise / len(seen), path


def simulated(steps: int, seed: int = 138) -> tuple[np.ndarray, np.ndarray]:
    """Where it was, and where the radar saw it."""
    draw = np.random.default_rng(seed)
    root, state = np.linalg.cholesky(KICK), np.array([0.0, 0.0, 1.0, 0.5])
    places = []
    for _ in range(steps):
        state = MOVE @ state + PUSH * root @ draw.standard_normal(4)
        places.append(state[:2])
    true = np.array(places)
    return true, true + RADAR * draw.standard_normal(true.shape)


def picture(path: str, true: np.ndarray, seen: np.ndarray, before: np.ndarray, after: np.ndarray, surface) -> None:
    """The path as it was, as it was seen, as the filter had it; and how likely each pair of noises is."""
    if (pyplot := figures.pyplot()) is None:
        return
    figure, (left, right) = pyplot.subplots(1, 2, figsize=(11, 5), layout="constrained")
    left.plot(*seen.T, ".", color="0.6", markersize=4, label="seen by the radar")
    left.plot(*true.T, "k", linewidth=1.2, label="true path")
    left.plot(*before.T, ":", color="tab:blue", label="filter, first guess")
    left.plot(*after.T, color="tab:orange", label="filter, learnt")
    left.set(title="The path", xlabel="x", ylabel="y", aspect="equal")
    left.legend()
    push, radar, values, track = surface
    shown = right.contourf(push, radar, values, levels=25, cmap="viridis_r")
    right.plot(*np.exp(track).T, "o-", color="white", markersize=4, label="steps of the optimiser")
    right.plot(PUSH, RADAR, "*", color="tab:red", markersize=14, label="truth")
    right.set(title="Surprise", xlabel="push", ylabel="error of the radar", xscale="log", yscale="log")
    right.legend(loc="lower right")
    figure.colorbar(shown, ax=right)
    figures.save(figure, path)


def main(arguments: list[str] | None = None) -> int:
    parser = argparse.ArgumentParser(description="Learn the noise of a Kalman filter.")
    parser.add_argument("--steps", type=int, default=100)
    parser.add_argument("--grid", type=int, default=15, help="points of the picture's surface along each side")
    parser.add_argument("--picture", default="kalman.png", help="where to draw; empty for no picture")
    options = parser.parse_args(arguments)

    true, seen = simulated(options.steps)
    start, track = np.log([0.1, 2.0]), []
    track.append(start)
    found = ad.optimize.minimize(
        lambda logs, seen: filtered(logs, seen)[0],
        start,
        args=(seen,),
        method="BFGS",
        callback=lambda state: track.append(state.x.asnumpy()),
    )
    run = ad.jit(filtered)
    before, after = (run(logs, seen)[1].asnumpy() for logs in (start, found.x))
    errors = [np.sqrt(np.mean((p - true) ** 2)) for p in (seen, before, after)]
    push, radar = np.exp(found.x.asnumpy())
    print(
        f"Surprise {float(run(start, seen)[0]):.4f} -> {float(found.fun):.4f} in {found.nit} steps, {found.nfev} gradients"
    )
    print(f"  push  true {PUSH:.3f}   found {push:.3f}")
    print(f"  radar true {RADAR:.3f}   found {radar:.3f}")
    print(
        f"Error of the position: radar {errors[0]:.3f}, filter at first {errors[1]:.3f}, filter as learnt {errors[2]:.3f}"
    )
    if options.picture:
        axes = np.geomspace(0.08, 3.0, options.grid), np.geomspace(0.2, 2.5, options.grid)
        pairs = np.log(np.stack(np.meshgrid(*axes), -1).reshape(-1, 2))
        values = ad.jit(ad.vmap(lambda logs: filtered(logs, seen)[0]))(pairs).asnumpy()
        picture(options.picture, true, seen, before, after, (*axes, values.reshape(options.grid, -1), np.array(track)))
    return 0 if found.success and abs(radar / RADAR - 1) < 0.25 and errors[2] < errors[0] else 1


if __name__ == "__main__":
    sys.exit(main())

"""Hamiltonian Monte Carlo: a hundred chains at once, each a ball that rolls over a landscape, by `vmap` of a gradient.

    python examples/hamiltonian.py [--chains 100] [--samples 200] [--picture hamiltonian.png]

Samples of a distribution known up to a factor: a ring with a smile in it. A chain is a point that is pushed at random, rolls without
friction for a while, and stays where it is then, if the energy says so. The program is written for one chain.
"""

from __future__ import annotations

import argparse
import sys
import time

import figures
import numpy as np

import adjoint as ad
from adjoint import ops

SIDE = 4.0  # half the width of the picture


def energy(x):
    """Minus the logarithm of the density, up to a constant: low on a ring and on a bent line inside it."""
    ring = 0.5 * ((ops.sqrt(x[0] ** 2 + x[1] ** 2 + 1e-9) - 2.5) / 0.25) ** 2
    bend = 0.5 * ((x[1] - 0.5 * x[0] ** 2 + 0.8) / 0.25) ** 2 + 0.5 * (x[0] / 1.1) ** 2
    return -ops.logsumexp(ops.stack([-ring, -bend]), 0)


slope = ad.grad(energy)


def step(x, push, luck, size, count):
    """One sample of one chain: roll from x with a push; luck decides whether to stay at the end."""
    place, speed = x, push - 0.5 * size * slope(x)
    for _ in range(count):
        place = place + size * speed
        speed = speed - size * slope(place)
    speed = speed + 0.5 * size * slope(place)
    before, after = energy(x) + 0.5 * (push**2).sum(), energy(place) + 0.5 * (speed**2).sum()
    taken = ops.log(luck) < before - after
    return ops.where(taken, place, x), taken


def picture(path: str, samples: np.ndarray, density: np.ndarray, roll: np.ndarray) -> None:
    """The density, the samples, and a few chains on their way."""
    if (pyplot := figures.pyplot()) is None:
        return
    figure, axes = pyplot.subplots(1, 3, figsize=(12, 4.3), sharex=True, sharey=True, layout="constrained")
    box = (-SIDE, SIDE, -SIDE, SIDE)
    axes[0].imshow(density, extent=box, origin="lower", cmap="magma")
    axes[0].set(title="the density")
    axes[1].hexbin(*samples.reshape(-1, 2).T, gridsize=60, extent=box, cmap="magma")
    axes[1].set(title=f"{samples[..., 0].size:,} samples of {samples.shape[1]} chains")
    axes[2].contour(density, extent=box, levels=6, cmap="Greys", linewidths=0.6)
    for k in range(min(8, roll.shape[1])):
        axes[2].plot(*roll[:, k].T, linewidth=1)
        axes[2].plot(*roll[0, k], "o", markersize=4, color="black")
    axes[2].set(title="how eight of them roll")
    for axis in axes:
        axis.set(xlim=box[:2], ylim=box[2:], aspect="equal")
    figures.save(figure, path)


def main(arguments: list[str] | None = None) -> int:
    parser = argparse.ArgumentParser(description="Sample a distribution by Hamiltonian Monte Carlo.")
    parser.add_argument("--chains", type=int, default=100)
    parser.add_argument("--samples", type=int, default=200, help="of each chain")
    parser.add_argument("--size", type=float, default=0.1, help="of a step of the roll")
    parser.add_argument("--count", type=int, default=15, help="steps of a roll")
    parser.add_argument("--picture", default="hamiltonian.png", help="where to draw; empty for no picture")
    options = parser.parse_args(arguments)

    draw = np.random.default_rng(0)
    size, count = options.size, options.count
    move = ad.jit(ad.vmap(lambda x, push, luck: step(x, push, luck, size, count)))
    x = 2.0 * draw.standard_normal((options.chains, 2))
    samples, taken = [], []
    move(x, np.zeros_like(x), np.ones(options.chains))  # compiles
    began = time.perf_counter()
    for k in range(options.samples + 50):
        x, yes = (y.asnumpy() for y in move(x, draw.standard_normal(x.shape), draw.uniform(size=options.chains)))
        if k >= 50:  # the first ones still remember where they began
            samples.append(x)
            taken.append(yes.mean())
    seconds = time.perf_counter() - began
    found = np.array(samples)

    axis = np.linspace(-SIDE, SIDE, 161)
    grid = np.stack(np.meshgrid(axis, axis), -1).reshape(-1, 2)
    density = np.exp(-ad.jit(ad.vmap(energy))(grid).asnumpy())
    density /= density.sum()
    exact, got = density @ grid**2, (found**2).mean((0, 1))
    rate = options.chains * (options.samples + 50) * (count + 2) / seconds
    print(f"{found[..., 0].size:,} samples, {np.mean(taken):.0%} of the rolls taken, {rate:,.0f} gradients a second")
    print(f"mean of x^2 {got[0]:.3f} (exact {exact[0]:.3f}), of y^2 {got[1]:.3f} (exact {exact[1]:.3f})")
    if options.picture:
        roll, v = [x], draw.standard_normal(x.shape)
        pull = ad.jit(ad.vmap(slope))
        for _ in range(60):
            v = v - 0.05 * pull(roll[-1]).asnumpy()
            roll.append(roll[-1] + 0.05 * v)
        picture(options.picture, found, density.reshape(len(axis), -1), np.array(roll))
    return 0 if np.abs(got / exact - 1).max() < 0.2 else 1


if __name__ == "__main__":
    sys.exit(main())

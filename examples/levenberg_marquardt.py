"""The method of Levenberg and Marquardt on exact Jacobians: cameras and points from what the cameras have seen.

    python examples/levenberg_marquardt.py [--points 40] [--cameras 6] [--picture levenberg_marquardt.png]

Cameras stand around some points. Neither the points nor the cameras are known, only where each point was seen in each image. All of
it is found at once (bundle adjustment): by twenty lines of one's own, and by `ad.optimize.least_squares`, which must agree.
"""

from __future__ import annotations

import argparse
import sys
import time

import figures
import numpy as np

import adjoint as ad
from adjoint import ops


def turned(points, angles):
    """Points as seen from a camera that is turned by three angles."""
    a, b, c = angles[0], angles[1], angles[2]
    x, y, z = points[:, 0], points[:, 1], points[:, 2]
    x, y = ops.cos(c) * x - ops.sin(c) * y, ops.sin(c) * x + ops.cos(c) * y
    x, z = ops.cos(b) * x + ops.sin(b) * z, ops.cos(b) * z - ops.sin(b) * x
    y, z = ops.cos(a) * y - ops.sin(a) * z, ops.sin(a) * y + ops.cos(a) * z
    return x, y, z


def image(camera, points):
    """Where a camera (three angles, three lengths) sees the points."""
    x, y, z = turned(points, camera)
    depth = z + camera[5]
    return ops.stack([(x + camera[3]) / depth, (y + camera[4]) / depth], -1)


def misses(world, seen):
    """How far each point is in each image from where it was seen."""
    return ad.vmap(image, in_axes=(0, None))(world["cameras"], world["points"]) - seen


def levenberg_marquardt(residuals, x, steps=60, damping=1e-2):
    """The x with the least sum of squares: Newton's steps where they help, steps downhill where not."""
    both = ad.jit(lambda x: (residuals(x), ad.jacobian(residuals)(x)))
    costs, (r, j) = [], (y.asnumpy() for y in both(x))
    costs.append(0.5 * r @ r)
    for _ in range(steps):
        curvature, slope = j.T @ j, j.T @ r
        step = np.linalg.solve(curvature + damping * (np.diag(np.diag(curvature)) + 1e-9 * np.eye(len(x))), slope)
        new_r, new_j = (y.asnumpy() for y in both(x - step))
        cost = 0.5 * new_r @ new_r
        if cost < costs[-1]:
            x, r, j, damping = x - step, new_r, new_j, damping / 5
            done = costs[-1] - cost < 1e-12 * cost
            costs.append(cost)
            if done:
                break
        else:
            damping *= 4
    return x, costs


def scene(points: int, cameras: int, noise: float) -> tuple[dict[str, np.ndarray], np.ndarray]:
    """Points on a spiral, cameras around it, and what they see."""
    draw = np.random.default_rng(0)
    s = np.linspace(0, 4 * np.pi, points)
    spiral = np.stack([np.cos(s), np.sin(s), s / (2 * np.pi) - 1], -1) + 0.05 * draw.standard_normal((points, 3))
    around = np.zeros((cameras, 6))
    around[:, 1] = np.linspace(-0.9, 0.9, cameras)
    around[:, 0] = 0.3 * draw.standard_normal(cameras)
    around[:, 5] = 5.0
    world = {"points": spiral, "cameras": around}
    exact = -misses(world, np.zeros((cameras, points, 2))).asnumpy()
    return world, -exact + noise * draw.standard_normal(exact.shape)


def aligned(points: np.ndarray, true: np.ndarray) -> np.ndarray:
    """The points moved, turned and scaled as a whole, as near to the true ones as they get: images cannot tell those apart."""
    a, b = points - points.mean(0), true - true.mean(0)
    u, s, v = np.linalg.svd(a.T @ b)
    return (s.sum() / (a**2).sum()) * a @ (u @ v) + true.mean(0)


def picture(path: str, true: np.ndarray, start: np.ndarray, found: np.ndarray, costs: list[float]) -> None:
    """The points as they are, as first guessed and as found, and the cost of each step."""
    if (pyplot := figures.pyplot()) is None:
        return
    figure = pyplot.figure(figsize=(11, 5), layout="constrained")
    left, right = figure.add_subplot(1, 2, 1, projection="3d"), figure.add_subplot(1, 2, 2)
    left.plot(*true.T, color="0.5", linewidth=1)
    left.scatter(*true.T, color="0.5", s=30, label="true")
    left.scatter(*start.T, color="tab:blue", marker="x", s=14, label="first guess")
    left.scatter(*found.T, color="tab:orange", s=8, label="found")
    left.set(title="Points from images")
    left.legend()
    right.semilogy(costs, "o-", markersize=4)
    right.set(title="Half the sum of squares", xlabel="accepted steps of Levenberg and Marquardt")
    right.grid(alpha=0.3)
    figures.save(figure, path)


def main(arguments: list[str] | None = None) -> int:
    parser = argparse.ArgumentParser(description="Find cameras and points from images.")
    parser.add_argument("--points", type=int, default=40)
    parser.add_argument("--cameras", type=int, default=6)
    parser.add_argument("--noise", type=float, default=0.002)
    parser.add_argument("--picture", default="levenberg_marquardt.png", help="where to draw; empty for no picture")
    options = parser.parse_args(arguments)

    world, seen = scene(options.points, options.cameras, options.noise)
    draw = np.random.default_rng(1)
    start = {
        name: x + s * draw.standard_normal(x.shape) for (name, x), s in zip(world.items(), (0.3, 0.1), strict=True)
    }

    flat = np.concatenate([start["points"].ravel(), start["cameras"].ravel()])
    cut = start["points"].size

    def residuals(x):
        guess = {"points": x[:cut].reshape(start["points"].shape), "cameras": x[cut:].reshape(start["cameras"].shape)}
        return misses(guess, seen).reshape(-1)

    began = time.perf_counter()
    x, costs = levenberg_marquardt(residuals, flat)
    print(
        f"By hand:         cost {costs[0]:.3f} -> {costs[-1]:.8f} in {len(costs) - 1} steps, {time.perf_counter() - began:.1f} s"
    )
    began = time.perf_counter()
    theirs = ad.optimize.least_squares(misses, start, args=(seen,), method="lm")
    print(
        f"least_squares:   cost {costs[0]:.3f} -> {float(theirs.cost):.8f} in {theirs.nfev} evaluations, {time.perf_counter() - began:.1f} s"
    )
    found = aligned(x[:cut].reshape(-1, 3), world["points"])
    first = aligned(start["points"], world["points"])
    before, after = (np.sqrt(np.mean((p - world["points"]) ** 2)) for p in (first, found))
    print(f"{flat.size} unknowns, {seen.size} equations: error of a point {before:.4f} -> {after:.4f}")
    if options.picture:
        picture(options.picture, world["points"], first, found, costs)
    return 0 if after < 0.1 * before and abs(costs[-1] / float(theirs.cost) - 1) < 1e-3 else 1


if __name__ == "__main__":
    sys.exit(main())

"""Objective functions from statistics and computer vision: a Gaussian mixture, bundle adjustment."""

from __future__ import annotations

from typing import Any

import numpy as np

from benchmarks.workload import Inputs, Work, Workload


def mixture(F: Any, params: Any, x: Any, places: Any, eye: Any) -> Any:
    """Log-likelihood of points under a mixture, without its constant.

    Each inverse covariance is L Lᵀ; `places` says which of the packed numbers stands where below the diagonal of L.
    """
    weights, means, diagonals, lowers = params
    corners = F.concat([lowers, 0.0 * lowers[:, :1]], 1)[:, places]
    factors = corners + F.exp(diagonals)[:, :, None] * eye
    moved = F.einsum("kij,nkj->nki", factors, x[:, None, :] - means)
    scores = weights + F.sum(diagonals, 1) - 0.5 * F.sum(moved * moved, 2)
    return F.sum(F.logsumexp(scores, 1)) - x.shape[0] * F.logsumexp(weights, 0)


def mixture_inputs(rng: np.random.Generator, points: int, parts: int, dim: int) -> Inputs:
    packed = dim * (dim - 1) // 2
    params = [rng.normal(size=s) for s in (parts, (parts, dim), (parts, dim), (parts, packed))]
    params[3] *= 0.1
    places = np.full((dim, dim), packed)  # of the zero that is put after the packed numbers
    places[np.tril_indices(dim, -1)] = np.arange(packed)
    return params, rng.normal(size=(points, dim)), places, np.eye(dim)


def reprojection(F: Any, p: Any, seen: Any) -> Any:
    """Weighted error of one observation, or of one in each row: a camera (rotation vector, centre, focal length,
    principal point, two distortions), a point and a weight."""
    r1, r2, r3, c1, c2, c3, focal, u0, v0, k1, k2, x, y, z, w = [p[..., i] for i in range(15)]
    x, y, z = x - c1, y - c2, z - c3
    angle2 = r1 * r1 + r2 * r2 + r3 * r3
    angle = F.sqrt(angle2)
    cos, sin = F.cos(angle), F.sin(angle) / angle
    along = (r1 * x + r2 * y + r3 * z) * (1.0 - cos) / angle2
    turned_x = x * cos + (r2 * z - r3 * y) * sin + r1 * along
    turned_y = y * cos + (r3 * x - r1 * z) * sin + r2 * along
    turned_z = z * cos + (r1 * y - r2 * x) * sin + r3 * along
    u, v = turned_x / turned_z, turned_y / turned_z
    radius2 = u * u + v * v
    bend = focal * (1.0 + radius2 * (k1 + radius2 * k2))
    return F.stack([w * (u * bend + u0 - seen[..., 0]), w * (v * bend + v0 - seen[..., 1])], -1)


def reprojection_inputs(rng: np.random.Generator, count: int) -> Inputs:
    middle = np.array([0.1, 0.2, 0.3, 0, 0, 0, 500, 320, 240, 0.01, 0.001, 0, 0, 5, 1])
    spread = np.array([0.05, 0.05, 0.05, 0.1, 0.1, 0.1, 5, 2, 2, 0.001, 0.0001, 1, 1, 0.5, 0.1])
    return middle + spread * rng.normal(size=(count, 15)), np.array([320.0, 240.0]) + 50 * rng.normal(size=(count, 2))


def workloads(tiny: bool) -> list[Workload]:
    points, parts, dim = (6, 3, 2) if tiny else (1000, 25, 10)
    observations = 3 if tiny else 1000
    return [
        Workload(
            name="mixture",
            title=f"Gaussian mixture log-likelihood, d={dim}, K={parts}, N={points:,}",
            what="gradient",
            inputs=lambda rng: mixture_inputs(rng, points, parts, dim),
            program=mixture,
            tolerance=1e-9,
            work=Work("dgemm", 6.0 * points * parts * dim * dim),
        ),
        Workload(
            name="bundle",
            title=f"bundle adjustment, Jacobians of {observations:,} residuals",
            what="jacobian",
            inputs=lambda rng: reprojection_inputs(rng, observations),
            program=reprojection,
            tolerance=1e-9,
            work=Work("copy", 8.0 * observations * (17 + 30)),
            scalar=True,
        ),
    ]

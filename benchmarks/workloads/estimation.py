"""Estimation with small matrices: a Kalman filter, a robot's arm, a Gaussian process."""

from __future__ import annotations

from typing import Any

import numpy as np

from benchmarks.workload import Inputs, Workload

# ------------------------------------------------------------ a Kalman filter


def observed(F: Any, x: Any, P: Any, seen: Any, move: Any, look: Any, Q: Any, R: Any) -> tuple[Any, Any, Any]:
    """One step of the filter: the state, its covariance, and what the observation adds to the log-likelihood."""
    x, P = F.matmul(move, x), F.matmul(F.matmul(move, P), move.T) + Q
    S = F.matmul(F.matmul(look, P), look.T) + R
    error, precision = seen - F.matmul(look, x), F.inv(S)
    gain = F.matmul(F.matmul(P, look.T), precision)
    score = F.log(F.det(S)) + F.sum(error * F.matmul(precision, error))
    return x + F.matmul(gain, error), P - F.matmul(gain, F.matmul(look, P)), score


def kalman(F: Any, noise: Any, seen: Any, move: Any, look: Any, x: Any, P: Any, eye: Any) -> Any:
    """Minus twice the log-likelihood of a track, by the logarithms of six variances."""
    Q, R = F.exp(noise[:4])[:, None] * eye, F.exp(noise[4:])[:, None] * eye[:2, :2]
    total = 0.0
    for t in range(seen.shape[0]):
        x, P, score = observed(F, x, P, seen[t], move, look, Q, R)
        total = total + score
    return total


def kalman_jax(F: Any, noise: Any, seen: Any, move: Any, look: Any, x: Any, P: Any, eye: Any) -> Any:
    import jax

    Q, R = F.exp(noise[:4])[:, None] * eye, F.exp(noise[4:])[:, None] * eye[:2, :2]

    def step(state: Any, row: Any) -> Any:
        x, P, score = observed(F, *state, row, move, look, Q, R)
        return (x, P), score

    return F.sum(jax.lax.scan(step, (x, P), seen)[1])


def track(rng: np.random.Generator, length: int) -> Inputs:
    """Positions seen of something that moves in a plane."""
    move = np.eye(4) + 0.1 * np.eye(4, k=2)
    seen = np.cumsum(rng.normal(size=(length, 2)), 0)
    return -1.0 + 0.1 * rng.normal(size=6), seen, move, np.eye(2, 4), np.zeros(4), np.eye(4), np.eye(4)


# ------------------------------------------------------------ inverse kinematics


def reached(F: Any, angles: Any, lengths: Any, target: Any, tails: Any, damping: Any) -> Any:
    """The joints after one step of damped least squares; `tails` sums what lies beyond each joint."""
    heading = F.matmul(tails.T, angles)
    across, up = F.matmul(tails, lengths * F.cos(heading)), F.matmul(tails, lengths * F.sin(heading))
    J = F.stack([-up, across])
    error = target - F.stack([across[0], up[0]])
    return angles + F.matmul(J.T, F.solve(F.matmul(J, J.T) + damping, error))


def arm(steps: int) -> Workload:
    def program(F: Any, lengths: Any, angles: Any, target: Any, tails: Any, damping: Any) -> Any:
        for _ in range(steps):
            angles = reached(F, angles, lengths, target, tails, damping)
        return F.sum(angles * angles)

    def program_jax(F: Any, lengths: Any, angles: Any, target: Any, tails: Any, damping: Any) -> Any:
        import jax

        def step(angles: Any, _: Any) -> Any:
            return reached(F, angles, lengths, target, tails, damping), None

        return F.sum(jax.lax.scan(step, angles, None, steps)[0] ** 2)

    def inputs(rng: np.random.Generator) -> Inputs:
        lengths, angles = 1.0 + 0.1 * rng.normal(size=6), 0.3 + 0.1 * rng.normal(size=6)
        return lengths, angles, np.array([2.0, 3.0]), np.triu(np.ones((6, 6))), 0.1 * np.eye(2)

    return Workload(
        name="arm",
        title=f"inverse kinematics of six joints, {steps} steps of damped least squares",
        what="gradient",
        inputs=inputs,
        program=program,
        others={"jax": program_jax},
        tolerance=1e-8,
        families=("adjoint", "torch", "jax"),
    )


# ------------------------------------------------------------ a Gaussian process


def gaussian_process(F: Any, logs: Any, points: Any, values: Any, eye: Any) -> Any:
    """Minus the log marginal likelihood, by the logarithms of the length scales, the variance and the noise."""
    scaled = points / F.exp(logs[:3])
    squares = F.sum(scaled * scaled, 1)
    distances = squares[:, None] + squares - 2.0 * F.matmul(scaled, scaled.T)
    L = F.cholesky(F.exp(logs[3] - 0.5 * distances) + F.exp(logs[4]) * eye)
    white = F.solve_triangular(L, values, lower=True)
    return 0.5 * F.sum(white * white) + F.sum(F.log(F.sum(L * eye, 1)))


def gaussian_process_inputs(rng: np.random.Generator, count: int) -> Inputs:
    points = rng.normal(size=(count, 3))
    values = np.sin(points).sum(1, keepdims=True) + 0.1 * rng.normal(size=(count, 1))
    return np.array([0.1, -0.2, 0.3, 0.0, -2.0]), points, values, np.eye(count)


def workloads(tiny: bool) -> list[Workload]:
    length, steps = (3, 2) if tiny else (200, 30)
    families = ("adjoint", "torch", "jax")
    return [
        Workload(
            name="kalman",
            title=f"Kalman filter, 4 states, {length} observations",
            what="gradient",
            inputs=lambda rng: track(rng, length),
            program=kalman,
            others={"jax": kalman_jax},
            tolerance=1e-8,
            families=families,
        ),
        arm(steps),
        *(
            Workload(
                name=f"gaussian_process_{count}",
                title=f"Gaussian process, likelihood of {count} points",
                what="gradient",
                inputs=lambda rng, count=count: gaussian_process_inputs(rng, count),  # type: ignore[misc]
                program=gaussian_process,
                tolerance=1e-6,
                families=families,
            )
            for count in ([8] if tiny else [100, 500])
        ),
    ]

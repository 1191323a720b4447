"""Fields on grids: a Schrödinger equation, an image made sharp, heat that spreads, a network that obeys Burgers' equation."""

from __future__ import annotations

from typing import Any

import numpy as np

from benchmarks.workload import Inputs, Workload, normal, weight

FAMILIES = ("adjoint", "torch", "jax")
DT = 0.01

# ------------------------------------------------------------ a Schrödinger equation


def schroedinger(steps: int, size: int) -> Workload:
    def step(F: Any, wave: Any, half: Any, kinetic: Any) -> Any:
        return half * F.ifft(kinetic * F.fft(half * wave))

    def end(F: Any, wave: Any, place: Any) -> Any:
        return F.sum(F.real(wave * F.conj(wave)) * place)

    def program(F: Any, potential: Any, wave: Any, kinetic: Any, place: Any) -> Any:
        half = F.exp(-0.5j * DT * potential)
        for _ in range(steps):
            wave = step(F, wave, half, kinetic)
        return end(F, wave, place)

    def program_jax(F: Any, potential: Any, wave: Any, kinetic: Any, place: Any) -> Any:
        import jax

        half = F.exp(-0.5j * DT * potential)
        return end(F, jax.lax.fori_loop(0, steps, lambda _, wave: step(F, wave, half, kinetic), wave), place)

    def inputs(rng: np.random.Generator) -> Inputs:
        place = np.linspace(-5.0, 5.0, size)
        wave = np.exp(-((place + 1.0) ** 2) + 2j * place)
        frequency = 2 * np.pi * np.fft.fftfreq(size, 10.0 / size)
        return 0.5 * place**2 + 0.01 * rng.normal(size=size), wave, np.exp(-0.5j * DT * frequency**2), place

    return Workload(
        name="schroedinger",
        title=f"Schrödinger equation, {size} points, {steps} split steps",
        what="gradient",
        inputs=inputs,
        program=program,
        others={"jax": program_jax},
        tolerance=1e-8,
        families=FAMILIES,
    )


# ------------------------------------------------------------ deconvolution


def deconvolution(F: Any, image: Any, seen: Any, blur: Any) -> Any:
    """How far a blurred image is from the one that was seen, and its total variation."""
    error = F.irfft2(blur * F.rfft2(image)) - seen
    down, across = image[1:, :-1] - image[:-1, :-1], image[:-1, 1:] - image[:-1, :-1]
    return F.sum(error * error) + 0.01 * F.sum(F.sqrt(down * down + across * across + 1e-6))


def images(rng: np.random.Generator, size: int) -> Inputs:
    near = np.minimum(np.arange(size), size - np.arange(size))
    spot = np.exp(-0.1 * (near[:, None] ** 2 + near**2))
    return rng.random((size, size)), rng.random((size, size)), np.fft.rfft2(spot / spot.sum())


# ------------------------------------------------------------ heat


def spread(u: Any, conductivity: Any) -> Any:
    """What flows into the inner points of a grid in one step."""
    return conductivity * (u[2:, 1:-1] + u[:-2, 1:-1] + u[1:-1, 2:] + u[1:-1, :-2] - 4.0 * u[1:-1, 1:-1])


def heat(steps: int, size: int) -> Workload:
    def program(F: Any, conductivity: Any, u: Any, wanted: Any) -> Any:
        u = u.copy()
        for _ in range(steps):
            u[1:-1, 1:-1] += spread(u, conductivity)
        return F.sum((u - wanted) ** 2)

    def program_torch(F: Any, conductivity: Any, u: Any, wanted: Any) -> Any:
        """PyTorch cannot write to what the derivative needs."""
        for _ in range(steps):
            u = u + F.pad(spread(u, conductivity), (1, 1, 1, 1))
        return F.sum((u - wanted) ** 2)

    def program_jax(F: Any, conductivity: Any, u: Any, wanted: Any) -> Any:
        import jax

        def step(_: Any, u: Any) -> Any:
            return u.at[1:-1, 1:-1].add(spread(u, conductivity))

        return F.sum((jax.lax.fori_loop(0, steps, step, u) - wanted) ** 2)

    return Workload(
        name="heat",
        title=f"heat equation, {size}×{size}, {steps} steps of a stencil",
        what="gradient",
        inputs=lambda rng: (
            0.1 + 0.01 * rng.random((size - 2, size - 2)),
            rng.random((size, size)),
            rng.random((size, size)),
        ),
        program=program,
        others={"jax": program_jax, "torch": program_torch},
        tolerance=1e-8,
        families=FAMILIES,
    )


# ------------------------------------------------------------ a network that obeys an equation


def burgers(width: int, points: int) -> Workload:
    def loss(F: Any, jvp: Any, params: Any, t: Any, x: Any) -> Any:
        w1, b1, w2, b2, w3, b3, w4, b4 = params

        def u(t: Any, x: Any) -> Any:
            h = F.tanh(t * w1[0] + x * w1[1] + b1)
            h = F.tanh(F.matmul(h, w2) + b2)
            h = F.tanh(F.matmul(h, w3) + b3)
            return F.matmul(h, w4) + b4

        one, none = F.ones_like(t), F.zeros_like(t)

        def slope(t: Any, x: Any) -> Any:
            return jvp(u, (t, x), (none, one))[1]

        value, u_t = jvp(u, (t, x), (one, none))
        u_x, u_xx = jvp(slope, (t, x), (none, one))
        return F.mean((u_t + value * u_x - 0.003 * u_xx) ** 2)

    def program(F: Any, params: Any, t: Any, x: Any) -> Any:
        import adjoint

        return loss(F, adjoint.jvp, params, t, x)

    def program_torch(F: Any, params: Any, t: Any, x: Any) -> Any:
        import torch

        return loss(F, torch.func.jvp, params, t, x)

    def program_jax(F: Any, params: Any, t: Any, x: Any) -> Any:
        import jax

        return loss(F, jax.jvp, params, t, x)

    def inputs(rng: np.random.Generator) -> Inputs:
        sizes = [(2, width), (width, width), (width, width), (width, 1)]
        params = [p for i, o in sizes for p in (weight(rng, o, i).T.copy(), normal(rng, o, scale=0.1))]
        return params, rng.random((points, 1), np.float32), 2 * rng.random((points, 1), np.float32) - 1

    return Workload(
        name="burgers",
        title=f"Burgers' equation by a network of width {width} at {points:,} points",
        what="gradient",
        inputs=inputs,
        program=program,
        others={"jax": program_jax, "torch": program_torch},
        tolerance=1e-3,
        families=FAMILIES,
    )


def workloads(tiny: bool) -> list[Workload]:
    size = 6 if tiny else 256
    return [
        schroedinger(*((2, 8) if tiny else (100, 512))),
        Workload(
            name="deconvolution",
            title=f"deconvolution by FFT with total variation, {size}×{size}",
            what="gradient",
            inputs=lambda rng: images(rng, size),
            program=deconvolution,
            tolerance=1e-8,
            families=FAMILIES,
        ),
        heat(*((2, 5) if tiny else (100, 128))),
        burgers(*((4, 5) if tiny else (64, 2_000))),
    ]

"""What the memory benchmark measures: programs in the ops of a framework, with their parts marked.

A program is `program(F, part, weights, *rest)`: `F` has the framework's ops, `part(fn, *args)` calls a part of the program, either as it is
or so that its intermediate results are computed again in the backward pass. `part` is None where nothing is marked.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from types import ModuleType
from typing import Any

import numpy as np

from benchmarks.workload import Inputs, normal, weight
from benchmarks.workloads.networks import block_inputs, encoder_layer

PART = 8  # layers in a part of the perceptron
DT = 1e-4

Part = Callable[..., Any]


@dataclass(frozen=True)
class MemoryWorkload:
    """A program whose value and gradient by its first argument are computed."""

    name: str
    title: str
    inputs: Callable[[np.random.Generator], Inputs]
    program: Callable[..., Any]
    others: Mapping[str, Callable[..., Any]] = field(default_factory=dict)  # families that need another formulation
    loop: bool = False

    def bound(self, family: str, ops: ModuleType, part: Part | None) -> Callable[..., Any]:
        """The program in a framework's ops, with its parts called in this way."""
        program = self.others.get(family, self.program)

        def run(*args: Any) -> Any:
            return program(ops, part, *args)

        return run


def layers(F: Any, x: Any, weights: Any) -> Any:
    for w in weights:
        x = F.relu(F.matmul(x, w))
    return x


def perceptron(F: Any, part: Part | None, weights: Any, x: Any) -> Any:
    """The mean square of many dense layers."""
    if part is None:
        x = layers(F, x, weights)
    else:
        for k in range(0, len(weights), PART):
            x = part(layers, F, x, weights[k : k + PART])
    return F.mean(x * x)


def transformer(heads: int) -> Callable[..., Any]:
    """The mean square of encoder layers, each of which is a part."""
    layer = encoder_layer(heads)

    def program(F: Any, part: Part | None, weights: Any, x: Any) -> Any:
        for k in range(0, len(weights), 10):
            x = layer(F, weights[k : k + 10], x) if part is None else part(layer, F, weights[k : k + 10], x)
        return F.mean(x * x)

    return program


def recursion(parts: int, steps: int) -> tuple[Callable[..., Any], Callable[..., Any]]:
    """A nonlinear recursion of parts × steps; for JAX, whose traced loops are written as such."""

    def move(F: Any, x: Any, a: Any) -> Any:
        for _ in range(steps):
            x = x + DT * F.sin(a * x)
        return x

    def program(F: Any, part: Part | None, weights: Any) -> Any:
        a, x = weights
        if part is None:
            for _ in range(parts * steps):
                x = x + DT * F.sin(a * x)
        else:
            for _ in range(parts):
                x = part(move, F, x, a)
        return F.mean(x * x)

    def program_jax(F: Any, part: Part | None, weights: Any) -> Any:
        import jax

        a, x = weights

        def some(x: Any, steps: int) -> Any:
            return jax.lax.fori_loop(0, steps, lambda _, x: x + DT * F.sin(a * x), x)

        if part is None:
            x = some(x, parts * steps)
        else:
            x = jax.lax.fori_loop(0, parts, lambda _, x: part(lambda x: some(x, steps), x), x)
        return F.mean(x * x)

    return program, program_jax


def perceptron_inputs(rng: np.random.Generator, depth: int, width: int, batch: int) -> Inputs:
    return [weight(rng, width, width) * np.float32(2**0.5) for _ in range(depth)], normal(rng, batch, width)


def transformer_inputs(rng: np.random.Generator, depth: int, batch: int, length: int, dim: int) -> Inputs:
    made = [block_inputs(rng, batch, length, dim) for _ in range(depth)]
    return [w for weights, _ in made for w in weights], made[0][1]


def loop_inputs(rng: np.random.Generator, size: int) -> Inputs:
    return ([1.0 + normal(rng, size, scale=0.1), normal(rng, size)],)


def memory_workloads(tiny: bool) -> dict[str, MemoryWorkload]:
    """All of them, by name; small ones to test the harness and to warm up with."""
    depth, width, small, large = (8, 16, 3, 5) if tiny else (64, 1024, 256, 2048)
    blocks, batch, length, dim, heads = (2, 2, 6, 8, 2) if tiny else (12, 8, 128, 256, 4)
    parts, steps, states = (3, 5, 7) if tiny else (250, 400, 1000)
    found = [
        MemoryWorkload(
            f"mlp_{size}",
            f"MLP of {depth} layers, width {width}, batch {batch_size}",
            lambda rng, n=batch_size: perceptron_inputs(rng, depth, width, n),
            perceptron,
        )
        for size, batch_size in (("small", small), ("large", large))
    ]
    found.append(
        MemoryWorkload(
            "transformer",
            f"transformer of {blocks} layers, width {dim}, {heads} heads, length {length}, batch {batch}",
            lambda rng: transformer_inputs(rng, blocks, batch, length, dim),
            transformer(heads),
        )
    )
    program, program_jax = recursion(parts, steps)
    found += [
        MemoryWorkload(
            f"loop_{size}",
            f"loop of {parts * steps:,} steps, state of {n:,} floats",
            lambda rng, n=n: loop_inputs(rng, n),
            program,
            {"jax": program_jax},
            loop=True,
        )
        for size, n in (("small", 2), ("large", states))
    ]
    return {w.name: w for w in found}

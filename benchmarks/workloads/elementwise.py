"""A chain of elementwise functions, and a layer so small that only the cost of the calls counts."""

from __future__ import annotations

from typing import Any

import numpy as np

from benchmarks.workload import Work, Workload, normal


def chain(F: Any, x: Any) -> Any:
    """A scalar of many transcendental functions of every element."""
    return F.sum(F.tanh(x) * F.exp(-x * x) + F.sin(x) * F.log1p(x * x))


def linear_layer(F: Any, params: Any, x: Any, y: Any) -> Any:
    """Binary cross-entropy of a linear layer."""
    w, b = params
    z = F.matmul(x, w) + b
    return F.binary_cross_entropy_with_logits(z, y, F.ones_like(z), F.ones_like(z))


def chain_of(n: int) -> Workload:
    return Workload(
        name=f"chain_{n:.0e}".replace("+0", ""),
        title=f"elementwise chain, {n:,} float32",
        what="gradient",
        inputs=lambda rng: (normal(rng, n),),
        program=chain,
        tolerance=1e-5,
        work=Work("copy", 8.0 * n),
        scalar=n <= 100,
    )


def workloads(tiny: bool) -> list[Workload]:
    layer = Workload(
        name="linear_layer",
        title="linear layer 5→3, cross-entropy",
        what="gradient",
        inputs=lambda rng: (
            [normal(rng, 5, 3), normal(rng, 3)],
            np.ones(5, np.float32),
            np.zeros(3, np.float32),
        ),
        program=linear_layer,
        tolerance=1e-5,
    )
    return [*(chain_of(n) for n in ([100] if tiny else [100, 10_000, 1_000_000])), layer]

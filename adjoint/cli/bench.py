"""`adjoint bench`: how long gradients take on this machine, op by op and compiled."""

from __future__ import annotations

import json
import math
import time
from collections.abc import Callable
from typing import Any

import numpy as np

from adjoint import backends, ops
from adjoint.api.grad import grad, value_and_grad
from adjoint.api.jit import jit
from adjoint.cli.exits import FINE, CommandFailure
from adjoint.cli.terminal import columns, heading
from adjoint.core.tensor import Tensor

Case = tuple[Callable[..., Any], tuple[Any, ...]]


def cases() -> dict[str, Case]:
    """Gradients and what they are called with."""
    draw = np.random.default_rng(0)

    def array(*shape: int) -> Tensor:
        return Tensor(draw.normal(size=shape).astype(np.float32))

    def elementwise(x: Any) -> Any:
        return ops.sum(ops.tanh(x) * ops.exp(-x * x) + ops.sin(x))

    def scalars(x: Any) -> Any:
        for _ in range(20):
            x = ops.sin(x) * x + 1.0
        return x

    def layers(w1: Any, w2: Any, x: Any, target: Any) -> Any:
        return ops.mean((ops.relu(x @ w1) @ w2 - target) ** 2)

    network = (array(256, 256), array(256, 10), array(128, 256), array(128, 10))
    return {
        "60 ops on numbers": (grad(scalars), (0.5,)),
        "elementwise, 100,000 elements": (grad(elementwise), (array(100_000),)),
        "two layers, batch of 128": (value_and_grad(layers, (0, 1)), network),
    }


def run(options: Any) -> int:
    """Measure and print."""
    if not math.isfinite(options.seconds) or not 0 < options.seconds <= 600:
        raise CommandFailure(f"--seconds must be above 0 and at most 600, not {options.seconds:g}")
    found: dict[str, dict[str, float]] = {}
    for name, (fn, args) in cases().items():
        found[name] = {"dynamic": measured(fn, args, options.seconds)}
        for backend in _installed():
            found[name][f"static, {backend}"] = measured(jit(fn, backend=backend), args, options.seconds)
    if options.json:
        print(json.dumps({"seconds_per_call": found}, indent=2))
        return FINE
    heading("Seconds for one gradient, the best of many calls; compiling is not counted")
    ways = list(next(iter(found.values())))
    rows = [["", *ways], *([name, *(f"{times[w] * 1e6:,.1f} us" for w in ways)] for name, times in found.items())]
    print(columns(rows))
    return FINE


def _installed() -> list[str]:
    names = []
    for name in sorted(backends.OWN, reverse=True):
        try:
            names.append(backends.checked(name))
        except Exception:  # it cannot run here
            continue
    return names


def measured(fn: Callable[..., Any], args: tuple[Any, ...], seconds: float) -> float:
    """The shortest of the calls that fit into the time; what is compiled has been by then."""
    for _ in range(3):
        fn(*args)
    best, end = float("inf"), time.perf_counter() + seconds
    while time.perf_counter() < end or best == float("inf"):
        start = time.perf_counter()
        fn(*args)
        best = min(best, time.perf_counter() - start)
    return best

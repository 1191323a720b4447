"""What is measured: a program, its inputs, and which derivative of it is wanted."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from types import ModuleType
from typing import Any, Literal

import numpy as np

Inputs = tuple[Any, ...]  # NumPy arrays; the first may be a list of them
What = Literal["gradient", "train", "hessian", "hvp", "jacobian"]


@dataclass(frozen=True)
class Work:
    """The least a machine must do for one call: `amount` operations at the rate of a matrix product, or bytes copied."""

    kind: Literal["sgemm", "dgemm", "copy"]
    amount: float


@dataclass(frozen=True)
class Workload:
    """A program `program(F, x, *rest)`, written in the names of `adjoint.ops`, which `F` holds; `x` is differentiated.

    `what` says how: value and gradient, the same with a step of descent ("train"), the Hessian, its product with
    `rest[0]` ("hvp"), or the Jacobian of each row of the inputs ("jacobian").
    """

    name: str
    title: str
    what: What
    inputs: Callable[[np.random.Generator], Inputs]
    program: Callable[..., Any]
    tolerance: float  # largest difference from the reference, as a share of its largest element
    others: Mapping[str, Callable[..., Any]] = field(default_factory=dict)  # families that need another formulation
    work: Work | None = None
    scalar: bool = False  # small enough to be an expression of scalars
    families: tuple[str, ...] | None = None  # those it is written for, if not for all

    def bound(self, family: str, ops: ModuleType) -> Callable[..., Any]:
        """The program in a framework's ops."""
        program = self.others.get(family, self.program)

        def run(*args: Any) -> Any:
            return program(ops, *args)

        return run


def normal(rng: np.random.Generator, *shape: int, scale: float = 1.0) -> np.ndarray:
    """Normal float32 numbers."""
    return (rng.standard_normal(shape) * scale).astype(np.float32)


def weight(rng: np.random.Generator, *shape: int) -> np.ndarray:
    """A weight scaled to keep the variance of what flows through it; the last axes but the first come in."""
    return normal(rng, *shape, scale=float(np.prod(shape[1:]) ** -0.5))

"""Second derivatives of Rosenbrock's function."""

from __future__ import annotations

from typing import Any

from benchmarks.workload import Work, Workload


def rosenbrock(F: Any, x: Any) -> Any:
    """A curved valley whose lowest point is at ones."""
    head, tail = x[:-1], x[1:]
    return F.sum(100.0 * (tail - head * head) ** 2 + (1.0 - head) ** 2)


def workloads(tiny: bool) -> list[Workload]:
    size, long = (4, 5) if tiny else (100, 100_000)
    return [
        Workload(
            name="rosenbrock_hessian",
            title=f"Rosenbrock, Hessian, n={size}",
            what="hessian",
            inputs=lambda rng: (rng.normal(size=size),),
            program=rosenbrock,
            tolerance=1e-10,
            scalar=True,
        ),
        Workload(
            name="rosenbrock_hvp",
            title=f"Rosenbrock, Hessian times vector, n={long:,}",
            what="hvp",
            inputs=lambda rng: (rng.normal(size=long), rng.normal(size=long)),
            program=rosenbrock,
            tolerance=1e-10,
            work=Work("copy", 24.0 * long),
            scalar=True,
        ),
    ]

"""The workloads, one file a family. `tiny` sizes are for tests of the harness."""

from __future__ import annotations

from benchmarks.workload import Workload
from benchmarks.workloads import (
    deep,
    elementwise,
    estimation,
    fields,
    indexed,
    loops,
    networks,
    objectives,
    rosenbrock,
    sequence,
)

FAMILIES = (elementwise, networks, deep, sequence, objectives, loops, estimation, fields, indexed, rosenbrock)


def workloads(tiny: bool = False) -> dict[str, Workload]:
    """All workloads by name."""
    return {w.name: w for family in FAMILIES for w in family.workloads(tiny)}

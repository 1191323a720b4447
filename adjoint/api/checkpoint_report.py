"""What a checkpoint policy does to the gradient of a function: its parts, and memory over time with and without it."""

from __future__ import annotations

import os
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

from adjoint.api.grad import Weights, value_and_grad
from adjoint.api.jit import jit
from adjoint.backends.memory_report import MemoryReport, shown
from adjoint.core import context
from adjoint.core.checkpoint_policy import CheckpointPolicy
from adjoint.core.errors import shown_place
from adjoint.passes.checkpoint_plan import CheckpointPlan, plans

SHOWN = 24  # parts that are listed


@dataclass(frozen=True)
class CheckpointReport:
    """A plan: `plain` is the memory of the compiled gradient without the policy, `planned` with it. Made by `GradientCheckpoint.plan`."""

    strategy: str
    plans: tuple[CheckpointPlan, ...]
    plain: MemoryReport
    planned: MemoryReport

    @property
    def recomputed(self) -> float:
        """What is computed again, in parts of the work of the forward and the backward pass, by estimate."""
        total = sum(plan.forward.cost for plan in self.plans)
        return sum(plan.recomputed * plan.forward.cost for plan in self.plans) / max(total, 1)

    def __str__(self) -> str:
        lines = [
            f"{self.strategy}: {shown(self.planned.peak_bytes)} in place of {shown(self.plain.peak_bytes)} beyond the arguments; intermediates "
            f"{shown(self.planned.arena_bytes)} in place of {shown(self.plain.arena_bytes)}; about {self.recomputed:.0%} more work"
        ]
        if not self.plans:
            lines.append("nothing is saved here by computing again: everything is kept, as without the strategy")
        elif self.recomputed and self.planned.peak_bytes >= self.plain.peak_bytes:
            lines.append("nothing is saved here by computing again: leave the strategy out, or take another")
        rows = [row for plan in self.plans for row in _rows(plan)]
        lines += rows[:SHOWN] + ([f"and {len(rows) - SHOWN} more parts"] if len(rows) > SHOWN else [])
        return "\n".join(lines)

    def draw(self, path: str | os.PathLike[str]) -> None:
        """A picture of memory over time, with and without the policy, as PNG or whatever the name ends with; needs matplotlib."""
        import matplotlib

        matplotlib.use("Agg")
        from matplotlib import pyplot

        figure, axes = pyplot.subplots(figsize=(9, 3.5))
        for report, name in ((self.plain, "everything kept"), (self.planned, self.strategy)):
            held = [m.bytes / 2**20 for m in report.timeline]
            axes.fill_between(
                range(len(held)), held, step="mid", alpha=0.5, label=f"{name}: {shown(report.peak_bytes)}"
            )
        axes.set_xlabel("unit of work")
        axes.set_ylabel("MiB beyond arguments")
        axes.legend(frameon=False)
        figure.tight_layout()
        figure.savefig(path, dpi=130)
        pyplot.close(figure)


def _rows(plan: CheckpointPlan) -> list[str]:
    """A line for each part of a plan."""
    rows = []
    for part, held in zip(plan.parts, plan.held(), strict=True):
        steps = [plan.forward.steps[k] for k in part.items]
        places = [n.place for n in steps if n.place is not None]
        size = sum(plan.forward.items[k].bytes for k in held)
        again = "computed again" if part.again else "kept" if not part.inside else "kept in part"
        inner = f" in {len(part.inside)} parts" if part.again and len(part.inside) > 1 else ""
        where = f"  from {shown_place(places[0])}" if places else ""
        rows.append(f"{len(steps):>6} steps {again}{inner}, {shown(size)} held{where}")
    return rows


def checkpoint_report(
    policy: CheckpointPolicy, fn: Callable[..., Any], args: tuple[Any, ...], grad_position: Any, weights: Weights
) -> CheckpointReport:
    """The plan of a policy for the gradient of a function at some arguments. Nothing runs."""
    with context.setting(plans, None):
        plain = jit(value_and_grad(fn, grad_position, weights)).memory(*args)
    found: list[CheckpointPlan] = []
    with context.setting(plans, found):
        report = jit(value_and_grad(fn, grad_position, weights, checkpoint=policy)).memory(*args)
    return CheckpointReport(policy.strategy, tuple(found), plain, report)

"""`jit(f, memory=...)`: the program with the least recomputation whose peak is within a budget, or an error before anything runs.

A strategy that saves nothing here is not used: everything is kept then.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any, TypeVar

from adjoint.api.planned_forward import budgets, searched
from adjoint.backends.memory_report import MemoryReport, shown
from adjoint.core import context
from adjoint.core.checkpoint_policy import KeepEverything, ShareOfMemory
from adjoint.core.errors import MemoryBudgetError, called_at
from adjoint.graph.control import Loop
from adjoint.graph.ruled import uses
from adjoint.passes.checkpoint_plan import CheckpointPlan, plans

TRIES = 7  # programs that are planned before one is taken
LEAST_SAVED = 0.02  # of the peak, for which things are computed again
MUCH = 1 << 20  # bytes that the backward pass needs
CLEARLY = 0.7  # of those: a peak below that is lower than without computing again
NEAR = 0.95  # of the budget: what takes as much is not improved upon

Program = TypeVar("Program")


def fitting(
    memory: int | None, make: Callable[[], Program], weigh: Callable[[Program], MemoryReport], name: str
) -> Program:
    """What `make` gives, within `memory`, and within the budget that gradients of loops inside it were given."""
    if memory is None and searched.get() is not None:
        return make()  # the function around it is weighed
    noted: list[int] = []
    cut: list[CheckpointPlan] = []
    with context.setting(budgets, noted), context.setting(plans, cut):
        made = make()
    allowed = [x for x in (memory, max(noted, default=None)) if x is not None]
    if allowed:
        return within_budget(min(allowed), made, make, weigh, name)
    if context.reader.get() is None and (needed := _needed_in_parts(cut)) > MUCH:
        peak = weigh(made).peak_bytes
        if peak > CLEARLY * needed:  # else it saves much, whatever is made of the plain program
            plain = _made(make, KeepEverything())
            if peak > (1 - LEAST_SAVED) * weigh(plain).peak_bytes:
                return plain
    if (wanted := plans.get()) is not None:
        wanted += cut
    return made


def _needed_in_parts(cut: Sequence[CheckpointPlan]) -> int:
    """The bytes that backward passes need, of programs in parts; 0 if there are loops, whose states are planned apart.

    Not to keep them may save nothing after all: until results are written, their memory is free for intermediates.
    """
    if any(uses(plan.forward.graph, lambda op: isinstance(op, Loop)) for plan in cut):
        return 0
    return sum(item.needed for plan in cut if len(plan.parts) > 1 for item in plan.forward.items)


def within_budget(
    budget: int, plain: Program, make: Callable[[], Program], weigh: Callable[[Program], MemoryReport], name: str
) -> Program:
    """The plain program, or what `make` gives under a checkpoint policy: its peak is that of the report, which is within the budget."""
    report = whole = weigh(plain)
    if _fits(report, budget):
        return plain
    sizes = _held_by_gradients(make, budget)
    if not sizes:
        raise _cannot_fit(budget, report, name)
    spread = max(sizes[1] - sizes[0], 1)
    share = (sizes[1] - (report.peak_bytes - budget) - sizes[0]) / spread  # what may be held, if all else stays
    found, low, high = None, 0.0, 1.0
    for k in range(TRIES):
        share = min(max(share, 0.0), 1.0) if found is not None or k < TRIES - 1 else 0.0
        tried = _made(make, ShareOfMemory("budget", budget, share=share))
        report = weigh(tried)
        if _fits(report, budget):
            found, low = tried, share
            if report.peak_bytes >= NEAR * budget:
                break
        elif share == 0.0 or report.per_iteration:
            break
        else:
            high = share
        over = report.peak_bytes - budget
        share = (low + high) / 2 if found is not None else share - 1.3 * over / spread
    if found is None:
        raise _cannot_fit(budget, min(report, whole, key=_size), name)
    return found


def _made(make: Callable[[], Program], policy: ShareOfMemory | KeepEverything) -> Program:
    with context.setting(context.checkpointing, policy), context.setting(searched, policy):
        return make()


def _held_by_gradients(make: Callable[[], Any], budget: int) -> tuple[int, int] | None:
    """The least and the most bytes that gradients hold for their backward passes, by estimate; None if there is no gradient."""
    policy = ShareOfMemory("budget", budget, share=1.0)
    _made(make, policy)
    return (sum(a for a, _ in policy.asked), sum(b for _, b in policy.asked)) if policy.asked else None


def _fits(report: MemoryReport, budget: int) -> bool:
    """Whether a program keeps a budget, however often its loops turn."""
    return report.peak_bytes <= budget and not report.per_iteration


def _growing(report: MemoryReport) -> int:
    return sum(held.bytes for held in report.per_iteration)


def _size(report: MemoryReport) -> tuple[int, int]:
    """By what the least is found: what grows with the iterations first."""
    return _growing(report), report.peak_bytes


def _cannot_fit(budget: int, least: MemoryReport, name: str) -> MemoryBudgetError:
    if least.per_iteration:
        return MemoryBudgetError(
            f"{name}: memory={shown(budget)} cannot be kept: a loop of unknown length keeps {shown(_growing(least))} for each iteration. "
            'Give the gradient of the loop checkpoint="binomial" (for products with second derivatives take jvp of grad), or take a loop '
            f"of known length{called_at()}\n{least}"
        )
    return MemoryBudgetError(
        f"{name}: memory={shown(budget)} was allowed beyond the arguments, and {shown(least.peak_bytes)} are needed at the least"
        f": {shown(least.result_bytes)} for results and {shown(least.arena_bytes)} for intermediates, with as much computed again as can be. "
        f"It would fit with memory={least.peak_bytes}, with smaller batches (`GradientAccumulation` gives the gradient of a large one), or "
        f"if arguments that are not used again may be overwritten (`donate`){called_at()}\n{least}"
    )

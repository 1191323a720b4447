"""`jit(f, memory=...)`: the program with the least recomputation whose peak is within a budget, or an error before anything runs."""

from __future__ import annotations

from collections.abc import Callable
from typing import TypeVar

from adjoint.backends.memory_report import MemoryReport, shown
from adjoint.core import context
from adjoint.core.checkpoint_policy import ShareOfMemory
from adjoint.core.errors import MemoryBudgetError, called_at

TRIES = 7  # programs that are planned before one is taken
NEAR = 0.95  # of the budget: what takes as much is not improved upon

Program = TypeVar("Program")


def within_budget(
    budget: int, make: Callable[[], Program], weigh: Callable[[Program], MemoryReport], name: str
) -> Program:
    """What `make` gives, under a checkpoint policy if need be: its peak is that of the report, which is within the budget."""
    plain = make()
    report = weigh(plain)
    if report.peak_bytes <= budget:
        return plain
    found, least = None, report
    low, high, share = 0.0, 1.0, None
    for _ in range(TRIES):
        policy = ShareOfMemory("budget", budget, share=0.5 if share is None else share)
        with context.setting(context.checkpointing, policy):
            tried = make()
        if not policy.asked:
            break  # there is no gradient in it
        if share is None:  # what may be held, if all else stays
            first, most = (sum(sizes) for sizes in zip(*policy.asked, strict=True))
            wanted = most - (report.peak_bytes - budget)
            share = min(max((wanted - first) / max(most - first, 1), 0.0), 1.0)
            continue
        weighed = weigh(tried)
        least = min(least, weighed, key=lambda r: r.peak_bytes)
        if weighed.peak_bytes <= budget:
            found, low = tried, share
            if weighed.peak_bytes >= NEAR * budget:
                break
            share = (low + high) / 2
        else:
            over, high = weighed.peak_bytes - budget, share
            if share == 0.0:
                break
            share = (low + high) / 2 if found is not None else max(0.0, share - 1.3 * over / max(most - first, 1))
    if found is not None:
        return found
    raise MemoryBudgetError(
        f"{name}: memory={shown(budget)} was allowed beyond the arguments, and {shown(least.peak_bytes)} are needed at the least"
        f"{_advice(least)}{called_at()}\n{least}"
    )


def _advice(least: MemoryReport) -> str:
    return (
        f": {shown(least.result_bytes)} for results and {shown(least.arena_bytes)} for intermediates, with as much computed again as can be. "
        f"It would fit with memory={least.peak_bytes}, with smaller batches (`GradientAccumulation` gives the gradient of a large one), or "
        "if arguments that are not used again may be overwritten (`donate`)"
    )

"""The tape for each checkpoint strategy."""

from __future__ import annotations

from adjoint.core import context
from adjoint.core.checkpoint_policy import CheckpointPolicy
from adjoint.transforms.budget_tape import BinomialTape, BudgetTape
from adjoint.transforms.offload_tape import OffloadTape
from adjoint.transforms.segmented_tape import BalancedTape, SegmentedTape
from adjoint.transforms.tape import Tape


def tape_for(what: str, policy: CheckpointPolicy | None) -> Tape:
    """A tape that keeps what the policy says; all of it without one, and while a graph is built, on which the policy works then."""
    if policy is None or context.reader.get() is not None:
        return Tape(what)
    if policy.strategy == "budget":
        assert policy.memory is not None
        return BudgetTape(what, policy.memory)
    if policy.strategy == "binomial":
        return BinomialTape(what, policy.snapshots)
    if policy.strategy == "offload":
        return OffloadTape(what, policy.directory)
    return {"sqrt": SegmentedTape, "balanced": BalancedTape}[policy.strategy](what)

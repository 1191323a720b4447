"""Whether a loss is what its parts of a batch give: what devices that compute with their parts alone need."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from adjoint import ops
from adjoint.api.compiled import Entry
from adjoint.api.jit import jit
from adjoint.core import context
from adjoint.core.errors import ArgumentError, called_at
from adjoint.core.spec import dtype_of
from adjoint.optim.step import CompiledStep

LEAVE_OUT = "which would give other numbers than one device: leave reduce_once out"


def check_examples_alone(entries: Sequence[Entry]) -> None:
    """Refuse what reads more of a batch than each example for itself, as its graph shows."""
    for entry in entries:
        what = "draws random samples" if entry.draws is not None else ""
        if any(getattr(node.op, "effect", False) for node in entry.graph.calls):
            what = "keeps moving averages of the batch, or prints or checks values"
        if what:
            raise ArgumentError(
                "data_parallel: with reduce_once each device computes with its part of the batch alone, and the loss "
                f"{what}, {LEAVE_OUT}{called_at()}"
            )


def check_parts_add_up(step: CompiledStep, batch: Sequence[Any]) -> None:
    """Refuse a loss that is not the mean, or sum, of those of the devices' parts, as its values on a batch show."""

    def both(*batch: Any) -> tuple[Any, Any, Any]:
        parts = step.losses_in_lanes(*batch)
        return step.loss_fn(*batch), step.over_lanes(parts), ops.max(ops.abs(parts))

    with context.no_grad():
        found = jit(both, backend="xla")(*batch)
    whole, together, largest = (float(x) for x in found)
    size = largest * (step.lanes if step.reduction == "sum" else 1)
    near = float(np.sqrt(_resolution(dtype_of(found[0])))) * max(abs(whole), size)
    if np.isfinite(whole) and not abs(whole - together) <= near:
        hint = '; a loss that is a sum needs compiled_step(..., reduction="sum")' if step.reduction == "mean" else ""
        raise ArgumentError(
            f"data_parallel: with reduce_once the loss of a batch must be the {step.reduction} of those of the devices' parts, and it is {whole:.6g}, "
            f"that {step.reduction} {together:.6g}: the loss looks at the batch as a whole, {LEAVE_OUT}{hint}{called_at()}"
        )


def _resolution(dtype: Any) -> float:
    """The distance from 1 to the next number."""
    bits = {2: 7, 4: 23}.get(np.dtype(dtype).itemsize, 52)
    return 2.0**-bits

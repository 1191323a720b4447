"""Checkpoint strategies on the tape in long programs."""

from __future__ import annotations

import numpy as np
import pytest

import adjoint as ad
from adjoint import ops
from adjoint.transforms import budget_tape, segmented_tape
from adjoint.transforms.checkpointed_tape import is_held_elsewhere


@pytest.mark.parametrize("policy", ["sqrt", "binomial", ad.GradientCheckpoint("budget", memory="300KB")])
def test_long_programs_that_hold_much_take_linear_time(policy, monkeypatch):
    """What the function holds is looked at now and then, not with every op."""
    looks = 0

    def counted(record, look=is_held_elsewhere):
        nonlocal looks
        looks += 1
        return look(record)

    for module in (budget_tape, segmented_tape):
        monkeypatch.setattr(module, "is_held_elsewhere", counted)

    def f(x):
        held = []
        for k in range(1500):
            x = ops.tanh(x) * 1.01
            if k % 15 == 0:
                held.append(x)
        return ops.sum(x) + sum(ops.sum(h) for h in held)

    ad.grad(f, checkpoint=policy)(np.ones(100))
    assert looks < 20 * 3000

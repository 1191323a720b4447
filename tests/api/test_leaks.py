"""What many steps leave behind of memory: nothing, also where each of them ends in an error."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path

import pytest

import adjoint as ad

STEPS = Path(__file__).parent / "repeated_steps.py"
ACTIVATION = 1 << 16

pytestmark = pytest.mark.skipif(
    not os.path.exists("/proc/self/statm"), reason="reads the memory of a process from Linux"
)


def left_behind(kind: str) -> dict[str, tuple[int, int]]:
    """For each kind of step, how many there were and by how many bytes the process grew."""
    environment = {**os.environ, "PYTHONPATH": str(Path(ad.__file__).parents[1])}
    done = subprocess.run(
        [sys.executable, "-W", "ignore", str(STEPS), kind], capture_output=True, text=True, timeout=400, env=environment
    )
    assert done.returncode == 0, done.stderr[-2000:]
    return {name: tuple(found) for name, found in json.loads(done.stdout).items()}


@pytest.mark.parametrize(("kind", "count"), [("steps", 14), ("errors", 7)])
def test_memory_is_flat(kind: str, count: int) -> None:
    found = left_behind(kind)
    assert len(found) == count
    for name, (steps, grown) in found.items():
        assert grown < steps * ACTIVATION / 16 + (1 << 20), name


def test_a_step_that_keeps_an_activation_is_seen() -> None:
    ((steps, grown),) = left_behind("leaking").values()
    assert grown > steps * ACTIVATION * 0.9

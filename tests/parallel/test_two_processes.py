"""Two real processes on this machine: training as in one, a process that is killed, and a run that goes on after it."""

from __future__ import annotations

import os
import re
import subprocess
import sys
from pathlib import Path

import jax
import numpy as np
import pytest
from jax.sharding import Mesh, NamedSharding, PartitionSpec

import adjoint as ad
from adjoint import nn, ops, optim, parallel

ROOT = Path(__file__).parents[2]


@pytest.fixture(scope="module")
def run(tmp_path_factory: pytest.TempPathFactory) -> tuple[Path, subprocess.CompletedProcess[str]]:
    """A run of two processes with two devices each, of which one is killed in the middle; it is started again once."""
    folder = tmp_path_factory.mktemp("run")
    command = [sys.executable, "-m", "adjoint", "launch", "-n", "2", "--devices-per-process", "2", "--restarts", "1"]
    command += [str(ROOT / "tests" / "support" / "resumed_run.py"), str(folder)]
    environment = {**os.environ, "PYTHONPATH": str(ROOT), "JAX_PLATFORMS": "cpu"}
    return folder, subprocess.run(command, env=environment, capture_output=True, text=True, timeout=240)


def test_a_killed_process_ends_the_others_with_its_name_and_the_run_goes_on(
    run: tuple[Path, subprocess.CompletedProcess[str]],
) -> None:
    folder, done = run
    assert done.returncode == 0, done.stderr
    out, err = done.stdout.splitlines(), done.stderr.splitlines()
    assert [line for line in err if line.startswith("[0] adjoint: rank 1 was lost: its connection closed")]
    assert [line for line in err if "Rank 0 of 2 ends too, with exit code 5" in line]
    assert "adjoint: rank 1 was ended by SIGKILL; all processes have ended" in err
    assert "adjoint: starting all again: restart 1 of 1" in err
    for rank in (0, 1):
        # Gloo's own lines come in pieces where both processes write at once, before or between these
        own = [x for x in out if x.startswith(f"[{rank}] ")]
        assert [said[0] for x in own if (said := re.findall(r"begins with step \d+$|ends with the same weights$", x))] == [
            "begins with step 0", "begins with step 4", "ends with the same weights",
        ]  # fmt: skip
    assert parallel.Checkpoints(folder / "checkpoints").steps() == [4, 6]


def test_the_results_are_those_of_one_process(run: tuple[Path, subprocess.CompletedProcess[str]]) -> None:
    """Of machine code on one core."""
    assert run[1].returncode == 0, run[1].stderr
    found = np.load(run[0] / "weights.npz")
    ad.set_seed(1)
    net = nn.SequentialCell(nn.Dense(5, 16), nn.Tanh(), nn.Dropout(p=0.25), nn.Dense(16, 1))
    net.set_train()
    optimiser = optim.Adam(net.trainable_params(), 0.02)
    step = optim.compiled_step(lambda x, y: ops.mean((net(x) - y) ** 2), optimiser.parameters, optimiser)
    for k in range(6):
        x = np.random.default_rng(k).normal(size=(8, 5)).astype(np.float32)
        loss = step(x, np.sin(x.sum(axis=1, keepdims=True)))
    assert np.isclose(float(loss), found["loss"], rtol=1e-5)
    for p in (*net.get_parameters(), *optimiser.parameters_dict().values()):
        assert np.allclose(p.asnumpy(), found[p.name], rtol=2e-4, atol=1e-6), p.name
    assert int(found["global_step"]) == 6


def test_what_two_processes_saved_one_restores(run: tuple[Path, subprocess.CompletedProcess[str]]) -> None:
    """On eight devices, and on one."""
    folder, done = run
    assert done.returncode == 0, done.stderr
    assert sorted(p.name for p in (folder / "split").glob("*.safetensors")) == [
        f"rank-0000{k}.safetensors" for k in (0, 1)
    ]
    rows = np.arange(48.0).reshape(16, 3)
    for count in (8, 1):
        placed = NamedSharding(Mesh(np.array(jax.devices("cpu")[:count]), ("x",)), PartitionSpec("x"))
        like = {"rows": jax.ShapeDtypeStruct((16, 3), np.float64, sharding=placed), "n": 0}
        found = parallel.load(folder / "split", like)
        assert np.array_equal(np.asarray(found["rows"]), rows) and found["n"] == 2
        assert found["rows"].sharding == placed
    net = nn.SequentialCell(nn.Dense(5, 16), nn.Tanh(), nn.Dropout(p=0.25), nn.Dense(16, 1))
    optimiser = optim.Adam(net.trainable_params(), 0.02)
    assert parallel.Checkpoints(folder / "checkpoints").restore([net, optimiser]) == 6
    assert np.array_equal(net[0].weight.asnumpy(), np.load(folder / "weights.npz")["0.weight"])

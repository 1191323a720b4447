"""A training step on the devices of two real processes: what one device gives, also where the processes began differently."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path
from typing import Any

import numpy as np

ROOT = Path(__file__).parent.parent.parent

COMMON = """
import numpy as np
import adjoint as ad
from adjoint import nn, ops, optim, parallel

def problem(seed):
    ad.set_seed(4)
    net = nn.SequentialCell(nn.Dense(6, 8, activation="relu"), nn.Dropout(p=0.25), nn.Dense(8, 4))
    net.set_train(True)
    net[0].weight.set_data(np.random.default_rng(seed).standard_normal((8, 6)).astype("float32"))
    optimiser = optim.Momentum(net.trainable_params(), 0.1, 0.9)

    def loss(x, y):
        return ops.cross_entropy(net(x), y)

    return net, optimiser, optim.compiled_step(loss, net.trainable_params(), optimiser)

def batch():
    rng = np.random.default_rng(9)
    return rng.standard_normal((8, 6)).astype("float32"), rng.integers(0, 4, 8).astype("int32")
"""

PROCESS = """
import json
parallel.initialize()
net, optimiser, step = problem(parallel.rank())
mesh = parallel.mesh(data=-1)
parallel.zero(optimiser, mesh, 2)
step = parallel.data_parallel(step, mesh)
losses = [float(step(*batch())) for _ in range(2)]
weights = parallel.gathered([p for p in net.get_parameters()])
wrong = ""
try:
    step(batch()[0], np.full(8, 7, "int32"))
except ad.ArgumentError as error:
    wrong = str(error)
from adjoint.parallel import split_batches
split_batches.AGREE_WITHIN, apart = 2.0, ""
try:
    step(*parallel.global_batch([x[: 6 - 4 * parallel.rank()] for x in batch()], mesh))
except ad.ProcessGroupError as error:
    apart = str(error)
held = parallel.place(parallel.lay_out(nn.Dense(4, 4), {"weight": ("data",)}), mesh).weight
try:
    held.asnumpy()
except ad.DeviceError as error:
    apart += str(error) + repr(held)
if parallel.rank() == 0:
    print("FOUND" + json.dumps([mesh.size, losses, [w.asnumpy().tolist() for w in weights], wrong, apart]))
"""


def test_two_processes_give_what_one_device_gives(tmp_path, monkeypatch):
    script = tmp_path / "train.py"
    script.write_text(COMMON + PROCESS)
    environment = {
        **os.environ,
        "XLA_FLAGS": "--xla_force_host_platform_device_count=2 --xla_backend_optimization_level=0",
        "PYTHONPATH": str(ROOT),
    }
    out = subprocess.run(
        [sys.executable, "-m", "adjoint", "launch", "-n", "2", str(script)],
        capture_output=True, text=True, env=environment, timeout=120,
    )  # fmt: skip
    found = [line for line in out.stdout.splitlines() if "FOUND" in line]
    assert found, out.stdout + out.stderr
    size, losses, weights, wrong, apart = json.loads(found[0].partition("FOUND")[2])
    assert size == 4 and "class 7 is not one of 0 to 3" in wrong, wrong
    assert "data_parallel: the batch is float32[12, 6], int32[12] in rank 0, and something else in another" in apart
    assert "parallel.gathered(x), which every process must call" in apart and "Parameter(name=weight" in apart
    (tmp_path / "problem_alone.py").write_text(COMMON)
    monkeypatch.syspath_prepend(tmp_path)
    names: Any = __import__("problem_alone")
    net, _, step = names.problem(0)
    np.testing.assert_allclose(losses, [float(step(*names.batch())) for _ in range(2)], rtol=1e-5)
    for p, w in zip(net.get_parameters(), weights, strict=True):
        np.testing.assert_allclose(w, p.asnumpy(), rtol=1e-5, atol=1e-6, err_msg=p.name)

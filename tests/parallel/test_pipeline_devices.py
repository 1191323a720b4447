"""Pipelines on devices of XLA: four virtual CPUs, in a process of their own, which JAX has to be told before it starts."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

ROOT = Path(__file__).parents[2]

PROGRAM = """
import numpy as np
import adjoint as ad
from adjoint import ops, parallel

even = parallel.Machine(link_latency=0.0)  # so small a network would not be cut otherwise
draw = np.random.default_rng(0)
layers = [ad.Parameter(draw.normal(size=(7, 7)) / 3, name=f"w{k}") for k in range(3)]

def loss_of(weights, x, y):
    for w in (*weights, weights[0]):  # one of them in two stages
        x = x + ops.tanh(x @ w)
    return ops.mean((x - y) ** 2)

def loss(x, y):
    return loss_of(layers, x, y)

x, y = draw.normal(size=(6, 7)), draw.normal(size=(6, 7))
value, grads = ad.value_and_grad(loss, None, layers)(ad.Tensor(x), ad.Tensor(y))
for devices, schedule in ((["cpu:0", "cpu:1", "cpu:3"], "1f1b"), (["cpu:2", "native", "cpu:2"], "gpipe")):
    pipe = parallel.pipeline(loss, layers, devices, micro_batches=3, schedule=schedule, machine=even)
    found, slopes = pipe(x, ad.Tensor(y, device="cpu:3"))
    again, slopes = pipe(x, y)
    assert float(again) == float(found)
    assert abs(float(found) - float(value)) < 1e-12
    for a, b in zip(slopes, grads, strict=True):
        np.testing.assert_allclose(a.asnumpy(), b.asnumpy(), rtol=1e-9, atol=1e-12)
    used = {d.id for (p, s), (_, array) in pipe._placed.items() if hasattr(array, "devices") for d in array.devices()}
    assert used == {int(name[-1]) for name in devices if name.startswith("cpu")}, used

def trained(make):
    weights = [ad.Parameter(np.array(w.asnumpy()), name=w.name) for w in layers]
    groups = [{"params": weights[:1], "weight_decay": 0.1}, {"params": weights[1:], "lr": 0.02}]
    optimiser = ad.optim.AdamW(groups, learning_rate=0.05)
    step = make(lambda x, y: loss_of(weights, x, y), weights, optimiser)
    losses = [float(step(x, y)) for _ in range(3)]
    return losses, [w.asnumpy() for w in weights], optimiser, weights

def one_device(fn, weights, optimiser):
    step = ad.optim.compiled_step(fn, weights, optimiser)
    return lambda x, y: step(ad.Tensor(x), ad.Tensor(y))

def staged(fn, weights, optimiser):
    return parallel.pipeline(fn, weights, ["cpu:1", "cpu:2", "cpu:3"], micro_batches=2, optimiser=optimiser, machine=even)

wanted, found = trained(one_device), trained(staged)
np.testing.assert_allclose(found[0], wanted[0], rtol=1e-9)
for a, b in zip(found[1], wanted[1], strict=True):
    np.testing.assert_allclose(a, b, rtol=1e-7, atol=1e-9)
homes = [w.device for w in found[3]]
assert len(set(homes)) > 1 and homes[0] == "cpu:1", homes  # one that several stages read is with the first
assert [m.device for m in next(iter(found[2].slots.values()))] == homes and int(found[2].global_step) == 3
mesh = parallel.mesh(stage=2, data=1)
assert [p.name for p in parallel.pipeline(loss, layers, mesh).places] == ["xla:cpu:0", "xla:cpu:1"]
try:
    parallel.pipeline(loss, layers, parallel.mesh(stage=2, data=2))
except ad.ArgumentError as error:
    assert "the stages go along one axis" in str(error)
print("as on one device")
"""


def test_a_pipeline_on_several_devices_gives_what_one_gives() -> None:
    environment = {
        **os.environ,
        "PYTHONPATH": str(ROOT),
        "JAX_PLATFORMS": "cpu",
        "XLA_FLAGS": "--xla_force_host_platform_device_count=4 --xla_backend_optimization_level=0",
    }
    out = subprocess.run(
        [sys.executable, "-c", PROGRAM], capture_output=True, text=True, env=environment, timeout=120, check=False
    )
    assert out.stdout.strip() == "as on one device", out.stderr[-3000:]

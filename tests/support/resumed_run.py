"""A small training run in several processes. It goes on from its last checkpoint, and once ends in the middle."""

import os
import signal
import sys

import numpy as np

import adjoint as ad
from adjoint import nn, ops, optim, parallel
from adjoint.train.checkpoint import named_values

parallel.initialize()
folder, steps = sys.argv[1], 6


def batch(step):
    rng = np.random.default_rng(step)
    x = rng.normal(size=(8, 5)).astype(np.float32)
    return x, np.sin(x.sum(axis=1, keepdims=True))


def network():
    ad.set_seed(1)
    net = nn.SequentialCell(nn.Dense(5, 16), nn.Tanh(), nn.Dropout(p=0.25), nn.Dense(16, 1))
    net.set_train()
    optimiser = optim.Adam(net.trainable_params(), 0.02)
    one = optim.compiled_step(lambda x, y: ops.mean((net(x) - y) ** 2), optimiser.parameters, optimiser, backend="xla")
    return [net, optimiser], parallel.data_parallel(one)


def whole(state):
    return {name: p.asnumpy() for name, p in named_values(state).items()}


state, train = network()
checkpoints = parallel.Checkpoints(os.path.join(folder, "checkpoints"), keep=2)
first = checkpoints.restore(state) or 0
print("begins with step", first, flush=True)
for step in range(first, steps):
    train(*parallel.global_batch(parallel.local_batch(batch(step))))
    if step % 2 == 1:
        checkpoints.save(step + 1, state)
    if step == 4 and os.environ["ADJOINT_RESTART"] == "0" and parallel.rank() == parallel.processes() - 1:
        os.kill(os.getpid(), signal.SIGKILL)
found = whole(state)

state, train = network()  # the same without an end in the middle
for step in range(steps):
    loss = train(*batch(step))
again = whole(state)
assert all(np.array_equal(found[name], again[name]) for name in again), "the resumed run has other weights"
rows = np.arange(48.0).reshape(16, 3)
parallel.save(
    os.path.join(folder, "split"),
    {"rows": parallel.global_batch(parallel.local_batch(rows)), "n": parallel.processes()},
)
assert np.array_equal(parallel.load(os.path.join(folder, "split"))["rows"], rows)
if parallel.rank() == 0:
    np.savez(os.path.join(folder, "weights.npz"), loss=float(loss), **again)
parallel.barrier("done")
print("ends with the same weights", flush=True)

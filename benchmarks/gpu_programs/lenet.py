"""A training step of LeNet on images of 28 × 28, in float32, by gradient descent with momentum."""

from __future__ import annotations

from typing import Any

import numpy as np

from benchmarks.gpu_programs import (
    Contender,
    Program,
    our_backend,
    our_wait,
    torch_device,
    torch_training,
)

RATE, MOMENTUM = 0.05, 0.9
SHAPES = {
    "conv1.weight": (6, 1, 5, 5), "conv1.bias": (6,), "conv2.weight": (16, 6, 5, 5), "conv2.bias": (16,),
    "dense1.weight": (120, 400), "dense1.bias": (120,), "dense2.weight": (84, 120), "dense2.bias": (84,),
    "dense3.weight": (10, 84), "dense3.bias": (10,),
}  # fmt: skip


def weights() -> dict[str, np.ndarray]:
    rng = np.random.default_rng(0)
    fans = {name: int(np.prod(shape[1:])) or 1 for name, shape in SHAPES.items()}
    return {name: (rng.standard_normal(s) / np.sqrt(fans[name]) / 2).astype(np.float32) for name, s in SHAPES.items()}


def batch(size: int) -> tuple[np.ndarray, np.ndarray]:
    rng = np.random.default_rng(1)
    return rng.standard_normal((size, 1, 28, 28), np.float32), rng.integers(0, 10, size).astype(np.int32)


def ours(size: int, device: str) -> Contender:
    import adjoint as ad
    from adjoint import nn, ops

    class LeNet(nn.Cell):
        def __init__(self):
            super().__init__()
            self.conv1 = nn.Conv2d(1, 6, 5, pad_mode="pad", padding=2, has_bias=True)
            self.conv2 = nn.Conv2d(6, 16, 5, pad_mode="valid", has_bias=True)
            self.pool = nn.MaxPool2d(2, 2)
            self.dense1, self.dense2, self.dense3 = nn.Dense(400, 120), nn.Dense(120, 84), nn.Dense(84, 10)

        def construct(self, x):
            x = self.pool(ops.relu(self.conv1(x)))
            x = self.pool(ops.relu(self.conv2(x)))
            x = ops.relu(self.dense1(x.reshape(x.shape[0], -1)))
            return self.dense3(ops.relu(self.dense2(x)))

    net = LeNet()
    for name, value in weights().items():
        net.parameters_dict()[name].set_data(value)
    optimiser = ad.optim.Momentum(net.trainable_params(), RATE, MOMENTUM)
    step = ad.optim.compiled_step(
        lambda images, labels: ops.cross_entropy(net(images), labels),
        net.trainable_params(),
        optimiser,
        **our_backend(device),
    )
    images, labels = (ad.Tensor(x).to(device) for x in batch(size))
    return Contender(lambda: [step(images, labels)], our_wait)


def with_jax(size: int, device: str) -> Contender:
    import jax
    import jax.numpy as jnp

    where = jax.devices(device)[0]

    def pooled(x):
        return jax.lax.reduce_window(x, -jnp.inf, jax.lax.max, (1, 1, 2, 2), (1, 1, 2, 2), "VALID")

    def convolved(x, w, b, padding):
        y = jax.lax.conv_general_dilated(x, w, (1, 1), [(padding, padding)] * 2)
        return jax.nn.relu(y + b[:, None, None])

    def loss(w, x, labels):
        x = pooled(convolved(x, w["conv1.weight"], w["conv1.bias"], 2))
        x = pooled(convolved(x, w["conv2.weight"], w["conv2.bias"], 0)).reshape(len(x), -1)
        x = jax.nn.relu(x @ w["dense1.weight"].T + w["dense1.bias"])
        x = jax.nn.relu(x @ w["dense2.weight"].T + w["dense2.bias"])
        logs = jax.nn.log_softmax(x @ w["dense3.weight"].T + w["dense3.bias"])
        return -jnp.take_along_axis(logs, labels[:, None], 1).mean()

    def updated(w, v, x, labels):
        with jax.default_matmul_precision("highest"):
            value, g = jax.value_and_grad(loss)(w, x, labels)
        v = jax.tree.map(lambda v, g: MOMENTUM * v + g, v, g)
        return value, jax.tree.map(lambda w, v: w - RATE * v, w, v), v

    run = jax.jit(updated, donate_argnums=(0, 1))
    state: list[Any] = [jax.device_put(weights(), where), None]
    state[1] = jax.tree.map(jnp.zeros_like, state[0])
    images, labels = (jax.device_put(x, where) for x in batch(size))

    def step():
        value, *state[:] = run(*state, images, labels)
        return [value]

    return Contender(step, jax.block_until_ready)


def with_torch(size: int, device: str, compiled: bool = False) -> Contender:
    import torch
    from torch.nn import functional as F

    torch.backends.cudnn.allow_tf32 = torch.backends.cuda.matmul.allow_tf32 = False
    place = torch_device(device)
    w = {name: torch.tensor(x, device=place, requires_grad=True) for name, x in weights().items()}
    optimiser = torch.optim.SGD(w.values(), RATE, MOMENTUM, fused=device == "gpu")
    images, labels = (torch.tensor(x, device=place) for x in batch(size))
    labels = labels.long()

    def loss(x, labels):
        x = F.max_pool2d(F.relu(F.conv2d(x, w["conv1.weight"], w["conv1.bias"], padding=2)), 2)
        x = F.max_pool2d(F.relu(F.conv2d(x, w["conv2.weight"], w["conv2.bias"])), 2).flatten(1)
        x = F.relu(F.linear(x, w["dense1.weight"], w["dense1.bias"]))
        x = F.relu(F.linear(x, w["dense2.weight"], w["dense2.bias"]))
        return F.cross_entropy(F.linear(x, w["dense3.weight"], w["dense3.bias"]), labels)

    forward = torch.compile(loss) if compiled else loss

    return torch_training(torch, device, optimiser, lambda: forward(images, labels))


PROGRAM = Program(
    "LeNet training step, batch 1024, float32",
    f"Two convolutions with pooling and three dense layers; cross-entropy, gradients, momentum {MOMENTUM}. Products and "
    "convolutions in full float32 for everybody (no TF32).",
    {
        "adjoint": ours,
        "JAX": with_jax,
        "torch eager": with_torch,
        "torch.compile": lambda size, device: with_torch(size, device, True),
    },
    {"full": 1024, "small": 5},
    {"rtol": 2e-4, "atol": 1e-5},
    calls=20,
)

"""A training step of a small GPT: computed in bfloat16, with float32 weights that Adam changes."""

from __future__ import annotations

from dataclasses import dataclass
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

RATE, BETA1, BETA2, EPS = 3e-4, 0.9, 0.999, 1e-8


@dataclass(frozen=True)
class Size:
    layers: int = 6
    dim: int = 768
    heads: int = 12
    length: int = 1024
    batch: int = 8
    words: int = 8192


def shapes(size: Size) -> dict[str, tuple[int, ...]]:
    d = size.dim
    block = {
        "norm1.gamma": (d,), "norm1.beta": (d,), "qkv.weight": (3 * d, d), "qkv.bias": (3 * d,),
        "out.weight": (d, d), "out.bias": (d,), "norm2.gamma": (d,), "norm2.beta": (d,),
        "up.weight": (4 * d, d), "up.bias": (4 * d,), "down.weight": (d, 4 * d), "down.bias": (d,),
    }  # fmt: skip
    blocks = {f"blocks.{i}.{name}": shape for i in range(size.layers) for name, shape in block.items()}
    ends = {"norm.gamma": (d,), "norm.beta": (d,)}
    return {"words": (size.words, d), "places": (size.length, d), **blocks, **ends}


def weights(size: Size) -> dict[str, np.ndarray]:
    rng = np.random.default_rng(0)
    made = {}
    for name, shape in shapes(size).items():
        fixed = 1.0 if name.endswith("gamma") else 0.0 if name.endswith(("beta", "bias")) else None
        made[name] = (
            np.full(shape, fixed, np.float32) if fixed is not None else 0.02 * rng.standard_normal(shape, np.float32)
        )
    return made


def batch(size: Size) -> tuple[np.ndarray, np.ndarray]:
    ids = np.random.default_rng(1).integers(0, size.words, (size.batch, size.length + 1)).astype(np.int32)
    return ids[:, :-1].copy(), ids[:, 1:].copy()


# ---------------------------------------------------------------- adjoint


def network(size: Size) -> Any:
    """The network as a user of adjoint writes it."""
    import adjoint as ad
    from adjoint import nn, ops

    class Block(nn.Cell):
        def __init__(self):
            super().__init__()
            d = size.dim
            self.norm1, self.norm2 = nn.LayerNorm((d,), epsilon=1e-5), nn.LayerNorm((d,), epsilon=1e-5)
            self.qkv, self.out = nn.Dense(d, 3 * d), nn.Dense(d, d)
            self.up, self.down = nn.Dense(d, 4 * d), nn.Dense(4 * d, d)

        def construct(self, x):
            n, length, d = x.shape
            parts = self.qkv(self.norm1(x)).reshape(n, length, 3, size.heads, d // size.heads)
            q, k, v = (parts[:, :, i].swapaxes(1, 2) for i in range(3))
            y = ops.scaled_dot_product_attention(q, k, v, is_causal=True)
            x = x + self.out(y.swapaxes(1, 2).reshape(n, length, d))
            return x + self.down(ops.gelu(self.up(self.norm2(x)), "tanh"))

    class GPT(nn.Cell):
        def __init__(self):
            super().__init__()
            self.words = ad.Parameter(ops.zeros((size.words, size.dim), ad.float32), name="words")
            self.places = ad.Parameter(ops.zeros((size.length, size.dim), ad.float32), name="places")
            self.blocks = nn.CellList([Block() for _ in range(size.layers)])
            self.norm = nn.LayerNorm((size.dim,), epsilon=1e-5)

        def construct(self, ids):
            x = ops.embedding(ids, self.words) + self.places
            for block in self.blocks:
                x = block(x)
            return self.norm(x) @ self.words.T

    net = GPT()
    for name, value in weights(size).items():
        net.parameters_dict()[name].set_data(value)
    return net


def training(size: Size, half: bool = True, **where: Any) -> Any:
    """A step of adjoint's: `step(ids, targets)` gives the loss."""
    import adjoint as ad
    from adjoint import ops

    net = network(size)
    if half:
        net.to_float(ad.bfloat16)

    def loss(ids, targets):
        logits = ops.cast(net(ids), ad.float32).reshape(-1, size.words)
        return ops.cross_entropy(logits, targets.reshape(-1))

    optimiser = ad.optim.AdamW(net.trainable_params(), RATE, BETA1, BETA2, EPS, 0.0)
    return ad.optim.compiled_step(loss, net.trainable_params(), optimiser, **where)


def ours(size: Size, device: str) -> Contender:
    import adjoint as ad

    step = training(size, **our_backend(device))
    ids, targets = (ad.Tensor(x).to(device) for x in batch(size))
    return Contender(lambda: [step(ids, targets)], our_wait)


# ---------------------------------------------------------------- JAX


def with_jax(size: Size, device: str, kernel: str | None = None) -> Contender:
    import jax
    import jax.numpy as jnp

    half, where = jnp.bfloat16, jax.devices(device)[0]

    def normal(x, gamma, beta):
        x = x.astype(jnp.float32)
        middle = x - x.mean(-1, keepdims=True)
        y = middle * jax.lax.rsqrt((middle * middle).mean(-1, keepdims=True) + 1e-5)
        return (y * gamma + beta).astype(half)

    def dense(x, w, name):
        return x @ w[name + ".weight"].astype(half).T + w[name + ".bias"].astype(half)

    def attention(q, k, v):
        if kernel is not None:
            return jax.nn.dot_product_attention(q, k, v, is_causal=True, implementation=kernel)
        products = jnp.einsum("nqhd,nkhd->nhqk", q, k, preferred_element_type=jnp.float32) / np.sqrt(q.shape[-1])
        allowed = jnp.tril(jnp.ones((q.shape[1], q.shape[1]), bool))
        shares = jax.nn.softmax(jnp.where(allowed, products, -jnp.inf)).astype(half)
        return jnp.einsum("nhqk,nkhd->nqhd", shares, v)

    def loss(w, ids, targets):
        x = (w["words"][ids] + w["places"]).astype(half)
        n, length, d = x.shape
        for i in range(size.layers):
            block = {name.removeprefix(f"blocks.{i}."): v for name, v in w.items() if name.startswith(f"blocks.{i}.")}
            parts = dense(normal(x, block["norm1.gamma"], block["norm1.beta"]), block, "qkv")
            q, k, v = jnp.moveaxis(parts.reshape(n, length, 3, size.heads, d // size.heads), 2, 0)
            x = x + dense(attention(q, k, v).reshape(n, length, d), block, "out")
            x = x + dense(
                jax.nn.gelu(dense(normal(x, block["norm2.gamma"], block["norm2.beta"]), block, "up")), block, "down"
            )
        logits = (normal(x, w["norm.gamma"], w["norm.beta"]) @ w["words"].astype(half).T).astype(jnp.float32)
        logs = jax.nn.log_softmax(logits)
        return -jnp.take_along_axis(logs, targets[..., None], -1).mean()

    def updated(w, m, v, t, ids, targets):
        value, g = jax.value_and_grad(loss)(w, ids, targets)
        m = jax.tree.map(lambda m, g: BETA1 * m + (1 - BETA1) * g, m, g)
        v = jax.tree.map(lambda v, g: BETA2 * v + (1 - BETA2) * g * g, v, g)
        t = t + 1
        first, second = 1 - BETA1**t, 1 - BETA2**t
        w = jax.tree.map(lambda w, m, v: w - RATE * (m / first) / (jnp.sqrt(v / second) + EPS), w, m, v)
        return value, w, m, v, t

    run = jax.jit(updated, donate_argnums=(0, 1, 2, 3))
    w = jax.device_put(weights(size), where)
    state: list[Any] = [w, *(jax.tree.map(jnp.zeros_like, w) for _ in range(2)), jax.device_put(np.float32(0), where)]
    ids, targets = (jax.device_put(x, where) for x in batch(size))

    def step():
        value, *state[:] = run(*state, ids, targets)
        return [value]

    return Contender(step, jax.block_until_ready)


# ---------------------------------------------------------------- PyTorch


def with_torch(size: Size, device: str, compiled: bool = False) -> Contender:
    import torch
    from torch.nn import functional as F

    place, half = torch_device(device), torch.bfloat16
    w = {name: torch.tensor(x, device=place, requires_grad=True) for name, x in weights(size).items()}
    optimiser = torch.optim.AdamW(
        w.values(), RATE, (BETA1, BETA2), EPS, weight_decay=0.0, fused=True if device == "gpu" else None
    )
    ids, targets = (torch.tensor(x, device=place).long() for x in batch(size))

    def normal(x, name):
        return F.layer_norm(x, (size.dim,), w[name + ".gamma"].to(half), w[name + ".beta"].to(half), 1e-5)

    def dense(x, name):
        return F.linear(x, w[name + ".weight"].to(half), w[name + ".bias"].to(half))

    def loss(ids, targets):
        x = (F.embedding(ids, w["words"]) + w["places"]).to(half)
        n, length, d = x.shape
        for i in range(size.layers):
            name = f"blocks.{i}."
            parts = dense(normal(x, name + "norm1"), name + "qkv").view(n, length, 3, size.heads, d // size.heads)
            q, k, v = (part.transpose(1, 2) for part in parts.unbind(2))
            y = F.scaled_dot_product_attention(q, k, v, is_causal=True)
            x = x + dense(y.transpose(1, 2).reshape(n, length, d), name + "out")
            y = F.gelu(dense(normal(x, name + "norm2"), name + "up"), approximate="tanh")
            x = x + dense(y, name + "down")
        logits = F.linear(normal(x, "norm"), w["words"].to(half)).float()
        return F.cross_entropy(logits.view(-1, size.words), targets.reshape(-1))

    forward = torch.compile(loss) if compiled else loss

    return torch_training(torch, device, optimiser, lambda: forward(ids, targets))


PROGRAM = Program(
    "GPT training step, 6 layers, dim 768, 12 heads, length 1024, batch 8, 8,192 words, bf16",
    "Weights and Adam's means in float32, cast to bfloat16 for the forward and backward pass; normalisation, softmax and loss in "
    f"float32; tied words; Adam (rate {RATE}, no decay). PyTorch's Adam is its fused one.",
    {
        "adjoint": ours,
        "JAX": with_jax,
        "JAX, cuDNN attention": lambda size, device: with_jax(size, device, "cudnn" if device == "gpu" else "xla"),
        "torch eager": with_torch,
        "torch.compile": lambda size, device: with_torch(size, device, True),
    },
    {"full": Size(), "small": Size(1, 16, 2, 12, 2, 30)},
    {"rtol": 2e-2, "atol": 0.0},
    calls=5,
)

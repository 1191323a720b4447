"""sum(tanh(x) * exp(-x²) + sin(x) * log1p(x²)) of many float32 numbers, and its gradient."""

from __future__ import annotations

import numpy as np

from benchmarks.gpu_programs import (
    Contender,
    Program,
    our_backend,
    our_wait,
    torch_device,
    torch_numbers,
    waits_for_torch,
)


def numbers(count: int) -> np.ndarray:
    return np.random.default_rng(0).standard_normal(count, np.float32)


def ours(count: int, device: str) -> Contender:
    import adjoint as ad
    from adjoint import ops

    def chain(x):
        return (ops.tanh(x) * ops.exp(-x * x) + ops.sin(x) * ops.log1p(x * x)).sum()

    run = ad.jit(ad.value_and_grad(chain), **our_backend(device))
    x = ad.Tensor(numbers(count)).to(device)
    return Contender(lambda: run(x), our_wait)


def with_jax(count: int, device: str) -> Contender:
    import jax
    import jax.numpy as jnp

    def chain(x):
        return (jnp.tanh(x) * jnp.exp(-x * x) + jnp.sin(x) * jnp.log1p(x * x)).sum()

    run, x = jax.jit(jax.value_and_grad(chain)), jax.device_put(numbers(count), jax.devices(device)[0])
    return Contender(lambda: run(x), jax.block_until_ready)


def with_torch(count: int, device: str, compiled: bool = False) -> Contender:
    import torch

    def chain(x):
        return (torch.tanh(x) * torch.exp(-x * x) + torch.sin(x) * torch.log1p(x * x)).sum()

    forward = torch.compile(chain) if compiled else chain
    x = torch.tensor(numbers(count), device=torch_device(device), requires_grad=True)

    def step():
        value = forward(x)
        return value, *torch.autograd.grad(value, x)

    return Contender(step, waits_for_torch(torch, device), torch_numbers)


PROGRAM = Program(
    "elementwise chain, 16M float32, value and gradient",
    "`sum(tanh(x) * exp(-x²) + sin(x) * log1p(x²))` of 16,000,000 float32 numbers and its gradient.",
    {
        "adjoint": ours,
        "JAX": with_jax,
        "torch eager": with_torch,
        "torch.compile": lambda count, device: with_torch(count, device, True),
    },
    {"full": 16_000_000, "small": 5_003},
    {"rtol": 1e-4, "atol": 2e-5},
    calls=20,
)

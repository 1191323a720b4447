"""A network that solves a differential equation: its own derivatives stand in the loss.

    python examples/pinn.py

u'' = -π² sin(πx) with u(0) = u(1) = 0, whose solution is sin(πx). The second derivative of the network by its input comes
from two nested `grad`s, mapped over the points by `vmap`; the gradient by the weights goes through both.
"""

from __future__ import annotations

import argparse
import sys
import time

import numpy as np

import adjoint as ad
from adjoint import nn, ops, optim

PI = float(np.pi)


class Solution(nn.Cell):
    """A small network, times x(1 - x), so that the ends are right by construction."""

    def __init__(self, width: int = 24) -> None:
        super().__init__()
        self.layers = nn.SequentialCell(
            nn.Dense(1, width), nn.Tanh(), nn.Dense(width, width), nn.Tanh(), nn.Dense(width, 1)
        )

    def construct(self, x):
        return x * (1.0 - x) * self.layers(ops.reshape(x, (1, 1)))[0, 0]


def main(arguments: list[str] | None = None) -> int:
    parser = argparse.ArgumentParser(description="Solve u'' = -π² sin(πx) with a network.")
    parser.add_argument("--steps", type=int, default=1500)
    options = parser.parse_args(arguments)

    ad.set_seed(0)
    u = Solution()
    bend = ad.vmap(ad.grad(ad.grad(u)))
    x = ad.Tensor(np.linspace(0, 1, 64, dtype=np.float32))

    def residual():
        return ((bend(x) + PI**2 * ops.sin(PI * x)) ** 2).mean()

    rates = optim.cosine_decay_lr(1e-4, 1e-2, options.steps, 1, options.steps)
    step = optim.compiled_step(residual, u.trainable_params(), optim.Adam(u.trainable_params(), rates))
    start = time.perf_counter()
    for k in range(options.steps):
        loss = step()
        if k % max(options.steps // 5, 1) == 0:
            print(f"step {k:5d}: mean squared residual {loss.item():.2e}")
    fine = np.linspace(0, 1, 201, dtype=np.float32)
    error = np.abs(ad.vmap(u)(ad.Tensor(fine)).asnumpy() - np.sin(np.pi * fine)).max()
    print(f"{options.steps} steps in {time.perf_counter() - start:.1f} s: largest error of u {error:.1e}")
    return 0 if error < 1e-2 else 1


if __name__ == "__main__":
    sys.exit(main())

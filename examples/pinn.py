"""A network that solves a differential equation: its own derivatives stand in the loss.

    python examples/pinn.py [--steps 1500] [--picture pinn.png]

u'' = -π² sin(πx) with u(0) = u(1) = 0, whose solution is sin(πx). The second derivative of the network by its input comes
from two nested `grad`s, mapped over the points by `vmap`; the gradient by the weights goes through both.
"""

from __future__ import annotations

import argparse
import sys
import time

import figures
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


def picture(path: str, x: np.ndarray, found: np.ndarray, losses: list[float]) -> None:
    """The residual as it fell, the solution found, and its error."""
    if (pyplot := figures.pyplot()) is None:
        return
    figure, (left, middle, right) = pyplot.subplots(1, 3, figsize=(12, 3.8), layout="constrained")
    left.semilogy(losses, linewidth=0.8)
    left.set(xlabel="step", title="Mean squared residual")
    middle.plot(x, np.sin(np.pi * x), linewidth=4, color="lightgray", label="sin(πx)")
    middle.plot(x, found, color="tab:red", label="the network")
    middle.set(xlabel="x", title="u(x)")
    middle.legend()
    right.plot(x, found - np.sin(np.pi * x))
    right.set(xlabel="x", title="Error of u")
    right.ticklabel_format(axis="y", scilimits=(0, 0))
    for axes in (left, middle, right):
        axes.grid(alpha=0.3)
    figures.save(figure, path)


def main(arguments: list[str] | None = None) -> int:
    parser = argparse.ArgumentParser(description="Solve u'' = -π² sin(πx) with a network.")
    parser.add_argument("--steps", type=int, default=1500)
    parser.add_argument("--picture", default="pinn.png", help="where to draw; empty for no picture")
    options = parser.parse_args(arguments)

    ad.set_seed(0)
    u = Solution()
    bend = ad.vmap(ad.grad(ad.grad(u)))
    x = ad.Tensor(np.linspace(0, 1, 64, dtype=np.float32))

    def residual():
        return ((bend(x) + PI**2 * ops.sin(PI * x)) ** 2).mean()

    rates = optim.cosine_decay_lr(1e-4, 1e-2, options.steps, 1, options.steps)
    step = optim.compiled_step(residual, u.trainable_params(), optim.Adam(u.trainable_params(), rates))
    losses, start = [], time.perf_counter()
    for k in range(options.steps):
        losses.append(step().item())
        if k % max(options.steps // 5, 1) == 0:
            print(f"step {k:5d}: mean squared residual {losses[-1]:.2e}", flush=True)
    spent = time.perf_counter() - start
    fine = np.linspace(0, 1, 201, dtype=np.float32)
    found = ad.vmap(u)(ad.Tensor(fine)).asnumpy()
    error = np.abs(found - np.sin(np.pi * fine)).max()
    print(
        f"{options.steps} steps in {spent:.1f} s: mean squared residual {losses[-1]:.2e}, largest error of u {error:.1e}"
    )
    if options.picture:
        picture(options.picture, fine, found, losses)
    return 0 if error < 1e-2 else 1


if __name__ == "__main__":
    sys.exit(main())

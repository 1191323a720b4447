"""PyTorch: eager, and under `torch.compile`."""

from __future__ import annotations

import os
from collections.abc import Callable
from typing import Any

import numpy as np
import torch

from benchmarks.contenders.base import RATE, Contender, Step

torch.set_num_threads(int(os.environ["OMP_NUM_THREADS"]))


class Torch(Contender):
    family = "torch"
    ops = "benchmarks.ops.torch"

    def __init__(self, compiled: bool) -> None:
        self.mode: Callable[..., Any] = torch.compile if compiled else lambda fn: fn

    def array(self, x: np.ndarray) -> Any:
        return torch.tensor(x)

    def leaf(self, y: Any) -> np.ndarray:
        return y.detach().numpy().copy()

    def call(self, fn: Callable[..., Any], args: list[Any]) -> Step:
        run = self.mode(fn)
        return lambda: run(*args)

    def primal(self, loss: Callable[..., Any], args: list[Any]) -> Step:
        return torch.no_grad()(self.call(loss, args))

    def gradient(self, loss: Callable[..., Any], args: list[Any]) -> Step:
        leaves = tracked(args[0])
        run = self.mode(loss)

        def step() -> Any:
            value = run(*args)
            return value.detach(), torch.autograd.grad(value, leaves)

        return step

    def train(self, loss: Callable[..., Any], args: list[Any]) -> Step:
        """The parameters are updated in place, as PyTorch's optimisers do."""
        gradient = self.gradient(loss, args)

        def step() -> Any:
            value, grads = gradient()
            with torch.no_grad():
                torch._foreach_add_(args[0], grads, alpha=-RATE)
            return value, args[0]

        return step

    def hessian(self, loss: Callable[..., Any], args: list[Any]) -> Step:
        return self.call(torch.func.hessian(loss), args)

    def hvp(self, loss: Callable[..., Any], args: list[Any]) -> Step:
        gradient = torch.func.grad(loss)
        return self.call(lambda x, v: torch.func.jvp(gradient, (x,), (v,))[1], args)

    def jacobian(self, loss: Callable[..., Any], args: list[Any]) -> Step:
        return self.call(torch.func.vmap(torch.func.jacrev(loss)), args)


def tracked(x: Any) -> list[Any]:
    leaves = x if isinstance(x, list) else [x]
    return [p.requires_grad_() for p in leaves]

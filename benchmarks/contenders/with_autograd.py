"""HIPS autograd."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import autograd
import numpy as np

from benchmarks.contenders.base import RATE, Contender, Step, carried


class Autograd(Contender):
    family = "autograd"
    ops = "benchmarks.ops.autograd"

    def array(self, x: np.ndarray) -> Any:
        return x if x.ndim else x.item()

    def primal(self, loss: Callable[..., Any], args: list[Any]) -> Step:
        return lambda: loss(*args)

    def gradient(self, loss: Callable[..., Any], args: list[Any]) -> Step:
        run = autograd.value_and_grad(loss)
        return lambda: run(*args)

    def train(self, loss: Callable[..., Any], args: list[Any]) -> Step:
        gradient = autograd.value_and_grad(loss)

        def update(params: list[Any], *batch: Any) -> tuple[Any, list[Any]]:
            value, grads = gradient(params, *batch)
            return value, [p - np.float32(RATE) * g for p, g in zip(params, grads, strict=True)]

        return carried(update, args)

    def hessian(self, loss: Callable[..., Any], args: list[Any]) -> Step:
        run = autograd.hessian(loss)
        return lambda: run(*args)

    def hvp(self, loss: Callable[..., Any], args: list[Any]) -> Step:
        run = autograd.hessian_vector_product(loss)
        return lambda: run(*args)

    def jacobian(self, loss: Callable[..., Any], args: list[Any]) -> Step:
        """It has no `vmap`; as rows do not depend on each other, a vector-Jacobian product serves all of them at once."""

        def step() -> Any:
            backward, value = autograd.make_vjp(loss)(*args)
            rows = np.eye(value.shape[-1])
            return np.stack([backward(np.broadcast_to(row, value.shape)) for row in rows], 1)

        return step

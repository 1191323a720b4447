"""Our own two modes."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

import adjoint as ad
from benchmarks.contenders.base import RATE, Contender, Step, carried


class Adjoint(Contender):
    """Dynamic mode as it is; static mode is the same functions under `jit`."""

    family = "adjoint"
    ops = "adjoint.ops"

    def __init__(self, static: bool) -> None:
        self.mode: Callable[..., Any] = ad.jit if static else lambda fn: fn

    def array(self, x: np.ndarray) -> Any:
        return ad.Tensor(x)

    def leaf(self, y: Any) -> np.ndarray:
        return ad.Tensor(y).asnumpy()

    def call(self, fn: Callable[..., Any], args: list[Any]) -> Step:
        run = self.mode(fn)
        return lambda: run(*args)

    def primal(self, loss: Callable[..., Any], args: list[Any]) -> Step:
        return self.call(loss, args)

    def gradient(self, loss: Callable[..., Any], args: list[Any]) -> Step:
        return self.call(ad.value_and_grad(loss), args)

    def train(self, loss: Callable[..., Any], args: list[Any]) -> Step:
        gradient = ad.value_and_grad(loss)

        def update(params: list[Any], *batch: Any) -> tuple[Any, list[Any]]:
            value, grads = gradient(params, *batch)
            return value, [p - RATE * g for p, g in zip(params, grads, strict=True)]

        return carried(self.mode(update), args)

    def hessian(self, loss: Callable[..., Any], args: list[Any]) -> Step:
        return self.call(ad.hessian(loss), args)

    def hvp(self, loss: Callable[..., Any], args: list[Any]) -> Step:
        return self.call(ad.hvp(loss), args)

    def jacobian(self, loss: Callable[..., Any], args: list[Any]) -> Step:
        return self.call(ad.vmap(ad.jacrev(loss)), args)

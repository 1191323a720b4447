"""MindSpore: pynative, and under `jit`."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import mindspore
import numpy as np

from benchmarks.contenders.base import RATE, Contender, Step, carried

mindspore.set_device("CPU")


class MindSpore(Contender):
    family = "mindspore"
    ops = "benchmarks.ops.mindspore"

    def __init__(self, static: bool) -> None:
        self.mode: Callable[..., Any] = mindspore.jit if static else lambda fn: fn

    def array(self, x: np.ndarray) -> Any:
        return mindspore.Tensor(x)

    def leaf(self, y: Any) -> np.ndarray:
        return y.asnumpy()

    def call(self, fn: Callable[..., Any], args: list[Any]) -> Step:
        run = self.mode(fn)

        def step() -> Any:
            result = run(*args)
            mindspore.runtime.synchronize()
            return result

        return step

    def primal(self, loss: Callable[..., Any], args: list[Any]) -> Step:
        return self.call(*spread(loss, args)[:2])

    def gradient(self, loss: Callable[..., Any], args: list[Any]) -> Step:
        flat, inputs, positions = spread(loss, args)
        return self.call(mindspore.value_and_grad(flat, positions), inputs)

    def train(self, loss: Callable[..., Any], args: list[Any]) -> Step:
        flat, _, positions = spread(loss, args)
        gradient = mindspore.value_and_grad(flat, positions)

        def update(*xs: Any) -> Any:
            value, grads = gradient(*xs)
            return value, tuple([xs[i] - RATE * grads[i] for i in positions])

        run = self.mode(update)
        step = carried(lambda params, *batch: run(*params, *batch), args)

        def synchronised() -> Any:
            result = step()
            mindspore.runtime.synchronize()
            return result

        return synchronised

    def hessian(self, loss: Callable[..., Any], args: list[Any]) -> Step:
        return self.call(mindspore.jacrev(mindspore.grad(loss)), args)

    def hvp(self, loss: Callable[..., Any], args: list[Any]) -> Step:
        gradient = mindspore.grad(loss)

        def product(x: Any, v: Any) -> Any:
            return mindspore.jvp(gradient, x, v)[1]

        return self.call(product, args)

    def jacobian(self, loss: Callable[..., Any], args: list[Any]) -> Step:
        return self.call(mindspore.vmap(mindspore.jacrev(loss)), args)


def spread(loss: Callable[..., Any], args: list[Any]) -> tuple[Callable[..., Any], list[Any], Any]:
    """MindSpore differentiates by positions: the function with each parameter as an argument of its own, the arguments,
    and the positions of the parameters."""
    if not isinstance(args[0], list):
        return loss, args, 0
    count = len(args[0])

    def flat(*xs: Any) -> Any:
        return loss(xs[:count], *xs[count:])

    return flat, [*args[0], *args[1:]], tuple(range(count))

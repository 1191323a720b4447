"""JAX under `jit`."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import jax
import numpy as np

from benchmarks.contenders.base import RATE, Contender, Step, carried

jax.config.update("jax_platforms", "cpu")
jax.config.update("jax_enable_x64", True)  # float32 arrays stay float32


class Jax(Contender):
    family = "jax"
    ops = "benchmarks.ops.jax"

    def array(self, x: np.ndarray) -> Any:
        return jax.numpy.asarray(x)

    def call(self, fn: Callable[..., Any], args: list[Any]) -> Step:
        run = jax.jit(fn)
        return lambda: jax.block_until_ready(run(*args))

    def primal(self, loss: Callable[..., Any], args: list[Any]) -> Step:
        return self.call(loss, args)

    def gradient(self, loss: Callable[..., Any], args: list[Any]) -> Step:
        return self.call(jax.value_and_grad(loss), args)

    def train(self, loss: Callable[..., Any], args: list[Any]) -> Step:
        """The old parameters are donated, so that the new ones can take their place."""

        def update(params: list[Any], *batch: Any) -> tuple[Any, list[Any]]:
            value, grads = jax.value_and_grad(loss)(params, *batch)
            return value, [p - RATE * g for p, g in zip(params, grads, strict=True)]

        step = carried(jax.jit(update, donate_argnums=0), args)
        return lambda: jax.block_until_ready(step())

    def hessian(self, loss: Callable[..., Any], args: list[Any]) -> Step:
        return self.call(jax.hessian(loss), args)

    def hvp(self, loss: Callable[..., Any], args: list[Any]) -> Step:
        gradient = jax.grad(loss)
        return self.call(lambda x, v: jax.jvp(gradient, (x,), (v,))[1], args)

    def jacobian(self, loss: Callable[..., Any], args: list[Any]) -> Step:
        return self.call(jax.vmap(jax.jacrev(loss)), args)

"""Who takes part in the memory benchmark: a framework and a way of keeping or computing again. Frameworks are imported in their own processes."""

from __future__ import annotations

import importlib
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np

from benchmarks.memory_workloads import MemoryWorkload, Part

SHARE = 0.3  # of the plain gradient's intermediates, the budget for `jit(memory=...)`
SMALL = 1 << 20  # bytes of intermediates that need no budget


@dataclass(frozen=True)
class MemoryEntry:
    """A contender: which framework, and what it does about memory ("" for nothing)."""

    package: str
    family: str
    maker: str
    way: str = ""
    loops_only: bool = False
    networks_only: bool = False

    @property
    def title(self) -> str:
        return f"{self.family}, {self.way}" if self.way else self.family

    def for_workload(self, workload: MemoryWorkload) -> bool:
        return not ((self.loops_only and not workload.loop) or (self.networks_only and workload.loop))

    def make(self) -> Framework:
        return globals()[self.maker](self.way)


class Framework:
    """Turns a workload into a call without arguments."""

    name: str
    ops: str
    part: Part | None = None

    def __init__(self, way: str) -> None:
        self.way = way

    def array(self, x: np.ndarray) -> Any:
        raise NotImplementedError

    def leaf(self, y: Any) -> np.ndarray:
        return np.asarray(y)

    def step(self, loss: Callable[..., Any], args: list[Any]) -> Callable[[], Any]:
        """The value and gradient, compiled already where that can be done without running."""
        raise NotImplementedError

    def prepare(self, workload: MemoryWorkload, inputs: Any) -> Callable[[], Any]:
        args = [[self.array(p) for p in x] if isinstance(x, list) else self.array(x) for x in inputs]
        return self.step(workload.bound(self.name, importlib.import_module(self.ops), self.part), args)


class AdjointDynamic(Framework):
    name, ops = "adjoint", "adjoint.ops"

    def __init__(self, way: str) -> None:
        import adjoint

        super().__init__(way)
        self.ad = adjoint
        self.checkpoint = way if way in ("sqrt", "balanced", "binomial") else None
        if way == "parts":
            self.part = adjoint.recompute

    def array(self, x: np.ndarray) -> Any:
        return self.ad.Tensor(x)

    def leaf(self, y: Any) -> np.ndarray:
        return self.ad.Tensor(y).asnumpy()

    def step(self, loss: Callable[..., Any], args: list[Any]) -> Callable[[], Any]:
        run = self.ad.value_and_grad(loss, checkpoint=self.checkpoint)
        return lambda: run(*args)


class AdjointStatic(AdjointDynamic):
    def step(self, loss: Callable[..., Any], args: list[Any]) -> Callable[[], Any]:
        from adjoint.api.compiled import executable

        gradient = self.ad.value_and_grad(loss, checkpoint=self.checkpoint)
        run = self.ad.jit(gradient)
        if self.way == "memory=":
            plain = run.memory(*args)
            share = SHARE if plain.arena_bytes > SMALL else 1.0
            run = self.ad.jit(gradient, memory=plain.result_bytes + int(share * plain.arena_bytes))
        executable(run.graph(*args), run.backend)
        return lambda: run(*args)


class Torch(Framework):
    name, ops = "torch", "benchmarks.ops.torch"

    def __init__(self, way: str) -> None:
        import torch
        from torch.utils.checkpoint import checkpoint

        super().__init__(way)
        self.torch = torch
        if way:
            self.part = lambda fn, *args: checkpoint(fn, *args, use_reentrant=False)

    def array(self, x: np.ndarray) -> Any:
        return self.torch.from_numpy(x)

    def leaf(self, y: Any) -> np.ndarray:
        return y.detach().numpy()

    def step(self, loss: Callable[..., Any], args: list[Any]) -> Callable[[], Any]:
        leaves = [p.requires_grad_() for p in (args[0] if isinstance(args[0], list) else [args[0]])]

        def run() -> Any:
            value = loss(*args)
            return value.detach(), self.torch.autograd.grad(value, leaves)

        return run


class Jax(Framework):
    name, ops = "jax", "benchmarks.ops.jax"

    def __init__(self, way: str) -> None:
        import jax

        super().__init__(way)
        self.jax = jax
        jax.config.update("jax_platforms", "cpu")
        if way:
            self.part = self.remat

    def remat(self, fn: Callable[..., Any], *args: Any) -> Any:
        """The ops are a module, which JAX takes for no argument of its own: it is bound beforehand."""
        given = [k for k, x in enumerate(args) if not hasattr(x, "__name__")]

        def call(*values: Any) -> Any:
            whole = list(args)
            for k, value in zip(given, values, strict=True):
                whole[k] = value
            return fn(*whole)

        return self.jax.checkpoint(call)(*(args[k] for k in given))

    def array(self, x: np.ndarray) -> Any:
        return self.jax.numpy.array(x)

    def step(self, loss: Callable[..., Any], args: list[Any]) -> Callable[[], Any]:
        run = self.jax.jit(self.jax.value_and_grad(loss)).lower(*args).compile()
        return lambda: self.jax.block_until_ready(run(*args))


def _entries() -> dict[str, MemoryEntry]:
    found = []
    for mode, maker in (("dynamic", "AdjointDynamic"), ("static", "AdjointStatic")):
        for way in ("", "parts", "sqrt", "balanced", "binomial"):
            found.append(MemoryEntry("adjoint", f"adjoint {mode}", maker, way, loops_only=way == "binomial"))
    found.append(MemoryEntry("adjoint", "adjoint static", "AdjointStatic", "memory=", networks_only=True))
    for way in ("", "checkpoint"):
        found.append(MemoryEntry("torch", "torch eager", "Torch", way))
    for way in ("", "remat"):
        found.append(MemoryEntry("jax", "JAX jit", "Jax", way))
    return {entry.title: entry for entry in found}


MEMORY_ENTRIES = _entries()

"""What every contender does: make a step, a call without arguments, of a workload."""

from __future__ import annotations

import importlib
from collections.abc import Callable
from typing import Any

import numpy as np

from benchmarks.workload import Inputs, Workload

RATE = 0.01  # of descent in a training step
Step = Callable[[], Any]


class NotOffered(Exception):
    """The framework has no way to do this."""


class Contender:
    """A way of running workloads. Made in a process of its own.

    A subclass turns a function and its arguments into a step for each kind of derivative; the first argument is the one
    to differentiate by, an array or a list of arrays.
    """

    family: str
    ops: str  # the module that has the workloads' ops

    def array(self, x: np.ndarray) -> Any:
        """The framework's own array."""
        raise NotImplementedError

    def leaf(self, y: Any) -> np.ndarray:
        """A NumPy array again."""
        return np.asarray(y)

    def primal(self, loss: Callable[..., Any], args: list[Any]) -> Step:
        """The function itself, as fast as it goes when no derivative is asked for."""
        raise NotOffered("primal")

    def gradient(self, loss: Callable[..., Any], args: list[Any]) -> Step:
        """Value and gradient."""
        raise NotOffered("gradient")

    def train(self, loss: Callable[..., Any], args: list[Any]) -> Step:
        """Value and parameters after a step of descent; each call goes on from the last."""
        raise NotOffered("training step")

    def hessian(self, loss: Callable[..., Any], args: list[Any]) -> Step:
        raise NotOffered("Hessian")

    def hvp(self, loss: Callable[..., Any], args: list[Any]) -> Step:
        """The Hessian by `args[0]` times `args[1]`."""
        raise NotOffered("Hessian-vector product")

    def jacobian(self, loss: Callable[..., Any], args: list[Any]) -> Step:
        """For each row of the arguments, the Jacobian by the first."""
        raise NotOffered("Jacobian")

    def prepare(self, workload: Workload, inputs: Inputs, primal: bool = False) -> Step:
        """The step of a workload, or of its function alone."""
        loss = workload.bound(self.family, importlib.import_module(self.ops))
        args = [[self.array(p) for p in x] if isinstance(x, list) else self.array(x) for x in inputs]
        if not primal:
            return getattr(self, workload.what)(loss, args)
        return self.primal(loss, args[:1] if workload.what == "hvp" else args)

    def values(self, result: Any) -> list[np.ndarray]:
        """A step's result as a flat list of NumPy arrays."""
        if isinstance(result, (tuple, list)):
            return [y for part in result for y in self.values(part)]
        return [self.leaf(result)]


def carried(update: Callable[..., tuple[Any, Any]], args: list[Any]) -> Step:
    """A training step of a function (parameters, *batch) -> (value, new parameters)."""
    params, *batch = args

    def step() -> tuple[Any, Any]:
        nonlocal params
        value, params = update(params, *batch)
        return value, params

    return step

"""CasADi: expressions of scalars, run by its virtual machine through preallocated buffers."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import casadi
import numpy as np

from benchmarks.contenders.base import Contender, Step


class Casadi(Contender):
    family = "casadi"
    ops = "benchmarks.ops.casadi"

    def array(self, x: np.ndarray) -> np.ndarray:
        return np.asarray(x, np.float64)

    def primal(self, loss: Callable[..., Any], args: list[Any]) -> Step:
        if args[0].ndim == 2:
            return self._rows(args, lambda *x: [loss(*(Row(v) for v in x))])
        return run(expression(args, lambda *x: [loss(*x)]), args)

    def gradient(self, loss: Callable[..., Any], args: list[Any]) -> Step:
        def build(*x: Any) -> list[Any]:
            value = loss(*x)
            return [value, casadi.gradient(value, x[0])]

        return run(expression(args, build), args)

    def hessian(self, loss: Callable[..., Any], args: list[Any]) -> Step:
        return run(expression(args, lambda x: [casadi.densify(casadi.hessian(loss(x), x)[0])]), args)

    def hvp(self, loss: Callable[..., Any], args: list[Any]) -> Step:
        return run(expression(args, lambda x, v: [casadi.jtimes(casadi.gradient(loss(x), x), x, v)]), args)

    def jacobian(self, loss: Callable[..., Any], args: list[Any]) -> Step:
        return self._rows(args, lambda *x: [casadi.densify(casadi.jacobian(loss(*(Row(v) for v in x)), x[0])).T])

    def _rows(self, args: list[Any], build: Callable[..., list[Any]]) -> Step:
        """One row's expression, mapped over all; CasADi's matrices are stored by columns, so a row is its column."""
        one = expression([x[0] for x in args], build)
        shape = (len(args[0]), *one.size_out(0)[::-1])
        return run(one.map(len(args[0])), args, [shape])


class Row:
    """A column of symbols, indexed as the last axis of an array."""

    def __init__(self, symbols: Any) -> None:
        self.symbols = symbols

    def __getitem__(self, key: tuple[Any, int]) -> Any:
        return self.symbols[key[1]]


def expression(args: list[Any], build: Callable[..., list[Any]]) -> Any:
    """A function of symbols of the arguments' sizes. A root finder needs symbols that may call functions."""
    symbol = casadi.SX if all(x.ndim for x in args) else casadi.MX
    symbols = [symbol.sym(f"x{i}", x.size) for i, x in enumerate(args)]
    return casadi.Function("f", symbols, build(*symbols))


def run(fn: Any, args: list[Any], shapes: list[tuple[int, ...]] | None = None) -> Step:
    """A call that reads and writes NumPy arrays directly."""
    if shapes is None:
        shapes = [tuple(n for n in fn.size_out(i) if n > 1) for i in range(fn.n_out())]
    buffer, evaluate = fn.buffer()
    results = [np.zeros(shape) for shape in shapes]
    for i, x in enumerate(args):
        buffer.set_arg(i, memoryview(np.ascontiguousarray(x)))
    for i, y in enumerate(results):
        buffer.set_res(i, memoryview(y))

    def step(owner: Any = buffer) -> list[np.ndarray]:  # `evaluate` does not keep its buffer alive
        evaluate()
        return results

    return step

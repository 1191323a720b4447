"""Tables of programs for MindSpore: an operator, its inputs, and what comes of them: the result and its gradient."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import mindspore as ms
import numpy as np
from mindspore import Tensor, nn


class Call(nn.Cell):
    """Calls an operator with Tensors and, after them, constants."""

    def __init__(self, op, constants):
        super().__init__()
        self.op = op
        self.constants = constants

    def construct(self, *xs):
        return self.op(*xs, *self.constants)


class Squared(Call):
    """The square of what an operator gives: its gradient shows every element."""

    def construct(self, *xs):
        y = self.op(*xs, *self.constants)
        return y * y


class CallOnTuple(nn.Cell):
    """Calls an operator with a tuple of Tensors and, after it, constants."""

    def __init__(self, op, constants):
        super().__init__()
        self.op = op
        self.constants = constants

    def construct(self, *xs):
        return self.op(xs, *self.constants)


class SquaredOnTuple(CallOnTuple):
    """The square of what an operator gives for a tuple of Tensors."""

    def construct(self, *xs):
        y = self.op(xs, *self.constants)
        return y * y


class FirstSquared(Call):
    """The square of the first of several results."""

    def construct(self, *xs):
        y = self.op(*xs, *self.constants)[0]
        return y * y


class SecondSquared(Call):
    """The square of the second of several results."""

    def construct(self, *xs):
        y = self.op(*xs, *self.constants)[1]
        return y * y


KINDS = {
    "plain": (Call, Call),
    "squared": (Call, Squared),
    "tuple": (CallOnTuple, SquaredOnTuple),
    "tuple in and out": (CallOnTuple, CallOnTuple),
    "first": (Call, FirstSquared),
    "second": (Call, SecondSquared),
}


def numbers(*shape: int, seed: int = 0, low: float = -2.0, high: float = 2.0, dtype: Any = np.float32) -> np.ndarray:
    """Numbers that nobody chose, with few digits."""
    drawn = np.random.RandomState(seed + 7 * sum(shape) + len(shape)).uniform(low, high, shape)
    return (np.round(drawn, 2) + 0.003).astype(dtype)


def case(make: Callable[[], Any], *inputs: Any, constants: tuple = (), kind: str = "squared", grad: Any = True) -> Any:
    """A program: the result of an operator, and its gradient with respect to all inputs of floats (or those in `grad`)."""

    def program() -> Any:
        xs = [Tensor(x) for x in inputs]
        value, measure = (cell(make(), constants) for cell in KINDS[kind])
        if not grad:
            return value(*xs)
        places = tuple(i for i, x in enumerate(inputs) if x.dtype.kind in "fc") if grad is True else grad
        return value(*xs), ms.grad(measure, places)(*xs)

    return program

"""What a layer does beside its result: keep moving averages. It happens each time, in both modes.

A moving average is an effect, so that in a compiled graph it takes place when the graph runs, not when it is built.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

from adjoint import ops
from adjoint.core import context
from adjoint.core.dispatch import Value, beside
from adjoint.core.parameter import Parameter, plain
from adjoint.core.placement import is_device_array
from adjoint.graph.effects import Effect
from adjoint.ops.functional.random import keep_mask as keep_mask


def traced() -> bool:
    """Whether a graph is being built."""
    return context.reader.get() is not None


class Target:
    """A Parameter to write to. Two of them are equal if they name the same one, whatever its value."""

    def __init__(self, parameter: Parameter) -> None:
        self.parameter = parameter

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Target) and other.parameter is self.parameter

    def __hash__(self) -> int:
        return id(self.parameter)


@dataclass(frozen=True, eq=False, repr=False)
class Blend(Effect):
    """A Parameter becomes `momentum` of itself and the rest of a new value: `Blend(target, momentum, count)(when, value)`.

    A `count` above 1 says that the value is a variance of so many numbers, to be made unbiased.
    """

    afterwards = True

    target: Target
    momentum: float
    count: int

    def eval(self, xp, when, value):
        if when:
            parameter = self.target.parameter
            old = parameter._value
            share = (1 - self.momentum) * (self.count / (self.count - 1) if self.count > 1 else 1)
            if is_device_array(old):
                new = beside(value._value if isinstance(value, Value) else value, old)
                mean = self.momentum * plain(parameter) + share * ops.cast(new, old.dtype)
                parameter._value = ops.cast(mean, old.dtype)._plain()
            else:
                new = np.asarray(value._value if isinstance(value, Value) else value, old.dtype)
                parameter._value = np.asarray(self.momentum * old + share * new, old.dtype)
        return np.bool_(bool(when))


def blend(parameter: Parameter, momentum: float, value: Any, count: int = 1) -> None:
    """Keep a moving average in a Parameter; nothing of it is differentiated."""
    Blend(Target(parameter), momentum, count)(_when(), ops.stop_gradient(value))


def _when() -> Any:
    """Whether the code takes place when the graph runs: in a branch or a loop that is known only then."""
    if not traced():
        return True
    from adjoint.frontend.effects import when

    return when()

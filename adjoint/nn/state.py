"""What a layer does beside its result: keep moving averages, draw at random. Both happen each time, in both modes.

A moving average is an effect and a draw an op of its own, so that in a compiled graph they take place when the graph runs,
not when it is built.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from contextvars import ContextVar
from dataclasses import dataclass
from typing import Any

import numpy as np

from adjoint import ops
from adjoint.core import context
from adjoint.core.absent import ZERO
from adjoint.core.dispatch import Value
from adjoint.core.errors import AdjointError, called_at
from adjoint.core.parameter import Parameter
from adjoint.core.spec import Spec, dtype_of, float32, is_inexact, shape_of
from adjoint.graph.effects import Effect
from adjoint.ops.card import Op

#: The generator of a part that is to be recomputed: both times it draws the same. None: the one of all draws.
_generator: ContextVar[np.random.Generator | None] = ContextVar("generator", default=None)
#: Whether a part is being computed a second time: its moving averages stand already.
_again: ContextVar[bool] = ContextVar("again", default=False)


@contextmanager
def repeatable(seed: int, again: bool) -> Iterator[None]:
    """Draw from this seed, so that a second run repeats the first; the second leaves moving averages alone."""
    with context.setting(_generator, np.random.default_rng(seed)), context.setting(_again, again or _again.get()):
        yield


def fresh_seed() -> int:
    """A seed for a generator of its own."""
    own = _generator.get()
    return int(ops.randint(0, 2**62, ()).item() if own is None else own.integers(2**62))


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

    target: Target
    momentum: float
    count: int

    def eval(self, xp, when, value):
        if when:
            parameter = self.target.parameter
            old = parameter._value
            new = np.asarray(value._value if isinstance(value, Value) else value, old.dtype)
            share = (1 - self.momentum) * (self.count / (self.count - 1) if self.count > 1 else 1)
            parameter._value = np.asarray(self.momentum * old + share * new, old.dtype)
        return np.bool_(when)


def blend(parameter: Parameter, momentum: float, value: Any, count: int = 1) -> None:
    """Keep a moving average in a Parameter; nothing of it is differentiated."""
    if not _again.get():
        Blend(Target(parameter), momentum, count)(_when(), ops.stop_gradient(value))


def _when() -> Any:
    """Whether the code takes place when the graph runs: in a branch or a loop that is known only then."""
    if not traced():
        return True
    from adjoint.frontend.effects import when

    return when()


def keep_mask(x: Any, p: float, shape: tuple[int, ...]) -> Any:
    """0 with probability p, else 1 / (1 - p): an array of this shape in the dtype of x, for each example of a batch."""
    if traced() and _when() is not True:
        raise AdjointError(
            "Dropout in a branch or a loop of a compiled graph, whose derivative would draw a second time, is not "
            f"supported: move it out of there, or use dynamic mode.{called_at()}"
        )
    like = Spec(shape, dtype_of(x) if is_inexact(dtype_of(x)) else float32)
    return KeepMask(like, p)(ops.stop_gradient(x))


def _mask(like: Spec, p: float) -> np.ndarray:
    if p == 1:
        return np.zeros(like.shape, like.dtype)
    own = _generator.get()
    drawn = ops.rand(like.shape, dtype=np.float64).asnumpy() if own is None else own.random(like.shape)
    return ((drawn >= p) / (1 - p)).astype(like.dtype)


@dataclass(frozen=True, eq=False, repr=False)
class KeepMask(Op):
    """A mask that is drawn when the op runs: `KeepMask(like, p)(x)`. Two of them are never the same op."""

    like: Spec
    p: float

    differentiable = False
    opaque = True

    def __repr__(self) -> str:
        return f"KeepMask(p={self.p})"

    def infer(self, x):
        return self.like

    def eval(self, xp, x):
        return _mask(self.like, self.p)

    def vjp(self, g, y, x):
        return (ZERO,)

    def jvp(self, ts, y, x):
        return ZERO

    def vmap(self, dims: Sequence[int | None], x: Any) -> Any:
        size = shape_of(x)[dims[0]]  # type: ignore[index]
        return KeepMask(Spec((size, *self.like.shape), self.like.dtype), self.p)(x)

    @classmethod
    def samples(cls, draw: Any) -> Any:
        yield from ()

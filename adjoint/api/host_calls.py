"""A Python function on arrays as one op: what it computes inside is not seen, only the shapes and dtypes of its results."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from adjoint.core.errors import ArgumentError, NoRuleError
from adjoint.core.spec import Spec, shape_of
from adjoint.ops.card import Op
from adjoint.ops.language import moveaxis
from adjoint.ops.stacking import stack


class HostCall(Op):
    """A call of a function that takes NumPy arrays and gives them, with results of known shapes and dtypes.

    In a graph it is one node, which calls Python. It has no derivative: `custom_vjp` around it gives one.

    >>> import adjoint as ad
    >>> doubled = HostCall("doubled", lambda x: x.copy() * 2, Spec((2,), np.dtype("float32")))
    >>> print(ad.jit(lambda x: doubled(x) + 1)(ad.Tensor([1.0, 2.0])))
    [3. 5.]
    """

    opaque = True

    def __init__(self, name: str, fn: Callable[..., Any], result: Spec | tuple[Spec, ...]) -> None:
        self.name, self.fn, self.result = name, fn, result

    def __repr__(self) -> str:
        return self.name

    def __hash__(self) -> int:
        return id(self)

    def infer(self, *specs: Spec) -> Any:
        return self.result

    def eval(self, xp: Any, *xs: Any) -> Any:
        y = self.fn(*(np.asarray(x) for x in xs))
        if not isinstance(self.result, tuple):
            return self._checked(y, self.result)
        return tuple(self._checked(v, s) for v, s in zip(y, self.result, strict=True))

    def _checked(self, y: Any, spec: Spec) -> Any:
        array = np.asarray(y, spec.dtype)
        if array.shape != spec.shape:
            raise ArgumentError(f"{self.name} gave a result of shape {array.shape}, announced was {spec.shape}")
        return array

    def vjp(self, g: Any, y: Any, *xs: Any) -> tuple[Any, ...]:
        raise NoRuleError(self.name, "bprop", "Give it one: what a Python function computes inside is not seen.")

    def jvp(self, ts: Sequence[Any], y: Any, *xs: Any) -> Any:
        raise NoRuleError(self.name, "jvp", "What a Python function computes inside is not seen.")

    def vmap(self, dims: Sequence[int | None], *xs: Any) -> Any:
        fronted = [x if d is None else moveaxis(x, d, 0) for x, d in zip(xs, dims, strict=True)]
        count = next(shape_of(x)[0] for x, d in zip(fronted, dims, strict=True) if d is not None)
        each = [self(*(x if d is None else x[i] for x, d in zip(fronted, dims, strict=True))) for i in range(count)]
        if isinstance(self.result, tuple):
            return tuple(stack(parts) for parts in zip(*each, strict=True))
        return stack(each)

    @classmethod
    def samples(cls, draw: Any) -> Any:
        yield from ()

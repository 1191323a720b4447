"""The cast to another dtype, and the value without its derivative: cards and functions."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from functools import wraps
from typing import Any

import numpy as np

from adjoint.core import tree
from adjoint.core.absent import ZERO
from adjoint.core.errors import DtypeError, called_at
from adjoint.core.spec import Spec, broadcast, dtype_of, float32, has_derivative, is_half
from adjoint.ops.broadcast import batch_front, cast_like, match, spread
from adjoint.ops.card import Op, card, register
from adjoint.ops.families import Discrete, Elementwise, Linear
from adjoint.ops.publish import public


@register
@dataclass(frozen=True)
class Cast(Linear):
    """The values in another dtype. From complex to real the imaginary part is dropped; integers end a gradient."""

    dtype: np.dtype

    elementwise, copies, total, emits = True, True, True, "fib"

    def __post_init__(self):
        """Objects, text and dates would end a gradient unseen. The byte order is the machine's."""
        if self.dtype.kind not in "biufc" and not is_half(self.dtype):
            raise DtypeError(
                f"cast: a Tensor holds numbers, and {self.dtype} are none. An object array of traced numbers is "
                f"np.asarray(x){called_at()}"
            )
        if not self.dtype.isnative:
            object.__setattr__(self, "dtype", self.dtype.newbyteorder("="))

    @property
    def differentiable(self):  # type: ignore[override]
        return has_derivative(self.dtype)

    def infer(self, x):
        return Spec(x.shape, self.dtype)

    def eval(self, xp, x):
        x = xp.asarray(x)
        return (x.real if x.dtype.kind == "c" and self.dtype.kind not in "cb" else x).astype(self.dtype)

    def computes_in(self, y, x):
        return [x.dtype]

    def emit(self, b, x):
        return b.cast(x, self.dtype)

    def vjp(self, g, y, x):
        return (cast_like(g, x),)

    def vmap(self, dims, x):
        return self(batch_front(x, dims[0]))

    @classmethod
    def samples(cls, draw):
        yield cls(np.dtype("float64")), (draw(2, 3),)
        yield cls(np.dtype("float64")), (draw(),)


def conversion(dtype: np.dtype) -> Op:
    """The op that makes values of another dtype."""
    return card(Cast, dtype)


@public(aliases=("astype",), method=("astype", "to"))
def cast(input: Any, dtype: Any, *, copy: bool = True) -> Any:
    """The values in another dtype. A cast to integers ends the gradient. With `copy=False` an input that has the dtype
    already is given back itself.

    >>> import adjoint as ad
    >>> print(ad.ops.cast(ad.Tensor([1.7]), ad.int32))
    [1]
    """
    if not copy and dtype_of(input) == np.dtype(dtype):
        return input
    return card(Cast, np.dtype(dtype))(input)


astype = cast


def in_single(function: Callable[..., Any]) -> Callable[..., Any]:
    """Compute on half-precision input in float32 and round once: sums of it overflow easily."""

    @wraps(function)
    def widened(input: Any, *args: Any, **kwargs: Any) -> Any:
        dtype = dtype_of(input)
        if not is_half(dtype):
            return function(input, *args, **kwargs)
        return cast(function(cast(input, float32), *args, **kwargs), dtype)

    return widened


@register
@dataclass(frozen=True)
class StopGradient(Discrete):
    """The value itself, whose derivative is taken to be zero in every transform."""

    complex, copies, view, emits = True, True, True, "fib"

    def eval(self, xp, x):
        return x

    def emit(self, b, x):
        return x

    def expand(self, b, x):
        return x


stop = StopGradient()


@dataclass(frozen=True)
class Replaced(Elementwise):
    """`Replaced()(x, value)` is the value, and the derivative is that of x: what a Parameter is after a store."""

    arity, complex, copies, emits = 2, True, True, "fib"

    def infer(self, *specs):
        return Spec(broadcast(self, specs), specs[1].dtype)

    def eval(self, xp, x, value):
        return (
            value
            if np.shape(value) == np.shape(x)
            else xp.broadcast_to(value, xp.broadcast_shapes(x.shape, value.shape))
        )

    def partials(self, y, x, value):
        return 1, ZERO

    def vjp(self, g, y, x, value):
        return match(g, x), ZERO

    def jvp(self, ts, y, x, value):
        return ts[0] if ts[0] is ZERO else spread(ts[0], y)

    def emit(self, b, x, value):
        return value

    def muted(self):
        return self


replaced = Replaced()


@public()
def stop_gradient(value: Any) -> Any:
    """The value itself, whose derivative is taken to be zero. Works on containers.

    >>> import adjoint as ad
    >>> print(ad.grad(lambda x: x * ad.ops.stop_gradient(x))(3.0))
    3.0
    """
    return tree.map(lambda x: x if isinstance(x, str) or callable(x) else stop(x), value)

"""Joining arrays along a new axis and taking them apart again: `stack`, `unstack`, `array`."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from adjoint.core.arrays import check_kind
from adjoint.core.dispatch import Value
from adjoint.core.errors import ArgumentError, DtypeError, ShapeError, called_at
from adjoint.core.spec import Spec, normalize_axis, number_of, promote, shape_of, spec_of
from adjoint.ops.broadcast import batch_all, batch_front, cast_like, ndim
from adjoint.ops.card import Op, card, register
from adjoint.ops.joining import Joined
from adjoint.ops.language import cast, reshape, zeros_like
from adjoint.ops.publish import public
from adjoint.ops.slicing import part_along, show_parts


@register
@dataclass(frozen=True)
class Stack(Joined):
    """Inputs of one shape side by side along a new `axis`."""

    axis: int

    def infer(self, *xs):
        axis = normalize_axis(self, self.axis, xs[0].ndim + 1)
        if len({x.shape for x in xs}) != 1:
            raise ShapeError(f"Stack: the shapes {', '.join(str(x.shape) for x in xs)} differ")
        return Spec((*xs[0].shape[:axis], len(xs), *xs[0].shape[axis:]), promote(xs))

    def eval(self, xp, *xs):
        if not all(hasattr(x, "dtype") for x in xs):  # a Python number must not raise the precision
            wanted = xp.result_type(*xs)  # once: it looks at every input
            xs = tuple([xp.asarray(x, wanted) for x in xs])
        return xp.stack(xs, axis=self.axis)

    def vjp(self, g, y, *xs):
        parts = card(Unstack, self.axis)(g)
        return tuple(cast_like(p, x) for p, x in zip(parts, xs, strict=True))

    def vmap(self, dims, *xs):
        return Stack(self.axis + 1)(*batch_all(dims, xs))

    @classmethod
    def samples(cls, draw):
        yield cls(0), (draw(), draw())
        yield cls(1), (draw(2, 3), draw(2, 3), draw(2, 3))

    @classmethod
    def errors(cls):
        yield cls(0), (Spec((2,)), Spec((3,))), "the shapes (2,), (3,) differ"


@register
@dataclass(frozen=True)
class Unstack(Op):
    """The slices along `axis`, each a result of its own; the transpose of Stack."""

    axis: int

    complex, total, view = True, True, True

    def infer(self, x):
        axis = normalize_axis(self, self.axis, x.ndim)
        return (Spec(x.shape[:axis] + x.shape[axis + 1 :], x.dtype),) * x.shape[axis]

    def eval(self, xp, x):
        return tuple(xp.moveaxis(x, self.axis, 0))

    def one_result(self, k):
        return part_along(self.axis, k)

    def vjp(self, gs, ys, x):
        return (card(Stack, self.axis)(*gs) if gs else zeros_like(x),)

    def jvp(self, ts, ys, x):
        return self(ts[0])

    def vmap(self, dims, x):
        return Unstack(self.axis + 1)(batch_front(x, dims[0]))

    @classmethod
    def samples(cls, draw):
        yield cls(0), (draw(3),)
        yield cls(1), (draw(2, 3),)

    @classmethod
    def errors(cls):
        yield cls(1), (Spec((3,)),), "outside the input's 1 axes"


@public()
def stack(tensors: Sequence[Any], axis: int = 0) -> Any:
    """Tensors of one shape side by side along a new axis.

    >>> from adjoint import ops, Tensor
    >>> print(ops.stack([Tensor([1.0, 2.0]), Tensor([3.0, 4.0])], axis=1))
    [[1. 3.]
     [2. 4.]]
    """
    tensors = list(tensors)
    if not tensors:
        raise ArgumentError(f"stack: no tensors to join{called_at()}")
    if any(isinstance(x, (int, float, complex)) for x in tensors):
        # Python numbers give way to arrays.
        dtype = promote(map(spec_of, tensors))
        tensors = [x if isinstance(x, (Value, np.ndarray)) else np.asarray(x, dtype) for x in tensors]
    return card(Stack, normalize_axis("stack", axis, ndim(tensors[0]) + 1))(*tensors)


@public(aliases=("unbind",), method=("unstack", "unbind"))
def unstack(input: Any, axis: int = 0) -> tuple[Any, ...]:
    """The slices along an axis.

    >>> from adjoint import ops, Tensor
    >>> a, b = ops.unstack(Tensor([[1.0, 2.0], [3.0, 4.0]]))
    >>> print(a, b)
    [1. 2.] [3. 4.]
    """
    axis = normalize_axis("unstack", axis, ndim(input))
    return show_parts(input, axis, range(shape_of(input)[axis]), rows(input, axis))


unbind = unstack


def rows(input: Any, axis: int = 0) -> tuple[Any, ...]:
    """The slices along an axis, as Tensors of their own."""
    return card(Unstack, axis)(input)


@public()
def array(data: Any) -> Any:
    """One Tensor from nested lists of Tensors, arrays and numbers, differentiable in each; arrays and Tensors stay as they are.

    >>> import adjoint as ad
    >>> print(ad.grad(lambda x: ad.ops.array([x, 2 * x, 5.0]).sum())(1.0))
    3.0
    """
    if isinstance(data, np.ndarray) and data.dtype == object:
        check_kind(data)
        for x in data.ravel():
            if not isinstance(x, (Value, np.ndarray, np.generic, bool, int, float, complex)):
                raise DtypeError(
                    f"an array of objects must hold numbers and Tensors, not a {type(x).__name__}{called_at()}"
                )
        return reshape(stack([_settled(x) for x in data.ravel()]), data.shape) if data.size else np.zeros(data.shape)
    if isinstance(data, (list, tuple)):
        parts = [array(x) for x in data]
        return stack(parts) if any(isinstance(p, Value) for p in parts) else np.asarray(parts)
    return data


def _settled(x: Any) -> Any:
    """An element of an array that NumPy made: of a Python number it makes one with a dtype that stays."""
    if not isinstance(x, Value):
        return np.asarray(x)
    return x if number_of(x) is None else cast(x, x.dtype)

"""x[mask] where the mask is known only when a graph runs, or differs from example to example of a batch.

How many elements it picks is not known, so the result has no shape. What is computed with it element by element is computed on
the whole array, and put back with `x[mask] = ...` where the mask holds; anything else is refused.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from adjoint.core import context
from adjoint.core.dispatch import Trace, Value, make
from adjoint.core.errors import AdjointError, ShapeError, UnknownShapeError, called_at, refused
from adjoint.core.spec import dtype_of, shape_of
from adjoint.ops.casting import Cast, StopGradient
from adjoint.ops.families import Elementwise
from adjoint.ops.language import cast, reshape, where
from adjoint.ops.stacking import array

WHOLE = slice(None)


class Picked(Trace):
    """Elements of arrays picked by one mask; a Tensor of it holds the whole array."""

    transparent = False
    shapeless = True

    def __init__(self, mask: Mask) -> None:
        self.mask = mask
        self.level = context.new_level()

    def shape(self, x: Any) -> tuple[int, ...]:
        raise unknown_shape("x[mask]")

    def below(self, x: Any) -> Any:
        raise refused(unknown_shape("x[mask]"))

    def apply(self, op: Any, xs: tuple[Any, ...]) -> Any:
        if not isinstance(op, (Elementwise, Cast, StopGradient)):
            raise refused(unknown_shape(f"{op} of x[mask]"))
        return make(op(*[self._whole(x) for x in xs]), self)

    def _whole(self, x: Any) -> Any:
        """An operand for the whole array: picked by the same mask, or the same for every element picked."""
        if isinstance(x, Value) and isinstance(x._trace, Picked):
            if not self.mask.same(x._trace.mask):
                raise refused(unknown_shape("arithmetic of x[mask] with elements picked by another mask"))
            return x._value
        if len(shape_of(x)) > self.mask.after:
            raise refused(unknown_shape(f"arithmetic of x[mask] with an array of shape {shape_of(x)}"))
        return x


class Mask:
    """A mask on some axes of an array, the first of which is `axis`; it comes lined up with the array's axes."""

    def __init__(self, values: Any, axis: int, rank: int) -> None:
        shape = shape_of(values)
        self.values, self.axis = values, axis
        self.ndim, self.after = len(shape), rank - axis - len(shape)
        self.lined_up = reshape(values, (1,) * axis + shape + (1,) * self.after)

    def same(self, other: Mask) -> bool:
        """Whether two masks are one value at one place."""
        return (self.axis, self.after) == (other.axis, other.after) and _one_value(self.values, other.values)

    def put(self, x: Any, value: Any) -> Any:
        """x with the value where the mask holds."""
        if isinstance(value, Value) and isinstance(value._trace, Picked):
            if not self.same(value._trace.mask):
                raise refused(unknown_shape("x[mask] = elements picked by another mask"))
            new = value._value
        else:
            value = value if isinstance(value, Value) else array(value)
            rank = self.axis + 1 + self.after  # of what the mask picks
            shape = (1,) * (rank - len(shape_of(value))) + shape_of(value)
            if len(shape) > rank or shape[self.axis] != 1:
                raise refused(unknown_shape(f"x[mask] = an array of shape {shape_of(value)}"))
            new = reshape(value, (*shape[: self.axis], *(1,) * self.ndim, *shape[self.axis + 1 :]))
        return cast(where(self.lined_up, new, x), dtype_of(x))


def _one_value(a: Any, b: Any) -> bool:
    """Whether two values are the same node, or batches of the same numbers."""
    if isinstance(a, Value) and isinstance(b, Value):
        return a._trace is b._trace and a._extra == b._extra and _one_value(a._value, b._value)
    return a is b or (isinstance(a, np.ndarray) and isinstance(b, np.ndarray) and np.array_equal(a, b))


def traced_mask(x: Any, index: Any) -> Mask | None:
    """The mask in an index whose numbers are not known; None if there is none."""
    items = index if type(index) is tuple else (index,)
    found = [i for i in items if isinstance(i, Value) and dtype_of(i).kind == "b" and not _is_known(i)]
    if not found:
        return None
    rank = len(shape_of(x))
    place, ndim = [i is found[0] for i in items].index(True), len(shape_of(found[0]))
    others = [i for i in items if i is not found[0]]
    if len(found) > 1 or not ndim or any(not (i is Ellipsis or (type(i) is slice and i == WHOLE)) for i in others):
        raise refused(unknown_shape("an index of a mask and other things"))
    axis = place if Ellipsis not in items[:place] else rank - ndim - (len(items) - place - 1)
    if shape_of(x)[axis : axis + ndim] != shape_of(found[0]):
        raise ShapeError(
            f"a mask of shape {shape_of(found[0])} does not fit axis {axis} of the shape {shape_of(x)}{called_at()}"
        )
    return Mask(found[0], axis, rank)


def pick(x: Any, mask: Mask) -> Any:
    """x[mask]."""
    return make(x, Picked(mask))


def _is_known(mask: Any) -> bool:
    try:
        mask.asnumpy()
    except AdjointError:  # a node of a graph, or a batch
        return False
    return True


def unknown_shape(what: str) -> UnknownShapeError:
    """Why something whose shape depends on values cannot be part of a graph or a batch, and what can."""
    return UnknownShapeError(
        f"{what}: its shape depends on values that are known only when the graph runs (or differ within a batch). Write "
        f"ops.where(mask, x, 0) and compute with the whole array, update with x[mask] = v or x[mask] *= v, or do this outside "
        f"of jit.{called_at()}"
    )

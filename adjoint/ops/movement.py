"""Reshaping and transposing: the cards, and beside each the functions that it is the whole of."""

from __future__ import annotations

from dataclasses import dataclass
from math import prod
from typing import Any, ClassVar

import numpy as np

from adjoint.core import views
from adjoint.core.dispatch import Value
from adjoint.core.errors import ArgumentError, ShapeError, called_at
from adjoint.core.layout import UNKNOWN, reshapes
from adjoint.core.spec import Shape, Spec, normalize_axis, shape_of
from adjoint.ops.broadcast import batch_front, ndim
from adjoint.ops.card import Op, card, register
from adjoint.ops.families import Linear
from adjoint.ops.publish import public


class Movement(Linear):
    """Linear ops that only move, repeat or drop elements."""

    complex, total = True, True


class View(Movement):
    """Ops whose result shows elements of the input, each at most once: what is written to one is seen in the other."""

    view = True
    #: Whether NumPy has a view only for some orders in memory.
    ordered: ClassVar[bool] = False

    def __call__(self, x):
        y = Op.__call__(self, x)
        if isinstance(x, Value) and y.shape:
            views.relate(y, x, self)
        return y

    def show(self, x):
        return Op.__call__(self, x)

    def put(self, x, y):
        """x with y in place of what it shows of x."""
        raise NotImplementedError

    def is_view(self, array):
        """Whether NumPy's result shows the elements of an array that lies as this one, where that depends on it."""
        return True

    def is_apart(self, other, base):
        """Whether it is known to show other elements of `base` than another step."""
        return False


ONCE = (0, None, 0)  # an axis of size one, in an index map


def ints(values: Any) -> tuple[int, ...]:
    """A shape or list of axes given as one sequence or as separate numbers."""
    if len(values) == 1 and isinstance(values[0], (tuple, list, np.ndarray)):
        values = values[0]
    return tuple(int(v) for v in values)


def without(shape: Shape, axis: int) -> Shape:
    return shape[:axis] + shape[axis + 1 :]


@register
@dataclass(frozen=True)
class Reshape(View):
    """The same elements, in the same order, under another shape."""

    shape: Shape

    ordered, same_bytes = True, True

    def index_map(self, shape):
        axes = [k for k, n in enumerate(self.shape) if n != 1]
        if [n for n in shape if n != 1] != [self.shape[k] for k in axes]:
            return None
        left = iter(axes)
        return [ONCE if n == 1 else (0, next(left), 1) for n in shape]

    def put(self, x, y):
        back: Any = card(Reshape, shape_of(x))
        return back.show(y)

    def is_view(self, array):
        return reshapes(array, self.shape)

    def infer(self, x):
        if prod(x.shape) != prod(self.shape):
            raise ShapeError(
                f"Reshape: {prod(x.shape)} elements of shape {x.shape} do not fill the shape {self.shape}, "
                f"which has {prod(self.shape)}"
            )
        return Spec(self.shape, x.dtype)

    def eval(self, xp, x):
        return xp.reshape(x, self.shape)

    def vjp(self, g, y, x):
        return (card(Reshape, shape_of(x))(g),)

    def vmap(self, dims, x):
        x = batch_front(x, dims[0])
        return card(Reshape, (shape_of(x)[0], *self.shape))(x)

    @classmethod
    def samples(cls, draw):
        yield cls((6,)), (draw(2, 3),)
        yield cls((3, 1, 2)), (draw(2, 3),)
        yield cls(()), (draw(1),)
        yield cls((3, 0)), (draw(0, 2),)

    @classmethod
    def errors(cls):
        yield cls((4,)), (Spec((3,)),), "do not fill the shape (4,)"


@public(method=("reshape", "view"))
def reshape(input: Any, *shape: Any, order: str = "C") -> Any:
    """The same elements in the same order under another shape; one size may be -1. With order "F" the first axis runs fastest, in both.

    >>> from adjoint import ops, Tensor
    >>> print(ops.reshape(Tensor([1.0, 2.0, 3.0, 4.0]), (2, -1)))
    [[1. 2.]
     [3. 4.]]
    """
    want = ints(shape)
    if order == "F":
        return transpose(reshape(transpose(input), want[::-1]))
    if order != "C":
        raise ArgumentError(f"reshape: order must be 'C' or 'F', not {order!r}{called_at()}")
    if -1 in want:
        known = -prod(want)
        total = prod(shape_of(input))
        if want.count(-1) > 1 or (known and total % known):
            raise ShapeError(f"reshape: {total} elements of shape {shape_of(input)} do not fill {want}{called_at()}")
        want = tuple((total // known if known else 0) if n == -1 else n for n in want)
    return card(Reshape, want)(input)


@public(method=True)
def flatten(input: Any, order: str = "C", *, start_dim: int = 0, end_dim: int = -1) -> Any:
    """All axes, or those from `start_dim` to `end_dim`, in one.

    >>> from adjoint import ops, Tensor
    >>> print(ops.flatten(Tensor([[1.0, 2.0], [3.0, 4.0]])))
    [1. 2. 3. 4.]
    """
    if order not in ("C", "F"):
        raise ArgumentError(f"flatten: order must be 'C' or 'F', not {order!r}{called_at()}")
    if order == "F":
        input = transpose(input)
    shape = shape_of(input)
    if not shape:
        return views.alone(card(Reshape, (1,))(input))
    a, b = (normalize_axis("flatten", d, len(shape)) for d in (start_dim, end_dim))
    return views.alone(card(Reshape, (*shape[:a], prod(shape[a : b + 1]), *shape[b + 1 :]))(input))


@public(method=True)
def ravel(input: Any, order: str = "C") -> Any:
    """All axes in one; the same elements, not copies of them, where their order allows it.

    >>> from adjoint import ops, Tensor
    >>> print(ops.ravel(Tensor([[1.0, 2.0], [3.0, 4.0]])))
    [1. 2. 3. 4.]
    """
    if order not in ("C", "F"):
        raise ArgumentError(f"ravel: order must be 'C' or 'F', not {order!r}{called_at()}")
    input = transpose(input) if order == "F" else input
    line = card(Reshape, (prod(shape_of(input)),))(input)
    lies = views.layout(input)
    return line if lies is None or lies is UNKNOWN else views.alone(line)


@public(method=True)
def squeeze(input: Any, axis: Any = None) -> Any:
    """Axes of size 1 dropped: all of them, or those named.

    >>> from adjoint import ops
    >>> ops.squeeze(ops.ones((1, 3, 1))).shape, ops.squeeze(ops.ones((1, 3, 1)), 0).shape
    ((3,), (3, 1))
    """
    shape = shape_of(input)
    if axis is None:
        return card(Reshape, tuple(n for n in shape if n != 1))(input)
    axes = [normalize_axis("squeeze", a, len(shape)) for a in (axis if isinstance(axis, (tuple, list)) else (axis,))]
    for a in axes:
        if shape[a] != 1:
            raise ShapeError(f"squeeze: axis {a} of shape {shape} has size {shape[a]}, not 1{called_at()}")
    return card(Reshape, tuple(n for a, n in enumerate(shape) if a not in axes))(input)


@public(aliases=("unsqueeze",), method=("expand_dims", "unsqueeze"))
def expand_dims(input: Any, axis: Any) -> Any:
    """New axes of size 1 at these places of the result.

    >>> from adjoint import ops
    >>> ops.expand_dims(ops.ones((2, 3)), 1).shape
    (2, 1, 3)
    """
    axes = axis if isinstance(axis, (tuple, list)) else (axis,)
    n = ndim(input) + len(axes)
    places = {normalize_axis("expand_dims", a, n) for a in axes}
    if len(places) != len(axes):
        raise ArgumentError(f"expand_dims: axis {axis} names an axis twice{called_at()}")
    rest = iter(shape_of(input))
    return card(Reshape, tuple(1 if a in places else next(rest) for a in range(n)))(input)


unsqueeze = expand_dims


def unchanged(shape: Shape) -> Op:
    """The op that shows an array of this shape as it is."""
    return card(Reshape, shape)


@register
@dataclass(frozen=True)
class Transpose(View):
    """The axes in the order `perm`."""

    perm: Shape

    def index_map(self, shape):
        return [(0, self.perm.index(k), 1) for k in range(len(shape))]

    def put(self, x, y):
        back: Any = card(Transpose, inverse_permutation(self.perm))
        return back.show(y)

    def infer(self, x):
        if sorted(self.perm) != list(range(x.ndim)):
            raise ShapeError(f"Transpose: {self.perm} does not name each of the input's {x.ndim} axes once")
        return Spec(tuple(x.shape[a] for a in self.perm), x.dtype)

    def eval(self, xp, x):
        return xp.transpose(x, self.perm)

    def vjp(self, g, y, x):
        return (card(Transpose, inverse_permutation(self.perm))(g),)

    def vmap(self, dims, x):
        d = dims[0]
        others = [a for a in range(len(self.perm) + 1) if a != d]
        return card(Transpose, (d, *(others[a] for a in self.perm)))(x)

    @classmethod
    def samples(cls, draw):
        yield cls((1, 0)), (draw(2, 3),)
        yield cls((2, 0, 1)), (draw(2, 1, 4),)
        yield cls(()), (draw(),)

    @classmethod
    def errors(cls):
        yield cls((0, 0)), (Spec((3, 3)),), "does not name each of the input's 2 axes once"


def inverse_permutation(perm: Shape) -> Shape:
    """
    >>> inverse_permutation((2, 0, 1))
    (1, 2, 0)
    """
    return tuple(sorted(range(len(perm)), key=perm.__getitem__))


@public(aliases=("permute",), method=("transpose", "permute"))
def transpose(input: Any, *axes: Any) -> Any:
    """The axes in another order; reversed if none is given.

    >>> from adjoint import ops, Tensor
    >>> print(ops.transpose(Tensor([[1.0, 2.0], [3.0, 4.0]])))
    [[1. 3.]
     [2. 4.]]
    """
    n = ndim(input)
    if not axes or axes == (None,):
        return card(Transpose, (1, 0) if n == 2 else tuple(reversed(range(n))))(input)
    return card(Transpose, tuple(normalize_axis("transpose", a, n) for a in ints(axes)))(input)


permute = transpose


@public(aliases=("swapdims",), method=True)
def swapaxes(input: Any, axis0: int, axis1: int) -> Any:
    """Two axes exchanged.

    >>> from adjoint import ops, Tensor
    >>> ops.swapaxes(ops.ones((2, 3, 4)), 0, 2).shape
    (4, 3, 2)
    """
    n = ndim(input)
    perm = list(range(n))
    a, b = normalize_axis("swapaxes", axis0, n), normalize_axis("swapaxes", axis1, n)
    perm[a], perm[b] = b, a
    return card(Transpose, tuple(perm))(input)


swapdims = swapaxes


@public(method=True)
def t(input: Any) -> Any:
    """A matrix transposed; vectors and scalars stay.

    >>> from adjoint import ops
    >>> ops.t(ops.ones((2, 3))).shape
    (3, 2)
    """
    if ndim(input) > 2:
        raise ShapeError(f"t: a matrix is needed, not shape {shape_of(input)}; use transpose or swapaxes{called_at()}")
    return transpose(input)


@public(aliases=("movedim",), method=("moveaxis", "movedim"))
def moveaxis(x: Any, source: Any, destination: Any) -> Any:
    """Axes moved to other places, the rest kept in order.

    >>> from adjoint import ops
    >>> ops.moveaxis(ops.ones((2, 3, 4)), 0, -1).shape
    (3, 4, 2)
    """
    n = ndim(x)
    sources = [normalize_axis("moveaxis", a, n) for a in (source if isinstance(source, (tuple, list)) else (source,))]
    targets = [
        normalize_axis("moveaxis", a, n)
        for a in (destination if isinstance(destination, (tuple, list)) else (destination,))
    ]
    if len(sources) != len(targets):
        raise ArgumentError(f"moveaxis: {len(sources)} axes for {len(targets)} places{called_at()}")
    order = [a for a in range(n) if a not in sources]
    for target, axis in sorted(zip(targets, sources, strict=True)):
        order.insert(target, axis)
    return card(Transpose, tuple(order))(x)


movedim = moveaxis

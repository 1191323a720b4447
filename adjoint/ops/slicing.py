"""Parts with known places (slices, integers as indices), and flipping."""

from __future__ import annotations

import itertools
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np

from adjoint.core import views
from adjoint.core.absent import ZERO
from adjoint.core.arrays import check_kind
from adjoint.core.dispatch import Value
from adjoint.core.errors import DtypeError, IndexingError, ShapeError, called_at
from adjoint.core.spec import Shape, Spec, dtype_of, normalize_axis, number_of, promote, shape_of
from adjoint.ops.broadcast import batch_first, batch_front, batch_size, cast_like, match, ndim
from adjoint.ops.broadcasting import BroadcastTo
from adjoint.ops.card import Op, card, register
from adjoint.ops.facts import IndexMap
from adjoint.ops.families import Linear
from adjoint.ops.language import broadcast_to, cast, zeros_like
from adjoint.ops.movement import View, without
from adjoint.ops.publish import public

BasicIndex = tuple  # of int, None, and slices written as (start, stop, step)


def freeze(index: tuple) -> BasicIndex:
    """An index with its slices as tuples, so that it can be compared and hashed."""
    return tuple((i.start, i.stop, i.step) if isinstance(i, slice) else i for i in index)


class Indexed(Op):
    """Ops with a static `index` of integers, slices and new axes."""

    complex, total = True, True
    index: BasicIndex

    @cached_property
    def key(self) -> tuple:
        """The index as Python writes it."""
        return tuple(slice(*i) if isinstance(i, tuple) else i for i in self.index)

    @property
    def batched(self) -> BasicIndex:
        return ((None, None, None), *self.index)

    def picked(self, shape: Shape) -> Shape:
        """The shape of x[index], or an error that names the axis."""
        try:
            return np.broadcast_to(np.False_, shape)[self.key].shape
        except IndexError as error:
            raise IndexingError(f"index {show_index(self.key)} does not fit the shape {shape}: {error}") from None


def show_index(key: tuple) -> str:
    """
    >>> show_index((slice(None), 2, None, slice(1, 4, 2)))
    '[:, 2, None, 1:4:2]'
    """

    def one(i):
        if not isinstance(i, slice):
            return "..." if i is Ellipsis else str(i)
        parts = ["" if v is None else str(v) for v in (i.start, i.stop)]
        return ":".join(parts + ([str(i.step)] if i.step is not None else []))

    return "[" + ", ".join(map(one, key)) + "]"


def written_out(key: tuple, ndim: int) -> tuple:
    """An index with whole slices in place of `...`.

    >>> written_out((0, ..., None), 3)
    (0, slice(None, None, None), slice(None, None, None), None)
    """
    if ... not in key:
        return key
    at = key.index(...)
    named = sum(part is not None for part in key) - 1
    return (*key[:at], *[slice(None)] * (ndim - named), *key[at + 1 :])


def apart(one: BasicIndex, other: BasicIndex, shape: Shape) -> bool:
    """Whether two indices of an array are known to have no element in common.

    >>> apart((0,), ((1, None, None),), (3,)), apart((0,), ((None, 2, None),), (3,))
    (True, False)
    """
    return any(a[1] <= b[0] or b[1] <= a[0] for a, b in zip(_bounds(one, shape), _bounds(other, shape), strict=True))


def _bounds(index: BasicIndex, shape: Shape) -> list[tuple[int, int]]:
    """Between which numbers an index lies along each axis."""
    parts = [slice(*i) if isinstance(i, tuple) else i for i in index]
    named = [i for i in written_out(tuple(parts), len(shape)) if i is not None]
    named += [slice(None)] * (len(shape) - len(named))
    found = []
    for part, n in zip(named, shape, strict=True):
        places = range(n)[part] if isinstance(part, slice) else [part % n]
        found.append((min(places, default=0), max(places, default=-1) + 1))
    return found


@register
@dataclass(frozen=True)
class GetItem(Indexed, View):
    """x[index] for integers, slices and new axes."""

    index: BasicIndex

    saved = True

    def put(self, x, y):
        return card(SetItem, self.index)(with_room(x, y), y)

    def is_apart(self, other, base):
        return type(other) is GetItem and apart(self.index, other.index, shape_of(base))

    def infer(self, x):
        return Spec(self.picked(x.shape), x.dtype)

    def eval(self, xp, x):
        return (x if hasattr(x, "shape") else xp.asarray(x))[self.key]

    def index_map(self, shape):
        sizes, axes = iter(shape), itertools.count()
        places: IndexMap = []
        for part in written_out(self.key, len(shape)):
            if part is None:
                next(axes)
            elif isinstance(part, slice):
                start, _, step = part.indices(next(sizes))
                places.append((start, next(axes), step))
            else:
                places.append((part % next(sizes), None, 0))
        return places + [(0, next(axes), 1) for _ in sizes]

    def vjp(self, g, y, x):
        return (card(PutItem, self.index, shape_of(x))(g),)

    def vmap(self, dims, x):
        return card(GetItem, self.batched)(batch_front(x, dims[0]))

    @classmethod
    def samples(cls, draw):
        yield cls((1,)), (draw(3),)
        yield cls(((1, None, 2), -1)), (draw(4, 2),)
        yield cls(((None, None, -1), None)), (draw(3, 2),)
        yield cls(((5, None, None),)), (draw(3),)

    @classmethod
    def errors(cls):
        yield cls((3,)), (Spec((3,)),), "index [3] does not fit the shape (3,)"
        yield cls((0, 0)), (Spec((3,)),), "index [0, 0] does not fit the shape (3,)"


@public()
def slice_axis(x: Any, axis: int, start: int, stop: int) -> Any:
    """x[..., start:stop, ...] along one non-negative axis.

    >>> from adjoint import ops, Tensor
    >>> print(ops.slice_axis(Tensor([1.0, 2.0, 3.0]), 0, 1, 3))
    [2. 3.]
    """
    return part_along(axis, (start, stop, None))(x)


def part_along(axis: int, place: Any) -> Op:
    """The op that takes one place, an integer or a slice as a tuple, of an axis."""
    return card(GetItem, (*((None, None, None),) * axis, place))


def show_parts(x: Any, axis: int, places: Any, parts: tuple[Any, ...]) -> tuple[Any, ...]:
    """The parts of x, each of which shows its elements."""
    if isinstance(x, Value):
        for place, part in zip(places, parts, strict=True):
            if part.shape:
                views.relate(part, x, part_along(axis, place))
    return parts


@register
@dataclass(frozen=True)
class PutItem(Indexed, Linear):
    """Zeros of `shape` with x at [index]; the transpose of GetItem."""

    copies = True

    index: BasicIndex
    shape: Shape

    def infer(self, x):
        if self.picked(self.shape) != x.shape:
            raise ShapeError(f"PutItem: shape {x.shape} does not fill {show_index(self.key)} of {self.shape}")
        return Spec(self.shape, x.dtype)

    def eval(self, xp, x):
        y = xp.zeros(self.shape, x.dtype if hasattr(x, "dtype") else xp.asarray(x).dtype)
        y[self.key] = x
        return y

    def vjp(self, g, y, x):
        return (card(GetItem, self.index)(g),)

    def vmap(self, dims, x):
        x = batch_front(x, dims[0])
        return PutItem(self.batched, (shape_of(x)[0], *self.shape))(x)

    @classmethod
    def samples(cls, draw):
        yield cls((1,), (3,)), (draw(),)
        yield cls(((1, None, 2), -1), (4, 2)), (draw(2),)

    @classmethod
    def errors(cls):
        yield cls((1,), (3,)), (Spec((2,)),), "does not fill [1] of (3,)"


@register
@dataclass(frozen=True)
class SetItem(Indexed):
    """A copy of x with v at [index]."""

    copies = True

    index: BasicIndex

    def infer(self, x, v):
        part = self.picked(x.shape)
        card(BroadcastTo, part).infer(v)
        return Spec(x.shape, x.dtype)

    def eval(self, xp, x, v):
        y = xp.array(x)
        y[self.key] = v
        return y

    def update(self, x, v):
        x[self.key] = v

    def vjp(self, g, y, x, v):
        return lambda: self(g, 0), lambda: match(card(GetItem, self.index)(g), v)

    def jvp(self, ts, y, x, v):
        t, s = ts
        if t is ZERO and s is ZERO:
            return ZERO
        base = zeros_like(y) if t is ZERO else t
        return self(base, 0 if s is ZERO else cast_like(s, y))

    def vmap(self, dims, x, v):
        x, v = (
            broadcast_to(x, (batch_size(dims, (x, v)), *shape_of(x))) if dims[0] is None else batch_front(x, dims[0]),
            batch_first(
                v, dims[1], len(self.picked(shape_of(x) if dims[0] is None else without(shape_of(x), dims[0])))
            ),
        )
        return SetItem(self.batched)(x, v)

    @classmethod
    def samples(cls, draw):
        yield cls((1,)), (draw(3), draw())
        yield cls(((1, None, None),)), (draw(3, 2), draw(2))
        yield cls(((None, None, 2), 0)), (draw(3, 2), draw(2))

    @classmethod
    def errors(cls):
        yield cls((3,)), (Spec((3,)), Spec(())), "index [3] does not fit"
        yield cls((0,)), (Spec((3,)), Spec((2,))), "does not broadcast"


def with_room(x: Any, value: Any) -> Any:
    """`x`, in a wider dtype of its kind if `value` has one: no digits are lost on the way in. Python numbers take x's dtype; what
    is of another kind (a float for integers, a complex number for floats) is refused."""
    old, new = dtype_of(x), dtype_of(value)
    if isinstance(value, np.ndarray):
        check_kind(value)
    if old == new:
        return x
    if new.kind not in _KINDS:
        raise DtypeError(f"x[i] = v: a Tensor of {old} holds numbers, and {value!r:.60} is none{called_at()}")
    have, want = (_KINDS[d.kind] for d in (old, new))
    if want > have and (have or want > 1):
        what = {2: "floats", 3: "complex values"}[want]
        raise DtypeError(f"x[i] = v: {what} do not fit into a Tensor of {old}; cast one of them first{called_at()}")
    if number_of(value) is not None:
        if have == 1 and isinstance(value, int) and not np.iinfo(old).min <= value <= np.iinfo(old).max:
            raise OverflowError(f"x[i] = v: {value} does not fit into a Tensor of {old}{called_at()}")
        return x
    if want != have and not (have == 3 and want == 2):  # integers become floats as they do anywhere
        return x
    wide = promote([Spec((), old), Spec((), new)])
    return x if wide == old or (have == 1 and wide.kind == "f") else cast(x, wide)


#: Truth values, integers, floats, complex numbers.
_KINDS = {"b": 0, "i": 1, "u": 1, "f": 2, "V": 2, "c": 3}


@register
@dataclass(frozen=True)
class Flip(View):
    """The order of the elements reversed along `axes`."""

    axes: Shape

    def put(self, x, y):
        return self.show(y)

    def infer(self, x):
        for a in self.axes:
            normalize_axis(self, a, x.ndim)
        return Spec(x.shape, x.dtype)

    def eval(self, xp, x):
        return xp.flip(x, self.axes)

    def index_map(self, shape):
        axes = {a % len(shape) for a in self.axes}
        return [(n - 1, k, -1) if k in axes else (0, k, 1) for k, n in enumerate(shape)]

    def vjp(self, g, y, x):
        return (self(g),)

    def vmap(self, dims, x):
        return Flip(tuple(a + 1 for a in self.axes))(batch_front(x, dims[0]))

    @classmethod
    def samples(cls, draw):
        yield cls((0,)), (draw(4),)
        yield cls((0, 1)), (draw(2, 3),)

    @classmethod
    def errors(cls):
        yield cls((1,)), (Spec((3,)),), "outside the input's 1 axes"


@public(method=True)
def flip(input: Any, axis: Any = None) -> Any:
    """The order reversed along an axis, several axes, or all.

    >>> from adjoint import ops, Tensor
    >>> print(ops.flip(Tensor([1.0, 2.0, 3.0])))
    [3. 2. 1.]
    """
    n = ndim(input)
    axes = range(n) if axis is None else axis if isinstance(axis, (tuple, list)) else (axis,)
    return card(Flip, tuple(normalize_axis("flip", a, n) for a in axes))(input)

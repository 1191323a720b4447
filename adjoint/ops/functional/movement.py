"""Reshaping, joining, splitting, repeating, padding."""

from __future__ import annotations

import builtins
import itertools
from collections.abc import Sequence
from math import prod
from typing import Any

import numpy as np

from adjoint.core.dispatch import Value
from adjoint.core.errors import ArgumentError, ShapeError, called_at
from adjoint.core.spec import dtype_of, normalize_axis, promote, shape_of, spec_of
from adjoint.core.verbs import verbs
from adjoint.ops.card import card
from adjoint.ops.compare import where
from adjoint.ops.functional.index import getitem
from adjoint.ops.index import Gather
from adjoint.ops.movement import BroadcastTo, Concat, Flip, GetItem, Pad, Reshape, Split, Transpose
from adjoint.ops.stacking import Stack, Unstack


def _ndim(x: Any) -> int:
    return len(shape_of(x))


def _ints(values: Any) -> tuple[int, ...]:
    """A shape or list of axes given as one sequence or as separate numbers."""
    if len(values) == 1 and isinstance(values[0], (tuple, list, np.ndarray)):
        values = values[0]
    return tuple(int(v) for v in values)


def reshape(input: Any, *shape: Any) -> Any:
    """The same elements in the same order under another shape; one size may be -1.

    >>> from adjoint import ops, Tensor
    >>> print(ops.reshape(Tensor([1.0, 2.0, 3.0, 4.0]), (2, -1)))
    [[1. 2.]
     [3. 4.]]
    """
    want = _ints(shape)
    if -1 in want:
        known = -prod(want)
        total = prod(shape_of(input))
        if want.count(-1) > 1 or (known and total % known):
            raise ShapeError(f"reshape: {total} elements of shape {shape_of(input)} do not fill {want}{called_at()}")
        want = tuple((total // known if known else 0) if n == -1 else n for n in want)
    return card(Reshape, want)(input)


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
        return card(Reshape, (1,))(input)
    a, b = (normalize_axis("flatten", d, len(shape)) for d in (start_dim, end_dim))
    return card(Reshape, (*shape[:a], prod(shape[a : b + 1]), *shape[b + 1 :]))(input)


ravel = flatten


def transpose(input: Any, *axes: Any) -> Any:
    """The axes in another order; reversed if none is given.

    >>> from adjoint import ops, Tensor
    >>> print(ops.transpose(Tensor([[1.0, 2.0], [3.0, 4.0]])))
    [[1. 3.]
     [2. 4.]]
    """
    n = _ndim(input)
    perm = tuple(reversed(range(n))) if not axes or axes == (None,) else _ints(axes)
    return card(Transpose, tuple(normalize_axis("transpose", a, n) for a in perm))(input)


permute = transpose


def swapaxes(input: Any, axis0: int, axis1: int) -> Any:
    """Two axes exchanged.

    >>> from adjoint import ops, Tensor
    >>> ops.swapaxes(ops.ones((2, 3, 4)), 0, 2).shape
    (4, 3, 2)
    """
    n = _ndim(input)
    perm = list(range(n))
    a, b = normalize_axis("swapaxes", axis0, n), normalize_axis("swapaxes", axis1, n)
    perm[a], perm[b] = b, a
    return card(Transpose, tuple(perm))(input)


swapdims = swapaxes


def t(input: Any) -> Any:
    """A matrix transposed; vectors and scalars stay.

    >>> from adjoint import ops
    >>> ops.t(ops.ones((2, 3))).shape
    (3, 2)
    """
    if _ndim(input) > 2:
        raise ShapeError(f"t: a matrix is needed, not shape {shape_of(input)}; use transpose or swapaxes{called_at()}")
    return transpose(input)


def moveaxis(x: Any, source: Any, destination: Any) -> Any:
    """Axes moved to other places, the rest kept in order.

    >>> from adjoint import ops
    >>> ops.moveaxis(ops.ones((2, 3, 4)), 0, -1).shape
    (3, 4, 2)
    """
    n = _ndim(x)
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


def expand_dims(input: Any, axis: Any) -> Any:
    """New axes of size 1 at these places of the result.

    >>> from adjoint import ops
    >>> ops.expand_dims(ops.ones((2, 3)), 1).shape
    (2, 1, 3)
    """
    axes = axis if isinstance(axis, (tuple, list)) else (axis,)
    n = _ndim(input) + len(axes)
    places = {normalize_axis("expand_dims", a, n) for a in axes}
    if len(places) != len(axes):
        raise ArgumentError(f"expand_dims: axis {axis} names an axis twice{called_at()}")
    rest = iter(shape_of(input))
    return card(Reshape, tuple(1 if a in places else next(rest) for a in range(n)))(input)


unsqueeze = expand_dims


def broadcast_to(input: Any, shape: Sequence[int]) -> Any:
    """The input repeated along new axes and axes of size 1; -1 keeps a size.

    >>> from adjoint import ops, Tensor
    >>> print(ops.broadcast_to(Tensor([1.0, 2.0]), (2, 2)))
    [[1. 2.]
     [1. 2.]]
    """
    want = tuple(int(n) for n in shape)
    have = shape_of(input)
    lead = len(want) - len(have)
    want = tuple(have[a - lead] if n == -1 and a >= lead else n for a, n in enumerate(want))
    return card(BroadcastTo, want)(input)


def expand(input: Any, *size: Any) -> Any:
    """`broadcast_to` with the sizes as separate arguments.

    >>> from adjoint import ops, Tensor
    >>> ops.expand(Tensor([[1.0], [2.0]]), 2, 3).shape
    (2, 3)
    """
    return broadcast_to(input, _ints(size))


def broadcast_arrays(*inputs: Any) -> tuple[Any, ...]:
    """All inputs, repeated to their common shape.

    >>> from adjoint import ops, Tensor
    >>> [x.shape for x in ops.broadcast_arrays(Tensor([1.0]), Tensor([[1.0], [2.0]]))]
    [(2, 1), (2, 1)]
    """
    shape = np.broadcast_shapes(*(shape_of(x) for x in inputs))
    return tuple(x if shape_of(x) == shape else card(BroadcastTo, shape)(x) for x in inputs)


def tile(input: Any, reps: Any) -> Any:
    """The whole input repeated along each axis.

    >>> from adjoint import ops, Tensor
    >>> print(ops.tile(Tensor([1.0, 2.0]), 2))
    [1. 2. 1. 2.]
    """
    counts = (reps,) if isinstance(reps, (int, np.integer)) else tuple(reps)
    shape = shape_of(input)
    counts = (1,) * (len(shape) - len(counts)) + counts
    shape = (1,) * (len(counts) - len(shape)) + shape
    spread = card(Reshape, tuple(k for n in shape for k in (1, n)))(input)
    spread = card(BroadcastTo, tuple(k for r, n in zip(counts, shape, strict=True) for k in (r, n)))(spread)
    return card(Reshape, tuple(r * n for r, n in zip(counts, shape, strict=True)))(spread)


def repeat(input: Any, repeats: Any, axis: int | None = None) -> Any:
    """Each element repeated along an axis, or of the flattened input; `repeats` may give a number for each.

    >>> from adjoint import ops, Tensor
    >>> print(ops.repeat(Tensor([1.0, 2.0]), 2))
    [1. 1. 2. 2.]
    """
    if axis is None:
        input, axis = reshape(input, -1), 0
    axis = normalize_axis("repeat", axis, _ndim(input))
    counts = repeats.asnumpy() if isinstance(repeats, Value) else np.asarray(repeats)
    return take(input, np.repeat(np.arange(shape_of(input)[axis]), counts), axis)


repeat_interleave = repeat


def flip(input: Any, axis: Any = None) -> Any:
    """The order reversed along an axis, several axes, or all.

    >>> from adjoint import ops, Tensor
    >>> print(ops.flip(Tensor([1.0, 2.0, 3.0])))
    [3. 2. 1.]
    """
    n = _ndim(input)
    axes = range(n) if axis is None else axis if isinstance(axis, (tuple, list)) else (axis,)
    return card(Flip, tuple(normalize_axis("flip", a, n) for a in axes))(input)


def roll(input: Any, shifts: Any, axis: Any = None) -> Any:
    """Elements moved along an axis; those pushed off one end come in at the other.

    >>> from adjoint import ops, Tensor
    >>> print(ops.roll(Tensor([1.0, 2.0, 3.0]), 1))
    [3. 1. 2.]
    """
    if axis is None:
        return reshape(roll(reshape(input, -1), shifts, 0), shape_of(input))
    for step, along in np.broadcast(shifts, axis):
        a = normalize_axis("roll", int(along), _ndim(input))
        size = shape_of(input)[a]
        cut = int(-step) % size if size else 0
        if cut:
            input = concat([slice_axis(input, a, cut, size), slice_axis(input, a, 0, cut)], a)
    return input


def slice_axis(x: Any, axis: int, start: int, stop: int) -> Any:
    """x[..., start:stop, ...] along one non-negative axis.

    >>> from adjoint import ops, Tensor
    >>> print(ops.slice_axis(Tensor([1.0, 2.0, 3.0]), 0, 1, 3))
    [2. 3.]
    """
    return card(GetItem, (*((None, None, None),) * axis, (start, stop, None)))(x)


def concat(tensors: Sequence[Any], axis: int = 0) -> Any:
    """Tensors one after another along an axis.

    >>> from adjoint import ops, Tensor
    >>> print(ops.concat([Tensor([1.0]), Tensor([2.0, 3.0])]))
    [1. 2. 3.]
    """
    tensors = list(tensors)
    if not tensors:
        raise ArgumentError(f"concat: no tensors to join{called_at()}")
    return card(Concat, normalize_axis("concat", axis, _ndim(tensors[0])))(*tensors)


cat = concatenate = concat


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
    if builtins.any(isinstance(x, (int, float, builtins.complex)) for x in tensors):
        # Python numbers give way to arrays.
        dtype = promote(map(spec_of, tensors))
        tensors = [x if isinstance(x, (Value, np.ndarray)) else np.asarray(x, dtype) for x in tensors]
    return card(Stack, normalize_axis("stack", axis, _ndim(tensors[0]) + 1))(*tensors)


def unstack(input: Any, axis: int = 0) -> tuple[Any, ...]:
    """The slices along an axis.

    >>> from adjoint import ops, Tensor
    >>> a, b = ops.unstack(Tensor([[1.0, 2.0], [3.0, 4.0]]))
    >>> print(a, b)
    [1. 2.] [3. 4.]
    """
    return card(Unstack, normalize_axis("unstack", axis, _ndim(input)))(input)


unbind = unstack


def split(tensor: Any, split_size_or_sections: Any, axis: int = 0) -> tuple[Any, ...]:
    """Pieces of one size (the last may be smaller), or of the listed sizes, along an axis.

    >>> from adjoint import ops, Tensor
    >>> print(*ops.split(Tensor([1.0, 2.0, 3.0]), 2))
    [1. 2.] [3.]
    """
    axis = normalize_axis("split", axis, _ndim(tensor))
    total = shape_of(tensor)[axis]
    sizes = split_size_or_sections
    if isinstance(sizes, (int, np.integer)):
        if sizes < 1:
            raise ArgumentError(f"split: pieces of size {sizes}; the size must be at least 1{called_at()}")
        sizes = [builtins.min(sizes, total - k) for k in range(0, total, sizes)] or [0]
    return card(Split, tuple(int(n) for n in sizes), axis)(tensor)


def chunk(input: Any, chunks: int, axis: int = 0) -> tuple[Any, ...]:
    """About `chunks` pieces of equal size along an axis; the last may be smaller.

    >>> from adjoint import ops, Tensor
    >>> print(*ops.chunk(Tensor([1.0, 2.0, 3.0]), 2))
    [1. 2.] [3.]
    """
    if chunks < 1:
        raise ArgumentError(f"chunk: {chunks} pieces; there must be at least 1{called_at()}")
    size = shape_of(input)[normalize_axis("chunk", axis, _ndim(input))]
    return split(input, builtins.max(-(-size // chunks), 1), axis)


def array_split(input: Any, indices_or_sections: Any, axis: int = 0) -> tuple[Any, ...]:
    """NumPy's split: a number of nearly equal pieces, or the places to cut at.

    >>> from adjoint import ops, Tensor
    >>> print(*ops.array_split(Tensor([1.0, 2.0, 3.0]), [1]))
    [1.] [2. 3.]
    """
    axis = normalize_axis("array_split", axis, _ndim(input))
    total = shape_of(input)[axis]
    if isinstance(indices_or_sections, (int, np.integer)):
        each, more = divmod(total, int(indices_or_sections))
        sizes = [each + 1] * more + [each] * (int(indices_or_sections) - more)
    else:
        cuts = [
            0,
            *(builtins.min(builtins.max(c + total if c < 0 else c, 0), total) for c in indices_or_sections),
            total,
        ]
        sizes = [builtins.max(b - a, 0) for a, b in itertools.pairwise(cuts)]
    return card(Split, tuple(sizes), axis)(input)


def pad(input: Any, padding: Any, mode: str = "constant", value: Any = 0.0) -> Any:
    """Elements added at the ends of the last axes, PyTorch's and MindSpore's way: pairs from the last axis backwards.

    `mode` is "constant", "reflect", "replicate" or "circular".

    >>> from adjoint import ops, Tensor
    >>> print(ops.pad(Tensor([1.0, 2.0]), (1, 2)))
    [0. 1. 2. 0. 0.]
    """
    pairs = [(int(a), int(b)) for a, b in zip(padding[::2], padding[1::2], strict=False)]
    if len(padding) % 2 or len(pairs) > _ndim(input):
        raise ArgumentError(
            f"pad: {len(padding)} widths for an input of {_ndim(input)} axes; give a pair for each axis{called_at()}"
        )
    widths = [(0, 0)] * (_ndim(input) - len(pairs)) + pairs[::-1]
    return pad_widths(input, widths, mode, value)


def pad_widths(input: Any, widths: Sequence[tuple[int, int]], mode: str = "constant", value: Any = 0.0) -> Any:
    """Elements added at the ends of every axis, NumPy's way: one pair for each axis, from the first. Negative crops.

    >>> from adjoint import ops, Tensor
    >>> print(ops.pad_widths(Tensor([1.0, 2.0, 3.0]), [(1, 1)], "reflect"))
    [2. 1. 2. 3. 2.]
    """
    styles = {"constant": "constant", "reflect": "reflect", "replicate": "edge", "edge": "edge", "circular": "wrap",
              "wrap": "wrap", "symmetric": "symmetric"}  # fmt: skip
    if mode not in styles:
        raise ArgumentError(f"pad: mode {mode!r} is not one of {', '.join(styles)}{called_at()}")
    if builtins.any(a < 0 or b < 0 for a, b in widths):
        cuts = [
            (builtins.max(-a, 0), n - builtins.max(-b, 0)) for (a, b), n in zip(widths, shape_of(input), strict=True)
        ]
        if builtins.any(start > stop for start, stop in cuts):
            raise ArgumentError(
                f"pad: widths {list(widths)} crop more than the shape {shape_of(input)} has{called_at()}"
            )
        input = card(GetItem, tuple((start, stop, None) for start, stop in cuts))(input)
    widths = tuple((builtins.max(a, 0), builtins.max(b, 0)) for a, b in widths)
    if mode != "constant":
        for axis, pair in enumerate(widths):
            if pair != (0, 0):
                style: Any = styles[mode]
                input = take(input, np.pad(np.arange(shape_of(input)[axis]), pair, style), axis)
        return input
    padded = card(Pad, widths)(input)
    if isinstance(value, (int, float)) and value == 0:
        return padded
    inside = np.pad(np.ones(shape_of(input), bool), widths)
    filled = where(inside, padded, value)
    return filled if dtype_of(filled) == dtype_of(input) else verbs.cast(filled, dtype_of(input))


def take(input: Any, indices: Any, axis: int | None = None) -> Any:
    """The slices at these positions along an axis, or elements of the flattened input.

    >>> from adjoint import ops, Tensor
    >>> print(ops.take(Tensor([1.0, 2.0, 3.0]), [2, 0]))
    [3. 1.]
    """
    if axis is None:
        return getitem(reshape(input, -1), (_index_array(indices),))
    axis = normalize_axis("take", axis, _ndim(input))
    return getitem(input, (*(slice(None),) * axis, _index_array(indices)))


def _index_array(indices: Any) -> Any:
    if isinstance(indices, (Value, np.ndarray, int)):
        return indices
    array = np.asarray(indices)
    return array if array.size else array.astype(int)  # an empty list is one of whole numbers


def _grid_index(what: str, x: Any, indices: Any, axis: int, whole: bool = False) -> list[Any]:
    """One index array for each axis: `indices` for this one, each position itself for the others.

    The positions are those of `indices`, or with `whole` those of the input, against which `indices` broadcast.
    """
    shape = shape_of(x if whole else indices)
    n = len(shape_of(indices))
    if n != _ndim(x):
        raise ShapeError(f"{what}: the indices have {n} axes, the input {_ndim(x)}{called_at()}")
    return [
        indices if a == axis else np.arange(shape[a]).reshape((1,) * a + (-1,) + (1,) * (n - a - 1)) for a in range(n)
    ]


def take_along_axis(input: Any, indices: Any, axis: int) -> Any:
    """For each place of `indices`, the element at that position along the axis; the other axes broadcast.

    >>> from adjoint import ops, Tensor
    >>> print(ops.take_along_axis(Tensor([[1.0, 2.0], [3.0, 4.0]]), Tensor([[1], [0]]), 1))
    [[2.]
     [3.]]
    """
    axis = normalize_axis("take_along_axis", axis, _ndim(input))
    return Gather()(input, *_grid_index("take_along_axis", input, _index_array(indices), axis, whole=True))


def meshgrid(*inputs: Any, indexing: str = "xy") -> tuple[Any, ...]:
    """Coordinate arrays of a grid from the coordinates along each axis.

    >>> from adjoint import ops, Tensor
    >>> print(ops.meshgrid(Tensor([1.0, 2.0]), Tensor([3.0, 4.0]))[0])
    [[1. 2.]
     [1. 2.]]
    """
    if indexing not in ("xy", "ij"):
        raise ArgumentError(f"meshgrid: indexing must be 'xy' or 'ij', not {indexing!r}{called_at()}")
    n = len(inputs)
    order = list(range(n))
    if indexing == "xy" and n > 1:
        order[0], order[1] = 1, 0
    shape = [0] * n
    for k, x in enumerate(inputs):
        shape[order[k]] = prod(shape_of(x))
    grids = []
    for k, x in enumerate(inputs):
        line = card(Reshape, tuple(prod(shape_of(x)) if a == order[k] else 1 for a in range(n)))(x)
        grids.append(card(BroadcastTo, tuple(shape))(line))
    return tuple(grids)


def diagonal(input: Any, offset: int = 0, dim1: int = 0, dim2: int = 1) -> Any:
    """The diagonal of two axes, as a new last axis.

    >>> from adjoint import ops, Tensor
    >>> print(ops.diagonal(Tensor([[1.0, 2.0], [3.0, 4.0]])))
    [1. 4.]
    """
    x = moveaxis(input, (dim1, dim2), (0, 1))
    rows, columns = shape_of(x)[:2]
    size = builtins.max(builtins.min(rows + builtins.min(offset, 0), columns - builtins.max(offset, 0)), 0)
    steps = np.arange(size)
    picked = Gather()(x, steps + builtins.max(-offset, 0), steps + builtins.max(offset, 0))
    return moveaxis(picked, 0, -1)


def diag(input: Any, diagonal: int = 0) -> Any:
    """A matrix with the vector on its diagonal, or the diagonal of a matrix.

    >>> from adjoint import ops, Tensor
    >>> print(ops.diag(Tensor([1.0, 2.0])))
    [[1. 0.]
     [0. 2.]]
    """
    if _ndim(input) == 1:
        return diag_embed(input, diagonal)
    if _ndim(input) != 2:
        raise ShapeError(
            f"diag: a vector or matrix is needed, not shape {shape_of(input)}; see diag_embed{called_at()}"
        )
    return _diagonal(input, diagonal)


_diagonal = diagonal


def diag_embed(input: Any, offset: int = 0) -> Any:
    """Matrices with the last axis of the input on their diagonals.

    >>> from adjoint import ops, Tensor
    >>> print(ops.diag_embed(Tensor([1.0, 2.0]), 1))
    [[0. 1. 0.]
     [0. 0. 2.]
     [0. 0. 0.]]
    """
    n = shape_of(input)[-1] + builtins.abs(offset)
    above, below = builtins.max(offset, 0), builtins.max(-offset, 0)
    lead = [(0, 0)] * (_ndim(input) - 1)
    row = card(Pad, (*lead, (above, below)))(input)  # the element of each column, at its place in the row
    return where(np.eye(n, n, offset, dtype=bool), expand_dims(row, -2), 0)


def tril(input: Any, diagonal: int = 0) -> Any:
    """The part of a matrix on and below a diagonal, zeros above.

    >>> from adjoint import ops
    >>> print(ops.tril(ops.ones((2, 2))))
    [[1. 0.]
     [1. 1.]]
    """
    return where(np.tri(*_matrix_shape("tril", input), diagonal, dtype=bool), input, 0)


def triu(input: Any, diagonal: int = 0) -> Any:
    """The part of a matrix on and above a diagonal, zeros below.

    >>> from adjoint import ops
    >>> print(ops.triu(ops.ones((2, 2))))
    [[1. 1.]
     [0. 1.]]
    """
    return where(np.tri(*_matrix_shape("triu", input), diagonal - 1, dtype=bool), 0, input)


def _matrix_shape(what: str, x: Any) -> tuple[int, int]:
    if _ndim(x) < 2:
        raise ShapeError(f"{what}: a matrix is needed, not shape {shape_of(x)}{called_at()}")
    return shape_of(x)[-2:]  # type: ignore[return-value]


def ones_like_shape(x: Any, shape: tuple[int, ...]) -> Any:
    """Plain ones of another shape, in the dtype of x.

    >>> from adjoint import ops, Tensor
    >>> ops.ones_like_shape(Tensor([1.0]), (2,))
    array([1., 1.], dtype=float32)
    """
    return np.ones(shape, dtype_of(x))


def array(data: Any) -> Any:
    """One Tensor from nested lists of Tensors, arrays and numbers, differentiable in each; arrays stay as they are.

    >>> import adjoint as ad
    >>> print(ad.grad(lambda x: ad.ops.array([x, 2 * x, 5.0]).sum())(1.0))
    3.0
    """
    if isinstance(data, np.ndarray) and data.dtype == object:
        return reshape(stack([array(x) for x in data.ravel()]), data.shape) if data.size else np.zeros(data.shape)
    if isinstance(data, (list, tuple)):
        parts = [array(x) for x in data]
        return stack(parts) if builtins.any(isinstance(p, Value) for p in parts) else np.asarray(parts)
    return data


verbs.unstack, verbs.stack, verbs.array = unstack, stack, array

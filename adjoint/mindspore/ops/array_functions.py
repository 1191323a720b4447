"""Functions that move, join, cut and repeat elements."""

from __future__ import annotations

import builtins
from typing import Any

import numpy as np

from adjoint import ops as _ops
from adjoint.core.dispatch import Value
from adjoint.core.errors import ArgumentError, ArgumentTypeError
from adjoint.core.spec import int32, int64, normalize_axis
from adjoint.mindspore.ops.promotion import listed, promoted, sizes, static, tensor
from adjoint.ops.numpylike import api as _np

column_stack, hstack, vstack, dstack = _np.column_stack, _np.hstack, _np.vstack, _np.dstack
row_stack, diagflat = vstack, _np.diagflat


def atleast_1d(inputs: Any) -> Any:
    """With one axis at least; of each Tensor of a sequence."""
    return _each(_np.atleast_1d, inputs)


def atleast_2d(inputs: Any) -> Any:
    """With two axes at least; of each Tensor of a sequence."""
    return _each(_np.atleast_2d, inputs)


def atleast_3d(inputs: Any) -> Any:
    """With three axes at least; of each Tensor of a sequence."""
    return _each(_np.atleast_3d, inputs)


def _each(function: Any, inputs: Any) -> Any:
    return tuple(function(x) for x in inputs) if isinstance(inputs, (list, tuple)) else function(inputs)


def reshape(input: Any, shape: Any) -> Any:
    """The same elements under another shape; one size may be -1."""
    return _ops.reshape(tensor(input), sizes(shape))


reshape_ = reshape


def flatten(input: Any, order: str = "C", *, start_dim: int = 1, end_dim: int = -1) -> Any:
    """The axes from start_dim to end_dim in one."""
    x = tensor(input)
    if x.ndim < 2 and start_dim == 1:
        return _ops.reshape(x, (-1,))
    return _ops.flatten(x, order, start_dim=start_dim, end_dim=end_dim)


def ravel(input: Any) -> Any:
    """All axes in one."""
    return _ops.reshape(tensor(input), (-1,))


def _axis(what: str, axis: Any) -> int:
    """An axis, which is an integer."""
    found = static(axis)
    if not isinstance(found, (int, np.integer)) or isinstance(found, bool):
        raise ArgumentTypeError(f"{what}: the axis must be an int, not {axis!r}")
    return int(found)


def expand_dims(input_x: Any, axis: Any) -> Any:
    """A new axis of size 1."""
    return _ops.expand_dims(tensor(input_x), _axis("expand_dims", axis))


def unsqueeze(input: Any, dim: Any) -> Any:
    """A new axis of size 1."""
    return _ops.expand_dims(tensor(input), _axis("unsqueeze", dim))


def squeeze(input: Any, axis: Any = None) -> Any:
    """Axes of size 1 dropped: all, or those named that are of size 1."""
    x, axis = tensor(input), static(axis)
    if axis is None or axis == ():
        return _ops.squeeze(x)
    named = (axis,) if isinstance(axis, int) else tuple(axis)
    short = tuple(a for a in named if not -x.ndim <= a < x.ndim or x.shape[a] == 1)
    return _ops.squeeze(x, short) if short else x


def transpose(input: Any, dims: Any) -> Any:
    """The axes in another order."""
    return _ops.transpose(tensor(input), sizes(dims))


def permute(input: Any, axis: Any) -> Any:
    """The axes in another order."""
    return _ops.transpose(tensor(input), sizes(axis))


def swapdims(input: Any, dim0: int, dim1: int) -> Any:
    """Two axes exchanged."""
    return _ops.swapaxes(input, dim0, dim1)


def concat(tensors: Any, axis: int = 0) -> Any:
    """Tensors one after the other along an axis they have."""
    if not isinstance(tensors, (list, tuple)):
        raise ArgumentTypeError(f"concat: a tuple or list of Tensors is needed, not {type(tensors).__name__}")
    for x in tensors:
        if not isinstance(x, (Value, np.ndarray)):
            raise ArgumentTypeError(f"concat: a tuple or list of Tensors is needed, {type(x).__name__} is among them")
    return _ops.concat(list(promoted(*tensors)), axis)


cat = concat


def stack(tensors: Any, axis: int = 0) -> Any:
    """Tensors one after the other along a new axis."""
    if not isinstance(tensors, (list, tuple)):
        raise ArgumentTypeError(f"stack: a tuple or list of Tensors is needed, not {type(tensors).__name__}")
    return _ops.stack([tensor(x) for x in promoted(*tensors)], axis)


def unstack(input_x: Any, axis: int = 0) -> tuple[Any, ...]:
    """The slices along an axis."""
    return tuple(_ops.unstack(tensor(input_x), axis))


def unbind(input: Any, dim: int = 0) -> tuple[Any, ...]:
    """The slices along an axis."""
    return tuple(_ops.unstack(tensor(input), dim))


def split(tensor: Any, split_size_or_sections: Any, axis: int = 0) -> tuple[Any, ...]:
    """Parts of a size, or of these sizes, along an axis."""
    parts = static(split_size_or_sections)
    if not isinstance(axis, int):
        raise ArgumentTypeError(f"split: axis must be an int, not {axis!r}")
    if isinstance(parts, int) and parts <= 0:
        raise ArgumentError(f"split: the size of the parts must be positive, not {parts}")
    return tuple(_ops.split(tensor, parts, axis))


def even_split(x: Any, axis: int = 0, output_num: int = 1) -> tuple[Any, ...]:
    """So many equal parts along an axis."""
    x = tensor(x)
    n = x.shape[normalize_axis("Split", axis, x.ndim)]
    if n % output_num:
        raise ArgumentError(f"Split: axis {axis} of size {n} cannot be cut into {output_num} equal parts")
    return tuple(_ops.split(x, n // output_num, axis))


def chunk(input: Any, chunks: int, axis: int = 0) -> tuple[Any, ...]:
    """At most so many parts of equal size along an axis; the last may be smaller."""
    return tuple(_ops.chunk(input, chunks, axis))


def tensor_split(input: Any, indices_or_sections: Any, axis: int = 0) -> tuple[Any, ...]:
    """Parts along an axis: so many, of sizes that differ by one at most, or cut at these places."""
    return tuple(_ops.array_split(input, static(indices_or_sections), axis))


def hsplit(input: Any, indices_or_sections: Any) -> tuple[Any, ...]:
    """Parts along the second axis, or the only one."""
    return tensor_split(input, indices_or_sections, 0 if input.ndim == 1 else 1)


def vsplit(input: Any, indices_or_sections: Any) -> tuple[Any, ...]:
    """Parts along the first axis."""
    return tensor_split(input, indices_or_sections, 0)


def dsplit(input: Any, indices_or_sections: Any) -> tuple[Any, ...]:
    """Parts along the third axis."""
    return tensor_split(input, indices_or_sections, 2)


def tile(input: Any, dims: Any) -> Any:
    """The Tensor repeated along its axes."""
    if isinstance(dims, int):
        raise ArgumentTypeError(f"tile: the numbers of repetitions must be a tuple of ints, not {dims!r}")
    return _ops.tile(tensor(input), sizes(dims))


def repeat_elements(x: Any, rep: int, axis: int = 0) -> Any:
    """Every slice along an axis several times."""
    return _ops.repeat(x, rep, axis)


def repeat_interleave(input: Any, repeats: Any, axis: Any = None) -> Any:
    """Every slice along an axis several times."""
    return _ops.repeat(tensor(input), static(repeats), axis)


def broadcast_to(input: Any, shape: Any) -> Any:
    """The Tensor repeated to a shape; -1 keeps a size."""
    x, want = tensor(input), sizes(shape)
    lead = len(want) - x.ndim
    kept = tuple(x.shape[i - lead] if n == -1 and i >= lead else n for i, n in enumerate(want))
    return _ops.broadcast_to(x, kept)


def expand(input_x: Any, size: Any) -> Any:
    """The Tensor repeated to a shape; -1 keeps a size."""
    return broadcast_to(input_x, size)


def expand_as(input: Any, other: Any) -> Any:
    """The Tensor repeated to the shape of another."""
    return _ops.broadcast_to(input, other.shape)


def view_as(input: Any, other: Any) -> Any:
    """The elements under the shape of another Tensor."""
    return _ops.reshape(input, other.shape)


def slice(input_x: Any, begin: Any, size: Any) -> Any:
    """A part: so many elements of each axis, from `begin` on; -1 means all that follow."""
    x = tensor(input_x)
    for axis, (start, count) in enumerate(zip(sizes(begin), sizes(size), strict=True)):
        stop = x.shape[axis] if count == -1 else start + count
        if start < 0 or count < -1 or stop > x.shape[axis]:
            raise ArgumentError(f"Slice: begin {start} and size {count} leave axis {axis} of size {x.shape[axis]}")
        x = _ops.slice_axis(x, axis, start, stop)
    return x


tensor_slice = slice


def strided_slice(
    input_x: Any,
    begin: Any,
    end: Any,
    strides: Any,
    begin_mask: int = 0,
    end_mask: int = 0,
    ellipsis_mask: int = 0,
    new_axis_mask: int = 0,
    shrink_axis_mask: int = 0,
) -> Any:
    """A part x[begin:end:strides]; bit i of a mask says that its i-th bound is left out, or what stands there instead."""
    index: list[Any] = []
    for i, (a, b, step) in enumerate(zip(sizes(begin), sizes(end), sizes(strides), strict=True)):
        if ellipsis_mask >> i & 1:
            index.append(...)
        elif new_axis_mask >> i & 1:
            index.append(None)
        elif shrink_axis_mask >> i & 1:
            index.append(0 if begin_mask >> i & 1 else a)
        else:
            start, stop = None if begin_mask >> i & 1 else a, None if end_mask >> i & 1 else b
            index.append(builtins.slice(start, stop, step))
    return _ops.getitem(tensor(input_x), tuple(index))


def narrow(input: Any, axis: int, start: int, length: int) -> Any:
    """So many slices along an axis, from `start` on."""
    axis = normalize_axis("narrow", axis, input.ndim)
    return _ops.slice_axis(input, axis, start, start + length)


def flip(input: Any, dims: Any) -> Any:
    """The elements along axes the other way round."""
    return _ops.flip(tensor(input), static(dims))


def reverse(x: Any, axis: Any) -> Any:
    """The elements along axes the other way round."""
    return _ops.flip(tensor(x), static(axis))


def fliplr(input: Any) -> Any:
    """The columns the other way round."""
    return _ops.flip(input, 1)


def flipud(input: Any) -> Any:
    """The rows the other way round."""
    return _ops.flip(input, 0)


def rot90(input: Any, k: int, dims: Any) -> Any:
    """A plane turned by k right angles."""
    return _np.rot90(input, k, tuple(static(dims)))


def roll(input: Any, shifts: Any, dims: Any = None) -> Any:
    """The elements moved along axes, round to the other end."""
    return _ops.roll(tensor(input), static(shifts), static(dims))


def reverse_sequence(x: Any, seq_lengths: Any, seq_dim: int, batch_dim: int = 0) -> Any:
    """In each slice of a batch, the first so many elements along an axis the other way round."""
    x = tensor(x)
    seq, batch = (
        normalize_axis("reverse_sequence", seq_dim, x.ndim),
        normalize_axis("reverse_sequence", batch_dim, x.ndim),
    )
    n = x.shape[seq]
    place = np.arange(n).reshape([n if a == seq else 1 for a in builtins.range(x.ndim)])
    length = _ops.reshape(tensor(seq_lengths), [x.shape[batch] if a == batch else 1 for a in builtins.range(x.ndim)])
    index = _ops.where(_ops.less(place, length), length - 1 - place, place)
    return _ops.gather_elements(x, seq, _ops.broadcast_to(_ops.cast(index, int64), x.shape))


def block_diag(*inputs: Any) -> Any:
    """Matrices along the diagonal of one."""
    parts = [_ops.reshape(x, (1,) * (2 - x.ndim) + tuple(x.shape)) for x in map(tensor, inputs)]
    width = builtins.sum(p.shape[1] for p in parts)
    rows, before = [], 0
    for p in parts:
        height, own = p.shape
        left, right = _ops.zeros((height, before), p.dtype), _ops.zeros((height, width - before - own), p.dtype)
        rows.append(_ops.concat([left, p, right], 1))
        before += own
    return _ops.concat(rows, 0)


def sequence_mask(lengths: Any, maxlen: Any = None) -> Any:
    """Whether each place lies before the length of its sequence."""
    lengths = tensor(lengths)
    n = int(lengths.asnumpy().max()) if maxlen is None else int(static(maxlen))
    return _ops.less(np.arange(n), _ops.expand_dims(lengths, -1))


def space_to_depth(x: Any, block_size: int) -> Any:
    """Blocks of an image as channels."""
    n, c, h, w = x.shape
    b = block_size
    parts = _ops.reshape(x, (n, c, h // b, b, w // b, b))
    return _ops.reshape(_ops.transpose(parts, (0, 3, 5, 1, 2, 4)), (n, b * b * c, h // b, w // b))


def depth_to_space(x: Any, block_size: int) -> Any:
    """Channels as blocks of an image."""
    n, c, h, w = x.shape
    b = block_size
    parts = _ops.reshape(x, (n, b, b, c // (b * b), h, w))
    return _ops.reshape(_ops.transpose(parts, (0, 3, 4, 1, 5, 2)), (n, c // (b * b), h * b, w * b))


def batch_to_space_nd(input_x: Any, block_shape: Any, crops: Any) -> Any:
    """Elements of a batch as blocks of the last axes, less what is cut off at their ends."""
    x, crops = tensor(input_x), static(crops)
    blocks = static(block_shape)
    blocks = (blocks,) * len(crops) if isinstance(blocks, int) else blocks
    m, rank = len(blocks), x.ndim
    first, spatial = rank - m, x.shape[rank - m :]
    batch = x.shape[0] // int(np.prod(blocks))
    parts = _ops.reshape(x, (*blocks, batch, *x.shape[1:]))
    order = [m, *(m + a for a in builtins.range(1, first))]
    for i in builtins.range(m):
        order += [m + first + i, i]
    whole = tuple(n * b for n, b in zip(spatial, blocks, strict=True))
    x = _ops.reshape(_ops.transpose(parts, order), (batch, *x.shape[1:first], *whole))
    for i, (low, high) in enumerate(crops):
        x = _ops.slice_axis(x, first + i, low, whole[i] - high)
    return x


def space_to_batch_nd(input_x: Any, block_size: Any, paddings: Any) -> Any:
    """Blocks of the last axes, filled up with zeros, as elements of a batch."""
    x, paddings = tensor(input_x), static(paddings)
    blocks = static(block_size)
    blocks = (blocks,) * len(paddings) if isinstance(blocks, int) else blocks
    m, first = len(blocks), x.ndim - len(blocks)
    x = _np.pad(x, ((0, 0),) * first + tuple(tuple(p) for p in paddings))
    split_sizes = [n for i, b in enumerate(blocks) for n in (x.shape[first + i] // b, b)]
    parts = _ops.reshape(x, (*x.shape[:first], *split_sizes))
    order = [first + 2 * i + 1 for i in builtins.range(m)] + [*builtins.range(first)]
    order += [first + 2 * i for i in builtins.range(m)]
    batch = x.shape[0] * int(np.prod(blocks))
    return _ops.reshape(_ops.transpose(parts, order), (batch, *x.shape[1:first], *split_sizes[::2]))


def padding(x: Any, pad_dim_size: int = 8) -> Any:
    """A last axis of size 1 filled up with zeros to a size."""
    return _np.pad(x, ((0, 0),) * (x.ndim - 1) + ((0, pad_dim_size - 1),))


def invert_permutation(x: Any) -> Any:
    """The permutation that undoes one."""
    found = tuple(int(i) for i in np.argsort(static(x)))
    return (
        found if isinstance(x, (list, tuple)) else tensor(np.array(found, np.int32 if x.dtype == int32 else np.int64))
    )


def meshgrid(*inputs: Any, indexing: str = "xy") -> tuple[Any, ...]:
    """The coordinates of a grid."""
    return tuple(_ops.meshgrid(*inputs, indexing=indexing))


__all__ = listed(globals())

"""Primitives that make, move, join, cut and repeat elements."""

from __future__ import annotations

from typing import Any

from adjoint import ops
from adjoint.core.spec import float32, int32, int64
from adjoint.mindspore.absent import elsewhere as _elsewhere
from adjoint.mindspore.ops import array_functions as _a
from adjoint.mindspore.ops import creation_functions as _c
from adjoint.mindspore.ops.operations.math_ops import plain
from adjoint.mindspore.ops.primitive import primitive
from adjoint.mindspore.ops.promotion import static, tensor, to_dtype

Cast = plain("Cast", _c.cast)
DType = plain("DType", _c.dtype)
Shape = plain("Shape", _c.shape)
TensorShape = plain("TensorShape", _c.dyn_shape)
DynamicShape = primitive("DynamicShape", lambda self, x: to_dtype(_c.dyn_shape(x), int64), dtype=9)
Rank = plain("Rank", _c.rank)
Size = plain("Size", _c.size)
Identity = plain("Identity", tensor)
IdentityN = plain("IdentityN", lambda x: tuple(x))
StopGradient = plain("StopGradient", ops.stop_gradient)

Zeros = plain("Zeros", _c.zeros)
Ones = plain("Ones", _c.ones)
ZerosLike = plain("ZerosLike", _c.zeros_like)
OnesLike = plain("OnesLike", _c.ones_like)
Fill = plain("Fill", _c.fill)
FillV2 = plain("FillV2", lambda shape, value: _c.fill(None, shape, value))
Fills = plain("Fills", _c.fills)
Eye = plain("Eye", _c.eye)
Eps = plain("Eps", _c.eps)
LinSpace = plain("LinSpace", _c.linspace)
LogSpace = primitive(
    "LogSpace",
    lambda self, start, end: _c.logspace(start, end, self.steps, self.base, dtype=self.dtype),
    steps=10,
    base=10,
    dtype=float32,
)
Range = primitive("Range", lambda self, start, end, step: _c.range(start, end, step), maxlen=1000000)
OneHot = primitive(
    "OneHot", lambda self, indices, depth, on, off: _c.one_hot(indices, depth, on, off, self.axis), axis=-1
)
ScalarToTensor = plain("ScalarToTensor", _c.scalar_to_tensor)
ScalarToArray = plain("ScalarToArray", _c.scalar_to_array)
ScalarCast = plain("ScalarCast", _c.scalar_cast)
TupleToArray = plain("TupleToArray", _c.tuple_to_array)
TensorToTuple = plain("TensorToTuple", lambda x: tuple(x.tolist()))
TrilIndices = primitive(
    "TrilIndices",
    lambda self: _c.tril_indices(self.row, self.col, self.offset, dtype=self.dtype),
    row=...,
    col=...,
    offset=0,
    dtype=int32,
)
TriuIndices = primitive(
    "TriuIndices",
    lambda self: _c.triu_indices(self.row, self.col, self.offset, dtype=self.dtype),
    row=...,
    col=...,
    offset=0,
    dtype=int32,
)

Reshape = plain("Reshape", _a.reshape)
Flatten = plain("Flatten", _a.flatten)
ExpandDims = plain("ExpandDims", _a.expand_dims)
Squeeze = primitive("Squeeze", lambda self, x: _a.squeeze(x, self.axis), axis=())
Transpose = plain("Transpose", _a.transpose)
TransposeView = plain("TransposeView", _a.transpose)
TransposeExtView = plain("TransposeExtView", ops.swapaxes)
ConjugateTranspose = plain("ConjugateTranspose", lambda x, perm: ops.conj(_a.transpose(x, perm)))
Concat = primitive("Concat", lambda self, tensors: _a.concat(tensors, self.axis), axis=0)
ParallelConcat = plain("ParallelConcat", lambda values: _a.concat(values, 0))
Stack = primitive("Stack", lambda self, tensors: _a.stack(tensors, self.axis), axis=0)
Pack = primitive("Pack", lambda self, tensors: _a.stack(tensors, self.axis), axis=0)
Unstack = primitive("Unstack", lambda self, x: _a.unstack(x, self.axis), axis=0, num=None)
Unpack = primitive("Unpack", lambda self, x: _a.unstack(x, self.axis), axis=0)
Split = primitive("Split", lambda self, x: _a.even_split(x, self.axis, self.output_num), axis=0, output_num=1)


def _split_v(self: Any, x: Any) -> Any:
    parts, size = list(static(self.size_splits)), x.shape[self.split_dim]
    if -1 in parts:
        parts[parts.index(-1)] = size - sum(p for p in parts if p != -1)
    return _a.split(x, parts, self.split_dim)


SplitV = primitive("SplitV", _split_v, size_splits=..., split_dim=..., num_split=...)
Tile = plain("Tile", _a.tile)
BroadcastTo = primitive("BroadcastTo", lambda self, x: _a.broadcast_to(x, self.shape), shape=...)
Expand = plain("Expand", _a.expand)
Slice = plain("Slice", _a.slice)
StridedSlice = primitive(
    "StridedSlice",
    lambda self, x, begin, end, strides: _a.strided_slice(
        x,
        begin,
        end,
        strides,
        self.begin_mask,
        self.end_mask,
        self.ellipsis_mask,
        self.new_axis_mask,
        self.shrink_axis_mask,
    ),
    begin_mask=0,
    end_mask=0,
    ellipsis_mask=0,
    new_axis_mask=0,
    shrink_axis_mask=0,
)
ReverseV2 = primitive("ReverseV2", lambda self, x: _a.reverse(x, self.axis), axis=...)
ReverseSequence = primitive(
    "ReverseSequence",
    lambda self, x, lengths: _a.reverse_sequence(x, lengths, self.seq_dim, self.batch_dim),
    seq_dim=...,
    batch_dim=0,
)
Roll = primitive("Roll", lambda self, x: _a.roll(x, self.shifts, self.dims), shifts=..., dims=None)
Meshgrid = primitive("Meshgrid", lambda self, inputs: _a.meshgrid(*inputs, indexing=self.indexing), indexing="xy")
Padding = primitive("Padding", lambda self, x: _a.padding(x, self.pad_dim_size), pad_dim_size=8)
InvertPermutation = plain("InvertPermutation", _a.invert_permutation)
SpaceToDepth = primitive("SpaceToDepth", lambda self, x: _a.space_to_depth(x, self.block_size), block_size=...)
DepthToSpace = primitive("DepthToSpace", lambda self, x: _a.depth_to_space(x, self.block_size), block_size=...)
BatchToSpace = primitive(
    "BatchToSpace", lambda self, x: _a.batch_to_space_nd(x, self.block_size, self.crops), block_size=..., crops=...
)
BatchToSpaceND = primitive(
    "BatchToSpaceND", lambda self, x: _a.batch_to_space_nd(x, self.block_shape, self.crops), block_shape=..., crops=...
)
BatchToSpaceNDV2 = plain("BatchToSpaceNDV2", _a.batch_to_space_nd)
SpaceToBatch = primitive(
    "SpaceToBatch",
    lambda self, x: _a.space_to_batch_nd(x, self.block_size, self.paddings),
    block_size=...,
    paddings=...,
)
SpaceToBatchND = primitive(
    "SpaceToBatchND",
    lambda self, x: _a.space_to_batch_nd(x, self.block_shape, self.paddings),
    block_shape=...,
    paddings=...,
)
LogNormalReverse = primitive(
    "LogNormalReverse",
    lambda self, x: ops.exp(ops.normal(x.shape, self.mean, self.std)),
    mean=1.0,
    std=2.0,
)

__all__ = [name for name, value in globals().items() if getattr(value, "__module__", "") == "mindspore.ops.operations"]

__getattr__ = _elsewhere(__name__, "adjoint.mindspore.ops.operations")

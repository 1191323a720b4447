"""Primitives: arithmetic, elementary functions and reductions."""

from __future__ import annotations

from adjoint import ops
from adjoint.mindspore.ops.primitive import primitive

Add = primitive("Add", lambda self, x, y: ops.add(x, y))
Mul = primitive("Mul", lambda self, x, y: ops.mul(x, y))
ReduceSum = primitive(
    "ReduceSum",
    lambda self, x, axis=(): ops.sum(x, None if axis in ((), None) else axis, keepdims=self.keep_dims),
    keep_dims=False,
    skip_mode=False,
)

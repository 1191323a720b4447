"""Primitives that are ready to be called, and Python's operators, under the names that MindSpore gives them."""

from __future__ import annotations

import math
import operator
from typing import Any

from adjoint import ops as _ops
from adjoint.mindspore.ops import operations as _primitives
from adjoint.mindspore.ops.promotion import listed, tensor

#: Primitives without attributes, by the names of their instances.
INSTANCES = {
    "tensor_add": "Add", "tensor_sub": "Sub", "tensor_mul": "Mul", "tensor_div": "RealDiv", "tensor_floordiv": "FloorDiv",
    "tensor_mod": "FloorMod", "tensor_pow": "Pow", "pows": "Pow", "tensor_exp": "Exp", "tensor_expm1": "Expm1",
    "tensor_ge": "GreaterEqual", "tensor_gt": "Greater", "tensor_le": "LessEqual", "tensor_lt": "Less",
    "tensor_range": "Range", "tensor_slice": "Slice", "reduce_sum": "ReduceSum", "reduce_mean": "ReduceMean",
    "reduce_max": "ReduceMax", "reduce_min": "ReduceMin", "shape_": "Shape", "reshape_": "Reshape", "dtype": "DType",
    "floordiv": "FloorDiv", "floormod": "FloorMod", "tensor_muls": "Mul",
}  # fmt: skip
globals().update({name: getattr(_primitives, primitive)() for name, primitive in INSTANCES.items()})

#: Functions of Python numbers.
scalar_add, scalar_sub, scalar_mul, scalar_div = operator.add, operator.sub, operator.mul, operator.truediv
scalar_floordiv, scalar_mod, scalar_pow = operator.floordiv, operator.mod, operator.pow
scalar_eq, scalar_ne, scalar_lt, scalar_le = operator.eq, operator.ne, operator.lt, operator.le
scalar_gt, scalar_ge, scalar_uadd, scalar_usub = operator.gt, operator.ge, operator.pos, operator.neg
scalar_max, scalar_min, scalar_log = max, min, math.log
bool_and, bool_or, bool_eq, bool_not = operator.and_, operator.or_, operator.eq, operator.not_
string_eq, string_concat = operator.eq, operator.add
is_, is_not = operator.is_, operator.is_not


def array_to_scalar(x: Any) -> Any:
    """The only element of a Tensor as a number."""
    return tensor(x).item()


def isconstant(x: Any) -> bool:
    """Whether the value is known when a graph is built."""
    return not getattr(x, "tracked", False)


def stop_gradient(value: Any) -> Any:
    """The value, without its derivative; of each Tensor in a container."""
    if isinstance(value, (list, tuple)):
        return type(value)(stop_gradient(v) for v in value)
    if isinstance(value, dict):
        return {key: stop_gradient(v) for key, v in value.items()}
    return _ops.stop_gradient(value) if hasattr(value, "dtype") else value


__all__ = listed(globals())

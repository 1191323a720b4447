"""MindSpore's names for dtypes: NumPy's dtypes under them."""

from __future__ import annotations

import builtins
from typing import Any

import numpy as np

from adjoint.core import spec
from adjoint.core.spec import (
    bool_,
    complex64,
    complex128,
    float16,
    float32,
    float64,
    int8,
    int16,
    int32,
    int64,
    uint8,
)
from adjoint.core.tensor import Tensor as _Tensor

uint16, uint32, uint64 = np.dtype("uint16"), np.dtype("uint32"), np.dtype("uint64")
byte, short, intc, intp, int_, long = int8, int16, int32, int64, int64, int64
ubyte, ushort, uintc, uintp, uint = uint8, uint16, uint32, uint64, uint64
half, single, double, float_ = float16, float32, float64, float64
cfloat, cdouble = complex64, complex128
bool = bool_
int, float = int64, float64
Type = np.dtype
string = np.dtype("str")

number_type = (
    int8, int16, int32, int64, uint8, uint16, uint32, uint64, float16, float32, float64, complex64, complex128
)  # fmt: skip
int_type = (int8, int16, int32, int64)
uint_type = (uint8, uint16, uint32, uint64)
float_type = (float16, float32, float64)
number = np.number
tensor_type = TensorType = _Tensor
type_none = type(None)
tuple_, list_ = builtins.tuple, builtins.list


def __getattr__(name: str) -> Any:
    if name == "bfloat16":
        return spec.bfloat16()
    raise AttributeError(f"module 'mindspore.common.dtype' has no attribute {name!r}")


def dtype_to_nptype(type_: Any) -> Any:
    """The NumPy type of a dtype.

    >>> dtype_to_nptype(float32)
    <class 'numpy.float32'>
    """
    return np.dtype(type_).type


def dtype_to_pytype(type_: Any) -> Any:
    """The Python type that numbers of a dtype have.

    >>> dtype_to_pytype(float32)
    <class 'float'>
    """
    kinds: dict[str, Any] = {
        "b": builtins.bool,
        "i": builtins.int,
        "u": builtins.int,
        "f": builtins.float,
        "c": complex,
        "U": str,
    }
    return kinds[np.dtype(type_).kind]


def pytype_to_dtype(obj: Any) -> Any:
    """The dtype of numbers of a Python or NumPy type.

    >>> pytype_to_dtype(float)
    dtype('float64')
    """
    if obj is str:
        return string
    if obj is None or obj is type(None):
        return type_none
    if isinstance(obj, type) and issubclass(obj, (builtins.bool, builtins.int, builtins.float, complex, np.generic)):
        return np.dtype(obj)
    if isinstance(obj, np.dtype):
        return obj
    raise NotImplementedError(f"Unsupported convert python type {obj} to MindSpore type.")


def get_py_obj_dtype(obj: Any) -> Any:
    """The dtype of a Tensor or of a Python number."""
    return obj.dtype if isinstance(obj, (_Tensor, np.ndarray, np.generic)) else pytype_to_dtype(type(obj))


def issubclass_(type_: Any, dtype: Any) -> builtins.bool:
    """Whether a dtype is of a kind of dtypes."""
    return np.issubdtype(type_, dtype)

"""MindSpore's names for dtypes; to NumPy and to the engine each is NumPy's dtype."""

from __future__ import annotations

import builtins
from typing import Any

import numpy as np

from adjoint.core.tensor import Tensor as _Tensor
from adjoint.mindspore.common import types as _types
from adjoint.mindspore.common.types import Bool as Bool
from adjoint.mindspore.common.types import Complex as Complex
from adjoint.mindspore.common.types import Float as Float
from adjoint.mindspore.common.types import Int as Int
from adjoint.mindspore.common.types import Number as Number
from adjoint.mindspore.common.types import String as String
from adjoint.mindspore.common.types import TensorType as TensorType
from adjoint.mindspore.common.types import Type as Type
from adjoint.mindspore.common.types import UInt as UInt

bool_ = bool = Type.known["bool"]
int8, int16, int32, int64 = (Type.known[f"int{n}"] for n in (8, 16, 32, 64))
uint8, uint16, uint32, uint64 = (Type.known[f"uint{n}"] for n in (8, 16, 32, 64))
float16, float32, float64 = (Type.known[f"float{n}"] for n in (16, 32, 64))
bfloat16 = Type.known["bfloat16"]
complex64, complex128 = Type.known["complex64"], Type.known["complex128"]
byte, short, intc, intp, long = int8, int16, int32, int64, int64
ubyte, ushort, uintc, uintp = uint8, uint16, uint32, uint64
half, single, double = float16, float32, float64
cfloat, cdouble = complex64, complex128
int, float = int32, float32

#: Kinds of dtypes, of no width of their own.
int_ = _types.define("int", int32.dtype)
uint = _types.define("uint", uint32.dtype)
float_ = _types.define("float", float32.dtype)
number = _types.define("number", float32.dtype, Number)
string = _types.define("string_", np.dtype("str"))

number_type = (
    int8, int16, int32, int64, uint8, uint16, uint32, uint64, float16, float32, float64, bfloat16,
    complex64, complex128,
)  # fmt: skip
all_types = (bool_, *number_type)
int_type = (int8, int16, int32, int64)
uint_type = (uint8, uint16, uint32, uint64)
float_type = (float16, float32, float64, bfloat16)
complex_type = (complex64, complex128)
signed_type = (*int_type, *float_type, *complex_type)
tensor_type = TensorType()
type_none = type(None)
tuple_, list_ = builtins.tuple, builtins.list


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

    >>> pytype_to_dtype(np.int8), pytype_to_dtype(builtins.float)
    (mindspore.int8, mindspore.float64)
    """
    if obj is str:
        return string
    if obj is None or obj is type(None):
        return type_none
    if isinstance(obj, type) and issubclass(obj, (builtins.bool, builtins.int, builtins.float, complex, np.generic)):
        return _types.of(np.dtype(obj))
    if isinstance(obj, np.dtype):
        return _types.of(obj)
    raise NotImplementedError(f"Unsupported convert python type {obj} to MindSpore type.")


def get_py_obj_dtype(obj: Any) -> Any:
    """The type of a Tensor, or the dtype of a Python number."""
    if isinstance(obj, (_Tensor, np.ndarray)):
        return TensorType(_types.of(np.dtype(obj.dtype)))
    return pytype_to_dtype(type(obj))


def type_size_in_bytes(dtype: Any) -> builtins.int:
    """How many bytes one number takes.

    >>> type_size_in_bytes(complex64)
    8
    """
    return dtype.itemsize


def _issubclass_(type_: Any, dtype: Any) -> builtins.bool:
    """Whether a dtype is of a kind of dtypes: `number`, `int_`, `uint`, `float_`, `tensor_type`, or is that dtype."""
    if isinstance(dtype, TensorType) or isinstance(type_, TensorType):
        return isinstance(type_, TensorType) and (dtype.dtype is None or type_ == dtype)
    return isinstance(type_, type(dtype)) if dtype in (number, int_, uint, float_) else type_ == dtype


issubclass_ = _issubclass_

"""What MindSpore makes of inputs before an operator computes: common dtypes, axes and shapes given in several ways."""

from __future__ import annotations

import functools
from collections.abc import Callable
from typing import Any

import numpy as np

from adjoint.core.dispatch import wrap
from adjoint.core.errors import called_at
from adjoint.core.spec import (
    NUMBERS,
    complex64,
    dtype_of,
    float32,
    is_half,
    is_inexact,
    number_of,
)
from adjoint.core.tensor import Tensor
from adjoint.mindspore.absent import public_names
from adjoint.ops import cast


def tensor(x: Any) -> Any:
    """The input as a Tensor: a Python float is a float32, an int an int64.

    >>> tensor(2.5).dtype, tensor(2).dtype
    (dtype('float32'), dtype('int64'))
    """
    if isinstance(x, Tensor):
        if number_of(x) is None:
            return x
        return cast(x, {"f": float32, "c": complex64}.get(x.dtype.kind, x.dtype))
    if type(x) is float:
        return wrap(np.asarray(x, np.float32))
    check_number(x)
    return wrap(x) if isinstance(x, (np.ndarray, np.generic)) else Tensor(x)


def check_number(x: Any) -> None:
    """Refuse what is no number: NumPy would make NaN of None."""
    if x is None or isinstance(x, (str, bytes, dict)):
        raise TypeError(f"an input of an operator must be a Tensor or a number, but got {x!r}{called_at()}")


def _weak(x: Any) -> bool:
    return type(x) in NUMBERS or number_of(x) is not None


def promoted(*xs: Any) -> Any:
    """The inputs of one operator in the dtypes that MindSpore computes in: integers give way to floats of any width.

    >>> from adjoint import Tensor
    >>> a, b = promoted(Tensor([1, 2], "int32"), 0.5)
    >>> (a * b).dtype
    dtype('float32')
    """
    for x in xs:
        check_number(x)
    inputs = [tensor(x) if isinstance(x, (list, tuple)) else x for x in xs]
    strong = [dtype_of(x) for x in inputs if not _weak(x)]
    if not strong:
        inputs = [tensor(x) for x in inputs]
        strong = [x.dtype for x in inputs]
    floats = [d for d in strong if is_inexact(d)]
    if not floats:
        weak = "".join(dtype_of(x).kind for x in inputs if _weak(x))
        target: Any = complex64 if "c" in weak else float32 if "f" in weak else None
    elif len(floats) == len(strong):
        return tuple(inputs)
    else:
        target = floats[0] if len(set(floats)) == 1 else np.result_type(*(float32 if is_half(d) else d for d in floats))
    if target is None:
        return tuple(inputs)
    return tuple(x if _weak(x) or is_inexact(dtype_of(x)) else cast(x, target) for x in inputs)


def in_float(x: Any) -> Any:
    """Integers and booleans as float32, in which elementary functions of them are computed."""
    x = tensor(x)
    return x if is_inexact(x.dtype) else cast(x, float32)


def of_floats(function: Callable[..., Any]) -> Callable[..., Any]:
    """An elementary function: of integers it is computed in float32."""

    @functools.wraps(function)
    def call(input: Any) -> Any:
        return function(in_float(input))

    return call


def of_numbers(function: Callable[..., Any]) -> Callable[..., Any]:
    """A function of two inputs that are promoted as MindSpore does."""

    @functools.wraps(function)
    def call(input: Any, other: Any) -> Any:
        return function(*promoted(input, other))

    return call


def static(value: Any) -> Any:
    """A shape, an axis or a number that may be given as a Tensor: ints, or tuples of ints.

    >>> static(Tensor([2, 3])), static(Tensor(1)), static([4, Tensor(5)])
    ((2, 3), 1, (4, 5))
    """
    if isinstance(value, Tensor):
        if number_of(value) is not None:
            return value
        found = value.asnumpy().tolist()
        return tuple(found) if isinstance(found, list) else found
    if isinstance(value, np.ndarray):
        return tuple(value.tolist()) if value.ndim else value.item()
    if isinstance(value, (list, tuple)):
        return tuple(static(v) for v in value)
    return value


def sizes(value: Any) -> tuple[int, ...]:
    """A shape given as an int, a sequence or a Tensor."""
    found = static(value)
    return found if isinstance(found, tuple) else (found,)


def axes(value: Any) -> Any:
    """The axes of a reduction: () and None mean all of them."""
    found = static(value)
    return None if found is None or found == () else found


def to_dtype(x: Any, dtype: Any) -> Any:
    """The Tensor in a dtype, if one is given."""
    return x if dtype is None or x.dtype == np.dtype(dtype) else cast(x, dtype)


def listed(names: dict[str, Any]) -> list[str]:
    """The names of a module that `mindspore.ops` has."""
    return sorted(public_names()["ops"] & set(names))

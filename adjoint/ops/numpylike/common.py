"""What the functions with NumPy's names share: inputs become Tensors, and `out=` binds the Tensor it is given."""

from __future__ import annotations

import builtins
from collections.abc import Iterable, Iterator
from typing import Any

import numpy as np

from adjoint.core import context
from adjoint.core.arrays import kept
from adjoint.core.dispatch import EAGER, Value, wrap
from adjoint.core.errors import (
    AdjointError,
    ArgumentError,
    ArgumentTypeError,
    CutGradientError,
    DtypeError,
    called_at,
    refused,
)
from adjoint.core.foreign import kind_of
from adjoint.core.foreign import operand as foreign_operand
from adjoint.core.spec import normalize_axis, number_of
from adjoint.core.tensor import Tensor
from adjoint.ops import language as F
from adjoint.ops.language import reshape
from adjoint.ops.masks import unknown_shape
from adjoint.ops.stacking import stack


def tensor(a: Any) -> Any:
    """A Tensor as it is, and whatever else np.asarray takes as a Tensor: nested lists may hold tracked ones.

    >>> tensor([1.0, 2.0]).dtype
    dtype('float64')
    """
    if isinstance(a, Value):
        return settled(a)
    if isinstance(a, (list, tuple)) and next(values_in(a), None) is not None:
        return stack([tensor(x) for x in a], 0)
    if isinstance(a, np.ndarray) and a.dtype == object and a.size:
        return reshape(stack([tensor(x) for x in a.ravel()], 0), a.shape)
    if kind_of(type(a)):
        return wrap(foreign_operand(a))
    return wrap(kept(a) if isinstance(a, np.ndarray) else np.array(a))


def settled(y: Any) -> Any:
    """What NumPy makes of Python numbers is an array of its own, with a dtype that stays."""
    return y if number_of(y) is None else F.cast(y, y.dtype)


def operand(x: Any) -> Any:
    """A Tensor, but Python numbers as they are: where NumPy lets them take the dtype of the others."""
    return x if number_of(x) is not None else tensor(x)


def tensors(arrays: Any) -> list[Any]:
    """The Tensors to join: those of a sequence, or the slices of one array."""
    return [tensor(a) for a in arrays]


_CONTAINERS = (list, tuple, dict, np.ndarray)  # np.ndarray: an object array may hold Tensors


def values_in(data: Any) -> Iterator[Any]:
    """The Tensors in nested containers, object arrays among them."""
    if isinstance(data, Value):
        yield data
    elif isinstance(data, (list, tuple)):
        for x in data:
            if isinstance(x, Value):
                yield x
            elif isinstance(x, _CONTAINERS):
                yield from values_in(x)
    elif isinstance(data, dict):
        yield from values_in(list(data.values()))
    elif isinstance(data, np.ndarray) and data.dtype == object:
        yield from values_in(data.ravel().tolist())


def replaced(data: Any, change: Any) -> Any:
    """The same containers with `change(tensor)` for each Tensor in them."""
    if isinstance(data, Value):
        return change(data)
    if isinstance(data, (list, tuple)):
        items = [replaced(x, change) if isinstance(x, (Value, *_CONTAINERS)) else x for x in data]
        return type(data)(*items) if hasattr(data, "_fields") else type(data)(items)
    return {k: replaced(x, change) for k, x in data.items()} if isinstance(data, dict) else data


def is_traced(*data: Any) -> bool:
    """Whether a derivative may be asked of a Tensor in these containers."""
    recording = context.open_tape.get() is not None
    return builtins.any(recording or x.tracked for x in values_in(data))


def would_cut(*data: Any) -> bool:
    """Whether to take the numbers alone would cut a derivative: not that of what a network computed of its Parameters, outside transforms."""
    return is_traced(*data) and not builtins.all(not x.tracked or x._is_plain_result() for x in values_in(data))


def is_plain(*data: Any) -> bool:
    """Whether NumPy itself can compute with these: no transform traces them, and none is of half precision."""
    return context.open_tape.get() is None and builtins.all(x._trace is EAGER for x in values_in(data))


def is_known(x: Any) -> bool:
    """Whether there are numbers behind a value: not if it is a node of a graph, or a batch."""
    try:
        array_of(x)
    except AdjointError:
        return False
    return True


def array_of_known(what: str, x: Any) -> np.ndarray:
    """The numbers behind a value on which the shape of a result depends."""
    if not is_known(x):
        raise refused(unknown_shape(what))
    return array_of(x)


def array_of(x: Any) -> np.ndarray:
    """The numbers behind a value, for what has no derivative: an index, a mask, an order."""
    return x.asnumpy() if isinstance(x, Tensor) else np.asarray(x)


def stored(out: Any, y: Any, casting: str = "same_kind") -> Any:
    """`y`, or `out` bound to it where one is given."""
    if isinstance(out, tuple):
        (out,) = out
    if out is None:
        return y
    if not np.can_cast(y.dtype, out.dtype, casting):  # type: ignore[arg-type]
        raise ArgumentTypeError(f"out= holds {out.dtype}, the result is {y.dtype}: cast one of them{called_at()}")
    if isinstance(out, Value):
        out[...] = F.cast(y, out.dtype)  # type: ignore[index]
        return out
    if is_traced(y):
        raise CutGradientError(
            "`array += tensor` and `out=array` write a Tensor that is being differentiated into a NumPy array, which "
            "would cut its gradient. Write `array = array + tensor`, or make the array a Tensor first, with "
            f"adjoint.numpy.zeros or adjoint.numpy.array.{called_at()}"
        )
    np.copyto(out, array_of(y), casting=casting)  # type: ignore[arg-type]
    return out


def refuse(function: str, **arguments: Any) -> None:
    """Raise for the first argument that was given (is not None): it has no meaning here, or no derivative yet."""
    for name, value in arguments.items():
        if value is not None:
            raise ArgumentTypeError(
                f"{function}: the argument {name}={value!r} is not supported for Tensors{called_at()}"
            )


def axes_in_order(what: str, x: Any, axis: Any) -> tuple[int, ...]:
    """The axes as sorted non-negative numbers; None means all of them, () none."""
    ndim = x.ndim
    if axis is None:
        return tuple(range(ndim))
    axes = axis if isinstance(axis, (tuple, list)) else (axis,)
    found = tuple(sorted(normalize_axis(what, int(a), ndim) for a in axes))
    if len(set(found)) != len(found):
        raise ArgumentError(f"{what}: axis {axis} names an axis twice{called_at()}")
    return found


def one_axis(what: str, x: Any, axis: Any) -> tuple[Any, int]:
    """The input and a non-negative axis; without one the input is flattened."""
    if axis is None:
        return reshape(x, (x.size,)), 0
    return x, normalize_axis(what, int(axis), x.ndim)


def promoted(arrays: Iterable[Any]) -> np.dtype:
    """The dtype that NumPy gives arrays in common."""
    return np.result_type(*(a.dtype for a in arrays))


def cast(x: Any, dtype: Any) -> Any:
    """`x` in this dtype; itself if it has it, if none is named, or if `object` is: NumPy's for what holds traced elements."""
    return x if dtype is None or np.dtype(dtype) in (x.dtype, object) else F.cast(x, dtype)


def not_complex(what: str, x: Any) -> Any:
    """`x`, unless it is complex: its numbers have no order."""
    if x.dtype.kind == "c":
        raise DtypeError(f"{what}: complex numbers have no order. Take real and imaginary parts{called_at()}")
    return x

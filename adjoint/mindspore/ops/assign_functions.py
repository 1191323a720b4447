"""Functions that store in Parameters: assign and its kin, and scattered updates."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from adjoint import ops as _ops
from adjoint.core.parameter import Parameter
from adjoint.core.spec import is_inexact
from adjoint.core.tensor import Tensor
from adjoint.mindspore.ops import index_functions as _f
from adjoint.mindspore.ops.promotion import listed, promoted, tensor


def fitting(name: str, variable: Any, value: Any) -> Any:
    """The value in the dtype of the variable, which must be the dtype that the two are promoted to, and of its shape."""
    if not isinstance(variable, Tensor):
        raise TypeError(
            f"For '{name}', the first input must be a Parameter or a Tensor, but got {type(variable).__name__}."
        )
    if not isinstance(value, (Tensor, np.ndarray, np.generic, int, float, complex)):
        raise TypeError(
            f"Failed calling {name}: the value must be a Tensor or a number, but got {type(value).__name__}."
        )
    value = convertible(name, variable, value)
    if value.ndim != variable.ndim:
        raise ValueError(
            f"For '{name}','value' must have the same rank as 'variable'. But got 'value' rank: {value.ndim}, "
            f"'variable' rank: {variable.ndim}."
        )
    if value.shape != variable.shape:
        raise ValueError(
            f"For '{name}','value' must have the same shape as 'variable'. But got 'value' shape: {value.shape}, "
            f"'variable' shape: {variable.shape}."
        )
    return value


def convertible(name: str, variable: Any, value: Any) -> Any:
    """The value in the dtype of the variable; TypeError if that would lose something."""
    mine, given = variable.dtype, value
    value = tensor(value)
    if value.dtype == mine:
        return value
    weak = type(given) in (bool, int) or (type(given) is float and is_inexact(mine))
    if not weak and sum(promoted(_one(mine), _one(value.dtype))).dtype != mine:
        raise TypeError(
            f"For '{name}': Data type conversion is not supported for a 'Parameter', nor for the input tensor of an in-place "
            f"operator, so {value.dtype} cannot become {mine}."
        )
    return _ops.cast(value, mine)


def _one(dtype: Any) -> Any:
    return Tensor(np.ones((), np.float32)).astype(dtype)


def assign(variable: Any, value: Any) -> Any:
    """Store a value in a Parameter and return it.

    >>> import adjoint.mindspore as mindspore
    >>> w = mindspore.Parameter(mindspore.Tensor([1.0, 2.0]), name="w")
    >>> print(mindspore.ops.assign(w, mindspore.Tensor([3, 4])), w.asnumpy())
    [3. 4.] [3. 4.]
    """
    return _ops.assign(variable, fitting("Assign", variable, value))


def assign_add(variable: Any, value: Any) -> Any:
    """Add a value to a Parameter and return the sum."""
    return _ops.assign_add(variable, fitting("AssignAdd", variable, value))


def assign_sub(variable: Any, value: Any) -> Any:
    """Subtract a value from a Parameter and return the difference."""
    return _ops.assign_sub(variable, fitting("AssignSub", variable, value))


def _current(x: Any) -> Any:
    return x.value() if isinstance(x, Parameter) else tensor(x)


def _storing(name: str, change: Callable[..., Any], by_place: bool) -> Callable[..., Any]:
    """A function that changes a Parameter at some places: by rows, or by the places that index vectors name."""

    def call(input_x: Any, indices: Any, updates: Any, use_locking: bool = False) -> Any:
        if not isinstance(updates, (Tensor, np.ndarray, np.generic, int, float, bool)):
            raise TypeError(f"Failed calling {name}: updates must be a Tensor, but got {type(updates).__name__}.")
        updates = convertible(name, input_x, updates)
        indices = tensor(indices)
        if indices.dtype.kind not in "iu":
            raise TypeError(
                f"For primitive[{name}], the input argument[indices] must be a type of {{Tensor[Int32], Tensor[Int64]}}, but got {indices.dtype}."
            )
        wanted = (
            (*indices.shape[:-1], *input_x.shape[indices.shape[-1] :])
            if by_place
            else (*indices.shape, *input_x.shape[1:])
        )
        if updates.shape != wanted:
            raise ValueError(f"For '{name}', the shape of 'updates' must be {wanted}, but got {updates.shape}.")
        places = indices if by_place else _ops.expand_dims(indices, -1)
        new = change(_current(input_x), places, updates)
        found = _ops.assign(input_x, new)
        if name not in _PASSED_ON:
            return new
        if not is_inexact(updates.dtype):
            return found
        return _ops.scatter_nd_add(found, places, updates - _ops.stop_gradient(updates))

    return call


#: Of these MindSpore passes the gradient of the result on, to the Parameter whole and to the updates by place.
_PASSED_ON = ("ScatterUpdate", "ScatterNdUpdate", "ScatterMax", "ScatterMin")


_CHANGES = {
    "update": _f.tensor_scatter_update, "add": _f.tensor_scatter_add, "sub": _f.tensor_scatter_sub,
    "mul": _f.tensor_scatter_mul, "div": _f.tensor_scatter_div, "max": _f.tensor_scatter_max,
    "min": _f.tensor_scatter_min,
}  # fmt: skip
#: The primitives that change a Parameter at some places, by name.
SCATTERS = {
    f"Scatter{nd}{kind.title()}": _storing(f"Scatter{nd}{kind.title()}", change, bool(nd))
    for nd in ("", "Nd")
    for kind, change in _CHANGES.items()
}
scatter_update, scatter_add, scatter_sub = SCATTERS["ScatterUpdate"], SCATTERS["ScatterAdd"], SCATTERS["ScatterSub"]
scatter_mul, scatter_div = SCATTERS["ScatterMul"], SCATTERS["ScatterDiv"]
scatter_max, scatter_min = SCATTERS["ScatterMax"], SCATTERS["ScatterMin"]
scatter_nd_update, scatter_nd_add = SCATTERS["ScatterNdUpdate"], SCATTERS["ScatterNdAdd"]
scatter_nd_sub, scatter_nd_mul = SCATTERS["ScatterNdSub"], SCATTERS["ScatterNdMul"]
scatter_nd_div, scatter_nd_max, scatter_nd_min = (SCATTERS[f"ScatterNd{k}"] for k in ("Div", "Max", "Min"))


def inplace_index_add(var: Any, indices: Any, updates: Any, axis: int) -> Any:
    """Add updates to a Parameter at an index along an axis, and return the sum."""
    return _f.index_add(var, indices, updates, axis)


__all__ = listed(globals())

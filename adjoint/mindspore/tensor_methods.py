"""Methods and attributes of Tensors that MindSpore has and the engine has not."""

from __future__ import annotations

from collections.abc import Callable
from types import MethodType
from typing import Any

import numpy as np

from adjoint.core.parameter import Parameter
from adjoint.core.tensor import Tensor
from adjoint.core.tensor_text import dtype_name
from adjoint.mindspore import ops, tensor_stores
from adjoint.mindspore.absent import Absent, public_names
from adjoint.mindspore.tensor_arguments import FURTHER
from adjoint.mindspore.tensor_stores import stored
from adjoint.ops.broadcast import sum_to


def _method(function: Callable[..., Any]) -> Callable[[Any], Any]:
    """What `x.name` is: the function, given x first."""
    return lambda x: MethodType(function, x)


def _assign_value(x: Any, value: Any) -> Any:
    """Take the value of another Tensor, whatever its shape and dtype."""
    new = value if isinstance(value, Tensor) else Tensor(value)
    if isinstance(x, Parameter):
        return x.set_data(new)
    x._rebind(new.copy())
    return x


def _itemset(x: Any, *args: Any) -> Any:
    """The Tensor with another number at a place."""
    *index, value = args
    y = x + 0 if x.dtype.kind != "b" else x.copy()
    if not index and x.size != 1:
        raise IndexError("For 'Tensor.itemset', an index is needed for a Tensor of more than one element.")
    place = index[0] if len(index) == 1 else tuple(index)
    if isinstance(place, int) and x.ndim != 1:
        place = np.unravel_index(place, x.shape)
    if not index:
        place = (0,) * x.ndim
    y[place] = value
    return y


def _same(x: Any, *args: Any, **kwargs: Any) -> Any:
    """The Tensor itself."""
    return x


def _to(x: Any, *args: Any, **kwargs: Any) -> Any:
    """The Tensor in another dtype; a device there is none to choose."""
    dtype = next((a for a in (*args, *kwargs.values()) if not isinstance(a, (str, bool)) and a is not None), None)
    dtype = dtype.dtype if isinstance(dtype, Tensor) else dtype
    return x if dtype is None or x.dtype == dtype else x.astype(dtype)


def _in(dtype: str) -> Callable[..., Any]:
    return lambda x: x.astype(np.dtype(dtype))


def _type(x: Any, dtype: Any = None) -> Any:
    """The name of the dtype, or the Tensor in another one."""
    return dtype_name(x.dtype) if dtype is None else x.astype(dtype)


def _filled(value: Any) -> Callable[..., Any]:
    """A new Tensor of one number, in the dtype of another."""

    def call(x: Any, size: Any, *rest: Any, dtype: Any = None, device: Any = None) -> Any:
        number = rest[0] if value is None else value
        sizes = (size, *(rest if value is not None else ())) if isinstance(size, int) else tuple(size)
        return Tensor(np.full(sizes, number, np.dtype(dtype or x.dtype)))

    return call


def _stride(x: Any, dim: int | None = None) -> Any:
    steps = [int(np.prod(x.shape[i + 1 :])) for i in range(x.ndim)]
    return steps if dim is None else steps[dim]


def _numel(x: Any) -> int:
    return x.size


def _const_arg(x: Any, const_arg: bool = True) -> Any:
    """Note that compiled functions may take the values for constants: here they are inputs."""
    if not isinstance(const_arg, bool):
        raise TypeError(f"The argument 'const_arg' must be a bool, but got {type(const_arg).__name__}.")
    return x


def _sum_to_size(x: Any, *size: Any) -> Any:
    """The sum along the axes that broadcasting from another shape would stretch."""
    shape = tuple(size[0]) if len(size) == 1 and not isinstance(size[0], int) else size
    if len(shape) > x.ndim or any(a not in (1, b) for a, b in zip(reversed(shape), reversed(x.shape), strict=False)):
        raise ValueError(f"For sum_to_size, size {shape} is not expandable to the Tensor's {x.shape}.")
    return ops.reshape(sum_to(x, shape), shape)


def _at(largest: bool) -> Callable[..., Any]:
    """The largest or smallest values along an axis and their places."""

    def call(x: Any, axis: int = 0, keep_dims: bool = False) -> Any:
        values, places = (ops.max if largest else ops.min)(x, axis, keep_dims)
        return values, ops.cast(places, np.dtype("int64"))

    return call


def _select(x: Any, *args: Any) -> Any:
    """`select(dim, index)` is a slice; `select(condition, y)` chooses between Tensors."""
    if isinstance(args[0], int):
        return ops.gather(x, Tensor(args[1]), args[0])
    return ops.where(args[0], x, args[1])


def _fill(x: Any, value: Any) -> Any:
    """A Tensor of one number, of the shape and dtype."""
    return ops.full_like(x, value)


def _allclose(x: Any, other: Any, rtol: float = 1e-05, atol: float = 1e-08, equal_nan: bool = False) -> bool:
    return bool(ops.isclose(x, other, rtol, atol, equal_nan).all())


def _fill_diagonal(x: Any, fill_value: float, wrap: bool = False) -> Any:
    return ops.FillDiagonal(float(fill_value), wrap)(x)


def _copied(x: Any, value: Any, non_blocking: bool = False) -> Any:
    """A value spread over the shape, in the dtype of the Tensor, whose own elements may be infinite."""
    return ops.cast(ops.broadcast_to(value if isinstance(value, Tensor) else Tensor(value), x.shape), x.dtype)


METHODS: dict[str, Callable[..., Any]] = {
    "assign_value": _assign_value, "itemset": _itemset, "value": _same, "contiguous": _same, "init_data": _same,
    "flush_from_cache": lambda x: None, "set_const_arg": _const_arg, "move_to": _to, "to": _to, "cpu": _same,
    "npu": _same, "pin_memory": _same, "is_contiguous": lambda x: True, "numel": _numel,
    "nelement": _numel, "dim": lambda x: x.ndim, "ndimension": lambda x: x.ndim, "stride": _stride, "type": _type,
    "type_as": lambda x, other: x.astype(other.dtype), "set_dtype": lambda x, dtype: x.astype(dtype),
    "element_size": lambda x: x.itemsize, "storage_offset": lambda x: 0, "int": _in("int32"), "long": _in("int64"),
    "half": _in("float16"), "float": _in("float32"), "double": _in("float64"), "bool": _in("bool"), "byte": _in("uint8"),
    "short": _in("int16"), "char": _in("int8"), "bfloat16": lambda x: x.astype("bfloat16"), "new_zeros": _filled(0),
    "new_ones": _filled(1), "new_empty": _filled(0), "new_full": _filled(None), "is_floating_point": lambda x: x.dtype.kind == "f",
    "is_complex": lambda x: x.dtype.kind == "c", "is_signed": lambda x: x.dtype.kind in "if", "view_as": lambda x, other: x.reshape(other.shape),
    "to_tensor": _same, "sum_to_size": _sum_to_size, "argmax_with_value": _at(True), "argmin_with_value": _at(False),
    "select": _select, "fill": _fill, "allclose": _allclose, "is_pinned": lambda x: False, "is_shared": lambda x: False,
    "index_put": lambda x, indices, values, accumulate=False: ops.IndexPut(int(accumulate))(x, values, indices),
    "masked_scatter": lambda x, mask, source: ops.MaskedScatter()(x, mask, source), "data_ptr": lambda x: id(x._value), "asnumpy_of_slice_persistent_data": lambda x, *args: x.asnumpy(), "get_bytes": lambda x: x.asnumpy().tobytes(),
    "slice_num_of_persistent_data": lambda x: None, "offload": _same, "dequantize": _same, "fill_diagonal": _fill_diagonal,
    "copy_": stored(_copied), "fill_": stored(_copied),
    "index": lambda x, indices: x[tuple(indices)], "sub_": stored(lambda x, other, *, alpha=1: x - other * alpha),
    "add_": stored(lambda x, other, *, alpha=1: x + other * alpha), "mul_": stored(lambda x, other: x * other),
    "div_": stored(lambda x, other, *, rounding_mode=None: ops.div(x, other, rounding_mode=rounding_mode)),
}  # fmt: skip

#: Methods that write the result of the function of the same name, without the `_`, over the Tensor.
IN_PLACE = (
    "exp", "log", "sigmoid", "tanh", "floor", "sign", "erfinv", "floor_divide", "remainder", "masked_fill", "clamp",
    "index_add", "index_fill", "index_put", "scatter", "scatter_add", "masked_scatter", "addmm", "relu", "neg", "sqrt",
    "abs", "reciprocal", "round", "ceil", "square", "fill_diagonal", "logical_not", "pow",
)  # fmt: skip

#: Attributes that are no methods.
ATTRIBUTES: dict[str, Callable[[Any], Any]] = {
    "has_init": lambda x: False, "init": lambda x: None, "const_arg": lambda x: False, "data": lambda x: x,
    "is_leaf": lambda x: True, "is_sparse": lambda x: False, "is_cuda": lambda x: False, "layout": lambda x: None,
    "parent_tensor_": lambda x: None, "index_of_parent_": lambda x: None, "virtual_flag": lambda x: False,
    "adapter_flag": lambda x: False, "slice_shape_of_persistent_data": lambda x: None,
    "mT": lambda x: x.swapaxes(-1, -2), "mH": lambda x: ops.conj(x.swapaxes(-1, -2)), "H": lambda x: ops.conj(x.T),
}  # fmt: skip


def _of_ops(name: str) -> Callable[..., Any] | None:
    found = getattr(ops, name, None)
    return None if found is None or isinstance(found, (Absent, type)) else found


def install() -> None:
    """Give Tensors what they lack: by the lists here, and by functions of `mindspore.ops` that have a method's name."""
    methods = {**METHODS, **FURTHER, **tensor_stores.METHODS}
    found = {name: _method(function) for name, function in methods.items()} | ATTRIBUTES | tensor_stores.ATTRIBUTES
    for name in IN_PLACE:
        function = METHODS.get(name) or _of_ops(name) or getattr(Tensor, name, None)
        if function is not None:
            found[f"{name}_"] = _method(stored(function))
    for name in public_names().get("Tensor", ()):
        if name not in found and not hasattr(Tensor, name) and (function := _of_ops(name)) is not None:
            found[name] = _method(function)
    Tensor.extensions.update(found)
    vars(ops).update(tensor_stores.functions())

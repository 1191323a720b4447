"""What MindSpore has for containers and Python numbers in a graph: `tuple_getitem`, `make_list`, `scalar_add` and the like."""

from __future__ import annotations

import functools
import math
import operator
from collections.abc import Callable
from typing import Any

import numpy as np

from adjoint.core.tensor import Tensor
from adjoint.mindspore.common.dtype import get_py_obj_dtype

tuple_getitem = list_getitem = dict_getitem = operator.getitem
tuple_len = list_len = len
scalar_add, scalar_sub, scalar_mul, scalar_div = operator.add, operator.sub, operator.mul, operator.truediv
scalar_floordiv, scalar_mod, scalar_pow = operator.floordiv, operator.mod, operator.pow
scalar_gt, scalar_ge, scalar_lt, scalar_le = operator.gt, operator.ge, operator.lt, operator.le
scalar_eq, scalar_ne, scalar_usub, scalar_uadd = operator.eq, operator.ne, operator.neg, operator.pos
scalar_log, scalar_max, scalar_min = math.log, max, min
tuple_equal = list_equal = string_eq = bool_eq = operator.eq
string_concat = operator.add
bool_not, is_, is_not = operator.not_, operator.is_, operator.is_not
make_slice = slice
typeof = get_py_obj_dtype


def _with_item(container: Any, index: Any, value: Any) -> Any:
    fresh = dict(container) if isinstance(container, dict) else list(container)
    fresh[index] = value
    return tuple(fresh) if isinstance(container, tuple) else fresh


tuple_setitem = list_setitem = dict_setitem = _with_item


def tail(sequence: Any) -> Any:
    """All but the first item.

    >>> tail((1, 2, 3))
    (2, 3)
    """
    return sequence[1:]


def make_range(*bounds: int) -> tuple[int, ...]:
    """The integers of a range, as a tuple.

    >>> make_range(1, 4)
    (1, 2, 3)
    """
    return tuple(range(*bounds))


def make_tuple(*items: Any) -> tuple[Any, ...]:
    """A tuple of the arguments."""
    return items


def make_list(*items: Any) -> list[Any]:
    """A list of the arguments."""
    return list(items)


def make_dict(keys: Any, values: Any) -> dict[Any, Any]:
    """A dict of keys and values.

    >>> make_dict(("a", "b"), (1, 2))
    {'a': 1, 'b': 2}
    """
    return dict(zip(keys, values, strict=True))


def tuple_reversed(sequence: Any) -> Any:
    """The items from the last to the first."""
    return sequence[::-1]


def tuple_div(x: Any, y: Any) -> tuple[Any, ...]:
    """Quotients of integers, item by item."""
    return tuple(a // b for a, b in zip(x, y, strict=True))


def bool_and(x: Any, y: Any) -> Any:
    """`x and y`."""
    return x and y


def bool_or(x: Any, y: Any) -> Any:
    """`x or y`."""
    return x or y


def in_dict(key: Any, container: Any) -> bool:
    """Whether a key is there."""
    return key in container


def not_in_dict(key: Any, container: Any) -> bool:
    """Whether a key is not there."""
    return key not in container


def shape_mul(shape: tuple[int, ...]) -> int:
    """The product of the sizes.

    >>> shape_mul((2, 3, 4))
    24
    """
    return math.prod(shape)


def reduced_shape(shape: tuple[int, ...], axis: Any) -> tuple[int, ...]:
    """A shape with the sizes of these axes 1.

    >>> reduced_shape((2, 3, 4), (0, -1))
    (1, 3, 1)
    """
    axes = range(len(shape)) if axis == () else (axis,) if isinstance(axis, int) else axis
    reduced = {a % len(shape) for a in axes}
    return tuple(1 if i in reduced else n for i, n in enumerate(shape))


def scalar_cast(input_x: Any, input_y: Any) -> Any:
    """A number as a Python number of the kind of a dtype.

    >>> import numpy as np
    >>> scalar_cast(3.7, np.dtype("int64"))
    3
    """
    kind = np.dtype(input_y).kind
    return {"b": bool, "i": int, "u": int, "f": float}[kind](input_x)


def array_to_scalar(x: Tensor) -> Any:
    """The element of a Tensor as a Python number."""
    return x.item()


def isconstant(x: Any) -> bool:
    """Whether a value is known when a graph is built.

    >>> isconstant(3)
    True
    """
    return not isinstance(x, Tensor)


def partial(fn: Callable[..., Any], *args: Any) -> Any:
    """A function with its first arguments given.

    >>> partial(max, 3)(2, 5)
    5
    """
    return functools.partial(fn, *args)


def zip_operation(*sequences: Any) -> tuple[Any, ...]:
    """Tuples of items that stand at the same place.

    >>> zip_operation((1, 2), "ab")
    ((1, 'a'), (2, 'b'))
    """
    return tuple(zip(*sequences))


def switch(condition: Any, x: Any, y: Any) -> Any:
    """x if the condition holds, else y."""
    return x if condition else y


def switch_layer(index: Any, layers: Any) -> Any:
    """One of several functions, chosen by a number."""
    return layers[int(index)]


def mixed_precision_cast(dtype: Any, value: Any) -> Any:
    """Tensors of floats cast to a dtype, also those in containers.

    >>> import adjoint.mindspore as mindspore
    >>> mixed_precision_cast(mindspore.float16, (mindspore.Tensor([1.0]), 2))[0].dtype
    dtype('float16')
    """
    if isinstance(value, (tuple, list)):
        return type(value)(mixed_precision_cast(dtype, x) for x in value)
    if isinstance(value, dict):
        return {k: mixed_precision_cast(dtype, x) for k, x in value.items()}
    return value.astype(dtype) if isinstance(value, Tensor) and value.dtype.kind in "fV" else value


def depend(value: Any, expr: Any) -> Any:
    """The value; what it is to come after has been computed before."""
    return value


def hastype(x: Any, kind: Any) -> bool:
    """Whether an object has a type."""
    return get_py_obj_dtype(x) == kind


def core(fn: Any = None, **flags: Any) -> Any:
    """Marks a function for MindSpore's compiler; nothing changes here."""
    return add_flags(fn, core=True, **flags)


def add_flags(fn: Any = None, **flags: Any) -> Any:
    """Marks a function or Cell for MindSpore's compiler; nothing changes here.

    >>> add_flags(lambda x: x, has_effect=True)._func_graph_flags
    {'has_effect': True}
    """
    from adjoint.mindspore.common.api import _add_flags

    return _add_flags(fn, **flags)


__all__ = [
    "add_flags", "array_to_scalar", "bool_and", "bool_eq", "bool_not", "bool_or", "core", "depend", "dict_getitem",
    "dict_setitem", "hastype", "in_dict", "is_", "is_not", "isconstant", "list_equal", "list_getitem", "list_len",
    "list_setitem", "make_dict", "make_list", "make_range", "make_slice", "make_tuple", "mixed_precision_cast",
    "not_in_dict", "partial", "reduced_shape", "scalar_add", "scalar_cast", "scalar_div", "scalar_eq", "scalar_floordiv",
    "scalar_ge", "scalar_gt", "scalar_le", "scalar_log", "scalar_lt", "scalar_max", "scalar_min", "scalar_mod", "scalar_mul", "scalar_ne", "scalar_pow",
    "scalar_sub", "scalar_uadd", "scalar_usub", "shape_mul", "string_concat", "string_eq", "switch", "switch_layer", "tail",
    "tuple_div", "tuple_equal", "tuple_getitem", "tuple_len", "tuple_reversed", "tuple_setitem", "typeof", "zip_operation",
]  # fmt: skip

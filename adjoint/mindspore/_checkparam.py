"""mindspore._checkparam: checks of arguments, which programs import as `validator`."""

from __future__ import annotations

import operator
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

EQ, NE, LT, LE, GT, GE, INC_NEITHER, INC_LEFT, INC_RIGHT, INC_BOTH, IN, NOT_IN = range(1, 13)

_RELATIONS: dict[int, tuple[str, Callable[[Any, Any], bool]]] = {
    EQ: ("=", operator.eq), NE: ("!=", operator.ne), LT: ("<", operator.lt), LE: ("<=", operator.le),
    GT: (">", operator.gt), GE: (">=", operator.ge), IN: ("in", lambda x, xs: x in xs), NOT_IN: ("not in", lambda x, xs: x not in xs),
}  # fmt: skip
_RANGES: dict[int, tuple[str, str, Callable[[Any, Any], bool], Callable[[Any, Any], bool]]] = {
    INC_NEITHER: ("(", ")", operator.lt, operator.lt), INC_LEFT: ("[", ")", operator.le, operator.lt),
    INC_RIGHT: ("(", "]", operator.lt, operator.le), INC_BOTH: ("[", "]", operator.le, operator.le),
}  # fmt: skip


def _of(prim_name: str | None, arg_name: str | None = None) -> str:
    what = f"'{arg_name}'" if arg_name else "input value"
    return f"For '{prim_name}', the {what}" if prim_name else f"The {what}"


def check(
    arg_name: str,
    arg_value: Any,
    value_name: str,
    value: Any,
    rel: int = EQ,
    prim_name: str | None = None,
    excp_cls: type[Exception] = ValueError,
) -> Any:
    """An argument that stands in a relation to a value.

    >>> check("a", 3, "b", 4, LT)
    3
    """
    sign, holds = _RELATIONS[rel]
    if not holds(arg_value, value):
        raise excp_cls(f"{_of(prim_name, arg_name)} should be {sign} {value_name}: {value}, but got {arg_value}.")
    return arg_value


def check_number(arg_name: str, arg_value: Any, value: Any, rel: int, prim_name: str | None = None) -> Any:
    """A number that stands in a relation to another."""
    return check(arg_name, arg_value, "value", value, rel, prim_name)


def check_is_number(arg_value: Any, arg_type: type, arg_name: str | None = None, prim_name: str | None = None) -> Any:
    """A finite number of a type; truth values are none."""
    if not isinstance(arg_value, arg_type) or isinstance(arg_value, bool):
        raise TypeError(f"{_of(prim_name, arg_name)} must be {arg_type.__name__}, but got '{type(arg_value).__name__}'")
    if isinstance(arg_value, float) and not np.isfinite(arg_value):
        raise ValueError(f"{_of(prim_name, arg_name)} must be a finite number, but got '{arg_value}'")
    return arg_value


def check_is_int(arg_value: Any, arg_name: str | None = None, prim_name: str | None = None) -> int:
    """An int."""
    return check_is_number(arg_value, int, arg_name, prim_name)


def check_is_float(arg_value: Any, arg_name: str | None = None, prim_name: str | None = None) -> float:
    """A float."""
    return check_is_number(arg_value, float, arg_name, prim_name)


def check_int(arg_value: Any, value: Any, rel: int, arg_name: str | None = None, prim_name: str | None = None) -> int:
    """An int that stands in a relation to a value."""
    check_is_int(arg_value, arg_name, prim_name)
    sign, holds = _RELATIONS[rel]
    if not holds(arg_value, value):
        raise ValueError(f"{_of(prim_name, arg_name)} must be int and must {sign} {value}, but got '{arg_value}'.")
    return arg_value


def check_float(
    arg_value: Any, value: Any, rel: int, arg_name: str | None = None, prim_name: str | None = None
) -> float:
    """A float that stands in a relation to a value."""
    check_is_float(arg_value, arg_name, prim_name)
    sign, holds = _RELATIONS[rel]
    if not holds(arg_value, value):
        raise ValueError(f"{_of(prim_name, arg_name)} must be float and must {sign} {value}, but got '{arg_value}'.")
    return arg_value


def check_equal_int(arg_value: Any, value: int, arg_name: str | None = None, prim_name: str | None = None) -> int:
    """An int that is this one."""
    return check_int(arg_value, value, EQ, arg_name, prim_name)


def check_positive_int(arg_value: Any, arg_name: str | None = None, prim_name: str | None = None) -> int:
    """An int above zero."""
    return check_int(arg_value, 0, GT, arg_name, prim_name)


def check_non_negative_int(arg_value: Any, arg_name: str | None = None, prim_name: str | None = None) -> int:
    """An int from zero on."""
    return check_int(arg_value, 0, GE, arg_name, prim_name)


def check_positive_float(arg_value: Any, arg_name: str | None = None, prim_name: str | None = None) -> float:
    """A float above zero."""
    return check_float(arg_value, 0.0, GT, arg_name, prim_name)


def check_non_negative_float(arg_value: Any, arg_name: str | None = None, prim_name: str | None = None) -> float:
    """A float from zero on."""
    return check_float(arg_value, 0.0, GE, arg_name, prim_name)


def check_number_range(
    arg_value: Any,
    lower_limit: Any,
    upper_limit: Any,
    rel: int,
    value_type: type,
    arg_name: str | None = None,
    prim_name: str | None = None,
) -> Any:
    """A number of a type in a range."""
    check_is_number(arg_value, value_type, arg_name, prim_name)
    opening, closing, above, below = _RANGES[rel]
    if not (above(lower_limit, arg_value) and below(arg_value, upper_limit)):
        span = f"{opening}{lower_limit}, {upper_limit}{closing}"
        raise ValueError(f"{_of(prim_name, arg_name)} must be in range of {span}, but got {arg_value}.")
    return arg_value


def check_int_range(
    arg_value: Any,
    lower_limit: int,
    upper_limit: int,
    rel: int,
    arg_name: str | None = None,
    prim_name: str | None = None,
) -> int:
    """An int in a range."""
    return check_number_range(arg_value, lower_limit, upper_limit, rel, int, arg_name, prim_name)


def check_float_range(
    arg_value: Any,
    lower_limit: float,
    upper_limit: float,
    rel: int,
    arg_name: str | None = None,
    prim_name: str | None = None,
) -> float:
    """A float in a range."""
    return check_number_range(arg_value, lower_limit, upper_limit, rel, float, arg_name, prim_name)


def check_bool(arg_value: Any, arg_name: str | None = None, prim_name: str | None = None) -> bool:
    """A truth value."""
    if not isinstance(arg_value, bool):
        raise TypeError(f"{_of(prim_name, arg_name)} must be a bool, but got {type(arg_value).__name__}.")
    return arg_value


def check_string(
    arg_value: Any, valid_values: Sequence[str], arg_name: str | None = None, prim_name: str | None = None
) -> str:
    """One of these strings."""
    if not isinstance(arg_value, str) or arg_value not in valid_values:
        raise ValueError(
            f"{_of(prim_name, arg_name)} must be str and must be in '{valid_values}', but got '{arg_value}'."
        )
    return arg_value


def check_value_type(arg_name: str, arg_value: Any, valid_types: Any, prim_name: str | None = None) -> Any:
    """A value of one of these types; a truth value is no int."""
    kinds = tuple(valid_types) if isinstance(valid_types, (list, tuple)) else (valid_types,)
    if isinstance(arg_value, kinds) and not (isinstance(arg_value, bool) and bool not in kinds):
        return arg_value
    names = " or ".join(getattr(k, "__name__", str(k)) for k in kinds)
    start = f"For '{prim_name}', the" if prim_name else "The"
    raise TypeError(f"{start} type of '{arg_name}' should be '{names}', but got type '{type(arg_value).__name__}'.")


def check_isinstance(arg_name: str, arg_value: Any, classes: Any) -> Any:
    """A value of one of these classes."""
    if not isinstance(arg_value, classes):
        raise ValueError(f"The parameter '{arg_name}' must be isinstance of {classes}, but got {type(arg_value)}.")
    return arg_value


def check_subclass(
    arg_name: str, type_: Any, template_types: Any, prim_name: str, addition_error_info: Any = None
) -> None:
    """A type of one of these kinds; the types of Tensors are of the kind Tensor."""
    wanted = template_types if isinstance(template_types, (list, tuple)) else (template_types,)
    own = getattr(type_, "dtype", type_)
    if hasattr(type_, "element_type") and any(isinstance(t, type) and t.__name__ == "Tensor" for t in wanted):
        return
    if not any(own == t or (isinstance(t, type) and isinstance(own, type) and issubclass(own, t)) for t in wanted):
        raise TypeError(f"{_of(prim_name, arg_name)} should be of the kind {wanted}, but got {type_}.")


def check_tensor_dtype_valid(arg_name: str, arg_type: Any, valid_dtypes: Any, prim_name: str) -> Any:
    """A dtype, or a Tensor's type, that is one of these."""
    if getattr(arg_type, "dtype", arg_type) not in tuple(valid_dtypes):
        raise TypeError(
            f"{_of(prim_name, arg_name)} must be a Tensor of one of {list(valid_dtypes)}, but got {arg_type}."
        )
    return arg_type


check_type_name = check_tensor_dtype_valid


def check_tensors_dtypes_same_and_valid(args: dict[str, Any], valid_dtypes: Any, prim_name: str) -> Any:
    """Tensors' types with one dtype, which is one of these."""
    first: Any = None
    for name, kind in args.items():
        check_tensor_dtype_valid(name, kind, valid_dtypes, prim_name)
        own = getattr(kind, "dtype", kind)
        if first is not None and own != first:
            raise TypeError(f"{_of(prim_name, name)} must have the dtype {first}, but got {own}.")
        first = own
    return first


def check_axis_in_range(axis: int, ndim: int) -> int:
    """An axis counted from the front."""
    if not -ndim <= axis < ndim:
        raise ValueError(f"The axis {axis} is out of range for {ndim} dimensions.")
    return axis % ndim


def check_positive_int_sequence(
    sequence: Sequence[int], arg_name: str | None = None, prim_name: str | None = None
) -> Any:
    """Ints above zero."""
    for item in sequence:
        check_positive_int(item, arg_name, prim_name)
    return sequence

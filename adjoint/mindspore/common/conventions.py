"""What differs between MindSpore and the engine in the meaning of one and the same expression, as a switch.

On: integers give way to floats of any width (`Tensor([1, 2]) * 0.5` is float32), a Parameter is shown by its name, shape and dtype,
`set_data` may change its shape, and no gradient flows into what is stored in one. The package switches it on when it is imported.
"""

from __future__ import annotations

import functools
from collections.abc import Callable
from typing import Any

from adjoint.core.dispatch import Value
from adjoint.core.language import language
from adjoint.core.parameter import Parameter
from adjoint.core.spec import complex64, dtype_of, float32, is_inexact, number_of
from adjoint.core.tensor import Tensor
from adjoint.core.tensor_text import dtype_name


def _adapted(x: Any, other: Any) -> Any:
    """A Tensor as it takes part in an operation with another input: integers and truth values give way to floats."""
    if not isinstance(x, Value) or x.dtype.kind not in "biu" or number_of(x) is not None:
        return x
    if not isinstance(other, (Value, bool, int, float, complex)) or not is_inexact(dtype_of(other)):
        return x
    if isinstance(other, Value) and number_of(other) is None:
        return language.cast(x, other.dtype)
    return language.cast(x, complex64 if dtype_of(other).kind == "c" else float32)


def _promoting(function: Callable[[Any, Any], Any]) -> Callable[[Any, Any], Any]:
    """An operator, whose inputs MindSpore's rules give a dtype."""

    @functools.wraps(function)
    def call(x: Any, y: Any, /) -> Any:
        if type(x) is Tensor and type(y) is Tensor and x.dtype is y.dtype:
            return function(x, y)
        return function(_adapted(x, y), _adapted(y, x))

    return call


def _division(function: Callable[[Any, Any], Any]) -> Callable[[Any, Any], Any]:
    """The quotient, in float32 if there is no float."""
    promoted = _promoting(function)

    @functools.wraps(function)
    def call(x: Any, y: Any, /) -> Any:
        if isinstance(x, Value) and x.dtype.kind in "biu" and not is_inexact(dtype_of(y)) and number_of(x) is None:
            x = language.cast(x, float32)
        elif isinstance(y, Value) and y.dtype.kind in "biu" and not is_inexact(dtype_of(x)) and number_of(y) is None:
            y = language.cast(y, float32)
        return promoted(x, y)

    return call


def shown(p: Parameter) -> str:
    """A Parameter as MindSpore shows it.

    >>> shown(Parameter([1.0], name="w"))
    'Parameter (name=w, shape=(1,), dtype=Float32, requires_grad=True)'
    """
    return f"Parameter (name={p.name}, shape={p.shape}, dtype={dtype_name(p.dtype)}, requires_grad={p.requires_grad})"


#: Functions that give more changes: (owner, attribute, new value).
further: list[Callable[[], list[tuple[Any, str, Any]]]] = []


def _changes() -> list[tuple[Any, str, Any]]:
    from adjoint.mindspore.tensor_arguments import METHODS

    operators = ("add", "sub", "mul", "mod", "pow", "floor_divide")
    return [
        *((language, name, _promoting(getattr(language, name))) for name in operators),
        (language, "div", _division(language.div)),
        (Parameter, "__repr__", shown),
        (Parameter, "__str__", shown),
        (Parameter, "resizable", True),
        (Parameter, "stores_are_constants", True),
        *((Tensor, name, method) for name, method in METHODS.items()),
        *(change for changes in further for change in changes()),
    ]


_before: list[tuple[Any, str, Any]] = []


def switch_on() -> None:
    """From here on expressions mean what they do in MindSpore."""
    if _before:
        return
    changes = _changes()
    _before.extend((owner, name, vars(owner).get(name)) for owner, name, _ in changes)
    for owner, name, new in changes:
        setattr(owner, name, new)


def switch_off() -> None:
    """From here on they mean what they do in the engine.

    >>> from adjoint import Tensor
    >>> switch_on()
    >>> str((Tensor([1, 2]) * 0.5).dtype)
    'float32'
    >>> switch_off()
    >>> str((Tensor([1, 2]) * 0.5).dtype)
    'float64'
    """
    for owner, name, old in _before:
        if old is None:
            delattr(owner, name)
        else:
            setattr(owner, name, old)
    _before.clear()

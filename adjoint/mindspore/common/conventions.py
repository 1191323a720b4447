"""What differs between MindSpore and the engine in the meaning of one and the same expression, as a switch.

On: integers give way to floats of any width (`Tensor([1, 2]) * 0.5` is float32), `float(x)` cuts a gradient, a Parameter is shown by
its name, shape and dtype, dtypes are shown as `Float32`, `set_data` may change its shape, and no gradient flows into what is stored in one. The package
switches it on when it is imported, for the whole process.
"""

from __future__ import annotations

import sys
from collections.abc import Callable
from typing import Any

from adjoint.core import context
from adjoint.core.parameter import Parameter
from adjoint.core.tensor import Tensor
from adjoint.core.tensor_text import dtype_name
from adjoint.mindspore.common import texts, types


def shown(p: Parameter) -> str:
    """A Parameter as MindSpore shows it.

    >>> shown(Parameter([1.0], name="w"))
    'Parameter (name=w, shape=(1,), dtype=Float32, requires_grad=True)'
    """
    return f"Parameter (name={p.name}, shape={p.shape}, dtype={dtype_name(p.dtype)}, requires_grad={p.requires_grad})"


#: Functions that give more changes: (owner, attribute, new value).
further: list[Callable[[], list[tuple[Any, str, Any]]]] = []


_NUMPYS: Any = vars(Tensor)["dtype"].fget
FOR_PROGRAMS = "adjoint.frontend.reading"  # reads attributes where a compiled program does


def _dtype(x: Tensor) -> Any:
    """The dtype of the elements: MindSpore's type to a program, NumPy's dtype to the engine, which builds graphs with it."""
    dtype = _NUMPYS(x)
    reader = sys._getframe(1).f_globals.get("__name__", "")
    return dtype if reader.startswith("adjoint.") and reader != FOR_PROGRAMS else types.of(dtype)


def _changes() -> list[tuple[Any, str, Any]]:
    from adjoint.mindspore.common import operators
    from adjoint.mindspore.tensor_arguments import METHODS

    return [
        *operators.changes(),
        (Tensor, "dtype", property(_dtype)),
        (sys.modules[Tensor.__module__], "with_values", texts.with_values),
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
    context.cutting.set(True)


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
        if old is not None:
            setattr(owner, name, old)
        elif name in vars(owner):
            delattr(owner, name)
    _before.clear()
    context.cutting.set(False)

"""Python's operators on Tensors with MindSpore's promotion: `int_tensor * 0.5` and `int32 / int32` are of float32.

`x += v` makes another Tensor, and what compared with a Tensor is no number gives one answer: `x == None` is False.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from adjoint.core.language import language
from adjoint.core.spec import NUMBERS, number_of
from adjoint.core.tensor import Tensor
from adjoint.mindspore.common.mutable import MutableFloat, MutableInt
from adjoint.mindspore.ops.promotion import promoted
from adjoint.ops import cast

_NAMES = (
    "add", "sub", "mul", "div", "floor_divide", "mod", "pow", "less", "less_equal", "greater", "greater_equal", "equal",
    "not_equal",
)  # fmt: skip


def _kind(x: Any) -> Any:
    """The dtype of an array, "weak" for a Python number, None for anything else."""
    if isinstance(x, Tensor):
        return "weak" if number_of(x) is not None else x.dtype
    return "weak" if type(x) in NUMBERS else x.dtype if isinstance(x, (np.ndarray, np.generic)) else None


def _operand(x: Any) -> Any:
    if type(x) in (list, tuple):
        return Tensor(x)
    return int(x) if type(x) is MutableInt else float(x) if type(x) is MutableFloat else x


def _promoting(name: str, function: Callable[..., Any]) -> Callable[..., Any]:
    def call(x: Any, y: Any, /) -> Any:
        if type(x) is Tensor and type(y) is Tensor and x.dtype is y.dtype and x.dtype.kind in "fc":
            return function(x, y)
        x, y = _operand(x), _operand(y)
        a, b = _kind(x), _kind(y)
        if a is None or b is None or (a is b and a == "weak"):
            return function(x, y)
        if a != b:
            x, y = promoted(x, y)
        if name == "div":
            x, y = (cast(v, np.float32) if isinstance(v, Tensor) and v.dtype.kind in "biu" else v for v in (x, y))
        return function(x, y)

    return call


def changes() -> list[tuple[Any, str, Any]]:
    """What the operators of Tensors are in MindSpore: (owner, name, function)."""
    return [
        *((language, name, _promoting(name, getattr(language, name))) for name in _NAMES),
        (language, "everywhere", lambda x, answer: answer),
        (language, "writes", lambda x, new: False),
    ]

"""Python's operators on Tensors with MindSpore's promotion: `int_tensor * 0.5` and `int32 / int32` are of float32.

`x += v` makes another Tensor, except in a graph, where it writes into x (but not into what x is a part of); there the caller
does not see `x[i] = v`. What compared with a Tensor is no number gives one answer: `x == None` is False.
"""

from __future__ import annotations

import sys
from collections.abc import Callable
from typing import Any

import numpy as np

from adjoint.api.lenient import final
from adjoint.core import context, views
from adjoint.core.errors import ShapeError, called_at
from adjoint.core.inplace_operators import InPlaceOperators
from adjoint.core.language import language
from adjoint.core.spec import NUMBERS, number_of
from adjoint.core.tensor import Tensor
from adjoint.mindspore.common.graph_context import in_graph, whole
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


def _updates(x: Any) -> bool:
    """Whether `x += v` writes into x: a Tensor, also one without axes, in a graph."""
    return in_graph() and number_of(x) is None


def _updated(self: Any, new: Any) -> Any:
    """What `x += v` leaves: in a graph x itself, which keeps its dtype."""
    if self._trace.shapeless or not _updates(self):
        return new
    if new.shape != self.shape:
        raise ShapeError(f"x += v (or -=, *=, ...) writes shape {new.shape} into x, of {self.shape}{called_at()}")
    views.keep(self, shown=True)
    views.write(views.part(self), new if new.dtype == self.dtype else cast(new, self.dtype))
    return self


def _raised(self: Any, other: Any) -> Any:
    """`x **= v`, which the caller of a graph does not see."""
    new = self**other
    if self._trace.shapeless or not _updates(self):
        return new
    views.keep(self, again=True)
    views.write(views.part(self), new)
    return self


def _arrays(name: str) -> Any:
    """A method that makes arrays or lists of Tensors, which is refused in a graph that must be whole."""
    method = getattr(Tensor, name)

    def call(self: Any, *args: Any, **kwargs: Any) -> Any:
        inside = sys._getframe(1).f_globals.get("__name__", "").startswith("adjoint.core")  # float(x) and x.item()
        if whole.get() and context.tracer.get() is not None and not inside:
            raise final(
                AttributeError(f"a Tensor has no attribute '{name}' where jit(fullgraph=True) compiles{called_at()}")
            )
        return method(self, *args, **kwargs)

    call.__doc__ = method.__doc__
    return call


_set_item = InPlaceOperators.__setitem__


def _stored(self: Any, index: Any, value: Any) -> None:
    """`x[i] = v`; numbers in a list take the dtype of x."""
    views.keep(self)
    _set_item(self, index, Tensor(np.asarray(value), self.dtype) if _is_numbers(value) else value)


def _is_numbers(value: Any) -> bool:
    return type(value) in (list, tuple) and all(type(v) in NUMBERS or _is_numbers(v) for v in value)


def changes() -> list[tuple[Any, str, Any]]:
    """What the operators of Tensors are in MindSpore: (owner, name, function)."""
    return [
        *((language, name, _promoting(name, getattr(language, name))) for name in _NAMES),
        (language, "everywhere", lambda x, answer: answer),
        (language, "writes", lambda x, new: in_graph()),
        (views, "updates", _updates),
        (Tensor, "_updated", _updated),
        (Tensor, "__ipow__", _raised),
        (Tensor, "__setitem__", _stored),
        *((Tensor, name, _arrays(name)) for name in ("asnumpy", "tolist")),
    ]

"""Views that NumPy lets nobody write to: broadcast arrays and diagonals."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

from adjoint.core import views
from adjoint.core.dispatch import Value
from adjoint.core.errors import AdjointError, called_at


@dataclass(frozen=True, eq=False)
class _ReadOnly:
    """A step to a view that NumPy lets nobody write to; what is written to the array is seen in it."""

    name: str
    show: Callable[..., Any]  # of a Tensor, by ops that make no views
    kernel: Callable[..., Any]  # of an array

    ordered = False

    def put(self, x: Any, y: Any) -> Any:
        raise AdjointError(
            f"NumPy's {self.name} gives a view that is read-only: write to a copy of it, or to the array itself{called_at()}"
        )

    def eval(self, xp: Any, x: Any) -> Any:
        return self.kernel(x)

    def is_apart(self, other: Any, base: Any) -> bool:
        return False


def read_only(name: str, x: Any, show: Callable[..., Any], kernel: Callable[..., Any]) -> Any:
    """A read-only view of a Tensor: `show(x)`, and `kernel(array)` as NumPy has it."""
    y = views.alone(show(x))
    if isinstance(x, Value) and y.shape:
        views.relate(y, x, _ReadOnly(name, lambda z: views.alone(show(z)), kernel))
    return y

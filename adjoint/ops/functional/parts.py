"""x.real, x.imag and x.conj(): views of x where NumPy's are."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from adjoint.core import views
from adjoint.core.dispatch import Value
from adjoint.core.errors import DtypeError, called_at
from adjoint.core.spec import dtype_of, shape_of
from adjoint.ops.card import card
from adjoint.ops.functional.elementwise import complex
from adjoint.ops.functional.of_cards import conj, imag, real
from adjoint.ops.movement import Reshape


@dataclass(frozen=True)
class _Part:
    """The real or the imaginary part, as a step of a view."""

    is_real: bool

    ordered = False

    def show(self, x: Any) -> Any:
        return real(x) if self.is_real else imag(x)

    def put(self, x: Any, y: Any) -> Any:
        return complex(y, imag(x)) if self.is_real else complex(real(x), y)

    def eval(self, xp: Any, x: Any) -> Any:
        return x["f0" if self.is_real else "f1"]

    def is_apart(self, other: Any, base: Any) -> bool:
        return isinstance(other, _Part) and other.is_real != self.is_real


def _part(x: Any, is_real: bool) -> Any:
    step = _Part(is_real)
    y = step.show(x)
    if isinstance(x, Value) and y.shape:
        views.relate(y, x, step)
    return y


def real_part(x: Any) -> Any:
    """The real part; of a real Tensor its own elements."""
    return _part(x, True) if dtype_of(x).kind == "c" else card(Reshape, shape_of(x))(x)


def imaginary_part(x: Any) -> Any:
    """The imaginary part."""
    return _part(x, False) if dtype_of(x).kind == "c" else imag(x)


def conjugate(x: Any) -> Any:
    """The complex conjugate; of a real Tensor its own elements."""
    return conj(x) if dtype_of(x).kind == "c" else card(Reshape, shape_of(x))(x)


def set_real(x: Any, value: Any) -> None:
    """`x.real = value`."""
    x[...] = complex(value, imag(x)) if dtype_of(x).kind == "c" else value


def set_imaginary(x: Any, value: Any) -> None:
    """`x.imag = value`."""
    if dtype_of(x).kind != "c":
        raise DtypeError(f"a Tensor of {dtype_of(x)} has no imaginary part to set{called_at()}")
    x[...] = complex(real(x), value)

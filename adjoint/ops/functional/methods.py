"""Methods and attributes of Tensor that are no functions of `ops`: `x.T`, `x.real`, `x.float()`."""

from __future__ import annotations

from typing import Any

from adjoint.core.tensor import Tensor
from adjoint.ops import array_methods, tensor_habits, transfer
from adjoint.ops.casting import cast
from adjoint.ops.functional import parts
from adjoint.ops.movement import swapaxes, transpose


def _transposed(x: Any) -> Any:
    """The axes reversed."""
    return transpose(x)


def _last_two_swapped(x: Any) -> Any:
    """The last two axes exchanged."""
    return swapaxes(x, -1, -2)


def attach() -> None:
    """Give them to Tensor."""
    found = {
        "T": property(_transposed, doc="The axes reversed."),
        "mT": property(_last_two_swapped, doc="The last two axes exchanged."),
        "real": property(parts.real_part, parts.set_real, doc="The real part."),
        "imag": property(parts.imaginary_part, parts.set_imaginary, doc="The imaginary part."),
        "conj": parts.conjugate,
        "conjugate": parts.conjugate,
        "dim": lambda x: x.ndim,
        "float": lambda x: cast(x, "float32"),
        "long": lambda x: cast(x, "int64"),
        "bool": lambda x: cast(x, "bool"),
    }
    for name, value in found.items():
        setattr(Tensor, name, value)
    transfer.attach()
    tensor_habits.attach()
    array_methods.attach()

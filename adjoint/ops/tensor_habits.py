"""PyTorch's words on Tensors that have no other name of ours: `x.numel()`, `x.double()`, `x.clone()`, `x.cuda()`.

They are found where neither Tensor nor another library's face has an attribute of that name.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from adjoint.core.errors import ArgumentError, called_at
from adjoint.core.tensor import Tensor
from adjoint.ops.casting import cast
from adjoint.ops.transfer import to


def _cuda(x: Any) -> Callable[..., Any]:
    def cuda(device: Any = None, non_blocking: bool = False) -> Any:
        """The Tensor on a GPU."""
        return to(x, "gpu" if device is None else f"gpu:{device}" if isinstance(device, int) else device)

    return cuda


def _type(x: Any) -> Callable[..., Any]:
    def type(dtype: Any = None) -> Any:
        """The Tensor in a dtype."""
        if dtype is None:
            raise ArgumentError(f"type: the dtype of a Tensor is x.dtype; x.type(dtype) casts it{called_at()}")
        return cast(x, dtype)

    return type


def _in(dtype: str) -> Callable[[Any], Callable[[], Any]]:
    return lambda x: lambda: cast(x, dtype)


HABITS: dict[str, Callable[[Any], Any]] = {
    "numel": lambda x: lambda: x.size,
    "nelement": lambda x: lambda: x.size,
    "ndimension": lambda x: lambda: x.ndim,
    "clone": lambda x: lambda: x.copy(),
    "contiguous": lambda x: lambda: x,
    "is_contiguous": lambda x: lambda: True,
    "double": _in("float64"),
    "half": _in("float16"),
    "int": _in("int32"),
    "cuda": _cuda,
    "type": _type,
    "type_as": lambda x: lambda other: cast(x, other.dtype),
    "is_cuda": lambda x: x.device.startswith("gpu"),
}


def attach() -> None:
    """Give them to Tensor."""
    Tensor.habits.update(HABITS)

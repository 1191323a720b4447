"""What Tensor needs of the tape that `backward()` sweeps: `requires_grad`, `.grad`, hooks, and which Tensors are leaves.

`core` may not import `transforms`. So `Autograd` states the functions that Tensor's methods call, `transforms` binds
them once, when it is imported, and the type checker compares what is bound with what is stated.
"""

from __future__ import annotations

from collections.abc import Callable
from types import SimpleNamespace
from typing import Any, Protocol, cast


class Autograd(Protocol):
    """The functions that Tensor and Parameter call; `adjoint.transforms.backward` has them."""

    def is_leaf(self, x: Any, /) -> bool:
        """Whether a Tensor is an input that `backward()` accumulates for."""

    def is_of_parameters(self, x: Any, /) -> bool:
        """Whether all that `backward()` would accumulate for are Parameters."""

    def is_muted(self) -> bool:
        """Whether `backward()` records nothing just now."""

    def requires_grad(self, x: Any, /) -> bool: ...
    def set_requires_grad(self, x: Any, wanted: bool, /) -> None: ...
    def get_accumulated(self, x: Any, /) -> Any: ...
    def set_accumulated(self, x: Any, value: Any, /) -> None: ...
    def set_leaf(self, x: Any, new: Any, /) -> None:
        """Give a leaf another value."""

    def parameter_leaf(self, p: Any, /) -> Any:
        """A Parameter as an input of the tape."""

    def backward(self, y: Any, gradient: Any, retain_graph: bool, /) -> None: ...
    def register_hook(self, x: Any, hook: Callable[[Any], Any], /) -> Any: ...


NAMES = [name for name in vars(Autograd) if not name.startswith("_")]

#: What `transforms` has bound.
autograd: Autograd = cast(Any, SimpleNamespace())


def bind(functions: Autograd) -> None:
    """Give Tensor its `backward()`."""
    vars(autograd).update({name: getattr(functions, name) for name in NAMES})

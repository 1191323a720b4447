"""mindspore.saved_tensors_hooks: functions that pack and unpack what is kept for the backward pass, in dynamic mode."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from adjoint.core import context


class saved_tensors_hooks:
    """In this block `pack_hook` gets each Tensor that is kept for the backward pass, and `unpack_hook` gives it back there.

    >>> from adjoint.mindspore import Tensor, ops
    >>> def f(x):
    ...     with saved_tensors_hooks(lambda t: t.asnumpy(), lambda a: Tensor(a) * 10):
    ...         return ops.sin(x)
    >>> print(ops.grad(f)(Tensor([0.0])))
    [1.]
    """

    def __init__(self, pack_hook: Callable[[Any], Any], unpack_hook: Callable[[Any], Any]) -> None:
        if not callable(pack_hook) or not callable(unpack_hook):
            raise TypeError("saved_tensors_hooks takes two functions.")
        self.hooks = (pack_hook, unpack_hook)

    def __enter__(self) -> None:
        self._token = context.packing.set(self.hooks)

    def __exit__(self, *exc: Any) -> None:
        context.packing.reset(self._token)

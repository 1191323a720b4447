"""Methods of Tensors that mean something else in a graph of MindSpore than outside, or have other results than the engine's."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from adjoint.core import context
from adjoint.core.spec import int64
from adjoint.core.tensor import Tensor
from adjoint.mindspore import ops
from adjoint.mindspore.common import conventions


def _extreme(largest: bool) -> Callable[..., Any]:
    """The largest or smallest elements; with their places if the axis is given as MindSpore's `dim`."""
    whole, pair = (ops.amax, ops.max) if largest else (ops.amin, ops.min)

    def method(self: Any, *args: Any, **kwargs: Any) -> Any:
        if isinstance(args[0] if args else None, Tensor):
            return (ops.maximum if largest else ops.minimum)(self, args[0])
        if context.tracer.get() is not None and args and "keepdim" not in kwargs:  # in a graph they name the axis
            return whole(self, *args, **kwargs)
        if args or "dim" in kwargs:
            dim = args[0] if args else kwargs["dim"]
            keep = args[1] if len(args) > 1 else kwargs.get("keepdim", kwargs.get("keepdims", False))
            values, places = pair(self, dim, keep)
            return values, ops.cast(places, int64)
        if kwargs.pop("return_indices", False):
            return pair(self, **kwargs)
        return whole(self, **kwargs)

    return method


def _view(self: Any, *shape: Any) -> Any:
    if len(shape) == 1 and isinstance(shape[0], (np.dtype, type)):
        return Tensor(self.asnumpy().view(shape[0]))
    return self.reshape(*shape)


def _changes() -> list[tuple[Any, str, Any]]:
    named = {name: getattr(ops, name) for name in ("diag", "count_nonzero", "real", "imag")}
    found = {**named, "max": _extreme(True), "min": _extreme(False), "view": _view}
    return [(Tensor, name, method) for name, method in found.items()]


def install() -> None:
    """Have these changed with the other conventions."""
    conventions.further.append(_changes)

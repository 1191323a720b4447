"""Methods of Tensors that mean something else in MindSpore than in the engine: other arguments, dtypes or results."""

from __future__ import annotations

import functools
import inspect
from collections.abc import Callable
from typing import Any

import numpy as np

from adjoint.core import context
from adjoint.core.spec import int32, int64
from adjoint.core.tensor import Tensor
from adjoint.mindspore import ops
from adjoint.mindspore.common import conventions
from adjoint.mindspore.tensor_arguments import METHODS

#: Names of one argument: MindSpore takes them all.
_SAME = (("axis", "dim"), ("keepdims", "keepdim", "keep_dims"), ("other", "divisor", "exponent"))


def _by_name(function: Callable[..., Any]) -> Callable[..., Any]:
    """A function of `mindspore.ops` as a method, with its arguments under any of their names, and a `dtype`."""
    known = list(inspect.signature(function).parameters)
    names = {n: next((k for k in group if k in known), n) for group in _SAME for n in group}

    @functools.wraps(function)
    def method(self: Any, *args: Any, **kwargs: Any) -> Any:
        dtype = kwargs.pop("dtype", None) if "dtype" not in known else None
        found = function(self, *args, **{names.get(k, k): v for k, v in kwargs.items()})
        return found if dtype is None else found.astype(dtype)

    return method


def _sum(
    self: Any,
    axis: Any = None,
    dtype: Any = None,
    keepdims: bool = False,
    initial: Any = None,
    *,
    dim: Any = None,
    keepdim: bool = False,
) -> Any:
    if isinstance(dtype, bool):  # the second of `sum(dim, keepdim)`
        dtype, keepdims = None, dtype
    axis = dim if axis is None else axis
    found = ops.sum(self, axis, keepdims or keepdim, dtype=dtype)
    return found if initial is None else found + initial


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


def _transpose(self: Any, *axes: Any) -> Any:
    """The axes in another order: all of them, or two exchanged."""
    if len(axes) == 2 and self.ndim != 2 and all(isinstance(a, int) for a in axes):
        return ops.swapaxes(self, *axes)
    if not axes:
        return ops.permute(self, tuple(range(self.ndim))[::-1])
    return ops.permute(self, tuple(axes[0]) if isinstance(axes[0], (tuple, list)) else axes)


def _flatten(self: Any, *args: Any, order: str = "C", start_dim: int = 0, end_dim: int = -1) -> Any:
    if args and isinstance(args[0], str):
        order, args = args[0], args[1:]
    bounds = [*args, start_dim, end_dim][: len(args)] + [start_dim, end_dim][len(args) :]
    start_dim, end_dim = bounds
    return ops.flatten(self, order, start_dim=start_dim, end_dim=end_dim)


def _gather(self: Any, *args: Any, **kwargs: Any) -> Any:
    """`gather(dim, index)` picks element by element, `gather(input_indices, axis, batch_dims)` whole slices."""
    first = args[0] if args else kwargs.get("dim")
    if isinstance(first, int):
        index = args[1] if len(args) > 1 else kwargs["index"]
        return ops.gather_elements(self, first, index)
    return ops.gather(self, *args, **kwargs)


def _where(self: Any, condition: Any, y: Any) -> Any:
    return ops.where(condition, self, y)


def _add(self: Any, other: Any, *, alpha: Any = 1) -> Any:
    return ops.add(self, other if alpha == 1 else other * alpha)


def _sub(self: Any, other: Any, *, alpha: Any = 1) -> Any:
    return ops.sub(self, other if alpha == 1 else other * alpha)


def _tile(self: Any, *dims: Any) -> Any:
    return ops.tile(self, tuple(dims[0]) if isinstance(dims[0], (tuple, list)) else dims)


def _view(self: Any, *shape: Any) -> Any:
    if len(shape) == 1 and isinstance(shape[0], (np.dtype, type)):
        return Tensor(self.asnumpy().view(shape[0]))
    return self.reshape(*shape)


def _argmin(self: Any, axis: Any = None, keepdims: bool = False, *, dim: Any = None, keepdim: bool = False) -> Any:
    return ops.cast(ops.argmin(self, dim if axis is None else axis, keepdims or keepdim), int32)


def _changes() -> list[tuple[Any, str, Any]]:
    named = (
        "mean", "prod", "any", "all", "argmax", "sort", "argsort", "topk", "chunk", "cumsum", "std", "var", "remainder",
        "scatter", "nonzero", "diag", "count_nonzero", "median", "div", "mul", "pow", "maximum", "minimum", "cumprod",
        "logsumexp", "split", "real", "imag", "unique",
    )  # fmt: skip
    own = {
        "sum": _sum, "max": _extreme(True), "min": _extreme(False), "transpose": _transpose, "flatten": _flatten,
        "gather": _gather, "where": _where, "add": _add, "sub": _sub, "tile": _tile, "view": _view, "argmin": _argmin,
    }  # fmt: skip
    found = {name: _by_name(getattr(ops, name)) for name in named}
    return [(Tensor, name, method) for name, method in {**found, **own}.items() if name not in METHODS]


def install() -> None:
    """Have these changed with the other conventions."""
    conventions.further.append(_changes)

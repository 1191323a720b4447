"""NumPy's functions that make arrays, with its signatures and default dtypes. They return Tensors."""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any

import numpy as np

from adjoint.core import views
from adjoint.core.dispatch import beside, new, wrap
from adjoint.core.errors import ArgumentError, ArgumentTypeError, called_at
from adjoint.core.layout import PAIR, UNKNOWN, layout_of, same, tidy
from adjoint.core.spec import is_inexact, promote, spec_of
from adjoint.core.tensor import Tensor
from adjoint.ops import functional as _f
from adjoint.ops.language import broadcast_to, reshape, sgn, stop_gradient, where
from adjoint.ops.numpylike.common import array_of, cast, is_traced, operand, refuse, tensor, values_in
from adjoint.ops.numpylike.result_orders import some_order


def _shape(shape: Any) -> tuple[int, ...]:
    return (int(shape),) if np.ndim(shape) == 0 else tuple(int(n) for n in shape)


def array(
    object: Any,
    dtype: Any = None,
    *,
    copy: Any = True,
    order: str | None = "K",
    subok: bool = False,
    ndmin: int = 0,
    like: Any = None,
) -> Any:
    """As numpy.array: nested lists may mix numbers and tracked Tensors, and the result is differentiable in each.

    >>> import adjoint as ad
    >>> import adjoint.numpy as np
    >>> print(ad.grad(lambda x: np.array([x, x * x, 5.0]).sum())(3.0))
    7.0
    """
    refuse("array", like=like)
    if isinstance(object, Tensor):
        x = views.like(object.copy(), object) if copy else object
    else:
        x = tensor(object if next(values_in(object), None) is not None else np.array(object))
    x = _ordered(cast(x, dtype), order)
    return x if x.ndim >= ndmin else reshape(x, (1,) * (ndmin - x.ndim) + x.shape)


def _ordered(x: Any, order: str | None) -> Any:
    """x as NumPy gives it for this `order`: itself if it lies so in memory, else a copy."""
    if order not in ("C", "F") or x.ndim < 2:
        return x
    wanted = None if order == "C" else tidy(np.empty(x.shape, PAIR, order="F"))
    return x if same(views.layout(x), wanted) else views.settle(x.copy(), wanted)


def asarray(
    a: Any, dtype: Any = None, order: Any = None, *, device: Any = None, copy: Any = None, like: Any = None
) -> Any:
    """As numpy.asarray: a Tensor is returned as it is."""
    y = array(a, dtype, copy=bool(copy), order=order, like=like)
    return y if device is None else y.to(device)


asanyarray = asarray


def ascontiguousarray(a: Any, dtype: Any = None, *, like: Any = None) -> Any:
    """As numpy.ascontiguousarray: at least one axis."""
    return array(a, dtype, copy=False, order="C", ndmin=1, like=like)


def copy(a: Any, order: str = "K", subok: bool = False) -> Any:
    """As numpy.copy: assignments to the copy leave the original alone."""
    return array(a, order=order)


def zeros(shape: Any, dtype: Any = float, order: str = "C", *, device: Any = None, like: Any = None) -> Any:
    """As numpy.zeros: a Tensor, whose elements can be assigned tracked values."""
    refuse("zeros", like=like)
    return new(np.zeros(_shape(shape), dtype, "F" if order == "F" else "C"), device)


def ones(shape: Any, dtype: Any = None, order: str = "C", *, device: Any = None, like: Any = None) -> Any:
    """As numpy.ones."""
    refuse("ones", like=like)
    return new(np.ones(_shape(shape), dtype, "F" if order == "F" else "C"), device)


def empty(shape: Any, dtype: Any = float, order: str = "C", *, device: Any = None, like: Any = None) -> Any:
    """As numpy.empty, but filled with zeros."""
    return zeros(shape, dtype, order, device=device, like=like)


def full(
    shape: Any, fill_value: Any, dtype: Any = None, order: str = "C", *, device: Any = None, like: Any = None
) -> Any:
    """As numpy.full, differentiable in the value."""
    refuse("full", like=like)
    if not is_traced(fill_value):
        return new(np.full(_shape(shape), array_of(fill_value), dtype, "F" if order == "F" else "C"), device)
    y = views.settle(broadcast_to(cast(tensor(fill_value), dtype), _shape(shape)), None)
    return _ordered(y, order)


def _beside(array: np.ndarray, a: Any, device: Any) -> Any:
    """A new array as a Tensor: on a device, or where another one is."""
    return wrap(beside(array, a)) if device is None else new(array, device)


def _like(a: Any, dtype: Any, shape: Any) -> tuple[Any, np.dtype]:
    """An array like the one that NumPy would make, of no numbers in particular, and its dtype."""
    x = tensor(a)
    kind = x.dtype if dtype is None else np.dtype(dtype)
    lies = views.layout(x)
    if shape is not None or lies is None or lies is UNKNOWN:
        return np.empty(x.shape if shape is None else _shape(shape), kind), kind
    return np.empty_like(lies, kind), kind


def zeros_like(
    a: Any, dtype: Any = None, order: str = "K", subok: bool = True, shape: Any = None, *, device: Any = None
) -> Any:
    """As numpy.zeros_like: a Tensor, which takes assignments of tracked values."""
    return _beside(np.zeros_like(*_like(a, dtype, shape)), a, device)


def ones_like(
    a: Any, dtype: Any = None, order: str = "K", subok: bool = True, shape: Any = None, *, device: Any = None
) -> Any:
    """As numpy.ones_like: a Tensor, which takes assignments of tracked values."""
    return _beside(np.ones_like(*_like(a, dtype, shape)), a, device)


def empty_like(
    prototype: Any, /, dtype: Any = None, order: str = "K", subok: bool = True, shape: Any = None, *, device: Any = None
) -> Any:
    """As numpy.empty_like, but filled with zeros."""
    return zeros_like(prototype, dtype, shape=shape, device=device)


def full_like(
    a: Any,
    fill_value: Any,
    dtype: Any = None,
    order: str = "K",
    subok: bool = True,
    shape: Any = None,
    *,
    device: Any = None,
) -> Any:
    """As numpy.full_like, differentiable in the value."""
    like, dtype = _like(a, dtype, shape)
    if not is_traced(fill_value):
        return _beside(np.full_like(like, array_of(fill_value), dtype), a, device)
    return views.settle(broadcast_to(cast(tensor(fill_value), dtype), like.shape), layout_of(like))


def arange(*limits: Any, dtype: Any = None, device: Any = None, like: Any = None, **named: Any) -> Any:
    """As numpy.arange(start, stop, step), differentiable in start and step; their number of elements is not."""
    refuse("arange", like=like)
    start, stop, step = _limits(limits, named)
    if not is_traced((start, stop, step)):
        numbers: Any = [v.item() if isinstance(v, Tensor) else v for v in (start, stop, step)]
        return new(np.arange(*numbers, dtype=dtype), device)
    first, last, size = (float(array_of(v)) for v in (start, stop, step))
    return cast(start + step * np.arange(max(math.ceil((last - first) / size), 0)), dtype)


def _limits(given: tuple[Any, ...], named: dict[str, Any]) -> tuple[Any, Any, Any]:
    """Start, stop and step, as NumPy reads them: one number alone is where to stop."""
    found = {**dict(zip(("start", "stop", "step"), given, strict=False)), **named}
    if len(given) > 3 or not found.keys() <= {"start", "stop", "step"} or len(found) < len(given) + len(named):
        shown = ", ".join([*map(repr, given), *(f"{k}={v!r}" for k, v in named.items())])
        raise ArgumentTypeError(f"arange takes start, stop and step, not ({shown}){called_at()}")
    if found.get("stop") is None:
        if found.get("start") is None:
            raise ArgumentTypeError(f"arange: say where to stop{called_at()}")
        found["start"], found["stop"] = 0, found["start"]
    start, step = found.get("start"), found.get("step")
    return 0 if start is None else start, found["stop"], 1 if step is None else step


@some_order
def linspace(
    start: Any, stop: Any, num: int = 50, endpoint: bool = True, retstep: bool = False, dtype: Any = None, axis: int = 0, *,
    device: Any = None,
) -> Any:  # fmt: skip
    """As numpy.linspace, differentiable in both ends."""
    common = promote([*(spec_of(operand(v)) for v in (start, stop)), spec_of(1.0)])
    first, last = (cast(tensor(v), common) for v in (start, stop))
    num = int(num)
    if num < 0:
        raise ArgumentError(f"linspace: num={num} must not be negative{called_at()}")
    parts = num - 1 if endpoint else num
    span = last - first
    step = span / parts if parts else span * np.nan
    place = np.arange(num, dtype=span.dtype).reshape((-1,) + (1,) * span.ndim)
    line = first + place * (step if parts else span)
    if endpoint and num > 1:
        line = where(place == num - 1, last, line)  # without the rounding of the steps
    if dtype is not None:
        line = cast(_f.floor(line) if np.dtype(dtype).kind in "iu" else line, dtype)
    line = _f.moveaxis(line, 0, axis)
    line = line if device is None else line.to(device)
    return (line, step) if retstep else line


def logspace(
    start: Any, stop: Any, num: int = 50, endpoint: bool = True, base: Any = 10.0, dtype: Any = None, axis: int = 0
) -> Any:
    """As numpy.logspace, differentiable in both ends and the base."""
    base = operand(base)
    return cast(base ** linspace(start, stop, num, endpoint, axis=axis), dtype)


def geomspace(start: Any, stop: Any, num: int = 50, endpoint: bool = True, dtype: Any = None, axis: int = 0) -> Any:
    """As numpy.geomspace, differentiable in both ends."""
    first, last = (cast(tensor(v), None if is_inexact(tensor(v).dtype) else np.float64) for v in (start, stop))
    sign = sgn(stop_gradient(first))
    line = _f.exp(linspace(_f.log(first / sign), _f.log(last / sign), num, endpoint, axis=axis))
    return cast(_f.expand_dims(sign, axis) * line if sign.ndim else sign * line, dtype)


def eye(
    N: int,
    M: int | None = None,
    k: int = 0,
    dtype: Any = float,
    order: str = "C",
    *,
    device: Any = None,
    like: Any = None,
) -> Any:
    """As numpy.eye."""
    refuse("eye", like=like)
    return new(np.eye(N, M, k, dtype), device)


def identity(n: int, dtype: Any = None, *, like: Any = None) -> Any:
    """As numpy.identity."""
    refuse("identity", like=like)
    return new(np.identity(n, dtype))


def tri(N: int, M: int | None = None, k: int = 0, dtype: Any = float, *, like: Any = None) -> Any:
    """As numpy.tri."""
    refuse("tri", like=like)
    return new(np.tri(N, M, k, dtype))


def indices(dimensions: Any, dtype: Any = int, sparse: bool = False) -> Any:
    """As numpy.indices."""
    found: Any = np.indices(dimensions, dtype, sparse)  # type: ignore[call-overload]
    return tuple(map(wrap, found)) if sparse else wrap(found)


def fromfunction(
    function: Callable[..., Any], shape: Any, *, dtype: Any = float, like: Any = None, **kwargs: Any
) -> Any:
    """As numpy.fromfunction: the function is called once, with Tensors of coordinates."""
    refuse("fromfunction", like=like)
    return function(*indices(shape, dtype), **kwargs)

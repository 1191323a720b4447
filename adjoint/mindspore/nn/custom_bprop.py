"""Cells with a `bprop` method: one op of the inputs, whose derivative is the user's."""

from __future__ import annotations

import inspect
from collections.abc import Sequence
from typing import Any

from adjoint.api.custom import custom_vjp
from adjoint.api.inputs import Bound, binding
from adjoint.api.lenient import final
from adjoint.core import context
from adjoint.core.dispatch import Value
from adjoint.core.errors import AdjointError, called_at
from adjoint.core.spec import dtype_of, shape_of
from adjoint.mindspore.context import get_context
from adjoint.mindspore.ops.gradient_pass import is_static
from adjoint.ops.broadcast import sum_to


class Unreadable(Bound):
    """What Parameters stand for in the `bprop` of a compiled Cell: MindSpore refuses them there."""

    def __getitem__(self, parameter: Any) -> Any:
        if not dict.__contains__(self, parameter):
            return self.outer[parameter]
        raise final(
            RuntimeError(
                f"The user defined 'bprop' function does not support using Parameter: '{parameter.name}'.{called_at()}"
            )
        )


def call_with_bprop(cell: Any, inputs: tuple[Any, ...], kwargs: dict[str, Any]) -> Any:
    """A call of a Cell whose derivative by the inputs is its `bprop`; by its Parameters it is zero."""
    inputs, kwargs = _with_defaults(cell, inputs, kwargs)
    params = list(cell.get_parameters())
    count = len(inputs)

    def construct(*values: Any) -> Any:
        with binding(dict(zip(params, values[count:], strict=True))):
            return context.readable(cell.construct)(*values[:count], **kwargs)

    def rule(*args: Any) -> Any:
        values, weights, results = args[:count], args[count:-2], args[-2:]
        bound = (Bound if context.reader.get() is None else Unreadable)(
            context.bindings.get() or {}, dict(zip(params, weights, strict=True))
        )
        with context.setting(context.bindings, bound):
            grads = context.readable(cell.bprop)(*values, *kwargs.values(), *results)
        bound.hand_on()
        return [*_checked(cell, grads, values), *[None] * len(params)]

    construct.__name__ = type(cell).__name__
    return custom_vjp(construct, rule)(*inputs, *params)


def _with_defaults(
    cell: Any, inputs: tuple[Any, ...], kwargs: dict[str, Any]
) -> tuple[tuple[Any, ...], dict[str, Any]]:
    """The inputs, with those that `construct` has values for."""
    try:
        bound = inspect.signature(cell.construct).bind(*inputs, **kwargs)
    except (TypeError, ValueError):
        return inputs, kwargs
    bound.apply_defaults()
    return bound.args, bound.kwargs


def _checked(cell: Any, grads: Any, values: Sequence[Any]) -> list[Any]:
    """One gradient for each input, of what `bprop` returned; it may return more."""
    strict, count = bool(get_context("check_bprop")), len(values)
    static = is_static()
    if static and not isinstance(grads, tuple):
        raise final(
            TypeError(f"For bprop function, output should be a tuple, but got {type(grads).__name__}{called_at()}")
        )
    grads = grads if isinstance(grads, (tuple, list)) else (grads,)
    if len(grads) < count or (strict and len(grads) != count):
        kind = RuntimeError if not strict else ValueError if static else TypeError
        raise kind(
            f"The output size of the 'bprop' must match the number of inputs of '{type(cell).__name__}': "
            f"{len(grads)} vs. {count}.{called_at()}"
        )
    return [_fitting(strict, i, g, x) for i, (g, x) in enumerate(zip(grads, values, strict=False))]


def _fitting(strict: bool, i: int, g: Any, x: Any) -> Any:
    """A gradient in the shape of its input; with `check_bprop` it must have its shape and dtype as it is."""
    if not isinstance(x, Value) or g is None:
        return g
    what = f"For user defined method 'bprop', the {i}th return value(gradient of the {i}th argument) should"
    if strict and (not isinstance(g, Value) or dtype_of(g) != dtype_of(x)):
        raise TypeError(
            f"{what} be a Tensor of the dtype {dtype_of(x)} of its argument, but got: {g!r:.80}.{called_at()}"
        )
    if shape_of(g) == shape_of(x):
        return g
    if strict:
        raise ValueError(f"{what} have the shape {shape_of(x)} of its argument, but got: {shape_of(g)}.{called_at()}")
    try:
        return sum_to(g, shape_of(x))
    except (AdjointError, IndexError, ValueError):  # its shape is no broadcast of the input's
        raise RuntimeError(
            f"For grad interface or custom function, grad tensor should be broadcast to expected shape, but got "
            f"{shape_of(g)} vs {shape_of(x)}{called_at()}"
        ) from None

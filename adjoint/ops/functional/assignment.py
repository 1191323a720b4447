"""Stores in Parameters and Tensors as functions."""

from __future__ import annotations

from typing import Any

from adjoint.core.errors import ArgumentTypeError, called_at
from adjoint.core.parameter import Parameter
from adjoint.core.tensor import Tensor
from adjoint.ops.casting import cast
from adjoint.ops.publish import public


@public()
def assign(variable: Any, value: Any) -> Any:
    """Store a value in a Parameter (or over the elements of a Tensor), and return what it is then.

    Reads before the store give the old value, reads after it the new one: also inside grad, jvp and jit, which write to the Parameter
    itself when the call has succeeded. Gradients follow: that of a read goes to what it gave.

    >>> import adjoint as ad
    >>> w = ad.Parameter(ad.Tensor([2.0]), name="w")
    >>> count = ad.jit(lambda x: (ad.ops.assign(w, w + x) * x).sum())
    >>> print(count(ad.Tensor([1.0])), count(ad.Tensor([1.0])), w)
    3.0 4.0 [4.]
    """
    if isinstance(variable, Parameter):
        return variable.set_data(value).value()
    _check("assign", variable)
    variable[...] = value
    return variable


@public()
def assign_add(variable: Any, value: Any) -> Any:
    """Add a value to a Parameter or Tensor in place, and return the sum, which is differentiated by both.

    >>> import adjoint as ad
    >>> w = ad.Parameter(ad.Tensor([2.0]), name="w")
    >>> print(ad.grad(lambda x: ad.ops.assign_add(w, x) * x)(ad.Tensor([3.0])), w)
    [8.] [5.]
    """
    return _updated("assign_add", variable, lambda old: old + value)


@public()
def assign_sub(variable: Any, value: Any) -> Any:
    """Subtract a value from a Parameter or Tensor in place, and return the difference, which is differentiated by both.

    >>> import adjoint as ad
    >>> w = ad.Parameter(ad.Tensor([2.0]), name="w")
    >>> print(ad.ops.assign_sub(w, 0.5), w)
    [1.5] [1.5]
    """
    return _updated("assign_sub", variable, lambda old: old - value)


def _updated(what: str, variable: Any, change: Any) -> Any:
    _check(what, variable)
    new = change(variable.value() if isinstance(variable, Parameter) else variable)
    new = new if new.dtype == variable.dtype else cast(new, variable.dtype)
    assign(variable, new)
    return new


def _check(what: str, variable: Any) -> None:
    if not isinstance(variable, Tensor):
        raise ArgumentTypeError(
            f"{what}: the first argument must be a Parameter or a Tensor, not {type(variable).__name__}{called_at()}"
        )

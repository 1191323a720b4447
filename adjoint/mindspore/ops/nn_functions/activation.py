"""Activations with MindSpore's arguments, and its derivatives where a function has a corner."""

from __future__ import annotations

from typing import Any

from adjoint import ops
from adjoint.core.spec import dtype_of, shape_of

__all__ = [
    "celu", "dense", "elu", "fast_gelu", "gelu", "glu", "hardshrink", "hardsigmoid", "hardswish", "hardtanh", "leaky_relu",
    "log_softmax", "log_softmax_ext", "logsigmoid", "mish", "prelu", "relu", "relu6", "rrelu", "selu", "sigmoid", "silu", "soft_shrink",
    "softmax", "softmin", "softplus", "softshrink", "softsign", "swiglu", "tanh", "tanhshrink", "threshold",
]  # fmt: skip

gelu, glu, hardshrink, hardswish, sigmoid, silu, softshrink, tanh = (
    ops.gelu, ops.glu, ops.hardshrink, ops.hardswish, ops.sigmoid, ops.silu, ops.softshrink, ops.tanh,
)  # fmt: skip
soft_shrink = softshrink


def celu(x: Any, alpha: float = 1.0) -> Any:
    """x where x > 0, else alpha (exp(x / alpha) - 1)."""
    return ops.celu(x, alpha)


def elu(input_x: Any, alpha: float = 1.0) -> Any:
    """x where x > 0, else alpha (exp(x) - 1)."""
    return ops.elu(input_x, alpha)


def fast_gelu(x: Any) -> Any:
    """x sigmoid(1.702 x)."""
    return x * ops.sigmoid(1.702 * x)


def hardsigmoid(input: Any) -> Any:
    """(x + 3) / 6 between 0 and 1; at -3 and 3 the derivative is 0."""
    inside = ops.logical_and(ops.greater(input, -3), ops.less(input, 3))
    return ops.where(inside, input / 6.0 + 0.5, ops.cast(ops.greater_equal(input, 3), input.dtype))


def hardtanh(input: Any, min_val: float = -1.0, max_val: float = 1.0) -> Any:
    """x between two bounds; at a bound half of the derivative passes.

    >>> import adjoint.mindspore as mindspore
    >>> print(mindspore.grad(hardtanh)(mindspore.Tensor([-1.0, 0.5, 2.0])))
    [0.5 1.  0. ]
    """
    if min_val > max_val:
        raise ValueError(f"For 'hardtanh', 'min_val' {min_val} must not be above 'max_val' {max_val}.")
    return ops.minimum(ops.maximum(input, min_val), max_val)


def leaky_relu(input: Any, alpha: float = 0.2) -> Any:
    """The larger of x and alpha x (the smaller if alpha is above 1); at 0 the mean of both derivatives."""
    return ops.minimum(alpha * input, input) if alpha > 1 else ops.maximum(alpha * input, input)


def _real(what: str, x: Any) -> Any:
    """An input that holds real or complex numbers, not integers."""
    if dtype_of(x).kind in "biu":
        raise TypeError(f"For '{what}', the input must be of real numbers, but got {dtype_of(x)}.")
    return x


def log_softmax(logits: Any, axis: int = -1) -> Any:
    """The logarithm of softmax along an axis."""
    return ops.log_softmax(_real("LogSoftmax", logits), axis)


def log_softmax_ext(input: Any, dim: int | None = None, dtype: Any = None) -> Any:
    """The logarithm of softmax along an axis; without one along the first of arrays of 0, 1 or 3 axes, else the second."""
    axis = (0 if len(shape_of(input)) in (0, 1, 3) else 1) if dim is None else dim
    return ops.log_softmax(input if dtype is None else ops.cast(input, dtype), axis)


def tanhshrink(input: Any) -> Any:
    """x - tanh(x)."""
    return input - ops.tanh(input)


def logsigmoid(x: Any) -> Any:
    """The logarithm of the sigmoid."""
    return ops.logsigmoid(x)


def mish(x: Any) -> Any:
    """x tanh(softplus(x))."""
    return ops.mish(x)


def prelu(input: Any, weight: Any) -> Any:
    """x where x > 0, else weight x, with one weight for all or one for each channel (axis 1).

    >>> import adjoint.mindspore as mindspore
    >>> print(prelu(mindspore.Tensor([[-1.0, -1.0]]), mindspore.Tensor([0.5, 0.25])))
    [[-0.5  -0.25]]
    """
    sizes = shape_of(weight)
    if sizes and sizes != (1,) and len(shape_of(input)) > 1:
        weight = ops.reshape(weight, (sizes[0], *(1,) * (len(shape_of(input)) - 2)))
    return ops.prelu(input, weight)


def relu(input: Any, inplace: bool = False) -> Any:
    """The larger of x and 0."""
    if inplace:
        raise NotImplementedError("relu(inplace=True) is not provided by adjoint.mindspore")
    return ops.relu(input)


def relu6(x: Any) -> Any:
    """x between 0 and 6."""
    return ops.relu6(x)


def rrelu(input: Any, lower: float = 1.0 / 8, upper: float = 1.0 / 3) -> Any:
    """x where x >= 0, else x times a slope between `lower` and `upper` that is drawn for each element."""
    slope = lower if lower == upper else lower + (upper - lower) * ops.rand_like(input)
    return ops.where(ops.less(input, 0), slope * input, input)


def selu(input_x: Any) -> Any:
    """The self-normalising elu."""
    return ops.selu(_real("SeLU", input_x))


def softmax(input: Any, axis: Any = -1, *, dtype: Any = None) -> Any:
    """exp(x) over its sum along an axis; `dtype` is that of the computation and of the result."""
    return ops.softmax(_real("Softmax", input if dtype is None else ops.cast(input, dtype)), axis)


def softmin(x: Any, axis: Any = -1, *, dtype: Any = None) -> Any:
    """softmax of -x."""
    return softmax(-x, axis, dtype=dtype)


def softplus(input: Any, beta: float = 1, threshold: float = 20) -> Any:
    """log(1 + exp(beta x)) / beta; x itself where beta x is above the threshold."""
    return ops.softplus(input, beta, threshold)


def softsign(x: Any) -> Any:
    """x / (1 + |x|)."""
    return ops.softsign(x)


def swiglu(input: Any, dim: int = -1) -> Any:
    """silu of the first half of an axis times the second half."""
    first, second = ops.split(input, shape_of(input)[dim] // 2, dim)
    return ops.silu(first) * second


def threshold(input: Any, thr: float, value: float) -> Any:
    """x where it is above `thr`, else `value`."""
    return ops.where(ops.greater(input, thr), input, ops.full_like(input, value))


def dense(input: Any, weight: Any, bias: Any = None) -> Any:
    """input weight^T + bias."""
    product = ops.matmul(input, ops.transpose(weight) if len(shape_of(weight)) > 1 else weight)
    return product if bias is None else product + bias

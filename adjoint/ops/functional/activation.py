"""Activation functions, composed of the cards."""

from __future__ import annotations

import math
from functools import partial
from typing import Any

from adjoint.core import context
from adjoint.core.dispatch import Value
from adjoint.core.errors import ArgumentError, called_at
from adjoint.core.spec import dtype_of, is_half, shape_of
from adjoint.ops import transcendental as _t
from adjoint.ops import trigonometric as _g
from adjoint.ops.casting import in_single
from adjoint.ops.compare import greater, less
from adjoint.ops.functional.elementwise import clamp
from adjoint.ops.functional.reduction import exponentials
from adjoint.ops.joining import split
from adjoint.ops.language import where
from adjoint.ops.publish import public
from adjoint.ops.reduce import axes_of, sum, with_axes
from adjoint.ops.special import erf


def relu6(input: Any) -> Any:
    """min(max(x, 0), 6).

    >>> from adjoint import ops, Tensor
    >>> print(ops.relu6(Tensor([-1.0, 7.0])))
    [0. 6.]
    """
    return where(greater(input, 6), 6, _t.relu(input))


def leaky_relu(input: Any, alpha: float = 0.2) -> Any:
    """x where x > 0, else alpha * x.

    >>> from adjoint import ops, Tensor
    >>> print(ops.leaky_relu(Tensor([-1.0, 2.0])))
    [-0.2  2. ]
    """
    return where(greater(input, 0), input, alpha * input)


def prelu(input: Any, weight: Any) -> Any:
    """x where x > 0, else weight * x, with a trained weight.

    >>> from adjoint import ops, Tensor
    >>> print(ops.prelu(Tensor([-1.0, 2.0]), Tensor(0.5)))
    [-0.5  2. ]
    """
    return where(greater(input, 0), input, weight * input)


def elu(input: Any, alpha: float = 1.0) -> Any:
    """x where x > 0, else alpha * (exp(x) - 1).

    >>> from adjoint import ops, Tensor
    >>> print(ops.elu(Tensor([-100.0, 2.0])))
    [-1.  2.]
    """
    below = where(greater(input, 0), 0, input)  # keeps exp from overflowing on the side not taken
    return where(greater(input, 0), input, alpha * _t.expm1(below))


def celu(input: Any, alpha: float = 1.0) -> Any:
    """x where x > 0, else alpha * (exp(x / alpha) - 1).

    >>> from adjoint import ops, Tensor
    >>> print(ops.celu(Tensor([-100.0, 2.0])))
    [-1.  2.]
    """
    below = where(greater(input, 0), 0, input)
    return where(greater(input, 0), input, alpha * _t.expm1(below / alpha))


def selu(input: Any) -> Any:
    """The self-normalising elu.

    >>> from adjoint import ops, Tensor
    >>> print(ops.selu(Tensor([1.0])))
    [1.050701]
    """
    return 1.0507009873554805 * elu(input, 1.6732632423543772)


def gelu(input: Any, approximate: str = "none") -> Any:
    """x times the probability that a normal draw is below x; `approximate="tanh"` uses the well-known formula.

    >>> from adjoint import ops, Tensor
    >>> print(ops.gelu(Tensor([1.0])), ops.gelu(Tensor([1.0]), "tanh"))
    [0.8413447] [0.841192]
    """
    if approximate not in ("none", "tanh"):
        raise ArgumentError(f"gelu: approximate must be 'none' or 'tanh', not {approximate!r}{called_at()}")
    fused = context.fused.get()
    if fused is not None and isinstance(input, Value) and is_half(dtype_of(input)):
        return fused("gelu", (approximate,), partial(_gelu, approximate=approximate), (input,))
    return _gelu(input, approximate)


@in_single
def _gelu(input: Any, approximate: str) -> Any:
    if approximate == "none":
        return 0.5 * input * (1.0 + erf(input * math.sqrt(0.5)))
    return 0.5 * input * (1.0 + _g.tanh(math.sqrt(2.0 / math.pi) * (input + 0.044715 * input * input * input)))


def log_sigmoid(input: Any) -> Any:
    """log(sigmoid(x)), without overflow.

    >>> from adjoint import ops, Tensor
    >>> print(ops.log_sigmoid(Tensor([-1000.0])))
    [-1000.]
    """
    return -_t.softplus(-input)


logsigmoid = log_sigmoid


def silu(input: Any) -> Any:
    """x * sigmoid(x).

    >>> from adjoint import ops, Tensor
    >>> print(ops.silu(Tensor([0.0])))
    [0.]
    """
    return input * _t.sigmoid(input)


swish = silu


def mish(input: Any) -> Any:
    """x * tanh(softplus(x)).

    >>> from adjoint import ops, Tensor
    >>> print(ops.mish(Tensor([0.0])))
    [0.]
    """
    return input * _g.tanh(_t.softplus(input))


def softplus(input: Any, beta: float = 1.0, threshold: float | None = None) -> Any:
    """log(1 + exp(beta * x)) / beta, without overflow; x itself where beta * x is above the threshold, if one is given.

    >>> from adjoint import ops, Tensor
    >>> print(ops.softplus(Tensor([0.0, 1000.0])))
    [6.931472e-01 1.000000e+03]
    """
    smooth = _t.softplus(input) if beta == 1 else _t.softplus(beta * input) / beta
    return smooth if threshold is None else where(greater(beta * input, threshold), input, smooth)


def softsign(input: Any) -> Any:
    """x / (1 + |x|).

    >>> from adjoint import ops, Tensor
    >>> print(ops.softsign(Tensor([1.0])))
    [0.5]
    """
    from adjoint.ops.arithmetic import abs_

    return input / (1.0 + abs_(input))


def hardsigmoid(input: Any) -> Any:
    """(x + 3) / 6, between 0 and 1.

    >>> from adjoint import ops, Tensor
    >>> print(ops.hardsigmoid(Tensor([0.0, 9.0])))
    [0.5 1. ]
    """
    return clamp(input / 6.0 + 0.5, 0.0, 1.0)


def hardswish(input: Any) -> Any:
    """x * hardsigmoid(x).

    >>> from adjoint import ops, Tensor
    >>> print(ops.hardswish(Tensor([-4.0, 3.0])))
    [-0.  3.]
    """
    return input * hardsigmoid(input)


def hardtanh(input: Any, min_val: float = -1.0, max_val: float = 1.0) -> Any:
    """x, not below `min_val` nor above `max_val`.

    >>> from adjoint import ops, Tensor
    >>> print(ops.hardtanh(Tensor([-4.0, 0.5])))
    [-1.   0.5]
    """
    return clamp(input, min_val, max_val)


def hardshrink(input: Any, lambd: float = 0.5) -> Any:
    """x, and 0 where |x| is not above `lambd`.

    >>> from adjoint import ops, Tensor
    >>> print(ops.hardshrink(Tensor([0.3, 0.8])))
    [0.  0.8]
    """
    from adjoint.ops.arithmetic import abs_

    return where(greater(abs_(input), lambd), input, 0)


def softshrink(input: Any, lambd: float = 0.5) -> Any:
    """x moved towards 0 by `lambd`, and 0 inside.

    >>> from adjoint import ops, Tensor
    >>> print(ops.softshrink(Tensor([0.25, 1.0])))
    [0.  0.5]
    """
    return where(greater(input, lambd), input - lambd, where(less(input, -lambd), input + lambd, 0))


@public(method=True, as_method=with_axes)
@in_single
def softmax(input: Any, axis: int = -1) -> Any:
    """exp(x) / sum(exp(x)) along an axis, without overflow.

    >>> from adjoint import ops, Tensor
    >>> print(ops.softmax(Tensor([1000.0, 1000.0])))
    [0.5 0.5]
    """
    _, _, powers, total = exponentials(input, axes_of("softmax", input, axis))
    return powers / total


@in_single
def log_softmax(input: Any, axis: int = -1) -> Any:
    """log(softmax(x)) along an axis, without overflow.

    >>> from adjoint import ops, Tensor
    >>> print(ops.log_softmax(Tensor([0.0, -1000.0])))
    [    0. -1000.]
    """
    _, below, _, total = exponentials(input, axes_of("log_softmax", input, axis))
    return below - _t.log(total)


def softmin(input: Any, axis: int = -1) -> Any:
    """softmax of -x.

    >>> from adjoint import ops, Tensor
    >>> print(ops.softmin(Tensor([0.0, 0.0])))
    [0.5 0.5]
    """
    return softmax(-input, axis)


def glu(x: Any, axis: int = -1) -> Any:
    """The first half along an axis, times the sigmoid of the second half.

    >>> from adjoint import ops, Tensor
    >>> print(ops.glu(Tensor([4.0, 0.0])))
    [2.]
    """
    size = shape_of(x)[axis]
    if size % 2:
        raise ArgumentError(f"glu: axis {axis} of shape {shape_of(x)} cannot be halved{called_at()}")
    a, b = split(x, [size // 2] * 2, axis)
    return a * _t.sigmoid(b)


@in_single
def normalize(input: Any, axis: int = -1, eps: float = 1e-12) -> Any:
    """The input divided by its 2-norm along an axis, which counts as at least `eps`.

    >>> from adjoint import ops, Tensor
    >>> print(ops.normalize(Tensor([3.0, 4.0])))
    [0.6 0.8]
    """
    from adjoint.ops.functional.elementwise import safe_sqrt

    size = safe_sqrt(sum(input * input, axis, keepdims=True))
    return input / clamp(size, min=eps)

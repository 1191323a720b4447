"""The verbs that rules and Tensor's operators speak, filled in from the cards."""

from __future__ import annotations

from typing import Any

import numpy as np

from adjoint.core.spec import dtype_of, shape_of
from adjoint.core.verbs import verbs
from adjoint.ops import arithmetic, compare, contract, transcendental
from adjoint.ops.card import card
from adjoint.ops.movement import BroadcastTo, Reshape, Transpose
from adjoint.ops.reduce import Any as Any_
from adjoint.ops.reduce import Sum


def sum_axes(x: Any, axes: tuple[int, ...]) -> Any:
    """Sum along these axes, which disappear."""
    return x.sum(axis=axes) if type(x) is np.ndarray else card(Sum, axes, False)(x)


def reshape(x: Any, shape: tuple[int, ...]) -> Any:
    """The same elements under another shape, given in full."""
    return x.reshape(shape) if type(x) is np.ndarray else card(Reshape, shape)(x)


def broadcast_to(x: Any, shape: tuple[int, ...]) -> Any:
    """Repeat along new axes and axes of size 1."""
    if isinstance(x, np.generic):  # a view of one number, far cheaper to make than np.broadcast_to's
        return np.ndarray(shape, x.dtype, np.asarray(x), 0, (0,) * len(shape))
    return card(BroadcastTo, shape)(x)


def permute(x: Any, perm: tuple[int, ...]) -> Any:
    """The axes in another order."""
    return x.transpose(perm) if type(x) is np.ndarray else card(Transpose, perm)(x)


def moveaxis(x: Any, source: int, target: int) -> Any:
    """One axis moved to another place, both non-negative."""
    order = [a for a in range(len(shape_of(x))) if a != source]
    order.insert(target, source)
    return permute(x, tuple(order))


def expand_last(x: Any) -> Any:
    """A new last axis."""
    return reshape(x, (*shape_of(x), 1))


def expand_row(x: Any) -> Any:
    """A new second last axis."""
    shape = shape_of(x)
    return reshape(x, (*shape[:-1], 1, shape[-1]))


def squeeze_axis(x: Any, axis: int) -> Any:
    """Drop an axis of size 1."""
    shape = shape_of(x)
    return reshape(x, shape[:axis] + shape[axis + 1 :])


def squeeze_last(x: Any) -> Any:
    return reshape(x, shape_of(x)[:-1])


def cast(x: Any, dtype: Any) -> Any:
    """The values in another dtype."""
    return card(arithmetic.Cast, np.dtype(dtype))(x)


def zeros_like(x: Any) -> Any:
    """Plain zeros of the same shape and dtype."""
    return np.zeros(shape_of(x), dtype_of(x))


def sgn(x: Any) -> Any:
    """x / |x|, and 0 at 0: the sign of a real number, the direction of a complex one."""
    if dtype_of(x).kind != "c":
        return arithmetic.sign(x)
    size = arithmetic.abs_(x)
    zero = compare.equal(size, 0)
    return compare.where(zero, 0, x / compare.where(zero, 1, size))


def logical_not(x: Any) -> Any:
    """True where x is zero or false."""
    return compare.equal(x, 0)


def numpy_ufunc(ufunc: Any, method: str, inputs: tuple, options: dict) -> Any:
    """What a NumPy ufunc means for a Tensor. The tables are loaded when first needed."""
    from adjoint.ops.numpylike import protocol

    verbs.numpy_ufunc = protocol.numpy_ufunc
    return protocol.numpy_ufunc(ufunc, method, inputs, options)


def numpy_function(function: Any, args: tuple, kwargs: dict) -> Any:
    """What a NumPy function means for a Tensor. The tables are loaded when first needed."""
    from adjoint.ops.numpylike import protocol

    verbs.numpy_function = protocol.numpy_function
    return protocol.numpy_function(function, args, kwargs)


def any_of(x: Any) -> Any:
    """Whether any element is true."""
    return card(Any_, tuple(range(len(shape_of(x)))), False)(x)


vars(verbs).update(
    any_of=any_of, add=arithmetic.add, sub=arithmetic.sub, mul=arithmetic.mul, div=arithmetic.div, pow=arithmetic.pow_,
    neg=arithmetic.neg, abs=arithmetic.abs_, mod=arithmetic.mod, floor_divide=arithmetic.floor_div,
    masked_mul=arithmetic.masked_mul, real=arithmetic.real, conj=arithmetic.conj_, sign=arithmetic.sign,
    bitwise_and=arithmetic.BitwiseAnd(), bitwise_or=arithmetic.BitwiseOr(), bitwise_xor=arithmetic.BitwiseXor(),
    bitwise_not=arithmetic.BitwiseNot(), left_shift=arithmetic.LeftShift(), right_shift=arithmetic.RightShift(),
    stop_gradient=arithmetic.stop, matmul=contract.matmul, log=transcendental.log, sqrt=transcendental.sqrt,
    less=compare.less, less_equal=compare.less_equal, greater=compare.greater, greater_equal=compare.greater_equal,
    equal=compare.equal, not_equal=compare.not_equal, where=compare.where,
    floor=compare.floor, ceil=compare.ceil, trunc=compare.trunc,
    sum_axes=sum_axes, reshape=reshape, broadcast_to=broadcast_to, permute=permute, moveaxis=moveaxis,
    expand_last=expand_last, expand_row=expand_row, squeeze_axis=squeeze_axis, squeeze_last=squeeze_last,
    numpy_ufunc=numpy_ufunc, numpy_function=numpy_function,
    cast=cast, zeros_like=zeros_like, sgn=sgn, logical_not=logical_not,
)  # fmt: skip

"""Numbers as NumPy has them on this machine, where XLA has others: casts of what does not fit, division of integers by zero."""

from __future__ import annotations

from typing import Any

import numpy as np

from adjoint.backends.xla.common_dtypes import converted, in_dtype
from adjoint.backends.xla.devices import jax
from adjoint.backends.xla.failures import Tracing
from adjoint.backends.xla.lowering import lowers
from adjoint.core.spec import float32, is_half, is_inexact
from adjoint.ops.arithmetic import FloorDiv, Mod, Pow, Sign
from adjoint.ops.casting import Cast

WORD, HALF_WORD = np.dtype(np.int64), np.dtype(np.int32)


@lowers(Cast)
def cast(op: Cast, spec: Any, tracing: Tracing, x: Any) -> Any:
    """Another dtype. Of floats that an integer cannot hold processors make the smallest integer, XLA the nearest."""
    jnp = jax().numpy
    x = jnp.asarray(x)
    if x.dtype.kind == "c" and op.dtype.kind not in "cb":
        x = x.real
    if is_half(np.dtype(x.dtype)):
        x = x.astype(float32)
    if x.dtype.kind == "f" and op.dtype.kind in "iu":
        return _to_integer(x, op.dtype)
    return x != 0 if op.dtype.kind == "b" else in_dtype(x, op.dtype)


def _to_integer(x: Any, dtype: np.dtype) -> Any:
    """By the processor's instruction: to 32 or 64 bits, of which an integer takes the lower ones."""
    if dtype == np.uint64:
        above = x >= 2.0**63
        low = _to_integer(jax().numpy.where(above, x - np.asarray(2.0**63, x.dtype), x), WORD)
        return jax().lax.bitcast_convert_type(low, dtype) ^ (above.astype(dtype) << np.uint64(63))
    through = WORD if dtype.itemsize == 8 or dtype == np.uint32 else HALF_WORD
    limits = np.iinfo(through)
    fits = (x > float(limits.min) - 1) & (x < float(limits.max) + 1) if through is HALF_WORD else _fits_word(x)
    return jax().numpy.where(fits, x.astype(through), through.type(limits.min)).astype(dtype)


def _fits_word(x: Any) -> Any:
    return (x >= -(2.0**63)) & (x < 2.0**63)


@lowers(FloorDiv)
def floor_div(op: FloorDiv, spec: Any, tracing: Tracing, x: Any, y: Any) -> Any:
    """x // y; 0 where integers are divided by 0."""
    jnp = jax().numpy
    x, y = _both(spec, x, y)
    if x.dtype.kind == "f":
        return _floor_of_floats(x, y)
    return jnp.where(y == 0, np.zeros((), x.dtype), jnp.floor_divide(x, jnp.where(y == 0, np.ones((), y.dtype), y)))


def _floor_of_floats(x: Any, y: Any) -> Any:
    """From the remainder, as NumPy has it: exact where the quotient is rounded to the next integer."""
    jnp = jax().numpy
    rest = jnp.fmod(x, y)
    moved = (rest != 0) & ((y < 0) != (rest < 0))
    quotient = (x - rest) / y - moved.astype(x.dtype)
    floor = jnp.floor(quotient)
    floor = floor + (quotient - floor > 0.5).astype(x.dtype)
    floor = jnp.where(quotient == 0, jnp.copysign(np.zeros((), x.dtype), x / y), floor)
    return jnp.where(y == 0, x / y, floor)


@lowers(Mod)
def mod(op: Mod, spec: Any, tracing: Tracing, x: Any, y: Any) -> Any:
    """The remainder with the sign of y; 0 where integers are divided by 0."""
    jnp = jax().numpy
    x, y = _both(spec, x, y)
    if x.dtype.kind == "f":
        rest = jnp.fmod(x, y)
        moved = jnp.where((y < 0) != (rest < 0), rest + y, rest)
        return jnp.where(rest == 0, jnp.copysign(np.zeros((), x.dtype), y), moved)
    return jnp.where(y == 0, np.zeros((), x.dtype), jnp.mod(x, jnp.where(y == 0, np.ones((), y.dtype), y)))


@lowers(Pow)
def power(op: Pow, spec: Any, tracing: Tracing, x: Any, y: Any) -> Any:
    """x to the power of y; of integers by squaring, for as many bits as an exponent has. Whether it is negative is looked at elsewhere."""
    jnp = jax().numpy
    if not is_inexact(spec.dtype):
        x, y = jnp.broadcast_arrays(*_both(spec, x, y))

        def square(_: Any, state: Any) -> Any:
            found, x, y = state
            return jnp.where((y & 1) == 1, found * x, found), x * x, y >> 1

        return jax().lax.fori_loop(0, spec.dtype.itemsize * 8, square, (jnp.ones_like(x), x, y))[0]
    return op.eval(jnp, *_both(spec, x, y))


@lowers(Sign)
def sign(op: Sign, spec: Any, tracing: Tracing, x: Any) -> Any:
    """The sign; that of -0 is 0."""
    x = jax().numpy.asarray(x)
    y = jax().numpy.sign(x.astype(float32) if is_half(np.dtype(x.dtype)) else x)
    return y + np.zeros((), y.dtype) if y.dtype.kind == "f" else y


def _both(spec: Any, x: Any, y: Any) -> list[Any]:
    """The inputs in the dtype of the result, in which these ops compute: a Python number beside them does not raise the precision."""
    dtype = float32 if is_half(spec.dtype) else spec.dtype
    return [converted(x, dtype), converted(y, dtype)]

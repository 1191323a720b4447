"""Sorting, and the largest element so far."""

from __future__ import annotations

from typing import Any

from adjoint.backends.xla.devices import jax
from adjoint.backends.xla.failures import Tracing
from adjoint.backends.xla.lowering import lowers
from adjoint.ops.along_axis import ArgPartition, CumArgMax


@lowers(ArgPartition)
def arg_partition(op: ArgPartition, spec: Any, tracing: Tracing, x: Any) -> Any:
    """What sorts the elements parts them too, at every place."""
    return jax().numpy.argsort(jax().numpy.asarray(x), axis=op.axis, stable=True)


@lowers(CumArgMax)
def cum_arg_max(op: CumArgMax, spec: Any, tracing: Tracing, x: Any) -> Any:
    """The place of the last largest element so far; NaN is larger than all."""
    jnp, lax = jax().numpy, jax().lax
    x = jnp.asarray(x)
    if x.size == 0:
        return jnp.zeros(spec.shape, spec.dtype)
    axis = op.axis % x.ndim
    values = x.astype("uint8") if x.dtype == bool else x
    peaks = lax.cummax(values, axis)
    found = jnp.where((values == peaks) | (values != values), lax.broadcasted_iota(spec.dtype, x.shape, axis), 0)
    return lax.cummax(found, axis)

"""Random bits as our own generator has them: the same for the same counter and place, on every device and on several."""

from __future__ import annotations

from typing import Any

import numpy as np

from adjoint.backends.xla.devices import jax
from adjoint.backends.xla.failures import Tracing
from adjoint.backends.xla.lowering import lowers
from adjoint.ops.random import FIRST, SECOND, STEP, Bits


@lowers(Bits)
def bits(op: Bits, spec: Any, tracing: Tracing, counter: Any, *like: Any) -> Any:
    """A hash of the counter and of the place of each element."""
    jnp, lax = jax().numpy, jax().lax
    counter = jnp.asarray(counter)
    counter = lax.bitcast_convert_type(lax.convert_element_type(counter, np.int64), np.uint64)
    counter = counter.reshape(counter.shape + (1,) * (len(op.shape) - counter.ndim))
    key = _mixed(counter * np.uint64(STEP))
    other = _mixed(key + np.uint64(STEP))
    place, step = jnp.zeros((), np.uint64), 1
    for axis in reversed(range(op.shared, len(op.shape))):
        place = place + lax.broadcasted_iota(np.uint64, op.shape, axis) * np.uint64(step)
        step *= op.shape[axis]
    found = jnp.broadcast_to(_mixed(key + place * np.uint64(STEP), other), op.shape)
    return lax.bitcast_convert_type(found, np.int64)


def _mixed(x: Any, key: Any = None) -> Any:
    """The hash of numbers; the key comes in halfway."""
    x = (x ^ (x >> np.uint64(30))) * np.uint64(FIRST)
    x = x ^ (x >> np.uint64(27))
    x = (x if key is None else x + key) * np.uint64(SECOND)
    return x ^ (x >> np.uint64(31))

"""Arrays on devices for dynamic mode: one op at a time, by the same cards and lowerings as a compiled graph."""

from __future__ import annotations

import sys
from collections.abc import Sequence
from functools import lru_cache
from itertools import zip_longest
from typing import Any

import numpy as np

from adjoint.backends.xla import devices
from adjoint.backends.xla.common_dtypes import beside_integers
from adjoint.backends.xla.devices import jax, precise
from adjoint.backends.xla.executable import CAPACITY
from adjoint.backends.xla.failures import Tracing, number_in
from adjoint.backends.xla.lowering import LOWERINGS, apply
from adjoint.core import context
from adjoint.core.arrays import kept
from adjoint.core.dispatch import BOTTOM, Value, located
from adjoint.core.errors import LIBRARIES, DeviceError, called_at
from adjoint.core.placement import HOST, bottom, is_device_array, way_to
from adjoint.core.spec import spec_of
from adjoint.graph.nested import Control
from adjoint.graph.numbers import is_large


def checked(device: str) -> str:
    """The full name of a device that is there.

    >>> checked("cpu:0")
    'cpu:0'
    """
    return devices.name_of(devices.device(device))


def put(array: Any, device: str) -> Any:
    """An array on a device."""
    with precise():
        return jax().device_put(_own(array), devices.device(device))


def beside(array: Any, other: Any) -> Any:
    """An array where another one is; of several devices, on each of them."""
    with precise():
        alike = other.shape == np.shape(array)
        return jax().device_put(_own(array), other.sharding if alike else _whole(other.sharding))


def _own(array: Any) -> Any:
    """An array that nobody can write to: JAX goes on reading NumPy's arrays, and may keep them as they are."""
    return array if is_device_array(array) else kept(np.asarray(array))


def _whole(sharding: Any) -> Any:
    if len(sharding.device_set) == 1:
        return sharding
    return jax().sharding.NamedSharding(sharding.mesh, jax().sharding.PartitionSpec())


@lru_cache(maxsize=256)
def _named(sharding: Any) -> str:
    """The device of arrays that lie so; several, from the first to the last."""
    found = sharding.device_set
    if len(found) == 1:
        return devices.name_of(next(iter(found)))
    platform = devices.platform_of(next(iter(found)))
    here = sharding.is_fully_addressable
    known = jax().local_devices(backend=platform) if here else jax().devices(platform)
    numbers = sorted(known.index(d) for d in found)
    in_a_row = numbers == list(range(numbers[0], numbers[-1] + 1))
    text = f"{numbers[0]}-{numbers[-1]}" if in_a_row else ",".join(map(str, numbers))
    return f"{platform}:{text}" if here else f"{platform}:{text} of all processes"


def name_of(array: Any) -> str:
    """The device of an array."""
    return _named(array.sharding)


class DeviceCall:
    """An op on a device: what `evaluate` and who looks on take for an op."""

    opaque = False

    def __init__(self, op: Any, like: Any) -> None:
        self.op, self.like, self.effect = op, like, op.effect

    def eval(self, xp: Any, *xs: Any) -> Any:
        if any(map(is_large, xs)):
            xs = tuple(beside_integers(self.op, xs))
        spec = self.op.infer(*map(spec_of, xs))
        where = self.like.sharding.device_set
        with precise(), jax().default_device(next(iter(where)) if len(where) == 1 else None):
            values = [beside(x, self.like) if isinstance(x, np.ndarray) else x for x in xs]
            tracing = Tracing(CAPACITY, name_of(self.like).partition(":")[0], len(where))
            y = apply(self.op, spec, tracing, values)
            if tracing.sites and (failed := int(tracing.code)):
                self.opaque = True  # the error says all
                raise located(tracing.error(failed)(number_in(failed)))  # type: ignore[arg-type]
        return y

    def infer(self, *specs: Any) -> Any:
        return self.op.infer(*specs)

    def __repr__(self) -> str:
        return repr(self.op)


def placed(op: Any, xs: tuple[Any, ...]) -> tuple[Any, Any]:
    """What runs an op on a device, and the inputs there; values of two devices are refused."""
    arrays = [x._value if isinstance(x, Value) else np.asarray(x) if isinstance(x, (list, tuple)) else x for x in xs]
    if getattr(op, "transfers", False):
        return op, arrays
    if op.effect or (isinstance(op, Control) and type(op) not in LOWERINGS):
        return op, arrays
    like = next(x for x in arrays if is_device_array(x))
    _check(op, arrays, like)
    return DeviceCall(op, like), arrays


# ---------------------------------------------------------------- values of two devices


def _check(op: Any, arrays: Sequence[Any], like: Any) -> None:
    """Raise for values on different devices. Numbers go everywhere; indices, and arrays that adjoint has made on the way, too."""
    for array in arrays:
        if array is like:
            continue
        if is_device_array(array):
            if array.sharding.device_set != like.sharding.device_set:
                raise mixed(op, name_of(like), name_of(array))
        elif isinstance(array, np.ndarray) and array.ndim and context.device.get() is None:
            index = bool(op.indexing) and array.dtype.kind in "biu"
            if not index and _is_of_a_program(array):
                raise mixed(op, name_of(like), HOST)


def mixed(op: Any, here: str, there: str) -> DeviceError:
    """The error for values of two devices."""
    goal = here if there == HOST else there
    return DeviceError(
        f'{op}: one value is on "{here}" and one on "{there}": move one of them, as {way_to(goal)}; numbers without axes need not '
        f"be moved{called_at()}"
    )


def _is_of_a_program(array: np.ndarray) -> bool:
    """Whether a host array was given to adjoint by the user, is a Parameter's, or the value of a Tensor that a transform tracks.

    Constants that functions make on their way (a range of indices, a mask) are neither: they go where they are needed.
    """
    frame = sys._getframe(2)
    before = None
    while frame is not None and str(frame.f_globals.get("__name__", "")).partition(".")[0] in LIBRARIES:
        if (
            "xs" in frame.f_code.co_varnames
        ):  # the inputs of an op, to a transform perhaps, which has copied some of them
            inside = frame.f_locals
            for x, copied in zip_longest(inside.get("xs") or (), inside.get("values") or ()):
                if isinstance(x, Value) and x._trace not in BOTTOM and bottom(x) is array:
                    return True
                array = x if copied is array and isinstance(x, np.ndarray) else array
        before, frame = frame, frame.f_back  # type: ignore[assignment]
    if before is None:
        return False
    code, found = before.f_code, before.f_locals
    count = code.co_argcount + code.co_kwonlyargcount + bool(code.co_flags & 4) + bool(code.co_flags & 8)
    return any(_holds(found.get(name), array) for name in code.co_varnames[:count])


def _holds(x: Any, array: np.ndarray) -> bool:
    if isinstance(x, (tuple, list)):
        return any(_holds(one, array) for one in x)
    if isinstance(x, dict):
        return any(_holds(one, array) for one in x.values())
    return x is array or (isinstance(x, Value) and bottom(x) is array)

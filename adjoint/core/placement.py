"""Where values are: on the host, in NumPy's arrays, or on a device, in JAX's.

"cpu" is the host. "gpu:0", "tpu:2" and "cpu:1" are devices, which the backend "xla" drives: `Engine` states what the core needs
of it, and `adjoint.backends` says which module has that. JAX is not imported before a device is asked for.
"""

from __future__ import annotations

from collections.abc import Iterable
from importlib import import_module
from typing import Any, Protocol, cast

import numpy as np

from adjoint.core import context
from adjoint.core.errors import ArgumentTypeError, DeviceError, called_at

HOST = "cpu"
_module = ""  # where the engine is


class Engine(Protocol):
    """Arrays on devices; `adjoint.backends.xla.device_arrays` has it."""

    def placed(self, op: Any, xs: tuple[Any, ...], /) -> tuple[Any, Any]:
        """What runs an op on a device, and the inputs there; values of two devices are refused."""

    def put(self, array: Any, device: str, /) -> Any:
        """An array on a device."""

    def beside(self, array: Any, other: Any, /) -> Any:
        """An array where another one is."""

    def name_of(self, array: Any, /) -> str:
        """The device of an array."""

    def checked(self, device: str, /) -> str:
        """The full name of a device that is there."""


def bind(module: str) -> None:
    """Say where the engine is."""
    global _module
    _module = module


def engine() -> Engine:
    """What drives devices, loaded when it is first used."""
    return cast(Engine, import_module(_module))


#: Whether values of a class are arrays on devices, for the classes that were seen. They are known by name, before JAX is imported.
_classes: dict[type, bool] = {}


def is_device_array(x: Any) -> bool:
    """Whether a value is an array of JAX's; one that JAX itself is tracing is refused."""
    kind = type(x)
    known = _classes.get(kind)
    if known is None:
        known = str(kind.__module__).partition(".")[0] in ("jax", "jaxlib") and _is_array(x)
        _classes[kind] = known
    return known


def _is_array(x: Any) -> bool:
    jax = import_module("jax")
    if isinstance(x, jax.core.Tracer):
        raise ArgumentTypeError(
            "a value that JAX is tracing (inside jax.jit, jax.grad, ...) cannot be a Tensor: call adjoint outside of JAX's transforms, "
            f"with ad.jit and ad.grad in their place{called_at()}"
        )
    return isinstance(x, jax.Array)


def bottom(x: Any) -> Any:
    """The array at the bottom of a Tensor, whatever transforms track it; what is no Tensor, or has no array yet, as it is."""
    while hasattr(x, "_extra") and not x._trace.deferred:
        x = x._value
    return x


def in_graph(x: Any) -> bool:
    """Whether a Tensor stands for a value of a graph that is being built."""
    x = bottom(x)
    return hasattr(x, "op") and hasattr(x, "inputs")


def device_of(x: Any) -> str:
    """The device of an array, a Tensor or a number: "cpu" for what is on the host.

    >>> device_of(np.ones(2))
    'cpu'
    """
    if is_device_array(x := bottom(x)):
        return engine().name_of(x)
    return (context.graph_device.get() or HOST) if in_graph(x) else HOST


def device_among(values: Iterable[Any]) -> str | None:
    """The device of the first of these values that is on one; None if all are on the host."""
    return next((engine().name_of(x) for x in map(bottom, values) if is_device_array(x)), None)


def beside(array: Any, other: Any) -> Any:
    """A host array where another value is: the same array, unless that is on a device."""
    other = bottom(other)
    return engine().beside(array, other) if is_device_array(other) else array


def way_to(device: str) -> str:
    """How a value is brought to a device, or to several that share an array, as errors say it.

    >>> way_to("gpu:1")
    'x.to("gpu:1")'
    >>> way_to("cpu:0-7")
    'parallel.global_batch(x, mesh), or the other back to the host, as parallel.to_host(net) does'
    """
    number = device.partition(":")[2]
    if not number or number.isdecimal():
        return f'x.to("{device}")'
    return "parallel.global_batch(x, mesh), or the other back to the host, as parallel.to_host(net) does"


def on_host(array: Any) -> np.ndarray:
    """A NumPy array of one's own; an error for one of which other processes hold pieces."""
    if not isinstance(array, np.ndarray) and not (
        getattr(array, "is_fully_addressable", True) or getattr(array, "is_fully_replicated", False)
    ):
        raise DeviceError(
            "other processes hold pieces of this value: parallel.gathered(x), which every process must call, brings them together, "
            f"parallel.save writes them{called_at()}"
        )
    return np.array(array)


def moved(array: Any, device: str) -> Any:
    """An array on another device; the array itself if it is there."""
    if device == HOST:
        return on_host(array)
    return engine().put(array, device)


def made(array: Any, device: str | None = None) -> Any:
    """A new array on a device, or where `set_context(device_target=...)` says; in a graph being built, a constant of it."""
    if device is not None and not isinstance(device, str):
        raise ArgumentTypeError(f'a device is a text like "gpu" or "cpu:1", not {device!r}{called_at()}')
    if context.tracer.get() is not None:
        there = HOST if device is None or device.lower() == HOST else engine().checked(device)
        if device is not None and there != (here := context.graph_device.get() or HOST):
            raise DeviceError(
                f'a Tensor is made on "{there}" inside a compiled function that runs on "{here}": a graph runs on one device{called_at()}'
            )
        return array
    device = context.device.get() if device is None else device
    return array if device is None or device.lower() == HOST else engine().put(array, device)


def check_same(what: str, given: Any, value: Any) -> None:
    """Raise unless a value of the user's with axes is where another one is."""
    if in_graph(given) or in_graph(value):
        return
    here = device_of(value)
    if getattr(given, "shape", ()) and (there := device_of(given)) != here and context.device.get() is None:
        raise DeviceError(
            f'{what} is on "{there}", its value on "{here}": pass it on that device, {way_to(here)}{called_at()}'
        )


def copied(value: Any) -> Any:
    """A copy of a NumPy array; an array on a device, which nobody can write to, as it is."""
    return value if is_device_array(value) else np.array(value)

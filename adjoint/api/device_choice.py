"""Which backend runs a compiled function, by what was asked for and by where its inputs are."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from adjoint import backends
from adjoint.core import context
from adjoint.core.errors import DeviceError, called_at
from adjoint.core.placement import HOST, bottom, device_among, device_of, engine, is_device_array, way_to


def backend_for(named: str | None, inputs: Sequence[Any], rare: bool = False) -> str:
    """The backend for inputs: the one that was asked for; else XLA for arrays on a device, and machine code for those on the host.

    A `rare` batch size is not worth machine code: the interpreter serves it.
    """
    named = named or context.backend.get()
    arrays = [bottom(x) for x in inputs]
    there = [x for x in arrays if is_device_array(x)]
    if not there:
        return "interpreter" if rare else named or backends.chosen()
    places = {device_of(x): None for x in there}
    if named is None and context.device.get() is None and any(isinstance(x, np.ndarray) and x.ndim for x in arrays):
        places[HOST] = None
    if len(places) > 1:
        one, other = list(places)[:2]
        goal = one if other == HOST else other
        raise DeviceError(
            f'a compiled function is given values on "{one}" and on "{other}", or its Parameters are there: move them to one device, '
            f"as {way_to(goal)}, or compile it for {_compiled_for(goal)}{called_at()}"
        )
    if named is not None and named.partition(":")[0] in ("native", "interpreter"):
        raise DeviceError(
            f'the backend "{named}" runs on the host, and a value is on "{next(iter(places))}": leave the backend out, or pass '
            f"x.cpu(){called_at()}"
        )
    return named or "xla"


def _compiled_for(device: str) -> str:
    """How a function is compiled for where its values are, as an error says it."""
    several = (number := device.partition(":")[2]) != "" and not number.isdecimal()
    return "all of them: parallel.data_parallel(f, mesh)" if several else f'one: jit(f, device="{device}")'


def traced_device(named: str | None, inputs: Sequence[Any]) -> str | None:
    """The device that the graph of a call will run on, as far as is known before it is traced; None for the host."""
    found = device_among(inputs)
    backend = named or context.backend.get() or ""
    place = backend.partition(":")[2] if backend.startswith("xla:") else ""
    return found or (engine().checked(place) if place not in ("", HOST) else None)


def check_inlined(named: str | None) -> None:
    """Raise where a function that is compiled for one device is called inside one that runs on another, and would become a part of it."""
    here, place = context.graph_device.get(), named.partition(":")[2] if named and named.startswith("xla:") else ""
    if here is not None and place and (there := HOST if place == HOST else engine().checked(place)) != here:
        raise DeviceError(
            f'a function compiled for "{there}" is called inside one that runs on "{here}": a graph runs on one device. Call it outside, or '
            f"leave its device out{called_at()}"
        )

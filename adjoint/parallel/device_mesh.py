"""A mesh: devices in rows and columns, with a name for each axis."""

from __future__ import annotations

import os
import re
from collections.abc import Mapping, Sequence
from functools import cached_property
from math import prod
from typing import Any

import numpy as np

from adjoint.backends.xla.devices import device, jax, name_of
from adjoint.core.errors import ArgumentError, ArgumentTypeError, called_at

FLAG = "--xla_force_host_platform_device_count"


class Mesh:
    """Devices along named axes. Made by `mesh`.

    `axes` has the number of devices along each axis, `devices` their names, and `jax` is JAX's own mesh of them.
    """

    def __init__(self, axes: Mapping[str, int], devices: Sequence[Any]) -> None:
        self.axes = dict(axes)
        self._devices = np.array(devices, dtype=object).reshape(tuple(self.axes.values()))

    @cached_property
    def jax(self) -> Any:
        """JAX's own mesh."""
        return jax().sharding.Mesh(self._devices, tuple(self.axes))

    @property
    def size(self) -> int:
        """How many devices there are."""
        return int(self._devices.size)

    @property
    def shared(self) -> bool:
        """Whether its devices belong to several processes."""
        return len({d.process_index for d in self._devices.flat}) > 1

    @property
    def devices(self) -> list[str]:
        """The names of the devices, row by row."""
        return [name_of(d) if d.process_index == _process() else str(d) for d in self._devices.flat]

    def along(self, axis: str | tuple[str, ...] | None) -> int:
        """How many devices there are along an axis, or along several together; 1 for None."""
        names = () if axis is None else (axis,) if isinstance(axis, str) else axis
        if unknown := [name for name in names if name not in self.axes]:
            raise ArgumentError(
                f"the mesh has the axes {', '.join(self.axes)}, and none called {unknown[0]!r}; an axis of one device does no harm: "
                f"parallel.mesh({', '.join(f'{k}={n}' for k, n in self.axes.items())}, {unknown[0]}=1){called_at()}"
            )
        return prod(self.axes[name] for name in names)

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Mesh) and self.jax == other.jax

    def __hash__(self) -> int:
        return hash(self.jax)

    def __repr__(self) -> str:
        return f"Mesh({', '.join(f'{k}={n}' for k, n in self.axes.items())})"

    def __str__(self) -> str:
        """The devices as a table: the last axis goes to the right, the others down."""
        *down, last = self.axes.items()
        head = [" x ".join(name for name, _ in down)] + [f"{last[0]} {k}" for k in range(last[1])]
        places = list(np.ndindex(*(n for _, n in down)))
        names = np.array(self.devices, dtype=object).reshape(len(places), last[1])
        rows = [[", ".join(map(str, at)), *row] for at, row in zip(places, names, strict=True)]
        return f"{self!r}\n" + table([head, *rows])


def table(rows: Sequence[Sequence[str]]) -> str:
    """Texts in columns."""
    widths = [max(map(len, column)) for column in zip(*rows, strict=True)]
    return "\n".join("  ".join(x.ljust(w) for x, w in zip(row, widths, strict=True)).rstrip() for row in rows)


def _process() -> int:
    return int(jax().process_index())


def mesh(sizes: Mapping[str, int] | None = None, /, *, devices: Sequence[Any] | None = None, **axes: int) -> Mesh:
    """A mesh of devices, with the number along each named axis; one of these may be -1, for all that are left.

    Args:
        sizes: the axes as a dict, where they are not given by name.
        devices: names as "gpu:1", or devices of JAX's, row by row; if not given, the first of all that JAX sees.
        axes: the number of devices along each axis.

    >>> from adjoint import parallel
    >>> parallel.mesh(data=1)
    Mesh(data=1)
    >>> parallel.mesh({"data": 1, "model": 1}).devices
    ['cpu:0']
    """
    if sizes is not None and axes:
        raise ArgumentError(f"mesh: give the axes as a dict or by name, not both{called_at()}")
    if sizes is not None and not isinstance(sizes, Mapping):
        raise ArgumentTypeError(
            f'mesh: the axes have names: parallel.mesh(data=4, model=2), or a dict as {{"data": 4}}, not {sizes!r}{called_at()}'
        )
    wanted = dict(axes if sizes is None else sizes)
    found = _devices(devices)
    wanted = _filled(wanted, len(found))
    count = prod(wanted.values())
    if count > len(found) or (devices is not None and count != len(found)):
        _refuse(wanted, count, found, devices is not None)
    return Mesh(wanted, found[:count])


def _devices(given: Sequence[Any] | None) -> list[Any]:
    if given is None:
        return list(jax().devices())
    if isinstance(given, str) or not isinstance(given, Sequence):
        raise ArgumentTypeError(
            f'mesh: devices must be a list of names as "gpu:1", or of devices of JAX\'s, not {given!r}{called_at()}'
        )
    found = [device(d) if isinstance(d, str) else d for d in given]
    if len(set(found)) < len(found):
        doubled = next(d for k, d in enumerate(found) if d in found[:k])
        raise ArgumentError(f"mesh: {name_of(doubled)} is given twice{called_at()}")
    return found


def _filled(axes: dict[str, int], available: int) -> dict[str, int]:
    """The sizes, with all that are left in place of -1."""
    if not axes:
        raise ArgumentError(f"mesh: name at least one axis, as in parallel.mesh(data={available}){called_at()}")
    for name, n in axes.items():
        if not isinstance(name, str) or not name.isidentifier():
            raise ArgumentTypeError(f"mesh: an axis has a name such as 'data', not {name!r}{called_at()}")
        if isinstance(n, bool) or not isinstance(n, (int, np.integer)) or (n < 1 and n != -1):
            raise ArgumentError(f"mesh: {name} must be a number of devices above zero, or -1, not {n!r}{called_at()}")
    if list(axes.values()).count(-1) > 1:
        raise ArgumentError(f"mesh: one axis may be -1, not several{called_at()}")
    rest = prod(int(n) for n in axes.values() if n != -1)
    return {name: max(1, available // rest) if n == -1 else int(n) for name, n in axes.items()}


def _refuse(axes: dict[str, int], count: int, found: list[Any], given: bool) -> None:
    shape = " x ".join(f"{name}={n}" for name, n in axes.items())
    if given:
        raise ArgumentError(f"mesh: {shape} takes {count} devices, and {len(found)} are given{called_at()}")
    platform = name_of(found[0]).partition(":")[0]
    more = (
        f" One CPU can be taken for several devices: parallel.virtual_devices({count}) before anything else uses JAX, or "
        f"XLA_FLAGS={FLAG}={count} in the environment."
        if platform == "cpu"
        else ""
    )
    raise ArgumentError(
        f"mesh: {shape} takes {count} devices, and JAX sees {len(found)} ({platform}).{more}{called_at()}"
    )


def virtual_devices(count: int) -> None:
    """Let JAX take the CPU for at least so many devices, to try out programs for many. It must not have begun to work before.

    >>> from adjoint import parallel
    >>> parallel.virtual_devices(1)
    """
    if isinstance(count, bool) or not isinstance(count, int) or count < 1:
        raise ArgumentError(
            f"virtual_devices: the number of devices is an integer above zero, not {count!r}{called_at()}"
        )
    before = os.environ.get("XLA_FLAGS")
    set_now = re.search(rf"{FLAG}=(\d+)", before or "")
    if count > 1 and (set_now is None or int(set_now[1]) < count):
        others = re.sub(rf"{FLAG}=\S*", "", before or "").split()
        os.environ["XLA_FLAGS"] = " ".join([*others, f"{FLAG}={count}"])
    found = len(jax().devices("cpu"))
    if found < count:
        if before is None:
            del os.environ["XLA_FLAGS"]
        else:
            os.environ["XLA_FLAGS"] = before
        raise ArgumentError(
            f"virtual_devices: JAX has begun already, with {found} CPU device{'s' * (found > 1)}: call parallel.virtual_devices({count}) at "
            f"the top of the program, or set XLA_FLAGS={FLAG}={count} in the environment{called_at()}"
        )

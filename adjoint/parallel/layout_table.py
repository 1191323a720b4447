"""What lies where: tables of Parameters, pictures of arrays, and values brought back to the host."""

from __future__ import annotations

from typing import Any

import numpy as np

from adjoint.backends.memory_report import shown
from adjoint.backends.xla.devices import jax, name_of
from adjoint.core import tree
from adjoint.core.dispatch import Value, wrap
from adjoint.core.errors import AdjointError, ArgumentError, called_at
from adjoint.core.parameter import Parameter
from adjoint.parallel.device_mesh import table
from adjoint.parallel.layouts_on_mesh import Layout, layout_of_array
from adjoint.parallel.parameter_layouts import layout_of, parameters_of


def show(what: Any) -> str:
    """A table of the Parameters of a network, or of an optimiser with its state: shape, layout, and the bytes that each device holds.

    >>> import adjoint as ad
    >>> net = ad.parallel.place(ad.nn.Dense(4, 8), ad.parallel.mesh(data=1))
    >>> print(ad.parallel.show(net))
    Parameter  shape   layout  each device
    weight     (8, 4)  whole   128 B
    bias       (8,)    whole   32 B
    in all                     160 B
    """
    rows, total = [("Parameter", "shape", "layout", "each device")], 0
    for p in {id(p): p for p in parameters_of("show", what)}.values():
        held = bytes_held(p._value)
        total += held
        rows.append((p.name, str(p.shape), _words(p), shown(held)))
    return table([*rows, ("in all", "", "", shown(total))])


def bytes_held(x: Any) -> int:
    """The bytes of an array that one device holds.

    >>> bytes_held(np.zeros((2, 3)))
    48
    """
    if not isinstance(x, np.ndarray):
        return int(np.prod(x.sharding.shard_shape(x.shape), dtype=np.int64)) * x.dtype.itemsize
    return int(x.nbytes)


def _words(p: Parameter) -> str:
    """How a Parameter lies; what is noted for it, where it is on the host."""
    lies = None if isinstance(p._value, np.ndarray) else layout_of_array(p._value)
    if lies is None:
        noted = layout_of(p)
        return "host" if not noted else f"host, to be {_layout_text(noted, p._value.ndim)}"
    return _layout_text(lies, p._value.ndim)


def _layout_text(layout: Layout, ndim: int) -> str:
    if not any(layout):
        return "whole"
    parts = [*layout, *[None] * (ndim - len(layout))]
    return " x ".join("-" if part is None else part if isinstance(part, str) else "*".join(part) for part in parts)


def picture(x: Any) -> str:
    """Which devices hold which part of an array of one or two axes, as a table.

    >>> import adjoint as ad
    >>> net = ad.parallel.place(ad.nn.Dense(4, 8), ad.parallel.mesh(data=1))
    >>> print(ad.parallel.picture(net.weight))
         0:4
    0:8  cpu:0
    """
    array = x._value if isinstance(x, Value) else x
    if isinstance(array, np.ndarray) or not hasattr(array, "sharding"):
        raise ArgumentError(f"picture: the value is on the host, not on a mesh{called_at()}")
    if not 1 <= array.ndim <= 2:
        raise ArgumentError(f"picture: one or two axes can be drawn, not the shape {array.shape}{called_at()}")
    held: dict[tuple[str, ...], list[str]] = {}
    for device, part in array.sharding.devices_indices_map(array.shape).items():
        spans = [f"{s.start or 0}:{n if s.stop is None else s.stop}" for s, n in zip(part, array.shape, strict=True)]
        here = device.process_index == jax().process_index()
        held.setdefault((*spans,) if array.ndim == 2 else ("", *spans), []).append(
            name_of(device) if here else str(device)
        )
    rows, columns = (sorted({key[k] for key in held}, key=_start) for k in (0, 1))
    return table([["", *columns], *([row, *(_several(held[row, column]) for column in columns)] for row in rows)])


def _start(span: str) -> int:
    return int(span.partition(":")[0] or 0)


def _several(names: list[str]) -> str:
    return ", ".join(names) if len(names) <= 4 else f"{names[0]}, ... {names[-1]} ({len(names)})"


# ---------------------------------------------------------------- back to the host


def gathered(x: Any) -> Any:
    """Values on the host again, each a Tensor: of a Tensor, a Parameter, an array, or a container of these. No gradient flows through it.

    >>> import adjoint as ad
    >>> net = ad.parallel.place(ad.nn.Dense(4, 2, bias_init="ones"), ad.parallel.mesh(data=1))
    >>> print(ad.parallel.gathered(net.bias))
    [1. 1.]
    """
    return tree.map(_gathered, x)


def _gathered(x: Any) -> Any:
    array = x._plain() if isinstance(x, Value) else x
    if isinstance(array, (np.ndarray, np.generic, jax().Array)):
        return wrap(on_host(array))
    if isinstance(x, Value):
        raise AdjointError(
            f"gathered: there is no value yet while a function is compiled: call it outside{called_at()}"
        )
    return x


def on_host(array: Any) -> np.ndarray:
    """An array of JAX's as one of NumPy's, from all processes that hold parts of it."""
    if isinstance(array, (np.ndarray, np.generic)):
        return np.array(array)
    if not array.is_fully_addressable and not array.is_fully_replicated:
        from jax.experimental.multihost_utils import process_allgather

        return np.array(process_allgather(array, tiled=True))
    return np.array(array)


def to_host(what: Any) -> Any:
    """Bring the Parameters of a network, or of an optimiser with its state, back to the host. Gives back what it got.

    >>> import adjoint as ad
    >>> net = ad.parallel.place(ad.nn.Dense(4, 2), ad.parallel.mesh(data=1))
    >>> ad.parallel.to_host(net)(ad.ops.ones((3, 4))).shape
    (3, 2)
    """
    for p in parameters_of("to_host", what):
        p._value = on_host(p._value)
    return what

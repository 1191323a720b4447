"""The two ways to run a program: dynamic (op by op) and static (as a graph)."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from adjoint import backends
from adjoint.core import context, placement, tree
from adjoint.core.errors import ArgumentError, ArgumentTypeError, called_at
from adjoint.graph.trace import is_graph_value

GRAPH_MODE, PYNATIVE_MODE = 0, 1


def set_context(
    *,
    mode: int | None = None,
    backend: str | None = None,
    device_target: str | None = None,
    deferred: bool | None = None,
) -> None:
    """Choose how gradients and networks run from here on, in this thread: op by op, or as compiled graphs.

    `backend` says what runs compiled graphs: "native" (machine code, the default), "interpreter" or "xla". `device_target` says
    where: "gpu", "tpu" or "cpu:1" for a device of XLA's, on which Tensors are made from then on, and to which arrays move by themselves;
    "cpu" for the host. The manner of MindSpore, for a whole program; ours, for one function, is `jit`, and for one Tensor `x.to`.
    `deferred` says whether gradients in dynamic mode that come again and again are computed by machine code; they are, by default.

    >>> import adjoint as ad
    >>> ad.set_context(mode=ad.GRAPH_MODE)
    >>> print(ad.grad(lambda x: x ** 2)(3.0))
    6.0
    >>> ad.set_context(mode=ad.PYNATIVE_MODE)
    """
    if mode not in (GRAPH_MODE, PYNATIVE_MODE, None):
        raise ArgumentError(f"set_context: mode must be GRAPH_MODE or PYNATIVE_MODE, not {mode!r}{called_at()}")
    if device_target is not None:
        _set_device(device_target, backend)
    elif backend is not None:
        context.backend.set(backends.checked(backend))
    if mode is not None:
        context.static_mode.set(mode == GRAPH_MODE)
    if deferred is not None:
        context.deferred.set(bool(deferred))


def _set_device(device: str, backend: str | None) -> None:
    if not isinstance(device, str):
        raise ArgumentTypeError(f'set_context: device_target is a text like "gpu", not {device!r}{called_at()}')
    if device.lower() != placement.HOST:
        place = placement.engine().checked(device)
        context.backend.set(backends.on_device(backend, place))
        context.device.set(place)
        return
    before = context.backend.get() or ""
    if backend is not None or (context.device.get() is not None and before.startswith("xla")):
        context.backend.set(context.backend_default if backend is None else backends.checked(backend))
    context.device.set(None)


def get_context(name: str = "mode") -> Any:
    """The mode, the backend, the device ("device_target") or whether gradients are deferred ("deferred"), as in force.

    >>> import adjoint as ad
    >>> ad.get_context("mode") == ad.PYNATIVE_MODE
    True
    """
    if name == "backend":
        return backends.chosen()
    if name == "device_target":
        return context.device.get() or placement.HOST
    if name == "deferred":
        return context.deferred.get()
    if name != "mode":
        raise ArgumentError(
            f"get_context: there is no {name!r}, only 'mode', 'backend', 'device_target' and 'deferred'{called_at()}"
        )
    return GRAPH_MODE if context.static_mode.get() else PYNATIVE_MODE


def by_mode(function: Callable[..., Any]) -> Callable[..., Any]:
    """The function as it is in dynamic mode, compiled in static mode (unless it is part of a graph already)."""
    compiled: list[Callable[..., Any]] = []

    def chosen(*args: Any, **kwargs: Any) -> Any:
        if not context.static_mode.get() or any(is_graph_value(x) for x in tree.leaves((args, kwargs))):
            return function(*args, **kwargs)
        if not compiled:
            from adjoint.api.jit import jit

            compiled.append(jit(function))
        with context.setting(context.static_mode, False):
            return compiled[0](*args, **kwargs)

    return chosen

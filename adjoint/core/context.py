"""The few context variables. Each is set with a token and reset in `finally`, so that no exception leaves a trace."""

from __future__ import annotations

import os
from collections.abc import Iterator
from contextlib import contextmanager
from contextvars import ContextVar
from itertools import count
from typing import Any

#: Levels of transforms: one begun later is further in. Lower numbers are reserved for the base levels.
new_level = count(16).__next__

#: Recording is off for transforms below this level (`no_grad`).
muted_below: ContextVar[float] = ContextVar("muted_below", default=-1)

#: Parameter -> tracked value, while a functional transform is active; None outside of all.
bindings: ContextVar[Any] = ContextVar("bindings", default=None)

#: Whether integers have derivatives too, integers again: MindSpore's rule.
integers: ContextVar[bool] = ContextVar("integers", default=False)

#: The innermost open GradientTape, which records every Tensor op.
open_tape: ContextVar[Any] = ContextVar("open_tape", default=None)

#: What gradients keep of the forward pass (a CheckpointPolicy), where they are not told themselves; None for everything.
checkpointing: ContextVar[Any] = ContextVar("checkpointing", default=None)

#: What packs the values that tapes keep of small programs, and what unpacks them again; None for nothing.
packing: ContextVar[Any] = ContextVar("packing", default=None)

#: Whether what is recorded will be computed again, from its inputs: the part of a program that is a checkpoint.
replays: ContextVar[bool] = ContextVar("replays", default=False)

#: The branch of a graph that is being traced: ops on values from outside belong to it too, so that they run only if it does.
branch: ContextVar[Any] = ContextVar("branch", default=None)

#: Whether a graph is gone through again: its ops mean what they say, also on what is a Python number to the program around it.
replaying: ContextVar[bool] = ContextVar("replaying", default=False)

#: Whether derivatives and networks run as graphs (`set_context(mode=GRAPH_MODE)`).
static_mode: ContextVar[bool] = ContextVar("static_mode", default=False)
#: Whether a function that cannot become a graph runs op by op instead of being refused; its results are then Python's own.
lenient: ContextVar[bool] = ContextVar("lenient", default=False)
backend_default = os.environ.get("ADJOINT_BACKEND") or None
#: What runs the graphs of static mode: "native" (machine code) or "interpreter". None: native where it can.
backend: ContextVar[str | None] = ContextVar("backend", default=backend_default)

#: Whether gradients of dynamic mode may be deferred, and computed by machine code when they come again.
deferred: ContextVar[bool] = ContextVar("deferred", default=os.environ.get("ADJOINT_DEFERRED") != "0")

#: The dtype in which products and convolutions of float32 inputs compute (`amp.autocast`); None for their own.
autocast: ContextVar[Any] = ContextVar("autocast", default=None)

#: Where new Tensors are made (`set_context(device_target=...)`): the name of a device, or None for the host.
device: ContextVar[str | None] = ContextVar("device", default=None)
#: While a function is traced: the device that its graph will run on; None for the host.
graph_device: ContextVar[str | None] = ContextVar("graph_device", default=None)

#: Whether `float(x)` and NumPy may take the numbers of a Tensor that is being differentiated: no gradient flows through them.
cutting: ContextVar[bool] = ContextVar("cutting", default=False)

#: While a graph is gone through again: the place (file, line) in the user's program that made the step gone through.
place: ContextVar[tuple[str, int] | None] = ContextVar("place", default=None)

#: What says of each step of a graph being built where it comes from, in place of file and line alone; None for those.
locating: ContextVar[Any] = ContextVar("locating", default=None)

#: The kinds of errors of the code that is being traced which Python may catch.
caught: ContextVar[tuple[type, ...]] = ContextVar("caught", default=())

#: How a graph being built reads a user's function: its control flow becomes the graph's. None in dynamic mode.
reader: ContextVar[Any] = ContextVar("reader", default=None)


def readable(fn: Any) -> Any:
    """A user's function as it must be called just now: itself, or as the graph being built reads it."""
    read = reader.get()
    return fn if read is None else read(fn)


class DerivativePlace(tuple[str, int]):
    """The place of a step whose derivative is computed, not the step itself."""

    __slots__ = ()


class TangentPlace(DerivativePlace):
    """The same in forward mode."""

    __slots__ = ()


def derivative_place(of: tuple[str, int]) -> tuple[str, int]:
    """The place of the derivative of a step; a place that knows more (see `locating`) makes its own."""
    own = getattr(of, "derivative_place", None)
    return DerivativePlace(of) if own is None else own()


@contextmanager
def setting(variable: ContextVar, value: Any) -> Iterator[None]:
    """Set a context variable for the length of a `with` block."""
    token = variable.set(value)
    try:
        yield
    finally:
        variable.reset(token)


def handing_on() -> Any:
    """Nothing is computed, only chosen: derivatives are kept, also under `no_grad`."""
    return setting(muted_below, -1)


@contextmanager
def no_grad() -> Iterator[None]:
    """Compute without recording: nothing inside the block is differentiated by a transform around it.

    Works as a decorator too. A transform begun inside the block differentiates as usual.

    >>> import adjoint as ad
    >>> def f(x):
    ...     with ad.no_grad():
    ...         scale = x * 3.0
    ...     return x * scale
    >>> print(ad.grad(f)(2.0))
    6.0
    """
    with setting(muted_below, new_level()):
        yield


#: The networks that a function being traced has called, with their versions; None outside of a trace.
cells: ContextVar[dict[Any, float] | None] = ContextVar("cells", default=None)
tracer: ContextVar[Any] = ContextVar("tracer", default=None)  # what records effects that show no graph value

#: How a function that a backend has a kernel for becomes one part of the graph being built (`graph.fused`); None where all are single steps.
fused: ContextVar[Any] = ContextVar("fused", default=None)

"""Moving a Tensor to another device: `x.to("gpu")`."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

import numpy as np

from adjoint.core import context, placement
from adjoint.core.absent import ZERO
from adjoint.core.dispatch import Value, wrap
from adjoint.core.errors import ArgumentTypeError, DeviceError, called_at
from adjoint.core.parameter import Parameter
from adjoint.core.placement import HOST, device_of
from adjoint.core.tensor import Tensor
from adjoint.ops.broadcast import batch_front
from adjoint.ops.card import Draw, Op, Sample, card
from adjoint.ops.casting import cast


@dataclass(frozen=True)
class Transfer(Op):
    """The same values on another device. Cotangents go back to where the input is."""

    device: str

    complex, total, transfers = True, True, True

    def infer(self, x):
        return x

    def eval(self, xp, x):
        return wrap(placement.moved(x, self.device)) if self.device != HOST else placement.moved(x, HOST)

    def vjp(self, g, y, x):
        return (card(Transfer, device_of(x))(g),)

    def jvp(self, ts, y, x):
        return ts[0] if ts[0] is ZERO else self(ts[0])

    def vmap(self, dims, x):
        return self(batch_front(x, dims[0]))

    @classmethod
    def samples(cls, draw: Draw) -> Iterator[Sample]:
        yield cls(HOST), (draw(2, 3),)


def to(
    x: Any, *given: Any, dtype: Any = None, device: Any = None, non_blocking: bool = False, copy: bool = False
) -> Any:
    """The Tensor on another device, or in another dtype, or both: `x.to("gpu")`, `x.to("cpu:1", ad.float16)`, `x.to(y)`.

    "cpu" is the host; "cpu:0" is the first of XLA's CPU devices. Differentiable: the gradient goes back to where x is. What is
    there already, in this dtype, is given back as it is, unless a copy is wanted. A Parameter moves itself.

    >>> import adjoint as ad
    >>> x = ad.Tensor([1.0, 2.0]).to("cpu:0")
    >>> print(x.device, (x * 2).device, ad.grad(lambda x: x.to("cpu").sum())(x).device)
    cpu:0 cpu:0 cpu:0
    """
    for one in given:
        if isinstance(one, Value):
            device, dtype = device_of(one), one.dtype
        elif isinstance(one, str) and not _is_dtype(one):
            device = one
        elif one is not None and not isinstance(one, bool):  # PyTorch's `non_blocking`: JAX never waits
            dtype = one
    moves = device is not None and device_of(x) != (device := _full(device))
    if moves and isinstance(x, Parameter):
        return _moved_parameter(x, device, dtype)
    y = x if dtype is None or x.dtype == np.dtype(dtype) else cast(x, np.dtype(dtype))
    y = _moved(y, device) if moves else y
    return y.copy() if copy and y is x else y


def cpu(x: Any) -> Any:
    """The Tensor on the host.

    >>> import adjoint as ad
    >>> ad.Tensor([1.0], device="cpu:0").cpu().device
    'cpu'
    """
    return to(x, HOST)


def _is_dtype(text: str) -> bool:
    try:
        np.dtype(text)
    except TypeError:
        return False
    return True


def _full(device: Any) -> str:
    if not isinstance(device, str):
        raise ArgumentTypeError(f'x.to: a device is a text like "gpu" or "cpu:1", not {device!r}{called_at()}')
    return HOST if device.lower() == HOST else placement.engine().checked(device)


def _moved(x: Any, device: str) -> Any:
    if context.tracer.get() is not None and placement.in_graph(x):
        raise DeviceError(
            f'x.to("{device}") inside a compiled function that runs on "{device_of(x)}": a graph runs on one device. Move what goes in '
            f"and what comes out, outside of the function, or compile the parts for their devices{called_at()}"
        )
    return card(Transfer, device)(x)


def _moved_parameter(p: Parameter, device: str, dtype: Any) -> Any:
    if context.bindings.get() is not None or context.open_tape.get() is not None:
        return to(p.current(), dtype=dtype, device=device)
    if dtype is not None and p.dtype != np.dtype(dtype):
        raise ArgumentTypeError(f"a Parameter keeps its dtype: {p.name}.to({dtype!r}) is cast(p, dtype){called_at()}")
    p.move(device)
    return p


def attach() -> None:
    """Give Tensor its methods."""
    for function in (to, cpu):
        setattr(Tensor, function.__name__, function)

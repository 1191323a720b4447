"""What a loop has stacked whose number of iterations is known only on the device: a buffer, of which a part counts."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from adjoint.backends.xla.devices import jax
from adjoint.backends.xla.failures import Tracing
from adjoint.core.errors import UnknownShapeError, called_at


class StackBuffer:
    """The first `count` of what a buffer holds along an axis. What stands behind them is of no account."""

    def __init__(self, buffer: Any, count: Any, axis: int = 0) -> None:
        self.buffer, self.count, self.axis = buffer, count, axis

    @property
    def dtype(self) -> Any:
        return self.buffer.dtype

    @property
    def shape(self) -> tuple[int, ...]:
        return tuple(-1 if k == self.axis else n for k, n in enumerate(self.buffer.shape))


def on_stacks(
    op: Any, spec: Any, tracing: Tracing, xs: Sequence[Any], applied: Callable[[Sequence[Any]], Any]
) -> StackBuffer:
    """An op on what is stacked: one that moves axes about, or that looks at each element by itself. Others are refused."""
    stacks = [x for x in xs if isinstance(x, StackBuffer)]
    axis, (first, *others) = None, stacks
    if len(xs) == 1:
        axis = _moved_to(op, first)
    elif op.elementwise:
        axis = _lined_up(spec, xs)
    if axis is None:
        raise refused(f"{op} of what a loop has stacked")
    unlike = UnknownShapeError(f"{op} of what loops of different numbers of iterations have stacked")
    for other in others:
        if other.count is not first.count:
            tracing.fail_if(other.count != first.count, lambda _: unlike)
    return StackBuffer(applied([x.buffer if isinstance(x, StackBuffer) else x for x in xs]), first.count, axis)


def refused(what: str) -> UnknownShapeError:
    """What needs the number of iterations of a loop that only the device knows."""
    return UnknownShapeError(
        f"{what}, in a number of iterations that is known only when it runs, is not computed by the backend 'xla': give the loop a number of "
        f"iterations that is known when the function is compiled, or take backend='native'{called_at()}"
    )


def _moved_to(op: Any, x: StackBuffer) -> int | None:
    """The axis of the result along which it counts; None if there is no such axis."""
    if op.elementwise:
        return x.axis
    places = op.index_map(x.buffer.shape)
    if places is None:
        return None
    offset, axis, step = places[x.axis]
    return axis if (offset, step) == (0, 1) and sum(p[1] == axis for p in places) == 1 else None


def _lined_up(spec: Any, xs: Sequence[Any]) -> int | None:
    """The axis, from the front, along which all that is stacked counts; other inputs are the same all along it."""
    found = {len(spec.shape) - len(x.shape) + x.axis for x in xs if isinstance(x, StackBuffer)}
    axis = found.pop()
    if found:
        return None
    plain = [np.shape(x) for x in xs if not isinstance(x, StackBuffer)]
    behind = [axis - len(spec.shape) + len(shape) for shape in plain]
    return axis if all(k < 0 or shape[k] == 1 for k, shape in zip(behind, plain, strict=True)) else None


def rows(x: Any, at: Any) -> Any:
    """One slice of what is stacked, or of an array."""
    if isinstance(x, StackBuffer):
        if x.axis != 0:
            raise refused("a loop over another axis of what a loop has stacked")
        x = x.buffer
    return jax().lax.dynamic_index_in_dim(x, at, keepdims=False)

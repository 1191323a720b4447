"""vmap: one axis of each value is a batch, which the function does not see."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

from adjoint.core import context
from adjoint.core.dispatch import EAGER, Trace, Value, gathered, make
from adjoint.core.errors import BatchedError, EndedTransformError, called_at
from adjoint.core.layout import layout_of, reordered, with_axis, without_axis
from adjoint.core.spec import shape_of
from adjoint.ops.broadcast import batch_front
from adjoint.ops.language import broadcast_to


@dataclass(frozen=True, slots=True)
class Common:
    """One of several results of a batch rule that is the same for all examples, and has no batch axis."""

    value: Any


class Batch(Trace):
    """Values with a hidden batch axis of one `size`."""

    transparent = False

    def __init__(self, size: int) -> None:
        self.size = size
        self.level = context.new_level()
        self.ended = False
        self.base = EAGER if context.open_tape.get() is None else None

    def track(self, value: Any, axis: int) -> Any:
        """A Tensor for a value one level below, whose `axis` is the batch."""
        return make(value, self, axis)

    def lane(self) -> Any:
        """A zero for each example."""
        return self.track(np.zeros(self.size, np.int64), 0)

    def shape(self, x: Any) -> tuple[int, ...]:
        shape = shape_of(x._value)
        return shape[: x._extra] + shape[x._extra + 1 :]

    def below(self, x: Any) -> Any:
        raise BatchedError(
            "the values of a Tensor under vmap are a whole batch, not one array: a Python `if`, float(), asnumpy() or an index "
            "of a NumPy array cannot choose one. Use ops.where for a choice between elements, and ad.Tensor(array)[i] for an "
            f"index.{called_at()}"
        )

    def layout(self, x: Any) -> Any:
        return without_axis(layout_of(x._value), x._extra)

    def in_order(self, x: Any, layout: Any) -> Any:
        return make(reordered(x._value, with_axis(layout, x._extra, self.size)), self, x._extra)

    def materialize(self, x: Any) -> Any:
        """The whole batch, its axis in front; a constant is repeated."""
        if isinstance(x, Value) and x._trace is self:
            return batch_front(x._value, x._extra)
        return broadcast_to(x, (self.size, *shape_of(x)))

    def apply(self, op: Any, xs: tuple[Any, ...]) -> Any:
        if self.ended:
            raise EndedTransformError(
                "a Tensor made inside vmap was kept and used after vmap had ended. "
                f"Return it from the function instead.{called_at()}"
            )
        if (clean := gathered(xs)) is not None:
            return op(*clean)
        tape = context.open_tape.get()
        if tape is not None and tape.level > self.level:
            return tape.record(op, xs)
        values, dims = [], []
        for x in xs:
            mine = isinstance(x, Value) and x._trace is self
            inner = x._value if mine or (isinstance(x, Value) and x._trace is self.base) else x
            values.append(inner)
            dims.append(x._extra if mine else None)
        y = op.vmap(dims, *values)
        return tuple(map(self._result, y)) if type(y) is tuple else make(y, self, 0)

    def _result(self, y: Any) -> Any:
        return y.value if type(y) is Common else make(y, self, 0)

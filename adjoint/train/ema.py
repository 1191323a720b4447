"""An exponential moving average of weights."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from contextlib import contextmanager
from typing import Any

import numpy as np

from adjoint import ops
from adjoint.core import context
from adjoint.core.errors import AdjointError, ArgumentError, ArgumentTypeError, called_at
from adjoint.core.parameter import Parameter, plain
from adjoint.core.parameter_values import put_values, value_of
from adjoint.core.spec import float32, is_half
from adjoint.nn.cell import Cell

SUFFIX = ".ema"


class EMA:
    """The average of a network's weights over its steps, the recent ones counting most: `average = decay * average + (1 - decay) * weight`.

    Call `update()` after each step of the optimiser; inside `with ema.applied():` the network has the averages. What is not trained, such
    as the running statistics of BatchNorm, is taken as it is. The averages of weights in half precision are kept in float32.

    Args:
        params: a network, or its Parameters.
        decay: how much of the average stays at each update.
        warmup: begin with a smaller decay, (1 + n) / (10 + n) at update n, so that the first weights are forgotten sooner.

    >>> import adjoint as ad
    >>> net = ad.nn.Dense(1, 1, weight_init=1.0, has_bias=False)
    >>> ema = ad.train.EMA(net, decay=0.75)
    >>> _ = net.weight.set_data(ad.Tensor([[3.0]]))
    >>> ema.update()
    >>> with ema.applied():
    ...     print(net(ad.Tensor([[1.0]])))
    [[1.5]]
    >>> print(net(ad.Tensor([[1.0]])))
    [[3.]]
    """

    def __init__(self, params: Cell | Iterable[Parameter], decay: float = 0.999, *, warmup: bool = False) -> None:
        if isinstance(decay, bool) or not isinstance(decay, (int, float, np.number)):
            raise ArgumentTypeError(f"EMA: decay is a number, not {decay!r:.60}{called_at()}")
        if not 0 <= decay < 1:
            raise ArgumentError(f"EMA: decay must lie from 0 to below 1, not {decay}{called_at()}")
        self.parameters = list(params.get_parameters() if isinstance(params, Cell) else params)
        if wrong := [p for p in self.parameters if not isinstance(p, Parameter)]:
            raise ArgumentTypeError(
                f"EMA: a network or its Parameters are needed, not {type(wrong[0]).__name__}{called_at()}"
            )
        if len({p.name for p in self.parameters}) != len(self.parameters):
            raise ArgumentError(f"EMA: the names of the Parameters must differ{called_at()}")
        self.decay, self.warmup = float(decay), bool(warmup)
        self.updates = Parameter(np.zeros((), np.int32), f"updates{SUFFIX}", requires_grad=False)
        self.averages = [
            Parameter(
                _as_dtype(plain(p), float32 if is_half(p.dtype) else p.dtype), f"{p.name}{SUFFIX}", requires_grad=False
            )
            for p in self.parameters
        ]
        self._applied = False

    def update(self) -> None:
        """Take in the weights as they are now."""
        self._check("update")
        if self._applied:
            raise AdjointError(
                f"EMA.update: the network has the averages now, inside `applied()`: call it outside{called_at()}"
            )
        count = int(self.updates._value)
        decay = min(self.decay, (1 + count) / (10 + count)) if self.warmup else self.decay
        with context.no_grad():
            for p, average in zip(self.parameters, self.averages, strict=True):
                now = _as_dtype(plain(p), average.dtype)
                if p.requires_grad and average.dtype.kind in "fcV":
                    number = np.asarray(decay, average.dtype)
                    now = plain(average) * number + now * (1 - number)
                average.set_data(now)
        self.updates.set_data(np.int32(count + 1))

    @contextmanager
    def applied(self) -> Iterator[EMA]:
        """A block in which the Parameters have the averages; they get their own values back after it, also after an error.

        What trains them inside is refused at its end, since it would be lost.
        """
        self._check("applied")
        if self._applied:
            raise AdjointError(f"EMA.applied: the averages are in the network already{called_at()}")
        own = [p._value for p in self.parameters]
        self._applied = True
        try:
            self._put()
            before = [np.array(p.asnumpy()) if p.requires_grad else None for p in self.parameters]
            yield self
            trained = [p.name for p, x in zip(self.parameters, before, strict=True) if x is not None and _differs(p, x)]
        finally:
            for p, value in zip(self.parameters, own, strict=True):
                p._value = value
            self._applied = False
        if trained:
            raise AdjointError(
                f"EMA.applied: the averages in the network were changed inside the block ({', '.join(trained[:3])}), by a step or an "
                f"assignment, and the change is lost: train outside of it, or after copy_to(){called_at()}"
            )

    def copy_to(self) -> None:
        """Let the Parameters have the averages from here on."""
        self._check("copy_to")
        self._put()

    def _put(self) -> None:
        for p, average in zip(self.parameters, self.averages, strict=True):
            p._value = ops.cast(plain(average), p.dtype).copy()._value

    def parameters_dict(self) -> dict[str, Parameter]:
        """The averages and the number of updates by name: `save_checkpoint([net, optimiser, ema], path)` saves them."""
        return {p.name: p for p in (self.updates, *self.averages)}

    def state_dict(self) -> dict[str, Any]:
        """The averages and the number of updates by name, as they are now."""
        return {name: value_of(p) for name, p in self.parameters_dict().items()}

    def load_state_dict(self, state_dict: Mapping[str, Any]) -> None:
        """Set the averages to what `state_dict()` gave; names that do not fit are refused."""
        put_values("EMA", self.parameters_dict(), state_dict, True)

    def _check(self, what: str) -> None:
        if context.bindings.get() is not None or context.open_tape.get() is not None:
            raise AdjointError(f"EMA.{what} inside grad, vmap, jit or a GradientTape: call it outside{called_at()}")


def _differs(p: Parameter, before: np.ndarray) -> bool:
    now = p.asnumpy()
    return now.shape != before.shape or now.tobytes() != before.tobytes()


def _as_dtype(x: Any, dtype: Any) -> Any:
    return x if x.dtype == dtype else ops.cast(x, dtype)

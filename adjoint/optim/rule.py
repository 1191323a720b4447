"""Update rules: pure functions from gradients, state and parameters to new state and parameters, written in ops."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, ClassVar

import numpy as np

from adjoint import ops
from adjoint.core.dispatch import wrap
from adjoint.core.placement import beside, bottom, device_of, in_graph
from adjoint.core.spec import is_half

State = dict[str, Any]
Slots = dict[str, Any]


@dataclass(frozen=True)
class Rule:
    """How an optimiser changes parameters: `init(params)` makes its state, `update` takes one step.

    A rule holds numbers only and writes to nothing, so that a step can be compiled, mapped, or kept inside a larger
    graph. A subclass names its `slots` (what it remembers of each parameter) and writes `one`.

    Args:
        weight_decay: the coefficient of an L2 penalty, for all parameters or a tuple with one for each.
        centralised: whether gradients lose their mean over all axes but the first, for all or a tuple with one for each.
        loss_scale: what the loss was multiplied by; gradients are divided by it.

    >>> import adjoint as ad
    >>> rule = ad.optim.MomentumRule(momentum=0.5)
    >>> params = [ad.Tensor([1.0])]
    >>> state = rule.init(params)
    >>> for _ in range(2):
    ...     params, state = rule.update([ad.Tensor([1.0])], state, params, 0.1)
    >>> print(params[0], state["moments"][0], state["step"])
    [0.75] [1.5] 2
    """

    weight_decay: float | tuple[float, ...] = 0.0
    centralised: bool | tuple[bool, ...] = False
    loss_scale: float = 1.0

    decoupled: ClassVar[bool] = False  # whether the rule applies the decay itself, apart from the gradient

    @property
    def slots(self) -> tuple[str, ...]:
        """The names of what is remembered of each parameter."""
        return ()

    def first(self, slot: str, shape: tuple[int, ...], dtype: np.dtype) -> Any:
        """The value of a slot before the first step."""
        return ops.zeros(shape, dtype)

    def shared(self, step: Any) -> Any:
        """What the updates of all parameters have in common at a step (the first one is 1)."""
        return step

    def one(self, w: Any, g: Any, old: Slots, lr: Any, shared: Any, decay: Any) -> tuple[Any, Slots]:
        """A parameter and its slots after a step. `decay` is a Tensor if it changes from step to step, or else a float."""
        raise NotImplementedError(f"{type(self).__name__} has no `one`: write how a single parameter changes there")

    def read(self, params: Sequence[Any]) -> Sequence[Any]:
        """The parameters as a loss is to read them in a compiled step: as they are, unless they lie apart on many devices."""
        return params

    def collected(self, grads: Sequence[Any]) -> Sequence[Any]:
        """The gradients as a compiled step is to keep them: as they are, unless they lie apart on many devices."""
        return grads

    def init(self, params: Sequence[Any]) -> State:
        """The state before the first step."""
        state: State = {"step": ops.zeros((), np.int32)}
        for slot in self.slots:
            state[slot] = [_beside(self.first(slot, p.shape, working_dtype(p.dtype)), p) for p in params]
        return state

    def update(
        self, grads: Sequence[Any], state: State, params: Sequence[Any], lr: Any, decays: Sequence[Any] | None = None
    ) -> tuple[list[Any], State]:
        """The parameters and the state after a step.

        `lr` is one learning rate, or a sequence with one for each; `decays` are the weight decays of this step, if they
        are not those of the rule.
        """
        step = state["step"] + 1
        shared = self.shared(step)
        rates = lr if isinstance(lr, (tuple, list)) else [lr] * len(params)
        changed: list[Any] = []
        fresh: State = {"step": step, **{slot: [] for slot in self.slots}}
        for i, (p, g, rate) in enumerate(zip(params, grads, rates, strict=True)):
            dtype = working_dtype(p.dtype)
            decay = _of(self.weight_decay, i) if decays is None else ops.cast(decays[i], dtype)
            w = as_dtype(p, dtype)
            g = self._prepared(as_dtype(g, dtype), w, decay, _of(self.centralised, i))
            w, slots = self.one(w, g, {s: state[s][i] for s in self.slots}, ops.cast(rate, dtype), shared, decay)
            changed.append(as_dtype(w, p.dtype))
            for slot in self.slots:
                fresh[slot].append(slots[slot])
        return changed, fresh

    def _prepared(self, g: Any, w: Any, decay: Any, centralised: bool) -> Any:
        """A gradient as the rule wants it: of the loss itself, with the penalty, and centred."""
        if self.loss_scale != 1.0:
            g = g * (1.0 / self.loss_scale)
        if not self.decoupled and not is_none(decay):
            g = g + decay * w
        if centralised and g.ndim > 1:
            g = g - ops.mean(g, tuple(range(1, g.ndim)), True)
        return g


def working_dtype(dtype: Any) -> np.dtype:
    """What a parameter is updated in: half precision would lose small steps, so it is widened."""
    return np.dtype(np.float32) if is_half(dtype) else np.dtype(dtype)


def _beside(x: Any, p: Any) -> Any:
    """The first value of a slot where its parameter is."""
    return x if in_graph(p) or device_of(p) == device_of(x) else wrap(beside(bottom(x), p))


def as_dtype(x: Any, dtype: Any) -> Any:
    """A value in a dtype, untouched if it has it."""
    return x if x.dtype == dtype else ops.cast(x, dtype)


def is_none(decay: Any) -> bool:
    """Whether a weight decay is zero at every step."""
    return isinstance(decay, (int, float)) and decay == 0


def _of(value: Any, i: int) -> Any:
    return value[i] if isinstance(value, tuple) else value

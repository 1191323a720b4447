"""Optimizer: the shell around an update rule that holds the Parameters and the rule's state."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from functools import partial
from typing import Any

import numpy as np

from adjoint.api.jit import jit as compiled
from adjoint.core import context
from adjoint.core.dispatch import wrap
from adjoint.core.errors import AdjointError, ArgumentError, ArgumentTypeError, ShapeError, boundary, called_at
from adjoint.core.parameter import Parameter, ParameterTuple, plain
from adjoint.core.placement import beside, device_of, is_device_array
from adjoint.core.tensor import Tensor
from adjoint.optim.groups import LearningRate, Params, Schedule, WeightDecay, members
from adjoint.optim.memory import is_large, owned, unfollowed
from adjoint.optim.optimizer_habits import OptimizerHabits
from adjoint.optim.rule import Rule, State


class Optimizer(OptimizerHabits):
    """Base of the optimisers: `optimiser(grads)` changes the Parameters by one step.

    The mathematics is in `rule`, a pure function; this class keeps the Parameters and the state, and compiles the rule.
    Learning rates are inputs of the compiled step, so that a schedule never compiles anew. An optimiser of your own is
    a `Rule` handed to this class. Large Parameters and their state are changed in place: a Tensor that was taken of one
    before a step keeps its values, but a thread that reads one in the middle of a step may see both old and new elements.

    Args:
        rule: the update rule.
        params: the Parameters to train, or groups: dicts with `params` and, where they differ from the optimiser's,
            `lr`, `weight_decay` and `grad_centralization`. A dict with `order_params` says in which order gradients come.
        learning_rate: a number, a list with one for each step, or a function of the step (a schedule).
        weight_decay: the coefficient of an L2 penalty, or a function of the step that gives it. Without groups, Parameters with `beta` or `gamma` in their
            names are left out, as in MindSpore.
        jit: compile the update; without it, ops run one by one.

    >>> import adjoint as ad
    >>> w, b = ad.Parameter(ad.Tensor([1.0]), name="w"), ad.Parameter(ad.Tensor([1.0]), name="b")
    >>> groups = [{"params": [w], "lr": 0.5}, {"params": [b]}, {"order_params": [b, w]}]
    >>> optimiser = ad.optim.Optimizer(ad.optim.SGDRule(), groups, learning_rate=0.25)
    >>> _ = optimiser((ad.Tensor([1.0]), ad.Tensor([1.0])))
    >>> print(b, w, *optimiser.get_lr())
    [0.75] [0.5] 0.25 0.5
    """

    def __init__(
        self,
        rule: Rule,
        params: Params,
        learning_rate: LearningRate,
        weight_decay: WeightDecay = 0.0,
        *,
        jit: bool = True,
    ) -> None:
        name = type(self).__name__
        if rule.loss_scale <= 0:
            raise ArgumentError(f"{name}: loss_scale must be above zero, not {rule.loss_scale}{called_at()}")
        found = members(name, params, learning_rate, weight_decay)
        self.parameters = ParameterTuple(m.parameter for m in found)
        self.schedules = [m.schedule for m in found]
        self.decays = [m.weight_decay for m in found]
        self._decays_change = any(map(callable, self.decays))
        fixed = tuple(0.0 if callable(d) else d for d in self.decays)
        self.rule = replace(rule, weight_decay=fixed, centralised=tuple(m.centralised for m in found))
        state = self.rule.init([plain(p) for p in self.parameters])
        self.global_step = Parameter(state["step"], "global_step", requires_grad=False)
        self.slots = {
            slot: ParameterTuple(
                Parameter(x, f"{slot}.{p.name}", requires_grad=False)
                for x, p in zip(state[slot], self.parameters, strict=True)
            )
            for slot in self.rule.slots
        }
        self._jit, self._overwriting = jit, jit and is_large(self.parameters)
        self._update = self._updating()

    def _updating(self) -> Callable[..., Any]:
        if not self._jit:
            return self.rule.update
        update = compiled(self.rule.update, donate=("state", "params") if self._overwriting else ())
        update.exclusive, update.replacing = True, ("params", "state")
        return update

    def __getstate__(self) -> dict[str, Any]:
        """All but the compiled update, which a copy makes anew."""
        return {name: value for name, value in self.__dict__.items() if name != "_update"}

    def __setstate__(self, state: dict[str, Any]) -> None:
        self.__dict__.update(state)
        self._update = self._updating()

    @boundary
    def __call__(self, grads: Any) -> bool:
        """Take one step along these gradients: a sequence with one for each Parameter, or a dict by name."""
        self._check_outside()
        along = self.gradients(grads)
        state, params, rates = self.inputs(self._overwriting)
        with context.no_grad():
            self.store(*self._update(along, state, params, *rates))
        return True

    def gradients(self, grads: Any) -> list[Tensor]:
        """Gradients as a list in the order of the Parameters, checked."""
        if isinstance(grads, Mapping):
            grads = [_find(grads, p) for p in self.parameters]
        given = list(grads) if isinstance(grads, (tuple, list)) else [grads]
        if wrong := [g for g in given if g is None or isinstance(g, str)]:
            raise ArgumentTypeError(
                f"{type(self).__name__}: expected the gradients, one Tensor for each Parameter, not {wrong[0]!r}{called_at()}"
            )
        if len(given) != len(self.parameters):
            raise ArgumentError(
                f"{type(self).__name__}: {len(given)} gradients for {len(self.parameters)} Parameters{called_at()}"
            )
        found = [_tensor(g) for g in given]
        for g, p in zip(found, self.parameters, strict=True):
            if g.shape != p.shape:
                raise ShapeError(
                    f"{type(self).__name__}: the gradient of '{p.name}' has shape {g.shape}, the Parameter {p.shape}"
                    f"{called_at()}"
                )
        return found

    # ------------------------------------------------------------ learning rates

    @property
    def rates(self) -> float | list[float]:
        """The learning rate of the next step: one for all, or one for each Parameter if they differ."""
        return self._rates_at(int(self.global_step._value))

    def _rates_at(self, step: int) -> float | list[float]:
        if all(s is self.schedules[0] for s in self.schedules):
            return self.schedules[0](step)
        return [schedule(step) for schedule in self.schedules]

    def numbers_at(self, step: int) -> tuple[Any, ...]:
        """The learning rates of a step, and its decays if they change."""
        if not self._decays_change:
            return (self._rates_at(step),)
        return self._rates_at(step), [d(step) if callable(d) else d for d in self.decays]

    def get_lr(self) -> Any:
        """The learning rate of the next step as a Tensor; a tuple with one for each Parameter if groups have their own."""
        rates = self.rates
        return tuple(Tensor(r) for r in rates) if isinstance(rates, list) else Tensor(rates)

    def reduce_lr(self, factor: float, min_lr: float = 0.0) -> None:
        """Multiply all learning rates by a factor from now on, though none to below `min_lr`.

        >>> import adjoint as ad
        >>> optimiser = ad.optim.SGD([ad.Parameter(ad.Tensor([1.0]), name="w")], learning_rate=0.5)
        >>> optimiser.reduce_lr(0.5, min_lr=0.2)
        >>> optimiser.reduce_lr(0.5, min_lr=0.2)
        >>> print(optimiser.get_lr())
        0.2
        """
        if not 0 < factor < 1 or min_lr < 0:
            raise ArgumentError(
                f"{type(self).__name__}: a factor must lie between 0 and 1, and min_lr be >= 0, not {factor} and {min_lr}"
                f"{called_at()}"
            )
        lower = {schedule: partial(_reduced, schedule, factor, min_lr) for schedule in self.schedules}
        self.schedules = [lower[schedule] for schedule in self.schedules]

    # ------------------------------------------------------------ state

    def parameters_dict(self) -> dict[str, Parameter]:
        """The state by name, to be saved: the number of steps, and the slots of each Parameter."""
        return {p.name: p for p in (self.global_step, *(p for slot in self.slots.values() for p in slot))}

    def load_parameters(self, saved: Mapping[str, Any]) -> None:
        """Set the state to what `parameters_dict()` of such an optimiser gave.

        >>> import adjoint as ad
        >>> make = lambda: ad.optim.Momentum([ad.Parameter(ad.Tensor([1.0]), name="w")], 0.1, 0.9)
        >>> one, other = make(), make()
        >>> _ = one((ad.Tensor([2.0]),))
        >>> other.load_parameters(one.parameters_dict())
        >>> print(other.global_step, *other.slots["moments"])
        1 [2.]
        """
        mine = self.parameters_dict()
        if wrong := sorted(set(mine) ^ set(saved)):
            raise ArgumentError(
                f"{type(self).__name__}: these names are not in both the state and what was saved: {', '.join(wrong)}"
                f"{called_at()}"
            )
        for name, p in mine.items():
            p.set_data(saved[name])

    def inputs(self, overwriting: bool = False) -> tuple[State, list[Any], tuple[Any, ...]]:
        """The state and the parameters that the next step begins with, its learning rates, and its decays if they change.

        If it is to write over them, what others hold of them is copied first.
        """
        self._check_outside()
        value = owned if overwriting else plain
        self._follow()
        state: State = {slot: [value(p) for p in held] for slot, held in self.slots.items()}
        rates = self.numbers_at(int(self.global_step._value))
        return {"step": plain(self.global_step), **state}, [value(p) for p in self.parameters], rates

    def _follow(self) -> None:
        """Let the state be where the Parameters are, which may have been moved; the number of steps goes by the host."""
        step = self.global_step
        if is_device_array(step._value) and any(device_of(p) != device_of(step) for p in self.parameters):
            step._value = np.array(step._value)
        for held in self.slots.values():
            for slot, p in zip(held, self.parameters, strict=True):
                if device_of(p) != device_of(slot):
                    there = is_device_array(p._value)
                    slot._value = beside(slot._value, p._value) if there else np.array(slot._value)

    def store(self, params: Sequence[Any], state: State) -> None:
        """Set the Parameters and the state to what a step made of them."""
        _put(self.global_step, state["step"])
        for slot, held in self.slots.items():
            for p, x in zip(held, state[slot], strict=True):
                _put(p, x)
        for p, x in zip(self.parameters, params, strict=True):
            _put(p, x)

    def _check_outside(self) -> None:
        """Refuse a step inside a transform, which must not see Parameters change."""
        if context.bindings.get() is not None or context.open_tape.get() is not None:
            raise AdjointError(
                f"{type(self).__name__} cannot write to Parameters inside grad, vmap, jit or a GradientTape. Call it "
                f"outside, or compile the whole step with adjoint.optim.compiled_step{called_at()}"
            )

    def __repr__(self) -> str:
        return f"{type(self).__name__}({len(self.parameters)} parameters, step {int(self.global_step._value)})"


def _reduced(schedule: Schedule, factor: float, least: float, step: int) -> float:
    rate = schedule(step)
    return min(rate, max(factor * rate, least))


def _put(p: Parameter, value: Tensor) -> None:
    """Give a Parameter an array that nothing else holds, without the copy that `set_data` makes."""
    p._value = value._value if is_device_array(value._value) else np.asarray(value._value)


def _tensor(g: Any) -> Tensor:
    return plain(g) if isinstance(g, Parameter) else unfollowed(g) if isinstance(g, Tensor) else wrap(g)


def _find(grads: Mapping[Any, Any], p: Parameter) -> Any:
    if p.name in grads:
        return grads[p.name]
    if p in grads:
        return grads[p]
    raise ArgumentError(f"there is no gradient for Parameter '{p.name}'{called_at()}")


def at_least_zero(what: str, **values: float) -> None:
    """Refuse negative settings."""
    for name, value in values.items():
        if value < 0:
            raise ArgumentError(f"{what}: {name} must be >= 0, not {value}{called_at()}")

"""An optimiser as people handle it elsewhere: `optimiser.learning_rate = 0.5`, `zero_grad()`, `step()`, `state_dict()`, `param_groups`."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, MutableMapping
from functools import partial
from typing import Any

import numpy as np

from adjoint.core.errors import ArgumentError, ArgumentTypeError, called_at
from adjoint.core.keywords import understanding_class
from adjoint.core.parameter import Parameter
from adjoint.core.parameter_values import clear_grad, put_values, value_of
from adjoint.core.tensor import Tensor
from adjoint.optim.groups import LearningRate, Schedule, _of_table, schedule_of

WORDS = {"lr": "learning_rate", "nesterov": "use_nesterov", "amsgrad": "use_amsgrad", "epsilon": "eps"}
RATES = "learning_rates"


def _betas(options: dict[str, Any]) -> dict[str, Any]:
    """PyTorch's pair of betas as two arguments."""
    if "betas" not in options:
        return options
    if taken := {"beta1", "beta2"} & options.keys():
        raise ArgumentTypeError(f"betas= and {sorted(taken)[0]}= say the same; give one of them{called_at()}")
    pair = options["betas"]
    if not isinstance(pair, (tuple, list)) or len(pair) != 2:
        raise ArgumentTypeError(f"betas= is a pair of numbers, (beta1, beta2), not {pair!r:.60}{called_at()}")
    first, second = pair
    return {**{k: v for k, v in options.items() if k != "betas"}, "beta1": first, "beta2": second}


class OptimizerHabits:
    """What an Optimizer can do beside taking steps along gradients that it is given."""

    parameters: Any
    schedules: list[Schedule]
    slots: dict[str, Any]

    def __init_subclass__(cls, **options: Any) -> None:
        super().__init_subclass__(**options)
        if cls.__module__.startswith("adjoint.optim."):
            understanding_class(
                cls, WORDS, _betas, maximize="there is no maximize=: minimise the negative",
                foreach="there is no foreach=: the update of all Parameters is one compiled graph",
                fused="there is no fused=: the update of all Parameters is one compiled graph",
            )  # fmt: skip

    # ------------------------------------------------------------ learning rates

    @property
    def learning_rate(self) -> float | list[float]:
        """The learning rate of the next step: one for all, or a list with one for each Parameter if they differ.

        What is assigned holds from the next step on, for all Parameters, in dynamic and in compiled steps, and nothing is compiled
        anew: a number, a list with one for each step (counted from the optimiser's first), or a function of the step.

        >>> import adjoint as ad
        >>> w = ad.Parameter(ad.Tensor([1.0]), name="w")
        >>> optimiser = ad.optim.SGD([w], learning_rate=0.25)
        >>> optimiser.learning_rate = 0.5
        >>> _ = optimiser((ad.Tensor([1.0]),))
        >>> print(w, optimiser.learning_rate)
        [0.5] 0.5
        """
        return self.rates  # type: ignore[attr-defined,no-any-return]

    @learning_rate.setter
    def learning_rate(self, rate: LearningRate) -> None:
        self.schedules = [schedule_of(type(self).__name__, rate)] * len(self.schedules)

    @property
    def lr(self) -> float | list[float]:
        """The learning rate of the next step, as `learning_rate`."""
        return self.learning_rate

    @lr.setter
    def lr(self, rate: LearningRate) -> None:
        self.learning_rate = rate  # type: ignore[assignment]

    @property
    def param_groups(self) -> list[ParameterGroup]:
        """The Parameters in groups of one learning rate, as PyTorch shows them; `group["lr"] = 0.1` holds from the next step on.

        >>> import adjoint as ad
        >>> w = ad.Parameter(ad.Tensor([1.0]), name="w")
        >>> optimiser = ad.optim.SGD([w], lr=0.25)
        >>> for group in optimiser.param_groups:
        ...     group["lr"] *= 2
        >>> optimiser.learning_rate
        0.5
        """
        found: dict[int, list[int]] = {}
        for k, schedule in enumerate(self.schedules):
            found.setdefault(id(schedule), []).append(k)
        return [ParameterGroup(self, places) for places in found.values()]

    # ------------------------------------------------------------ gradients of backward()

    def zero_grad(self, set_to_none: bool = True) -> None:
        """Forget what `backward()` has accumulated in the Parameters.

        >>> import adjoint as ad
        >>> w = ad.Parameter(ad.Tensor([3.0]), name="w")
        >>> optimiser = ad.optim.SGD([w], lr=0.25)
        >>> for _ in range(2):
        ...     optimiser.zero_grad()
        ...     (w * w).sum().backward()
        ...     _ = optimiser.step()
        >>> print(w)
        [0.75]
        """
        for p in self.parameters:
            clear_grad(p, set_to_none)

    def step(self, grads: Any = None) -> bool:
        """Take one step along these gradients, or along those that `loss.backward()` has left in the Parameters.

        A Parameter with `requires_grad=False`, which has none, stays as it is.
        """
        if grads is not None:
            return self(grads)  # type: ignore[operator,no-any-return]
        missing = [p.name for p in self.parameters if p.grad is None and p.requires_grad]
        if missing:
            raise ArgumentError(
                f"{type(self).__name__}.step(): no gradient has reached {', '.join(missing[:8])}: call loss.backward() first, give the "
                f"gradients, or set requires_grad=False on what is not trained{called_at()}"
            )
        fixed = [k for k, p in enumerate(self.parameters) if p.grad is None]
        held = [(p, p._value.copy()) for k in fixed for p in self._all_of(k)]
        zeros = {k: np.zeros(self.parameters[k].shape, self.parameters[k].dtype) for k in fixed}
        done = self([zeros.get(k, p.grad) for k, p in enumerate(self.parameters)])  # type: ignore[operator]
        for p, value in held:
            p._value = value
        return bool(done)

    def _all_of(self, k: int) -> list[Parameter]:
        """A Parameter and what is remembered of it."""
        return [self.parameters[k], *(slot[k] for slot in self.slots.values())]

    # ------------------------------------------------------------ state

    def state_dict(self) -> dict[str, Any]:
        """The state by name as it is now: the number of steps, what is remembered of each Parameter, and learning rates that are numbers.

        >>> import adjoint as ad
        >>> make = lambda: ad.optim.Momentum([ad.Parameter(ad.Tensor([1.0]), name="w")], 0.1, 0.9)
        >>> one, other = make(), make()
        >>> one.learning_rate = 0.5
        >>> _ = one((ad.Tensor([2.0]),))
        >>> other.load_state_dict(one.state_dict())
        >>> print(other.global_step, *other.slots["moments"], other.learning_rate)
        1 [2.] 0.5
        """
        state: dict[str, Any] = {name: value_of(p) for name, p in self.parameters_dict().items()}  # type: ignore[attr-defined]
        rates = [constant_rate(s) for s in self.schedules]
        return state if None in rates else {**state, RATES: Tensor(np.array(rates, np.float64))}

    def load_state_dict(self, state_dict: Mapping[str, Any]) -> None:
        """Set the state to what `state_dict()` of such an optimiser gave; names that do not fit are refused. All or nothing."""
        given = dict(state_dict)
        rates = given.pop(RATES, None)
        values = None if rates is None else np.asarray(Tensor(rates).asnumpy(), np.float64).ravel()
        if values is not None and len(values) != len(self.schedules):
            raise ArgumentError(
                f"{type(self).__name__}: {len(values)} learning rates for {len(self.schedules)} Parameters{called_at()}"
            )
        put_values(type(self).__name__, self.parameters_dict(), given, True)  # type: ignore[attr-defined]
        if values is not None and None not in map(constant_rate, self.schedules):
            made = {rate: schedule_of(type(self).__name__, rate) for rate in values.tolist()}
            self.schedules = [made[rate] for rate in values.tolist()]


def constant_rate(schedule: Any) -> float | None:
    """The number that a schedule gives at every step; None if it may change."""
    if isinstance(schedule, partial) and schedule.func is _of_table and len(schedule.args[0]) == 1:
        return float(schedule.args[0][0])
    if isinstance(schedule, partial) and schedule.args and callable(schedule.args[0]):
        inner = constant_rate(schedule.args[0])
        return None if inner is None else float(schedule(0))
    return None


class ParameterGroup(MutableMapping[str, Any]):
    """Parameters of one learning rate: a view of their optimiser."""

    def __init__(self, optimiser: Any, places: list[int]) -> None:
        self._optimiser, self._places = optimiser, places

    def _values(self) -> dict[str, Any]:
        mine = self._optimiser
        step = int(mine.global_step._value)
        decays = [mine.decays[k] for k in self._places]
        decay = decays[0] if all(d is decays[0] or d == decays[0] for d in decays) else decays
        return {
            "params": [mine.parameters[k] for k in self._places],
            "lr": mine.schedules[self._places[0]](step),
            "weight_decay": decay,
        }

    def __getitem__(self, key: str) -> Any:
        return self._values()[key]

    def __setitem__(self, key: str, value: Any) -> None:
        if key != "lr":
            raise ArgumentError(
                f"param_groups: only 'lr' can be changed, not {key!r}: make another optimiser{called_at()}"
            )
        schedule = schedule_of(type(self._optimiser).__name__, value)
        for k in self._places:
            self._optimiser.schedules[k] = schedule

    def __delitem__(self, key: str) -> None:
        raise ArgumentError(f"param_groups: {key!r} cannot be taken away{called_at()}")

    def __iter__(self) -> Iterator[str]:
        return iter(self._values())

    def __len__(self) -> int:
        return len(self._values())

    def __repr__(self) -> str:
        values = self._values()
        return f"{{'params': {len(values['params'])} Parameters, 'lr': {values['lr']}, 'weight_decay': {values['weight_decay']}}}"

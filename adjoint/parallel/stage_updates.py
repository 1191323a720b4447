"""An optimiser's step where the weights are: those of each stage are changed on its device, and stay there."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Any

from adjoint.api.jit import jit
from adjoint.core import context
from adjoint.core.parameter import Parameter
from adjoint.optim.optimizer import Optimizer
from adjoint.optim.rule import Rule


class StageUpdates:
    """Takes the steps of an optimiser whose Parameters are on several devices."""

    def __init__(self, optimiser: Optimizer) -> None:
        self.optimiser = optimiser
        self._compiled: dict[tuple[str, tuple[int, ...]], Any] = {}

    @staticmethod
    def can_take(optimiser: Optimizer) -> bool:
        """Whether each Parameter is changed by its own gradient alone, so that they may be apart."""
        return type(optimiser).__call__ is Optimizer.__call__ and type(optimiser.rule).update is Rule.update

    def __call__(self, grads: Sequence[Any], homes: Mapping[Parameter, str]) -> None:
        """Take a step along these gradients, each Parameter on the device that is its home."""
        optimiser = self.optimiser
        along = optimiser.gradients(grads)
        state, params, rates = optimiser.inputs()
        groups: dict[str, list[int]] = {}
        for i, p in enumerate(optimiser.parameters):
            groups.setdefault(homes[p], []).append(i)
        with context.no_grad():
            fresh = {"step": state["step"] + 1, **{slot: [*state[slot]] for slot in optimiser.slots}}
            for home, places in groups.items():
                mine = {slot: [state[slot][i].to(home) for i in places] for slot in optimiser.slots}
                chosen = [[values[i] if isinstance(values, list) else values for i in places] for values in rates]
                given = [[xs[i].to(home) for i in places] for xs in (along, params)]
                update = self._update(home, tuple(places))
                changed, slots = update(given[0], {"step": state["step"], **mine}, given[1], *chosen)
                for k, i in enumerate(places):
                    params[i] = changed[k]
                    for slot in optimiser.slots:
                        fresh[slot][i] = slots[slot][k]
            optimiser.store(params, fresh)

    def _update(self, home: str, places: tuple[int, ...]) -> Any:
        """The rule for some of the Parameters, compiled once."""
        known = self._compiled.get((home, places))
        if known is None:
            rule = self.optimiser.rule
            decay, centred = rule.weight_decay, rule.centralised
            some = replace(
                rule,
                weight_decay=tuple(decay[i] for i in places) if isinstance(decay, tuple) else decay,
                centralised=tuple(centred[i] for i in places) if isinstance(centred, tuple) else centred,
            )
            known = self._compiled[home, places] = jit(some.update)
        return known

"""mindspore.experimental.optim.Optimizer: optimizers whose groups of Parameters are dicts that may change between steps."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable
from typing import Any

import numpy as np

from adjoint import ops
from adjoint.core import context
from adjoint.core.tensor import Tensor
from adjoint.mindspore.checks import at_least_zero
from adjoint.mindspore.common.parameter import Parameter, ParameterTuple
from adjoint.mindspore.nn.cell import Cell


class Optimizer(Cell):
    """Base: `param_groups` holds the Parameters, their learning rates (Parameters too) and other settings.

    >>> from adjoint.mindspore import Parameter, Tensor
    >>> from adjoint.mindspore.experimental import optim
    >>> w = Parameter(Tensor([1.0]), name="w")
    >>> optimizer = optim.SGD([w], lr=0.5)
    >>> optimizer((Tensor([1.0]),))
    True
    >>> print(w.asnumpy(), optimizer.param_groups[0]["lr"].asnumpy())
    [0.5] 0.5
    """

    slots: dict[str, Any] = {}  # what is remembered of each Parameter, and what it begins with
    counter = "step_t"

    def __init__(self, params: Any, defaults: dict[str, Any]) -> None:
        super().__init__(auto_prefix=False)
        if params is None:
            raise ValueError("For 'Optimizer', the argument params can not be None.")
        if not isinstance(params, Iterable):
            raise TypeError(f"For 'Optimizer', the argument params must be Iterable type, but got {type(params)}.")
        given = list(params)
        if not given:
            raise ValueError("For 'Optimizer', the argument params must not be empty.")
        self.defaults = defaults
        self.state: Any = defaultdict(dict)
        self.__dict__.update(param_groups=[], lrs=[], group_start_id=[0])
        found: list[Any] = []
        for group in given if isinstance(given[0], dict) else [{"params": given}]:
            found += self._added(group)
        self.parameters = ParameterTuple(found)
        for slot, init in self.slots.items():
            setattr(self, slot, self._clones(slot, defaults.get(init, init) if isinstance(init, str) else init))
        setattr(self, self.counter, Parameter(Tensor(0, np.int32), name=self.counter))

    def add_param_group(self, param_group: dict[str, Any]) -> None:
        """Take in another group of Parameters."""
        before = {slot: tuple(getattr(self, slot)) for slot in self.slots}
        trained = tuple(self.parameters)
        members = self._added(param_group)
        self.parameters = ParameterTuple(members)
        for slot, init in self.slots.items():
            start = self.defaults.get(init, init) if isinstance(init, str) else init
            setattr(self, slot, ParameterTuple([*before[slot], *self._clones(slot, start)]))
        self.parameters = ParameterTuple([*trained, *members])

    def _added(self, group: Any) -> list[Any]:
        if not isinstance(group, dict):
            raise TypeError("Param group must be a dict.")
        params = group["params"]
        if isinstance(params, set):
            raise TypeError("Optimizer parameters need to be organized in ordered collections, not in sets.")
        members = [params] if isinstance(params, Parameter) else list(params)
        for p in members:
            if not isinstance(p, Parameter):
                raise TypeError(f"Optimizer can only optimize Parameters, but one of the params is {type(p)}")
            if any(p is q for other in self.param_groups for q in other["params"]):
                raise ValueError("some parameters appear in more than one parameter group.")
        settings = {**self.defaults, **group, "params": members}
        name = f"learning_rate_group_{len(self.param_groups)}"
        settings["lr"] = rate = self._rate(settings["lr"], name)
        decay = settings.get("weight_decay", 0.0)
        if isinstance(decay, bool) or not isinstance(decay, (int, float)):
            raise TypeError(f"For 'Optimizer', the argument 'Weight_decay' must be int or float, but got {type(decay)}")
        at_least_zero(self.cls_name, weight_decay=float(decay))
        settings["weight_decay"] = float(decay)
        self.lrs.append(rate)
        self.param_groups.append(settings)
        self.group_start_id.append(self.group_start_id[-1] + len(members))
        return members

    def _rate(self, rate: Any, name: str) -> Parameter:
        if isinstance(rate, Tensor):
            if rate.ndim:
                raise ValueError("For 'Optimizer', if 'learning_rate' is a Tensor, then it should be scalar Tensor")
            return Parameter(ops.cast(rate, np.float32), name=name)
        if not isinstance(rate, (int, float)):
            raise TypeError(
                f"For 'Optimizer', the argument 'learning_rate' must be int, float or Tensor, but got {type(rate)}."
            )
        at_least_zero(self.cls_name, **{"learning rate": float(rate)})
        return Parameter(Tensor(float(rate), np.float32), name=name)

    def _clones(self, prefix: str, init: float) -> ParameterTuple:
        if prefix in ("mu", "eta", "mu_product"):
            return ParameterTuple(
                Parameter(Tensor(init, np.float32), name=f"{prefix}_{p.name}") for p in self.parameters
            )
        return ParameterTuple(
            Parameter(Tensor(np.full(p.shape, init, p.dtype)), name=f"{prefix}.{p.name}") for p in self.parameters
        )

    def __repr__(self) -> str:
        lines = [f"{type(self).__name__} ("]
        for i, group in enumerate(self.param_groups):
            lines.append(f"Parameter Group {i}")
            for key in sorted(set(group) - {"params"}):
                value = group[key].value() if isinstance(group[key], Parameter) else group[key]
                lines.append(f"    {key}: {value}")
        return "\n".join(lines) + "\n)"

    def __call__(self, *inputs: Any, **kwargs: Any) -> Any:
        if context.reader.get() is not None:
            return super().__call__(*inputs, **kwargs)
        with context.no_grad():
            return self.construct(*inputs, **kwargs)

    def one(self, group: dict[str, Any], w: Any, g: Any, old: dict[str, Any], lr: Any, t: Any) -> Any:
        """A Parameter and its slots after a step."""
        raise NotImplementedError

    def construct(self, gradients: Any) -> Any:
        if not self.slots and type(self).one is Optimizer.one:
            raise NotImplementedError
        count: Any = getattr(self, self.counter)
        count.set_data(count + 1)
        t = ops.cast(count, np.float32)
        for number, group in enumerate(self.param_groups):
            lr = group["lr"] if isinstance(group["lr"], Tensor) else Tensor(group["lr"], np.float32)
            for i in range(self.group_start_id[number], self.group_start_id[number + 1]):
                self._update(group, i, gradients[i], lr, t)
        return True

    def _update(self, group: dict[str, Any], i: int, g: Any, lr: Any, t: Any) -> None:
        p = self.parameters[i]
        g = -g if group.get("maximize") else g
        if group["weight_decay"] and not getattr(self, "decoupled", False):
            g = g + p * group["weight_decay"]
        old = {name: getattr(self, name)[i] for name in self.slots}
        w, new = self.one(group, p, g, {name: x + 0 for name, x in old.items()}, lr, t)
        p.set_data(ops.cast(w, p.dtype))
        for name, value in new.items():
            old[name].set_data(ops.cast(value, old[name].dtype))


def check(what: str, above: dict[str, Any] | None = None, **least: Any) -> None:
    """Refuse settings that must be above zero, or not below it."""
    for name, value in (above or {}).items():
        if value <= 0:
            raise ValueError(f"For {what}, the {name} must be greater than 0.0, but got {value}.")
    for name, value in least.items():
        if value < 0:
            raise ValueError(f"For {what}, the {name} must be greater than or equal to 0.0, but got {value}.")


def check_betas(betas: Any) -> None:
    """Refuse betas outside of [0, 1)."""
    for i, beta in enumerate(betas):
        if not 0.0 <= beta < 1.0:
            raise ValueError(f"Invalid beta parameter at index {i}: {beta}")

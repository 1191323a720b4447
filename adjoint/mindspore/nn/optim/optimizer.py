"""mindspore.nn.Optimizer: a Cell that holds Parameters, learning rates and the state of an update rule."""

from __future__ import annotations

import inspect
from collections.abc import Callable, Iterable, Sequence
from functools import wraps
from typing import Any

import numpy as np

from adjoint import ops
from adjoint.core import context
from adjoint.core.tensor import Tensor
from adjoint.mindspore.checks import float_above, type_error
from adjoint.mindspore.common.parameter import Parameter, ParameterTuple
from adjoint.mindspore.nn.cell import Cell
from adjoint.mindspore.nn.learning_rate_schedule import LearningRateSchedule
from adjoint.mindspore.nn.optim.groups import LearningRates
from adjoint.optim.rule import Rule, as_dtype, working_dtype


def opt_init_args_register(fn: Callable[..., None]) -> Callable[..., None]:
    """Decorates the `__init__` of an optimizer: keeps its arguments in `init_params`, `init_learning_rate` and `init_args`."""
    signature = inspect.signature(fn)

    @wraps(fn)
    def init(self: Any, *args: Any, **kwargs: Any) -> None:
        bound = signature.bind(self, *args, **kwargs)
        bound.apply_defaults()
        given = dict(list(bound.arguments.items())[1:])
        kept: dict[str, Any] = {"init_params": {"params": given.pop("params", None)}}
        rate = given.pop("learning_rate", None)
        rate = rate.asnumpy().tolist() if isinstance(rate, Tensor) else rate
        kept["init_learning_rate"] = None if isinstance(rate, Cell) else rate
        kept["init_args"] = given
        fn(self, *args, **kwargs)
        self.__dict__.update(kept)

    return init


class Optimizer(Cell):
    """Base of the optimizers: `optimizer(gradients)` changes the Parameters by one step.

    A subclass writes `construct(gradients)` with `decay_weight`, `gradients_centralization`, `scale_grad` and `get_lr`.

    >>> import adjoint.mindspore as mindspore
    >>> from adjoint.mindspore import Parameter, Tensor, nn
    >>> w = Parameter(Tensor([1.0, 2.0]), name="w")
    >>> optimizer = nn.Momentum([w], learning_rate=0.5, momentum=0.5)
    >>> optimizer((Tensor([1.0, 1.0]),))
    (True,)
    >>> print(w.asnumpy(), optimizer.moments[0].name, optimizer.get_lr().asnumpy())
    [0.5 1.5] moments.w 0.5
    """

    def __init__(self, learning_rate: Any, parameters: Any, weight_decay: Any = 0.0, loss_scale: float = 1.0) -> None:
        super().__init__(auto_prefix=False)
        given = _listed(parameters)
        if isinstance(loss_scale, int):
            loss_scale = float(loss_scale)
        if not isinstance(loss_scale, float):
            raise type_error(self.cls_name, "loss_scale", "float", loss_scale)
        float_above(self.cls_name, loss_scale=loss_scale)
        self.loss_scale = loss_scale
        self.global_step = Parameter(Tensor(np.zeros(1, np.int32)), name="global_step")
        rates = LearningRates(self.cls_name, given, learning_rate, weight_decay, loss_scale)
        self.is_group, self.is_group_lr, self.dynamic_lr = rates.is_group, rates.is_group_lr, rates.dynamic_lr
        self.is_group_params_ordered = rates.is_ordered
        if rates.is_group:
            self.group_params, self.group_lr = rates.group_params, rates.group_lr
            self.group_weight_decay = rates.group_weight_decay
            self.group_grad_centralization = rates.group_grad_centralization
        self.learning_rate = rates.learning_rate
        self.parameters = self._parameters = ParameterTuple(rates.parameters)
        self.weight_decay, self.decay_flags = rates.weight_decay, rates.decay_flags
        self.dynamic_weight_decay = rates.dynamic_weight_decay
        self.dynamic_decay_flags = rates.dynamic_decay_flags
        self.exec_weight_decay = rates.exec_weight_decay
        self.grad_centralization_flags = rates.grad_centralization_flags
        self.grad_centralization = any(rates.grad_centralization_flags)
        self.reciprocal_scale = Tensor(1.0 / loss_scale, np.float32)
        self.need_scale = loss_scale != 1.0
        self.param_length = len(self.parameters)
        self._unique, self._target = True, "CPU"

    @property
    def unique(self) -> bool:
        """Whether sparse gradients are made unique."""
        return self._unique

    @unique.setter
    def unique(self, value: bool) -> None:
        if not isinstance(value, bool):
            raise TypeError(f"For 'Optimizer', the property 'unique' must be bool, but got {type(value)}")
        self._unique = value

    @property
    def target(self) -> str:
        """Where the Parameters are updated: the CPU."""
        return self._target

    @target.setter
    def target(self, value: str) -> None:
        if not isinstance(value, str):
            raise TypeError(f"For 'Optimizer', the property 'target' must be string, but got {type(value)}")
        if value != "CPU":
            raise ValueError(f"For 'Optimizer', the property 'target' must be 'CPU' here, but got {value}")

    def __call__(self, *inputs: Any, **kwargs: Any) -> Any:
        if context.reader.get() is not None:
            return super().__call__(*inputs, **kwargs)
        with context.no_grad():  # a step writes; outside of a graph it takes place at once, in both modes
            return self.construct(*inputs, **kwargs)

    # ------------------------------------------------------------ gradients

    def flatten_gradients(self, gradients: Any) -> Any:
        """The gradients as they are: Parameters have no common memory here."""
        return gradients

    def decay_weight(self, gradients: Any) -> Any:
        """The gradients with the weight decay's part."""
        if not self.exec_weight_decay:
            return gradients
        decays = self.get_weight_decay()
        each = decays if self.is_group else (decays,) * len(self.parameters)
        return tuple(
            g + p * ops.cast(d, p.dtype) if flag else g
            for g, p, d, flag in zip(gradients, self.parameters, each, self.decay_flags, strict=True)
        )

    def gradients_centralization(self, gradients: Any) -> Any:
        """The gradients less their mean, in groups that ask for it, where the second axis is a multiple of 16."""
        if not self.is_group:
            return gradients
        return tuple(
            _centred(g) if flag else g for g, flag in zip(gradients, self.grad_centralization_flags, strict=True)
        )

    def scale_grad(self, gradients: Any) -> Any:
        """The gradients of the loss itself, not of the scaled one."""
        if not self.need_scale:
            return gradients
        return tuple(g * ops.cast(self.reciprocal_scale, g.dtype) for g in gradients)

    def broadcast_params(self, optim_result: Any) -> Any:
        """Nothing to do in one process."""
        return optim_result

    # ------------------------------------------------------------ rates

    def get_weight_decay(self) -> Any:
        """The weight decay of this step."""
        if not self.dynamic_weight_decay:
            return self.weight_decay
        if self.is_group:
            pairs = zip(self.weight_decay, self.dynamic_decay_flags, strict=True)
            return tuple(d(self.global_step) if changes else d for d, changes in pairs)
        return self.weight_decay(self.global_step)

    def get_lr(self) -> Any:
        """The learning rate of this step; a tuple if groups have their own."""
        if not self.dynamic_lr:
            return self.learning_rate
        if self.is_group_lr:
            return tuple(ops.reshape(rate(self.global_step), ()) for rate in self.learning_rate)
        return ops.reshape(self.learning_rate(self.global_step), ())

    def get_lr_parameter(self, param: Any) -> Any:
        """The Parameter that holds the learning rate of a Parameter, or the schedule; a list for a list."""
        if not isinstance(param, (Parameter, list)):
            raise TypeError(
                f"For 'get_lr_parameter', the 'param' must be 'Parameter' or 'list' type, but got {type(param)}."
            )
        found = [self._rate_of(p) for p in (param if isinstance(param, list) else [param])]
        return found if isinstance(param, list) else found[0]

    def _rate_of(self, p: Any) -> Any:
        if not isinstance(p, Parameter):
            raise TypeError(f"For 'get_lr_parameter', the type of 'parameter' must be Parameter, but got {type(p)}.")
        places = [i for i, q in enumerate(self.parameters) if q is p]
        if not places:
            raise ValueError(f"For 'get_lr_parameter', the parameter {p.name} is not in optimizer.")
        rate = self.learning_rate[places[0]] if self.is_group_lr else self.learning_rate
        return getattr(rate, "table", rate)

    # ------------------------------------------------------------ the step

    def construct(self, *hyper_params: Any) -> Any:
        """The update: to be written by each class."""
        raise NotImplementedError

    def clones(self, prefix: str, init: str | float) -> ParameterTuple:
        """A Parameter like each of those that are trained, for the state: `prefix.name`."""
        value = {"zeros": 0.0, "ones": 1.0}.get(init, init) if isinstance(init, str) else init
        return ParameterTuple(
            Parameter(
                Tensor(np.full(p.shape, value, p.dtype)), name=f"{prefix}.{p.name}", requires_grad=p.requires_grad
            )
            for p in self.parameters
        )

    def prepared(self, gradients: Any) -> tuple[Any, list[Any]]:
        """The gradients as rules want them and the learning rate of each; the step is counted."""
        gradients = _checked(self.cls_name, gradients, self.parameters)
        gradients = self.scale_grad(self.gradients_centralization(self.decay_weight(gradients)))
        return gradients, self.counted_rates()

    def counted_rates(self) -> list[Any]:
        """The learning rate of each Parameter; the step is counted."""
        lr = self.get_lr()
        self.global_step.set_data(self.global_step + 1)
        return list(lr) if self.is_group_lr else [lr] * len(self.parameters)

    def apply_rule(
        self, rule: Rule, gradients: Any, rates: Sequence[Any], slots: dict[str, Any], shared: Any, decays: Any = None
    ) -> tuple[bool, ...]:
        """Change each Parameter and its slots by a rule."""
        for i, (p, g, rate) in enumerate(zip(self.parameters, gradients, rates, strict=True)):
            dtype = working_dtype(p.dtype)
            old = {name: as_dtype(held[i], dtype) for name, held in slots.items()}
            decay = 0.0 if decays is None else decays[i]
            w, new = rule.one(as_dtype(p, dtype), as_dtype(g, dtype), old, ops.cast(rate, dtype), shared, decay)
            p.set_data(as_dtype(w, p.dtype))
            for name, held in slots.items():
                held[i].set_data(as_dtype(new[name], held[i].dtype))
        return (True,) * len(self.parameters)


def _listed(parameters: Any) -> list[Any]:
    if parameters is None:
        raise ValueError("For 'Optimizer', the argument parameters can not be None.")
    if not isinstance(parameters, Iterable):
        raise TypeError(f"For 'Optimizer', the argument parameters must be Iterable type, but got {type(parameters)}.")
    found = list(parameters)
    if not found:
        raise ValueError("For 'Optimizer', the argument parameters must not be empty.")
    if not all(isinstance(x, Parameter) for x in found) and not all(isinstance(x, dict) for x in found):
        raise TypeError("For 'Optimizer', all elements of the argument 'parameters' must be 'Parameter' or 'dict'.")
    return found


def _checked(name: str, gradients: Any, parameters: Sequence[Any]) -> Any:
    if not isinstance(gradients, (tuple, list)):
        raise TypeError(f"For '{name}', the gradients must be a tuple of Tensors, but got {type(gradients).__name__}.")
    if len(gradients) != len(parameters):
        raise ValueError(f"For '{name}', there are {len(gradients)} gradients for {len(parameters)} Parameters.")
    return gradients


def _centred(g: Any) -> Any:
    if g.ndim < 2 or g.shape[1] % 16:
        return g
    return g - ops.mean(g, tuple(range(1, g.ndim)), True)


__all__ = ["LearningRateSchedule", "Optimizer", "opt_init_args_register"]

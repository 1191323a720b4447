"""mindspore.Parameter and ParameterTuple."""

from __future__ import annotations

from itertools import count
from typing import Any

import numpy as np

from adjoint.core.parameter import Parameter as _Parameter
from adjoint.core.parameter import ParameterTuple as ParameterTuple
from adjoint.core.tensor import Tensor as _Tensor
from adjoint.mindspore.common.tensor import Tensor

PARAMETER_NAME_DEFAULT = "Parameter"
PARAMETER_NAME_PREFIX_MAX_LEN = 1024

_unnamed = count().__next__

#: What every Parameter has beside its value; settings of parallel training have no effect here.
SETTINGS: dict[str, Any] = {
    "layerwise_parallel": False, "parallel_optimizer": True, "is_init": False, "comm_fusion": 1,
    "parallel_optimizer_comm_recompute": False, "sliced": False, "inited_param": None, "cache_enable": False,
    "unique": False, "key": -1, "storage_format": "", "is_param_ps": False, "push_weight_to_server": False,
    "pull_weight_from_server": False, "param_info": None, "requires_aggr": True, "cache_shape": [], "is_in_parallel": False,
    "has_init": False, "init_finished": True,
}  # fmt: skip


def _always(value: Any) -> Any:
    return lambda p: value


_Parameter.own_extensions.update({name: _always(value) for name, value in SETTINGS.items()})


class _Kind(type):
    """Every Parameter of the engine is an instance of `mindspore.Parameter`."""

    def __instancecheck__(cls, instance: Any) -> bool:
        return isinstance(instance, _Parameter)

    def __subclasscheck__(cls, subclass: Any) -> bool:
        return issubclass(subclass, _Parameter)

    def __getattr__(cls, name: str) -> Any:
        """`Parameter.name(p, ...)` for a method that the face has added."""
        if name not in _Parameter.own_extensions and name not in _Tensor.extensions:
            raise AttributeError(f"type object 'Parameter' has no attribute {name!r}")
        return lambda p, *args, **kwargs: getattr(p, name)(*args, **kwargs)


class Parameter(_Parameter, metaclass=_Kind):
    """A named Tensor that belongs to a network.

    >>> import adjoint.mindspore as mindspore
    >>> mindspore.Parameter(mindspore.Tensor([1.0, 2.0]), name="w", requires_grad=False).requires_grad
    False
    """

    def __new__(
        cls,
        default_input: Any,
        name: str | None = None,
        requires_grad: bool = True,
        layerwise_parallel: bool = False,
        parallel_optimizer: bool = True,
        storage_format: str = "",
        device: Any = None,
    ) -> Any:
        _check_name(name)
        if not isinstance(requires_grad, bool):
            raise TypeError("The argument `requires_grad` must be bool type")
        p = _Parameter(_data(default_input), name or None, requires_grad)
        if p.is_unnamed:
            p._name = f"{PARAMETER_NAME_DEFAULT}#{_unnamed()}"
        p.__dict__.update(
            layerwise_parallel=layerwise_parallel,
            parallel_optimizer=parallel_optimizer,
            storage_format=storage_format,
            unique=False,
        )
        return p


def _check_name(name: Any) -> None:
    if name is not None and not isinstance(name, str):
        raise ValueError(f"The type of the Parameter's name should be 'string' or 'None', but got {type(name)}.")
    if isinstance(name, str) and len(name) > PARAMETER_NAME_PREFIX_MAX_LEN:
        raise ValueError(f"The length of the '{name}' name should be less than {PARAMETER_NAME_PREFIX_MAX_LEN}.")


def _data(default_input: Any) -> Any:
    """The value that a Parameter begins with."""
    if isinstance(default_input, bool):
        raise ValueError("Parameter data can not be `bool`")
    if type(default_input) is int:
        return np.asarray(default_input, np.int32)
    return default_input if isinstance(default_input, _Tensor) else Tensor(default_input)


def _init_data(p: _Parameter, layout: Any = None, set_sliced: bool = False) -> _Parameter:
    """The Parameter itself: it has its values from the beginning."""
    return p


def _set_dtype(p: _Parameter, data_type: Any) -> _Parameter:
    """Change the dtype."""
    p._value = np.asarray(p._value, np.dtype(data_type))
    return p


def _copied(p: _Parameter) -> Any:
    return p.clone()


def _method(function: Any) -> Any:
    return lambda p: function.__get__(p)


_Parameter.own_extensions.update(init_data=_method(_init_data), set_dtype=_method(_set_dtype))


def _set_param_ps(p: _Parameter, init_in_server: bool = False) -> None:
    """Note that a server holds the Parameter; here there is none."""


def _add_pipeline_stage(p: _Parameter, stage: int) -> None:
    """Note the stage of a pipeline; here there is one."""
    if not isinstance(stage, int) or stage < 0:
        raise TypeError("`stage` must be a positive number of int type")
    p.__dict__.setdefault("_pipeline_stages", []).append(stage)


_Parameter.own_extensions.update(set_param_ps=_method(_set_param_ps), add_pipeline_stage=_method(_add_pipeline_stage))

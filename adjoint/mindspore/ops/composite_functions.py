"""MindSpore's other names for operators on Tensors, and what its compiler composes programs of."""

from __future__ import annotations

import operator
from collections.abc import Callable
from typing import Any

from adjoint import ops as _ops
from adjoint.core.tensor import Tensor
from adjoint.mindspore.ops import functions as _functions
from adjoint.mindspore.ops.multitype import HyperMap
from adjoint.mindspore.ops.operations.control_ops import GeSwitch, Merge


def _named(name: str) -> Callable[..., Any]:
    """A function of the face, or of the engine where the face has none of its own."""
    return getattr(_functions, name, None) or getattr(_ops, name)


tensor_add, tensor_sub, tensor_mul, tensor_div = (_named(n) for n in ("add", "sub", "mul", "div"))
tensor_pow, tensor_exp, tensor_expm1 = (_named(n) for n in ("pow", "exp", "expm1"))
tensor_floordiv, tensor_mod = operator.floordiv, operator.mod
tensor_ge, tensor_gt, tensor_le, tensor_lt = operator.ge, operator.gt, operator.le, operator.lt
augassign_add, augassign_sub, augassign_mul = operator.add, operator.sub, operator.mul
augassign_div, augassign_floordiv, augassign_mod = operator.truediv, operator.floordiv, operator.mod
merge, geswitch = Merge(), GeSwitch()
_each = HyperMap(operator.add)


def hyper_add(x: Any, y: Any) -> Any:
    """Sums of what stands at the same place in two containers.

    >>> hyper_add((1, (2, 3)), (10, (20, 30)))
    (11, (22, 33))
    """
    return _each(x, y)


def iter_converter(x: Any) -> Any:
    """What a loop goes through."""
    return x


def ms_hasnext(x: Any) -> bool:
    """Whether there is a first item."""
    return len(x) > 0


def ms_next(x: Any) -> tuple[Any, Any]:
    """The first item and the rest."""
    return x[0], x[1:]


def is_sequence_value_unknown(x: Any) -> bool:
    """Whether the items of a sequence are known only when a graph runs: here they never are."""
    return False


is_sequence_shape_unknown = is_dynamic_sequence_element_unknown = is_sequence_value_unknown


def is_tensor_bool_cond(x: Any) -> bool:
    """Whether a condition is a Tensor."""
    return isinstance(x, Tensor)


def environ_create() -> dict[int, Any]:
    """An empty environment: gradients by Parameter."""
    return {}


def environ_set(env: dict[int, Any], key: Any, value: Any) -> dict[int, Any]:
    """An environment with one more value."""
    return {**env, id(key): value}


def environ_get(env: dict[int, Any], key: Any, default: Any) -> Any:
    """What an environment holds for a key."""
    return env.get(id(key), default)


def environ_add(x: dict[int, Any], y: dict[int, Any]) -> dict[int, Any]:
    """Two environments, with sums where both hold something."""
    return {k: x[k] + y[k] if k in x and k in y else x.get(k, y.get(k)) for k in {**x, **y}}


def env_get(env: dict[int, Any], parameter: Any) -> Any:
    """What an environment holds for a Parameter; zeros if nothing."""
    found = env.get(id(parameter))
    return _ops.zeros_like(parameter) if found is None else found


def ref_to_embed(parameter: Any) -> Any:
    """The key of a Parameter in an environment."""
    return parameter


embed = ref_to_embed


class _Registry:
    """Functions by the names of Tensor's methods."""

    def register(self, name: str, function: Any) -> Any:
        """Add a function under a name."""
        setattr(self, name, function)
        return function

    def get(self, name: str) -> Any:
        """The function of a name."""
        own = self.__dict__.get(name)
        return own if own is not None else _named(name)


tensor_operator_registry = _Registry()

__all__ = [
    "augassign_add", "augassign_div", "augassign_floordiv", "augassign_mod", "augassign_mul", "augassign_sub", "embed",
    "env_get", "environ_add", "environ_create", "environ_get", "environ_set", "geswitch", "hyper_add",
    "is_dynamic_sequence_element_unknown", "is_sequence_shape_unknown", "is_sequence_value_unknown", "is_tensor_bool_cond",
    "iter_converter", "merge", "ms_hasnext", "ms_next", "ref_to_embed", "tensor_add", "tensor_div", "tensor_exp",
    "tensor_expm1", "tensor_floordiv", "tensor_ge", "tensor_gt", "tensor_le", "tensor_lt", "tensor_mod", "tensor_mul",
    "tensor_operator_registry", "tensor_pow", "tensor_sub",
]  # fmt: skip

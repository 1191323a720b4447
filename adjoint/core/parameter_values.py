"""Values of Parameters by name: taken, put back, and gradients forgotten. What networks and optimisers share."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from adjoint.core import context
from adjoint.core.errors import AdjointError, ArgumentError, called_at
from adjoint.core.parameter import Parameter, plain
from adjoint.core.placement import on_host
from adjoint.core.tensor import Tensor


def clear_grad(p: Parameter, set_to_none: bool) -> None:
    """Forget the accumulated gradient of a Parameter, or let it be zero."""
    if set_to_none or p.grad is None:
        p.grad = None
    else:
        p.grad = p.grad * 0


def value_of(p: Parameter) -> Tensor:
    """The value of a Parameter, as it is now."""
    return Tensor(plain(p))


def put_values(
    what: str, mine: Mapping[str, Parameter], given: Mapping[str, Any], strict: bool
) -> tuple[list[str], list[str]]:
    """Set Parameters to the values of their names: all or none. What was missing and what was too much."""
    if context.bindings.get() is not None or context.open_tape.get() is not None:
        raise AdjointError(f"{what}: load_state_dict inside grad, vmap, jit or a GradientTape{called_at()}")
    if not isinstance(given, Mapping):
        raise ArgumentError(
            f"{what}: load_state_dict takes values by name, as state_dict() gives them, not {type(given).__name__}{called_at()}"
        )
    missing, unexpected = [n for n in mine if n not in given], [n for n in given if n not in mine]
    values = {n: Tensor(given[n]) for n in mine if n in given}
    problems = [
        f"'{n}' has shape {mine[n].shape}, the value {v.shape}" for n, v in values.items() if v.shape != mine[n].shape
    ]
    if strict:
        problems += [f"'{n}' is missing" for n in missing] + [f"'{n}' is not one of its names" for n in unexpected]
    if problems:
        shown = "\n  ".join(problems)
        raise ArgumentError(f"{what}: load_state_dict has loaded nothing, since\n  {shown}{called_at()}")
    for name, value in values.items():
        mine[name].set_data(on_host(value._plain()))
    return missing, unexpected

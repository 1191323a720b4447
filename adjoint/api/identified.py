"""Gradients that are paired with what they are by: `return_ids=True`, and `get_grad`."""

from __future__ import annotations

from typing import Any

from adjoint.core.errors import ArgumentError, ArgumentTypeError, called_at
from adjoint.core.parameter import Parameter


def get_grad(gradients: Any, identifier: int | Parameter) -> Any:
    """Pick one gradient out of a result made with `return_ids=True`, by position or Parameter.

    >>> import adjoint as ad
    >>> gradients = ad.grad(lambda x, y: x * y, (0, 1), return_ids=True)(2.0, 3.0)
    >>> print(ad.get_grad(gradients, 1))
    2.0
    """
    key = identifier.name if isinstance(identifier, Parameter) else identifier
    if isinstance(key, bool) or not isinstance(key, (int, str)):
        raise ArgumentTypeError(
            f"get_grad: the identifier must be a position or a Parameter, not {identifier!r}{called_at()}"
        )
    found = _find_pair(gradients, key)
    if found is None:
        raise ArgumentError(
            f"get_grad: no gradient for {key!r} here; was it asked for, with return_ids=True?{called_at()}"
        )
    return found[0]


def _find_pair(gradients: Any, key: int | str) -> tuple[Any] | None:
    if not isinstance(gradients, (tuple, list)):
        return None
    if len(gradients) == 2 and isinstance(gradients[0], (int, str)):
        return (gradients[1],) if gradients[0] == key and type(gradients[0]) is type(key) else None
    for part in gradients:
        if (found := _find_pair(part, key)) is not None:
            return found
    return None

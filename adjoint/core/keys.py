"""Tensors as keys of dicts and elements of sets: by identity, so that inside a transform a number is refused."""

from __future__ import annotations

from typing import Any

from adjoint.core.autograd import autograd
from adjoint.core.dispatch import has_ended
from adjoint.core.errors import CutGradientError, called_at, refused


def check_key(x: Any) -> None:
    """Refuse a Tensor inside a transform that may be what a program of NumPy's has a number for: Python would look for its value."""
    own = x._trace.shapeless or x._trace.closed or has_ended(x) or autograd.is_leaf(x)
    if not own and x.shape == ():
        raise refused(
            CutGradientError(
                "a number inside a transform cannot be a key of a dict or an element of a set: this Tensor would be looked for, and "
                f"not what is equal to it. Compare with `==` or `in` a list; int(x) or x.item() is a key, without a gradient.{called_at()}"
            )
        )

"""Clipping of gradients: element by element, or all together by their norm."""

from __future__ import annotations

from typing import Any

import numpy as np

from adjoint.core import tree
from adjoint.core.errors import ArgumentError, called_at
from adjoint.core.spec import dtype_of, float32, is_half
from adjoint.core.tensor import as_tensor
from adjoint.ops.casting import cast
from adjoint.ops.functional.elementwise import clamp
from adjoint.ops.functional.norms import vector_norm
from adjoint.ops.functional.of_cards import isfinite, maximum
from adjoint.ops.movement import ravel
from adjoint.ops.stacking import stack


def clip_by_value(x: Any, clip_value_min: Any = None, clip_value_max: Any = None) -> Any:
    """Each element, no smaller and no larger than two bounds; `x` is a Tensor or a container of them.

    >>> import adjoint as ad
    >>> print(ad.ops.clip_by_value(ad.Tensor([-3.0, 0.5, 3.0]), -1.0, 1.0))
    [-1.   0.5  1. ]
    """
    if clip_value_min is None and clip_value_max is None:
        raise ArgumentError(f"clip_by_value: give at least one bound{called_at()}")
    if _number(clip_value_min) and _number(clip_value_max) and clip_value_min > clip_value_max:
        raise ArgumentError(
            f"clip_by_value: clip_value_min {clip_value_min} is above clip_value_max {clip_value_max}{called_at()}"
        )
    return tree.map(lambda t: clamp(t, clip_value_min, clip_value_max), x)


def clip_by_norm(x: Any, max_norm: float, norm_type: float = 2.0, error_if_nonfinite: bool = False) -> Any:
    """Tensors scaled down together so that the norm of all their elements is at most `max_norm`.

    Args:
        x: a Tensor or a container of them.
        max_norm: the largest norm allowed.
        norm_type: the order of the norm; `inf` for the largest element.
        error_if_nonfinite: refuse a norm that is infinite or not a number; not inside a compiled function.

    >>> import adjoint as ad
    >>> print(*ad.ops.clip_by_norm([ad.Tensor([3.0]), ad.Tensor([4.0])], 2.5))
    [1.5] [2.]
    """
    leaves = tree.leaves(x)
    total = _norm(leaves, float(norm_type))
    if error_if_nonfinite and not bool(isfinite(total)):
        raise ArgumentError(f"clip_by_norm: the norm of the gradients is {float(total)}{called_at()}")
    return _scaled(x, total, max_norm)


def clip_by_global_norm(x: Any, clip_norm: float = 1.0, use_norm: Any = None) -> Any:
    """Tensors scaled down together so that the root of the sum of all squares is at most `clip_norm`.

    Args:
        x: a Tensor or a container of them.
        clip_norm: the largest norm allowed.
        use_norm: the norm, if it is known already.

    >>> import adjoint as ad
    >>> print(*ad.ops.clip_by_global_norm((ad.Tensor([3.0]), ad.Tensor([4.0])), 1.0))
    [0.6] [0.8]
    """
    if clip_norm <= 0:
        raise ArgumentError(f"clip_by_global_norm: clip_norm must be above zero, not {clip_norm}{called_at()}")
    return _scaled(x, _norm(tree.leaves(x), 2.0) if use_norm is None else as_tensor(use_norm), clip_norm)


def _number(bound: Any) -> bool:
    return isinstance(bound, (int, float, np.number))


def _norm(leaves: list[Any], order: float) -> Any:
    """One norm of all elements; squares of half precision would overflow, so they are taken in single."""
    if not leaves:
        raise ArgumentError(f"there are no gradients to clip{called_at()}")
    dtype = np.result_type(*(float32 if is_half(dtype_of(t)) else dtype_of(t) for t in leaves))
    return vector_norm(stack([vector_norm(cast(ravel(t), dtype), order) for t in leaves]), order)


def _scaled(x: Any, norm: Any, most: float) -> Any:
    factor = most / maximum(norm, most)
    return tree.map(lambda t: t * cast(factor, t.dtype), x)

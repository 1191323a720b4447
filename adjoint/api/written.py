"""Arguments that a compiled function writes to: the caller finds them written to, as after the function itself."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from adjoint.core import tree, views
from adjoint.core.dispatch import Value, wrap
from adjoint.core.errors import ArgumentError, CutGradientError, called_at
from adjoint.core.parameter import Parameter


def written(placeholders: Sequence[Any], nodes: Sequence[Any]) -> tuple[int, ...]:
    """Which graph values of the arguments no longer hold the nodes they held before the function ran."""
    return tuple(i for i, (x, node) in enumerate(zip(placeholders, nodes, strict=True)) if x._value is not node)


def write_back(places: Sequence[int], made: Any, results: Sequence[Any]) -> list[Any]:
    """Give the arguments at some places the first results; the other results are returned."""
    leaves = [leaf for leaf, yes in zip(tree.leaves(made.whole), made.numeric, strict=True) if yes]
    for i, y in zip(places, results, strict=False):
        if isinstance(leaves[i], (Value, np.ndarray)):
            _check_alone(leaves, i)
            _write(leaves[i], y)
    return list(results[len(places) :])


def _write(x: Any, y: Any) -> None:
    if isinstance(x, Value):
        if isinstance(x, Parameter):
            x[...] = y
        else:
            x._refuse_leaf("a function that writes to its argument", "f(x.copy())")
            views.write(x, wrap(y))
        return
    if isinstance(y, Value) and y.tracked:
        raise CutGradientError(
            "the function writes a value that is being differentiated into its argument, a NumPy array, which would cut the "
            f"gradient. Pass a Tensor{called_at()}"
        )
    x[...] = y


def _check_alone(leaves: Sequence[Any], i: int) -> None:
    """Raise if another argument shares its elements: the function would have seen the write there."""
    x = leaves[i]
    for k, other in enumerate(leaves):
        if k != i and (views.related(x, other) or _share_memory(x, other)):
            raise ArgumentError(
                "jit: the function writes to an argument whose elements another argument shows too, and a graph takes the two "
                f"for different arrays. Pass a copy of one of them{called_at()}"
            )


def _share_memory(x: Any, y: Any) -> bool:
    return isinstance(x, np.ndarray) and isinstance(y, np.ndarray) and np.may_share_memory(x, y)

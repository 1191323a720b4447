"""Arguments that a compiled function writes to: the caller finds them written to, as after the function itself."""

from __future__ import annotations

from collections import deque
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from adjoint.core import tree, tree_containers, views
from adjoint.core.dispatch import Value, wrap
from adjoint.core.errors import ArgumentError, CutGradientError, called_at
from adjoint.core.parameter import Parameter
from adjoint.core.stores import store


def written(placeholders: Sequence[Any], nodes: Sequence[Any]) -> tuple[int, ...]:
    """Which graph values of the arguments no longer hold the nodes they held before the function ran."""
    return tuple(i for i, (x, node) in enumerate(zip(placeholders, nodes, strict=True)) if x._value is not node)


def _numbers(made: Any) -> list[Any]:
    return [leaf for leaf, yes in zip(tree.leaves(made.whole), made.numeric, strict=True) if yes]


def shared(places: Sequence[int], made: Any) -> bool:
    """Whether an argument that is written to shows elements of another one."""
    leaves = _numbers(made)
    return any(_sharing(leaves, i) for i in places)


def write_back(places: Sequence[int], made: Any, results: Sequence[Any]) -> list[Any]:
    """Give the arguments at some places the first results; the other results are returned."""
    leaves = _numbers(made)
    for i, y in zip(places, results, strict=False):
        if isinstance(leaves[i], (Value, np.ndarray)):
            _check_alone(leaves, i)
            _write(leaves[i], y)
    return list(results[len(places) :])


def store_back(parameters: Sequence[Parameter], results: Sequence[Any]) -> list[Any]:
    """Store the first results in Parameters; the other results are returned."""
    for p, y in zip(parameters, results, strict=False):
        store(p, wrap(y))
    return list(results[len(parameters) :])


def replaced(
    places: Sequence[int], stored: Sequence[Parameter], parameters: Sequence[Parameter], count: int
) -> dict[int, int]:
    """Which inputs the first results take the places of: arguments written to, then Parameters, which stand behind `count` arguments."""
    at = {id(p): count + k for k, p in enumerate(parameters)}
    pairs = dict(enumerate(places))
    return {**pairs, **{len(places) + k: at[id(p)] for k, p in enumerate(stored) if id(p) in at}}


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
    if _sharing(leaves, i):
        raise ArgumentError(
            "jit: the function writes to an argument whose elements another argument shows too, and a graph takes the two "
            f"for different arrays. Pass a copy of one of them{called_at()}"
        )


def _sharing(leaves: Sequence[Any], i: int) -> bool:
    x = leaves[i]
    return any(k != i and (views.related(x, y) or _share_memory(x, y)) for k, y in enumerate(leaves))


def _share_memory(x: Any, y: Any) -> bool:
    return isinstance(x, np.ndarray) and isinstance(y, np.ndarray) and np.may_share_memory(x, y)


# ---------------------------------------------------------------- containers


class Containers:
    """What the lists, dicts, objects, sets and deques among the arguments hold before a function is traced.

    A trace works on copies of those with numbers, and runs once for many calls: a function that changes them is refused.
    """

    def __init__(self, whole: Any) -> None:
        self._trees = [(path, x, tree_containers.contents(x)) for path, x in tree_containers.containers(whole, "")]
        self._leaves = [(path, x, list(x)) for path, x in tree.paths(whole) if isinstance(x, (set, deque, bytearray))]

    def check(self, name: str, describe: Callable[[str], str], given_up: Callable[[str], bool]) -> None:
        """Raise if one of them has changed, unless it is given up anyhow; `describe` is what the user calls a place."""
        changed = [
            (path, x) for path, x, before in self._trees if tree_containers.contents(x) != before and not given_up(path)
        ]
        for path, x, before in self._leaves:
            if len(x) != len(before) or any(a is not b for a, b in zip(x, before, strict=True)):
                changed.append((path, x))
                _refill(x, before)
        for path, x in changed:
            what, copy = describe(path), f"{type(x).__name__}(...)" if type(x) in _COPIED else "copy.copy(...)"
            raise ArgumentError(
                f"jit: {name} changes its argument {what}, a {type(x).__name__}, which a graph cannot do for the caller. Return the "
                f"new value instead, or write to a copy made inside the function by `{copy}`{called_at()}"
            )


_COPIED = (list, dict, set, deque)


def _refill(x: Any, before: list[Any]) -> None:
    """Undo what the trace has done to a container that is the caller's own."""
    x.clear()
    (x.update if isinstance(x, set) else x.extend)(before)

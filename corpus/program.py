"""What a program of the corpus is, and the decorator that collects it."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np

Point = tuple[Any, ...]


@dataclass(frozen=True)
class Program:
    """An ordinary Python function, and points at which all modes must agree.

    Args:
        name: its key in `PROGRAMS`.
        fn: the function; the sum of its outputs is what is differentiated.
        points: tuples of inputs, away from kinks and ties. Further points take other branches or other numbers of
            rounds through the same graph.
        positions: the inputs to differentiate by.
        traced: no control flow depends on tensors, so that running it once on graph values is enough to make a graph.
        static: whether it can be a graph at all; `reason` says why not.
        order2: whether second derivatives are checked; `reason` says why not.
        reason: why a flag is off.
    """

    name: str
    fn: Callable[..., Any]
    points: tuple[Point, ...]
    positions: tuple[int, ...]
    traced: bool = False
    static: bool = True
    order2: bool = True
    reason: str = ""

    @property
    def inputs(self) -> Point:
        """The first point."""
        return self.points[0]


COLLECTED: dict[str, Program] = {}


def program(
    *inputs: Any,
    also: tuple[Point, ...] = (),
    positions: tuple[int, ...] | None = None,
    traced: bool = False,
    static: bool = True,
    order2: bool = True,
    reason: str = "",
) -> Callable[[Callable[..., Any]], Callable[..., Any]]:
    """Put a function into the corpus, with its inputs; lists of floats stand for float64 arrays."""
    points = tuple(tuple(map(_array, point)) for point in (inputs, *also))
    chosen = tuple(range(len(inputs))) if positions is None else positions

    def collect(fn: Callable[..., Any]) -> Callable[..., Any]:
        name = fn.__name__
        if name in COLLECTED:
            raise ValueError(f"two programs of the corpus are called {name}")
        if not (static and order2) and not reason:
            raise ValueError(f"{name}: say in `reason` why a flag is off")
        COLLECTED[name] = Program(name, fn, points, chosen, traced, static, order2, reason)
        return fn

    return collect


def _array(x: Any) -> Any:
    if isinstance(x, dict):
        return {key: _array(value) for key, value in x.items()}
    return np.array(x, dtype=np.float64) if isinstance(x, list) else x

"""What a branch or a loop passes through the graph: the leaves of the values that its places hold."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

from adjoint.frontend import state
from adjoint.frontend.errors import ControlFlowError
from adjoint.frontend.returns import RESULT
from adjoint.frontend.state import UNDEFINED, Flat, Place
from adjoint.graph.numbers import is_large, is_special


def label(place: Place) -> str:
    """What a message calls a place."""
    return "the returned value" if place.name == RESULT else place.name


def stand_in(value: Any) -> Any:
    """A value of the same structure, for one that is never used."""
    flat = Flat.of(value)
    return flat.rebuild([state.stand_in(x) for x in flat.leaves])


def locate(
    places: Sequence[Place],
    names: Sequence[str],
    values: Sequence[Any],
    index: int,
    passes: Callable[[int, int, Any], bool],
) -> tuple[Place, str]:
    """The place, and the path in it, of the value that was passed through the graph as number `index`."""
    for i, (place, name, value) in enumerate(zip(places, names, values, strict=True)):
        for j, (path, leaf) in enumerate(state.tree.paths(value, name) if value is not UNDEFINED else ()):
            if passes(i, j, leaf):
                if index == 0:
                    return place, path
                index -= 1
    raise IndexError(index)


def unfit(*values: Any) -> list[Any]:
    """Those that cannot pass through a graph: integers of more than 64 bits, and numbers of classes of their own."""
    return [x for x in values if is_large(x) or is_special(x)]


def does_not_pass(what: str, value: Any, where: str) -> ControlFlowError:
    """The error about a value that is unfit."""
    return ControlFlowError(
        f"{what} may be {state.described(value)} in {where}, which a graph cannot hold as it is: use a float, or an integer of "
        f"64 bits"
    )

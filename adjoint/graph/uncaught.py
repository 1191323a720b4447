"""Ops that may raise when a graph runs, where no `except` of the program can catch it: inside a `try` they are refused."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from adjoint.core.errors import called_at
from adjoint.graph.number_types import NeedsNumberError
from adjoint.graph.numbers import check_inside
from adjoint.ops.card import Op

#: Those of matrices that `fails_where` does not name: SciPy raises.
_OF_MATRICES = {"BandedSolve", "SparseSolve", "Sylvester"}


def check_uncaught(op: Any, xs: Sequence[Any], caught: tuple[type, ...]) -> None:
    """Refuse an op that may raise what a `try` around it catches."""
    if op.indexing and _one_of(IndexError, caught):
        check_inside(xs[0], xs[op.first_index :])
    if (why := _may_raise(op, caught)) is not None:
        raise NeedsNumberError(
            f"{why} is known only when the graph runs, where no `except` or `with` can catch it: move it out of the `try` or `with`, "
            f"or make sure beforehand that it cannot fail{called_at()}"
        )


def _one_of(kind: type, caught: tuple[type, ...]) -> bool:
    return any(issubclass(kind, k) or issubclass(k, kind) for k in caught)


def _may_raise(op: Any, caught: tuple[type, ...]) -> str | None:
    """What raises in a call of an op; None if nothing does that is caught."""
    if not isinstance(op, Op):  # an input, a constant, one of several results
        return None
    held = op.graphs().values() if hasattr(op, "graphs") else ()
    if held:
        found = (_may_raise(node.op, caught) for graph in held for node in (*graph.nodes, *graph.effects))
        return next((why for why in found if why is not None), None)
    name = type(op).__name__
    if op.effect:
        error = getattr(getattr(op, "one", op), "error", None)
        if error is None:
            return f"whether {op} fails" if name in ("HostEffect", "BatchOfCalls") else None
        known = isinstance(error, type) and issubclass(error, BaseException)
        return f"whether {error.__name__} is raised" if not known or _one_of(error, caught) else None
    if op.opaque:
        return f"whether {op} fails"
    fails = name in _OF_MATRICES or (op.fails_where and op.fails_where != "negative power")
    return f"whether {name} fails" if fails and _one_of(np.linalg.LinAlgError, caught) else None

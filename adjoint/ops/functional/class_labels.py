"""Labels that name classes by number. A class that does not exist is refused by its number, in compiled functions when they run."""

from __future__ import annotations

from typing import Any

import numpy as np

from adjoint.core.dispatch import EAGER, Value
from adjoint.core.errors import ArgumentError, called_at
from adjoint.core.spec import int64, normalize_axis, shape_of
from adjoint.ops.card import card
from adjoint.ops.compare import equal, less
from adjoint.ops.index import Gather, grid_index
from adjoint.ops.language import cast, where
from adjoint.ops.stacking import array


def class_places(what: str, labels: Any, classes: int, ignored: int | None = None) -> Any:
    """Labels as places along the axis of classes: one below 0 names no class, and does not count from the end.

    What is known now is checked now. Of the others a label below 0 becomes a place below all that there are, of which
    `at_classes` tells the label again.
    """
    if not isinstance(labels, Value) or labels._trace is EAGER:
        values = labels.asnumpy() if isinstance(labels, Value) else np.asarray(labels)
        wrong = values[(values != ignored) & ((values < 0) | (values >= classes))]
        if wrong.size:
            raise ArgumentError(f"{what}: class {wrong.flat[0]} is not one of 0 to {classes - 1}{called_at()}")
        return labels
    wide = cast(labels, int64)
    moved = where(less(wide, 0), wide - classes, wide)
    return moved if ignored is None else where(equal(wide, ignored), ignored, moved)


def at_classes(what: str, x: Any, places: Any, axis: int) -> Any:
    """The elements of x at places along its axis of classes; `what` is named where there is no such class."""
    axis = normalize_axis(what, axis, len(shape_of(x)))
    return card(Gather, what)(x, *grid_index(what, x, places, axis, whole=True))


def weights_at(what: str, weight: Any, places: Any) -> Any:
    """The weights of the classes at places."""
    return card(Gather, what)(array(weight), places)

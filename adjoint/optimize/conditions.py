"""The conditions that hold at a constrained minimum (Karush, Kuhn and Tucker), and which bounds and constraints are active.

The unknowns are x and a multiplier for each row of the constraints. A bound or constraint that holds x back is an equation
there; of any other the multiplier is zero, and nothing of it is seen in the derivative.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from adjoint.api.grad import grad
from adjoint.ops.compare import where
from adjoint.ops.joining import concat
from adjoint.ops.reduce import sum

FREE, LOWER, UPPER = 0, 1, 2
NEAR = (1e-6, 1e-4, 1e-2)  # how near to a bound counts as on it, if the function pushes against it
LEFT = 1e-3  # the share of the gradient that bounds and constraints may leave unexplained
PUSH = 1e-7  # what pushes with less than this share of the gradient, of 1 at most, holds nothing
STILL = 1e-4  # the same for what is left unexplained where hardly anything pushes


def residual(
    value: Callable[[Any], Any],
    rows: Callable[[Any], Any] | None,
    size: int,
    z: Any,
    states: Any,
    box: tuple[Any, Any] | None,
    limits: tuple[Any, Any],
) -> Any:
    """The conditions as a function that is zero at a minimum: stationary where free, on the bound or constraint where not."""
    x, multipliers = z[:size], z[size:]
    lagrangian = value if rows is None else lambda x: value(x) - sum(multipliers * rows(x))
    slope = grad(lagrangian)(x)
    if box is not None:
        state = states[:size]
        slope = where(state == LOWER, x - box[0], where(state == UPPER, x - box[1], slope))
    if rows is None:
        return slope
    state, c = states[size:], rows(x)
    return concat([slope, where(state == LOWER, c - limits[0], where(state == UPPER, c - limits[1], multipliers))])


def held(
    x: np.ndarray,
    slope: np.ndarray,
    box: tuple[Any, Any],
    c: np.ndarray,
    jacobian: np.ndarray,
    limits: tuple[Any, Any],
    first: np.ndarray,
) -> tuple[np.ndarray, np.ndarray, bool]:
    """The state of each unknown and of each row, the multipliers of the rows, and whether they explain why x is a minimum.

    Methods end at different distances from a bound: the nearest that explains it is taken. How much is a push is told by the gradient where
    the solver began, `first`: a function in small units pushes little.
    """
    most = float(np.abs(slope).max(initial=0.0))
    unit = max(most, float(np.abs(first[np.isfinite(first)]).max(initial=0.0)))
    unit = min(unit, 1.0) if unit > 0 else 1.0
    size = max(most, STILL * unit)
    tolerance = PUSH * max(unit, most)
    found = [_active(near, x, slope, box, c, jacobian, limits, tolerance) for near in NEAR]
    states, multipliers, left = next((f for f in found if f[2] <= LEFT * size), min(found, key=lambda f: f[2]))
    return states, multipliers, left <= 10 * LEFT * size


def _active(
    near: float,
    x: np.ndarray,
    slope: np.ndarray,
    box: tuple[Any, Any],
    c: np.ndarray,
    jacobian: np.ndarray,
    limits: Any,
    tolerance: float,
) -> tuple[np.ndarray, np.ndarray, float]:
    """Of all that x is near to, one at a time is let go that holds nothing; with what is left of the gradient then."""
    of_x, of_rows = _near(near, x, *box), _near(near, c, *limits)
    weights = np.abs(jacobian).max(
        axis=1, initial=0.0
    )  # a multiplier has the units of the function over those of its row
    fixed_x, fixed_rows = box[0] == box[1], limits[0] == limits[1]
    of_rows[fixed_rows] = LOWER
    while True:
        free, rows = of_x == FREE, np.flatnonzero(of_rows != FREE)
        multipliers = np.zeros(len(c))
        multipliers[rows] = np.linalg.lstsq(jacobian[rows][:, free].T, slope[free], rcond=None)[0]
        left = slope - multipliers @ jacobian
        push_x = np.where(of_x == LOWER, left, np.where(of_x == UPPER, -left, np.inf))
        pushes = multipliers * weights
        push_rows = np.where(of_rows == LOWER, pushes, np.where(of_rows == UPPER, -pushes, np.inf))
        push_x[fixed_x], push_rows[fixed_rows] = np.inf, np.inf
        least_x, least_rows = push_x.min(initial=np.inf), push_rows.min(initial=np.inf)
        if min(least_x, least_rows) > tolerance:
            return np.concatenate([of_x, of_rows]), multipliers, float(np.abs(left[free]).max(initial=0.0))
        if least_x <= least_rows:
            of_x[push_x.argmin()] = FREE
        else:
            of_rows[push_rows.argmin()] = FREE


def _near(near: float, values: np.ndarray, lower: Any, upper: Any) -> np.ndarray:
    """Which values lie on their lower or upper limit."""
    below, above = (np.isfinite(b) & (np.abs(values - b) <= near * (1 + np.abs(b))) for b in (lower, upper))
    return np.where(below, LOWER, np.where(above, UPPER, FREE))


def unbounded(size: int) -> tuple[np.ndarray, np.ndarray]:
    """Limits that hold nothing back."""
    return np.full(size, -np.inf), np.full(size, np.inf)

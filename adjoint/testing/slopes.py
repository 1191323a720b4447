"""The derivative of a function of one number, measured by differences where they can be trusted."""

from __future__ import annotations

from collections.abc import Callable
from typing import NamedTuple

import numpy as np

STEPS = (1e-4, 1e-5)
TRUST = 1e-3  # how far quotients may differ, relative to the slope, and still be of one smooth function


class Slope(NamedTuple):
    """A derivative and how far it may be off."""

    value: float
    error: float

    def fits(self, derivative: float, tolerance: float) -> bool:
        """Whether a derivative may be the one that was measured."""
        return bool(abs(derivative - self.value) <= tolerance * max(1.0, abs(self.value)) + 10 * self.error)


def slope_of(f: Callable[[float], float]) -> Slope | None:
    """The derivative of f at 0; None at a kink or a jump, and where f bends within the smallest step: it is steeper than differences see.

    Quotients from the left, the right and the middle at each step must agree. How far they differ is compared with the quotients
    themselves, never with the derivative they are to judge: a function that has run through many periods within a step has
    quotients that grow as the step shrinks.

    >>> slope_of(np.sin).fits(1.0, 1e-9)
    True
    >>> slope_of(abs), slope_of(lambda h: np.sin(1e9 * h))
    (None, None)
    """
    here = f(0.0)
    found = [_quotients(f, here, h) for h in STEPS]
    middles = [middle for _, middle, _ in found]
    scale = max(1.0, *map(abs, middles))
    if not all(abs(q - middles[-1]) <= TRUST * scale for quotients in found for q in quotients):
        return None
    noise = 4 * float(np.finfo(float).eps) * max(1.0, abs(here)) / STEPS[0]
    return Slope(float(middles[0]), float(max(middles) - min(middles)) + noise)


def _quotients(f: Callable[[float], float], here: float, h: float) -> tuple[float, float, float]:
    """The slope from the left, from both sides and from the right: of second, fourth and second order."""
    a, b, c, d = (f(k * h) for k in (-2, -1, 1, 2))
    return (3 * here - 4 * b + a) / (2 * h), (8 * (c - b) - (d - a)) / (12 * h), (4 * c - d - 3 * here) / (2 * h)

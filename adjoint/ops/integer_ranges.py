"""Ranges of Python integers: what Python's operators make of them. A graph's integers have 64 bits, Python's have no size."""

from __future__ import annotations

from collections.abc import Callable
from itertools import product

#: The least and the greatest integer that a value may be.
Range = tuple[int, int]


def corners(f: Callable[[int, int], int], a: Range, b: Range) -> Range:
    """The range of an operator whose extremes lie at extremes."""
    found = [f(x, y) for x, y in product(a, b)]
    return min(found), max(found)


def without_zero(b: Range) -> str:
    """Why one cannot divide by an integer of this range; empty if one can."""
    return "this divides by an integer that may be 0" if b[0] <= 0 <= b[1] else ""


def remainder(a: Range, b: Range) -> Range:
    """The range of a % b."""
    if a[0] >= 0 and b[0] > 0:
        return 0, min(a[1], b[1] - 1)
    return min(0, b[0] + 1), max(0, b[1] - 1)


def power(a: Range, b: Range) -> Range | str:
    """The range of a ** b, or why it has none here."""
    if b[0] < 0:
        return "this raises an integer to a power that may be negative"
    if b[1] > 64 and max(map(abs, a)) > 1:
        return "this power may need more than 64 bits"
    ends = [x**y for x in a for y in {b[0], b[1], max(b[0], b[1] - 1)} if y <= 64 or abs(x) <= 1]
    return min(0, *ends), max(1, *ends)


def magnitude(a: Range) -> Range:
    """The range of |a|."""
    return 0 if a[0] <= 0 <= a[1] else min(map(abs, a)), max(map(abs, a))


def logic(a: Range, b: Range) -> Range:
    """The range of and, or and exclusive or of bits."""
    size = max(x.bit_length() for x in (*a, *b))
    return (-(1 << size) if min(*a, *b) < 0 else 0), (1 << size) - 1


def shifted(f: Callable[[int, int], int], a: Range, b: Range) -> Range | str:
    """The range of a shift, or why it has none here."""
    if b[0] < 0 or b[1] > 63:
        return "this shifts an integer by a number that may be negative or above 63"
    return corners(f, a, b)

"""Difference quotients: forward, backward and central differences, Richardson's extrapolation and the complex step.

With a step h the quotients are wrong by O(h), O(h) and O(h²): truncation. The difference of two numbers near f(x) is wrong by
eps·|f(x)|, which is divided by h: rounding. The step that balances both is eps^(1/2) or eps^(1/3), times the size of x.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, NamedTuple

import numpy as np

from adjoint.api.inputs import name_of
from adjoint.core.errors import ArgumentError, called_at
from adjoint.numeric.moved_inputs import Arrays, MovedInputs

METHODS = ("forward", "backward", "central", "richardson", "complex")
#: The power of h that the truncation error goes with.
ORDERS = {"forward": 1, "backward": 1, "central": 2}
LEVELS = 8  # halvings of the step in Richardson's table
TRIES = 12  # steps that are tried until truncation and rounding are in balance
SHRINK = 1 / 16  # how much nearer to look when a step leaves the domain of the function
LOOKS = 6  # how often a quotient is compared with one of a much smaller step, where that may differ
NEARER = 2.0**-10  # that smaller step
UNLIKE = 0.3  # how far quotients are apart, in parts of them, that rounding alone does not explain
SLACK = 1e-3  # how far the complex step may be from differences before the function is taken not to be analytic


class Quotient(NamedTuple):
    """A derivative of each result, how far Richardson's table may be off, and the step that was taken."""

    values: Arrays
    spread: Arrays | None
    step: float


def check_method(what: str, method: Any) -> None:
    if method not in METHODS:
        raise ArgumentError(f"{what}: method must be one of {', '.join(METHODS)}, not {method!r}{called_at()}")


def check_step(what: str, step: Any) -> None:
    if step is not None and (isinstance(step, bool) or not (isinstance(step, (int, float)) and 0 < step < np.inf)):
        raise ArgumentError(
            f"{what}: step must be a number above zero, or None to choose it, not {step!r}{called_at()}"
        )


def automatic_step(method: str, eps: float, order: int = 1) -> float:
    """The step for an input of size one in a precision, for a derivative of an order.

    >>> automatic_step("forward", 2.0**-52), automatic_step("complex", 2.0**-52)
    (1.4901161193847656e-08, 1e-20)
    """
    if method == "complex":
        return 1e-20 if eps < 1e-10 else 1e-10
    if method == "richardson":
        return 2.0**-4
    return float(eps ** (1 / (ORDERS[method] + order)))


def quotient(program: MovedInputs, method: str, step: float | None, k: int | None = None, i: int = 0) -> Quotient:
    """The derivative of each result by element i of leaf k (along all elements of all leaves where k is None)."""
    with np.errstate(all="ignore"):
        return _quotient(program, method, step, k, i)


def _quotient(program: MovedInputs, method: str, step: float | None, k: int | None, i: int) -> Quotient:
    h = step if step is not None else automatic_step(method, program.precision) * max(1.0, program.size(k, i))
    if method == "complex":
        return _complex_step(program, step, k, i)
    if method == "richardson":
        return _richardson(program, h, step is None, k, i)
    if step is not None:
        return Quotient(_difference(program, method, h, k, i) or [], None, h)
    return _balanced(program, method, h, k, i)


def _balanced(program: MovedInputs, method: str, h: float, k: int | None, i: int) -> Quotient:
    """The quotient for a step where truncation is no larger than rounding, and none where the function is another one nearby."""
    first = found = _settled(program, method, h, k, i)
    for _ in range(LOOKS):
        nearer = found.step * NEARER
        if k is None or not _far(program, found.step, k, i) or nearer < _smallest(program, k, i):
            break
        near = _difference(program, method, nearer, k, i, strict=False)
        if near is None or _agree(program, found.values, near, nearer, k, i):
            break
        found = _settled(program, method, nearer, k, i)
    return found if found is first or _steady(program, method, found, k, i) else first


def _steady(program: MovedInputs, method: str, found: Quotient, k: int | None, i: int) -> bool:
    """Whether twice the step gives much the same: what rounding has left does not."""
    wider = _difference(program, method, 2 * found.step, k, i, strict=False)
    return wider is not None and all(
        np.all(np.abs(a - b) <= 0.1 * np.abs(a)) and np.all(a != 0) for a, b in zip(found.values, wider, strict=True)
    )


def _far(program: MovedInputs, h: float, k: int, i: int) -> bool:
    """Whether a step may lead across something: it is not small beside the input (a pole at zero), or not small at all (waves)."""
    return 0 < program.size(k, i) < 1e3 * h or h > 1e-2


def _agree(program: MovedInputs, found: Arrays, near: Arrays, h: float, k: int, i: int) -> bool:
    """Whether quotients agree, as far as rounding lets the one with the smaller step h tell."""
    return not any(
        np.any(np.abs(a - b) > UNLIKE * np.maximum(np.abs(a), np.abs(b)) + 20 * n / h)
        for a, b, n in zip(found, near, program.noise(found, k, i), strict=True)
    )


def _settled(program: MovedInputs, method: str, h: float, k: int | None, i: int) -> Quotient:
    """The quotient for a step where truncation is no larger than rounding: a smaller one than usual where the function bends."""
    smallest, power = _smallest(program, k, i), ORDERS[method]
    best: tuple[float, Quotient] | None = None
    for _ in range(TRIES):
        found, wider = (_difference(program, method, s * h, k, i, strict=False) for s in (1.0, 2.0))
        if found is None:
            h *= SHRINK
        else:
            truncation, rounding = _balance(program, (k, i), power, h, found, wider)
            lost = best is not None and not any(map(np.any, found)) and any(map(np.any, best[1].values))
            if best is None or (truncation + rounding < best[0] and not lost):  # zeros are what rounding has left
                best = truncation + rounding, Quotient(found, None, h)
            if not truncation > 10 * rounding:
                break
            h *= max(min((rounding / truncation) ** (1 / (power + 1)), 0.5), 1e-3)
        if h < smallest:
            break
    return (
        best[1]
        if best is not None
        else Quotient(_difference(program, method, max(h, 2 * smallest), k, i) or [], None, h)
    )


def _balance(
    program: MovedInputs, place: tuple[int | None, int], power: int, h: float, found: Arrays, wider: Arrays | None
) -> tuple[float, float]:
    """The largest truncation and rounding error of a quotient, from one with twice the step."""
    rounding = max([float(n[np.isfinite(n)].max(initial=0.0)) / h for n in program.noise(found, *place)], default=0.0)
    if wider is None:
        return np.inf, rounding
    gaps = [np.abs(a - b)[np.isfinite(a) & np.isfinite(b)] for a, b in zip(found, wider, strict=True)]
    return max([float(g.max(initial=0.0)) for g in gaps], default=0.0) / (2**power - 1), rounding


def _smallest(program: MovedInputs, k: int | None, i: int) -> float:
    """The smallest step that the precision of the input leaves."""
    return program.precision * max(program.size(k, i), 1e-30)


def _difference(
    program: MovedInputs, method: str, h: float, k: int | None, i: int, strict: bool = True
) -> Arrays | None:
    """The quotient for one step; None where the function leaves its domain, unless that is to be an error or a NaN."""
    ends, way = [], 0.0
    for sign, wanted in ((1.0, method != "backward"), (-1.0, method != "forward")):
        leaves, moved = program.moved(k, i, sign * h) if wanted else (program.leaves, 0.0)
        ys = program.here if not wanted else program.at(leaves) if strict else program.inside(leaves)
        if ys is None or (not strict and wanted and moved == 0.0):
            return None
        ends.append(ys)
        way += moved
    if way == 0.0:
        raise ArgumentError(f"{program.what}: a step of {h:g} is lost in the precision of the input{called_at()}")
    with np.errstate(all="ignore"):
        return [np.asarray((up - down) / way) for up, down in zip(*ends, strict=True)]


def _richardson(program: MovedInputs, h: float, shrink: bool, k: int | None, i: int) -> Quotient:
    """Central differences at h, h/2, h/4, ... extrapolated to h = 0; of the table the entry that seems best."""
    if not shrink:
        return _extrapolated(program, h, k, i)
    # A start as far away as the function is smooth: where central differences need a small step, a small one.
    usual = automatic_step("central", program.precision) * max(1.0, program.size(k, i))
    rough = _balanced(program, "central", usual, k, i)
    h *= min(1.0, rough.step / usual)
    while h > _smallest(program, k, i) and _difference(program, "central", h, k, i, strict=False) is None:
        h *= SHRINK
    found = _extrapolated(program, h, k, i)
    if k is None or not _far(program, usual, k, i):
        return found
    for _ in range(LOOKS):
        if found.step < rough.step or _agree(program, found.values, rough.values, rough.step, k, i):
            break
        found = _extrapolated(program, found.step * SHRINK, k, i)
    return found


def _extrapolated(program: MovedInputs, h: float, k: int | None, i: int) -> Quotient:
    """Richardson's table for a first step."""
    rows: list[list[Arrays]] = []
    best = [np.full(y.shape, np.nan, y.dtype) for y in program.here]
    spread = [np.full(y.shape, np.inf) for y in program.here]
    for level in range(LEVELS):
        found = _difference(program, "central", h / 2**level, k, i, strict=level == 0)
        if found is None:
            break
        row = [found]
        for column, coarse in enumerate(rows[-1] if rows else []):
            factor = 4.0 ** (column + 1)
            row.append([fine + (fine - c) / (factor - 1) for fine, c in zip(row[-1], coarse, strict=True)])
            errors = [
                np.maximum(np.abs(new - fine), np.abs(new - c))
                for new, fine, c in zip(row[-1], row[-2], coarse, strict=True)
            ]
            for n, error in enumerate(errors):
                better = error < spread[n]
                spread[n] = np.where(better, error, spread[n])
                best[n] = np.where(better, row[-1][n], best[n])
        rows.append(row)
    return Quotient(best, spread, h)


def _complex_step(program: MovedInputs, step: float | None, k: int | None, i: int) -> Quotient:
    """Im f(x + ih) / h: no difference, so no rounding. The function must be analytic, which differences confirm."""
    if any(kind == "c" for kind in program.kinds):
        raise ArgumentError(f"{program.what}: the complex step needs a function with real results{called_at()}")
    tiny, size = automatic_step("complex", program.precision), program.size(k, i)
    if k is not None and 0 < size < 1 and program.precision < 1e-10:
        tiny = max(tiny * size, 1e-290)
    h = step if step is not None else tiny * max(1.0, size)
    slopes = _imaginary(program, tiny, k, i)
    _check_analytic(program, slopes, quotient(program, "central", None, k, i))
    return Quotient(slopes if h == tiny else _imaginary(program, h, k, i), None, h)


def _imaginary(program: MovedInputs, h: float, k: int | None, i: int) -> Arrays:
    leaves, _ = program.moved(k, i, 1j * h)
    try:
        ys = program.at(leaves)
    except TypeError as error:
        raise ArgumentError(
            f"{program.what}: the complex step calls {name_of(program.f)} with complex numbers, which it does not take ({error}). Use NumPy's "
            f"functions in place of math's, or another method{called_at()}"
        ) from error
    return [np.asarray(np.imag(y) / h) for y in ys]


def _check_analytic(program: MovedInputs, found: Sequence[np.ndarray], rough: Quotient) -> None:
    noise = program.precision ** (2 / 3)
    for exact, near, y in zip(found, rough.values, program.here, strict=True):
        known = np.isfinite(near) & np.isfinite(y)
        allowed = SLACK * np.abs(near) + 100 * noise * (1.0 + np.abs(y))
        if np.any(np.abs(exact - near)[known] > allowed[known]):
            raise ArgumentError(
                f"{program.what}: the complex step does not agree with differences: {name_of(program.f)} is not analytic here (abs, conj, "
                f"real, a comparison or a cut), or too steep for differences to tell. Use another method{called_at()}"
            )

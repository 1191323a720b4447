"""The error of a difference quotient against its step: truncation on the right, rounding on the left, a minimum between."""

from __future__ import annotations

import html
import math
import os
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from adjoint.api.grad import grad
from adjoint.api.inputs import name_of
from adjoint.core import drawing
from adjoint.core.errors import AdjointError, ArgumentError, boundary, called_at
from adjoint.core.progress import tracked
from adjoint.numeric.moved_inputs import OUTSIDE, MovedInputs
from adjoint.numeric.quotients import METHODS, ORDERS, check_method, quotient

SHOWN = ("forward", "central")


@dataclass(frozen=True)
class ErrorCurve:
    """How far difference quotients of a function are off, for many steps.

    >>> from adjoint import numeric
    >>> import numpy as np
    >>> curve = numeric.error_curve(np.exp, 1.0)
    >>> step, error = curve.best("forward")
    >>> 1e-9 < step < 1e-7, curve.best("central")[1] < error < 1e-7
    (True, True)
    """

    name: str
    x: float
    exact: float
    reference: str  # where the exact derivative comes from
    steps: np.ndarray
    errors: dict[str, np.ndarray] = field(repr=False)

    def best(self, method: str) -> tuple[float, float]:
        """The step with the smallest error of a method, and that error."""
        if method not in self.errors:
            raise ArgumentError(f"error_curve: {method!r} is not among {', '.join(self.errors)}{called_at()}")
        at = int(np.nanargmin(self.errors[method]))
        return float(self.steps[at]), float(self.errors[method][at])

    def __str__(self) -> str:
        lines = [f"error of the derivative of {self.name} at {self.x:g}, exactly {self.exact:.12g} ({self.reference})"]
        lines.append("      step" + "".join(f"{m:>12}" for m in self.errors))
        decades = [int(np.argmin(np.abs(np.log10(self.steps) - d))) for d in self._decades()]
        for at in dict.fromkeys(decades):
            lines.append(f"{self.steps[at]:10.1e}" + "".join(f"{e[at]:12.1e}" for e in self.errors.values()))
        for method in self.errors:
            step, error = self.best(method)
            lines.append(f"{method}: smallest error {error:.1e} at the step {step:.1e}")
        return "\n".join(lines)

    def _decades(self) -> range:
        low, high = np.log10(self.steps.min()), np.log10(self.steps.max())
        return range(math.ceil(low), math.floor(high) + 1, 2)

    def draw(self, path: str | os.PathLike[str] | None = None) -> Any:
        """The picture, as a figure of matplotlib; with a path it is written there, as PNG, SVG or what the name ends with."""
        made, axes = drawing.figure(height=4.5)
        floor = np.finfo(float).eps * max(abs(self.exact), 1e-4) / 4
        for colour, (method, errors) in zip(drawing.COLOURS, self.errors.items(), strict=False):
            step, error = self.best(method)
            label = f"{method}: least error {error:.0e} at h = {step:.0e}".replace("0e+00", "0")
            axes.loglog(self.steps, np.maximum(errors, floor), color=colour, linewidth=1.4, label=label)
            axes.plot([step], [max(error, floor)], "o", color=colour, markersize=7, zorder=3)
            axes.axvline(step, color=colour, linewidth=0.8, linestyle=":")
            self._name_the_slope(axes, method, errors, colour)
        axes.set_xlabel("step h")
        axes.set_ylabel("error of the derivative")
        axes.set_title(f"{self.name} at x = {self.x:g}: rounding on the left, truncation on the right", fontsize=11)
        made.legend(frameon=False, loc="outside lower center", ncols=2)
        if path is not None:
            drawing.save(made, path)
        return made

    def _name_the_slope(self, axes: Any, method: str, errors: np.ndarray, colour: str) -> None:
        """The power of h that truncation goes with, beside the line."""
        at = int(np.argmin(np.abs(np.log10(self.steps) + 2.5)))
        if method in ORDERS and self.best(method)[0] < self.steps[at] and errors[at] > 0:
            power = "O(h)" if ORDERS[method] == 1 else "O(h²)"
            side = "right" if ORDERS[method] == 1 else "left"
            axes.annotate(
                f"{power} ", (self.steps[at], errors[at]), (-6 if side == "right" else 8, 2 if side == "right" else -6),
                textcoords="offset points", color=colour, ha=side,
            )  # fmt: skip

    def _repr_html_(self) -> str:
        return f"<pre>{html.escape(str(self))}</pre>{drawing.picture_below(self.draw)}"


@boundary
def error_curve(
    f: Callable[[Any], Any],
    x: float,
    methods: Sequence[str] = SHOWN,
    exact: float | None = None,
    steps: Sequence[float] | None = None,
) -> ErrorCurve:
    """The error of difference quotients of `f` at the number `x` for many steps, to print or to `draw`.

    Args:
        f: a function of one number.
        methods: those of `numeric.derivative`.
        exact: the derivative to compare with; None takes that of `ad.grad`, and of the complex step or of Richardson's
            extrapolation where `f` is not written in what `ad.grad` differentiates. `reference` says which it was.
        steps: those to try, by default from 1e-16 to 1.

    >>> from adjoint import numeric
    >>> print(numeric.error_curve(lambda x: x**3, 1.0, steps=[1e-4, 1e-2, 1.0]))
    error of the derivative of <lambda> at 1, exactly 3 (automatic differentiation)
          step     forward     central
       1.0e-04     3.0e-04     1.0e-08
       1.0e-02     3.0e-02     1.0e-04
       1.0e+00     4.0e+00     1.0e+00
    forward: smallest error 3.0e-04 at the step 1.0e-04
    central: smallest error 1.0e-08 at the step 1.0e-04
    """
    chosen = (methods,) if isinstance(methods, str) else tuple(methods)
    for method in chosen:
        check_method("error_curve", method)
    program = MovedInputs("error_curve", f, (x,), (0,))
    if [v.size for v in program.leaves] != [1] or [y.size for y in program.here] != [1] or program.kinds == ["c"]:
        raise ArgumentError(f"error_curve: {name_of(f)} must take one number and return one real number{called_at()}")
    if not np.isfinite(program.here[0]).all():
        raise ArgumentError(f"error_curve: {name_of(f)} is {program.here[0].item()} at {x}{called_at()}")
    tried = np.logspace(-16, 0, 161) if steps is None else np.asarray(steps, float)
    if not tried.size or not (tried > 0).all():
        raise ArgumentError(f"error_curve: steps must be some numbers above zero{called_at()}")
    slope, reference = (float(exact), "given") if exact is not None else exact_slope(f, x)
    found = {m: np.full(tried.shape, np.nan) for m in chosen}
    places = [(m, n) for m in chosen for n in range(tried.size)]
    for method, n in tracked(places, "error curve", len(places)):
        found[method][n] = abs(_slope(program, method, float(tried[n])) - slope)
    return ErrorCurve(name_of(f), float(program.leaves[0].item()), slope, reference, tried, found)


def _slope(program: MovedInputs, method: str, h: float) -> float:
    """The quotient for a step; zero where the step is lost in x, as the naive formula has it, NaN outside of the domain."""
    try:
        return float(quotient(program, method, h).values[0].item())
    except OUTSIDE:
        return math.nan


def exact_slope(f: Callable[[Any], Any], x: float) -> tuple[float, str]:
    """The derivative of a function of one number as well as it can be had, and how it was had."""
    try:
        return float(grad(f)(float(x))), "automatic differentiation"
    except (AdjointError, *OUTSIDE, TypeError):
        pass
    for method, words in (("complex", "complex step"), ("richardson", "Richardson's extrapolation")):
        try:
            return float(quotient(MovedInputs("error_curve", f, (x,), (0,)), method, None).values[0].item()), words
        except (*OUTSIDE, TypeError):
            continue
    raise ArgumentError(f"error_curve: no derivative of {name_of(f)} to compare with: give `exact`{called_at()}")


assert set(SHOWN) <= set(METHODS)

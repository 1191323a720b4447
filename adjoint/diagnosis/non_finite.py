"""Finding NaN and infinities in arrays, and the words for them."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from adjoint.core.context import DerivativePlace, TangentPlace
from adjoint.core.errors import AdjointError, shown_place
from adjoint.core.spec import is_half
from adjoint.diagnosis.hints import hint_for

Place = tuple[str, int]


class NonFiniteError(AdjointError, FloatingPointError):
    """A NaN or an infinity that `ad.debug_nan` has found.

    `kind` is "nan" or "inf", `op` the op, `place` file and line, `shape` and `index` of the first such element, `stage` "forward",
    "backward" or "tangent", `iterations` those of the loops of a graph around it, outermost first.

    >>> import adjoint as ad
    >>> try:
    ...     with ad.debug_nan():
    ...         ad.ops.log(ad.Tensor([1.0, -2.0]))
    ... except ad.NonFiniteError as error:
    ...     print(error.kind, error.op, error.index, error.stage)
    nan Log() (1,) forward
    """

    kind: str = ""
    op: Any = None
    place: Place | None = None
    shape: tuple[int, ...] = ()
    index: tuple[int, ...] = ()
    stage: str = ""
    iterations: tuple[int, ...] = ()


@dataclass(frozen=True)
class Bad:
    """The first element of an array that is not a number, or infinite."""

    kind: str
    shape: tuple[int, ...]
    index: tuple[int, ...]
    count: int


def first_bad(x: Any, inf: bool) -> Bad | None:
    """The first NaN of an array of numbers, or the first infinity if those count and there is no NaN."""
    x = np.asarray(x)
    if x.dtype.kind not in "fc":
        if not is_half(x.dtype):
            return None
        x = x.astype(np.float32)
    if np.isfinite(x).all():
        return None
    for kind, where in (("nan", np.isnan), ("inf", np.isinf))[: 1 + inf]:
        found = where(x)
        if found.any():
            index = np.unravel_index(int(np.argmax(found)), x.shape)
            return Bad(kind, x.shape, tuple(map(int, index)), int(found.sum()))
    return None


def holds(xs: Sequence[np.ndarray], kind: str) -> bool:
    """Whether there is a NaN, or an infinity, in one of these arrays."""
    return any((bad := first_bad(x, inf=True)) is not None and (bad.kind == kind or _has_inf(x, kind)) for x in xs)


def _has_inf(x: Any, kind: str) -> bool:
    return kind == "inf" and bool(np.isinf(np.asarray(x, np.float32 if is_half(x.dtype) else None)).any())


@dataclass(frozen=True)
class Finding:
    """What is to be said of a NaN or an infinity."""

    bad: Bad
    op: Any
    place: Place | None
    inputs: tuple[np.ndarray, ...]
    stage: str = "forward"
    outside: str = ""  # where it was, if no op made it
    runs: int = 0  # how often the line has run
    iterations: tuple[int, ...] = ()
    incoming: bool = False  # whether the cotangent that came had it already
    step_of: str = ""  # what it is a step of the derivative of, in a graph

    def error(self) -> NonFiniteError:
        """The error to raise."""
        error = NonFiniteError("\n    ".join(self._lines()))
        bad = self.bad
        error.kind, error.op, error.place, error.stage = bad.kind, self.op, self.place, self.stage
        error.shape, error.index, error.iterations = bad.shape, bad.index, self.iterations
        return error

    def _lines(self) -> list[str]:
        bad, name = self.bad, {"nan": "NaN", "inf": "infinity"}[self.bad.kind]
        more = f" (the first of {bad.count})" if bad.count > 1 else ""
        where = f"element {list(bad.index)} of shape {bad.shape}{more}" if bad.shape else "a single number"
        lines = [f"{name} {self._what()}: {where}", self._line()]
        if self.iterations:
            shown = ", ".join(map(str, self.iterations))
            lines.append(f"in iteration {shown} of the loop{'s' * (len(self.iterations) > 1)}, counted from 0")
        elif self.runs > 1:
            lines.append(f"when this line ran for the {self.runs}{_ending(self.runs)} time")
        lines += [f"input {k}: {described(x, bad)}" for k, x in enumerate(self.inputs)]
        stage = "forward" if self.step_of else self.stage  # a step of a derivative is an op like any
        hint = hint_for(self.op, bad.kind, stage, _at(self.inputs, bad))
        if self.incoming:
            hint = "the gradient that came to this op held it already: look at the gradient that was passed in, or at a sum of them"
        return [*lines, *([f"Hint: {hint}"] if hint and not self.outside else [])]

    def _what(self) -> str:
        if self.outside:
            return f"was not computed here but came in, {self.outside}"
        if self.stage == "forward":
            return f"in the result of {self.op}"
        where = {"backward": "in the backward pass, ", "tangent": "in forward mode, "}[self.stage]
        if self.step_of:
            return f"{where}in {self.op}, a step of the derivative of {self.step_of}"
        return f"{where}in the derivative of {self.op}"

    def _line(self) -> str:
        if self.place is None:
            return "called at a line that is not known"
        return f"called at {shown_place(self.place)}"


def _ending(n: int) -> str:
    return "th" if 10 < n % 100 < 14 else {1: "st", 2: "nd", 3: "rd"}.get(n % 10, "th")


def _at(inputs: Sequence[np.ndarray], bad: Bad) -> list[Any] | None:
    """The elements of the inputs that made the bad one, where each element is made of one of each."""
    try:
        return [np.broadcast_to(x, bad.shape)[bad.index] for x in inputs]
    except ValueError:
        return None


def described(x: np.ndarray, bad: Bad) -> str:
    """Shape, dtype and range of an array, and its element where the bad one is."""
    text = f"{x.dtype} {x.shape}" if x.shape else f"{x.dtype}"
    x = x.astype(np.float32) if is_half(x.dtype) else x
    if x.dtype.kind not in "fc" or not x.size:
        return text
    good = x[np.isfinite(x)]
    if x.dtype.kind == "c":
        text += f", |x| up to {np.abs(good).max():.6g}" if good.size else ""
    elif x.shape and good.size:
        text += f", from {good.min():.6g} to {good.max():.6g}"
    for name, found in (("NaN", np.isnan(x)), ("infinite", np.isinf(x))):
        if x.shape and found.any():
            text += f", {int(found.sum())} {name}"
    values = _at([x], bad)
    return text if values is None else f"{text}, there {values[0]:.6g}"


def stage_of(place: Any) -> str:
    """What a step of a graph belongs to, by its place: "forward", "backward" or "tangent"."""
    if isinstance(place, TangentPlace):
        return "tangent"
    return "backward" if isinstance(place, DerivativePlace) else "forward"

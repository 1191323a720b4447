"""`ad.check_grads`: the derivatives of a user's function against differences, to second order, in every mode."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from adjoint.api.forward import jvp
from adjoint.api.grad import vjp
from adjoint.api.inputs import check_function, name_of
from adjoint.core import tree
from adjoint.core.errors import AdjointError, ArgumentError, boundary, called_at
from adjoint.core.placement import beside
from adjoint.core.progress import tracked
from adjoint.core.spec import is_inexact
from adjoint.core.tensor import Tensor
from adjoint.numeric.moved_inputs import OUTSIDE, MovedInputs, plain, wide
from adjoint.numeric.quotients import quotient
from adjoint.ops import imag, real

MODES = {"rev": "reverse mode", "fwd": "forward mode"}
EXECUTIONS = ("dynamic", "static")
FEW = 100  # elements of an input that are checked one by one; of a larger one so many, drawn at random
NOISE = 100  # times the precision: how far results that should be zero may be from it


class GradientMismatchError(AdjointError, AssertionError):
    """A derivative that is not what differences say; the message names the input, the element and both numbers."""


@dataclass(frozen=True)
class GradCheck:
    """What `check_grads` looked at, and the largest difference it saw, in parts of the largest derivative or result."""

    name: str
    comparisons: int
    largest: float
    checked: tuple[str, ...]

    def __str__(self) -> str:
        kinds = "; ".join(self.checked)
        return f"{self.name}: {self.comparisons} derivatives agree with differences to {self.largest:.0e} ({kinds})"


@boundary
def check_grads(
    f: Callable[..., Any],
    *args: Any,
    order: int = 2,
    modes: Sequence[str] = ("rev", "fwd"),
    execution: str | Sequence[str] = "dynamic",
    rtol: float | None = None,
    atol: float | None = None,
) -> GradCheck:
    """Compare the derivatives of `f` at `args` with differences; raises `GradientMismatchError` where they differ.

    Args:
        f: a function, Cell, or compiled function of arrays, Tensors, floats and containers of them; what is not made of
            floats is left alone. Results of any number and shape.
        order: up to which derivative. Those of higher order are compared with differences of the one below.
        modes: "rev" (vjp) and "fwd" (jvp); for the second derivative, each over each.
        execution: "dynamic", "static" (as `ad.jit(f)`), or both as a tuple.
        rtol, atol: what may differ, in parts of a derivative and as such. By default 1e-6 in double precision, 1e-2 in single,
            of the derivative and of the largest one of that input.

    The point must not be at a kink. Of an input with more than 100 elements, 100 are looked at, always the same ones.

    >>> import adjoint as ad
    >>> print(ad.check_grads(lambda x, y: ad.ops.sin(x) * y, 1.0, 2.0, order=1))
    <lambda>: 4 derivatives agree with differences to 3e-12 (reverse mode; forward mode)
    """
    check_function("check_grads", f)
    modes, executions = _listed(modes), _executions(execution)
    for name, value in (("rtol", rtol), ("atol", atol)):
        if value is not None and (isinstance(value, bool) or not (isinstance(value, (int, float)) and value >= 0)):
            raise ArgumentError(f"check_grads: {name} must be a number, zero or above, not {value!r}{called_at()}")
    if isinstance(order, bool) or not isinstance(order, int) or order < 1:
        raise ArgumentError(f"check_grads: order must be an integer above zero, not {order!r}{called_at()}")
    if not modes or not all(isinstance(x, str) and x in MODES for x in modes):
        raise ArgumentError(f'check_grads: modes must be some of "rev" and "fwd", not {modes!r}{called_at()}')
    work = _Check(f, args, rtol, atol)
    for kind in executions:
        work.floor = 0.0
        words = "" if executions == ("dynamic",) else f"{kind} "
        work.derivatives(work.call(_executed(f, kind)), work.inputs, words, order, modes)
    return GradCheck(name_of(f), work.comparisons, work.largest, tuple(work.done))


def _listed(names: Any) -> tuple[Any, ...]:
    return tuple(names) if isinstance(names, (tuple, list, set, frozenset)) else (names,)


def _executions(execution: Any) -> tuple[str, ...]:
    kinds = _listed(execution)
    if not kinds or not all(isinstance(x, str) and x in EXECUTIONS for x in kinds):
        raise ArgumentError(
            f'check_grads: execution must be "dynamic", "static" or both, not {execution!r}{called_at()}'
        )
    return kinds


def _executed(f: Callable[..., Any], kind: str) -> Callable[..., Any]:
    if kind == "dynamic":
        return f
    from adjoint.api.jit import jit

    return jit(f)


class _Check:
    """One run of `check_grads`: the floats among the arguments are the inputs, all else stays as it is."""

    def __init__(self, f: Callable[..., Any], args: Sequence[Any], rtol: float | None, atol: float | None) -> None:
        self.f, self.rtol, self.atol = f, rtol, atol
        self.name = name_of(f)
        self.leaves, self.rebuild = tree.flatten(tuple(args))
        self.places = [i for i, x in enumerate(self.leaves) if _is_float(x)]
        if any(map(_is_complex, self.leaves)):
            raise ArgumentError(
                f"check_grads: an argument of {self.name} is complex. Check it by real and imaginary parts: "
                f"lambda re, im: f(ops.complex(re, im)){called_at()}"
            )
        if not self.places:
            raise ArgumentError(
                f"check_grads: no argument of {self.name} is a float, or an array or Tensor of floats{called_at()}"
            )
        names = [name for name, _ in tree.paths(tuple(args), "argument ")]
        self.names = [names[i].replace("argument [", "argument ", 1).replace("]", "", 1) for i in self.places]
        self.inputs = [_as_tensor(self.leaves[i]) for i in self.places]
        self.rng = np.random.default_rng(0)
        self.comparisons, self.largest = 0, 0.0
        self.size = 0.0  # of the results
        self.floor = 0.0  # what rounding leaves of derivatives that are zero
        self.done: list[str] = []

    def call(self, f: Callable[..., Any]) -> Callable[..., Any]:
        """A function of the floats alone, whose results are those that are floats, in a tuple."""

        def floats(*xs: Any) -> tuple[Any, ...]:
            leaves = list(self.leaves)
            for i, x in zip(self.places, xs, strict=True):
                leaves[i] = x
            ys = tree.leaves(f(*self.rebuild(leaves)))
            parts = [part for y in ys for part in ((real(y), imag(y)) if _is_complex(y) else (y,))]
            kept = tuple(y for y in parts if _is_float(y))
            if not kept:
                raise ArgumentError(f"check_grads: {self.name} returned no floating-point number{called_at()}")
            return kept

        floats.__name__ = self.name
        return floats

    def derivatives(
        self, f: Callable[..., Any], inputs: list[Any], words: str, order: int, modes: Sequence[str]
    ) -> None:
        """The first derivative of a function in each mode, and of that, as a function, the ones above."""
        program = MovedInputs("check_grads", f, inputs, tuple(range(len(inputs))))
        if not all(np.isfinite(y).all() for y in program.here):
            raise ArgumentError(f"check_grads: {self.name} has a result that is not finite at this point{called_at()}")
        size = max(float(np.abs(y).max(initial=0.0)) for y in program.here)
        self.size = max(self.size, size)
        found = _Columns(self, program)
        for mode in modes:
            label = words + MODES[mode]
            (self.reverse if mode == "rev" else self.forward)(f, inputs, program, found, label)
            self.done.append(label)
        if order > 1:
            self.floor = max(self.floor, NOISE * program.precision * size)
            for mode in modes:
                derived = _pulled(f, program, self.rng) if mode == "rev" else _pushed(f, program, self.rng)
                self.derivatives(derived, inputs, f"{words}{MODES[mode]}, then ", order - 1, modes)

    def reverse(self, f: Any, inputs: list[Any], program: MovedInputs, found: _Columns, label: str) -> None:
        """One cotangent for all results together, each element of what it is pulled back to against differences."""
        gs = _directions(self.rng, program.here)
        _, pull = vjp(f, *inputs)
        pulled = [wide(g) for g in pull(*_fitting(gs, program.results))]
        sizes = sum(float(np.abs(g).sum()) for g in gs)
        for column in found:
            k, i = column.place

            def agrees(column: _Column, k: int = k, i: int = i) -> bool:
                want = np.array([sum(np.vdot(g, c) for g, c in zip(gs, column.values, strict=True))])
                scale, noise = found.scale[k] * _norm(gs), sizes * column.noise
                return not self.wrong(pulled[k].flat[i], want, scale, noise, program).any()

            if not agrees(column) and not agrees(column := found.looked_closer(k, i)):
                self.name_the_result(pull, program, column, label)

    def name_the_result(self, pull: Any, program: MovedInputs, column: _Column, label: str) -> None:
        """Fail for the result, and the element of it, whose derivative is farthest off."""
        k, i = column.place
        worst = (-1.0, 0, 0, 0.0, 0.0)
        for n, values in enumerate(column.values):
            for j in range(min(values.size, FEW)):
                gs = [np.zeros(c.shape) for c in column.values]
                gs[n].flat[j] = 1.0
                got, want = float(wide(pull(*_fitting(gs, program.results))[k]).flat[i]), float(values.flat[j])
                if not abs(got - want) <= worst[0]:
                    worst = abs(got - want), n, j, got, want
        self.fail(program, column, worst[1], worst[2], label, worst[3:])

    def forward(self, f: Any, inputs: list[Any], program: MovedInputs, found: _Columns, label: str) -> None:
        """The tangent of each result along each element of each input."""
        for column in found:
            k, i = column.place
            ts = [np.zeros(x.shape) for x in program.leaves]
            ts[k].flat[i] = 1.0
            tangents = [wide(t) for t in jvp(f, tuple(inputs), tuple(_fitting(ts, inputs)))[1]]
            for n, got in enumerate(tangents):
                wrong = self.wrong(got, column.values[n], found.scale[k], column.noise, program)
                if wrong.any():
                    column = found.looked_closer(k, i)
                    wrong = self.wrong(got, column.values[n], found.scale[k], column.noise, program)
                if wrong.any():
                    j = int(np.argmax(np.where(wrong, np.abs(got - column.values[n]), -1.0)))
                    self.fail(program, column, n, j, label, (got.flat[j], column.values[n].flat[j]))

    def wrong(self, got: Any, want: np.ndarray, scale: float, noise: float, program: MovedInputs) -> np.ndarray:
        """Which derivatives are not what differences say, as far as these can tell."""
        self.comparisons += want.size
        off = np.abs(got - want)
        relative = self.rtol if self.rtol is not None else _tolerance(program.precision)
        absolute = self.atol if self.atol is not None else relative * scale + 20 * noise + self.floor
        if self.atol is None and 20 * noise > scale and np.abs(got).max(initial=0.0) > 1e-4 * noise:
            raise ArgumentError(
                f"check_grads: differences of {self.name} cannot tell here: rounding makes them uncertain by {noise:.0e}, and its derivatives "
                f"are of size {scale:.0e}. Take a point where it bends less, leave out what is large and constant, or give `atol`{called_at()}"
            )
        wrong = ~(off <= relative * np.abs(want) + absolute)
        seen = (off / np.maximum(max(scale, self.size, 1e-300), np.abs(want)))[~wrong]
        self.largest = max(self.largest, float(seen.max(initial=0.0)))
        return wrong

    def fail(self, program: MovedInputs, column: _Column, n: int, j: int, label: str, both: Sequence[Any]) -> None:
        """Say which derivative it is, and both numbers."""
        k, i = column.place
        x, y = program.leaves[k], program.here[n]
        several = len(program.here) > 1
        of = f" of result {n}{_at(y, j)}" if several else f" of element {_at(y, j)} of the result" if y.ndim else ""
        got, want = (float(v) for v in both)
        raise GradientMismatchError(
            f"check_grads: {self.name}, {label}: the derivative{of} by {self.names[k]}{_at(x, i)} (= {x.flat[i]:.6g}) is {got:.10g}; "
            f"differences give {want:.10g}{_kink(program, k, i, n, j)}{called_at()}"
        )


def _kink(program: MovedInputs, k: int, i: int, n: int, j: int) -> str:
    """What is known where the slopes to the left and to the right differ."""
    try:
        left, right = (quotient(program, m, None, k, i).values[n].flat[j] for m in ("backward", "forward"))
    except OUTSIDE:
        return ""
    if abs(left - right) <= 1e-2 * max(abs(left), abs(right)):
        return ""
    return f". From the left they give {left:.6g}, from the right {right:.6g}: a kink or a jump is here; move the point"


@dataclass(frozen=True)
class _Column:
    """The derivatives of all results by one element of one input, and what rounding may have done to them."""

    place: tuple[int, int]
    values: list[np.ndarray]
    noise: float


class _Columns:
    """The derivatives by differences, for each element of each input that is looked at."""

    def __init__(self, check: _Check, program: MovedInputs) -> None:
        self.program = program
        places = [(k, int(i)) for k, x in enumerate(program.leaves) for i in _some(check.rng, x.size)]
        self.columns = [
            self.column("central", k, i) for k, i in tracked(places, f"differences of {check.name}", len(places))
        ]
        self.scale = [0.0] * len(program.leaves)  # the largest derivative by each input
        for column in self.columns:
            largest = max(float(np.abs(c).max(initial=0.0)) for c in column.values)
            self.scale[column.place[0]] = max(self.scale[column.place[0]], largest)

    def __iter__(self) -> Iterator[_Column]:
        return iter(self.columns)

    def column(self, method: str, k: int, i: int) -> _Column:
        found = quotient(self.program, method, None, k, i)
        size = max(float(np.abs(y).max(initial=0.0)) for y in self.program.here)
        finest = found.step if method == "central" else found.step / 2**7
        return _Column((k, i), found.values, self.program.precision * size / finest)

    def looked_closer(self, k: int, i: int) -> _Column:
        """One that does not agree, as well as it can be had."""
        return self.column("richardson", k, i)


def _fitting(values: Sequence[np.ndarray], like: Sequence[Any]) -> list[Any]:
    """Tangents or cotangents in the dtypes of what they belong to, and on its device."""
    return [beside(np.asarray(v, plain(x).dtype), x) for v, x in zip(values, like, strict=True)]


def _tolerance(precision: float) -> float:
    """What derivatives in a precision may differ from differences, in parts of their size."""
    return 1e-6 if precision < 1e-10 else 1e-2 if precision < 1e-4 else 0.1


def _some(rng: np.random.Generator, size: int) -> Sequence[int]:
    return range(size) if size <= FEW else sorted(rng.choice(size, FEW, replace=False))


def _is_float(x: Any) -> bool:
    if isinstance(x, float):
        return True
    dtype = getattr(x, "dtype", None)
    return isinstance(dtype, np.dtype) and is_inexact(dtype) and dtype.kind != "c"


def _as_tensor(x: Any) -> Any:
    """An input as a function that is differentiated is given it."""
    return x if isinstance(x, Tensor) else Tensor(np.asarray(x))


def _is_complex(x: Any) -> bool:
    return isinstance(x, complex) or getattr(getattr(x, "dtype", None), "kind", "") == "c"


def _at(x: np.ndarray, i: int) -> str:
    """The index of an element, behind the name of its array."""
    return "" if x.ndim == 0 else f"[{', '.join(map(str, np.unravel_index(i, x.shape)))}]"


def _norm(gs: Sequence[np.ndarray]) -> float:
    return math.sqrt(sum(float(np.vdot(g, g).real) for g in gs))


def _directions(rng: np.random.Generator, like: Sequence[np.ndarray]) -> list[np.ndarray]:
    """Random cotangents; 1 where there is a single number, whose derivatives the user knows."""
    if [y.size for y in like] == [1]:
        return [np.ones(like[0].shape)]
    return [np.asarray(rng.uniform(0.5, 1.5, y.shape) * rng.choice([-1.0, 1.0], y.shape)) for y in like]


def _pulled(f: Callable[..., Any], program: MovedInputs, rng: np.random.Generator) -> Callable[..., Any]:
    """The reverse-mode derivative as a function of the inputs."""
    gs = _fitting(_directions(rng, program.here), program.results)

    def pulled(*xs: Any) -> Any:
        return vjp(f, *xs)[1](*gs)

    return pulled


def _pushed(f: Callable[..., Any], program: MovedInputs, rng: np.random.Generator) -> Callable[..., Any]:
    """The forward-mode derivative as a function of the inputs."""
    ts = tuple(_fitting(_directions(rng, program.leaves), program.given))

    def pushed(*xs: Any) -> Any:
        return jvp(f, tuple(xs), ts)[1]

    return pushed

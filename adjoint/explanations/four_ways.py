"""`ad.compare`: a derivative by hand, by differences, by formulas and by automatic differentiation, side by side."""

from __future__ import annotations

import html
import os
import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from adjoint.api.forward import jvp
from adjoint.api.grad import grad
from adjoint.api.graphs import build_computational_graph, optimize_grad_graph, trace_function
from adjoint.api.inputs import check_function, name_of
from adjoint.api.jit import jit
from adjoint.core import context, drawing, tree
from adjoint.core.errors import AdjointError, ArgumentError, boundary, called_at
from adjoint.core.progress import tracked
from adjoint.core.tables import Table
from adjoint.numeric.difference_derivatives import gradient
from adjoint.numeric.moved_inputs import MovedInputs, wide
from adjoint.symbolic.expression_swell import operations, written_out
from adjoint.symbolic.formula_calculus import differentiated
from adjoint.symbolic.math_functions import with_math
from adjoint.symbolic.op_formulas import sympy
from adjoint.symbolic.sympy_expressions import NoClosedFormError, to_sympy
from adjoint.symbolic.sympy_functions import from_sympy

NUMERIC = {
    "forward": "forward difference",
    "central": "central difference",
    "richardson": "Richardson",
    "complex": "complex step",
}
FEW = 30  # inputs whose derivatives are written as formulas
DIGITS = 40  # of the derivative that the others are compared with
BUDGET = 0.02  # seconds that a call is timed for
FAMILIES = {"manual": 6, "numeric": 1, "symbolic": 4, "automatic": 0}  # colours


@dataclass(frozen=True)
class Way:
    """One way to the derivative."""

    family: str  # "manual", "numeric", "symbolic" or "automatic"
    name: str
    value: np.ndarray | None  # by all inputs, one after another; None where this way does not lead there
    error: float | None = None
    operations: int | None = None  # on floating-point numbers; None where they cannot be counted
    seconds: float | None = None
    preparation: float | None = None  # seconds before the first call: deriving formulas, compiling
    note: str = ""


@dataclass(frozen=True)
class FourWays:
    """The derivative of a function at a point, by every way that leads there."""

    name: str
    ways: tuple[Way, ...]
    reference: str  # what errors are measured against

    def __getitem__(self, name: str) -> Way:
        for way in self.ways:
            if way.name == name:
                return way
        raise ArgumentError(f"compare: no {name!r} among {', '.join(w.name for w in self.ways)}{called_at()}")

    @property
    def table(self) -> Table:
        head = ("way", "derivative", "error", "operations", "time", "preparation")
        return Table(head, [_cells(way) for way in self.ways])

    @property
    def notes(self) -> list[str]:
        """Why some ways do not lead there."""
        return [f"{way.name}: {way.note}" for way in self.ways if way.note]

    def _words(self) -> str:
        return f"the derivative of {self.name}; errors against {self.reference}"

    def __str__(self) -> str:
        return "\n".join([self._words(), self.table.text(), *self.notes])

    def markdown(self) -> str:
        """The table in Markdown."""
        return "\n".join([self.table.markdown(), *(f"\n{note}" for note in self.notes)])

    def draw(self, path: str | os.PathLike[str] | None = None) -> Any:
        """Error, operations and time, as a figure of matplotlib; with a path it is written there, as PNG, SVG or the like."""
        shown = [way for way in reversed(self.ways) if way.value is not None]
        made, axes = drawing.figure(3, width=10.0, height=1.3 + 0.34 * len(shown), sharey=True)
        floor = 1e-17
        panels: tuple[tuple[str, list[Any], Callable[[Any], str]], ...] = (
            (
                "error",
                [None if w.error is None else max(w.error, floor) for w in shown],
                lambda v: "0" if v <= floor else f"{v:.0e}",
            ),
            ("operations", [w.operations for w in shown], str),
            ("time of a call", [w.seconds for w in shown], _time),
        )
        colours = [drawing.COLOURS[FAMILIES[w.family]] for w in shown]
        for one, (title, values, words) in zip(axes, panels, strict=True):
            _bars(one, title, values, words, colours)
        axes[0].set_yticks(range(len(shown)), [w.name for w in shown])
        made.suptitle(self._words(), fontsize=11)
        if path is not None:
            drawing.save(made, path)
        return made

    def _repr_html_(self) -> str:
        notes = "".join(f"<p>{html.escape(note)}</p>" for note in self.notes)
        return f"<p>{html.escape(self._words())}</p>{self.table.html()}{notes}{drawing.picture_below(self.draw)}"


def _bars(axes: Any, title: str, values: Sequence[Any], words: Callable[[Any], str], colours: Sequence[str]) -> None:
    known = [v for v in values if v]
    low = min(known, default=1.0) / 3
    for height, (value, colour) in enumerate(zip(values, colours, strict=True)):
        if value is not None:
            axes.barh(height, max(value, low) - low, left=low, height=0.62, color=colour)
            axes.annotate(f" {words(value)}", (max(value, low), height), va="center", fontsize=8.5, color=drawing.INK)
    axes.set_xscale("log")
    axes.set_xlim(low, max(known, default=1.0) * (max(known, default=1.0) / low) ** 0.35)
    axes.set_title(title, fontsize=10)
    axes.grid(axis="y", visible=False)
    axes.tick_params(axis="y", length=0)


def _cells(way: Way) -> tuple[str, ...]:
    if way.value is None:
        return (way.name, "-", "-", "-", "-", "-")
    error = "-" if way.error is None else "0" if way.error == 0 else f"{way.error:.0e}"
    count = "-" if way.operations is None else str(way.operations)
    return (way.name, _shown(way.value), error, count, _time(way.seconds), _time(way.preparation))


def _shown(value: np.ndarray) -> str:
    if value.size <= 3:
        return ", ".join(f"{v:.12g}" if value.size == 1 else f"{v:.8g}" for v in value)
    return f"{value[0]:.6g}, {value[1]:.6g}, … ({value.size} numbers)"


def _time(seconds: float | None) -> str:
    if seconds is None:
        return "-"
    for unit, scale in (("s", 1.0), ("ms", 1e-3), ("µs", 1e-6)):
        if seconds >= scale:
            return f"{seconds / scale:.3g} {unit}"
    return f"{seconds * 1e9:.3g} ns"


@boundary
def compare(f: Callable[..., Any], *args: Any, manual: Callable[..., Any] | None = None) -> FourWays:
    """The derivative of `f` at `args` by all four ways: what each gives, how far it is off, what it costs.

    Args:
        f: a function with one real result, written with NumPy, `math` or `ad.ops`.
        args: floats, arrays, Tensors or containers of them; the derivative is by all of them.
        manual: the derivative by hand: a function of the same arguments that returns it, a tuple for several arguments.

    Errors are measured against the symbolic derivative in 40 digits where `f` is a formula, else against `manual` or reverse mode.

    >>> import adjoint as ad, math
    >>> found = ad.compare(lambda x: math.sin(x) * x, 1.0, manual=lambda x: math.cos(x) * x + math.sin(x))
    >>> [way.name for way in found.ways]  # doctest: +NORMALIZE_WHITESPACE
    ['manual', 'forward difference', 'central difference', 'Richardson', 'complex step', 'symbolic',
     'forward mode', 'reverse mode', 'reverse mode, compiled']
    >>> found["reverse mode"].error < 1e-15 < found["forward difference"].error
    True
    """
    check_function("compare", f)
    if manual is not None:
        check_function("compare: manual", manual)
    point = _Point(f, args)
    rows: list[Way] = []
    jobs: list[Callable[[], Way]] = [] if manual is None else [lambda: point.manual(manual)]
    jobs += [lambda m=m: point.numeric(m) for m in NUMERIC]  # type: ignore[misc]
    jobs += [point.symbolic, point.forward_mode, point.reverse_mode, point.compiled]
    for job in tracked(jobs, f"derivatives of {name_of(f)}", len(jobs)):
        rows.append(job())
    return FourWays(name_of(f), *point.judged(rows))


class _Point:
    """A function and where it is differentiated."""

    def __init__(self, f: Callable[..., Any], args: Sequence[Any]) -> None:
        self.f, self.name = f, name_of(f)
        self.args = tuple(tree.map(_floating, x) for x in args)
        self.moved = MovedInputs("compare", f, self.args, tuple(range(len(self.args))))
        if [y.size for y in self.moved.here] != [1] or self.moved.kinds == ["c"]:
            raise ArgumentError(f"compare: {self.name} must return one real number{called_at()}")
        if not np.isfinite(self.moved.here[0]).all():
            raise ArgumentError(f"compare: {self.name} is {self.moved.here[0].item()} at this point{called_at()}")
        if not self.args or not sum(x.size for x in self.moved.leaves):
            raise ArgumentError(f"compare: {self.name} has no input to differentiate by{called_at()}")
        self.positions = tuple(range(len(self.args)))
        self.ready = with_math(f)
        self.own: int | None = _count(lambda: trace_function(self.ready, self.args))  # operations of a call
        self.exact: np.ndarray | None = None

    def manual(self, rule: Callable[..., Any]) -> Way:
        given = rule(*self.args)
        for x in tree.leaves(given):
            if isinstance(x, (str, bytes)) or np.asarray(getattr(x, "_value", x)).dtype.kind not in "biufV":
                raise ArgumentError(
                    f"compare: manual returned a {type(x).__name__}, which is no real number: {x!r}{called_at()}"
                )
        found = _flat(given)
        size = sum(x.size for x in self.moved.leaves)
        if found.size != size:
            raise ArgumentError(
                f"compare: manual returned {found.size} numbers, and there are {size} inputs to differentiate by{called_at()}"
            )
        count = _count(lambda: trace_function(with_math(rule), self.args))
        return Way("manual", "manual", found, operations=count, seconds=_timed(lambda: rule(*self.args)))

    def numeric(self, method: str) -> Way:
        calls = 0

        def counted(*xs: Any) -> Any:
            nonlocal calls
            calls += 1
            return self.f(*xs)

        counted.__name__ = self.name

        def run(g: Callable[..., Any]) -> Any:
            return gradient(g, *self.args, grad_position=self.positions, method=method)

        try:
            found = _flat(run(counted))
        except (ArgumentError, TypeError) as error:
            return Way("numeric", NUMERIC[method], None, note=_first_line(error))
        count = None if self.own is None else calls * self.own
        return Way("numeric", NUMERIC[method], found, operations=count, seconds=_timed(lambda: run(self.f)))

    def symbolic(self) -> Way:
        size = sum(x.size for x in self.moved.leaves)
        if size > FEW:
            return Way("symbolic", "symbolic", None, note=f"formulas by {size} inputs would be too many")
        begun = time.perf_counter()
        try:
            s = sympy()
            symbols = [s.Symbol(f"x{k}", real=True) for k in range(size)]
            value = to_sympy(self._on_symbols(symbols), symbols)
            slopes = [differentiated(value, x) for x in symbols]
            run = _evaluated(symbols, slopes)
            numbers = [float(v) for x in self.moved.leaves for v in x.flat]
            found = _flat(run(*numbers))
        except (ImportError, NoClosedFormError, TypeError, ArithmeticError, ValueError) as error:
            return Way("symbolic", "symbolic", None, note=_first_line(error))
        preparation = time.perf_counter() - begun
        at = dict(zip(symbols, [s.Float(v, DIGITS) for v in numbers], strict=True))
        precise = [slope.evalf(DIGITS, subs=at) for slope in slopes]
        if all(p.is_Number and p.is_finite for p in precise):
            self.exact = np.array([float(p) for p in precise])
        count = sum(written_out(slope) for slope in slopes)
        return Way("symbolic", "symbolic", found, None, count, _timed(lambda: run(*numbers)), preparation)

    def _on_symbols(self, symbols: Sequence[Any]) -> Callable[[Any], Any]:
        """The function of one array that holds all inputs."""
        leaves, rebuild = tree.flatten(self.args)
        shapes = [x.shape for x in self.moved.leaves]
        ends = np.cumsum([x.size for x in self.moved.leaves]).tolist()
        ready = self.ready

        def filled(v: Any) -> Any:
            parts = [
                v[end - 1] if shape == () else v[end - int(np.prod(shape)) : end].reshape(shape)
                for shape, end in zip(shapes, ends, strict=True)
            ]
            return context.readable(ready)(*rebuild(parts))

        assert len(leaves) == len(shapes) and ends[-1] == len(symbols)
        filled.__name__ = self.name
        return filled

    def forward_mode(self) -> Way:
        rebuild = tree.flatten(self.args)[1]

        def by(k: int, i: int) -> Callable[..., Any]:
            ts = [np.zeros(x.shape, d) for x, d in zip(self.moved.leaves, self.moved.dtypes, strict=True)]
            ts[k].flat[i] = 1.0
            return lambda *xs: jvp(self.ready, xs, rebuild(ts))[1]

        def run() -> list[Any]:
            return [by(k, i)(*self.args) for k, x in enumerate(self.moved.leaves) for i in range(x.size)]

        one = _count(lambda: optimize_grad_graph(trace_function(by(0, 0), self.args)))
        count = None if one is None else one * sum(x.size for x in self.moved.leaves)
        return self._automatic("forward mode", run, count)

    def reverse_mode(self) -> Way:
        made = grad(self.ready, grad_position=self.positions)
        count = _count(lambda: trace_function(made, self.args))
        return self._automatic("reverse mode", lambda: made(*self.args), count)

    def compiled(self) -> Way:
        made = jit(grad(self.ready, grad_position=self.positions))
        count = _count(lambda: build_computational_graph(self.ready, self.args)[1])
        begun = time.perf_counter()
        found = self._automatic("reverse mode, compiled", lambda: made(*self.args), count)
        return found if found.value is None else replace(found, preparation=self.first - begun)

    def _automatic(self, name: str, run: Callable[[], Any], count: int | None) -> Way:
        try:
            found = _flat(run())
        except AdjointError as error:
            return Way("automatic", name, None, note=_first_line(error))
        self.first = time.perf_counter()  # when the first call had been made
        return Way("automatic", name, found, operations=count, seconds=_timed(run))

    def judged(self, rows: list[Way]) -> tuple[tuple[Way, ...], str]:
        """The rows with their errors, and what these are measured against."""
        if self.exact is not None:
            exact, reference, own = self.exact, f"the symbolic derivative in {DIGITS} digits", None
        else:
            best = next((w for w in rows if w.name in ("manual", "reverse mode") and w.value is not None), None)
            if best is None or best.value is None:
                return tuple(rows), "nothing: no way here is exact"
            exact, reference, own = best.value, best.name, best
        judged = [
            w if w is own or w.value is None else replace(w, error=float(np.abs(w.value - exact).max())) for w in rows
        ]
        return tuple(judged), reference


def _evaluated(symbols: Sequence[Any], slopes: Sequence[Any]) -> Callable[..., Any]:
    """The formulas as plain Python, by SymPy itself where it can."""
    made = sympy().lambdify(symbols, list(slopes), "math")
    try:
        made(*[0.5] * len(symbols))
    except (NameError, TypeError):
        return from_sympy(tuple(slopes), symbols)
    except (ArithmeticError, ValueError):
        pass
    return made  # type: ignore[no-any-return]


def _floating(x: Any) -> Any:
    return float(x) if isinstance(x, int) and not isinstance(x, bool) else x


def _flat(value: Any) -> np.ndarray:
    """All numbers of a derivative, one after another."""
    parts = [wide(x).ravel() for x in tree.leaves(value)]
    return np.concatenate(parts) if parts else np.zeros(0)


def _count(make: Callable[[], Any]) -> int | None:
    """The operations of a graph, if there is one."""
    try:
        return operations(make())
    except (AdjointError, TypeError, ValueError, AttributeError):
        return None


def _first_line(error: Exception) -> str:
    return str(error).split("\n")[0]


def _timed(run: Callable[[], Any]) -> float:
    """The seconds of a call, the least of some."""
    best, begun = float("inf"), time.perf_counter()
    while time.perf_counter() - begun < BUDGET:
        start = time.perf_counter()
        run()
        best = min(best, time.perf_counter() - start)
    return best if best < float("inf") else time.perf_counter() - begun

"""`ad.explain`: a program's steps with their numbers, and the derivatives that go through them, as a table."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from contextlib import nullcontext
from typing import Any

import numpy as np

from adjoint.api.arguments import Signature
from adjoint.api.inputs import check_cotangent, check_function, held, name_of, ones_like, output_leaves, whole
from adjoint.core import context, tree
from adjoint.core.absent import ZERO, instantiate
from adjoint.core.dispatch import Value
from adjoint.core.errors import ArgumentError, ArgumentTypeError, boundary, called_at, user_place
from adjoint.core.parameter import Parameter, resolve
from adjoint.core.spec import dtype_of, has_derivative
from adjoint.explanations.equations import Equation, Equations, Row, Symbol
from adjoint.explanations.explanation import Explanation
from adjoint.explanations.notation import shown_value
from adjoint.explanations.rule_formulas import name
from adjoint.explanations.steps_taken import Recorder, TableValue, TrackedParameters, number, pull, push, reached
from adjoint.explanations.variables import Watching
from adjoint.frontend.errors import ControlFlowError

COLUMNS = {
    "reverse": ("primal", "where", "adjoints"),
    "forward": ("primal", "where", "tangents"),
    "both": ("primal", "where", "tangents", "adjoints"),
}
NUMBERS = (Value, np.ndarray, np.generic, float, complex)


@boundary
def explain(
    fn: Callable[..., Any],
    *args: Any,
    mode: str = "reverse",
    wrt: int | str | Sequence[int | str] | None = None,
    tangents: Any = None,
    max_rows: int = 60,
    **kwargs: Any,
) -> Explanation:
    """What a function computes for these arguments and how its derivative comes about: a table of steps, formulas and numbers.

    Every op that runs is a row: a loop shows each of its iterations, a branch the side that was taken. Beside it stands what it gives
    to the adjoints of its inputs (read upwards), by the op's own derivative rule, or its tangent.

    Args:
        fn: a function or Cell. Parameters that it reads are inputs of the table too.
        args: its arguments; containers of arrays are taken apart.
        mode: "reverse" for adjoints, "forward" for tangents, "both" for both.
        wrt: the inputs to differentiate by, as positions or names; all of them if it is not given. Forward mode, which takes one
            run for each direction, then goes along the first.
        tangents: forward mode's direction, one entry for each of `wrt` or a dictionary by their names; ones if it is not given.
        max_rows: steps to show, and inputs; of more the first and the last ones are shown.
        kwargs: further arguments of the function.

    >>> import adjoint as ad
    >>> table = ad.explain(lambda x: x * ad.ops.sin(x), 2.0)
    >>> print(table)
    <lambda>(x) at x = 2
    <BLANKLINE>
    Forward primal trace ↓            │ Reverse adjoint trace ↑
    ──────────────────────────────────┼──────────────────────────────
    v₀ = x = 2                        │ x̄ = v̄₀ = 0.077
    ──────────────────────────────────┼──────────────────────────────
    v₁ = sin v₀ = sin 2 = 0.9093      │ v̄₀ = v̄₀ + v̄₁ × cos v₀ = 0.077
    v₂ = v₀ × v₁ = 2 × 0.9093 = 1.819 │ v̄₁ = v̄₂ × v₀ = 2
                                      │ v̄₀ = v̄₂ × v₁ = 0.9093
    ──────────────────────────────────┼──────────────────────────────
    y = v₂ = 1.819                    │ v̄₂ = ȳ = 1
    >>> table.gradients
    {'x': array(0.07700375)}
    """
    check_function("explain", fn)
    if mode not in COLUMNS:
        raise ArgumentError(f"explain: mode must be 'reverse', 'forward' or 'both', not {mode!r}{called_at()}")
    if mode == "reverse" and tangents is not None:
        raise ArgumentError(f"explain: reverse mode takes no tangents: add mode='forward' or mode='both'{called_at()}")
    if not isinstance(max_rows, int) or max_rows < 1:
        raise ArgumentError(f"explain: max_rows must be a positive integer, not {max_rows!r}{called_at()}")
    try:
        run = _RecordedCall(fn, args, kwargs)
    except (
        ControlFlowError
    ):  # who watches variables holds what they hold, and a store in a compiled part may look shared
        run = _RecordedCall(fn, args, kwargs, watched=False)
    return _Table(run, mode, wrt, tangents, max_rows).explanation()


class _RecordedCall:
    """The function, run once on a tape that notes its steps."""

    def __init__(
        self, fn: Callable[..., Any], args: tuple[Any, ...], kwargs: dict[str, Any], watched: bool = True
    ) -> None:
        watching = Watching(self._seen) if watched else nullcontext()
        self.fn, self.recorder, self.called = fn, Recorder(), user_place()
        self.inputs: dict[str, TableValue] = {}
        self.positions: dict[str, int] = {}
        signature = Signature(fn)
        leaves, rebuild = tree.flatten((args, kwargs))
        tracked = []
        for (path, _), leaf in zip(tree.paths((args, kwargs)), leaves, strict=True):
            symbol = signature.describe(path).strip("`").replace("argument ", "arg")
            tracked.append(self._tracked(leaf, symbol, path))
        bound = TrackedParameters(context.bindings.get(), self.recorder, lambda p: p.requires_grad)
        try:
            with context.setting(context.bindings, bound), watching:
                given, named = rebuild(tracked)
                self.out = whole(context.readable(fn)(*given, **named))
        finally:
            self.recorder.ended = True
        for p, entry in bound.entries.items():
            self.inputs[self._free(p.name)] = entry
        self._number()

    def _seen(self, name: str, value: Any) -> None:
        self.recorder.note(name, value)

    def _tracked(self, leaf: Any, symbol: str, path: str) -> Any:
        """A Tensor of the tape for a number that has derivatives; anything else as it is."""
        value = resolve(leaf, for_backward=False) if isinstance(leaf, Parameter) else leaf
        if not isinstance(value, NUMBERS) or not has_derivative(dtype_of(value)):
            return leaf
        x, entry = self.recorder.input(held(value), symbol)
        symbol = self._free(symbol)
        self.inputs[symbol] = entry
        if path.startswith("[0]["):
            self.positions[symbol] = int(path[4:].partition("]")[0])
        return x

    def _free(self, symbol: str) -> str:
        """The name, or one that no other input has."""
        taken, k = symbol, 2
        while taken in self.inputs:
            taken, k = f"{symbol}_{k}", k + 1
        return taken

    def _number(self) -> None:
        """Inputs are v₁₋ₙ to v₀, steps v₁ and so on."""
        for k, entry in enumerate(self.inputs.values()):
            entry.index = k + 1 - len(self.inputs)
        k = 0
        for step in self.recorder.steps:
            for y in step.results:
                k += 1
                y.index = k
                y.name = y.name or self.recorder.names.get(y.record, "")  # type: ignore[arg-type]

    def outputs(self) -> list[Any]:
        """The results that have derivatives."""
        return output_leaves("explain", self.fn, self.out)


class _Table:
    """The rows for one way of differentiating."""

    def __init__(self, run: _RecordedCall, mode: str, wrt: Any, tangents: Any, max_rows: int) -> None:
        self.run, self.mode, self.max_rows = run, mode, max_rows
        self.steps = run.recorder.steps
        self.outputs = run.outputs()
        self.equations = Equations()
        self.wrt = self._chosen(wrt)
        self.result = self._result_name()
        self.ends = [run.recorder.held.get(y._extra) if self._mine(y) else None for y in self.outputs]
        self.adjoints: dict[TableValue, Any] = {}
        self.pulled: dict[Any, Any] = {}
        self.pushed: dict[TableValue, Any] = {}
        sources = [run.inputs[s] for s in self.wrt]
        if mode != "forward":
            seeds = [(y, ones_like(v)) for y, v in zip(self.ends, self.outputs, strict=True) if y is not None]
            self.adjoints, self.pulled = pull(self.steps, seeds, reached(self.steps, sources))
        if mode != "reverse":
            along = self.wrt[:1] if wrt is None and tangents is None else self.wrt
            self.pushed = push(self.steps, self._directions(along, tangents))

    def _mine(self, y: Any) -> bool:
        return isinstance(y, Value) and y._trace is self.run.recorder

    def _chosen(self, wrt: Any) -> list[str]:
        symbols = list(self.run.inputs)
        if not symbols:
            raise ArgumentError(
                f"explain: no argument of {name_of(self.run.fn)} has a derivative: give floats or arrays of them{called_at()}"
            )
        if wrt is None:
            return symbols
        found: list[str] = []
        for w in wrt if isinstance(wrt, (tuple, list)) else [wrt]:
            if isinstance(w, bool) or not isinstance(w, (int, str)):
                raise ArgumentTypeError(f"explain: wrt takes positions and names of arguments, not {w!r}{called_at()}")
            mine = [s for s in symbols if self._is(s, w)]
            if not mine:
                raise ArgumentError(
                    f"explain: there is no input {w!r} here; there are {', '.join(symbols)}{called_at()}"
                )
            found += [s for s in mine if s not in found]
        return found

    def _result_name(self) -> str:
        """What results are called: y, or a letter that no input has, alone or with a number."""
        taken = {s.partition("[")[0].partition(".")[0].rstrip("0123456789_") for s in self.run.inputs}
        return next((c for c in "yzwuf" if c not in taken), "result")

    def _is(self, symbol: str, w: int | str) -> bool:
        if isinstance(w, int):
            return self.run.positions.get(symbol) == w
        return symbol == w or (symbol.startswith(w) and symbol[len(w)] in "[.")

    def _directions(self, symbols: list[str], tangents: Any) -> dict[TableValue, Any]:
        entries = [self.run.inputs[s] for s in symbols]
        if tangents is None:
            return {x: np.ones_like(number(x.value))[()] for x in entries}
        if isinstance(tangents, dict):
            tangents = self._by_name(symbols, tangents)
        elif len(entries) == 1 and not isinstance(tangents, (tuple, list)):
            tangents = [tangents]
        given = list(tree.paths(tangents))
        if len(given) != len(entries):
            raise ArgumentError(
                f"explain: {len(given)} tangents for {len(entries)} inputs: {', '.join(symbols)}{called_at()}"
            )
        for (path, _), s in zip(given, symbols, strict=True):
            inside = path.partition("]")[2]
            if not s.endswith(inside):
                raise ArgumentError(
                    f"explain: the tangents have {inside} where the inputs have {s}: give them in this order{called_at()}"
                )
        pairs = zip(entries, given, symbols, strict=True)
        return {x: check_cotangent(f"explain: the tangent of {s}", t, x.value) for x, (_, t), s in pairs}

    def _by_name(self, symbols: list[str], tangents: dict[Any, Any]) -> list[Any]:
        """Tangents that are given by the names of inputs, in the order of the inputs."""
        if set(tangents) != set(symbols):
            raise ArgumentError(
                f"explain: a dictionary of tangents has the names of the inputs, {', '.join(symbols)}, "
                f"and not {', '.join(map(str, tangents))}{called_at()}"
            )
        return [tangents[s] for s in symbols]

    # ------------------------------------------------------------ rows

    def explanation(self) -> Explanation:
        """The table."""
        inputs, _ = self._abbreviated(list(self.run.inputs.items()), "inputs", lambda pair: self._input(*pair))
        body, left_out = self._abbreviated(self.steps, "steps", self._step)
        outputs = [self._output(k) for k in range(len(self.outputs))]
        at = ", ".join(f"{s} = {shown_value(number(x.value))}" for s, x in self.run.inputs.items())
        title = f"{name_of(self.run.fn)}({', '.join(self.run.inputs)})"
        title = title if len(title) < 100 else f"{name_of(self.run.fn)} of {len(self.run.inputs)} inputs"
        title = f"{title} at {at}" if len(title) + len(at) < 100 else title
        gradients = {}
        if self.mode != "forward":
            entries = {s: self.run.inputs[s] for s in self.wrt}
            gradients = {s: number(instantiate(self.adjoints.get(x, ZERO), x.value)) for s, x in entries.items()}
        value = tree.map(lambda y: number(y)[()] if isinstance(y, Value) else y, self.run.out)
        ends = [number(self.pushed[y]) for y in self.ends if y is not None and y in self.pushed]
        tangent = None if self.mode == "reverse" else ends[0] if len(ends) == 1 else tuple(ends)
        rows = [*inputs, *body, *outputs]
        several = len({row.place[0] for row in rows if row.place is not None}) > 1
        for row in rows:
            row.several_files = several
        columns = tuple(c for c in COLUMNS[self.mode] if c != "where" or any(r.where for r in rows))
        return Explanation(title, columns, rows, value, gradients, tangent, left_out, self.equations.constant)

    def _abbreviated(self, entries: list[Any], what: str, row: Callable[[Any], Row]) -> tuple[list[Row], int]:
        """The rows of the first and last entries, and how many between them are left out."""
        if len(entries) <= self.max_rows:
            return [row(x) for x in entries], 0
        first = (self.max_rows + 1) // 2
        last = self.max_rows - first
        left_out = len(entries) - self.max_rows
        gap = Row(None, kind="gap", note=f"… {left_out} {what} left out (max_rows={self.max_rows}) …")
        return [*map(row, entries[:first]), gap, *map(row, entries[len(entries) - last :])], left_out

    def _input(self, symbol: str, x: TableValue) -> Row:
        row = Row(Equation(name("V", x.index), (Symbol(symbol),), number(x.value)), kind="input")
        if x in self.pushed:
            row.tangents.append(Equation(name("T", x.index), (Symbol(symbol, "T"),), number(self.pushed[x])))
        elif self.mode != "reverse":
            row.tangents.append(Equation(name("T", x.index), (Symbol(symbol, "T"),), np.zeros_like(number(x.value))))
        if self.mode != "forward" and symbol in self.wrt:
            total = number(instantiate(self.adjoints.get(x, ZERO), x.value))
            row.adjoints.append(Equation(Symbol(symbol, "G"), (name("G", x.index),), total))
        return row

    def _step(self, step: Any) -> Row:
        variables = ", ".join(y.name for y in step.results if y.name)
        place = step.place if step.place != self.run.called else None  # a network of ours has no line of the user's
        row = Row(self.equations.primal(step), place=place, variables=variables)
        if step in self.pulled:
            row.adjoints = self.equations.adjoints(step, self.pulled[step])
        if self.pushed:
            row.tangents = self.equations.tangents(step, self.pushed)
        return row

    def _output(self, k: int) -> Row:
        symbol = self.result if len(self.outputs) == 1 else f"{self.result}{k + 1}"
        y, entry = self.outputs[k], self.ends[k]
        sides = () if entry is None else (name("V", entry.index),)
        row = Row(Equation(Symbol(symbol), sides, number(y)), kind="output")
        if entry is not None and entry in self.pushed:
            row.tangents.append(Equation(Symbol(symbol, "T"), (name("T", entry.index),), number(self.pushed[entry])))
        if entry is not None and entry in self.adjoints:
            row.adjoints.append(Equation(name("G", entry.index), (Symbol(symbol, "G"),), np.ones_like(number(y))))
        return row

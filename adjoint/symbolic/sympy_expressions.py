"""From a Python function to a SymPy expression: the function is traced, and its graph computed with symbols."""

from __future__ import annotations

import inspect
import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from adjoint.api.graphs import traced
from adjoint.api.inputs import check_function, name_of
from adjoint.core import context
from adjoint.core.errors import AdjointError, ArgumentError, boundary, called_at, shown_place
from adjoint.graph.control import Cond, Loop
from adjoint.graph.node import Const, Graph, Node, Pick
from adjoint.graph.walk import interpret
from adjoint.symbolic.math_functions import with_math
from adjoint.symbolic.op_formulas import HANDED_ON, LOGICAL, MOVES, formulas, number, sympy

NUMBERS = (bool, int, float)


class NoClosedFormError(AdjointError):
    """What cannot be written as one formula: a branch, a loop of unknown length, a function without a name in mathematics."""


@dataclass(frozen=True)
class Expression:
    """What a function is in SymPy, and its inputs, in order."""

    value: Any
    symbols: tuple[Any, ...]
    name: str


@boundary
def to_sympy(f: Callable[..., Any], *inputs: Any) -> Any:
    """The formula that a Python function computes, as an expression of SymPy's.

    The function is written as for NumPy or `math`. Loops over a known number of items are unrolled; a branch on a value is
    refused, since it is no formula; `np.where`, `abs` and `max` are.

    Args:
        f: the function; a tuple, list or dict of results gives one of expressions.
        inputs: what to call it with: symbols, expressions, Python numbers, which stay what they are, and arrays or (nested) lists of them for arrays. By default
            a real symbol with the name of each parameter that has no default.

    >>> from adjoint import symbolic
    >>> import math
    >>> symbolic.to_sympy(lambda x, y: math.log(x) + x * y - math.sin(y))
    x*y + log(x) - sin(y)
    >>> symbolic.to_sympy(lambda v: (v**2).sum(), ["a", "b"])
    a**2 + b**2
    """
    return expression(f, *inputs).value


def expression(f: Any, *inputs: Any) -> Expression:
    """As `to_sympy`, with the symbols; what is an expression already is taken as it is."""
    s = sympy()
    if isinstance(f, (s.Basic, s.MatrixBase, str, int, float)):
        value = f if isinstance(f, (s.Basic, s.MatrixBase)) else s.sympify(f)
        if inputs:
            raise ArgumentError(
                f"to_sympy: an expression has its symbols already; inputs are for functions{called_at()}"
            )
        return Expression(value, tuple(sorted(value.free_symbols, key=str)), "expression")
    check_function("to_sympy", f)
    chosen = inputs or [s.Symbol(name, real=True) for name in _parameters(f)]
    given = [x if isinstance(x, NUMBERS) else _values(x) for x in chosen]
    arrays = [x for x in given if isinstance(x, np.ndarray)]
    symbols = dict.fromkeys(a for x in arrays for e in x.flat for a in sorted(e.free_symbols, key=str))
    value = _computed(f, given)
    return Expression(value, tuple(symbols), name_of(f))


def _parameters(f: Any) -> list[str]:
    """The names of the parameters that a call must give."""
    try:
        found = inspect.signature(f.construct if hasattr(f, "construct") else f).parameters.values()
    except (TypeError, ValueError):
        return ["x"] if getattr(f, "nin", 1) == 1 else [f"x{k}" for k in range(1, f.nin + 1)]
    if any(p.kind is p.VAR_POSITIONAL for p in found):
        raise ArgumentError(
            f"to_sympy: {name_of(f)} takes any number of arguments: give the inputs, to_sympy(f, x, y){called_at()}"
        )
    return [p.name for p in found if p.default is p.empty and p.kind in (p.POSITIONAL_ONLY, p.POSITIONAL_OR_KEYWORD)]


def _values(x: Any) -> np.ndarray:
    """An input as an array of expressions."""
    s = sympy()
    if isinstance(x, str):
        return _filled((), [s.Symbol(x, real=True)])
    if isinstance(x, s.MatrixExpr):
        x = x.as_explicit()
    if isinstance(x, (s.MatrixBase, s.NDimArray)):
        return _filled(tuple(x.shape), list(x))
    if isinstance(x, s.Basic):
        return _filled((), [x])
    if isinstance(x, (list, tuple)):
        parts = [_values(part) for part in x]
        if len({p.shape for p in parts}) > 1:
            raise ArgumentError(f"to_sympy: the rows of an input have several lengths{called_at()}")
        return _filled((len(parts), *(parts[0].shape if parts else ())), [e for p in parts for e in p.flat])
    array = np.asarray(x)
    if array.dtype.kind not in "biufcO" or not all(
        isinstance(e, (s.Basic, complex, *NUMBERS, np.number)) for e in array.flat
    ):
        raise ArgumentError(f"to_sympy: a {type(x).__name__} is no symbol, number or array of them{called_at()}")
    return _filled(array.shape, [e if isinstance(e, s.Basic) else number(_python(e)) for e in array.flat])


def _python(x: Any) -> Any:
    return x.item() if isinstance(x, np.generic) else x


def _filled(shape: tuple[int, ...], values: Sequence[Any]) -> np.ndarray:
    made = np.empty(shape, object)
    for k, value in enumerate(values):
        made.flat[k] = value
    return made


def _computed(f: Callable[..., Any], given: list[Any]) -> Any:
    """The results of a function for expressions; numbers among the arguments are part of the program."""
    arrays = [x for x in given if isinstance(x, np.ndarray)]
    samples = [0.5 if x.ndim == 0 else np.full(x.shape, 0.5) for x in arrays]
    ready = with_math(f)

    def filled(*values: Any) -> Any:
        rest = iter(values)
        return context.readable(ready)(*(next(rest) if isinstance(x, np.ndarray) else x for x in given))

    try:
        graph, rebuild = traced(ready if len(arrays) == len(given) else filled, samples)
    except AdjointError as error:
        raise NoClosedFormError(f"to_sympy: {name_of(f)} is no formula: {error}") from None
    if len(graph.params) > len(arrays):
        raise NoClosedFormError(
            f"to_sympy: {name_of(f)} reads Parameters, or draws random numbers, which are no part of a formula. Make them arguments"
        )
    if graph.effects:
        place = graph.effects[0].place
        raise NoClosedFormError(f"to_sympy: {name_of(f)} prints, checks or stores{_where(place)}; a formula cannot")
    return _rebuilt(rebuild, _outputs(graph, arrays, name_of(f)))


def _rebuilt(rebuild: Callable[[list[Any]], Any], ys: list[np.ndarray]) -> Any:
    s = sympy()
    return rebuild([y.item() if y.ndim == 0 else s.Array(y.tolist(), y.shape) for y in ys])


def _outputs(graph: Graph, values: Sequence[np.ndarray], name: str) -> list[np.ndarray]:
    return interpret(graph, values, lambda node, inputs: _step(node, inputs, name))


def _step(node: Node, inputs: list[Any], name: str) -> Any:
    """One node of a graph on arrays of expressions."""
    op = node.op
    if isinstance(op, Const):
        array = np.asarray(op.value)
        return _filled(array.shape, [number(_python(e)) for e in array.flat])
    if isinstance(op, Pick):
        return inputs[0][op.index]
    if isinstance(op, Loop) and op.test is None and not op.guarded:
        return _unrolled(op, inputs, name)
    kind = type(op).__name__
    if kind in HANDED_ON:
        return inputs[0]
    if kind == "Cast":
        return _cast(node, inputs[0], name)
    if kind in ("Max", "Min"):
        return _peak(op, inputs[0], kind)
    if kind in MOVES:
        found = op.eval(np, *inputs)
        return [_array(y) for y in found] if isinstance(found, (tuple, list)) else _array(found)
    formula = formulas().get(kind)
    if formula is None:
        raise _refused(node, name)
    if kind not in LOGICAL:  # True counts as 1
        inputs = [_counted(x) if n.dtype.kind == "b" else x for n, x in zip(node.inputs, inputs, strict=True)]
    rows = np.broadcast_arrays(*inputs)
    return _filled(rows[0].shape, [formula(op, *parts) for parts in zip(*(r.flat for r in rows), strict=True)])


def _array(y: Any) -> np.ndarray:
    return y if isinstance(y, np.ndarray) else _filled((), [y])


def _unrolled(op: Loop, inputs: list[Any], name: str) -> list[np.ndarray]:
    """A loop with a known number of iterations, one after another."""
    carry, stacked, constants = op.parts(inputs)
    n = op.iterations(stacked)
    rows: list[list[np.ndarray]] = [[] for _ in op.body.outputs[op.carried :]]
    for k in range(n):
        at = n - 1 - k if op.backwards else k
        out = _outputs(op.body, [*carry, *(_array(s[at]) for s in stacked), *constants], name)
        carry, out = out[: op.carried], out[op.carried :]
        for kept, y in zip(rows, out, strict=True):
            kept.append(y)
    specs = op.body.specs[op.carried :]
    return [
        *carry,
        *(
            _filled((n, *s.shape), [e for y in (kept[::-1] if op.backwards else kept) for e in y.flat])
            for kept, s in zip(rows, specs, strict=True)
        ),
    ]


def _cast(node: Node, x: np.ndarray, name: str) -> np.ndarray:
    """Another dtype: the same number, unless what is cut off would be lost."""
    s = sympy()
    before, after = node.inputs[0].dtype.kind, node.op.dtype.kind
    if after == "b" and before != "b":
        return _filled(x.shape, [s.Ne(e, 0) for e in x.flat])
    if before == "b" and after != "b":
        return _counted(x)
    if before == "f" and after in "iu":
        raise _refused(node, name)
    return x


def _counted(x: np.ndarray) -> np.ndarray:
    """Truth values as numbers."""
    s = sympy()
    return _filled(x.shape, [s.Piecewise((1, e), (0, True)) for e in x.flat])


def _peak(op: Any, x: np.ndarray, kind: str) -> np.ndarray:
    """The largest or smallest element along some axes."""
    s = sympy()
    axes = tuple(range(x.ndim)) if op.axes is None else tuple(a % x.ndim for a in op.axes)
    kept = [a for a in range(x.ndim) if a not in axes]
    rest = tuple(x.shape[a] for a in kept)
    rows = np.transpose(x, [*kept, *axes]).reshape(math.prod(rest), -1)
    peaks = [getattr(s, kind)(*row) for row in rows]
    shape = tuple(1 if a in axes else n for a, n in enumerate(x.shape)) if op.keepdims else rest
    return _filled(shape, peaks)


def _where(place: tuple[str, int] | None) -> str:
    return f"\n    at {shown_place(place)}" if place is not None else ""


def _refused(node: Node, name: str) -> NoClosedFormError:
    """Why a step is no part of a formula, and what to do."""
    op = node.op
    if isinstance(op, Cond):
        why = "a branch on a value is no formula. Write np.where(condition, a, b), or max, min and abs, which are"
    elif isinstance(op, Loop):
        why = "a loop whose length depends on a value is no formula. Loop a fixed number of times"
    elif type(op).__name__ == "StopGradient":
        why = "stop_gradient, which softmax and others use inside, is no part of a formula. Write what it is for without it"
    else:
        why = f"{type(op).__name__} has no formula in SymPy here. ad.grad differentiates it all the same"
    return NoClosedFormError(f"to_sympy: {name}: {why}{_where(node.place)}")

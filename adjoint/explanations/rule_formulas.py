"""Formulas of steps and of their derivatives. Those of derivatives are the cards' own rules, traced as graphs and written out.

Names in a formula stand for values: `V_3` for the value of index 3 (`V_m1` for that of index -1), `G_3` for its adjoint, `T_3` for
its tangent, `K_0` for a constant array.
"""

from __future__ import annotations

import ast
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from adjoint.core.absent import ZERO
from adjoint.core.spec import Spec, dtype_of, shape_of, spec_of
from adjoint.explanations.spelling import NoSpellingError, filled, parsed, spelled
from adjoint.explanations.steps_taken import StepTaken, number
from adjoint.graph.node import Const, Graph, Node, Param, Pick
from adjoint.graph.trace import trace
from adjoint.passes import optimise

#: Nodes in one formula; longer ones say nothing to a reader.
LONGEST = 24
OFF = ("cse", "merge", "kept", "strength", "motion", "hoist", "fission", "again", "inplace")


def name(kind: str, index: int) -> ast.Name:
    """The name of a value, of its adjoint or of its tangent in a formula."""
    return ast.Name(f"{kind}_{index}".replace("-", "m"))


class Formulas:
    """Writes the formulas of a table. `constants` collects the arrays that its steps compute with."""

    def __init__(self) -> None:
        self.constants: list[np.ndarray] = []

    def value(self, step: StepTaken) -> ast.expr | None:
        """What a step computes."""
        specs = [spec_of(x) for x in step.inputs]
        results = [_spec(y.value) for y in step.results]
        try:
            tree = spelled(step.op, specs, tuple(results) if step.several else results[0])
        except NoSpellingError:
            return _named(step.op, [self._operand(step, k) for k in range(len(specs))])
        return filled(tree, [self._operand(step, k) for k in range(len(specs))])

    def pulled(self, step: StepTaken, gs: Sequence[Any], positions: Sequence[int]) -> list[ast.expr | None]:
        """What a step gives to the adjoints of the inputs at these positions."""
        count = len(gs)

        def rule(*values: Any) -> list[Any]:
            cotangents, ys, xs = values[:count], values[count : 2 * count], values[2 * count :]
            given = cotangents if step.several else cotangents[0]
            found = step.op.vjp(given, ys if step.several else ys[0], *self._filled(step, xs))
            return [_instant(found[k]) for k in positions]

        live = [y.value for y in step.results]
        names = [name("G", y.index) for y in step.results]
        return self._traced(step, rule, [*live, *live], [*names, *self._results(step)], len(positions))

    def pushed(self, step: StepTaken, ts: Sequence[Any]) -> list[ast.expr | None]:
        """The tangents of a step's results, given which inputs have one."""
        active = [k for k, t in enumerate(ts) if t is not ZERO]
        count, results = len(active), len(step.results)

        def rule(*values: Any) -> list[Any]:
            tangents: list[Any] = [ZERO] * len(ts)
            for k, t in zip(active, values[:count], strict=True):
                tangents[k] = t
            ys, xs = values[count : count + results], values[count + results :]
            found = step.op.jvp(tangents, ys if step.several else ys[0], *self._filled(step, xs))
            return [_instant(t) for t in (found if step.several else (found,))]

        given = [*(step.inputs[k] for k in active), *(y.value for y in step.results)]
        names = [name("T", step.operands[k].index) for k in active]  # type: ignore[union-attr]
        return self._traced(step, rule, given, [*names, *self._results(step)], results)

    def _results(self, step: StepTaken) -> list[ast.expr]:
        return [name("V", y.index) for y in step.results]

    def _operand(self, step: StepTaken, k: int) -> ast.expr:
        operand, value = step.operands[k], step.inputs[k]
        if operand is not None:
            return name("V", operand.index)
        array = number(value)
        if array.ndim == 0:
            return literal(array.item())
        self.constants.append(array)
        return ast.Name(f"K_{len(self.constants) - 1}")

    def _filled(self, step: StepTaken, values: Sequence[Any]) -> list[Any]:
        """The inputs of a rule: graph values, and Python's numbers as they are."""
        fresh = iter(values)
        return [x if _is_plain(step, k) else next(fresh) for k, x in enumerate(step.inputs)]

    def _traced(
        self, step: StepTaken, rule: Callable[..., list[Any]], given: list[Any], names: list[Any], count: int
    ) -> list[ast.expr | None]:
        """A rule as formulas: traced once on graph values, each of which has a name."""
        inputs = [k for k in range(len(step.inputs)) if not _is_plain(step, k)]
        specs = [_spec(x) for x in (*given, *(step.inputs[k] for k in inputs))]
        names = [*names, *(self._operand(step, k) for k in inputs)]
        zeros: list[bool] = []

        def values(*xs: Any) -> list[Any]:
            found = rule(*xs)
            zeros.extend(c is ZERO for c in found)
            return [0.0 if c is ZERO else c for c in found]

        try:
            graph = optimise(trace(values, specs, replayed=True)[0], OFF)[0]
            named = dict(zip(graph.params, names, strict=True))
            return [None if zero else expression(graph, y, named) for y, zero in zip(graph.outputs, zeros, strict=True)]
        except Exception:  # a rule of the user's may not be traceable: the table then names it, and shows its numbers
            return [None] * count


def _instant(c: Any) -> Any:
    return c() if callable(c) else c


def _is_plain(step: StepTaken, k: int) -> bool:
    """Whether an input is a number of the program's text."""
    return step.operands[k] is None and isinstance(step.inputs[k], (bool, int, float, complex))


def _spec(x: Any) -> Spec:
    return Spec(shape_of(x), dtype_of(x))


def _named(op: Any, operands: list[ast.expr]) -> ast.expr:
    called = getattr(getattr(op, "call", op), "name", None) or type(op).__name__
    return ast.Call(ast.Name("".join(c if c.isalnum() else "_" for c in str(called))), operands, [])


def literal(value: Any) -> ast.expr:
    """A number as an expression.

    >>> ast.unparse(literal(-2.5)), ast.unparse(literal(float("inf")))
    ('-2.5', 'np.inf')
    """
    if isinstance(value, complex):
        return ast.Call(ast.Name("complex"), [literal(value.real), literal(value.imag)], [])
    if isinstance(value, float) and value != value:
        return parsed("np.nan")
    if not isinstance(value, bool) and (value < 0 or str(value)[0] == "-"):
        return ast.UnaryOp(ast.USub(), literal(-value))
    return parsed("np.inf") if value == np.inf else ast.Constant(value)


def expression(graph: Graph, node: Node, names: dict[Node, ast.expr]) -> ast.expr | None:
    """One result of a graph as a single expression of its inputs; None if it would be long, or has parts without a spelling."""
    found: dict[Node, ast.expr] = {}
    full: dict[Node, ast.expr] = {}  # constant arrays, where their shape matters
    sizes: dict[Node, int] = {}
    for n in Graph(graph.params, (node,)).nodes:
        if isinstance(n.op, Param):
            found[n], sizes[n] = names[n], 1
        elif isinstance(n.op, Const):
            value = np.asarray(n.op.value)
            uniform = value.size and (value == value.flat[0]).all()
            if not uniform:
                return None
            found[n], sizes[n] = literal(value.flat[0].item()), 1
            full[n] = ast.Call(parsed("np.full"), [parsed(str(value.shape)), found[n]], [])
        elif isinstance(n.op, Pick):
            call = ast.Subscript(found[n.inputs[0]], ast.Constant(n.op.index))
            found[n], sizes[n] = call, sizes[n.inputs[0]] + 1
        else:
            sizes[n] = 1 + sum(sizes[i] for i in n.inputs)
            if sizes[n] > LONGEST:
                return None
            try:
                inputs = [found[i] if n.op.elementwise else full.get(i, found[i]) for i in n.inputs]
                found[n] = filled(spelled(n.op, [i.spec for i in n.inputs], n.spec), inputs)
            except NoSpellingError:
                return None
    return found[node]

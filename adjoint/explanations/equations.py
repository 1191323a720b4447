"""The rows of a table: equations between named values, each with its number, rendered in any notation."""

from __future__ import annotations

import ast
import os
from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from adjoint.core import parsing
from adjoint.core.absent import ZERO
from adjoint.core.parsing import line_of
from adjoint.explanations.notation import Notation, shown_value
from adjoint.explanations.rule_formulas import Formulas, literal, name
from adjoint.explanations.steps_taken import Place, Pulled, StepTaken, TableValue, number

#: Characters of a formula; one that is longer is named by the chain rule instead.
WIDEST = 72


@dataclass(frozen=True)
class Symbol:
    """A variable of the user's (V), its adjoint (G) or its tangent (T)."""

    name: str
    kind: str = "V"


@dataclass(frozen=True)
class Equation:
    """`target = side = ... = value`."""

    target: ast.expr | Symbol | tuple[ast.expr, ...]
    sides: tuple[Any, ...]
    value: np.ndarray | tuple[np.ndarray, ...]
    chain: ast.expr | None = None  # the first side, before the rule is filled in: where there is room for it

    def shown(self, notation: Notation) -> str:
        """The equation in some notation, with its number."""
        return " = ".join([*self.parts(notation), notation.text(self.number)])

    @property
    def number(self) -> str:
        """Its value, shortened."""
        return ", ".join(map(shown_value, self.value)) if isinstance(self.value, tuple) else shown_value(self.value)

    def parts(self, notation: Notation) -> list[str]:
        """What stands between the signs of equality, without the number."""
        chain = [self.chain] if notation.chains and self.chain is not None else []
        return [_side(side, notation) for side in (self.target, *chain, *self.sides)]


def _side(side: Any, notation: Notation) -> str:
    if isinstance(side, Symbol):
        return notation.named(side.name, side.kind)
    return ", ".join(map(notation.formula, side)) if isinstance(side, tuple) else notation.formula(side)


@dataclass
class Row:
    """One row: what was computed, its tangent, and what it gives to the adjoints of its inputs."""

    primal: Equation | None
    tangents: list[Equation] = field(default_factory=list)
    adjoints: list[Equation] = field(default_factory=list)
    place: Place | None = None
    variables: str = ""
    kind: str = "step"  # or "input", "output", "gap"
    note: str = ""
    several_files: bool = False  # whether the program is in more than one

    @property
    def where(self) -> str:
        """The user's line and variable."""
        line = "" if self.place is None else f"line {self.place[1]}"
        line = f"{self.file}:{self.place[1]}" if self.several_files and self.place is not None else line
        return ", ".join(part for part in (line, self.variables) if part)

    @property
    def source(self) -> str:
        """The text of the user's line."""
        return "" if self.place is None else line_of(*self.place).strip()

    @property
    def file(self) -> str:
        """The name of the user's file."""
        return "" if self.place is None else os.path.basename(self.place[0])


class Equations:
    """Writes the rows of steps, by the formulas of their ops and of the ops' rules."""

    def __init__(self) -> None:
        self.formulas, self.plain = Formulas(), Notation()

    def constant(self, k: int) -> str:
        """A constant array, by its shape and a few elements."""
        return shown_value(self.formulas.constants[k], 3)

    def primal(self, step: StepTaken) -> Equation:
        """What a step computes."""
        target: Any = tuple([name("V", y.index) for y in step.results])
        tree = self.formulas.value(step)
        tree = self._short(tree) or ast.Call(ast.Name(type(step.op).__name__.lower()), self._operands(step), [])
        sides: list[Any] = [tree]
        if not step.several:
            target = target[0]
            if (numbers := _with_numbers(tree, step)) is not None:
                sides.append(numbers)
        values = tuple([number(y.value) for y in step.results])
        return Equation(target, tuple(sides), values if len(values) > 1 else values[0])

    def _operands(self, step: StepTaken) -> list[ast.expr]:
        return [name("V", x.index) for x in step.operands if x is not None]

    def adjoints(self, step: StepTaken, pulled: Pulled) -> list[Equation]:
        """What a step gives to the adjoints of its inputs, in the order in which it comes."""
        positions = [c.position for c in pulled.contributions]
        trees = self.formulas.pulled(step, pulled.adjoints, positions) if positions else []
        found = []
        for c, tree in zip(pulled.contributions, trees, strict=True):
            target, tree = name("G", c.operand.index), self._short(tree)
            come = [y.index for y, g in zip(step.results, pulled.adjoints, strict=True) if g is not ZERO]
            chain = _chain([(name("G", k), name("V", k), name("V", c.operand.index)) for k in come])
            terms = [chain] if tree is None else [chain, tree]
            terms = terms if c.first else [ast.BinOp(target, ast.Add(), term) for term in terms]
            found.append(Equation(target, (terms[-1],), number(c.total), terms[0] if tree is not None else None))
        return found

    def tangents(self, step: StepTaken, tangents: dict[TableValue, Any]) -> list[Equation]:
        """The tangents of what a step computes."""
        ts = [ZERO if x is None else tangents.get(x, ZERO) for x in step.operands]
        active = [x.index for x, t in zip(step.operands, ts, strict=True) if x is not None and t is not ZERO]
        if not active or not any(y in tangents for y in step.results):
            return []
        found = []
        for y, tree in zip(step.results, self.formulas.pushed(step, ts), strict=True):
            if y in tangents:
                chain = _chain([(name("T", k), name("V", y.index), name("V", k)) for k in active])
                found.append(Equation(name("T", y.index), (self._short(tree) or chain,), number(tangents[y])))
        return found

    def _short(self, tree: ast.expr | None) -> ast.expr | None:
        return None if tree is None or len(self.plain.formula(tree)) > WIDEST else tree


def _chain(terms: Sequence[tuple[ast.expr, ast.expr, ast.expr]]) -> ast.expr:
    """The chain rule, for rules that are too long to write out: the sum of derivatives times ∂y/∂x."""
    products = [ast.BinOp(d, ast.Mult(), ast.Call(ast.Name("partial"), [y, x], [])) for d, y, x in terms]
    total = products[0]
    for product in products[1:]:
        total = ast.BinOp(total, ast.Add(), product)
    return total


class _Numbers(ast.NodeTransformer):
    def __init__(self, values: dict[str, ast.expr]) -> None:
        self.values = values

    def visit_Name(self, node: ast.Name) -> ast.expr:
        return self.values.get(node.id, node)


def _with_numbers(tree: ast.expr, step: StepTaken) -> ast.expr | None:
    """The formula with numbers in it, if all of them are single ones."""
    if isinstance(tree, ast.Name) or any(number(x).ndim or number(x).dtype.kind == "c" for x in step.inputs):
        return None
    known = [(x, number(v).item()) for x, v in zip(step.operands, step.inputs, strict=True) if x is not None]
    values = {name("V", x.index).id: literal(v) for x, v in known}
    return _Numbers(values).visit(parsing.parsed(ast.unparse(tree), mode="eval").body) if values else None  # type: ignore[no-any-return]

"""What is written on a step: its name, its formula, its derivative rule."""

from __future__ import annotations

import inspect
import re
import textwrap
from collections.abc import Sequence
from functools import cache
from typing import Any

import numpy as np

from adjoint.core import rules
from adjoint.graph.control import Cond, Loop
from adjoint.graph.inplace import InPlace
from adjoint.graph.nested import Control
from adjoint.graph.recompute import Recomputed
from adjoint.graph.ruled import Ruled
from adjoint.ops.card import Op

#: Signs that stand between two inputs.
SIGNS = {"Add": "+", "Sub": "−", "Mul": "×", "MaskedMul": "×", "Div": "÷", "MatMul": "@", "Pow": "^", "Greater": ">",
         "Less": "<", "GreaterEqual": "≥", "LessEqual": "≤", "Equal": "=", "NotEqual": "≠"}  # fmt: skip


def kind_of(op: Any) -> str:
    """The class of an op, or of the one that is done in place."""
    return type(op.op if isinstance(op, InPlace) else op).__name__


def words(op: Any) -> str:
    """The name of an op in words: `BroadcastTo` is `broadcast to`."""
    if isinstance(op, Loop):
        return ("while loop" if op.test is not None else "for loop") + (" backwards" if op.backwards else "")
    if isinstance(op, Cond):
        return "if"
    if isinstance(op, Ruled):
        return f"{op.call.name}, own rule" if hasattr(op.call, "name") else "own rule"
    if isinstance(op, Recomputed):
        return "computed again"
    name = re.sub(r"(?<=[a-z0-9])(?=[A-Z])", " ", kind_of(op)).lower()
    return f"{name}, in place" if isinstance(op, InPlace) else name


def label(op: Any, constants: Sequence[str | None]) -> str:
    """What stands on the box of a step: sign or name, and the constants among its inputs (None for what is none)."""
    sign = SIGNS.get(kind_of(op))
    known = [c for c in constants if c is not None]
    if sign is not None and len(constants) == 2:
        if not known:
            return sign
        left, right = constants
        return f"{left} {sign}" if right is None else f"{sign} {right}"
    return f"{words(op)} {', '.join(known)}".rstrip()


def formula(name: str, op: Any, inputs: Sequence[str]) -> str:
    """A step as an equation: `v3 = sin(v1)`."""
    sign = SIGNS.get(kind_of(op))
    if sign is not None and len(inputs) == 2:
        return f"{name} = {inputs[0]} {sign} {inputs[1]}"
    return f"{name} = {words(op)}({', '.join(inputs)})"


def number(value: Any) -> str | None:
    """A constant as it is written on a box; None for arrays."""
    if isinstance(value, (np.ndarray, np.generic)):
        if value.size != 1:
            return None
        value = value.reshape(()).item()
    if isinstance(value, bool) or not isinstance(value, (int, float)):
        return str(value)
    return f"{value:.4g}"


def settings(op: Any) -> str:
    """The fields of an op, as its card shows them; empty if it has none."""
    if isinstance(op, Control) and not isinstance(op, InPlace):
        return ""
    inside = re.fullmatch(r"\w+\((.*)\)", repr(op.op if isinstance(op, InPlace) else op), re.DOTALL)
    return textwrap.shorten(inside.group(1), 200) if inside else ""


#: The methods of a card that its derivative rule is made of, the plainest first.
RULES = ("partials", "vjp")


def rule(op: Any) -> str:
    """The derivative rule of an op as its card has it: Python source."""
    op = op.op if isinstance(op, InPlace) else op
    if not isinstance(op, Op):
        return ""
    if type(op) in rules.replaced:
        return _source(rules.replaced[type(op)]) or "a rule from outside"
    if isinstance(op, Ruled):
        return "the user's own rule, registered with custom_vjp or bprop"
    card: Any = type(op)
    return _rule(card) if op.differentiable else "no derivative: transforms pass it by"


@cache
def _rule(card: type) -> str:
    for name in RULES:
        for parent in card.__mro__:
            method = vars(parent).get(name)
            if method is not None and not getattr(method, "__isabstractmethod__", False):
                return _source(method)
    return ""


def _source(fn: Any) -> str:
    try:
        return textwrap.dedent(inspect.getsource(fn)).rstrip()
    except (OSError, TypeError):
        return ""


def what_it_is(card: type) -> str:
    """The first sentence of a card's own documentation."""
    text = (vars(card).get("__doc__") or "").strip()
    return "" if text.startswith(f"{card.__name__}(") else text.split("\n")[0]

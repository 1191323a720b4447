"""Random programs of nested branches, loops and jumps: converted = original, on plain numbers and as a graph."""

from __future__ import annotations

import linecache
from itertools import count
from typing import Any

import numpy as np
from hypothesis import given, settings
from hypothesis import strategies as st

import adjoint as ad
from adjoint.core.spec import Spec
from adjoint.frontend import convert
from adjoint.graph.trace import trace
from adjoint.graph.walk import replay

NUMBER = count().__next__


def defined(source: str) -> Any:
    """The function `f` of a source text, with the text where tracebacks and the front end look for it."""
    filename = f"<random {NUMBER()}>"
    linecache.cache[filename] = (len(source), None, source.splitlines(keepends=True), filename)
    space: dict[str, Any] = {}
    exec(compile(source, filename, "exec"), space)
    return space["f"]


CONDITIONS = [
    "a > b",
    "a < 3",
    "b > a + 1",
    "a > 1 and b > 2",
    "not a > b",
    "a > 0 or b < 0",
    "0 < a < 4",
    "b < (a if a > b else 1)",
]
ASSIGNMENTS = [
    "a = a + 1",
    "b = a - b",
    "a, b = b, a",
    "b += 2",
    "a = b if a > 2 else a - 1",
    "c = a + b; a = c - 2",
    "a = min(a, 5)",
]


@st.composite
def block(
    draw: Any, depth: int, in_loop: bool, conditions: list[str], assignments: list[str], ends: list[str]
) -> list[str]:
    """Statements, as lines. A `while` counts its rounds, so that it ends."""
    lines: list[str] = []
    for _ in range(draw(st.integers(1, 3))):
        kinds = ["assign", "assign"] + (["if", "if", "while", "for", "try"] if depth else [])
        kinds += ["break", "continue"] if in_loop else []
        kinds += ["return"] if ends else []
        kind = draw(st.sampled_from(kinds))
        test = draw(st.sampled_from(conditions))

        def inner(loop: bool) -> list[str]:
            return ["    " + line for line in draw(block(depth - 1, loop, conditions, assignments, ends))]

        if kind == "assign":
            lines.append(draw(st.sampled_from(assignments)))
        elif kind == "if":
            lines += [f"if {test}:", *inner(in_loop)]
            if draw(st.booleans()):
                lines += ["else:", *inner(in_loop)]
        elif kind == "while":
            name = f"n{NUMBER()}"
            lines += [f"{name} = 0", f"while ({test}) and {name} < 4:", f"    {name} += 1", *inner(True)]
            if draw(st.booleans()):
                lines += ["else:", *inner(in_loop)]
        elif kind == "for":
            rounds = draw(st.sampled_from([0, 3, 10]))
            lines += [f"for i in range({rounds}):", *inner(True)]
            if draw(st.booleans()):
                lines += ["else:", *inner(in_loop)]
        elif kind == "try":
            lines += ["try:", *inner(in_loop), "finally:", "    b = b + 1"]
        elif kind == "return":
            lines.append(draw(st.sampled_from(ends)))
        else:
            lines.append(kind)
        if kind in ("break", "continue", "return"):
            break
    return lines


def program(lines: list[str], last: str) -> str:
    return "\n    ".join(["def f(a, b):", *lines, last]) + "\n"


RETURNS = ["return a", "return b, 'early'", "return"]


@settings(max_examples=300, deadline=None)
@given(
    block(3, False, CONDITIONS, [*ASSIGNMENTS, "c = 7", "a = a + c"], RETURNS), st.integers(-3, 6), st.integers(-3, 6)
)
def test_plain_numbers_give_what_python_gives(lines: list[str], a: int, b: int) -> None:
    f = defined(program(lines, "return a, b"))
    assert outcome(convert(f), a, b) == outcome(f, a, b)


def outcome(f: Any, *args: Any) -> Any:
    try:
        return f(*args)
    except NameError as error:  # an unbound local of a function is a free variable of a block of ours
        return NameError, error.args[0].split("'")[1]


@settings(max_examples=150, deadline=None)
@given(block(2, False, CONDITIONS, ASSIGNMENTS, ["return a", "return b * 2.0"]), st.integers(-3, 6), st.integers(-3, 6))
def test_graphs_give_what_python_gives(lines: list[str], a: int, b: int) -> None:
    f = defined(program(lines, "return a - b"))
    xs = [np.float64(a + 0.25), np.float64(b)]
    graph, _ = trace(lambda *values: [convert(f)(*values)], [Spec((), x.dtype) for x in xs])
    expected = f(*map(ad.Tensor, xs))
    assert replay(graph, xs)[0] == np.asarray(expected), program(lines, "return a - b")

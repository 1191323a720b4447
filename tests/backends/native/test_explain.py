"""`explain` lists the units of work that the code consists of, as the backend makes them."""

from __future__ import annotations

import re
from typing import Any

import numpy as np
import pytest

import adjoint as ad
from adjoint import ops
from adjoint.backends.native import compiler
from corpus import PROGRAMS

A, V = np.linspace(0.1, 1.2, 64 * 48).reshape(64, 48), np.linspace(-1.0, 1.0, 48)
W = np.linspace(-1.0, 1.0, 48 * 40).reshape(48, 40)


def units(f: Any, *xs: Any) -> list[str]:
    text = ad.jit(f, backend="native").explain(*xs)
    return [line.strip() for line in text.splitlines() if re.match(r"  [a-z]", line)]


@pytest.mark.parametrize(
    ("f", "xs", "wanted"),
    [
        (lambda x: (ops.sin(x) * x).sum(), [A], ["loop nest over (64, 48): Sin, Mul, Sum"]),
        (lambda x, w: ops.relu(x @ w + 1.0), [A, W], ["product with epilogue: MatMul, Add, Relu"]),
        (lambda x: x * x + 1.0, [2.0], ["scalars: Mul, Add"]),
        (
            lambda x: ops.matrix_exp(x[:3, :3])[0, 0] * 2.0,
            [A],
            ["loop nest over (3, 3): GetItem", "scalars: GetItem, Mul"],
        ),
    ],
    ids=["nest", "epilogue", "scalars", "interpreter between"],
)
def test_units(f: Any, xs: list[Any], wanted: list[str]) -> None:
    assert units(f, *xs) == wanted


def test_loops_over_rows_that_follow_one_another() -> None:
    (line,) = units(lambda x: ops.softmax(x, 1), A)
    assert line.startswith("row-fused loops over (64, 48) then (64, 48)") and line.count("Exp") == 1


STATIC = [name for name, program in PROGRAMS.items() if program.static]


@pytest.mark.parametrize("name", STATIC[::29])
def test_every_compiled_op_is_in_a_unit(name: str) -> None:
    """Of whatever program, its gradient included: what computes is named."""
    program = PROGRAMS[name]
    graph = ad.graph.trace_function(program.fn, list(program.points[0]))
    made = compiler.Program(ad.graph.optimize_grad_graph(ad.graph.generate_grad_graph(graph)))
    shown = set(re.findall(r"\w+", made.explain()))
    computing = {type(node.op).__name__ for node in made.graph.nodes if node.op.elementwise or node.op.reduction}
    assert computing and computing <= shown

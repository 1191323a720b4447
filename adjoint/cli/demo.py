"""`adjoint demo`: one small function, its derivative in every mode, and how they come about."""

from __future__ import annotations

from typing import Any

from adjoint import ops
from adjoint.api.forward import jvp
from adjoint.api.grad import grad
from adjoint.api.jit import jit
from adjoint.cli.exits import FINE
from adjoint.cli.terminal import columns, heading
from adjoint.explanations.explain import explain
from adjoint.numeric.grad_check import check_grads

POINT = (2.0, 5.0)


def f(x1: Any, x2: Any) -> Any:
    """The function of the demonstration: ln x1 + x1 x2 - sin x2."""
    return ops.log(x1) + x1 * x2 - ops.sin(x2)


def run(_options: Any) -> int:
    """Print the demonstration."""
    heading("f(x1, x2) = ln(x1) + x1 * x2 - sin(x2) at (2, 5), step by step")
    print(explain(f, *POINT))
    heading("The same gradient in each mode")
    reverse = [float(g) for g in grad(f, (0, 1))(*POINT)]
    forward = [float(jvp(f, POINT, direction)[1]) for direction in ((1.0, 0.0), (0.0, 1.0))]
    compiled = jit(grad(f, (0, 1)))
    static = [float(g) for g in compiled(*POINT)]
    rows = [("dynamic, reverse mode", reverse), ("dynamic, forward mode", forward), ("static, machine code", static)]
    print(columns([["", "df/dx1", "df/dx2"], *([name, *(f"{v:.12f}" for v in values)] for name, values in rows)]))
    print(check_grads(f, *POINT))
    heading("The graph that machine code is made of")
    print(compiled.graph(*POINT))
    heading("Next")
    print("adjoint explain MODULE:FUNCTION --at VALUES   for a function of your own")
    return FINE

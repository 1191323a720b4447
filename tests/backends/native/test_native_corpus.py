"""What becomes machine code: everything in the corpus and in random programs, but for the ops that the backend says it lacks."""

from __future__ import annotations

import re
from collections import Counter
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import adjoint as ad
from adjoint.backends.interpreter import Steps
from adjoint.backends.native import kernel_registry
from adjoint.backends.native.compiler import Program as Compiled
from adjoint.core import tree
from adjoint.core.errors import AdjointError
from adjoint.graph.control import Control
from adjoint.graph.effects import Effect
from adjoint.graph.inplace import InPlace
from adjoint.graph.node import Graph
from adjoint.ops.card import REGISTRY
from adjoint.testing.random_programs import random_program
from corpus import PROGRAMS, Program
from lowering import graph_of, interpreted, samples_of, without_code

NUMBERS = (np.ndarray, np.generic, float, complex)
STATIC = [p for p in PROGRAMS.values() if p.static]
PAGE = Path(__file__).parents[3] / "docs" / "native_backend.md"


def leaves(point: Any) -> list[Any]:
    return [x for x in tree.leaves(list(point)) if isinstance(x, NUMBERS)]


def in_single(x: Any) -> Any:
    x = np.asarray(x)
    return x.astype(np.float32) if x.dtype == np.float64 else x


def graphs_of(program: Program) -> list[Graph]:
    """The forward and the gradient graph."""
    forward = ad.graph.trace_function(program.fn, list(program.inputs))
    gradient = ad.graph.generate_grad_graph(forward)
    return [ad.graph.optimize_grad_graph(g) for g in (forward, gradient)]


def agree(graph: Graph, compiled: Compiled, inputs: list[Any], rtol: float) -> None:
    with np.errstate(all="ignore"):
        try:
            wanted = Steps(graph)(*inputs)
        except (AdjointError, ArithmeticError, AssertionError, ValueError, IndexError) as error:
            with pytest.raises(type(error)):
                compiled(*inputs)
            return
        found = compiled(*inputs)
    for x, y in zip(map(np.asarray, found), map(np.asarray, wanted), strict=True):
        assert (x.dtype, x.shape) == (y.dtype, y.shape), str(graph)
        size = np.max(np.abs(y[np.isfinite(y)]), initial=0.0)
        assert np.allclose(x, y, rtol, rtol * (1 + size), equal_nan=True), f"{x} is not {y} in\n{graph}"


# ---------------------------------------------------------------- what has no code


def excuse(node: Any) -> str:
    """Why a node may be left to the interpreter; nothing if it may not."""
    op = node.op.op if isinstance(node.op, InPlace) else node.op
    if isinstance(op, Effect):
        return "an effect"
    if isinstance(op, Control):
        inner = [excuse(n) for g in op.graphs().values() for n in interpreted(g)]
        return next(filter(None, inner), "")
    return type(op).__name__ if type(op).__name__ in without_code() or not op.emits else ""


def left_out(graph: Graph) -> tuple[list[str], Counter[str]]:
    """The nodes that are left out without an excuse, and the excuses."""
    nodes = interpreted(graph)
    return [str(n.op) for n in nodes if not excuse(n)], Counter(filter(None, map(excuse, nodes)))


def test_nothing_of_the_corpus_is_left_out_without_need() -> None:
    """Each excuse is needed, and most programs need none."""
    excuses: Counter[str] = Counter()
    whole = 0
    for program in STATIC:
        for graph in graphs_of(program):
            wrong, found = left_out(graph)
            assert not wrong, f"{program.name}: {wrong} left out"
            excuses += found
            whole += not found
    assert whole > 0.94 * 2 * len(STATIC)
    assert "an effect" in excuses, "an excuse that nothing needs"


def test_nothing_of_random_programs_is_left_out() -> None:
    for seed in range(60):
        program = random_program(seed)
        forward = ad.graph.trace_function(program.fn, list(program.inputs))
        program.forget()
        assert left_out(ad.graph.optimize_grad_graph(ad.graph.generate_grad_graph(forward))) == ([], Counter())


def test_samples_that_have_no_code_are_empty_or_of_ops_without_code() -> None:
    """An op has code for all of its samples or for none, but for arrays without elements, reductions of no axis, and derivatives
    by a parameter that SciPy has not."""
    for name in set(REGISTRY) - without_code():
        for case in samples_of(REGISTRY[name]):
            odd = any(0 in x.shape for x in case.xs) or not getattr(case.op, "axes", True) or not case.op.emits
            assert odd or not interpreted(graph_of(case)), case


def test_the_documentation_names_the_ops_without_code() -> None:
    (listed,) = re.findall(r"have no code yet:\s+(.*?)\.\s", PAGE.read_text(), re.DOTALL)
    assert set(re.findall(r"`(\w+)`", listed)) == without_code()


#: The ops whose code is a page of its own, or that have none; and those that SciPy computes.
OF_THEIR_OWN = {
    name for name, cls in REGISTRY.items() if cls in kernel_registry.RULES or cls in kernel_registry._LATE or cls.calls
}


WITH_ELEMENTS = ("Cholesky", "Inv", "Solve", "TriangularSolve")  # some of those that have no code for empty arrays


@pytest.mark.parametrize("name", sorted(without_code() | OF_THEIR_OWN | set(WITH_ELEMENTS)))
def test_explain_names_an_op_without_code(name: str) -> None:
    empty = name in WITH_ELEMENTS
    case = next(c for c in samples_of(REGISTRY[name]) if not empty or any(not x.size for x in c.xs))
    text = ad.jit(lambda *xs: case.op(*xs)).explain(*case.xs)
    assert (f"for want of machine code:\n  {name}" in text) == (empty or name in without_code())


# ---------------------------------------------------------------- values


@pytest.mark.filterwarnings("ignore::adjoint.PromotionWarning")  # constants of the programs are float64
def test_a_part_of_the_corpus_in_single_precision() -> None:
    """Of those without loops that wait for a tolerance."""
    for program in [p for p in STATIC if p.traced][3::10]:
        point = tree.map(lambda x: in_single(x) if isinstance(x, NUMBERS) else x, list(program.inputs))
        forward = ad.graph.trace_function(program.fn, point)
        if len(leaves(point)) == len(forward.params):
            agree(forward, Compiled(forward), leaves(point), 2e-3)


def test_index_arrays_that_broadcast() -> None:
    """Gather, and updates by arrays of several shapes, against NumPy, as machine code."""
    x, i, j = np.arange(24.0).reshape(4, 2, 3), np.array([0, 3, 1]), np.array([[1], [0]])
    v = np.array([10.0, 20.0, 30.0])

    def put(x, i, j, v):
        y = x * 1.0
        y[i, j] = v
        return y

    def add(x, i, v):
        return x[i] + v

    for fn, args in ((lambda x, i, j: x[i, j] * 2.0, (x, i, j)), (put, (x, i, j, v)), (add, (x, i, v))):
        compiled = ad.jit(fn)
        np.testing.assert_array_equal(compiled(*args), fn(*(np.copy(a) for a in args)))
        assert "in the interpreter" not in compiled.explain(*args)
    gradient = ad.jit(ad.grad(lambda x, i, j: (x[i, j] ** 2).sum()))(x, i, j)
    wanted = np.zeros_like(x)
    np.add.at(wanted, (i, j), 2 * x[i, j])
    np.testing.assert_array_equal(gradient, wanted)

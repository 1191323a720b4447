"""The programs of the corpus and random ones as machine code: what the interpreter gives, and nothing left out without need."""

from __future__ import annotations

from collections import Counter
from typing import Any

import numpy as np
import pytest

import adjoint as ad
from adjoint.backends.interpreter import Steps
from adjoint.backends.native.program import Program as Compiled
from adjoint.core import tree
from adjoint.core.errors import AdjointError
from adjoint.graph.control import Control
from adjoint.graph.node import Graph
from adjoint.testing.corpus import PROGRAMS, Program
from adjoint.testing.random_programs import random_program

NUMBERS = (np.ndarray, np.generic, float, complex)
STATIC = [p for p in PROGRAMS.values() if p.static]
#: Ops that have no code yet: what they are part of, or hold in a loop, is left to the interpreter.
NO_CODE = {
    "ArgSort", "Check", "Cholesky", "Det", "Eigh", "Eigvalsh", "Einsum", "Gather", "Inv", "Lgamma", "MatMul", "Pad",
    "Polygamma", "QR", "ScatterAdd", "ScatterSet", "SLogDet", "Solve", "SVD", "TriangularSolve",
}  # fmt: skip


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


def inner_ops(graph: Graph) -> set[str]:
    """The names of all ops, in graphs inside too."""
    found = set()
    for node in graph.calls:
        op = getattr(node.op, "op", node.op)
        found.add(type(op).__name__)
        if isinstance(op, Control):
            for inner in op.graphs().values():
                found |= inner_ops(inner)
    return found


def is_excused(node: Any) -> bool:
    """Whether there is a reason for leaving this node out: complex numbers, or an op without code."""
    op = getattr(node.op, "op", node.op)
    if isinstance(op, Control):
        return any(inner_ops(g) & NO_CODE for g in op.graphs().values())
    specs = [*(node.spec if isinstance(node.spec, tuple) else [node.spec]), *(i.spec for i in node.inputs)]
    return type(op).__name__ in NO_CODE or any(s.dtype.kind == "c" for s in specs)


BLOCKS = 12


@pytest.mark.parametrize("block", range(BLOCKS))
def test_programs_of_the_corpus(block: int) -> None:
    """Gradient graphs, which hold the forward graphs, of all; the forward graph alone of some; at every point."""
    for k, program in enumerate(STATIC[block::BLOCKS]):
        forward, gradient = graphs_of(program)
        if len(leaves(program.inputs)) != len(gradient.params):
            continue  # its parameters are inputs of the graph, which `jit` knows
        for graph in (gradient, forward)[: 1 + (k % 8 == 0)]:
            compiled = Compiled(graph)
            for point in program.points:
                agree(graph, compiled, leaves(point), 1e-10)
            wrong = [str(n.op) for n in compiled.left_out if not is_excused(n)]
            assert not wrong, f"{program.name}: {wrong} left out"


def test_a_part_of_the_corpus_in_single_precision() -> None:
    for program in STATIC[3::16]:
        point = tree.map(lambda x: in_single(x) if isinstance(x, NUMBERS) else x, list(program.inputs))
        forward = ad.graph.trace_function(program.fn, point)
        if len(leaves(point)) == len(forward.params):
            agree(forward, Compiled(forward), leaves(point), 2e-3)


@pytest.mark.parametrize("block", range(10))
def test_random_programs(block: int) -> None:
    """Their gradients; very long ones are left to `make fuzz`."""
    left: Counter[str] = Counter()
    for seed in range(block * 10, block * 10 + 10):
        program = random_program(seed)
        forward = ad.graph.trace_function(program.fn, list(program.inputs))
        graph = ad.graph.optimize_grad_graph(ad.graph.generate_grad_graph(forward))
        program.forget()
        if len(graph.nodes) > 150:
            continue
        compiled = Compiled(graph)
        inputs = list(program.inputs)
        agree(graph, compiled, inputs, 1e-9 if np.asarray(inputs[0]).dtype == np.float64 else 1e-3)
        left.update(str(n.op) for n in compiled.left_out if not is_excused(n))
    assert not left

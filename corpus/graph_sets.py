"""Sets of graphs with inputs, on which the native backend must give what the interpreter gives: op cards, programs, random ones."""

from __future__ import annotations

from collections.abc import Iterator
from random import Random
from typing import Any

import numpy as np

from adjoint import graph as graphs_of
from adjoint.backends.interpreter import Steps
from adjoint.backends.native import compiler
from adjoint.core import tree
from adjoint.core.spec import spec_of
from adjoint.graph.node import Builder, Graph
from adjoint.ops.card import REGISTRY
from adjoint.testing.cases import cases
from adjoint.testing.random_graphs import random_graph
from corpus import PROGRAMS

Cases = Iterator[tuple[str, Graph, list[Any]]]


def registry() -> Cases:
    """The samples of every card side by side, in double and single precision."""
    for name, cls in REGISTRY.items():
        for dtype in (np.float64, np.float32):
            builder, values, outputs = Builder(), [], []
            for (case,) in cases(cls, "float64", 1):
                xs = [x.astype(dtype) if x.dtype.kind == "f" else x for x in case.xs]
                call = builder.build(case.op, [builder.param(spec_of(x)) for x in xs])
                count = len(call.spec) if isinstance(call.spec, tuple) else 0
                outputs += [builder.pick(call, k) for k in range(count)] if count else [call]
                values += xs
            yield f"{name} {dtype.__name__}", Graph(tuple(builder.params), tuple(outputs)), values


def graphs() -> Cases:
    for seed in range(1000, 1030):
        yield f"random graph {seed}", *random_graph(Random(seed), empty=seed % 4 == 0)


def corpus(every: int = 9) -> Cases:
    static = [p for p in PROGRAMS.values() if p.static and not p.name.startswith("assert")]
    for p in static[::every]:
        xs = [x for x in tree.leaves(list(p.inputs)) if isinstance(x, (np.ndarray, np.generic, float, complex))]
        forward = graphs_of.trace_function(p.fn, list(p.inputs))
        if len(xs) == len(forward.params):
            gradient = graphs_of.optimize_grad_graph(graphs_of.generate_grad_graph(forward))
            yield p.name, graphs_of.optimize_grad_graph(forward), xs
            yield f"gradient of {p.name}", gradient, xs


SETS = {
    "registry": registry,
    "graphs": graphs,
    "corpus": corpus,
    "a third of the corpus": lambda: corpus(3),
    "whole corpus": lambda: corpus(1),
}


def check(name: str, graph: Graph, xs: list[Any]) -> bool:
    """Run a graph guarded, and compare; False if nothing of it is compiled."""
    with np.errstate(all="ignore"):
        compiled = compiler.Program(graph)
        if all(isinstance(run, Steps) for run, _, _ in compiled.steps):
            return False
        for found, wanted in zip(compiled(*xs), Steps(graph)(*xs), strict=True):
            loose = 1e-3 if np.asarray(wanted).dtype in (np.float32, np.complex64) else 1e-9
            np.testing.assert_allclose(found, wanted, rtol=loose, atol=loose, err_msg=name)
    return True

"""Programs on which a pass is tried: random ones, and a part of the corpus, each with its gradient."""

from __future__ import annotations

import numpy as np
import pytest

import adjoint as ad
from adjoint.backends import interpreter
from adjoint.core import tree
from adjoint.graph.verify import problem
from adjoint.testing.fuzz import random_program
from corpus import PROGRAMS

NUMBERS = (np.ndarray, np.generic, float, complex)


@pytest.fixture(scope="session")
def programs():
    """(name, graph, inputs, results) of forward and gradient graphs."""
    sources = [(f"random {seed}", p.fn, p.inputs) for seed in range(20) for p in [random_program(seed)]]
    static = [p for p in PROGRAMS.values() if p.static and p.name != "assert_in_function"]
    sources += [(p.name, p.fn, p.points[0]) for p in static[::8]]
    found = []
    for name, fn, point in sources:
        graph = ad.graph.trace_function(fn, list(point))
        inputs = [x for x in tree.leaves(list(point)) if isinstance(x, NUMBERS)]
        if len(inputs) == len(graph.params):
            gradient = ad.graph.generate_grad_graph(graph)
            found += [
                (n, g, inputs, interpreter.compile(g)(*inputs))
                for n, g in ((name, graph), (f"gradient of {name}", gradient))
            ]
    assert len(found) > 80
    return found


@pytest.fixture(scope="session")
def unchanged(programs):
    """Checks that a pass keeps graphs well formed, results the same, and finds nothing to do a second time."""

    def check(step, rtol=1e-11):
        changed = 0
        for name, graph, inputs, expected in programs:
            better = step(graph)
            changed += better is not graph
            assert problem(better, graph) is None, f"{name}: {problem(better, graph)}\n{better}"
            assert step(better) is better, f"{name}: a second time changes\n{better}"
            found = interpreter.compile(better)(*inputs)
            for a, b in zip(found, expected, strict=True):
                scale = 1.0 + np.max(np.abs(b), initial=0.0)
                np.testing.assert_allclose(a, b, rtol=rtol, atol=rtol * scale, err_msg=f"{name}\n{better}")
        return changed

    return check

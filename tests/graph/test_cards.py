"""Every card in a graph: the graph's value, both derivatives, its batch, its text and its optimised form agree with eager mode."""

from __future__ import annotations

import numpy as np
import pytest

import adjoint as ad
from adjoint import ops
from adjoint.backends import interpreter
from adjoint.core.spec import is_inexact, spec_of
from adjoint.graph.derivatives import jvp_graph, vjp_graph
from adjoint.graph.text import read, show
from adjoint.graph.trace import trace
from adjoint.graph.verify import problem
from adjoint.graph.walk import replay
from adjoint.passes import optimise
from adjoint.testing.cases import cases


def flat(y):
    return list(y) if isinstance(y, tuple) else [y]


def close(found, expected, what):
    for a, b in zip(found, expected, strict=True):
        np.testing.assert_allclose(np.asarray(a), np.asarray(b), rtol=1e-9, atol=1e-12, err_msg=what)


@pytest.mark.parametrize("name", ops.REGISTRY)
def test_graph_agrees_with_eager(name):
    for case, *_ in list(cases(ops.REGISTRY[name]))[:4]:
        op, xs = case.op, case.xs
        with np.errstate(all="ignore"):
            graph, _ = trace(lambda *v, op=op: flat(op(*v)), [spec_of(x) for x in xs])
            assert problem(graph) is None
            expected = flat(op.eval(np, *xs))
            close(replay(graph, xs), expected, f"replay of {case}")
            better, _ = optimise(graph)
            close(interpreter.compile(better)(*xs), expected, f"optimised {case}")
            if "..." not in show(graph):
                close(replay(read(show(graph)), xs), expected, f"{case} read back")
            wanted = tuple(i for i, x in enumerate(xs) if is_inexact(x.dtype))
            moving = tuple(i for i, y in enumerate(expected) if is_inexact(np.asarray(y).dtype))
            if not op.differentiable or not wanted or not moving:
                continue
            gs = [
                np.cos(np.arange(np.size(expected[i]))).reshape(np.shape(expected[i])).astype(expected[i].dtype)
                for i in moving
            ]
            ts = [np.sin(np.arange(np.size(xs[i])) + 1.0).reshape(np.shape(xs[i])).astype(xs[i].dtype) for i in wanted]

            def chosen(*v, op=op, xs=xs, wanted=wanted, moving=moving):
                full = list(xs)
                for i, x in zip(wanted, v, strict=True):
                    full[i] = x
                ys = flat(op(*full))
                return tuple(ys[i] for i in moving)

            at = [xs[i] for i in wanted]
            pulled = ad.vjp(chosen, *at)[1](*gs)
            close(replay(optimise(vjp_graph(graph, wanted, moving))[0], [*xs, *gs]), pulled, f"vjp of {case}")
            pushed = ad.jvp(chosen, tuple(at), tuple(ts))[1]
            close(replay(optimise(jvp_graph(graph, wanted, moving))[0], [*xs, *ts]), pushed, f"jvp of {case}")

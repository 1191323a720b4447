"""Lists to which a loop appends: the loop stays one of the graph, and what it appended comes out of it stacked."""

from __future__ import annotations

import numpy as np
import pytest

import adjoint as ad
from adjoint import ops
from adjoint.graph.control import Loop

X = np.random.default_rng(0).normal(size=(32, 4))
W = 0.4 * np.random.default_rng(1).normal(size=(4, 4))


def states(x, w):
    h, kept = x[0] * 0.0, []
    for t in range(x.shape[0]):
        h = ops.tanh(x[t] @ w + 0.5 * h)
        kept.append(h)
    return ops.stack(kept)


def several(x, w):
    a, b, h = [x[0]], [], x[0]
    for t in range(20):
        h = ops.sin(h @ w) + 0.01 * t
        a.append(h)
        b.append((h, {"sum": h.sum()}))
        a.append(2 * h)
    return ops.stack(a).sum(0) + b[-1][0] * b[3][1]["sum"] + len(a)


def after_a_branch(x, w):
    kept = []
    for t in range(20):
        if x[t].sum() > 0:  # noqa: SIM108
            y = x[t]
        else:
            y = -x[t]
        kept.append(y)
    return ops.stack(kept, 1).T @ w


def loop_in_a_loop(x, w):
    kept, h = [], x[0]
    for t in range(12):
        for k in range(10):
            h = ops.tanh(h @ w + x[t] * k)
            kept.append(h)
    return ops.stack(kept, 1)


def reads_its_last(x, w):
    kept = [x[0]]
    for _ in range(20):
        kept.append(kept[-1] @ w)
    return ops.stack(kept)


def reads_its_length(x, w):
    kept = []
    for t in range(20):
        kept.append(x[len(kept)] * t)
    return ops.stack(kept)


def has_another_name(x, w):
    kept, total = [], x[0]
    other = kept
    for t in range(20):
        kept.append(x[t])
        total = total + other[-1]
    return total


def is_read_by_a_function(x, w):
    kept, total = [], x[0]

    def last():
        return kept[-1]

    for t in range(20):
        kept.append(x[t])
        total = total + last()
    return total


def holds_more_than_tensors(x, w):
    kept = []
    for t in range(20):
        kept.append(x[t])
        kept.append(3.0)
    return sum(kept)


LOOPS = [states, several, after_a_branch, loop_in_a_loop]
UNROLLED = [reads_its_last, reads_its_length, has_another_name, is_read_by_a_function, holds_more_than_tensors]


def loops(graph):
    return sum(isinstance(n.op, Loop) for n in graph.nodes)


@pytest.mark.parametrize("backend", ["interpreter", "native"])
@pytest.mark.parametrize("f", [*LOOPS, *UNROLLED], ids=lambda f: f.__name__)
def test_the_results_of_dynamic_mode(f, backend):
    gradient = ad.grad(lambda x, w: (f(x, w) ** 2).sum(), (0, 1))
    for run in (f, gradient):
        want, found = run(ad.Tensor(X), ad.Tensor(W)), ad.jit(run, backend=backend)(X, W)
        for a, b in zip(ad.core.tree.leaves(want), ad.core.tree.leaves(found), strict=True):
            np.testing.assert_allclose(b.asnumpy(), a.asnumpy(), rtol=1e-9, atol=1e-12)


@pytest.mark.parametrize("f", LOOPS, ids=lambda f: f.__name__)
def test_one_loop_there_and_one_back(f):
    assert loops(ad.jit(f).graph(X, W)) == 1
    assert loops(ad.jit(ad.grad(lambda x, w: (f(x, w) ** 2).sum(), (0, 1))).graph(X, W)) == 2


@pytest.mark.parametrize("f", UNROLLED, ids=lambda f: f.__name__)
def test_a_list_that_is_read_is_left_to_python(f):
    assert loops(ad.jit(f).graph(X, W)) == 0


def test_a_list_that_is_only_stacked_costs_no_step():
    sizes = {len(ad.jit(states).graph(X[:n], W).nodes) for n in (12, 32)}
    assert len(sizes) == 1


@pytest.mark.parametrize("backend", ["interpreter", "native"])
def test_a_tensor_that_is_written_to_after_it_was_appended(backend: str) -> None:
    """The list holds the Tensor itself, so it shows the last value in every place."""

    def f(xs, h):
        out, t = [], h.copy()
        for i in range(12):
            t[0] = t[0] + xs[i, 0]
            out.append(t)
        return ops.stack(out)

    xs, h = ad.Tensor(np.arange(24.0).reshape(12, 2)), ad.Tensor([0.5, 1.5])
    np.testing.assert_allclose(ad.jit(f, backend=backend)(xs, h).asnumpy(), f(xs, h).asnumpy())

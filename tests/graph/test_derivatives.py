"""Derivative graphs: what they compute, what they leave out, and that one engine makes them."""

from __future__ import annotations

import re
from pathlib import Path
from random import Random

import numpy as np
import pytest

import adjoint as ad
from adjoint import ops
from adjoint.core.spec import Spec, float64, int64
from adjoint.graph.derivatives import grad_graph, jvp_graph, vjp_graph, vmap_graph
from adjoint.graph.nested import float_positions
from adjoint.graph.steps import Steps
from adjoint.graph.trace import trace
from adjoint.graph.verify import problem
from adjoint.graph.walk import replay
from adjoint.testing.random_graphs import random_graph

PACKAGE = Path(ad.__file__).parent
VECTOR = Spec((3,), float64)


def names(graph) -> list[str]:
    return [type(n.op).__name__ for n in graph.calls]


def test_only_transforms_apply_the_rules_of_cards() -> None:
    """One reverse sweep, one forward mode, one batching: elsewhere a rule only hands on to the rule that it wraps."""
    wrappers = {
        "graph/ruled.py",
        "graph/inplace.py",
        "graph/loop_segments.py",
        "api/ruled_calls.py",
        "api/replaced_rules.py",
        "api/residual_rules.py",
    }
    stages = ("graph", "frontend", "passes", "backends", "api", "nn", "optim", "train")
    found = {
        str(path.relative_to(PACKAGE))
        for stage in stages
        for path in (PACKAGE / stage).rglob("*.py")
        if re.search(
            r"(?<!ad)(?<!jax\(\))\.(vjp|jvp)\(", path.read_text()
        )  # JAX's own gives the backward pass of its kernels
    }
    assert found == wrappers


@pytest.mark.parametrize("seed", range(40))
def test_random_graphs(seed: int) -> None:
    """The derivative graphs compute what the tape and dual numbers compute on arrays, and what each example of a batch gives."""
    random = Random(seed)
    graph, inputs = random_graph(random, random.randrange(3, 11), real=True)
    wanted, active = float_positions(graph.params), float_positions(graph.outputs)
    if not wanted or not active:
        return
    draw = np.random.default_rng(seed)

    def like(value):
        return np.asarray(draw.normal(size=np.shape(value)), value.dtype)

    at = [inputs[i] for i in wanted]

    def chosen(*xs):
        full = list(inputs)
        for i, x in zip(wanted, xs, strict=True):
            full[i] = x
        ys = replay(graph, full)
        return tuple(ys[i] for i in active)

    with np.errstate(all="ignore"):
        gs, ts = [like(graph.outputs[i]) for i in active], [like(x) for x in at]
        pulled, pushed = vjp_graph(graph, wanted, active), jvp_graph(graph, wanted, active)
        whole = vmap_graph(graph, (True,) * len(inputs), 2)
        assert all(problem(g) is None for g in (pulled, pushed, whole))
        examples = [inputs, [x[::-1] if x.ndim else x for x in inputs]]
        each = [Steps(graph)(*xs) for xs in examples]
        comparisons = [
            (Steps(pulled)(*inputs, *gs), ad.vjp(chosen, *at)[1](*gs)),
            (Steps(pushed)(*inputs, *ts), ad.jvp(chosen, tuple(at), tuple(ts))[1]),
            (Steps(whole)(*map(np.stack, zip(*examples))), [np.stack(ys) for ys in zip(*each)]),
        ]
    for found, expected in comparisons:
        for a, b in zip(found, expected, strict=True):
            a, b = np.asarray(a), np.asarray(b)
            assert (a.shape, a.dtype) == (b.shape, b.dtype)
            scale = 1 + np.max(np.abs(b[np.isfinite(b)]), initial=0.0)
            np.testing.assert_allclose(a, b, rtol=1e-4, atol=1e-4 * scale if a.dtype == "float32" else 1e-9 * scale)


def test_what_does_not_depend_on_the_wanted_inputs_is_left_out() -> None:
    graph = trace(lambda x, y: [ops.sin(x) * ops.exp(y), ops.tanh(y)], [VECTOR, VECTOR])[0]
    pulled = vjp_graph(graph, (0,), (0,))
    assert sorted(names(pulled)) == ["Cos", "Exp", "MaskedMul", "Mul"]
    assert names(vjp_graph(graph, (0,), (1,))) == []
    assert "Sin" in names(jvp_graph(graph, (1,), (0,))) and "Cos" not in names(jvp_graph(graph, (1,), (0,)))


def test_known_values_are_not_computed_again() -> None:
    graph = trace(lambda x: [ops.exp(ops.sin(x)) * x], [VECTOR])[0]
    kept = tuple(n for n in graph.calls if type(n.op).__name__ in ("Exp", "Sin"))
    pulled = vjp_graph(graph, (0,), (0,), kept)
    assert not {"Exp", "Sin"} & set(names(pulled)) and "Cos" in names(pulled)
    x, g = np.array([0.3, -1.0, 2.0]), np.array([1.0, 2.0, 3.0])
    values = {"Sin": np.sin(x), "Exp": np.exp(np.sin(x))}
    (found,) = Steps(pulled)(x, *(values[type(n.op).__name__] for n in kept), g)
    np.testing.assert_allclose(found, g * np.exp(np.sin(x)) * (1 + x * np.cos(x)))


def test_no_derivative_passes_through_integers() -> None:
    graph = trace(lambda x: [ops.cast(ops.cast(x, int64), float64) * x], [VECTOR])[0]
    (found,) = Steps(grad_graph(graph))(np.array([1.5, 2.5, -3.5]))
    np.testing.assert_array_equal(found, [1.0, 2.0, -3.0])


def test_results_that_are_inputs_or_one_value_twice() -> None:
    graph = trace(lambda x, y: [x, x * y, x], [VECTOR, VECTOR])[0]
    x, y = np.array([1.0, 2.0, 3.0]), np.array([4.0, 5.0, 6.0])
    gs = [np.full(3, k) for k in (1.0, 10.0, 100.0)]
    found = Steps(vjp_graph(graph, (0, 1), (0, 1, 2)))(x, y, *gs)
    np.testing.assert_array_equal(found, [101 + 10 * y, 10 * x])


def test_long_graphs() -> None:
    def many(x):
        for _ in range(4000):
            x = ops.sin(x)
        return [x]

    graph = trace(many, [Spec((), float64)])[0]
    gradient = grad_graph(graph)
    assert len(gradient.calls) < 5 * len(graph.calls)
    value, slope = 0.5, 1.0
    for _ in range(4000):
        value, slope = np.sin(value), slope * np.cos(value)
    np.testing.assert_allclose(Steps(gradient)(np.float64(0.5))[0], slope)


def test_an_open_tape_sees_nothing_of_it() -> None:
    """Constants of a graph that is derived inside a GradientTape's block stay constants."""
    graph = trace(lambda x: [x * ops.exp(np.array([1.0, 2.0, 3.0]))], [VECTOR])[0]
    with ad.GradientTape():
        pulled, pushed, whole = (
            vjp_graph(graph, (0,), (0,)),
            jvp_graph(graph, (0,), (0,)),
            vmap_graph(graph, (True,), 2),
        )
    assert [len(g.params) for g in (pulled, pushed, whole)] == [2, 2, 1]

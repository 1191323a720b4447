"""Products leave loops: what is left inside, what is computed before and after, and that results are the same in any mode."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import adjoint as ad
from adjoint import ops
from adjoint.backends import interpreter
from adjoint.graph.control import Loop
from adjoint.graph.node import Graph
from adjoint.graph.verify import problem
from adjoint.passes.fission import fission
from adjoint.passes.pipeline import optimise

rng = np.random.default_rng(0)
XS, W, U, H = (
    rng.normal(size=(12, 4, 3)),
    rng.normal(size=(3, 5)),
    0.3 * rng.normal(size=(5, 5)),
    rng.normal(size=(4, 5)),
)


def loops(graph: Graph) -> list[Graph]:
    """The bodies of the loops, the outer before the inner."""
    found = []
    for node in graph.calls:
        if isinstance(node.op, Loop):
            found += [node.op.body, *loops(node.op.body)]
    return found


def products(graph: Graph) -> int:
    """How many products are outside of loops."""
    return sum(type(n.op).__name__ == "MatMul" for n in graph.calls)


def parted(fn: Callable[..., Any], *args: Any) -> Graph:
    """The optimised graph; its results are those of the function run as it stands."""
    graph = ad.graph.trace_function(fn, list(args))
    better = fission(graph)
    assert problem(better, graph) is None
    wanted = [np.asarray(y) for y in ad.core.tree.leaves(fn(*args))]
    for each in (better, optimise(graph)[0]):
        for a, b in zip(interpreter.compile(each)(*args), wanted, strict=True):
            np.testing.assert_allclose(a, b, rtol=1e-10, atol=1e-10)
    return optimise(graph)[0]


def network(xs: Any, w: Any, u: Any, h: Any) -> Any:
    for i in range(12):
        h = ops.tanh(xs[i] @ w + h @ u)
    return (h * h).sum()


def test_a_product_with_slices_is_taken_before() -> None:
    graph = parted(network, XS, W, U, H)
    (body,) = loops(graph)
    assert products(graph) == 1 and products(body) == 1


def test_gradients_of_weights_are_taken_after() -> None:
    """Two loops, forward and back, each with the one product that the next round needs."""
    graph = parted(lambda *xs: ad.grad(network, (0, 1, 2, 3))(*xs), XS, W, U, H)
    assert [products(body) for body in loops(graph)] == [1, 1]
    assert products(graph) == 4  # x w before; after it the gradients of x, w and u


def test_a_list_of_states_and_a_bias() -> None:
    def model(xs, w, u, b, h):
        states = []
        for i in range(12):
            h = ops.sigmoid(xs[i] @ w + h @ u + b)
            states.append(h)
        return (ops.stack(states) ** 2).sum()

    bias = rng.normal(size=5)
    graph = parted(lambda *xs: ad.grad(model, (0, 1, 2, 3))(*xs), XS, W, U, bias, H)
    assert [products(body) for body in loops(graph)] == [1, 1]
    assert not any(type(n.op).__name__ in ("Sum", "ScatterAdd") for body in loops(graph) for n in body.calls)


def test_an_array_longer_than_the_loop() -> None:
    def model(xs, w, h):
        for i in range(9):
            h = ops.tanh(xs[i] @ w + h)
        return h

    graph = parted(model, XS, W, H)
    assert products(graph) == 1 and products(loops(graph)[0]) == 0
    parted(lambda *xs: ad.grad(lambda *ys: model(*ys).sum(), (0, 1))(*xs), XS, W, H)


def test_vectors() -> None:
    def model(xs, w, h):
        for i in range(12):
            h = ops.tanh(xs[i] @ w + h)
        return h

    assert products(parted(model, XS[:, 0], W, H[0])) == 1


@pytest.mark.parametrize(
    "index",
    [lambda i: i + 1, lambda i: 11 - i, lambda i: i // 2, lambda i: 0],
    ids=["shifted", "backwards", "halved", "fixed"],
)
def test_other_indices_are_not_taken_for_the_round(index: Callable[[Any], Any]) -> None:
    def model(xs, w, h):
        for i in range(10):
            h = ops.tanh(xs[index(i)] @ w + h)
        return h.sum()

    parted(model, XS, W, H)
    parted(lambda *xs: ad.grad(model, (0, 1))(*xs), XS, W, H)


def test_a_sum_that_is_read_stays() -> None:
    def model(xs, w):
        total = ops.zeros((3, 5), "float64")
        seen = ops.zeros((), "float64")
        for i in range(12):
            total = total + xs[i].T @ (xs[i] @ w)
            seen = seen + total.sum()
        return total, seen

    parted(model, XS, W)


def test_sums_of_products_begin_anywhere() -> None:
    def model(xs, total):
        for i in range(12):
            total = total + xs[i].T @ (xs[i] * 2.0)
        return total

    graph = parted(model, XS, np.ones((3, 3)))
    assert products(graph) == 1


def test_a_loop_in_a_loop() -> None:
    def model(xs, w, h):
        for _ in range(3):
            for i in range(12):
                h = ops.tanh(xs[i] @ w + h)
        return h.sum()

    parted(model, XS, W, H)
    parted(lambda *xs: ad.grad(model, (0, 1, 2))(*xs), XS, W, H)


def test_an_unknown_number_of_rounds_is_left_alone() -> None:
    def model(xs, w, h):
        i = 0
        while h.sum() < 100.0 and i < 12:
            h = h + ops.exp(xs[i] @ w)
            i = i + 1
        return h

    parted(model, XS, W, H)


def test_prints_stay_in_their_rounds(capsys: pytest.CaptureFixture[str]) -> None:
    def model(xs, w, h):
        for i in range(12):
            h = ops.tanh(xs[i] @ w + h)
            print("round", i)
        return h

    ad.jit(model)(XS, W, H)
    assert capsys.readouterr().out.splitlines() == [f"round {i}" for i in range(12)]

"""Compiled functions at their edges: what is captured, donated, returned as it came, too large for 64 bits."""

from __future__ import annotations

import numpy as np
import pytest

import adjoint as ad
from adjoint import ops


def test_a_captured_result_of_a_parameter_compiles_once() -> None:
    """What was computed from a Parameter outside is an input of the graph, and gets its gradient."""
    w = ad.Parameter(ad.Tensor([1.0, 2.0]), name="w")
    scale = ops.exp(w * 2.0)
    run = ad.jit(lambda x: (x * scale).sum())
    for _ in range(3):
        total = run(ad.Tensor([3.0, 4.0]))
    assert len(run.compilations) == 1
    total.backward()
    np.testing.assert_allclose(w.grad.asnumpy(), 2 * np.array([3.0, 4.0]) * np.exp([2.0, 4.0]), rtol=1e-5)


def test_gradients_in_graph_mode_are_not_followed_for_backward() -> None:
    """As in dynamic mode: what value_and_grad returns is a plain number, and float() takes it."""
    w = ad.Parameter(ad.Tensor([1.0, 2.0]), name="w")
    step = ad.value_and_grad(lambda x: (w * x).sum(), None, weights=[w])
    ad.set_context(mode=ad.GRAPH_MODE)
    try:
        for _ in range(3):
            value, (gradient,) = step(ad.Tensor([3.0, 4.0]))
            assert not value.tracked and not gradient.tracked
            assert float(value) == 11.0 and np.asarray(gradient).tolist() == [3.0, 4.0]
    finally:
        ad.set_context(mode=ad.PYNATIVE_MODE)


def test_a_number_of_a_result_for_backward() -> None:
    w = ad.Parameter(ad.Tensor([1.0, 2.0]), name="w")
    loss = ad.jit(lambda x: (w * x).sum())(ad.Tensor([3.0, 4.0]))
    assert float(loss) == 11.0
    loss.backward()
    assert w.grad.tolist() == [3.0, 4.0]


def test_numbers_beyond_64_bits() -> None:
    for backend in ("native", "interpreter"):
        assert ad.jit(lambda x: x * 2**64 + 10**30, backend=backend)(1.0).item() == 2.0**64 + 1e30
        times = ad.jit(lambda x, n: x * n, backend=backend)
        assert [times(0.5, n).item() for n in (3, 2**70, 5, -(2**64))] == [1.5, 2.0**69, 2.5, -(2.0**63)]


def test_an_argument_that_is_a_result_is_not_shared() -> None:
    for backend in ("native", "interpreter"):
        run, a = ad.jit(lambda x: (x, x * 2), backend=backend), np.ones(3)
        for _ in range(3):
            same, _ = run(a)
            a[0] += 1
            assert same.tolist() == [a[0] - 1, 1, 1]


def test_a_function_without_a_number() -> None:
    with pytest.raises(ValueError, match="returned no number"):
        ad.jit(lambda x: "text")(1.0)


def test_memory_that_others_hold_is_not_overwritten() -> None:
    for backend in ("native", "interpreter"):
        run = ad.jit(lambda x: x * 2 + 1, donate="x", backend=backend)
        x = ad.Tensor(np.arange(1000.0))
        copy, part, view = x.copy(), x[2:5], np.asarray(x)
        run(x)
        assert copy[3].item() == 3.0 and part.tolist() == [2.0, 3.0, 4.0] and view[3] == 3.0
        both = ad.jit(lambda x, y: (x * 2, y + 1, x + y), donate=("x", "y"), backend=backend)
        x = ad.Tensor(np.arange(3.0))
        assert [y.tolist() for y in both(x, x.copy())] == [[0, 2, 4], [1, 2, 3], [0, 2, 4]]


def test_a_captured_tensor_that_is_replaced() -> None:
    """Weights as Tensors that require gradients, replaced after each step."""
    w = ad.Tensor(np.ones(3), requires_grad=True)
    loss = ad.jit(lambda x: (x * w).sum())
    x = ad.Tensor([1.0, 2.0, 3.0])
    losses = []
    for _ in range(3):
        y = loss(x)
        losses.append(float(y))
        y.backward()
        w = ad.Tensor((w - 0.1 * w.grad).asnumpy(), requires_grad=True)
    np.testing.assert_allclose(losses, [6.0, 4.6, 3.2])


def test_static_arguments_that_cannot_be_hashed() -> None:
    run = ad.jit(lambda x, s: x * float(sum(s)))
    assert [run(1.0, {k, 100}).item() for k in range(20)] == [k + 100.0 for k in range(20)]
    sign = ad.jit(lambda x, s: x * np.copysign(1.0, s), static_argnames="s")
    assert [sign(2.0, s).item() for s in (0.0, -0.0, 0.0)] == [2.0, -2.0, 2.0]


def test_reductions_of_a_number() -> None:
    for backend in ("native", "interpreter"):
        run = ad.jit(lambda x: (ops.sum(x), ops.mean(x), ops.max(x)), backend=backend)
        assert [y.item() for y in run(3.0)] == [3.0, 3.0, 3.0]


def test_a_graph_that_is_gone_through_again_is_no_python_program():
    """`~` of a truth value flips it in a graph, also where the truth value comes from a Python number."""

    def f(b):
        if not (b < 1.11):
            return b * 0.0 + 7.0
        return b * 2.0

    inner = ad.jit(f)
    for way in (ad.grad(inner), ad.jit(ad.grad(inner)), ad.jit(ad.grad(lambda b: inner(b) * 1.0)), ad.jacfwd(inner)):
        assert float(way(0.5)) == 2.0 and float(way(2.0)) == 0.0
    assert float(ad.jit(lambda b: inner(b) * 1.0)(0.5)) == 1.0

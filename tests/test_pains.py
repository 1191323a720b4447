"""What users of autodiff tools complain about, and what happens here: one test for each, in dynamic and static mode."""

from __future__ import annotations

import math

import numpy as np
import pytest

import adjoint as ad
from adjoint import ops
from adjoint.graph import steps
from adjoint.graph.control import Control, Loop
from adjoint.graph.inplace import InPlace
from adjoint.passes.pipeline import size

MODES = pytest.mark.parametrize("mode", [lambda f: f, ad.jit], ids=["dynamic", "static"])


def close(found, wanted, rtol=1e-9):
    np.testing.assert_allclose(np.asarray(found), np.asarray(wanted), rtol=rtol, atol=1e-12)


# ---------------------------------------------------------------- 1


def root(a):
    x = a * 1.0
    while abs(x * x - a) > 1e-13:
        x = 0.5 * (x + a / x)
    return x


@MODES
def test_pain_01_reverse_mode_through_a_data_dependent_while(mode):
    for a in (0.5, 2.0, 1e4):
        close(ad.grad(mode(root))(a), 0.5 * a**-0.5)
        close(mode(ad.grad(root))(a), 0.5 * a**-0.5)
        close(ad.grad(ad.grad(mode(root)))(a), -0.25 * a**-1.5, rtol=1e-6)
        close(mode(ad.grad(ad.grad(root)))(a), -0.25 * a**-1.5, rtol=1e-6)
    close(ad.jvp(mode(root), 2.0, 1.0)[1], 0.5 * 2**-0.5)


@MODES
def test_pain_01_second_derivatives_when_a_part_of_the_state_moves_nothing(mode):
    def f(x, stop):
        k, y = x * 0.0, x * 1.0
        while k < stop:
            k, y = k + 1.0, y * 1.0
        return y * y

    def slope(x, stop):
        along, across = ad.grad(f, (0, 1))(x, stop)
        return 3.0 * along + across

    close(mode(ad.grad(slope, (0, 1)))(1.5, 3.0), [6.0, 0.0])


def test_pain_01_a_batch_of_whiles_that_end_at_different_times():
    a = np.array([0.5, 2.0, 1e4])
    close(ad.jit(ad.vmap(ad.grad(root)))(a), 0.5 * a**-0.5)
    close(ad.vmap(ad.grad(ad.jit(root)))(a), 0.5 * a**-0.5)


# ---------------------------------------------------------------- 2


def pendulum(x, rounds):
    speed = x * 0.0
    for _ in range(rounds):
        speed = speed - 0.01 * ops.sin(x)
        x = x + 0.01 * speed
    return x


def written_out(lines):
    body = "".join(f"    x = x + 0.1 * ops.sin(x * {k + 1}.0)\n" for k in range(lines))
    namespace = {"ops": ops}
    exec(f"def program(x):\n{body}    return x\n", namespace)
    return namespace["program"]


def test_pain_02_a_loop_has_one_graph_whatever_its_rounds():
    """What compiling costs is counted in nodes, of the value and of its first and second derivative."""
    transforms = [lambda f: f, ad.grad, lambda f: ad.grad(ad.grad(f))]
    for transform in transforms:
        sizes = {n: size(ad.jit(transform(lambda x, n=n: pendulum(x, n))).graph(0.3)) for n in (20, 200, 20_000)}
        assert len(set(sizes.values())) == 1, sizes


@pytest.mark.parametrize("transform", [lambda f: f, ad.grad], ids=["value", "gradient"])
def test_pain_02_straight_code_makes_nodes_in_proportion(transform):
    few, some, many = (size(ad.jit(transform(written_out(n))).graph(0.3)) for n in (10, 40, 160))
    assert (many - some) / (some - few) == pytest.approx(4, rel=0.05)


# ---------------------------------------------------------------- 4


def test_pain_04_every_compilation_says_why_and_can_be_counted():
    f = ad.jit(lambda x, n=1: x.sum() * n)
    for x in (np.ones(2), np.zeros(2), np.ones(3), np.ones(3, np.float32)):
        f(x)
    f(np.ones(2), n=2)
    f(np.ones(2), n=3)
    f(np.ones(2), n=2)  # known already
    assert [c.reason for c in f.compilations] == [
        "first call",
        "shape of `x` changed from (2,) to (3,)",
        "dtype of `x` changed from float64 to float32",
        "the arguments have another structure: `n` is new: 2",
        "static value of `n` changed from 2 to 3",
    ]
    assert f.explain(np.ones(3)).startswith("jit(<lambda>): shape of `x` changed")


def test_pain_04_varying_batch_sizes_share_one_graph():
    f = ad.jit(lambda x, w: ops.mean(ops.tanh(x @ w)), dynamic="x")
    w = np.arange(6.0).reshape(3, 2) / 10
    for n in (2, 3, 7, 64):
        x = np.sin(np.arange(3.0 * n)).reshape(n, 3)
        close(f(x, w), np.tanh(x @ w).mean())
    assert len(f.compilations) == 1


# ---------------------------------------------------------------- 6


def fibonacci_like(x):
    y = x * 1.0
    for i in range(2, 8):
        y[i] = y[i - 1] * 0.5 + y[i - 2]
    y[0] += 3.0
    y[1:3] *= x[0]
    return ops.sum(y * y)


def by_numpy(x):
    y = np.array(x)
    for i in range(2, 8):
        y[i] = y[i - 1] * 0.5 + y[i - 2]
    y[0] += 3.0
    y[1:3] *= x[0]
    return float(np.sum(y * y))


def slopes(f, x, h=1e-6):
    """Central differences."""
    return np.array([(f(x + h * e) - f(x - h * e)) / (2 * h) for e in np.eye(len(x))])


@MODES
def test_pain_06_index_assignment_is_differentiated(mode):
    x = np.linspace(0.2, 1.0, 8)
    close(mode(fibonacci_like)(x), by_numpy(x))
    close(ad.grad(mode(fibonacci_like))(x), slopes(by_numpy, x), rtol=1e-6)
    close(mode(ad.grad(fibonacci_like))(x), slopes(by_numpy, x), rtol=1e-6)
    close(x, np.linspace(0.2, 1.0, 8))  # the caller's array is as it was


@MODES
@pytest.mark.parametrize("rounds", [2, 30])
def test_pain_06_two_names_of_one_array_see_the_same_update(mode, rounds):
    def f(a, v):
        w = v + 0.0
        kept = [w]
        if a > 0:
            w[0] = a
        for i in range(rounds):
            kept[0][1] = a * i
        return ops.sum(w) + 10 * ops.sum(kept[0])

    v = np.array([0.3, -0.2, 0.5])
    close(mode(f)(0.7, v), 11 * (0.7 + 0.7 * (rounds - 1) + 0.5))
    close(ad.grad(mode(f), (0, 1))(0.7, v)[0], 11.0 * rounds)


@MODES
@pytest.mark.parametrize("rows", [3, 40])
def test_pain_06_an_array_may_be_updated_while_it_is_iterated_over(mode, rows):
    def f(m, a):
        m, total = m * 1.0, a * 0.0
        for row in m:
            m[-1] = a
            total = total + ops.sum(row)
        return total

    found = ad.value_and_grad(mode(f), (0, 1))(np.ones((rows, 2)), 5.0)
    close(found[0], 2 * (rows - 1) + 10)
    close(found[1][1], 2)


# ---------------------------------------------------------------- 7


def running(x):
    """Writes and reads one element of a long array in each round."""
    y = x * 1.0
    for i in range(1, len(x)):
        y[i] = ops.sin(y[i - 1]) * x[i] + y[i]
    return y[len(x) - 1]


def elements_made(monkeypatch, fn, n):
    """How many numbers of fresh memory the interpreter fills when it runs a function of n numbers."""
    made = []

    def counting(op, xs):
        ys = evaluate(op, xs)
        for y in ys if isinstance(ys, tuple) else (ys,):
            old = [x for x in xs if isinstance(x, np.ndarray)]
            if (
                isinstance(y, np.ndarray)
                and not isinstance(op, Loop)
                and not any(np.may_share_memory(x, y) for x in old)
            ):
                made.append(y.size)
        return ys

    evaluate = steps.evaluate
    x = np.linspace(0.1, 1.0, n)
    fn(x)
    with monkeypatch.context() as patch:
        patch.setattr(steps, "evaluate", counting)
        fn(x)
    return sum(made)


@pytest.mark.parametrize("transform", [lambda f: f, ad.grad], ids=["value", "gradient"])
def test_pain_07_an_index_update_in_a_loop_costs_the_same_each_round(monkeypatch, transform):
    """Twice the rounds on twice the array are twice the work, not four times."""
    once, twice = (elements_made(monkeypatch, ad.jit(transform(running), backend="interpreter"), n) for n in (200, 400))
    assert once < 200 * 20
    assert twice < 2.2 * once


def loop_bodies(graph):
    for node in graph.calls:
        if isinstance(node.op, Control):
            if isinstance(node.op, Loop):
                yield node.op.body
            for inner in node.op.graphs().values():
                yield from loop_bodies(inner)


def test_pain_07_loop_bodies_hold_no_work_on_the_whole_array():
    bodies = list(loop_bodies(ad.jit(ad.grad(running)).graph(np.ones(50))))
    assert len(bodies) >= 2
    for body in bodies:
        for node in body.calls:
            assert isinstance(node.op, InPlace) or math.prod(node.spec.shape) == 1, (node.op, str(body))


# ---------------------------------------------------------------- 9


@MODES
@pytest.mark.filterwarnings("ignore:.*(sqrt|log)")
def test_pain_09_a_branch_not_taken_gives_no_nan(mode):
    x = np.array([0.0, 4.0, -1.0])
    guarded = mode(lambda v: ops.where(v > 0, ops.sqrt(v), 0.0).sum())
    close(ad.grad(guarded)(x), [0, 0.25, 0])
    close(ad.grad(mode(lambda v: ops.where(v > 0, ops.log(v), v).sum()))(x), [1, 0.25, 1])
    close(ad.grad(mode(lambda v: ops.norm(v)))(np.zeros(3)), np.zeros(3))
    close(mode(ad.grad(lambda v: ops.norm(v)))(np.zeros(3)), np.zeros(3))
    close(ad.vmap(ad.grad(mode(lambda v: ops.where(v > 0, ops.sqrt(v), 0.0))))(x), [0, 0.25, 0])


# ---------------------------------------------------------------- 12


def test_pain_12_compiled_code_is_differentiated_to_any_order():
    f = ad.jit(lambda x: ops.exp(ops.sin(x)))
    s, c, e = math.sin(0.4), math.cos(0.4), math.exp(math.sin(0.4))
    exact = [e, c * e, (c * c - s) * e, (c**3 - 3 * s * c - c) * e]
    reverse = forward = f
    for order in exact:
        close(reverse(0.4), order)
        close(forward(0.4), order)
        close(ad.jit(reverse)(0.4), order)
        reverse, forward = ad.jit(ad.grad(reverse)), lambda x, g=forward: ad.jvp(g, x, 1.0)[1]
    close(ad.jit(ad.hessian(lambda v: f(v[0] * v[1])))(np.array([0.4, 1.0]))[0, 0], exact[2])

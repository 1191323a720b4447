"""`jit(f, memory=...)`: the peak of the plan is within the budget and the values are the same, or nothing runs."""

from __future__ import annotations

import copy
import pickle

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import adjoint as ad
from adjoint import nn, ops
from adjoint.core import tree
from adjoint.data import ArrayDataset
from adjoint.train import Model

RNG = np.random.default_rng(1)
WIDTH = 160
WEIGHTS = [RNG.normal(size=(WIDTH, WIDTH)).astype(np.float32) / 12 for _ in range(6)]
X = RNG.normal(size=(512, WIDTH)).astype(np.float32)  # large enough for the planner to care


def loss(weights, x):
    for w in weights:
        x = ops.tanh(x @ w) + 0.1 * x
    return ops.mean(x * x)


GRADIENT = ad.grad(loss)


def arrays(value):
    return [np.asarray(x.asnumpy() if isinstance(x, ad.Tensor) else x) for x in tree.leaves(value)]


def same(found, expected, tolerance=1e-5):
    for a, b in zip(arrays(found), arrays(expected), strict=True):
        np.testing.assert_allclose(a, b, rtol=tolerance, atol=tolerance * max(np.abs(b).max(), 1e-30))


def budget_of(report, share):
    return int(report.result_bytes + share * report.arena_bytes)


@pytest.mark.parametrize("backend", ["native", "interpreter"])
def test_the_budget_is_kept_and_the_gradient_is_the_same(backend):
    plain = ad.jit(GRADIENT, backend=backend).memory(WEIGHTS, X)
    expected = GRADIENT(WEIGHTS, X)
    for share in (0.8, 0.6):
        budget = budget_of(plain, share)
        f = ad.jit(GRADIENT, backend=backend, memory=budget)
        assert f.memory(WEIGHTS, X).peak_bytes <= budget
        same(f(WEIGHTS, X), expected)
        assert len(f.compilations) == 1
        assert "beyond the arguments" in f.explain(WEIGHTS, X)


def test_what_fits_is_left_as_it_is():
    plain = ad.jit(GRADIENT)
    f = ad.jit(GRADIENT, memory=plain.memory(WEIGHTS, X).peak_bytes)
    assert str(f.graph(WEIGHTS, X)) == str(plain.graph(WEIGHTS, X))


def test_what_cannot_fit_is_refused_before_anything_runs():
    f = ad.jit(GRADIENT, memory="700KB")
    with pytest.raises(ad.MemoryBudgetError) as caught:
        f(WEIGHTS, X)
    said = str(caught.value)
    assert isinstance(caught.value, MemoryError) and f.compilations == []
    assert "683.6 KiB was allowed" in said and "at the least" in said and "at the peak:" in said and "memory=" in said
    enough = int(said.split("memory=")[2].split(",")[0])
    assert ad.jit(GRADIENT, memory=enough).memory(WEIGHTS, X).peak_bytes <= enough


def test_without_a_gradient_there_is_nothing_to_compute_again():
    with pytest.raises(ad.MemoryBudgetError, match="at the least"):
        ad.jit(lambda x: ops.exp(x) @ x.T, memory=1000)(X)


def waiting(x, n):
    """A loop whose length is known only when it runs."""
    k = 0.0
    while k < n:
        x = ops.sin(x) * 1.01
        k = k + 1.0
    return x.sum()


def waiting_in_turn(x, n):
    k = 0.0
    while k < n:
        j = 0.0
        while j < k:
            x = ops.sin(x) * 1.01
            j = j + 1.0
        k = k + 1.0
    return x.sum()


@pytest.mark.parametrize("backend", ["native", "interpreter"])
@pytest.mark.parametrize("fn", [waiting, waiting_in_turn])
@pytest.mark.parametrize("budget", [200_000, 2_000_000])
def test_loops_of_unknown_length_hold_no_more_than_the_budget(fn, budget, backend):
    x = np.linspace(-1.0, 1.0, 1000)
    f = ad.jit(ad.grad(fn), backend=backend, memory=budget)
    report = f.memory(x, 5.0)
    assert report.peak_bytes <= budget and not report.per_iteration
    for n in (0.0, 1.0, 17.0):
        same(f(x, n), ad.grad(fn)(x, n), 1e-12)


def test_what_grows_with_the_iterations_is_refused():
    def second(x, n):
        return ad.grad(lambda x: (ad.grad(waiting)(x, n) ** 2).sum())(x)

    with pytest.raises(ad.MemoryBudgetError, match='a loop of unknown length keeps .* checkpoint="binomial"'):
        ad.jit(second, memory="1GB").memory(np.ones(10), 3.0)


def stepped(y):
    for _ in range(200):
        y = y + 1e-3 * (ops.sin(y) - y * y[::-1])
    return (y * y).sum()


def stepped_thrice(y):
    for _ in range(200):
        y = y + 1e-3 * (ops.sin(y) - y * y[::-1])
    for _ in range(200):
        y = y + 1e-3 * (ops.cos(y) - y * y[::-1])
    for _ in range(200):
        y = y + 1e-3 * (ops.sin(y) - y * y[::-1])
    return (y * y).sum()


@pytest.mark.parametrize("fn", [stepped, stepped_thrice])
@pytest.mark.parametrize("kind", ["policy", "jit"])
def test_budgets_of_loops_are_kept_or_refused(fn, kind):
    y = np.linspace(-1.0, 1.0, 1000)

    def made(budget):
        if kind == "jit":
            return ad.jit(ad.grad(fn), memory=budget)
        return ad.jit(ad.grad(fn, checkpoint=ad.GradientCheckpoint("budget", memory=budget)))

    with pytest.raises(ad.MemoryBudgetError, match="at the least"):
        made(100_000)(y)
    for budget in (200_000, 700_000) if fn is stepped else (400_000,):
        f = made(budget)
        assert f.memory(y).peak_bytes <= budget
        same(f(y), ad.grad(fn)(y), 1e-10)


def test_the_lesser_of_two_budgets_of_a_loop_is_kept():
    policy = ad.GradientCheckpoint("budget", memory=400_000)
    for fn, memory, least in ((stepped_thrice, 200_000, 200_000), (stepped, 10**7, 400_000)):
        f = ad.jit(ad.grad(fn, checkpoint=policy), memory=memory)
        assert f.memory(np.ones(1000)).peak_bytes <= least
    inner = ad.jit(ad.grad(stepped, checkpoint=policy))
    outer = ad.jit(lambda y: inner(y) * 2.0)
    assert outer.memory(np.ones(1000)).peak_bytes <= 400_000


def test_wrong_budgets():
    for wrong in ("many", 0, -5, 2.5, "3 parsecs", True, np.True_, np.int64(0), np.float64(5)):
        with pytest.raises(ad.ArgumentError, match="memory"):
            ad.jit(GRADIENT, memory=wrong)
    with pytest.raises(ad.ArgumentError, match="dynamic"):
        ad.jit(GRADIENT, memory="1GB", dynamic="x")


@pytest.mark.parametrize("kind", [int, np.int32, np.int64, np.uint64])
def test_budgets_of_every_kind_of_integer(kind):
    policy = ad.GradientCheckpoint("budget", memory=kind(10**6))
    assert policy == ad.GradientCheckpoint("budget", memory="1MB") and type(policy.memory) is int
    assert type(ad.jit(ops.sin, memory=kind(10**6))._memory) is int


def test_a_directory_is_a_path():
    for wrong in (5, b"/tmp", ["/tmp"]):
        with pytest.raises(ad.ArgumentTypeError, match="directory must be a path"):
            ad.GradientCheckpoint("offload", directory=wrong)


def test_copies_and_decorators_keep_the_budget():
    @ad.jit(memory="900MB")
    def f(x):
        return ops.sum(x)

    assert "858.3 MiB" in f.explain(X) and "858.3 MiB" in copy.copy(f).explain(X)
    tiny = ad.jit(GRADIENT, memory="700KB")
    with pytest.raises(ad.MemoryBudgetError):
        copy.copy(tiny)(WEIGHTS, X)
    assert pickle.loads(pickle.dumps(ad.jit(ops.sin, memory=5)))._memory == 5


def test_compiled_functions_inside_know_the_budget():
    inner = ad.jit(GRADIENT)
    plain = inner.memory(WEIGHTS, X)
    budget = budget_of(plain, 0.7)
    outer = ad.jit(lambda w, x: inner(w, x), memory=budget)
    assert outer.memory(WEIGHTS, X).peak_bytes <= budget
    assert inner.memory(WEIGHTS, X).peak_bytes == plain.peak_bytes
    same(outer(WEIGHTS, X), GRADIENT(WEIGHTS, X))


@pytest.mark.parametrize("policy", ["sqrt", "balanced"])
def test_the_gradient_of_a_compiled_function(policy):
    same(ad.grad(ad.jit(loss), checkpoint=policy)(WEIGHTS, X), GRADIENT(WEIGHTS, X))


@pytest.mark.parametrize("settings_", [{"checkpoint": "sqrt"}, {"memory": 0.8}], ids=str)
def test_compiled_steps(settings_):
    def made(**given):
        w = [ad.Parameter(ad.Tensor(x), name=f"w{k}") for k, x in enumerate(WEIGHTS)]
        optimiser = ad.optim.Momentum(w, learning_rate=0.1, momentum=0.9)
        return w, ad.optim.compiled_step(lambda x: loss(w, x), w, optimiser, **given)

    plain, step = made()
    x = ad.Tensor(X)
    report = step.memory(x)
    if "memory" in settings_:
        settings_ = {"memory": int(report.peak_bytes - 0.2 * report.arena_bytes)}
    mine, other = made(**settings_)
    for _ in range(2):
        same(other(x), step(x))
    same(mine, plain)
    assert other.memory(x).peak_bytes <= settings_.get("memory", report.peak_bytes - 1)


def net():
    ad.set_seed(2)
    return nn.SequentialCell(*[nn.SequentialCell(nn.Dense(8, 8), nn.Tanh()) for _ in range(6)])


@pytest.mark.parametrize("static", [False, True])
def test_models(static):
    x = RNG.normal(size=(16, 8)).astype(np.float32)
    found = []
    ad.set_context(mode=ad.GRAPH_MODE if static else ad.PYNATIVE_MODE)
    try:
        for given in ({}, {"checkpoint": "sqrt"}, *([{"memory": "1MB"}] if static else [])):
            network = net()
            model = Model(network, ops.mse_loss, ad.optim.SGD(network.trainable_params(), 0.1), **given)
            model.train(2, ArrayDataset(x, x).batch(8))
            found.append([p.asnumpy() for p in network.trainable_params()])
        if not static:
            model = Model(network, ops.mse_loss, ad.optim.SGD(network.trainable_params(), 0.1), memory="1MB")
            with pytest.raises(ad.ArgumentError, match="static mode"):
                model.train(1, ArrayDataset(x, x).batch(8))
    finally:
        ad.set_context(mode=ad.PYNATIVE_MODE)
    for other in found[1:]:
        same(other, found[0])


STEPS = {
    "tanh": lambda x, y, w: ops.tanh(x @ w),
    "product": lambda x, y, w: x * y,
    "sum": lambda x, y, w: x + ops.sin(y),
    "rows": lambda x, y, w: x * ops.mean(y, axis=1, keepdims=True),
    "softmax": lambda x, y, w: ops.softmax(x) + y @ w,
    "choice": lambda x, y, w: ops.where(x > y, x, 0.5 * y),
    "views": lambda x, y, w: ops.concatenate([y[:, 80:], x[:, :80]], axis=1) @ w,
}


@st.composite
def programs(draw):
    """Random steps, each on two of the values before it."""
    chosen = []
    for k in range(draw(st.integers(4, 9))):
        chosen.append((draw(st.sampled_from(sorted(STEPS))), draw(st.integers(0, k)), draw(st.integers(0, k)), k % 6))

    def program(weights, x):
        values = [x]
        for name, i, j, w in chosen:
            values.append(STEPS[name](values[-1 - min(i, 1)], values[j], weights[w]))
        return ops.sum(values[-1] * values[len(values) // 2]) / 1000

    return program


@settings(max_examples=7, deadline=None)
@given(programs(), st.floats(0.3, 1.0), st.sampled_from(["native", "interpreter"]))
def test_random_programs_under_random_budgets(program, share, backend):
    gradient = ad.grad(program, (0, 1))
    budget = budget_of(ad.jit(gradient, backend=backend).memory(WEIGHTS, X), share)
    f = ad.jit(gradient, backend=backend, memory=budget)
    try:
        report = f.memory(WEIGHTS, X)
    except ad.MemoryBudgetError as error:
        least = int(str(error).split("memory=")[2].split(",")[0])
        assert least > budget
        f = ad.jit(gradient, backend=backend, memory=least)
        report, budget = f.memory(WEIGHTS, X), least
    assert report.peak_bytes <= budget
    same(f(WEIGHTS, X), gradient(WEIGHTS, X), 1e-4)

"""Backward passes of loops that hold few states: the same gradients, the fewest iterations computed again, and less memory."""

from __future__ import annotations

from functools import cache

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import adjoint as ad
from adjoint import ops
from adjoint.core.checkpoint_policy import CheckpointPolicy
from adjoint.graph import loop_checkpoints
from adjoint.graph.control import UNKNOWN, Control, Loop
from adjoint.graph.loop_checkpoints import plan
from adjoint.graph.node import Graph
from adjoint.ops.trigonometric import Sin

BACKENDS = ("interpreter", "native")
COUNTS = (0, 1, 2, 3, 7, 8, 9, 10, 31, 100, 1000)
POLICIES = {
    "sqrt": "sqrt",
    "binomial": "binomial",
    "balanced": "balanced",
    "one": ad.GradientCheckpoint("binomial", snapshots=1),
    "three": ad.GradientCheckpoint("binomial", snapshots=3),
    "budget": ad.GradientCheckpoint("budget", memory=1500),
}


def steps_of(x, w, n):
    """A loop whose length is known only when it runs."""
    for _ in range(n):
        x = ops.sin(x * w) + 0.1 * w
    return x.sum()


def by_hand(x, w, n):
    """The gradient of `steps_of`, in NumPy."""
    states = [x]
    for _ in range(n):
        states.append(np.sin(states[-1] * w) + 0.1 * w)
    gx, gw = np.ones_like(x), np.zeros_like(w)
    for x in reversed(states[:-1]):
        slope = gx * np.cos(x * w)
        gx, gw = slope * w, gw + slope * x + 0.1 * gx
    return gx, gw


def assert_same(found, expected, tolerance=1e-12) -> None:
    for a, b in zip(found, expected, strict=True):
        np.testing.assert_allclose(np.asarray(a), np.asarray(b), rtol=tolerance, atol=tolerance)


X, W = np.array([0.3, -1.2, 0.8]), np.array([1.1, 0.9, -0.7])


@pytest.mark.parametrize("backend", BACKENDS)
@pytest.mark.parametrize("policy", POLICIES)
def test_gradients_for_numbers_of_iterations_known_at_run_time(policy: str, backend: str) -> None:
    found = ad.jit(ad.grad(steps_of, (0, 1), checkpoint=POLICIES[policy]), backend=backend)
    assert any(isinstance(n.op, Loop) for n in found.graph(X, W, np.int64(3)).calls)
    for n in COUNTS[:-1] if policy in ("one", "budget") or backend == "interpreter" else COUNTS:
        assert_same(found(X, W, np.int64(n)), by_hand(X, W, n))


@pytest.mark.parametrize("backend", BACKENDS)
@pytest.mark.parametrize("n", [0, 1, 9, 10, 31, 100])
def test_gradients_for_known_numbers_of_iterations(n: int, backend: str) -> None:
    def steps(x, w):
        return steps_of(x, w, n)

    for policy in ("sqrt", "three"):
        assert_same(
            ad.jit(ad.grad(steps, (0, 1), checkpoint=POLICIES[policy]), backend=backend)(X, W), by_hand(X, W, n)
        )


@pytest.mark.parametrize("dtype", [np.float32, np.float64])
def test_gradients_agree_with_differences(dtype: type) -> None:
    def steps(x, w):
        return steps_of(x, w, 40)

    _, gw = ad.jit(ad.grad(steps, (0, 1), checkpoint="sqrt"))(X.astype(dtype), W.astype(dtype))
    assert np.asarray(gw).dtype == dtype
    value = lambda w: float(np.sum(_forward(X, w, 40)))
    slopes = [(value(W + e) - value(W - e)) / 2e-6 for e in 1e-6 * np.eye(3)]
    np.testing.assert_allclose(np.asarray(gw), slopes, rtol=1e-3 if dtype is np.float32 else 1e-7)


def _forward(x, w, n):
    for _ in range(n):
        x = np.sin(x * w) + 0.1 * w
    return x


# ---------------------------------------------------------------- the schedule


@cache
def fewest(length: int, slots: int) -> int:
    """The fewest steps forward in which so many can be pulled back, with so many states held, by trying all ways."""
    if length <= 1:
        return 0
    if slots == 1:
        return length * (length - 1) // 2
    return min(m + fewest(length - m, slots - 1) + fewest(m, slots) for m in range(1, length))


@pytest.mark.parametrize("slots", [1, 2, 3, 4, 7, 30])
def test_no_schedule_computes_fewer_iterations_again(slots: int, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(loop_checkpoints, "CACHED", 0)  # segments of one iteration
    policy = ad.GradientCheckpoint("binomial", snapshots=slots)
    gradient = ad.jit(ad.grad(steps_of, checkpoint=policy), backend="interpreter")
    gradient(X, W, np.int64(2))
    calls = 0
    old = Sin.eval

    def counted(self, xp, x):
        nonlocal calls
        calls += 1
        return old(self, xp, x)

    monkeypatch.setattr(Sin, "eval", counted)
    for n in (1, 2, 3, 5, 12, 25, 40):
        calls = 0
        gradient(X, W, np.int64(n))
        # To be counted, of each iteration when its time comes, to where the segments begin, and by the schedule.
        assert calls <= n + n + 1 + fewest(n - 1, slots)


@settings(max_examples=30, deadline=None)
@given(n=st.integers(0, 2000))
@pytest.mark.parametrize("slots", [2, 5, 40])
def test_any_number_of_iterations(n: int, slots: int) -> None:
    assert_same(_compiled(slots)(X, W, np.int64(n)), by_hand(X, W, n))


@cache
def _compiled(slots: int):
    policy = ad.GradientCheckpoint("binomial", snapshots=slots)
    return ad.jit(ad.grad(steps_of, (0, 1), checkpoint=policy))


@settings(max_examples=200, deadline=None)
@given(
    strategy=st.sampled_from(["sqrt", "binomial", "balanced", "budget"]),
    n=st.integers(-1, 10**7),
    state=st.integers(1, 10**8),
    more=st.integers(0, 10**8),
    memory=st.integers(1, 10**10),
)
def test_every_plan_can_be_followed(strategy: str, n: int, state: int, more: int, memory: int) -> None:
    policy = CheckpointPolicy(strategy, memory if strategy == "budget" else None)
    snapshots, segment = plan(policy, n, state, state + more)
    assert (snapshots, segment) == (0, 0) or (snapshots >= 1 and segment >= 1)
    if strategy == "sqrt" and n >= 100 and more == 0:
        assert snapshots + segment <= 2 * np.sqrt(n) + 2
    if strategy == "budget" and snapshots > 1:
        assert snapshots * state + segment * (state + more) <= max(memory, 4 * state + state + more)
    if strategy == "binomial" and n > 100:
        assert segment <= 256 and snapshots <= np.sqrt(2 * n / segment) + 1


# ---------------------------------------------------------------- kinds of loops


def rows(x, w, data):
    """Rows of data, and a list that grows."""
    seen = []
    for i in range(data.shape[0]):
        x = ops.sin(x * w) + data[i] * x[::-1]
        seen.append(x * w)
    return (x * x).sum() + (ops.stack(seen) ** 2).sum()


def until(x, w):
    while (x * x).sum() > 0.01:
        x = x * 0.7 * w + 1e-3 * ops.sin(x)
    return (x * w).sum()


def broken(x, w):
    total = x.sum() * 0
    for _ in range(60):
        x = ops.sin(x) * w
        total = total + x.sum()
        if total < -3:
            break
    return total


def nested(x, w):
    for _ in range(10):
        for _ in range(9):
            x = ops.sin(x * w)
        x = x + w
    return x.sum()


def counters(x, w):
    """A state of arrays, integers and truth values."""
    k, up = 0, True
    for _ in range(25):
        k = k + 2 if up else k - 1
        up = k < 7
        x = ops.sin(x * w) + 0.1 * k
    return x.sum()


def part_checkpointed(x, w):
    return ad.checkpoint(lambda x: steps_of(x, w, 30))(x * w)


DATA = np.linspace(-0.5, 0.5, 30)
PROGRAMS = {
    "rows": (rows, (X, W, DATA)),
    "until": (until, (X, W)),
    "broken": (broken, (X, W)),
    "nested": (nested, (X, W)),
    "counters": (counters, (X, W)),
    "part_checkpointed": (part_checkpointed, (X, W)),
}
TRANSFORMS = {
    "grad": lambda f, n, cp: ad.grad(f, n, checkpoint=cp),
    "of_batch": lambda f, n, cp: ad.grad(
        lambda x, *rest: ad.vmap(f, (0, *(None for _ in rest)))(ops.stack([x, x * 0.9]), *rest).sum(), n, checkpoint=cp
    ),
    "batch": lambda f, n, cp: (
        lambda x, *rest: ad.vmap(ad.grad(f, n, checkpoint=cp), (0, *(None for _ in rest)))(
            ops.stack([x, x * 0.9]), *rest
        )
    ),
    "second": lambda f, n, cp: ad.grad(lambda *xs: (ad.grad(f, checkpoint=cp)(*xs) ** 2).sum(), n),
    "of_forward": lambda f, n, cp: ad.grad(
        lambda x, *rest: ad.jvp(lambda y: f(y, *rest), (x,), (ops.ones_like(x),))[1], n, checkpoint=cp
    ),
    "forward": lambda f, n, cp: (
        lambda x, *rest: (ad.jvp(lambda y: ad.grad(f, checkpoint=cp)(y, *rest), (x,), (ops.ones_like(x),))[1],)
    ),
}


PAIRS = [(p, "grad") for p in PROGRAMS] + [
    (p, t) for p in ("rows", "until", "broken") for t in TRANSFORMS if t != "grad"
]


@pytest.mark.parametrize(("program", "transform"), PAIRS)
def test_every_kind_of_loop_under_every_transform(program: str, transform: str) -> None:
    fn, args = PROGRAMS[program]
    wanted, make = tuple(range(len(args))), TRANSFORMS[transform]
    backend = BACKENDS[len(program + transform) % 2]
    expected = ad.jit(make(fn, wanted, None))(*args)
    for policy in ("sqrt", "three") if transform == "grad" else ("three",):
        found = ad.jit(make(fn, wanted, POLICIES[policy]), backend=backend)(*args)
        assert_same(found, expected, 1e-9)


def test_samples_are_the_same_when_they_are_computed_again() -> None:
    def noisy(x):
        for _ in range(30):
            x = x * 0.9 + 0.1 * ops.randn(3, dtype=ad.float64) * ops.sin(x)
        return x.sum()

    found = []
    for policy in (None, "sqrt", POLICIES["one"]):
        ad.set_seed(7)
        found.append(np.asarray(ad.jit(ad.grad(noisy, checkpoint=policy))(X)))
    assert_same(found[1:], [found[0]] * 2)


@pytest.mark.parametrize("program", ["rows", "until", "nested"])
@pytest.mark.parametrize("backend", BACKENDS)
def test_a_function_that_was_compiled_before_follows_the_policy(program: str, backend: str) -> None:
    fn, args = PROGRAMS[program]
    compiled, wanted = ad.jit(fn, backend=backend), tuple(range(len(args)))
    expected = ad.grad(compiled, wanted)(*args)
    assert_same(ad.grad(compiled, wanted, checkpoint=POLICIES["three"])(*args), expected)
    around = ad.jit(ad.grad(compiled, wanted, checkpoint=POLICIES["three"]), backend=backend)
    assert_same(around(*args), expected)
    assert len(loops_in(around.graph(*args))) > len(loops_in(ad.jit(ad.grad(compiled, wanted)).graph(*args)))


def loops_in(graph: Graph) -> list[Loop]:
    """All loops, also those inside others."""
    own = [n.op for n in graph.calls if isinstance(n.op, Control)]
    inner = [loop for op in own for g in op.graphs().values() for loop in loops_in(g)]
    return [op for op in own if isinstance(op, Loop)] + inner


# ---------------------------------------------------------------- memory


def test_without_a_policy_nothing_changes() -> None:
    def loops(x):
        return steps_of(x, 1.0, 50)

    ops_ = [n.op for n in ad.jit(ad.grad(loops)).graph(X).calls if isinstance(n.op, Loop)]
    assert len(ops_) == 2 and not any(op.snapshots for op in ops_)


def test_memory_grows_with_the_root_or_the_logarithm_of_the_number_of_iterations() -> None:
    def peak(n: int, policy) -> int:
        def steps(x):
            return steps_of(x, 0.9, n)

        return ad.jit(ad.grad(steps, checkpoint=policy)).memory(np.ones(100)).peak_bytes

    state = 800
    assert peak(10_000, None) > 10_000 * state
    assert peak(10_000, "sqrt") < 0.1 * peak(10_000, None)
    few = [peak(n, ad.GradientCheckpoint("binomial", snapshots=int(np.log2(n)))) for n in (10**3, 10**4, 10**5)]
    assert few[2] < 1.5 * few[0] and few[2] < 0.01 * 10**5 * state


@pytest.mark.parametrize("share", [1.1, 0.5, 0.02, 0.01])
def test_a_compiled_gradient_keeps_its_budget_by_the_states_of_loops(share: float) -> None:
    def steps(x):
        return steps_of(x, 0.9, 2000)

    x = np.linspace(-1.0, 1.0, 500)
    everything = ad.jit(ad.grad(steps))
    budget = int(share * everything.memory(x).peak_bytes)
    found = ad.jit(ad.grad(steps), memory=budget)
    assert found.memory(x).peak_bytes <= budget
    assert_same([found(x)], [everything(x)])


def test_a_loop_that_is_small_is_kept_whole_by_balanced_and_budget() -> None:
    assert plan(CheckpointPolicy("balanced"), 1000, 16, 32) == (0, 0)
    assert plan(CheckpointPolicy("budget", 10**6), 1000, 16, 32) == (0, 0)
    assert plan(CheckpointPolicy("balanced"), UNKNOWN, 16, 32) != (0, 0)
    assert plan(CheckpointPolicy("budget", 10**4), 1000, 16, 32) == plan(CheckpointPolicy("sqrt"), 1000, 16, 32)


@pytest.mark.parametrize("n", [3, 50])
def test_states_on_disk_are_refused_by_name(n: int) -> None:
    with pytest.raises(ad.ArgumentError, match='"offload" is for dynamic mode.*"binomial" or "sqrt" for loops'):
        ad.jit(ad.grad(lambda x: steps_of(x, 0.9, n), checkpoint="offload"))(X)

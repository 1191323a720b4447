"""Checkpoint strategies on the tape: the same bits with less memory, under every transform."""

from __future__ import annotations

import contextlib
import errno
import gc
import os
import tracemalloc
from concurrent.futures import ThreadPoolExecutor

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import adjoint as ad
from adjoint import nn, ops
from adjoint.core import context, tree
from adjoint.testing import fuzz
from adjoint.testing.letting_go import nothing_is_small
from adjoint.testing.random_programs import random_program

RNG = np.random.default_rng(0)
WEIGHTS = [RNG.normal(size=(9, 9)) / 2 for _ in range(8)]
X = RNG.normal(size=(5, 9))
POLICIES = {
    **{name: ad.GradientCheckpoint(name) for name in ("sqrt", "balanced", "binomial", "offload")},
    "three states": ad.GradientCheckpoint("binomial", snapshots=3),
    "roomy": ad.GradientCheckpoint("budget", memory="1MB"),
    "short": ad.GradientCheckpoint("budget", memory=16000),
}
every_policy = pytest.mark.parametrize("policy", POLICIES.values(), ids=POLICIES)


def arrays(value):
    return [np.asarray(x) for x in tree.leaves(value)]


def same(found, expected):
    for a, b in zip(arrays(found), arrays(expected), strict=True):
        np.testing.assert_array_equal(a, b)


def close(found, expected):
    for a, b in zip(arrays(found), arrays(expected), strict=True):
        np.testing.assert_allclose(a, b, rtol=1e-11, atol=1e-11)


def layer(x, w):
    h = ops.tanh(x @ w) * ops.sin(x) + ops.where(x > 0, x, 0.1 * x)
    return ops.concat([h[:, 4:], h[:, :4]], 1).reshape(9, -1).T.reshape(h.shape) + x


def loss(weights, x):
    skip = ops.cos(x)
    for w in weights:
        x = layer(x, w)
    return ops.sum((x + skip) ** 2)


#: Each takes `checkpoint=` for its gradient.
TRANSFORMS = {
    "grad": lambda c: ad.grad(loss, (0, 1), checkpoint=c)(WEIGHTS, X),
    "value_and_grad": lambda c: ad.value_and_grad(loss, checkpoint=c)(WEIGHTS, X),
    "vjp, pulled twice": lambda c: [
        pull(s) for _, pull in [ad.vjp(lambda x: loss(WEIGHTS, x), X, checkpoint=c)] for s in (2.0, 3.0)
    ],
    "vmap of grad": lambda c: ad.vmap(lambda row: ad.grad(rows, checkpoint=c)(row))(X),
    "grad of vmap": lambda c: ad.grad(lambda x: ops.sum(ad.vmap(rows)(x)), checkpoint=c)(X),
    "jvp of grad": lambda c: ad.jvp(ad.grad(lambda x: loss(WEIGHTS, x), checkpoint=c), X, np.cos(X)),
    "grad of jvp": lambda c: ad.grad(
        lambda x: ops.sum(ad.jvp(lambda y: loss(WEIGHTS, y), x, ops.cos(x))[1]), checkpoint=c
    )(X),
    "inner": lambda c: ad.grad(lambda x: ops.sum(ad.grad(lambda y: loss(WEIGHTS, y), checkpoint=c)(x) ** 2))(X),
    "inner and outer": lambda c: ad.grad(lambda x: ops.sum(ad.grad(lambda y: loss(WEIGHTS, y))(x) ** 2), checkpoint=c)(
        X
    ),
    "jacrev": lambda c: ad.jacrev(lambda x: ad.grad(lambda y: loss(WEIGHTS[:2], y), checkpoint=c)(x))(X),
    "checkpoint inside": lambda c: ad.grad(inner_checkpoints, (0, 1), checkpoint=c)(WEIGHTS, X),
    "writes": lambda c: ad.grad(written, checkpoint=c)(X),
    "backward of another tape": lambda c: ambient(c),
}


def rows(row):
    for w in WEIGHTS:
        row = ops.tanh(row @ w) * row + ops.sum(row)
    return ops.sum(row * row)


def inner_checkpoints(weights, x):
    for w in weights:
        x = ad.checkpoint(layer)(x, w)
    return ops.sum(x * ops.sin(x))


def written(x):
    y = x * 2.0
    for k in range(8):
        part = y[1:]
        y[k % 5] = ops.sin(y[(k + 1) % 5]) * part[0]
        part *= 1.1
        y = y * ops.cos(y)
    return ops.sum(y * ops.stop_gradient(y)) + ops.sum(ops.stack(ops.unstack(y, 0)) ** 2)


def ambient(c):
    x = ad.Tensor(X, requires_grad=True)
    ops.sum(ad.grad(lambda y: loss(WEIGHTS, y), checkpoint=c)(x) ** 2).backward()
    return x.grad


@every_policy
@pytest.mark.parametrize("name", TRANSFORMS)
def test_gradients_are_the_same_bit_for_bit(name, policy):
    same(TRANSFORMS[name](policy), TRANSFORMS[name](None))


# ---------------------------------------------------------------- what a function does


@every_policy
def test_networks_and_their_weights(policy):
    block = nn.TransformerEncoderLayer(8, 2, 16, dropout=0.3).set_train()
    x = RNG.normal(size=(2, 5, 8)).astype(np.float32)
    found = []
    for c in (None, policy):
        ad.set_seed(5)
        run = ad.value_and_grad(lambda x: ops.sum(block(block(x)) ** 2), None, block.trainable_params(), checkpoint=c)
        found.append(run(x))
    same(*found)


@every_policy
def test_convolutions_and_statistics_of_batches(policy):
    net = nn.SequentialCell(
        nn.Conv2d(1, 4, 3), nn.BatchNorm2d(4), nn.ReLU(), nn.MaxPool2d(2, 2), nn.Flatten(), nn.Dense(4 * 16, 3)
    ).set_train()
    x, labels = RNG.normal(size=(6, 1, 8, 8)).astype(np.float32), np.arange(6) % 3
    if policy is POLICIES["short"]:
        policy = ad.GradientCheckpoint("budget", memory="60KB")
    run = lambda c: ad.value_and_grad(
        lambda x: ops.cross_entropy(net(x), labels), 0, net.trainable_params(), checkpoint=c
    )(x)
    same(run(policy), run(None))


@every_policy
def test_the_function_runs_once_with_its_samples_hooks_and_effects(policy, capsys):
    seen = []

    def noisy(x):
        for _ in range(9):
            x = ops.dropout(x, p=0.2) * ops.randn(5, 9) + x
            x.register_hook(lambda g: seen.append(np.asarray(g)) or g * 0.9)
        print("once")
        return ops.sum(x**2), x

    found = []
    for c in (None, policy):
        ad.set_seed(3)
        found.append(ad.grad(noisy, has_aux=True, checkpoint=c)(X))
    same(*found)
    assert capsys.readouterr().out == "once\n" * 2
    same(seen[9:], seen[:9])


@every_policy
def test_rules_of_ones_own_and_ops_with_several_results(policy):
    own = ad.custom_vjp(lambda x: ops.sin(x) * x, lambda x, out, dout: (ops.clip(dout * out, -1, 1),))

    def f(x):
        for k in range(6):
            x = own(ops.cos(x) + x)
            first, last = ops.split(x, 5, axis=1)[0], ops.sort(x, 0)[0] if k % 2 else x
            with ad.no_grad():
                mask = x > 0
                scale = ops.sum(x)
            x = ops.where(mask, last, 2 * x) * ops.sum(first) / (1 + scale**2)
        return ops.sum(x)

    same(ad.grad(f, checkpoint=policy)(X), ad.grad(f)(X))


@every_policy
def test_half_precision_and_complex_numbers(policy):
    half = ad.Tensor(X, np.float16)
    f = lambda x: ops.sum(ops.tanh(ops.sin(x) * x) * x)
    same(ad.grad(f, checkpoint=policy)(half), ad.grad(f)(half))
    g = lambda x: ops.sum(ops.abs(ops.exp(x * 1j) * ops.sin(x) + x))
    same(ad.grad(g, checkpoint=policy)(X), ad.grad(g)(X))


STEPS = [
    ops.sin, ops.tanh, lambda x: x * x, lambda x: ops.exp(-x * x), lambda x: x @ WEIGHTS[0] / 9, lambda x: x[::-1] + x,
    lambda x: ops.concat([x[:, 3:], x[:, :3]], 1), lambda x: ops.sum(x, 1, keepdims=True) * x / 9, lambda x: ops.relu(x),
    lambda x: ops.stack(ops.unstack(x, 0), 0) * 1.1, lambda x: x.reshape(9, 5).T, lambda x: ops.stop_gradient(x) * x,
]  # fmt: skip


def composed(program, x):
    stash = [x]
    for step, back in program:
        y = STEPS[step](x)
        x = y + 0.1 * stash[-1 - back % len(stash)]
        stash.append(y)
        if back % 3 == 0:
            del stash[0]
    return ops.sum(x**2)


@settings(max_examples=60, deadline=None)
@given(
    st.lists(st.tuples(st.integers(0, len(STEPS) - 1), st.integers(0, 6)), max_size=20), st.sampled_from([*POLICIES])
)
def test_random_programs(program, name):
    f = lambda x: composed(program, x)
    with np.errstate(all="ignore"):  # products of products may overflow
        with nothing_is_small():
            found = ad.grad(f, checkpoint=POLICIES[name])(X)
        same(found, ad.grad(f)(X))


@pytest.mark.parametrize("seed", range(30))
def test_programs_of_the_fuzzer(seed):
    program = random_program(seed)
    with np.errstate(all="ignore"):
        gradient = ad.grad(program.fn, fuzz.EVERY)(*program.inputs)
        for what, found, wanted in fuzz.CHECKS["checkpoint strategies"](program, None, gradient):
            assert found == wanted, what
    program.forget()


@every_policy
def test_inputs_that_are_numbers(policy):
    f = lambda s, t: ops.sum(ops.sin(ops.cos(ops.sin(s * X) * X) + t * X) * s)
    same(ad.grad(f, (0, 1), checkpoint=policy)(2.0, 0.5), ad.grad(f, (0, 1))(2.0, 0.5))


# ---------------------------------------------------------------- memory


def peak(policy, count=100, size=20_000):
    x = ad.Tensor(np.ones(size))

    def chain(x):
        for _ in range(count):
            x = ops.tanh(x) * 1.01
        return ops.sum(x)

    ad.grad(chain, checkpoint=policy)(ad.Tensor(np.ones(3)))
    tracemalloc.start()
    ad.grad(chain, checkpoint=policy)(x)
    found = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()
    return found / (8 * size)


def test_segments_hold_about_the_root_of_all_values():
    assert 100 < peak(None) < 110  # of each step one value, that its rule reads
    assert peak("sqrt") < 2 * (2 * 200) ** 0.5 + 12
    assert peak("sqrt", 400) < 2 * (2 * 800) ** 0.5 + 14
    assert peak("balanced") < 0.9 * peak(None)  # by time, so that it differs from one run to the next


def test_states_grow_with_the_logarithm():
    short, long = peak("binomial", 100), peak("binomial", 1600)
    assert short < 50
    assert long < short + 30  # of which some are the records
    assert peak(ad.GradientCheckpoint("binomial", snapshots=4), 400) < 26


@settings(max_examples=30, deadline=None)
@given(
    st.lists(st.tuples(st.integers(0, len(STEPS) - 1), st.integers(0, 6)), min_size=1, max_size=40),
    st.integers(10, 120),
)
def test_random_budgets_are_kept(program, values):
    """What is refused needs more; what is not gives the same bits, and takes no more than the budget and one step."""
    x = ad.Tensor(np.linspace(-1, 1, 9 * 9 * 60).reshape(-1, 9)[: 45 * 9])
    # The shapes do not fit, or there is a record for every row.
    steps = [(s if s not in (4, 9, 10) else 0, back) for s, back in program]
    f = lambda x: composed(steps, x)
    size = x.asnumpy().nbytes
    expected = ad.grad(f)(x)
    tracemalloc.start()
    try:
        found = ad.grad(f, checkpoint=ad.GradientCheckpoint("budget", memory=values * size))(x)
        assert tracemalloc.get_traced_memory()[1] < (values + 4) * size + 3_000 * len(program) + 30_000
        same(found, expected)
    except ad.MemoryBudgetError:
        if values >= 20:
            raise
    finally:
        tracemalloc.stop()


@pytest.fixture
def everything_is_offloaded():
    with nothing_is_small():
        yield


@pytest.mark.usefixtures("everything_is_offloaded")
@pytest.mark.parametrize("name", TRANSFORMS)
def test_what_is_read_back_from_disk_is_the_same(name, tmp_path):
    policy = ad.GradientCheckpoint("offload", directory=tmp_path)
    same(TRANSFORMS[name](policy), TRANSFORMS[name](None))
    assert not list(tmp_path.iterdir())


@pytest.mark.usefixtures("everything_is_offloaded")
def test_arrays_in_every_order_and_dtype_come_back_from_disk():
    def f(x):
        y = ops.transpose(ops.sin(ops.transpose(x, (2, 0, 1))) * 2.0, (1, 0, 2))
        z = ops.cast(ops.tanh(y), np.complex128) * 1j
        return ops.sum(ops.abs(ops.exp(z) * z) * ops.cast(ops.cos(ops.cast(y, np.float32)), np.float64))

    x = RNG.normal(size=(4, 5, 6))
    for array in (x, np.asfortranarray(x), x[::-1]):
        same(ad.grad(f, checkpoint="offload")(array), ad.grad(f)(array))


def test_offloading_holds_little_in_memory():
    assert peak("offload") < 10


def test_a_full_disk_says_so(monkeypatch):
    def full(descriptor, data, place):
        raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))

    monkeypatch.setattr(os, "pwrite", full)
    with pytest.raises(ad.OffloadError, match="checkpoints could not be written to .*No space left") as caught:
        peak("offload")
    assert isinstance(caught.value, OSError)


def test_what_does_not_fit_says_so():
    with pytest.raises(ad.MemoryBudgetError, match="budget of 1,000 bytes cannot be kept: 1,080 bytes are needed"):
        ad.grad(lambda x: loss(WEIGHTS, x), checkpoint=ad.GradientCheckpoint("budget", memory=1000))(X)
    assert issubclass(ad.MemoryBudgetError, MemoryError)


@pytest.mark.parametrize("policy", [*POLICIES.values(), None], ids=[*POLICIES, "plain"])
def test_nothing_is_left_behind(policy):
    """No reference cycles: memory does not wait for the collector, not even after an error."""
    calls, big = 0, np.ones((500, 9))
    if policy is POLICIES["short"]:
        policy = ad.GradientCheckpoint("budget", memory=5 * big.nbytes)

    def failing(x):
        nonlocal calls
        calls += 1
        y = ops.sin(ops.tanh(x @ WEIGHTS[0]) * x)[::-1] * x
        if calls % 2:
            raise KeyError("mine")
        return ops.sum(y)

    f = ad.grad(failing, checkpoint=policy)

    def step():
        with (
            contextlib.suppress(KeyError),
            context.setting(context.deferred, False),
        ):  # what is learned of a function is kept
            f(big)

    for _ in range(4):
        step()
    gc.collect()
    gc.disable()
    try:
        tracemalloc.start()
        step(), step()
        before = tracemalloc.get_traced_memory()[0]
        for _ in range(300):
            step()
        assert tracemalloc.get_traced_memory()[0] < before + 2 * big.nbytes
        assert gc.collect() == 0
    finally:
        tracemalloc.stop()
        gc.enable()


@pytest.mark.parametrize("name", [*POLICIES, "checkpoint"])
def test_one_pullback_in_several_threads(name):
    def f(x):
        for _ in range(40):
            x = ops.sin(x) * 1.01 + ops.tanh(x)
        return ops.sum(x)

    x = np.linspace(0.1, 1, 300)
    want = ad.grad(f)(x).asnumpy()
    with ThreadPoolExecutor(4) as pool:
        for _ in range(3):
            _, pull = ad.vjp(ad.checkpoint(f), x) if name == "checkpoint" else ad.vjp(f, x, checkpoint=POLICIES[name])
            for (found,) in pool.map(lambda _, pull=pull: pull(1.0), range(8)):
                same(found, want)

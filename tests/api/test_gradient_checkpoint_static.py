"""Checkpoint strategies in static mode: the same gradients, from parts of the graph that are computed again."""

from __future__ import annotations

import numpy as np
import pytest

import adjoint as ad
from adjoint import nn, ops
from adjoint.core import tree
from adjoint.ops.ordering import After

RNG = np.random.default_rng(0)
WEIGHTS = [RNG.normal(size=(9, 9)) / 3 for _ in range(8)]
X = RNG.normal(size=(5, 9))
LEAST = ad.GradientCheckpoint("budget", memory=3000)
POLICIES = ["sqrt", "balanced", "binomial", LEAST]


def straight(weights, x):
    for w in weights:
        x = ops.tanh(x @ w) * ops.sin(x) + ops.where(x > 0, x, 0.1 * x)
    return ops.sum(x * x)


def residual(weights, x):
    first = x
    for k, w in enumerate(weights):
        x = x + ops.gelu(x @ w) @ weights[-1 - k].T + 0.1 * first
    return ops.mean(ops.softmax(x) * x)


def branches(weights, x):
    """Two parallel chains that meet at the end."""
    y = ops.cos(x)
    for v, w in zip(weights[::2], weights[1::2], strict=True):
        x, y = ops.tanh(x @ v), ops.exp(-(y**2)) @ w
    return ops.sum(x * y)


def flow(weights, x):
    for w in weights:
        x = ops.sin(x @ w) if ops.sum(x) > 0 else ops.exp(-x * x) @ w
    total = x
    for _ in range(12):
        total = total * 0.9 + ops.sin(total @ weights[0]) * 0.1
    while ops.sum(total * total) > 1.0:
        total = total * 0.7
    return ops.sum(total)


PROGRAMS = {"straight": straight, "residual": residual, "branches": branches, "flow": flow}
TRANSFORMS = {
    "grad": lambda f, p: ad.grad(f, (0, 1), checkpoint=p),
    "value_and_grad": lambda f, p: ad.value_and_grad(f, checkpoint=p),
    "vjp": lambda f, p: lambda w, x: ad.vjp(f, w, x, checkpoint=p)[1](2.0),
    "vmap of grad": lambda f, p: lambda w, x: ad.vmap(lambda row: ad.grad(f, checkpoint=p)(w, row))(x),
    "grad of vmap": lambda f, p: ad.grad(lambda w, x: ops.sum(ad.vmap(lambda r: f(w, r))(x)), checkpoint=p),
    "grad of jit": lambda f, p: ad.grad(ad.jit(f), checkpoint=p),
    "grad of grad": lambda f, p: ad.grad(lambda w, x: ops.sum(ad.grad(f, 1, checkpoint=p)(w, x) ** 2), checkpoint=p),
    "jvp of grad": lambda f, p: lambda w, x: ad.jvp(lambda x: ad.grad(f, 1, checkpoint=p)(w, x), x, ops.sin(x)),
}


def arrays(value):
    return [np.asarray(x.asnumpy() if isinstance(x, ad.Tensor) else x) for x in tree.leaves(value)]


def same(found, expected):
    found, expected = arrays(found), arrays(expected)
    assert len(found) == len(expected)
    for a, b in zip(found, expected, strict=True):
        assert a.shape == b.shape and a.dtype == b.dtype
        np.testing.assert_allclose(a, b, rtol=1e-9, atol=1e-10)


def parts_again(f, *args):
    """How many steps of a compiled function stand behind the backward pass."""
    return sum(isinstance(n.op, After) for n in f.graph(*args).nodes)


@pytest.mark.parametrize("backend", ["native", "interpreter"])
@pytest.mark.parametrize("policy", POLICIES, ids=lambda p: getattr(p, "strategy", p))
@pytest.mark.parametrize("program", PROGRAMS)
def test_gradients_are_the_same(program, policy, backend):
    f = PROGRAMS[program]
    if policy is LEAST and program == "flow":  # where there are loops, the budget is that of the whole function
        policy = ad.GradientCheckpoint("budget", memory=17_000)
    compiled = ad.jit(ad.grad(f, (0, 1), checkpoint=policy), backend=backend)
    same(compiled(WEIGHTS, X), ad.grad(f, (0, 1))(WEIGHTS, X))
    assert parts_again(compiled, WEIGHTS, X) or policy == ad.GradientCheckpoint("budget", memory=17_000)


@pytest.mark.parametrize("policy", ["sqrt", "balanced"])
@pytest.mark.parametrize("program", ["straight", "residual", "branches"])
@pytest.mark.parametrize("name", TRANSFORMS)
def test_under_transforms(name, program, policy):
    f = PROGRAMS[program]
    compiled = ad.jit(TRANSFORMS[name](f, policy), backend="interpreter")
    same(compiled(WEIGHTS, X), TRANSFORMS[name](f, None)(WEIGHTS, X))


def test_weights_aux_samples_and_moving_averages():
    ad.set_seed(3)
    net = nn.SequentialCell(
        *[nn.SequentialCell(nn.Dense(9, 9), nn.BatchNorm1d(9), nn.ReLU(), nn.Dropout(p=0.4)) for _ in range(6)]
    )
    net.set_train()
    params = net.trainable_params()
    x = X.astype(np.float32)

    def loss(x):
        y = net(x)
        return ops.mean(y * y), y

    means = [p for p in net.get_parameters() if "moving_mean" in p.name]
    start = [np.array(p.asnumpy()) for p in means]
    found = {}
    for policy in (None, "sqrt", "balanced"):
        for p, old in zip(means, start, strict=True):
            p.set_data(ad.Tensor(old))
        ad.set_seed(5)
        f = ad.jit(ad.value_and_grad(loss, None, weights=params, has_aux=True, checkpoint=policy))
        found[policy] = [*arrays((f(x), f(x))), *(np.array(p.asnumpy()) for p in means)]
    half = (len(found[None]) - len(means)) // 2
    assert not np.array_equal(found[None][1], found[None][half + 1])  # other samples in the second call
    for policy in ("sqrt", "balanced"):
        for mine, plain in zip(found[policy], found[None], strict=True):
            np.testing.assert_allclose(mine, plain, rtol=2e-4, atol=1e-6)


def test_effects_take_place_once_and_in_order(capsys):
    def f(x):
        for k in range(6):
            print("step", k, ops.sum(x) > 0)
            x = ops.sin(x) * ops.exp(-x)
        return ops.sum(x)

    said = []
    for policy in (None, "sqrt", "balanced"):
        ad.jit(ad.grad(f, checkpoint=policy))(X)
        said.append(capsys.readouterr().out)
    assert said[0].count("step") == 6 and said[1] == said[0] and said[2] == said[0]


def test_a_rule_of_ones_own_inside():
    @ad.custom_vjp
    def clipped(x):
        return ops.sin(x) * 2

    clipped.defvjp(lambda x, out, g: g * ops.cos(x))

    def f(x):
        for _ in range(6):
            x = clipped(x) + ops.tanh(x)
        return ops.sum(x)

    for policy in ("sqrt", "balanced"):
        same(ad.jit(ad.grad(f, checkpoint=policy))(X), ad.grad(f)(X))


def test_checkpoints_of_the_users_own_inside():
    def f(weights, x):
        block = ad.checkpoint(lambda x, a, b: ops.tanh(ops.sin(x @ a) @ b))
        for a, b in zip(weights[::2], weights[1::2], strict=True):
            x = block(x, a, b) * x
        return ops.sum(x)

    same(ad.jit(ad.grad(f, checkpoint="sqrt"))(WEIGHTS, X), ad.grad(f)(WEIGHTS, X))


def test_a_budget_that_cannot_be_kept_is_refused():
    f = ad.jit(ad.grad(straight, checkpoint=ad.GradientCheckpoint("budget", memory=100)))
    with pytest.raises(MemoryError, match="at the least") as caught:
        f(WEIGHTS, X)
    assert isinstance(caught.value, ad.AdjointError)


def test_offload_is_refused():
    with pytest.raises(ad.ArgumentError, match='"offload" is for dynamic mode'):
        ad.jit(ad.grad(straight, checkpoint="offload"))(WEIGHTS, X)


def test_a_plan_that_saves_nothing_says_so():
    def chain(weights, x):
        for w in weights:
            x = ops.tanh(x @ w) * x
        return ops.mean(x * x)

    weights = [np.eye(64, dtype=np.float32) for _ in range(12)]
    for rows in (256, 2048):
        report = ad.GradientCheckpoint("sqrt").plan(chain, weights, np.ones((rows, 64), np.float32))
        saved = report.planned.peak_bytes < report.plain.peak_bytes
        assert ("nothing is saved" in str(report)) == (not saved)
    assert saved


def test_where_nothing_is_saved_everything_is_kept():
    """The activations lie where the gradients of the weights will be."""

    def net(weights, x):
        for w in weights:
            x = ops.relu(x @ w)
        return ops.mean(x * x)

    weights, x = [np.eye(256, dtype=np.float32)] * 16, np.ones((160, 256), np.float32)
    for strategy in ("sqrt", "balanced", "binomial"):
        report = ad.GradientCheckpoint(strategy).plan(net, weights, x)
        assert report.planned == report.plain
        assert report.recomputed == 0
        assert "everything is kept" in str(report)
    assert ad.GradientCheckpoint("sqrt").plan(net, weights, np.ones((1024, 256), np.float32)).recomputed > 0

"""Every optimiser against PyTorch and MindSpore, and against loops written from the published formulas."""

from __future__ import annotations

import copy
import dataclasses
import importlib.util
import json
import pickle
from pathlib import Path

import numpy as np
import pytest

import adjoint as ad
from adjoint import optim

FOLDER = Path(__file__).parent / "trajectories"
PATHS = {name: json.loads((FOLDER / f"{name}.json").read_text()) for name in ("torch", "mindspore")}

spec = importlib.util.spec_from_file_location("trajectories", FOLDER / "make.py")
make = importlib.util.module_from_spec(spec)
spec.loader.exec_module(make)


def parameters(dtype=np.float64, names=tuple(make.SHAPES)):
    return [ad.Parameter(ad.Tensor(make.start(name, dtype)), name=name) for name in names]


def gradients(step, dtype=np.float64, names=tuple(make.SHAPES)):
    return tuple(ad.Tensor(make.gradient(name, step, dtype)) for name in names)


def path_of(optimiser, dtype=np.float64, steps=make.STEPS):
    """The Parameters after each step on the common gradients."""
    found = []
    for step in range(steps):
        assert optimiser(gradients(step, dtype)) is True
        found.append([p.asnumpy() for p in optimiser.parameters])
    return found


def close(found, wanted, rtol):
    for mine, theirs in zip(found, wanted, strict=True):
        for a, b in zip(mine, theirs, strict=True):
            np.testing.assert_allclose(a, b, rtol=rtol, atol=rtol)


#: PyTorch's arguments in our words.
WORDS = {
    "lr": "learning_rate", "alpha": "decay", "initial_accumulator_value": "accum", "amsgrad": "use_amsgrad",
}  # fmt: skip


def ours(kind, options, jit):
    """Our optimiser for a PyTorch one."""
    options = {WORDS.get(k, k): v for k, v in options.items()}
    groups = [{"params": parameters(), "weight_decay": options.pop("weight_decay", 0.0)}]  # `gamma` decays too
    if "betas" in options:
        options["beta1"], options["beta2"] = options.pop("betas")
    if kind == "Adagrad":
        options.pop("eps")  # there is none here
    if kind == "RMSprop":
        lr = options.pop("learning_rate")
        rule = optim.RMSPropRule(start=0.0, epsilon=options.pop("eps") ** 2, **options)
        return optim.Optimizer(rule, groups, lr, jit=jit)
    return getattr(optim, kind)(groups, **options, jit=jit)


@pytest.mark.parametrize("jit", [True, False], ids=["compiled", "eager"])
@pytest.mark.parametrize("name", PATHS["torch"])
def test_pytorch(name, jit):
    case = PATHS["torch"][name]
    close(path_of(ours(case["kind"], case["options"], jit)), case["path"], 1e-10)


@pytest.mark.parametrize("name", PATHS["mindspore"])
def test_mindspore(name):
    case = PATHS["mindspore"][name]
    optimiser = getattr(optim, case["kind"])(parameters(np.float32), **case["options"])
    close(path_of(optimiser, np.float32), case["path"], 2e-5)


# ---------------------------------------------------------------- published formulas, element by element


def walk(update, decay=0.0):
    """The path of a rule written for one number, `update(t, w, g, memory, all_w, all_g)`, on the first parameter."""
    w = make.start("w")
    memories = [{} for _ in range(w.size)]
    path = []
    for t in range(1, make.STEPS + 1):
        g = make.gradient("w", t - 1) + decay * w
        w = np.array([update(t, x, y, m) for x, y, m in zip(w.flat, g.flat, memories, strict=True)]).reshape(w.shape)
        path.append([w])
    return path


def ours_alone(optimiser_of):
    w = ad.Parameter(ad.Tensor(make.start("w")), name="w")
    optimiser = optimiser_of([w])
    path = []
    for step in range(make.STEPS):
        optimiser([ad.Tensor(make.gradient("w", step))])
        path.append([w.asnumpy()])
    return path


def test_momentum_with_nesterov():
    def update(t, w, g, m):
        m["v"] = 0.8 * m.get("v", 0.0) + g
        return w - 0.1 * (g + 0.8 * m["v"])

    close(ours_alone(lambda ps: optim.Momentum(ps, 0.1, 0.8, use_nesterov=True)), walk(update), 1e-12)


def test_adagrad_with_sums_that_stay():
    path = walk(lambda t, w, g, m: w - 0.05 * g / 0.5**0.5, decay=0.2)
    close(ours_alone(lambda ps: optim.Adagrad(ps, 0.5, 0.05, update_slots=False, weight_decay=0.2)), path, 1e-12)


def test_adam_weight_decay_without_correction():
    def update(t, w, g, m):
        m["m"] = 0.9 * m.get("m", 0.0) + 0.1 * g
        m["v"] = 0.999 * m.get("v", 0.0) + 0.001 * g * g
        return w - 0.01 * (m["m"] / (m["v"] ** 0.5 + 1e-6) + 0.1 * w)

    close(ours_alone(lambda ps: optim.AdamWeightDecay(ps, 0.01, weight_decay=0.1)), walk(update), 1e-12)


@pytest.mark.parametrize("decay", [0.0, 0.1])
def test_lamb(decay):
    """Algorithm 2 of You et al., "Large batch optimization for deep learning", with the identity for phi."""
    w, m, v = make.start("w"), 0.0, 0.0
    path = []
    for t in range(1, make.STEPS + 1):
        g = make.gradient("w", t - 1)
        m, v = 0.9 * m + 0.1 * g, 0.999 * v + 0.001 * g**2
        r = (m / (1 - 0.9**t)) / (np.sqrt(v / (1 - 0.999**t)) + 1e-6) + decay * w
        w = w - 0.1 * np.linalg.norm(w) / np.linalg.norm(r) * r
        path.append([w])
    close(ours_alone(lambda ps: optim.Lamb(ps, 0.1, weight_decay=decay)), path, 1e-11)


def test_lamb_at_zero():
    w = ad.Parameter(ad.Tensor([0.0, 0.0]), name="w")
    optimiser = optim.Lamb([w], 0.5)
    optimiser([ad.Tensor([0.0, 0.0])])
    np.testing.assert_array_equal(w.asnumpy(), [0.0, 0.0])
    optimiser([ad.Tensor([1.0, -1.0])])
    assert np.isfinite(w.asnumpy()).all() and (w.asnumpy() != 0).all()


# ---------------------------------------------------------------- groups, decay, state


def test_groups_have_rates_and_decays_of_their_own():
    a, b, c = (ad.Parameter(ad.Tensor([1.0]), name=n) for n in "abc")
    groups = [
        {"params": [a], "lr": 0.5, "weight_decay": 0.1},
        {"params": [b], "lr": lambda step: 0.25 * step},
        {"params": [c]},
        {"order_params": [c, a, b]},
    ]
    optimiser = optim.SGD(groups, 0.125, weight_decay=0.2)
    assert [p.name for p in optimiser.parameters] == ["c", "a", "b"]
    optimiser([ad.Tensor([4.0]), ad.Tensor([1.0]), ad.Tensor([2.0])])
    np.testing.assert_allclose([float(p.asnumpy()[0]) for p in (a, b, c)], [1 - 0.55, 1.0, 1 - 4.2 / 8])
    assert [float(r) for r in optimiser.get_lr()] == [0.125, 0.5, 0.25]
    assert len(optimiser._update.compilations) == 1


@pytest.mark.parametrize("jit", [True, False], ids=["compiled", "eager"])
@pytest.mark.parametrize("kind", ["SGD", "AdamW", "AdamWeightDecay", "Lamb"])
def test_a_decay_that_changes_is_a_fixed_one_at_each_step(kind, jit):
    moving = getattr(optim, kind)(parameters(), 0.1, weight_decay=lambda step: 0.1 * (step + 1), jit=jit)
    fixed = getattr(optim, kind)(parameters(), 0.1, jit=False, weight_decay=0.0)
    for step in range(4):
        fixed.rule = dataclasses.replace(
            fixed.rule, weight_decay=tuple(0.0 if "gamma" in p.name else 0.1 * (step + 1) for p in fixed.parameters)
        )
        fixed._update = fixed.rule.update
        moving(gradients(step))
        fixed(gradients(step))
        close([[p.asnumpy() for p in moving.parameters]], [[p.asnumpy() for p in fixed.parameters]], 1e-12)
    if jit:
        assert len(moving._update.compilations) == 1


def test_a_decay_that_changes_in_a_group_and_in_a_compiled_step():
    a, b = (ad.Parameter(ad.Tensor(np.array([1.0])), name=n) for n in "ab")
    groups = [{"params": [a], "weight_decay": optim.CosineDecayLR(0.0, 1.0, 2)}, {"params": [b], "weight_decay": 0.5}]
    step = optim.compiled_step(lambda x: 0.0 * (x * a * b).sum(), [a, b], optim.SGD(groups, 0.5))
    expected_a, expected_b = 1.0, 1.0
    for decay in (1.0, 0.5, 0.0):
        step(ad.Tensor(np.array([1.0])))
        expected_a, expected_b = expected_a * (1 - 0.5 * decay), expected_b * 0.75
        np.testing.assert_allclose([a.item(), b.item()], [expected_a, expected_b], rtol=1e-12)
    assert len(step.applying.compilations) == 1


def test_decay_leaves_out_normalisation_unless_it_is_in_a_group():
    names = ("w", "norm.gamma", "norm.beta")
    plain = [ad.Parameter(ad.Tensor([1.0]), name=n) for n in names]
    optim.SGD(plain, 1.0, weight_decay=0.5)([ad.Tensor([0.0])] * 3)
    assert [float(p.asnumpy()[0]) for p in plain] == [0.5, 1.0, 1.0]
    grouped = [ad.Parameter(ad.Tensor([1.0]), name=n) for n in names]
    optim.SGD([{"params": grouped}], 1.0, weight_decay=0.5)([ad.Tensor([0.0])] * 3)
    assert [float(p.asnumpy()[0]) for p in grouped] == [0.5, 0.5, 0.5]


def test_gradients_can_be_centred():
    w = ad.Parameter(ad.Tensor(np.zeros((2, 3))), name="w")
    optim.SGD([{"params": [w], "grad_centralization": True}], 1.0)([ad.Tensor(np.arange(6.0).reshape(2, 3))])
    np.testing.assert_allclose(w.asnumpy(), [[1, 0, -1], [1, 0, -1]])


@pytest.mark.parametrize(
    "wrong, message",
    [
        (lambda w: optim.SGD([]), "no parameters"),
        (lambda w: optim.SGD([w, 3.0]), "must be Parameters"),
        (lambda w: optim.SGD([{"lr": 1.0}]), "no key 'params'"),
        (lambda w: optim.SGD([{"params": [w], "rate": 1.0}]), "unknown keys"),
        (lambda w: optim.SGD([{"params": [w]}, {"params": [w]}]), "in two groups"),
        (lambda w: optim.SGD([{"params": [w]}, {"order_params": []}]), "each Parameter"),
        (lambda w: optim.SGD([w], -0.1), "number >= 0"),
        (lambda w: optim.Adam([w], "0.1"), "Adam: learning_rate must be a number, .*not '0.1'"),
        (lambda w: optim.Adam([w], ["0.1", 0.2]), "Adam: learning_rate must be"),
        (lambda w: optim.Adam(None), "Adam: params must be Parameters, .*not NoneType"),
        (lambda w: optim.SGD([w, {"params": [w]}]), "not Parameter and dict"),
        (lambda w: optim.Adam([w])(None), "Adam: expected the gradients, .*not None"),
        (lambda w: optim.SGD([w], nesterov=True), "nesterov needs"),
        (lambda w: optim.SGD([w], weight_decay=-1.0), "weight_decay must be >= 0"),
        (lambda w: optim.SGD([w], loss_scale=0.0), "loss_scale"),
        (lambda w: optim.Adam([w], beta1=1.0), "beta1"),
        (lambda w: optim.Adam([w], eps=0.0), "eps"),
        (lambda w: optim.Momentum([w], 0.1, -1.0), "momentum"),
        (lambda w: optim.SGD([ad.Parameter(ad.Tensor([1]), name="n")]), "only real ones"),
    ],
)
def test_what_is_refused(wrong, message):
    with pytest.raises((ValueError, TypeError), match=message):
        wrong(ad.Parameter(ad.Tensor([1.0]), name="w"))


def test_the_state_can_be_saved_and_taken_up_again():
    whole = path_of(optim.Adam(parameters(), 0.01, use_amsgrad=True))
    first = optim.Adam(parameters(), 0.01, use_amsgrad=True)
    for step in range(3):
        first(gradients(step))
    saved = {name: p.asnumpy() for name, p in first.parameters_dict().items()}
    assert set(saved) == {"global_step"} | {f"{s}.{p}" for s in ("moment1", "moment2", "vhat") for p in make.SHAPES}
    second = optim.Adam([p.clone() for p in first.parameters], 0.01, use_amsgrad=True)
    second.load_parameters(saved)
    for step in range(3, make.STEPS):
        second(gradients(step))
    close([[p.asnumpy() for p in second.parameters]], whole[-1:], 1e-14)
    with pytest.raises(ValueError, match=r"moment1\.w"):
        optim.SGD(parameters()).load_parameters(saved)


@pytest.mark.parametrize("rate", [0.01, [0.02, 0.01], optim.WarmUpLR(0.01, 2)])
@pytest.mark.parametrize("duplicate", [lambda o: pickle.loads(pickle.dumps(o)), copy.deepcopy], ids=["pickle", "copy"])
def test_a_copy_goes_on_as_the_optimiser_would(rate, duplicate):
    one = optim.Adam(parameters(), rate)
    one(gradients(0))
    one.reduce_lr(0.5)
    other = duplicate(one)
    for optimiser in (one, other):
        for step in (1, 2):
            optimiser(gradients(step))
    close([[p.asnumpy() for p in other.parameters]], [[p.asnumpy() for p in one.parameters]], 0)
    assert all(a is not b for a, b in zip(one.parameters, other.parameters, strict=True))


def test_a_rule_of_ones_own():
    """Sign descent, as a user would write it."""

    class Sign(optim.Rule):
        def one(self, w, g, old, lr, shared, decay):
            return w - lr * ad.ops.sign(g), {}

    w = ad.Parameter(ad.Tensor([1.0, 2.0]), name="w")
    optim.Optimizer(Sign(), [w], 0.5)([ad.Tensor([3.0, -7.0])])
    np.testing.assert_allclose(w.asnumpy(), [0.5, 2.5])

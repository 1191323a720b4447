"""Schedules against their formulas, and clipping."""

from __future__ import annotations

import doctest
import importlib
import pkgutil

import numpy as np
import pytest

import adjoint as ad
from adjoint import optim

STEPS = np.arange(20)
EPOCHS = STEPS // 3


def stairs(x, on):
    return np.floor(x) if on else x


@pytest.mark.parametrize("stair", [False, True])
def test_decays(stair):
    part, by_epoch = stairs(STEPS / 4, stair), stairs(EPOCHS / 2, stair)
    expected = {
        "exponential": lambda p, length: 0.1 * 0.7**p,
        "natural_exp": lambda p, length: 0.1 * np.exp(-0.7 * p * length),
        "inverse": lambda p, length: 0.1 / (1 + 0.7 * p),
    }
    classes = {
        "exponential": optim.ExponentialDecayLR, "natural_exp": optim.NaturalExpDecayLR, "inverse": optim.InverseDecayLR,
    }  # fmt: skip
    for name, formula in expected.items():
        found = [classes[name](0.1, 0.7, 4, stair)(int(i)) for i in STEPS]
        np.testing.assert_allclose(found, formula(part, 4), rtol=1e-12)
        listed = getattr(optim, f"{name}_decay_lr")(0.1, 0.7, len(STEPS), 3, 2, stair)
        np.testing.assert_allclose(listed, formula(by_epoch, 2), rtol=1e-12)


def test_cosine_polynomial_and_warm_up():
    cosine = lambda x: 0.01 + 0.045 * (1 + np.cos(np.pi * np.minimum(x, 1)))
    np.testing.assert_allclose([optim.CosineDecayLR(0.01, 0.1, 7)(int(i)) for i in STEPS], cosine(STEPS / 7))
    np.testing.assert_allclose(optim.cosine_decay_lr(0.01, 0.1, 20, 3, 4), cosine(EPOCHS / 4))
    polynomial = lambda x: 0.09 * (1 - np.minimum(x, 1)) ** 0.5 + 0.01
    np.testing.assert_allclose(
        [optim.PolynomialDecayLR(0.1, 0.01, 7, 0.5)(int(i)) for i in STEPS], polynomial(STEPS / 7)
    )
    np.testing.assert_allclose(optim.polynomial_decay_lr(0.1, 0.01, 20, 3, 4, 0.5), polynomial(EPOCHS / 4))
    stretched = lambda x, n: x / (n * np.maximum(np.ceil(x / n), 1))
    np.testing.assert_allclose(
        [optim.PolynomialDecayLR(0.1, 0.01, 7, 0.5, True)(int(i)) for i in STEPS], polynomial(stretched(STEPS, 7))
    )
    np.testing.assert_allclose(
        optim.polynomial_decay_lr(0.1, 0.01, 20, 3, 4, 0.5, True), polynomial(stretched(EPOCHS, 4))
    )
    np.testing.assert_allclose([optim.WarmUpLR(0.1, 5)(int(i)) for i in STEPS], 0.1 * np.minimum(STEPS / 5, 1))
    np.testing.assert_allclose(optim.warmup_lr(0.1, 20, 3, 4), 0.1 * np.minimum(EPOCHS / 4, 1))


def test_the_examples_of_the_mindspore_manual():
    assert optim.piecewise_constant_lr([2, 5, 10], [0.1, 0.05, 0.01]) == [0.1] * 2 + [0.05] * 3 + [0.01] * 5
    np.testing.assert_allclose(
        optim.polynomial_decay_lr(0.1, 0.01, 6, 2, 2, 0.5), [0.1, 0.1, 0.07363961, 0.07363961, 0.01, 0.01], rtol=1e-6
    )
    np.testing.assert_allclose(
        optim.natural_exp_decay_lr(0.1, 0.9, 6, 2, 2, True), [0.1] * 4 + [0.016529888822158657] * 2
    )


@pytest.mark.parametrize(
    "wrong",
    [
        lambda: optim.ExponentialDecayLR(0.1, 0.9, 0),
        lambda: optim.ExponentialDecayLR(-0.1, 0.9, 4),
        lambda: optim.CosineDecayLR(0.2, 0.1, 4),
        lambda: optim.PolynomialDecayLR(0.1, 0.0, 4, 0.0),
        lambda: optim.WarmUpLR(0.1, 2.5),
        lambda: optim.warmup_lr(0.1, 6, 0, 2),
        lambda: optim.piecewise_constant_lr([2, 1], [0.1, 0.2]),
        lambda: optim.piecewise_constant_lr([2], [0.1, 0.2]),
    ],
)
def test_rates_that_make_no_sense(wrong):
    with pytest.raises(ValueError, match="above zero|min_lr|milestones"):
        wrong()


# ---------------------------------------------------------------- clipping


def tensors():
    rng = np.random.default_rng(2)
    return [ad.Tensor(rng.normal(size=s) * 3) for s in [(2, 3), (4,), ()]]


def norm_of(xs, order=2):
    return np.linalg.norm(np.concatenate([x.asnumpy().ravel() for x in xs]), order)


@pytest.mark.parametrize("order", [1.0, 2.0, 3.0, np.inf])
@pytest.mark.parametrize("most", [0.5, 1e3])
def test_clip_by_norm(order, most):
    xs = tensors()
    clipped = optim.clip_by_norm(xs, most, order)
    factor = min(1.0, most / norm_of(xs, order))
    for x, y in zip(xs, clipped, strict=True):
        np.testing.assert_allclose(y.asnumpy(), x.asnumpy() * factor, rtol=1e-12)


def test_clip_by_global_norm_keeps_the_container_and_runs_compiled():
    xs = tuple(tensors())
    clipped = ad.jit(lambda *xs: optim.clip_by_global_norm(xs, 2.0))(*xs)
    assert isinstance(clipped, tuple)
    np.testing.assert_allclose(norm_of(clipped), 2.0)
    np.testing.assert_allclose(norm_of(optim.clip_by_global_norm(xs, 2.0, use_norm=4.0)), norm_of(xs) / 2)
    zero = optim.clip_by_global_norm([ad.Tensor([0.0, 0.0])])
    np.testing.assert_array_equal(zero[0].asnumpy(), [0.0, 0.0])
    halves = optim.clip_by_global_norm({"w": ad.Tensor(np.full(4, 300.0, np.float16))}, 1.0)
    assert halves["w"].dtype == np.float16
    mixed = optim.clip_by_global_norm([ad.Tensor([3.0]), ad.Tensor(np.array([4.0]))], 1.0)
    assert [x.dtype for x in mixed] == [np.float32, np.float64]
    np.testing.assert_allclose(halves["w"].asnumpy(), 0.5, rtol=1e-3)


def test_clip_by_value():
    x = ad.Tensor([-2.0, 0.0, 2.0])
    np.testing.assert_array_equal(optim.clip_by_value([x], -1.0, 1.0)[0].asnumpy(), [-1, 0, 1])
    np.testing.assert_array_equal(optim.clip_by_value(x, clip_value_max=1.0).asnumpy(), [-2, 0, 1])
    np.testing.assert_array_equal(optim.clip_by_value(x, clip_value_min=-1.0).asnumpy(), [-1, 0, 2])


def test_clipping_that_makes_no_sense():
    with pytest.raises(ValueError, match="at least one bound"):
        optim.clip_by_value(ad.Tensor([1.0]))
    with pytest.raises(ValueError, match=r"clip_value_min 0.5 is above clip_value_max -0.5"):
        optim.clip_by_value(ad.Tensor([1.0]), 0.5, -0.5)
    with pytest.raises(ValueError, match="above zero"):
        optim.clip_by_global_norm([ad.Tensor([1.0])], 0.0)
    with pytest.raises(ValueError, match="no gradients"):
        optim.clip_by_norm([], 1.0)
    with pytest.raises(ValueError, match="norm of the gradients is inf"):
        optim.clip_by_norm([ad.Tensor([np.inf])], 1.0, error_if_nonfinite=True)


# ---------------------------------------------------------------- examples


@pytest.mark.parametrize("name", [m.name for m in pkgutil.iter_modules(optim.__path__)])
def test_examples_in_the_documentation(name):
    module = importlib.import_module(f"adjoint.optim.{name}")
    assert doctest.testmod(module, optionflags=doctest.REPORT_ONLY_FIRST_FAILURE).failed == 0


def test_every_public_name_is_documented_with_an_example():
    without = [
        name for name in vars(optim)
        if name[0].isupper() and not name.endswith("Rule") and name != "CompiledStep"
        and ">>>" not in (getattr(optim, name).__doc__ or "")
    ]  # fmt: skip
    assert without == []

"""`ad.check_grads` accepts what is right, names what is wrong, and says where it cannot tell."""

from __future__ import annotations

import numpy as np
import pytest

import adjoint as ad
from adjoint import nn, ops

RNG = np.random.default_rng(1)
TREE = {"w": RNG.normal(size=(3, 2)), "x": RNG.normal(size=2), "k": 3}


def wrong_by(factor, forward=False):
    """x³ with a rule that is wrong by a factor."""
    if forward:

        @ad.custom_jvp
        def cube(x):
            return x * x * x

        @cube.defjvp
        def rule(inputs, tangents):
            (x,), (t,) = inputs, tangents
            return x * x * x, factor * 3 * x * x * t

        return cube

    @ad.custom_vjp
    def cube(x):
        return x * x * x

    @cube.defvjp
    def rule(x, out, dout):
        return (factor * 3 * x * x * dout,)

    return cube


@pytest.mark.parametrize(
    ("f", "args"),
    [
        (lambda x, y: ops.sin(x) * y, (1.0, 2.0)),
        (lambda p: {"a": ops.tanh(p["w"] @ p["x"]), "n": p["k"]}, (TREE,)),
        (lambda x: ops.fft(x), (np.array([1.0, 2.0, 3.0, 5.0]),)),
        (lambda x, i: ops.sum(x[i] * x[:3]), (np.arange(1.0, 5.0), np.array([0, 1, 1]))),
        (lambda x: ops.softmax(x).sum(), (np.array([1.0, 2.0, 3.0]),)),  # its derivative is rounding
        (lambda x: x.exp().sum() / (1 + x.ndim), (np.array([0.3, 0.4]),)),  # methods of Tensors
        (lambda x: x.sin() * x.ndim + x, (0.3,)),
        (lambda x: 1e-20 * ops.sin(x), (3.0,)),
        (lambda x: (x * 1e10) ** 2, (3.0,)),
        (lambda x: ops.log(x), (np.array([1e-9, 2.0]),)),
        (lambda x: ops.softmax(x), (np.array([1.0, 2.0, 3.0], "float32"),)),
        (lambda x: ops.exp(x).sum(), (np.ones(300, "float32"),)),
        (lambda x: ops.exp(x).sum(), (np.zeros(0),)),
    ],
)
def test_right_derivatives_pass(f, args):
    found = ad.check_grads(f, *args)
    assert found.largest < 1e-2 and len(found.checked) == 6


def test_both_executions():
    def f(x):
        total = 0.0
        for k in range(3):
            total = total + ops.sin(x) ** k if x > 0 else total - x
        return total

    found = ad.check_grads(f, 0.7, execution=("dynamic", "static"))
    assert len(found.checked) == 12 and "static reverse mode" in str(found)
    net = nn.Dense(3, 2)
    assert ad.check_grads(net, ad.Tensor(np.ones((2, 3), "float32")), order=1, execution="static").comparisons > 0


@pytest.mark.parametrize("execution", ["dynamic", "static"])
@pytest.mark.parametrize(("mode", "words"), [("rev", "reverse mode"), ("fwd", "forward mode")])
def test_a_wrong_rule_is_named(mode, words, execution):
    cube = wrong_by(1.001, mode == "fwd")
    with pytest.raises(ad.GradientMismatchError) as caught:
        ad.check_grads(
            lambda p: {"y": cube(p["x"]) * 2.0}, {"x": np.array([[0.0, 2.0]])}, order=1, modes=mode, execution=execution
        )
    text = str(caught.value)
    assert words in text and "argument 0['x'][0, 1] (= 2)" in text and "is 24.024; differences give 24" in text
    assert "element [0, 1] of the result" in text and "test_check_grads.py" in text
    assert isinstance(caught.value, AssertionError)


def test_a_wrong_second_derivative_is_named():
    @ad.custom_vjp
    def square(x):
        return x * x

    @square.defvjp
    def rule(x, out, dout):
        return (2.0 * ad.stop_gradient(x) * dout,)

    with pytest.raises(ad.GradientMismatchError, match="reverse mode, then reverse mode: .* is 0; differences give 2"):
        ad.check_grads(square, 3.0, modes=("rev",))
    assert ad.check_grads(square, 3.0, order=1, modes=("rev",)).comparisons == 1


def test_one_wrong_result_among_several_is_named():
    cube = wrong_by(0.99)
    with pytest.raises(ad.GradientMismatchError, match=r"of result 1\[0\] by argument 1\[0\] \(= 1\) is 2.97"):
        ad.check_grads(lambda x, y: (x + y, cube(y)), np.ones(3), np.arange(1.0, 4.0), modes="rev", order=1)


def test_a_kink_is_recognised():
    with pytest.raises(ad.GradientMismatchError, match="From the left they give 0, from the right 1: a kink"):
        ad.check_grads(ops.relu, np.array([1.0, 0.0]))


@pytest.mark.parametrize(
    ("f", "args", "options", "words"),
    [
        (lambda x: 1e10 + x, (3.0,), {}, "cannot tell here"),
        (lambda x: ops.log(x), (0.0,), {}, "not finite"),
        (lambda x: 2 * x, (3,), {}, "no argument of <lambda> is a float"),
        (lambda x: 2 * x, (), {}, "no argument"),
        (lambda x: 2 * x, (3j,), {}, "is complex"),
        (lambda x: 3, (3.0,), {}, "no floating-point number"),
        (lambda x: x, (3.0,), {"order": 0}, "order must be"),
        (lambda x: x, (3.0,), {"order": True}, "order must be"),
        (lambda x: x, (3.0,), {"modes": ("rev", "both")}, "modes must be"),
        (lambda x: x, (3.0,), {"modes": ()}, "modes must be"),
        (lambda x: x, (3.0,), {"execution": "compiled"}, "execution must be"),
    ],
)
def test_refusals(f, args, options, words):
    with np.errstate(all="ignore"), pytest.raises(ad.ArgumentError, match=words):
        ad.check_grads(f, *args, **options)


def test_tolerances_can_be_given():
    cube = wrong_by(1.001)
    assert ad.check_grads(cube, 2.0, order=1, modes="rev", rtol=0.01).comparisons == 1
    with pytest.raises(ad.GradientMismatchError):
        ad.check_grads(lambda x: 1e-9 * cube(x), 2.0, order=1, modes="rev")
    assert ad.check_grads(lambda x: 1e-9 * cube(x), 2.0, order=1, modes="rev", atol=1e-6).comparisons == 1


def test_arguments_that_make_no_sense_are_named():
    wrong = [
        ({"rtol": "a"}, "rtol must be a number"),
        ({"rtol": -1}, "rtol must be a number"),
        ({"atol": float("nan")}, "atol must be a number"),
        ({"modes": 5}, "modes must be some of"),
        ({"modes": [["rev"]]}, "modes must be some of"),
        ({"execution": None}, "execution must be"),
    ]
    for options, words in wrong:
        with pytest.raises(ad.ArgumentError, match=words):
            ad.check_grads(lambda x: x * x, 2.0, **options)
    with pytest.raises(ad.ArgumentTypeError, match="must be a function or a Cell, not int"):
        ad.check_grads(5, 2.0)

"""Derivatives where there is no one answer, or where the formula breaks down: chosen, documented, and never NaN."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import adjoint as ad
from adjoint import ops
from adjoint.core.errors import NotDifferentiableError

INF = np.inf
HALF = np.sqrt(0.5)
where = ops.where


def tensor(x: Any, dtype: str = "float64") -> ad.Tensor:
    return ad.Tensor(np.asarray(x, dtype))


#: What it is, the function, the point, its gradient there, and the gradient of the gradient's sum.
KINKS: list[tuple[str, Callable[..., Any], list[float], list[float], list[float]]] = [
    ("abs", ops.abs, [0, -2, 2], [0, -1, 1], [0, 0, 0]),
    ("relu", ops.relu, [0, -2, 2], [0, 0, 1], [0, 0, 0]),
    ("relu6", ops.relu6, [0, 7, 2], [0, 0, 1], [0, 0, 0]),
    ("leaky_relu", ops.leaky_relu, [-1, 1], [0.2, 1], [0, 0]),
    ("sqrt", ops.sqrt, [0, 4], [INF, 0.25], [-INF, -1 / 32]),
    ("safe_sqrt", ops.safe_sqrt, [0, 4], [0, 0.25], [0, -1 / 32]),
    ("clamp", lambda x: ops.clamp(x, 0, 1), [0, 1, -0.1, 1.1, 0.5], [1, 1, 0, 0, 1], [0] * 5),
    ("hardtanh", ops.hardtanh, [-1, 1, 2], [1, 1, 0], [0, 0, 0]),
    ("max, ties", ops.max, [3, 1, 3, 3], [1 / 3, 0, 1 / 3, 1 / 3], [0] * 4),
    ("min, ties", ops.min, [1, 1, 2], [0.5, 0.5, 0], [0, 0, 0]),
    ("ptp of equal elements", ops.ptp, [1, 1], [0, 0], [0, 0]),
    ("maximum with a number", lambda x: ops.maximum(x, 1.0), [1, 0, 2], [0.5, 0, 1], [0, 0, 0]),
    ("minimum of x and x", lambda x: ops.minimum(x, x), [1, 2], [1, 1], [0, 0]),
    ("sort, ties", lambda x: (ops.sort(x)[0] * tensor([1.0, 2.0, 3.0])).sum(), [2, 1, 2], [2, 1, 3], [0, 0, 0]),
    ("norm by hypot", lambda x: ops.hypot(x, 0.0), [0, -2], [0, -1], [0, 0]),
    ("hypot of x and x", lambda x: ops.hypot(x, x), [0, 2], [0, np.sqrt(2)], [0, 0]),
    ("hypot of large numbers", lambda x: ops.hypot(x, x), [1e300], [np.sqrt(2)], [0]),
    ("atan2 at the origin", lambda x: ops.atan2(x, x), [0, 1], [0, 0], [0, 0]),
    ("sinc", ops.sinc, [0, 1], [0, -1], [-(np.pi**2) / 3, 2]),
    ("std of equal elements", ops.std, [2, 2, 2], [0, 0, 0], [0, 0, 0]),
    ("var of equal elements", lambda x: ops.var(x), [2, 2], [0, 0], [0, 0]),
    ("round", ops.round, [0.5, 1.5], [0, 0], [0, 0]),
    ("sign", ops.sign, [0, 1], [0, 0], [0, 0]),
    ("floor", ops.floor, [1, 1.5], [0, 0], [0, 0]),
    ("mod", lambda x: ops.mod(x, 2.0), [0, 2, -1], [1, 1, 1], [0, 0, 0]),
    ("fmod", lambda x: ops.fmod(x, 2.0), [0, 2, -1], [1, 1, 1], [0, 0, 0]),
    # powers
    ("x ** 0", lambda x: x**0, [0, -2], [0, 0], [0, 0]),
    ("x ** 0.0", lambda x: x**0.0, [0, 2], [0, 0], [0, 0]),
    ("x ** 1", lambda x: x**1, [0, -2], [1, 1], [0, 0]),
    ("x ** 2", lambda x: x**2, [0, -2], [0, -4], [2, 2]),
    ("x ** 3", lambda x: x**3, [0, -2], [0, 12], [0, -12]),
    ("x ** -1", lambda x: x**-1, [-2], [-0.25], [-0.25]),
    ("x ** 1.5", lambda x: x**1.5, [0, 4], [0, 3], [INF, 3 / 8]),
    ("x ** 0.5", lambda x: x**0.5, [0, 4], [INF, 0.25], [-INF, -1 / 32]),
    ("x ** y, y a Tensor", lambda x: x ** tensor([0, 1, 2, 2, 3]), [0, 0, 0, -2, -2], [0, 1, 0, -4, 12], [0, 0, 2, 2, -12]),
    ("0 ** y", lambda y: 0.0**y, [0, 1, 2], [0, 0, 0], [0, 0, 0]),
    ("x ** y by y where x is 0", lambda y: tensor([0.0, 0.0]) ** y, [1, 2], [0, 0], [0, 0]),
    # products with zeros
    ("prod, one zero", ops.prod, [0, 2, 3], [6, 0, 0], [5, 3, 2]),
    ("prod, two zeros", ops.prod, [0, 0, 3], [0, 0, 0], [3, 3, 0]),
    ("prod, three zeros", ops.prod, [0, 0, 0], [0, 0, 0], [0, 0, 0]),
    ("cumprod", lambda x: ops.cumprod(x, 0), [2, 0, 3, 0], [1, 8, 0, 0], [4, 12, 2, 6]),
    # far out
    ("sigmoid", ops.sigmoid, [-1000, 1000, 0], [0, 0, 0.25], [0, 0, 0]),
    ("log_sigmoid", ops.log_sigmoid, [-1000, 1000, 0], [1, 0, 0.5], [0, 0, -0.25]),
    ("softplus", ops.softplus, [-1000, 1000, 0], [0, 1, 0.5], [0, 0, 0.25]),
    ("silu", ops.silu, [-1000, 1000], [0, 1], [0, 0]),
    ("mish", ops.mish, [-1000, 1000], [0, 1], [0, 0]),
    ("gelu", ops.gelu, [-1000, 1000], [0, 1], [0, 0]),
    ("elu", ops.elu, [-1000, 1000], [0, 1], [0, 0]),
    ("tanh", ops.tanh, [-1000, 1000], [0, 0], [0, 0]),
    ("logaddexp", lambda x: ops.logaddexp(x, 0.0), [-1000, 1000, -INF], [0, 1, 0], [0, 0, 0]),
    ("logsumexp", ops.logsumexp, [1000, 1000], [0.5, 0.5], [0, 0]),
    ("logsumexp, -inf", ops.logsumexp, [-INF, 0, 0], [0, 0.5, 0.5], [0, 0, 0]),
    ("logsumexp, all -inf", ops.logsumexp, [-INF, -INF], [0, 0], [0, 0]),
    ("softmax", lambda x: ops.softmax(x)[0], [1000, 1000], [0.25, -0.25], [0, 0]),
    ("softmax, far apart", lambda x: ops.softmax(x)[0], [1000, -1000], [0, 0], [0, 0]),
    ("softmax, -inf", lambda x: ops.softmax(x)[1], [-INF, 0, 0], [0, 0.25, -0.25], [0, 0, 0]),
    ("log_softmax", lambda x: ops.log_softmax(x)[1], [1000, 0, -1000], [-1, 1, 0], [0, 0, 0]),
    ("xlogy at (0, 0)", lambda x: ops.xlogy(x, x), [0, 1], [0, 1], [0, 1]),
    ("xlogy, x = 0", lambda x: ops.xlogy(x, 2.0), [0, 1], [np.log(2), np.log(2)], [0, 0]),
    ("xlogy, y = 0", lambda y: ops.xlogy(0.0, y), [0, 1], [0, 0], [0, 0]),
    ("cross-entropy, sure and right", lambda p: ops.binary_cross_entropy(p, tensor([0.0, 1.0]), reduction="sum"), [0, 1], [1, -1], [1, 1]),
    ("cross-entropy of logits", lambda z: ops.binary_cross_entropy_with_logits(z, tensor([0.0, 0.0]), reduction="sum"), [-1000, 1000], [0, 1], [0, 0]),
]  # fmt: skip

#: Functions that are singular at a point, kept away from it by `where`: value and derivatives are those of the branch taken.
MASKED: list[tuple[str, Callable[..., Any], list[float], list[float], list[float], list[float]]] = [
    ("sqrt", lambda x: where(x > 0, ops.sqrt(x), 0.0), [0, 4], [0, 2], [0, 0.25], [0, -1 / 32]),
    ("log", lambda x: where(x > 0, ops.log(x), 0.0), [0, 2], [0, np.log(2)], [0, 0.5], [0, -0.25]),
    ("log of a negative number", lambda x: where(x > 0, ops.log(x), 0.0), [-1, 2], [0, np.log(2)], [0, 0.5], [0, -0.25]),
    ("1 / x", lambda x: where(x > 0, 1 / x, 0.0), [0, 2], [0, 0.5], [0, -0.25], [0, 0.25]),
    ("reciprocal", lambda x: where(x > 0, ops.reciprocal(x), 0.0), [0, 2], [0, 0.5], [0, -0.25], [0, 0.25]),
    ("x ** 0.5", lambda x: where(x > 0, x**0.5, 0.0), [0, 4], [0, 2], [0, 0.25], [0, -1 / 32]),
    ("x ** -1", lambda x: where(x > 0, x**-1, 0.0), [0, 2], [0, 0.5], [0, -0.25], [0, 0.25]),
    ("x ** y", lambda x: where(x > 0, x ** tensor([-0.5, 2.0]), 0.0), [0, 3], [0, 9], [0, 6], [0, 2]),
    ("cbrt", lambda x: where(x > 0, ops.cbrt(x), 0.0), [0, 1], [0, 1], [0, 1 / 3], [0, -2 / 9]),
    ("log1p", lambda x: where(x > -1, ops.log1p(x), 0.0), [-1, 1], [0, np.log(2)], [0, 0.5], [0, -0.25]),
    ("log2", lambda x: where(x > 0, ops.log2(x), 0.0), [0, 2], [0, 1], [0, 0.5 / np.log(2)], [0, -0.25 / np.log(2)]),
    ("arcsin", lambda x: where(x < 1, ops.asin(x), 0.0), [1, 0], [0, 0], [0, 1], [0, 0]),
    ("arccos", lambda x: where(x < 1, ops.acos(x), 0.0), [1, 0], [0, np.pi / 2], [0, -1], [0, 0]),
    ("arctanh", lambda x: where(x < 1, ops.atanh(x), 0.0), [1, 0], [0, 0], [0, 1], [0, 0]),
    ("arccosh", lambda x: where(x > 1, ops.acosh(x), 0.0), [1, 2], [0, np.arccosh(2)], [0, 1 / np.sqrt(3)], [0, -2 / np.sqrt(27)]),
    ("erfinv", lambda x: where(x < 1, ops.erfinv(x), 0.0), [1, 0], [0, 0], [0, np.sqrt(np.pi) / 2], [0, 0]),
    ("lgamma", lambda x: where(x > 0, ops.lgamma(x), 0.0), [0, 1], [0, 0], [0, -np.euler_gamma], [0, np.pi**2 / 6]),
    ("exp", lambda x: where(x < 1, ops.exp(x), 0.0), [1000, 0], [0, 1], [0, 1], [0, 1]),
    ("x log x", lambda x: where(x > 0, x * ops.log(x), 0.0), [0, 1], [0, 0], [0, 1], [0, 1]),
    ("exp times sqrt", lambda x: where(x < 1, ops.exp(x) * ops.sqrt(1 - x), 0.0), [1, 0], [0, 1], [0, 0.5], [0, -0.25]),
    ("rsqrt", lambda x: where(x > 0, ops.rsqrt(x), 0.0), [0, 1], [0, 1], [0, -0.5], [0, 0.75]),
    ("log of sqrt", lambda x: where(x > 0, ops.log(ops.sqrt(x)), 0.0), [0, 1], [0, 0], [0, 0.5], [0, -0.5]),
    ("sqrt of sqrt", lambda x: where(x > 0, ops.sqrt(ops.sqrt(x)), 0.0), [0, 1], [0, 1], [0, 0.25], [0, -3 / 16]),
    ("sqrt under the root", lambda x: ops.sqrt(where(x > 0, ops.sqrt(x), 1.0)), [0, 1], [1, 1], [0, 0.25], [0, -3 / 16]),
]  # fmt: skip


def close(got: Any, want: Any) -> None:
    np.testing.assert_allclose(got, np.asarray(want, float), rtol=1e-9, atol=1e-12)


def check_derivatives(f: Callable[..., Any], point: list[float], gradient: list[float], second: list[float]) -> None:
    """In reverse, forward, and three ways of nesting them."""
    x = tensor(point)
    total = lambda x: f(x).sum()
    close(ad.grad(total)(x), gradient)
    units = np.eye(len(point))
    close([ad.jvp(total, x, tensor(t))[1].item() for t in units], gradient)
    close(ad.vmap(lambda t: ad.jvp(total, x, t)[1])(tensor(units)), gradient)
    close(ad.grad(lambda x: ad.grad(total)(x).sum())(x), second)
    ones = tensor(np.ones(len(point)))
    close(ad.jvp(ad.grad(total), x, ones)[1], second)
    close(ad.grad(lambda x: ad.jvp(total, x, ones)[1])(x), second)


@pytest.mark.parametrize(("f", "point", "gradient", "second"), [k[1:] for k in KINKS], ids=[k[0] for k in KINKS])
def test_kinks(f: Callable[..., Any], point: list[float], gradient: list[float], second: list[float]) -> None:
    assert not np.isnan(f(tensor(point)).asnumpy()).any()
    check_derivatives(f, point, gradient, second)


@pytest.mark.parametrize(
    ("f", "point", "value", "gradient", "second"), [k[1:] for k in MASKED], ids=[k[0] for k in MASKED]
)
@pytest.mark.filterwarnings("ignore::RuntimeWarning")
def test_a_branch_not_taken(
    f: Any, point: list[float], value: list[float], gradient: list[float], second: list[float]
) -> None:
    """The value of the other branch may be infinite or NaN: NumPy says so, and the derivatives know nothing of it."""
    close(f(tensor(point)), value)
    check_derivatives(f, point, gradient, second)
    # Also where the derivative flows in from elsewhere with a factor of its own.
    close(ad.grad(lambda x: (2 * f(x) + x).sum())(tensor(point)), 2 * np.asarray(gradient) + 1)


def test_both_arguments_of_a_tie() -> None:
    a, b = tensor([1.0, 1.0, 2.0]), tensor([1.0, 2.0, 1.0])
    for op, first in ((ops.maximum, [0.5, 0.0, 1.0]), (ops.minimum, [0.5, 1.0, 0.0])):
        ga, gb = ad.grad(op, (0, 1))(a, b)
        close(ga, first)
        close(gb, 1 - np.array(first))


def test_ties_along_an_axis() -> None:
    x = tensor([[1.0, 1.0], [2.0, 1.0]])
    close(ad.grad(lambda x: ops.max(x, axis=1))(x), [[0.5, 0.5], [1, 0]])
    close(ad.grad(lambda x: ops.max(x, axis=0, keepdims=True))(x), [[0, 0.5], [1, 0.5]])


def test_bounds_that_are_tensors() -> None:
    """At a bound the gradient goes to the input, beyond it to the bound."""
    gx, glow, ghigh = ad.grad(ops.clamp, (0, 1, 2))(tensor([0.0, -1.0, 2.0]), tensor([0.0] * 3), tensor([1.0] * 3))
    close(gx, [1, 0, 0])
    close(glow, [0, 1, 0])
    close(ghigh, [0, 0, 1])


def test_two_arguments_at_the_origin() -> None:
    zero = tensor([0.0])
    for f in (ops.hypot, ops.atan2, ops.xlogy):
        for g in ad.grad(f, (0, 1))(zero, zero):
            close(g, [0])
    gx, gy = ad.grad(ops.pow, (0, 1))(tensor([0.0, 0.0, 0.0, 2.0]), tensor([0.0, 1.0, 2.0, 3.0]))
    close(gx, [0, 1, 0, 12])
    close(gy, [0, 0, 0, 8 * np.log(2)])


def test_norm_at_zero() -> None:
    norms: list[Callable[..., Any]] = [
        lambda x: ops.sqrt(where(x.sum() == 0, 1.0, (x * x).sum())),
        lambda x: ops.safe_sqrt((x * x).sum()),
        ops.norm,
    ]
    for norm in norms:
        close(ad.grad(norm)(tensor([0.0, 0.0])), [0, 0])


def test_size_of_a_complex_number() -> None:
    """z / |z|, as in PyTorch and MindSpore, and 0 at 0."""
    z = ad.Tensor(np.array([1 + 1j, 0, -3, 2j]))
    np.testing.assert_allclose(ad.grad(ops.abs)(z), [HALF + HALF * 1j, 0, -1, 1j], atol=1e-15)
    tangent = ad.jvp(ops.abs, z, ad.Tensor(np.array([1j, 1, 1j, 1j])))[1]
    close(tangent, [HALF, 0, 0, 1])


@pytest.mark.parametrize("name", ["float16", "bfloat16", "float32"])
def test_far_out_in_lower_precision(name: str) -> None:
    """No overflow, no NaN, no warning in value or gradient."""
    x = ad.Tensor(np.array([-1000.0, -20.0, 0.0, 20.0, 1000.0]), getattr(ad, name))
    for f in (ops.sigmoid, ops.log_sigmoid, ops.softplus, ops.silu, ops.mish, ops.gelu, ops.elu, ops.selu, ops.tanh,
              ops.softmax, ops.log_softmax, ops.logsumexp, ops.softsign, ops.hardswish, ops.erf, ops.sinc):  # fmt: skip
        value, gradient = ad.value_and_grad(f)(x)
        for y in (value, gradient):
            assert np.isfinite(y.asnumpy().astype(float)).all(), f"{f.__name__} of {name}: {y}"


def test_sums_of_half_precision_do_not_overflow() -> None:
    """65504 is the largest number of float16: means and norms of ordinary numbers go beyond it on the way."""
    x = ad.Tensor(np.full(1000, 300.0), ad.float16)
    assert ops.mean(x).item() == 300
    assert ops.var(x).item() == ops.std(x).item() == 0
    np.testing.assert_allclose(ops.normalize(x).asnumpy(), 1000**-0.5, rtol=1e-3)
    np.testing.assert_allclose(ops.softmax(ops.zeros(100_000, ad.float16)).asnumpy(), 1e-5, rtol=1e-2)
    np.testing.assert_allclose(ad.grad(ops.mean)(x).asnumpy(), 1e-3, rtol=1e-3)


def test_softmax_of_large_numbers_is_precise() -> None:
    """Single precision has no digits to spare at 10,000: the large part is taken off before the logarithm."""
    x = ad.Tensor([10_000.0, 10_000.0, 9_999.0])
    want = np.exp([0.0, 0.0, -1.0]) / np.exp([0.0, 0.0, -1.0]).sum()
    np.testing.assert_allclose(ops.softmax(x), want, rtol=1e-6)
    np.testing.assert_allclose(ops.log_softmax(x), np.log(want), rtol=1e-6)


def test_not_a_number_is_passed_on() -> None:
    x = tensor([1.0, np.nan, 3.0])
    tenth = lambda x: ops.quantile(x, 0.1)
    for f in (ops.sum, ops.mean, ops.max, ops.min, ops.median, ops.std, ops.logsumexp, ops.prod, tenth):
        assert np.isnan(f(x).item())
    np.testing.assert_array_equal(ops.clamp(x, 0, 2), [1, np.nan, 2])


# ---------------------------------------------------------------- inputs


def test_whole_numbers_have_no_derivative() -> None:
    square = lambda x: x * x
    with pytest.raises(NotDifferentiableError, match=r"argument 0 is the int 3; .* pass 3\.0"):
        ad.grad(square)(3)
    with pytest.raises(NotDifferentiableError, match=r"argument 0 is of dtype int64; .* cast it to float32 first"):
        ad.grad(square)(ad.Tensor([1, 2]))
    with pytest.raises(NotDifferentiableError, match=r"argument 0 is the bool True"):
        ad.grad(square)(True)
    with pytest.raises(NotDifferentiableError, match="have no derivative"):
        ad.jvp(square, ad.Tensor([1, 2]), ad.Tensor([1, 2]))


def test_a_cast_to_whole_numbers_ends_the_gradient() -> None:
    close(ad.grad(lambda x: x * x.astype(ad.int32))(tensor([2.7])), [2])


@pytest.mark.parametrize("x", [0.0, -0.0, 1.0, -1.0], ids=str)
@pytest.mark.parametrize(
    "f",
    [
        lambda x: where(x > 5, ops.log(x), 0.0),
        lambda x: where(x > 5, x / x, 0.0),
        lambda x: ops.log(x) * x,
        lambda x: x**0.5 * x + x**-1.5 * 0.0,
        lambda x: ops.asin(x) * x,
        lambda x: ops.sqrt(x * x),
        lambda x: ad.grad(lambda z: where(z > 5, ops.rsqrt(z), z))(x) * 1.0,
    ],
    ids=["log", "quotient", "x log x", "powers", "asin", "norm", "second order"],
)
@pytest.mark.filterwarnings("ignore::RuntimeWarning")
def test_a_python_float_has_the_gradient_of_an_array(f: Callable[..., Any], x: float) -> None:
    """Zero times infinity is zero for both of them."""
    for derivative in (ad.grad(f), ad.grad(ad.grad(f))):
        np.testing.assert_equal(np.asarray(derivative(x)), np.asarray(derivative(np.array([x]))[0]))


def test_an_input_that_is_not_used() -> None:
    used, unused = ad.grad(lambda x, y: x * 2, (0, 1))(tensor([1.0, 2.0]), tensor([[3.0]], "float32"))
    close(used, [2, 2])
    assert unused.dtype == ad.float32 and unused.shape == (1, 1) and not unused.asnumpy().any()


@pytest.mark.parametrize(
    "f", [ops.add, ops.mul, ops.div, ops.maximum, ops.atan2, ops.pow, lambda x, y: where(x > y, x, y)]
)
def test_gradients_have_the_dtypes_of_their_inputs(f: Callable[..., Any]) -> None:
    """float16 with float32 is computed in float32."""
    x, y = ad.Tensor([1.5, 2.0], ad.float16), ad.Tensor([1.0, 3.0], ad.float32)
    assert f(x, y).dtype == ad.float32
    gx, gy = ad.grad(f, (0, 1))(x, y)
    assert (gx.dtype, gy.dtype) == (ad.float16, ad.float32)
    assert np.isfinite(gx.asnumpy()).all() and np.isfinite(gy.asnumpy()).all()

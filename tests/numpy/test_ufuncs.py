"""Ufuncs of NumPy and SciPy on Tensors: values and gradients of each, their methods, mixed operands, `out=`, `where=` and `dtype=`."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
import scipy.special
from hypothesis import given, settings
from hypothesis import strategies as st
from hypothesis.extra import numpy as hnp

import adjoint as ad
from like_numpy import POINT, check_gradient

UNARY = """absolute arccos arccosh arcsin arcsinh arctan arctanh cbrt ceil conjugate cos cosh deg2rad degrees exp exp2 expm1
fabs floor isfinite isinf isnan log log10 log1p log2 logical_not negative positive rad2deg radians reciprocal rint sign
signbit sin sinh sqrt square tan tanh trunc modf frexp""".split()  # noqa: SIM905
BINARY = """add arctan2 copysign divide divmod equal float_power floor_divide fmax fmin fmod greater greater_equal heaviside
hypot less less_equal logaddexp logaddexp2 logical_and logical_or logical_xor maximum minimum multiply not_equal power
remainder subtract""".split()  # noqa: SIM905
SPECIAL = {
    "erf": 1, "erfc": 1, "erfinv": 1, "gammaln": 1, "psi": 1, "gamma": 1, "expit": 1, "logit": 1, "ndtr": 1, "log_ndtr": 1,
    "log_expit": 1, "entr": 1, "exp2": 1, "exp10": 1, "xlogy": 2, "xlog1py": 2, "rel_entr": 2, "kl_div": 2, "beta": 2, "betaln": 2,
}  # fmt: skip


def summed(ufunc: Any, *others: Any) -> Any:
    def total(x: Any) -> Any:
        y = ufunc(x, *others)
        return sum(np.sum(v * np.cos(np.arange(5))) for v in (y if isinstance(y, tuple) else (y,)))

    return total


@pytest.mark.parametrize("name", UNARY)
def test_unary_ufunc(name: str) -> None:
    check_gradient(summed(getattr(np, name)), 0.7 * POINT + (0.8 if name == "arccosh" else 0.013))


@pytest.mark.parametrize("name", BINARY)
def test_binary_ufunc(name: str) -> None:
    ufunc, y = getattr(np, name), np.array([0.3, -0.8, 0.45, 0.65, 0.2])
    y = np.abs(y) if name in ("power", "float_power") else y
    check_gradient(summed(ufunc, y))
    check_gradient(lambda b: summed(lambda a: ufunc(a, b))(POINT), y + 0.03)


@pytest.mark.parametrize("name", SPECIAL)
def test_scipy_special(name: str) -> None:
    ufunc, x = getattr(scipy.special, name), 0.6 * POINT
    check_gradient(summed(ufunc, *(POINT + 0.1,) * (SPECIAL[name] - 1)), x, rtol=2e-6)
    np.testing.assert_allclose(ad.grad(lambda v: ufunc(v, *(v,) * (ufunc.nin - 1)).sum())(ad.Tensor(x)).shape, x.shape)


def test_scipy_special_far_out() -> None:
    x = np.array([-60.0, -25.0, -20.0, -5.0, 0.0, 3.0, 9.0])
    values, slope = ad.value_and_grad(lambda v: scipy.special.log_ndtr(v))(x)
    np.testing.assert_allclose(values.asnumpy(), scipy.special.log_ndtr(x), rtol=1e-12)
    expected = np.exp(-0.5 * x * x - 0.5 * np.log(2 * np.pi) - scipy.special.log_ndtr(x))
    np.testing.assert_allclose(slope.asnumpy(), expected, rtol=1e-9)
    x = np.array([-2.5, -0.5, 0.3, 4.0])
    np.testing.assert_allclose(ad.value_and_grad(scipy.special.gamma)(x)[0].asnumpy(), scipy.special.gamma(x))


def test_every_ufunc_of_numpy_works_on_plain_tensors() -> None:
    ints, floats = np.array([1, 2, 3]), np.array([0.1, 0.5, 0.9])
    for name in sorted(
        {v.__name__ for v in vars(np).values() if isinstance(v, np.ufunc)}
        - {"isnat", "matmul", "matvec", "vecmat", "vecdot"}
    ):
        ufunc = getattr(np, name)
        for a in (ints, floats):
            try:
                with np.errstate(all="ignore"):
                    expected = ufunc(*(a,) * ufunc.nin)
            except TypeError:
                continue
            with np.errstate(all="ignore"):
                got = ufunc(*(ad.Tensor(a),) * ufunc.nin)
            for g, e in zip(
                got if ufunc.nout > 1 else (got,), expected if ufunc.nout > 1 else (expected,), strict=True
            ):
                assert isinstance(g, ad.Tensor) and g.dtype == e.dtype
                np.testing.assert_array_equal(g.asnumpy(), e)


def test_methods_of_ufuncs() -> None:
    a = POINT.reshape(1, 5) * np.array([[1.0], [1.4]])
    for ufunc in (np.add, np.multiply, np.maximum, np.minimum, np.logaddexp, np.hypot, np.subtract):
        check_gradient(lambda x, u=ufunc: u.reduce(x, axis=1).sum() + 0 * x.sum(), a)
        check_gradient(lambda x, u=ufunc: (u.accumulate(x, 1) * np.arange(5)).sum(), a)
        check_gradient(lambda x, u=ufunc: (u.outer(x[0], x[1, :2]) * np.arange(2)).sum(), a)
    check_gradient(lambda x: np.add.reduce(x, axis=(0, 1), initial=2.0, where=a > 0.8), a)
    check_gradient(lambda x: np.add.reduce(x, None, keepdims=True).sum(), a)
    check_gradient(lambda x: (np.add.reduceat(x, [0, 3, 1]) * [1.0, 2.0, 3.0]).sum())
    assert bool(np.logical_and.reduce(ad.Tensor([True, False]))) is False


# ---------------------------------------------------------------- dtypes and shapes, mixed operands

DTYPES = [np.float64, np.float32, np.int64, np.int32, np.uint8, np.bool_]
NUMBERS = st.one_of(
    st.sampled_from([2, -1, 1.5, 0.25]), st.sampled_from([np.float32(1.5), np.float64(2.5), np.int64(3)])
)


@st.composite
def operands(draw: Any) -> tuple[Any, Any]:
    shapes = draw(hnp.mutually_broadcastable_shapes(num_shapes=2, max_dims=3, max_side=3)).input_shapes
    arrays = [
        draw(hnp.arrays(draw(st.sampled_from(DTYPES)), shape, elements=st.sampled_from([0, 1]), fill=st.just(1)))
        for shape in shapes
    ]
    return arrays[0], draw(st.one_of(st.just(arrays[1]), NUMBERS))


@settings(max_examples=150, deadline=None, derandomize=True)
@given(
    pair=operands(),
    name=st.sampled_from(["add", "multiply", "maximum", "less", "divide", "arctan2", "hypot", "logaddexp", "fmax"]),
    swap=st.booleans(),
)
def test_mixed_operands_broadcast_and_promote_as_numpys(pair: tuple[Any, Any], name: str, swap: bool) -> None:
    ufunc = getattr(np, name)
    a, b = pair
    with np.errstate(all="ignore"):
        try:
            expected = ufunc(b, a) if swap else ufunc(a, b)
        except (TypeError, OverflowError):
            return  # NumPy refuses these dtypes
        sides = [(ad.Tensor(a), b)] + (
            [(a, ad.Tensor(b)), (ad.Tensor(a), ad.Tensor(b))] if isinstance(b, np.ndarray) else []
        )
        for left, right in sides:
            for follow in (False, True):
                if follow and isinstance(left, ad.Tensor) and left.dtype.kind == expected.dtype.kind == "f":
                    got = ad.vjp(lambda t, r=right: ufunc(r, t) if swap else ufunc(t, r), left)[0]
                else:
                    got = ufunc(right, left) if swap else ufunc(left, right)
                assert isinstance(got, ad.Tensor)
                assert (got.shape, got.dtype) == (expected.shape, expected.dtype)
                np.testing.assert_allclose(got.asnumpy(), expected, rtol=1e-6)


# ---------------------------------------------------------------- out=, where=, dtype=


def test_out_binds_a_tensor() -> None:
    def f(x: Any) -> Any:
        y = np.zeros_like(x)
        assert np.multiply(x, 3.0, out=y) is y
        np.divide(1.0, x, out=y, where=x.asnumpy() > 0.8)
        assert np.sum(np.stack([x, y]), axis=0, out=y) is y
        return y.sum()

    expected = np.where(POINT > 0.8, 1 - 1 / POINT**2, 4.0)
    np.testing.assert_allclose(ad.grad(f)(POINT).asnumpy(), expected)


def test_where_is_safe_where_it_is_false() -> None:
    def safe_ratio(x: Any) -> Any:
        return np.divide(1.0, x, out=np.zeros_like(x), where=x != 0).sum()

    np.testing.assert_allclose(ad.grad(safe_ratio)(np.array([0.0, 2.0])).asnumpy(), [0.0, -0.25])


def test_out_may_be_a_part_of_another_array() -> None:
    f = lambda x, y: np.add(x[1:], 1.0, out=y[1:]).sum() + y.sum()
    np.testing.assert_allclose(ad.grad(lambda x: f(x, ad.numpy.zeros(len(x))))(POINT), [0.0] + [2.0] * (len(POINT) - 1))


def test_dtype_of_a_ufunc_casts_first() -> None:
    y, slope = ad.value_and_grad(lambda x: np.multiply(x, 2, dtype=np.float32))(POINT)
    assert y.dtype == np.float32 and slope.dtype == np.float64
    np.testing.assert_allclose(slope.asnumpy(), 2.0)

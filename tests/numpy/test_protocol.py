"""NumPy's and SciPy's own functions on Tensors: what they compute, and what is differentiated or refused."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
import scipy.optimize
import scipy.special
from hypothesis import given, settings
from hypothesis import strategies as st
from hypothesis.extra import numpy as hnp

import adjoint as ad
from adjoint.core.errors import CutGradientError

X = np.array([0.5, 0.9, 1.3, 1.1, 0.7])
rng = np.random.default_rng(3)


def differences(f: Any, x: np.ndarray, h: float = 1e-6) -> np.ndarray:
    """The gradient of a NumPy function by central differences."""
    steps = h * np.eye(x.size).reshape(x.size, *x.shape)
    return np.array([(f(x + s) - f(x - s)) / (2 * h) for s in steps]).reshape(x.shape)


def check(f: Any, x: np.ndarray = X, rtol: float = 1e-6) -> None:
    """Value and gradient of a function written for NumPy, by both modes, against NumPy itself."""
    expected = differences(f, x)
    value, slope = ad.value_and_grad(f)(x)
    np.testing.assert_allclose(np.asarray(value, float), f(x), rtol=1e-10)
    np.testing.assert_allclose(slope.asnumpy(), expected, rtol=rtol, atol=1e-7)
    t = np.cos(np.arange(x.size)).reshape(x.shape)
    pushed = ad.jvp(f, ad.Tensor(x), ad.Tensor(t))[1]
    np.testing.assert_allclose(pushed.asnumpy(), (expected * t).sum(), rtol=1e-5, atol=1e-6)


# ---------------------------------------------------------------- code that never heard of us


@pytest.mark.parametrize("kind", [np.asarray, ad.Tensor])
def test_rosen(kind: Any) -> None:
    x = kind(X)
    np.testing.assert_allclose(ad.grad(scipy.optimize.rosen)(x).asnumpy(), scipy.optimize.rosen_der(X))
    np.testing.assert_allclose(ad.hessian(scipy.optimize.rosen)(x).asnumpy(), scipy.optimize.rosen_hess(X))
    tangent = ad.jvp(scipy.optimize.rosen, x, kind(np.ones(5)))[1]
    np.testing.assert_allclose(tangent.asnumpy(), scipy.optimize.rosen_der(X).sum())


def test_rosen_in_an_optimiser() -> None:
    slope = ad.grad(scipy.optimize.rosen)
    found = scipy.optimize.minimize(scipy.optimize.rosen, X, jac=lambda x: slope(x).asnumpy(), method="BFGS", tol=1e-10)
    np.testing.assert_allclose(found.x, np.ones(5), rtol=1e-6)


def softmax_entropy(x):
    shifted = np.exp(x - np.max(x, axis=-1, keepdims=True))
    p = shifted / np.sum(shifted, axis=-1, keepdims=True)
    return -np.sum(p * np.log(p))


def gaussian_log_density(x):
    mean, cov = np.linspace(0, 1, 5), np.diag([1.0, 2.0, 3.0, 4.0, 5.0]) + 0.5
    off = x - mean
    _, logdet = np.linalg.slogdet(2 * np.pi * cov)
    return -0.5 * (logdet + off @ np.linalg.solve(cov, off))


def covariance_log_density(x):
    cov = np.diag(x) + 0.1
    return -0.5 * np.linalg.slogdet(cov)[1] - 0.5 * np.sum(np.linalg.solve(np.linalg.cholesky(cov), np.ones(5)) ** 2)


def finite_volumes(u):
    for _ in range(3):
        flux = 0.5 * (u[1:] ** 2 + u[:-1] ** 2) / 2 - 0.25 * (u[1:] - u[:-1])
        u = np.concatenate([u[:1], u[1:-1] - 0.1 * (flux[1:] - flux[:-1]), u[-1:]])
    return np.sum(u**2)


def stencil_in_place(u):
    v = np.zeros_like(u)
    v[1:-1] = u[2:] - 2 * u[1:-1] + u[:-2]
    v[0] = v[1]
    v += np.square(u)
    return np.dot(v, v)


def by_elements(x):
    x = np.asarray(x)
    return np.sum(np.sin(x) * np.sqrt(x)) + np.tanh(x[0]) ** 2 + np.hypot(x[1], x[2]) + np.max(x) * np.linalg.norm(x)


def horner(x):
    return np.sum(np.polyval([1.0, -2.0, 0.5], x)) + np.polynomial.Polynomial([1.0, 2.0, 3.0])(x[0])


def table_lookup(x):
    return np.sum(np.interp(x, [0.0, 0.6, 1.2, 2.0], [1.0, 3.0, -1.0, 0.0]) * np.arange(5))


def rows_of_lists(x):
    a = np.array([[x[0], x[1]], [x[2], 2.0]])
    return np.sum(a @ a) + np.trace(np.stack([x, x * x])[:, :2])


def leapfrog(x):
    q, p = x[:2], x[2:4]
    for _ in range(5):
        p = p - 0.05 * q / np.linalg.norm(q) ** 3
        q = q + 0.1 * p
        p = p - 0.05 * q / np.linalg.norm(q) ** 3
    return np.vdot(p, p) + np.einsum("i,i->", q, q)


def special(x):
    return np.sum(scipy.special.erf(x) * scipy.special.expit(-x) + scipy.special.gammaln(x) - scipy.special.xlogy(x, x))


WRITTEN_FOR_NUMPY = [
    softmax_entropy, gaussian_log_density, covariance_log_density, finite_volumes, stencil_in_place, by_elements, horner,
    table_lookup, rows_of_lists, leapfrog, special, scipy.optimize.rosen, np.linalg.norm, np.std, np.prod,
]  # fmt: skip


@pytest.mark.parametrize("f", WRITTEN_FOR_NUMPY, ids=lambda f: f.__name__)
def test_functions_written_for_numpy(f: Any) -> None:
    check(f)


def test_second_order_through_numpy() -> None:
    got = ad.hessian(softmax_entropy)(X).asnumpy()
    expected = np.array([differences(lambda x, i=i: ad.grad(softmax_entropy)(x).asnumpy()[i], X) for i in range(5)])
    np.testing.assert_allclose(got, expected, rtol=1e-5, atol=1e-7)


def test_functions_that_are_not_in_the_table_are_followed_by_elements() -> None:
    check(lambda x: np.apply_over_axes(np.sum, np.outer(x, x), [0, 1]).sum())
    check(lambda x: np.polynomial.chebyshev.chebval(x, [1.0, 2.0, 3.0]).sum())
    check(lambda x: np.vectorize(lambda v: v * v)(x).sum())


# ---------------------------------------------------------------- ufuncs

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
    check(summed(getattr(np, name)), 0.7 * X + (0.8 if name == "arccosh" else 0.013))


@pytest.mark.parametrize("name", BINARY)
def test_binary_ufunc(name: str) -> None:
    ufunc, y = getattr(np, name), np.array([0.3, -0.8, 0.45, 0.65, 0.2])
    y = np.abs(y) if name in ("power", "float_power") else y
    check(summed(ufunc, y))
    check(lambda b: summed(lambda a: ufunc(a, b))(X), y + 0.03)


@pytest.mark.parametrize("name", SPECIAL)
def test_scipy_special(name: str) -> None:
    ufunc, x = getattr(scipy.special, name), 0.6 * X
    check(summed(ufunc, *(X + 0.1,) * (SPECIAL[name] - 1)), x, rtol=2e-6)
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
    a = X.reshape(1, 5) * np.array([[1.0], [1.4]])
    for ufunc in (np.add, np.multiply, np.maximum, np.minimum, np.logaddexp, np.hypot, np.subtract):
        check(lambda x, u=ufunc: u.reduce(x, axis=1).sum() + 0 * x.sum(), a)
        check(lambda x, u=ufunc: (u.accumulate(x, 1) * np.arange(5)).sum(), a)
        check(lambda x, u=ufunc: (u.outer(x[0], x[1, :2]) * np.arange(2)).sum(), a)
    check(lambda x: np.add.reduce(x, axis=(0, 1), initial=2.0, where=a > 0.8), a)
    check(lambda x: np.add.reduce(x, None, keepdims=True).sum(), a)
    check(lambda x: (np.add.reduceat(x, [0, 3, 1]) * [1.0, 2.0, 3.0]).sum())
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


# ---------------------------------------------------------------- conversions


def test_asarray_keeps_the_gradient() -> None:
    check(lambda x: (np.asarray(x) ** 2).sum())
    check(lambda x: np.sum(np.exp(np.asanyarray(x)[1:] - np.array(x)[:-1])))


def test_asarray_of_floats_is_refused() -> None:
    with pytest.raises(CutGradientError, match="NumPy array of float64 would cut its gradient"):
        ad.grad(lambda x: np.asarray(x, float).sum())(X)


def test_writing_into_a_numpy_array_is_refused() -> None:
    def add_in_place(x: Any) -> Any:
        a = np.zeros(5)
        a += x
        return a.sum()

    with pytest.raises(
        CutGradientError, match=r"(?s)`array \+= tensor`.*make the array a Tensor first, with adjoint.numpy.zeros"
    ):
        ad.grad(add_in_place)(X)
    with pytest.raises(CutGradientError, match=r"adjoint\.numpy\.zeros"):
        ad.grad(lambda x: np.add.at(np.zeros(5), [0], x[:1]))(X)


def test_an_element_of_a_numpy_array_cannot_be_tracked() -> None:
    def assign(x: Any) -> Any:
        a = np.zeros(5)
        a[0] = x[0]
        return a.sum()

    with pytest.raises((ValueError, CutGradientError)) as caught:  # NumPy hides our error behind one of its own
        ad.grad(assign)(X)
    assert isinstance(caught.value, CutGradientError) or isinstance(caught.value.__cause__, CutGradientError)


def test_untracked_tensors_may_be_written_into_arrays() -> None:
    a = np.zeros(5)
    a += ad.Tensor(X)
    np.copyto(a[:2], ad.Tensor([7.0, 8.0]))
    np.add.at(a, [4, 4], ad.Tensor([1.0, 1.0]))
    assert type(a) is np.ndarray
    np.testing.assert_allclose(a, [7.0, 8.0, 1.3, 1.1, 2.7])


# ---------------------------------------------------------------- out=, where=, dtype=


def test_out_binds_a_tensor() -> None:
    def f(x: Any) -> Any:
        y = np.zeros_like(x)
        assert np.multiply(x, 3.0, out=y) is y
        np.divide(1.0, x, out=y, where=x.asnumpy() > 0.8)
        assert np.sum(np.stack([x, y]), axis=0, out=y) is y
        return y.sum()

    expected = np.where(X > 0.8, 1 - 1 / X**2, 4.0)
    np.testing.assert_allclose(ad.grad(f)(X).asnumpy(), expected)


def test_where_is_safe_where_it_is_false() -> None:
    def safe_ratio(x: Any) -> Any:
        return np.divide(1.0, x, out=np.zeros_like(x), where=x != 0).sum()

    np.testing.assert_allclose(ad.grad(safe_ratio)(np.array([0.0, 2.0])).asnumpy(), [0.0, -0.25])


def test_out_may_be_a_part_of_another_array() -> None:
    f = lambda x, y: np.add(x[1:], 1.0, out=y[1:]).sum() + y.sum()
    np.testing.assert_allclose(ad.grad(lambda x: f(x, ad.numpy.zeros(len(x))))(X), [0.0] + [2.0] * (len(X) - 1))


def test_dtype_of_a_ufunc_casts_first() -> None:
    y, slope = ad.value_and_grad(lambda x: np.multiply(x, 2, dtype=np.float32))(X)
    assert y.dtype == np.float32 and slope.dtype == np.float64
    np.testing.assert_allclose(slope.asnumpy(), 2.0)


# ---------------------------------------------------------------- what has no derivative


def test_an_unknown_function_is_refused_by_name() -> None:
    with pytest.raises(CutGradientError, match=r"numpy.linalg.eigvals has no derivative in adjoint"):
        ad.grad(lambda x: np.linalg.eigvals(np.diag(x)).sum())(X)
    with pytest.raises(CutGradientError, match="the ufunc spacing has no derivative in adjoint"):
        ad.grad(lambda x: np.spacing(x).sum())(X)
    with pytest.raises(
        CutGradientError, match=r"numpy.multiply.at cannot be differentiated; add.at and subtract.at can"
    ):
        ad.grad(lambda x: np.multiply.at(x, [0], 2.0))(X)


def test_errors_name_the_users_line() -> None:
    space = {"np": np}
    exec(compile("def f(x):\n    return np.spacing(x).sum()", "model.py", "exec"), space)
    with pytest.raises(CutGradientError, match=r"called at model\.py:2"):
        ad.grad(space["f"])(X)


def test_an_unknown_function_computes_on_plain_tensors() -> None:
    assert sorted(np.linalg.eigvals(ad.Tensor(np.diag(X))).asnumpy().real) == sorted(X)
    counts, edges = np.histogram(ad.Tensor(X), bins=2)
    assert counts.tolist() == [2, 3] and isinstance(edges, ad.Tensor)
    u, s, vh = np.linalg.svd(ad.Tensor(np.eye(2)))
    assert s.tolist() == [1.0, 1.0] and u.shape == vh.shape


def test_text_and_questions_inside_a_gradient() -> None:
    def f(x: Any) -> Any:
        assert np.array2string(x) == np.array2string(X) and np.shape(x) == (5,) and np.ndim(x) == 1
        assert np.allclose(x, X) and np.iscomplexobj(x) is False and np.result_type(x, np.float32) == np.float64
        return x[np.argmax(x)] + x[np.nonzero(x > 1.2)][0]

    np.testing.assert_allclose(ad.grad(f)(X).asnumpy(), [0, 0, 2, 0, 0])


def test_strangers_are_left_to_themselves() -> None:
    class Stranger:
        def __array_ufunc__(self, *args: Any, **options: Any) -> str:
            return "mine"

    assert np.add(ad.Tensor(X), Stranger()) == "mine"
    with pytest.raises(TypeError):
        np.add(ad.Tensor(X), object())


def test_a_gradient_tape_records_numpy_calls() -> None:
    x = ad.Tensor(X)
    with ad.GradientTape() as tape:
        y = np.sum(np.hypot(x, 1.0)) + np.linalg.norm(x)
    expected = X / np.hypot(X, 1) + X / np.linalg.norm(X)
    np.testing.assert_allclose(tape.gradient(y, x).asnumpy(), expected)


def test_parameters_are_tensors_to_numpy() -> None:
    w = ad.Parameter(ad.Tensor(X), name="w")
    np.testing.assert_allclose(ad.grad(lambda: np.sum(np.sin(w) ** 2), None, weights=w)().asnumpy(), np.sin(2 * X))


def test_half_precision_is_kept() -> None:
    h = ad.Tensor(np.ones(3, np.float16))
    assert {np.sum(h).dtype, np.hypot(h, 1.0).dtype, np.sin(h).dtype} == {np.dtype(np.float16)}

"""NumPy's functions on traced values of every dtype: what NumPy gives, with its dtype, or a refusal."""

from __future__ import annotations

import itertools
from typing import Any

import numpy as np
import pytest
import scipy.special
from hypothesis import given, settings
from hypothesis import strategies as st

import adjoint as ad
from adjoint.core import tree
from adjoint.core.errors import AdjointError, DtypeError
from adjoint.ops.numpylike.ufuncs import COMPOSED, COMPOSED_SPECIAL
from adjoint.ops.publish import SPECIAL
from tests.numpy.test_namespace import CASES, Case, found, label

pytestmark = [
    pytest.mark.filterwarnings("ignore::adjoint.PromotionWarning"),  # NumPy's float64 arrays beside float32 ones
    pytest.mark.filterwarnings("ignore::RuntimeWarning"),
    pytest.mark.filterwarnings("ignore:numpy.fix is deprecated:DeprecationWarning"),
]
REFUSALS = (AdjointError, TypeError, ValueError, OverflowError, IndexError, np.linalg.LinAlgError)
DTYPES = ("float32", "int8", "int32", "uint8", "bool", "complex64", "complex128")


def converted(x: Any, dtype: str) -> Any:
    """A float array of the cases in another dtype, with numbers that it can hold."""
    if not isinstance(x, np.ndarray) or x.dtype != np.float64:
        return x
    if dtype.startswith("complex"):
        return (x + 0.5j * np.cos(3 * x)).astype(dtype)
    if dtype == "bool":
        return x > 0.5
    if dtype == "float32":
        return x.astype(dtype)
    return np.clip(np.nan_to_num(np.round(3 * x)), 0 if dtype == "uint8" else -60, 60).astype(dtype)


def results(y: Any) -> list[np.ndarray]:
    leaves = tree.leaves(list(y) if isinstance(y, tuple) else y)
    return [v.asnumpy() if isinstance(v, ad.Tensor) else np.asarray(v) for v in leaves if not isinstance(v, type)]


def agree(got: Any, expected: Any, rtol: float) -> None:
    got, expected = results(got), results(expected)
    assert len(got) == len(expected)
    for g, e in zip(got, expected, strict=True):
        assert g.dtype == e.dtype and g.shape == e.shape
        size = np.abs(e[np.isfinite(e)]).max(initial=1e-4) if e.dtype.kind in "fc" else 0.0
        np.testing.assert_allclose(g, e, rtol=rtol, atol=rtol * size)


def compare(function: Any, args: tuple, kwargs: dict, rtol: float) -> None:
    """A function as a graph computes it, against NumPy; a refusal is an answer, and NumPy's refusal is ours."""
    leaves, rebuild = tree.flatten(list(args))
    arrays = [x for x in leaves if isinstance(x, np.ndarray)]

    def traced(*given: Any) -> Any:
        queue = list(given)
        return function(*rebuild([queue.pop(0) if isinstance(x, np.ndarray) else x for x in leaves]), **kwargs)

    try:
        got = ad.jit(traced, backend="interpreter")(*arrays)
    except REFUSALS:
        return
    try:
        expected = function(*args, **kwargs)
    except ValueError:
        return  # for its values, which a graph does not know
    agree(got, expected, rtol)  # dtypes that NumPy refuses raise TypeError above


#: What differs, and why: each must still differ.
KNOWN = {
    "the order of equal elements is open": {"argsort", "argpartition", "partition"},
    "singular vectors and the like have a sign of their own": {"linalg.svd", "linalg.eigh", "linalg.qr"},
    "whether all eigenvalues are real is known only when a graph runs: they are complex": {
        "linalg.eig",
        "linalg.eigvals",
    },
    "Gaussian elimination of what has no inverse": {
        "linalg.inv",
        "linalg.solve",
        "linalg.tensorinv",
        "linalg.tensorsolve",
    },
}
LEFT_OUT = set().union(*KNOWN.values())
DTYPE_CASES = [case for case in CASES if any(isinstance(x, np.ndarray) for x in tree.leaves(list(case[1])))]


@pytest.mark.parametrize("dtype", DTYPES)
@pytest.mark.parametrize("case", [case for case in DTYPE_CASES if case[0] not in LEFT_OUT], ids=label)
def test_a_traced_function_has_numpys_dtype(case: Case, dtype: str) -> None:
    name, args, kwargs = case
    args = tuple(tree.map(lambda x: converted(x, dtype), list(args)))
    compare(found(np, name), args, kwargs, 1e-3 if dtype in ("float32", "complex64") else 1e-8)


# ---------------------------------------------------------------- ufuncs


def numbers_of(dtype: str, shift: int) -> np.ndarray:
    x = np.array([1, 2, 3]) + shift
    return x > 1 if dtype == "bool" else (x * (1 if dtype[:3] in ("int", "uin") else 0.3)).astype(dtype)


NAMED = [getattr(scipy.special, name, None) for name in (*COMPOSED_SPECIAL, *SPECIAL)]
UFUNCS = [u for u in (*COMPOSED, *NAMED) if isinstance(u, np.ufunc)]
UFUNCS = [u for u in UFUNCS if u.__name__ not in ("matvec", "vecmat")]


@pytest.mark.parametrize("ufunc", UFUNCS, ids=lambda u: u.__name__)
def test_a_composed_ufunc_has_numpys_dtypes(ufunc: np.ufunc) -> None:
    dtypes = ("float64", "float16", *DTYPES)
    pairs = itertools.product(dtypes, (*dtypes, 2, 2.5)) if ufunc.nin == 2 else ((d,) for d in dtypes)
    for kinds in pairs:
        args = tuple(numbers_of(d, k) if isinstance(d, str) else d for k, d in enumerate(kinds))
        if "float16" in kinds and any(str(d)[:3] in ("int", "uin", "boo") for d in kinds):
            continue  # integers give way to half precision here
        compare(ufunc, args, {}, 1e-2 if {"float16", "int8", "uint8", "bool"} & set(kinds) else 1e-4)


def test_half_precision_is_rounded_once() -> None:
    x, y = np.float16([1.5, 0.5]), np.float16([0.5, 1.5])
    np.testing.assert_array_equal(ad.vmap(np.hypot)(x, y).asnumpy(), np.hypot(x, y))


@pytest.mark.parametrize("call", [
    lambda x: np.reciprocal(x.astype(int)), lambda x: np.fabs(x * 1j), lambda x: np.heaviside(x * 1j, 0.5),
    lambda x: np.add(x * 1j, 1.0, dtype=np.float32), lambda x: np.positive(x > 0), lambda x: np.isposinf(x * 1j),
    lambda x: np.quantile(x * 1j, 0.5), lambda x: np.gradient(x > 0), lambda x: np.ediff1d(x.astype(int), to_end=0.5),
])  # fmt: skip
def test_what_numpy_has_no_loop_for_is_refused(call: Any) -> None:
    with pytest.raises(TypeError):
        ad.jit(call)(np.array([1.0, 2.0]))


# ---------------------------------------------------------------- Python numbers

V, F = np.float32([0.5, -1.0, 2.0]), np.float32([[0.5, 1.5, -2], [3, 0.25, 1]])
WITH_A_NUMBER: list[Any] = [
    lambda s, v, f: np.linspace(s, v, 3), lambda s, v, f: np.linspace(v, s, 3), lambda s, v, f: np.logspace(s, v, 3),
    lambda s, v, f: np.gradient(v, s), lambda s, v, f: np.outer(v, s), lambda s, v, f: np.dot(f, s), lambda s, v, f: np.dot(s, f),
    lambda s, v, f: np.kron(v, s), lambda s, v, f: np.inner(v, s), lambda s, v, f: np.multiply.outer(v, s),
    lambda s, v, f: np.array([s, v[0]]), lambda s, v, f: np.array([v[0], 1.0]) * 2, lambda s, v, f: np.modf(s)[0] * v,
    lambda s, v, f: np.where(f > 0, f, s), lambda s, v, f: np.where(f > 0, s, 1), lambda s, v, f: np.clip(f, s, 2),
    lambda s, v, f: np.select([f > 0], [f], s), lambda s, v, f: np.quantile(f, s / 3), lambda s, v, f: np.percentile(f, s),
    lambda s, v, f: np.quantile(f, np.float64(0.3)), lambda s, v, f: np.copysign(v, s), lambda s, v, f: np.heaviside(v, s),
    lambda s, v, f: np.hypot(v, s), lambda s, v, f: np.sum(f, initial=s), lambda s, v, f: np.max(f, initial=s),
    lambda s, v, f: np.append(v, s), lambda s, v, f: np.full_like(v, s), lambda s, v, f: np.square(s) * v,
    lambda s, v, f: np.concatenate([v, [s]]), lambda s, v, f: np.power(s, v), lambda s, v, f: np.add(v, [s, 1, 2]),
]  # fmt: skip


@pytest.mark.parametrize("function", WITH_A_NUMBER)
def test_a_python_number_widens_what_it_widens_in_numpy(function: Any) -> None:
    expected = function(1.7, V, F)
    v, f = ad.Tensor(V), ad.Tensor(F)
    agree(function(1.7, v, f), expected, 1e-5)
    agree(ad.jit(function)(1.7, V, F), expected, 1e-5)
    agree(ad.value_and_grad(lambda s: (function(s, v, f) * 1, 0)[0])(1.7)[0], expected, 1e-5)


# ---------------------------------------------------------------- casts


@pytest.mark.parametrize("dtype", [object, "U5", "M8[s]", "V8"])
def test_a_cast_to_what_holds_no_numbers_is_refused(dtype: Any) -> None:
    for function in (ad.grad(lambda x: (x.astype(dtype) * 2.0).sum()), ad.jit(lambda x: x.astype(dtype))):
        with pytest.raises(DtypeError, match="a Tensor holds numbers"):
            function(ad.Tensor(np.ones(2)))


def test_numpys_object_dtype_keeps_the_gradient() -> None:
    """np.histogram_bin_edges asks for `dtype=object` where its array has traced elements."""
    x = np.array([0.3, -1.2, 2.0])
    got = ad.grad(lambda x: (np.histogram_bin_edges(x, 4) * np.arange(5.0)).sum())(x)
    np.testing.assert_allclose(got.asnumpy(), [0.0, 2.5, 7.5])


@pytest.mark.parametrize("dtype", [">f8", ">i4", ">c8", "<f8"])
def test_the_byte_order_is_the_machines(dtype: str) -> None:
    x = np.array([1, 2, 3], dtype)
    native = x.dtype.newbyteorder("=")
    for y in (ad.Tensor(x), ad.Tensor(x)[1:], ad.ops.cast(ad.Tensor([1.0]), dtype), ad.jit(lambda v: v)(ad.Tensor(x))):
        assert y.dtype == native and y.asnumpy().dtype == native
    np.testing.assert_array_equal(ad.jit(lambda v: v * 2)(x).asnumpy(), x * 2)


# ---------------------------------------------------------------- numbers at the edge


@pytest.mark.parametrize("route", [ad.jit, ad.vmap, lambda f: lambda *a: f(*map(ad.Tensor, a))])
def test_means_of_large_integers_do_not_wrap(route: Any) -> None:
    x = np.full((1, 4), 2**62)
    for f in (lambda v: v.mean(1), lambda v: np.mean(v, 1), lambda v: np.average(v, 1), lambda v: ad.ops.mean(v, 1)):
        y = np.asarray((route(f)(x) if route is not ad.vmap else route(lambda v, f=f: f(v[None]))(x)).asnumpy())
        np.testing.assert_allclose(y.ravel(), [2.0**62])
    assert float(ad.jit(np.std)(x[0])) == 0.0 and float(ad.jit(lambda v: v.var())(x[0])) == 0.0


SPECIAL_NUMBERS = [0.0, 1.0, -1.5, 2.5, np.inf, -np.inf, np.nan, 1e-310, 3e38, 1e300]


@settings(max_examples=60, deadline=None)
@given(st.lists(st.sampled_from(SPECIAL_NUMBERS), min_size=4, max_size=9), st.randoms())
def test_infinite_and_missing_numbers_are_numpys(values: list[float], random: Any) -> None:
    x, y = np.array(values), np.array(random.sample(values, len(values)))
    np.testing.assert_allclose(ad.jit(np.hypot)(x, y).asnumpy(), np.hypot(x, y), rtol=1e-14)
    for f in (
        np.fmod, np.copysign, np.fmax, np.fmin, lambda a, b: np.clip(a, b, 1.0), lambda a, b: np.clip(a, -1.0, b),
        lambda a, b: np.searchsorted(np.sort(a), b), lambda a, b: np.searchsorted(np.sort(a), b, "right"),
    ):  # fmt: skip
        np.testing.assert_array_equal(ad.jit(f, backend="interpreter")(x, y).asnumpy(), f(x, y))


@pytest.mark.parametrize("bounds", [(-1, 2), (0, 300), (1, 2), (-500, 500)])
@pytest.mark.parametrize("dtype", ["uint8", "int8"])
def test_bounds_that_integers_cannot_hold_bound_nothing(bounds: tuple[int, int], dtype: str) -> None:
    x = np.arange(5).astype(dtype)
    agree(ad.jit(lambda v: np.clip(v, *bounds))(x), np.clip(x, *bounds), 0.0)


@pytest.mark.parametrize("shape", [(0,), (3, 0), (0, 3)])
def test_the_median_of_nothing_is_missing(shape: tuple[int, ...]) -> None:
    for f in (np.median, lambda x: np.median(x, axis=-1, keepdims=True), ad.ops.median):
        expected = np.median(np.zeros(shape), axis=-1, keepdims=True) if "lambda" in f.__name__ else np.nan
        np.testing.assert_array_equal(ad.jit(f)(np.zeros(shape)).asnumpy(), expected)


def test_nan_to_num_writes_where_it_is_told_to() -> None:
    def f(x: Any) -> Any:
        y = x * 1.0
        np.nan_to_num(y, copy=False)
        return y

    x = np.array([np.nan, 2.0])
    for route in (ad.jit(f), lambda v: f(ad.Tensor(v)), lambda v: ad.jvp(f, ad.Tensor(v), ad.Tensor(v))[0]):
        np.testing.assert_array_equal(route(x).asnumpy(), [0.0, 2.0])


@pytest.mark.parametrize("right", [False, True])
@pytest.mark.parametrize("bins", [np.array([1.0, 2.0, 3.0]), np.array([3.0, 2.0, 1.0])])
def test_digitize_puts_an_edge_where_numpy_does(bins: np.ndarray, right: bool) -> None:
    x = np.array([0.0, 1.0, 2.0, 2.5, 3.0, 4.0])
    expected = np.digitize(x, bins, right)
    for f in (
        ad.jit(lambda v, b: np.digitize(v, b, right)),
        lambda v, b: ad.vmap(lambda w: np.digitize(w, b, right))(v),
    ):
        np.testing.assert_array_equal(f(x, bins).asnumpy(), expected)

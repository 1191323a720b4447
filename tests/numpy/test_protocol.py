"""NumPy's and SciPy's own functions on Tensors: what they compute, and what is differentiated or refused."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
import scipy.optimize
import scipy.special

import adjoint as ad
from adjoint.core.errors import CutGradientError
from like_numpy import POINT, check_gradient, differences

# ---------------------------------------------------------------- code that never heard of us


@pytest.mark.parametrize("kind", [np.asarray, ad.Tensor])
def test_rosen(kind: Any) -> None:
    x = kind(POINT)
    np.testing.assert_allclose(ad.grad(scipy.optimize.rosen)(x).asnumpy(), scipy.optimize.rosen_der(POINT))
    np.testing.assert_allclose(ad.hessian(scipy.optimize.rosen)(x).asnumpy(), scipy.optimize.rosen_hess(POINT))
    tangent = ad.jvp(scipy.optimize.rosen, x, kind(np.ones(5)))[1]
    np.testing.assert_allclose(tangent.asnumpy(), scipy.optimize.rosen_der(POINT).sum())


def test_rosen_in_an_optimiser() -> None:
    slope = ad.grad(scipy.optimize.rosen)
    found = scipy.optimize.minimize(
        scipy.optimize.rosen, POINT, jac=lambda x: slope(x).asnumpy(), method="BFGS", tol=1e-10
    )
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
    check_gradient(f)


def test_second_order_through_numpy() -> None:
    got = ad.hessian(softmax_entropy)(POINT).asnumpy()
    expected = np.array([differences(lambda x, i=i: ad.grad(softmax_entropy)(x).asnumpy()[i], POINT) for i in range(5)])
    np.testing.assert_allclose(got, expected, rtol=1e-5, atol=1e-7)


def test_functions_that_are_not_in_the_table_are_followed_by_elements() -> None:
    check_gradient(lambda x: np.apply_over_axes(np.sum, np.outer(x, x), [0, 1]).sum())
    check_gradient(lambda x: np.polynomial.chebyshev.chebval(x, [1.0, 2.0, 3.0]).sum())
    check_gradient(lambda x: np.vectorize(lambda v: v * v)(x).sum())


# ---------------------------------------------------------------- conversions


def test_asarray_keeps_the_gradient() -> None:
    check_gradient(lambda x: (np.asarray(x) ** 2).sum())
    check_gradient(lambda x: np.sum(np.exp(np.asanyarray(x)[1:] - np.array(x)[:-1])))


def test_asarray_of_floats() -> None:
    check_gradient(lambda x: (np.asarray(x, float) ** 2).sum())
    with pytest.raises(CutGradientError, match="NumPy array of float64 would cut its gradient"):
        ad.grad(lambda x: np.ascontiguousarray(x, float).sum())(POINT)


def test_integers_of_a_traced_tensor() -> None:
    """`np.int64(x)` has no derivative, as `x.astype(int)` and `int(x)`; where the numbers are not known it is refused."""
    x = np.array([0.5, 2.5, 1.5])
    for f in (lambda x: np.sum(x[np.int64(x)] * x), lambda x: np.sum(x[np.asarray(x, dtype=int)] * x)):
        np.testing.assert_array_equal(ad.grad(f)(x), [1.0, 3.0, 5.0])
        np.testing.assert_array_equal(ad.jvp(f, x, np.ones(3))[1], 9.0)
        with pytest.raises(ad.BatchedError):
            ad.vmap(f)(x[None])
        with pytest.raises(ad.NeedsNumberError):
            ad.jit(f)(x)


def test_writing_into_a_numpy_array_is_refused() -> None:
    def add_in_place(x: Any) -> Any:
        a = np.zeros(5)
        a += x
        return a.sum()

    with pytest.raises(
        CutGradientError, match=r"(?s)`array \+= tensor`.*make the array a Tensor first, with adjoint.numpy.zeros"
    ):
        ad.grad(add_in_place)(POINT)
    with pytest.raises(CutGradientError, match=r"adjoint\.numpy\.zeros"):
        ad.grad(lambda x: np.add.at(np.zeros(5), [0], x[:1]))(POINT)


def test_an_element_of_a_numpy_array_cannot_be_tracked() -> None:
    def assign(x: Any) -> Any:
        a = np.zeros(5)
        a[0] = x[0]
        return a.sum()

    with pytest.raises((ValueError, CutGradientError)) as caught:  # NumPy hides our error behind one of its own
        ad.grad(assign)(POINT)
    assert isinstance(caught.value, CutGradientError) or isinstance(caught.value.__cause__, CutGradientError)


def test_untracked_tensors_may_be_written_into_arrays() -> None:
    a = np.zeros(5)
    a += ad.Tensor(POINT)
    np.copyto(a[:2], ad.Tensor([7.0, 8.0]))
    np.add.at(a, [4, 4], ad.Tensor([1.0, 1.0]))
    assert type(a) is np.ndarray
    np.testing.assert_allclose(a, [7.0, 8.0, 1.3, 1.1, 2.7])


# ---------------------------------------------------------------- what has no derivative


def test_an_unknown_function_is_refused_by_name() -> None:
    with pytest.raises(CutGradientError, match=r"numpy.roots has no derivative in adjoint"):
        ad.grad(lambda x: np.roots(x).sum())(POINT)
    with pytest.raises(CutGradientError, match="the ufunc spacing has no derivative in adjoint"):
        ad.grad(lambda x: np.spacing(x).sum())(POINT)
    with pytest.raises(
        CutGradientError, match=r"numpy.multiply.at cannot be differentiated; add.at and subtract.at can"
    ):
        ad.grad(lambda x: np.multiply.at(x, [0], 2.0))(POINT)


def test_errors_name_the_users_line() -> None:
    space = {"np": np}
    exec(compile("def f(x):\n    return np.spacing(x).sum()", "model.py", "exec"), space)
    with pytest.raises(CutGradientError, match=r"called at model\.py:2"):
        ad.grad(space["f"])(POINT)


def test_an_unknown_function_computes_on_plain_tensors() -> None:
    assert sorted(np.linalg.eigvals(ad.Tensor(np.diag(POINT))).asnumpy().real) == sorted(POINT)
    counts, edges = np.histogram(ad.Tensor(POINT), bins=2)
    assert counts.tolist() == [2, 3] and isinstance(edges, ad.Tensor)
    u, s, vh = np.linalg.svd(ad.Tensor(np.eye(2)))
    assert s.tolist() == [1.0, 1.0] and u.shape == vh.shape


def test_text_and_questions_inside_a_gradient() -> None:
    def f(x: Any) -> Any:
        assert np.array2string(x) == np.array2string(POINT) and np.shape(x) == (5,) and np.ndim(x) == 1
        assert np.allclose(x, POINT) and np.iscomplexobj(x) is False and np.result_type(x, np.float32) == np.float64
        return x[np.argmax(x)] + x[np.nonzero(x > 1.2)][0]

    np.testing.assert_allclose(ad.grad(f)(POINT).asnumpy(), [0, 0, 2, 0, 0])


def test_strangers_are_left_to_themselves() -> None:
    class Stranger:
        def __array_ufunc__(self, *args: Any, **options: Any) -> str:
            return "mine"

    assert np.add(ad.Tensor(POINT), Stranger()) == "mine"
    with pytest.raises(TypeError):
        np.add(ad.Tensor(POINT), object())


def test_a_gradient_tape_records_numpy_calls() -> None:
    x = ad.Tensor(POINT)
    with ad.GradientTape() as tape:
        y = np.sum(np.hypot(x, 1.0)) + np.linalg.norm(x)
    expected = POINT / np.hypot(POINT, 1) + POINT / np.linalg.norm(POINT)
    np.testing.assert_allclose(tape.gradient(y, x).asnumpy(), expected)


def test_parameters_are_tensors_to_numpy() -> None:
    w = ad.Parameter(ad.Tensor(POINT), name="w")
    np.testing.assert_allclose(ad.grad(lambda: np.sum(np.sin(w) ** 2), None, weights=w)().asnumpy(), np.sin(2 * POINT))


def test_half_precision_is_kept() -> None:
    h = ad.Tensor(np.ones(3, np.float16))
    assert {np.sum(h).dtype, np.hypot(h, 1.0).dtype, np.sin(h).dtype} == {np.dtype(np.float16)}

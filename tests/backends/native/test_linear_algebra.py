"""Linear algebra in machine code: values and derivatives as the interpreter has them, in loops, and the same errors."""

from __future__ import annotations

import sys
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from numpy.typing import NDArray

import adjoint as ad
from adjoint import ops
from adjoint.backends.native.kernels import square_matrices
from adjoint.ops.functional import linalg

sys.path.insert(0, str(Path(__file__).parents[3] / "examples"))

Array = NDArray[Any]
DTYPES = [np.float32, np.float64]
LEADS: list[tuple[int, ...]] = [(), (3,), (2, 1)]


def drawn(*shape: int, dtype: Any = np.float64, seed: int = 0) -> Array:
    return np.random.default_rng((seed, *shape)).normal(size=shape).astype(dtype)


def regular(*shape: int, dtype: Any = np.float64) -> Array:
    x = drawn(*shape)
    return (x + 2 * np.sqrt(shape[-1]) * np.eye(shape[-1])).astype(dtype)


def definite(*shape: int, dtype: Any = np.float64) -> Array:
    x = drawn(*shape)
    return (x @ np.swapaxes(x, -1, -2) / shape[-1] + np.eye(shape[-1])).astype(dtype)


def arrays(x: Any) -> list[Array]:
    return [t.asnumpy() for t in (x if isinstance(x, (tuple, list)) else (x,))]


def native(f: Any, *xs: Any) -> list[Array]:
    """What compiled code gives, nothing of which the interpreter has done."""
    run, given = ad.jit(f), [ad.Tensor(x) for x in xs]
    found = arrays(run(*given))
    assert "in the interpreter" not in run.explain(*given)
    return found


def same(found: Any, wanted: Any, factor: float = 1.0) -> None:
    for x, y in zip(found, wanted, strict=True):
        y = np.asarray(y)
        assert (x.shape, x.dtype) == (y.shape, y.dtype)
        np.testing.assert_allclose(x, y, 0, 400 * factor * np.finfo(x.dtype).eps * max(np.abs(y).max(initial=0), 1e-30))


# ---------------------------------------------------------------- values


@pytest.mark.parametrize("dtype", DTYPES)
@pytest.mark.parametrize("n", [1, 2, 3, 5, 9, 17, 40])
def test_square_matrices(n: int, dtype: Any) -> None:
    lead = LEADS[n % 3]
    a, s = regular(*lead, n, n, dtype=dtype), definite(*lead, n, n, dtype=dtype)
    b, c = drawn(*lead, n, 1, dtype=dtype), drawn(*lead, n, 6, dtype=dtype)

    def f(a: Any, s: Any, b: Any, c: Any) -> Any:
        return [
            linalg.cholesky(s),
            linalg.inv(a),
            linalg.det(a / (2 * n**0.5)),
            *linalg.slogdet(a),
            linalg.solve(a, b),
            linalg.solve(a, c),
        ]

    wanted = [np.linalg.cholesky(s), np.linalg.inv(a), np.linalg.det(a / dtype(2 * n**0.5)), *np.linalg.slogdet(a)]
    same(native(f, a, s, b, c), [*wanted, np.linalg.solve(a, b), np.linalg.solve(a, c)], max(n / 10, 1))


@pytest.mark.parametrize("n", [1, 3, 6, 17])
def test_triangles(n: int) -> None:
    dtype, lead = DTYPES[n % 2], LEADS[n % 3]
    a, b, c = regular(*lead, n, n, dtype=dtype), drawn(*lead, n, 1, dtype=dtype), drawn(*lead, n, 5, dtype=dtype)
    a = a / np.float32(n)
    kinds = [(lower, way, unit) for lower in (True, False) for way in (0, 1) for unit in (True, False)]

    def f(a: Any, b: Any, c: Any) -> Any:
        return [linalg.solve_triangular(a, x, way, lower, unit) for lower, way, unit in kinds for x in (b, c)]

    def reference(lower: bool, way: int, unit: bool, right: Array) -> Array:
        x = np.tril(a, -unit) if lower else np.triu(a, unit)
        x = x + np.eye(n, dtype=dtype) if unit else x
        return np.linalg.solve(np.swapaxes(x, -1, -2) if way else x, right)

    wanted = [reference(*kind, x) for kind in kinds for x in (b, c)]
    same(native(f, a, b, c), wanted, 1e3 if n > 6 else 1)


@pytest.mark.parametrize("dtype", DTYPES)
@pytest.mark.parametrize(("m", "n"), [(1, 1), (5, 3), (3, 5), (17, 4), (40, 40)])
def test_orthogonal_factors(m: int, n: int, dtype: Any) -> None:
    """Vectors are compared by what they make: their signs are free."""
    lead = LEADS[m % 3]
    x, s = drawn(*lead, m, n, dtype=dtype), definite(*lead, m, m, dtype=dtype)

    def f(x: Any, s: Any) -> Any:
        w, v = linalg.eigh(s)
        u, t, vh = linalg.svd(x, full_matrices=False)
        q, r = linalg.qr(x if m >= n else ops.swapaxes(x, -1, -2))
        rebuilt = [ops.matmul(v * w[..., None, :], ops.swapaxes(v, -1, -2)), ops.matmul(u * t[..., None, :], vh)]
        return [w, linalg.eigvalsh(s), t, linalg.svdvals(x), linalg.pinv(x), *rebuilt, ops.matmul(q, r), ops.abs(r)]

    tall = x if m >= n else np.swapaxes(x, -1, -2)
    values, singular = np.linalg.eigvalsh(s), np.linalg.svd(x, compute_uv=False)
    inverse = np.linalg.pinv(x, max(m, n) * np.finfo(dtype).eps)
    wanted = [values, values, singular, singular, inverse, s, x, tall, abs(np.linalg.qr(tall)[1])]
    same(native(f, x, s), wanted, 100 if m == n == 40 else 3)


def test_matrices_that_broadcast_and_dtypes_that_differ() -> None:
    a, b = regular(3, 4, 4), drawn(2, 1, 4, 2)
    same(native(linalg.solve, a, b), [np.linalg.solve(a, b)])
    same(native(linalg.solve, a[0], b), [np.linalg.solve(a[0], b)])
    single, whole = regular(20, 20).astype(np.float32), np.arange(20 * 3.0).reshape(20, 3)
    lower = np.linalg.solve(np.tril(single.astype(float)), whole)
    same(native(lambda a, b: linalg.solve_triangular(a, b, lower=True), single, whole), [lower], 1e3)
    integers: Array = np.array([[2, 1], [1, 3]])
    same(native(lambda x: [linalg.inv(x), linalg.det(x)], integers), [np.linalg.inv(integers), np.linalg.det(integers)])


def test_inputs_that_are_not_contiguous_and_empty_ones() -> None:
    a = regular(4, 4)
    for x in (a.T, a[::-1, ::-1], np.broadcast_to(a, (3, 4, 4))):
        same(arrays(ad.jit(linalg.inv)(x)), [np.linalg.inv(x)])
    same(native(lambda x: linalg.inv(ops.swapaxes(x, -1, -2)), a), [np.linalg.inv(a.T)])
    for shape in [(0, 0), (0, 3, 3)]:
        x = np.ones(shape)
        same(arrays(ad.jit(lambda x: [linalg.inv(x), linalg.det(x)])(x)), [np.linalg.inv(x), np.linalg.det(x)])


def test_a_large_batch_is_shared_by_the_threads() -> None:
    a, b = regular(3000, 4, 4), drawn(3000, 4, 2)
    same(native(linalg.solve, a, b), [np.linalg.solve(a, b)])


# ---------------------------------------------------------------- derivatives


def energy(x: Any) -> Any:
    """Of all that has code for square matrices."""
    s = ops.matmul(x, ops.swapaxes(x, -1, -2)) + np.eye(x.shape[-1])
    factor = linalg.cholesky(s)
    y = linalg.solve_triangular(factor, linalg.solve(s, x), lower=True)
    q, r = linalg.qr(x)
    total = ops.sum(y**2) + linalg.slogdet(s)[1] + linalg.det(x) + ops.sum(linalg.inv(s)) + ops.sum(ops.abs(r))
    return total + ops.sum(linalg.eigvalsh(s) ** 2) + ops.sum(linalg.svdvals(x)) + ops.sum(q[0] ** 2)


def brief(x: Any) -> Any:
    s = ops.matmul(x, ops.swapaxes(x, -1, -2)) + np.eye(3)
    return linalg.slogdet(s)[1] + ops.sum(linalg.solve(s, x)) + ops.sum(linalg.cholesky(s))


def of_vectors(x: Any) -> Any:
    s = x + ops.swapaxes(x, -1, -2)
    w, v = linalg.eigh(s)
    u, t, vh = linalg.svd(x)
    return ops.sum(v[0] ** 2 * w) + ops.sum(u[0] * t * vh[:, 0]) + ops.sum(linalg.pinv(x) ** 3)


@pytest.mark.parametrize("n", [1, 3])
def test_derivatives_are_those_of_the_interpreter(n: int) -> None:
    x = regular(n, n) / 2 + np.diag(np.arange(n))
    for f in (energy, of_vectors):
        for transformed in (ad.grad(f), lambda x, f=f: ad.jvp(f, x, ops.sin(x))[1]):
            found, wanted = native(transformed, x), arrays(transformed(ad.Tensor(x)))
            same(found, wanted, 1e3)


def test_second_derivatives_and_batches() -> None:
    x = regular(3, 3) / 2 + np.diag(np.arange(3.0))
    same(native(ad.hessian(brief), x), arrays(ad.hessian(brief)(ad.Tensor(x))), 1e4)
    xs = np.stack([x, x.T, 2 * x])
    wanted = [np.stack([energy(ad.Tensor(x)).asnumpy() for x in xs])]
    same(native(ad.vmap(energy), xs), wanted, 1e3)


@pytest.mark.parametrize("n", [1, 2, 3, 4, 6])
def test_cofactors_at_any_matrix(n: int) -> None:
    """Also of singular ones, of small ones in every order."""
    for x in (drawn(2, n, n), np.ones((n, n)), np.zeros((n, n))):
        run = ad.grad(lambda x: ops.sum(linalg.det(x)))
        np.testing.assert_allclose(native(run, x), arrays(run(ad.Tensor(x))), 1e-11, 1e-12)
    if n <= 3:
        x = drawn(n, n)
        third = ad.jacfwd(ad.hessian(linalg.det))
        same(native(third, x), arrays(third(ad.Tensor(x))), 10)


# ---------------------------------------------------------------- programs


def joints(angles: Any) -> Any:
    """The end of an arm with three joints."""
    total = ops.cumsum(angles, 0)
    return ops.stack([ops.sum(ops.cos(total)), ops.sum(ops.sin(total))])


def inverse_kinematics(angles: Any, target: Any) -> Any:
    """Levenberg and Marquardt's steps, until the arm is there."""
    steps = 0
    while ops.sum((joints(angles) - target) ** 2) > 1e-16:
        slope = ad.jacfwd(joints)(angles)
        normal = ops.matmul(slope.T, slope) + 1e-6 * np.eye(3)
        angles = angles - linalg.solve(normal, ops.matmul(slope.T, joints(angles) - target))
        steps = steps + 1
    return angles, steps


def filtered(x: Any, n: Any) -> Any:
    """A filter whose covariance is factorised in every iteration, a known or unknown number of them."""
    state, spread, surprise = x[0], np.eye(2) * 1.0, 0.0
    for _ in range(n):
        spread = ops.matmul(ops.matmul(x, spread), x.T) + np.eye(2)
        factor = linalg.cholesky(spread)
        white = linalg.solve_triangular(factor, state, lower=True)
        surprise = surprise + ops.sum(white**2) + 2 * ops.sum(ops.log(ops.diagonal(factor)))
        state = linalg.solve(spread, state)
    return surprise


def test_inverse_kinematics_in_a_loop() -> None:
    start, target = np.array([0.1, 0.2, 0.3]), np.array([1.0, 2.0])
    angles, steps = native(inverse_kinematics, start, target)
    np.testing.assert_allclose(joints(ad.Tensor(angles)).asnumpy(), target, atol=1e-7)
    assert 2 < steps < 20


def test_a_filter_in_loops_of_known_and_unknown_length() -> None:
    x = regular(2, 2) / 4
    for f in (filtered, ad.grad(filtered)):
        same(native(f, x, 5), arrays(f(ad.Tensor(x), 5)), 10)
        same(native(lambda x, f=f: f(x, 5), x), arrays(f(ad.Tensor(x), 5)), 10)


def test_in_a_branch() -> None:
    def f(x: Any) -> Any:
        if ops.sum(x) > 0:
            return ops.sum(linalg.inv(x))
        return ops.sum(linalg.cholesky(-x))

    x = definite(3, 3)
    for y in (x, -x):
        same(native(ad.grad(f), y), arrays(ad.grad(f)(ad.Tensor(y))), 10)


def test_the_examples_are_machine_code() -> None:
    import gaussian_process
    import kalman

    _, seen = kalman.simulated(6)
    logs = np.log([0.1, 2.0])

    def surprise(logs: Any, seen: Any) -> Any:
        return kalman.filtered(logs, seen)[0]

    same(native(ad.grad(surprise), logs, seen), arrays(ad.grad(surprise)(ad.Tensor(logs), ad.Tensor(seen))), 100)
    t = np.linspace(0.0, 6.0, 20)
    gradient = ad.grad(gaussian_process.surprise)
    given = gaussian_process.START, t, np.sin(t)
    same(native(gradient, *given), arrays(gradient(*map(ad.Tensor, given))), 1e4)


# ---------------------------------------------------------------- failures

SINGULAR = np.array([[1.0, 2.0], [2.0, 4.0]])


def failing_loop(x: Any, n: Any) -> Any:
    for _ in range(n):
        x = x - 0.5 * np.eye(2)
        x = x + 0.0 * linalg.cholesky(x)  # the factor
    return x


def endless(x: Any) -> Any:
    while ops.sum(x) < 1e9:
        x = linalg.solve(x, x * 0.5)  # the system
    return x


@pytest.mark.parametrize(
    ("f", "given", "said", "line"),
    [
        (lambda x: linalg.inv(x), (SINGULAR,), "Singular matrix", "linalg.inv(x)"),
        (lambda x: linalg.solve(x, x), (SINGULAR,), "Singular matrix", "linalg.solve(x, x)"),
        (lambda x: linalg.cholesky(x), (SINGULAR - 1,), "not positive definite", "linalg.cholesky(x)"),
        (lambda x: linalg.solve_triangular(x, x), (np.tri(2) - np.eye(2),), "ingular", "solve_triangular(x, x)"),
        (failing_loop, (np.eye(2) * 1.4, 9), "not positive definite", "# the factor"),
        (endless, (SINGULAR,), "Singular matrix", "# the system"),
        (lambda x: linalg.inv(x), (np.zeros((260, 260)),), "Singular matrix", "linalg.inv(x)"),
        (lambda x: linalg.cholesky(x), (-np.eye(260),), "not positive definite", "linalg.cholesky(x)"),
        (lambda x: linalg.svdvals(x), (np.full((3, 3), np.nan),), "converge", "linalg.svdvals(x)"),
    ],
)
def test_failures_have_the_users_line(f: Any, given: tuple[Any, ...], said: str, line: str) -> None:
    run = ad.jit(f)
    with pytest.raises(np.linalg.LinAlgError, match=said) as caught:
        run(*map(ad.Tensor, given))
    assert line in str(caught.value)
    assert "in the interpreter" not in run.explain(*map(ad.Tensor, given))


def test_a_failure_where_inputs_are_overwritten() -> None:
    run = ad.jit(lambda x: linalg.inv(x) + 1.0, donate=("x",))
    with pytest.raises(np.linalg.LinAlgError, match="without `donate`"):
        run(ad.Tensor(SINGULAR.copy()))
    same(arrays(run(ad.Tensor(np.eye(2)))), [np.eye(2) + 1.0])


def test_what_is_singular_but_has_a_result() -> None:
    same(native(linalg.det, SINGULAR), [np.linalg.det(SINGULAR)])
    sign, log = native(lambda x: linalg.slogdet(x), SINGULAR)
    assert (sign, log) == (0.0, -np.inf)
    scaled = np.diag([1.0, 1e-30])  # far from singular, in its own units
    same(native(linalg.inv, scaled), [np.diag([1.0, 1e30])])


def test_numbers_that_are_none() -> None:
    x = np.array([[1.0, np.nan], [0.0, 1.0]])
    np.testing.assert_array_equal(np.isnan(native(linalg.inv, x)[0]), np.isnan(np.linalg.inv(x)))
    assert np.isnan(native(linalg.det, x)[0])


def test_both_ways_agree(monkeypatch: pytest.MonkeyPatch) -> None:
    """Matrices of other sizes by LAPACK, as large ones are."""
    monkeypatch.setattr(square_matrices, "LARGE", 1)
    for n in (1, 3, 40):
        test_square_matrices(n, DTYPES[n % 2])
    test_triangles(3)
    test_triangles(6)
    test_matrices_that_broadcast_and_dtypes_that_differ()
    test_what_is_singular_but_has_a_result()

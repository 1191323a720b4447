"""scipy.linalg, called as it is: SciPy's numbers, and derivatives against differences, in both modes."""

from __future__ import annotations

import numpy as np
import pytest
import scipy.linalg as sl

import adjoint as ad
from plain_scipy import agrees

RNG = np.random.default_rng(16)
A = RNG.normal(size=(3, 3)) + 3 * np.eye(3)
B = RNG.normal(size=(2, 2)) + 2 * np.eye(2)
Q = RNG.normal(size=(3, 2))
S = A @ A.T + np.eye(3)
Z = A + 0.3j * RNG.normal(size=(3, 3))
TALL, WIDE = RNG.normal(size=(4, 3)), RNG.normal(size=(3, 4))
BATCH = RNG.normal(size=(2, 3, 3)) + 3 * np.eye(3)
v = RNG.normal(size=3)
BAND = RNG.normal(size=(4, 5)) + np.array([[0], [0], [5], [0]])
HBAND = np.array([[0.0, 1.0, 0.5, 0.2], [4.0, 5.0, 6.0, 4.0]])
w = RNG.normal(size=(5, 2))


def sym(a):
    return a @ a.T + np.eye(3)


CASES = {
    "cholesky": (sl.cholesky, S),
    "cholesky_lower": (lambda a: sl.cholesky(a, lower=True), S),
    "cho_solve": (lambda a, b: sl.cho_solve(sl.cho_factor(sym(a)), b), A, v),
    "cho_solve_lower": (lambda a, b: sl.cho_solve(sl.cho_factor(sym(a), lower=True), b, check_finite=False), A, Q),
    "solve": (sl.solve, A, Q),
    "solve_line": (lambda a, b: sl.solve(a, b, transposed=True), A, v),
    "solve_pos": (lambda a, b: sl.solve(a, b, assume_a="pos"), S, v),
    "solve_sym": (lambda a, b: sl.solve(a, b, assume_a="sym", lower=True), S, v),
    "solve_complex": (sl.solve, Z, Q),
    "solve_batch": (sl.solve, BATCH, Q),
    "solve_triangular": (lambda a, b: sl.solve_triangular(a, b, lower=True), A, v),
    "solve_triangular_trans": (lambda a, b: sl.solve_triangular(a, b, trans="T", unit_diagonal=True), A, Q),
    "solve_banded": (lambda ab, b: sl.solve_banded((1, 2), ab, b), BAND, w),
    "solve_banded_line": (lambda ab, b: sl.solve_banded((1, 2), ab, b), BAND, w[:, 0]),
    "solveh_banded": (sl.solveh_banded, HBAND, w[:4]),
    "solveh_banded_lower": (lambda ab, b: sl.solveh_banded(ab, b, lower=True), HBAND[::-1, ::-1].copy(), w[:4, 0]),
    "solve_toeplitz": (lambda c, r, b: sl.solve_toeplitz((c, r), b), v + 3, v, v),
    "solve_circulant": (sl.solve_circulant, v + np.array([4, 0, 0]), v),
    "solve_sylvester": (sl.solve_sylvester, A, B, Q),
    "solve_sylvester_complex": (sl.solve_sylvester, Z, B + 0.1j, Q + 0j),
    "solve_continuous_lyapunov": (sl.solve_continuous_lyapunov, A, S),
    "solve_discrete_lyapunov": (sl.solve_discrete_lyapunov, 0.2 * A, S),
    "solve_discrete_lyapunov_bilinear": (lambda a, q: sl.solve_discrete_lyapunov(a, q, "bilinear"), 0.2 * A, S),
    "sqrtm": (sl.sqrtm, S),
    "sqrtm_general": (sl.sqrtm, A),
    "sqrtm_complex": (sl.sqrtm, Z),
    "logm": (sl.logm, S),
    "expm": (sl.expm, 0.3 * A),
    "expm_batch": (sl.expm, 0.3 * BATCH),
    "cosm": (sl.cosm, 0.3 * A),
    "sinm": (sl.sinm, 0.3 * A),
    "tanhm": (sl.tanhm, 0.3 * A),
    "polar": (sl.polar, A),
    "lu": (sl.lu, A[::-1].copy()),
    "lu_tall": (lambda a: sl.lu(a, permute_l=True), TALL),
    "lu_wide": (lambda a: sl.lu(a, p_indices=True), WIDE),
    "lu_factor": (sl.lu_factor, A),
    "lu_solve": (lambda a, b: sl.lu_solve(sl.lu_factor(a), b), A[::-1].copy(), v),
    "lu_solve_trans": (lambda a, b: sl.lu_solve(sl.lu_factor(a), b, trans=1), A[[2, 0, 1]], Q),
    "qr": (sl.qr, A),
    "qr_economic": (lambda a: sl.qr(a, mode="economic"), TALL),
    "qr_r": (lambda a: sl.qr(a, mode="r"), TALL),
    "qr_wide": (sl.qr, WIDE),
    "svd": (lambda a: sl.svd(a, full_matrices=False), TALL),
    "svd_values": (lambda a: sl.svd(a, compute_uv=False), WIDE),
    "svdvals": (sl.svdvals, TALL),
    "eigh": (sl.eigh, S),
    "eigh_upper": (lambda a: sl.eigh(a, lower=False, eigvals_only=True), S),
    "eigh_subset": (lambda a: sl.eigh(a, subset_by_index=[1, 2], eigvals_only=True), S),
    "eigvalsh": (sl.eigvalsh, S),
    "eigvals": (sl.eigvals, A),
    "eigvals_b": (lambda a, b: sl.eigvals(a, b), A, S),
    "inv": (sl.inv, A),
    "pinv": (sl.pinv, TALL),
    "det": (sl.det, BATCH),
    "norm": (sl.norm, TALL),
    "norm_one": (lambda a: sl.norm(a, 1, axis=0), TALL),
    "lstsq": (lambda a, b: sl.lstsq(a, b)[:2], TALL, RNG.normal(size=4)),
    "block_diag": (lambda a, b: sl.block_diag(a, 2.0, b), A, Q),
    "toeplitz": (sl.toeplitz, v, w[:, 0]),
    "toeplitz_one": (sl.toeplitz, v),
    "hankel": (sl.hankel, v, w[:, 0]),
    "circulant": (sl.circulant, v),
    "khatri_rao": (sl.khatri_rao, A, TALL),
    "convolution_matrix": (lambda a: sl.convolution_matrix(a, 4, mode="same"), v),
    "orthogonal_procrustes": (sl.orthogonal_procrustes, TALL, TALL[::-1].copy()),
}  # fmt: skip


@pytest.mark.parametrize("name", CASES)
def test_functions(name):
    f, *args = CASES[name]
    agrees(f, *args)


@pytest.mark.parametrize("kind", [1, 2, 3])
def test_generalised_eigenvalues(kind):
    def f(a, b):
        values, vectors = sl.eigh(sym(a), sym(b), type=kind)
        return values, abs(vectors)

    agrees(f, A, np.eye(3) + 0.2 * A)


def test_eigenvectors_do_not_depend_on_their_phase():
    for a in (A, Z):
        agrees(lambda a: abs(sl.eig(a)[1]), a)
        agrees(lambda a: abs(np.linalg.eig(a)[1]), a)
    real = np.array([[2.0, 1.0], [0.5, -1.0]])
    assert ad.vjp(np.linalg.eig, real)[0][0].dtype == float
    agrees(np.linalg.eig, real)
    agrees(np.linalg.eigvals, Z)
    assert ad.jit(np.linalg.eigvals)(real).dtype == complex


def test_second_order():
    agrees(lambda a, b: sl.solve_sylvester(a, b, Q).sum(), A, B, order=2)
    agrees(lambda a: sl.sqrtm(a).sum(), S, order=2)
    agrees(lambda a: sl.lu(a)[2].sum(), A, order=2)
    agrees(lambda ab: sl.solve_banded((1, 2), ab, w).sum(), BAND, order=2)


def test_compiled_and_batched():
    """One compiled function of many of them: gradients as in dynamic mode; and examples alone as in a batch."""

    def f(a, b, ab):
        s = sym(a)
        c, low = sl.cho_factor(s)
        x = sl.cho_solve((c, low), b) + sl.lu_solve(sl.lu_factor(a), b) + sl.solve_sylvester(s, B, b)
        y = sl.sqrtm(s) + sl.cholesky(s, lower=True) + sl.expm(0.1 * a) + sl.lu(a)[1] + sl.logm(s)
        spectrum = abs(sl.eigvals(a)).sum() + sl.eigh(s, eigvals_only=True)[0]
        return (x**2).sum() + (y**2).sum() + spectrum + sl.solve_banded((1, 2), ab, w).sum() + sl.norm(sl.qr(a)[1])

    arrays = (A, Q, BAND)
    eager, compiled = ad.grad(f, (0, 1, 2))(*arrays), ad.jit(ad.grad(f, (0, 1, 2)))(*arrays)
    for g, want in zip(compiled, eager, strict=True):
        assert np.allclose(g, want, rtol=1e-9)
    batched = ad.vmap(ad.grad(f))(BATCH, np.stack([Q, 2 * Q]), np.stack([BAND, BAND + 0.1]))
    for i in range(2):
        assert np.allclose(batched[i], ad.grad(f)(BATCH[i], (1 + i) * Q, BAND + 0.1 * i), rtol=1e-8)


def test_complex_roots_of_real_matrices():
    """As in SciPy the dtype depends on the values, on the principal branch."""
    negative = np.array([[-1.0, 0.3, 0.2], [0.1, 2.0, 0.3], [0.2, -0.4, 1.5]])
    for dtype in (np.float64, np.float32):
        y = ad.vjp(sl.sqrtm, negative.astype(dtype))[0]
        assert y.dtype == np.result_type(dtype, np.complex64)
        assert np.allclose(y.asnumpy(), sl.sqrtm(negative), atol=1e-6)
    assert ad.vjp(sl.sqrtm, S)[0].dtype == np.float64
    agrees(sl.sqrtm, negative, order=2)


def test_what_is_refused():
    with pytest.raises(ad.ArgumentTypeError, match="subset_by_value"):
        ad.grad(lambda a: sl.eigh(a, subset_by_value=[0, 1])[0].sum())(S)
    with pytest.raises(ad.ArgumentTypeError, match="pivoting"):
        ad.grad(lambda a: sl.qr(a, pivoting=True)[1].sum())(S)
    with pytest.raises(ad.ArgumentError, match="complex first"):
        ad.jit(lambda a: sl.sqrtm(a).real.sum())(-np.eye(2) + 0.1 * np.diag([1.0, 2.0]))
    with pytest.raises(ad.CutGradientError, match="scipy.linalg.schur"):
        ad.grad(lambda a: sl.schur(a)[0].sum())(S)


def test_what_must_be_positive_definite():
    for f, bad in [
        (lambda a: sl.solve(a, np.ones(2), assume_a="pos"), -np.eye(2)),
        (lambda a: sl.solve(a, np.eye(2), assume_a="positive definite"), np.diag([1.0, -1.0])),
        (lambda ab: sl.solveh_banded(ab, np.ones(2)), np.array([[0.0, 2.0], [1.0, 1.0]])),
    ]:
        with pytest.raises(np.linalg.LinAlgError):
            f(bad)
        for run in (ad.jit(f), lambda a, f=f: ad.jvp(f, a, a), lambda a, f=f: ad.vmap(f)(a[None])):
            with pytest.raises(np.linalg.LinAlgError, match="positive definite"):
                run(bad)
    for kw in ({}, {"lower": True}, {"transposed": True}):
        agrees(lambda a, kw=kw: sl.solve(a, v, assume_a="pos", **kw), S)


@pytest.mark.parametrize("side", ["right", "left"])
@pytest.mark.parametrize(
    "base", [np.eye(3), 2.5 * np.linalg.qr(np.arange(9.0).reshape(3, 3) ** 2 - 7)[0], np.eye(4, 2)]
)
def test_polar_factors_where_singular_values_coincide(base, side):
    """Of the identity, of rotations: the derivatives of both orders, by differences."""
    weights = np.sin(np.arange(base.size, dtype=float)).reshape(base.shape)

    def f(t):
        u, p = sl.polar(base + t * weights, side)
        return np.sum(weights**2 * u) + np.sum(p[0] * p[-1])

    first, second = ((f(1e-4) - f(-1e-4)) / 2e-4, (f(1e-3) - 2 * f(0.0) + f(-1e-3)) / 1e-6)
    for mode in (lambda g: g, ad.jit):
        np.testing.assert_allclose(mode(ad.grad(f))(0.0), first, rtol=1e-6, atol=1e-8)
        np.testing.assert_allclose(mode(ad.hessian(f))(0.0), second, rtol=1e-4, atol=1e-5)

"""scipy.sparse with Tensors: products that do not densify, and systems, against SciPy and differences, in both modes."""

from __future__ import annotations

import numpy as np
import pytest
import scipy.sparse as sp
import scipy.sparse.linalg as sla

import adjoint as ad
from plain_scipy import agrees

RNG = np.random.default_rng(3)
A = sp.random(4, 3, 0.6, random_state=0, format="csr")
x, w, X = RNG.normal(size=3), RNG.normal(size=4), RNG.normal(size=(3, 2))
S = sp.csc_matrix(np.diag([3.0, 4.0, 5.0]) + 0.5 * np.eye(3, k=1))


@pytest.mark.parametrize("kind", ["csr", "csc", "coo", "dia", "bsr", "lil", "dok"])
@pytest.mark.parametrize("made", [sp.coo_matrix, sp.coo_array], ids=["matrix", "array"])
def test_products_of_every_format(kind, made):
    m = made(A).asformat(kind)
    calls = [(lambda v: m @ v, x), (lambda v: m @ v, X), (m.dot, x), (lambda v: m.T @ v, w), (lambda v: v @ m, w)]
    for f, v in [*calls, (lambda v: v @ m, X.T.copy() @ A.T.toarray()), (lambda v: v - m @ v[:3], w)]:
        assert np.allclose(ad.vjp(f, v)[0], f(v))
    dense = A.toarray()
    assert np.allclose(ad.grad(lambda v: ((m @ v) ** 2).sum())(x), 2 * dense.T @ (dense @ x))
    assert np.allclose(ad.grad(lambda v: ((v @ m) ** 3).sum())(w), dense @ (3 * (w @ dense) ** 2))


def test_products_do_not_densify():
    n = 200_000
    laplace = sp.diags_array([1.0, -2.0, 1.0], offsets=[-1, 0, 1], shape=(n, n))
    v = np.ones(n)
    assert np.allclose(ad.grad(lambda v: ((laplace @ v) ** 2).sum())(v), 2 * (laplace.T @ (laplace @ v)))


def test_systems():
    agrees(lambda b: sla.spsolve(S, b), x)
    agrees(lambda b: sla.spsolve(S, b), X)
    agrees(lambda b: sla.gmres(S, b, rtol=1e-12)[0], x)
    agrees(lambda b: sla.cg(S @ S.T, b, rtol=1e-12)[0], x)
    elements = S.tocoo()
    ad.check_grads(lambda d, b: ad.ops.solve_sparse(d, elements.row, elements.col, b), elements.data, x)


def test_compiled_and_batched():
    def f(v):
        return ((A @ v) ** 2).sum() + sla.spsolve(S, v).sum() + (v @ S).sum() + (A.T.dot(A @ v)).sum()

    assert np.allclose(ad.jit(ad.grad(f))(x), ad.grad(f)(x))
    assert np.allclose(ad.vmap(ad.grad(f))(np.stack([x, 2 * x])), [ad.grad(f)(x), ad.grad(f)(2 * x)])


def test_what_is_refused():
    with pytest.raises(ad.CutGradientError, match="elements of a sparse matrix times a Tensor"):
        ad.grad(lambda c: (A * c).sum())(2.0)
    with pytest.raises(ad.ArgumentTypeError, match="toarray"):
        ad.grad(lambda c: (c * A).sum())(2.0)
    with pytest.raises(ad.CutGradientError, match="scipy.sparse.linalg.expm_multiply"):
        ad.grad(lambda v: sla.expm_multiply(S, v).sum())(x)
    with pytest.raises(ad.ShapeError, match="cannot be multiplied"):
        ad.grad(lambda v: (A @ v).sum())(w)


def test_matrices_that_are_traced_and_operators_are_refused_by_name():
    for transform in (ad.grad, ad.jit):
        with pytest.raises(ad.CutGradientError, match=r"scipy.sparse.linalg.spsolve: the matrix must be a constant"):
            transform(lambda m: sla.spsolve(m, np.ones(3)).sum())(np.eye(3))
        with pytest.raises(ad.CutGradientError, match=r"scipy.sparse.linalg.LinearOperator.__matmul__ cannot"):
            transform(lambda x: (sla.aslinearoperator(np.eye(3)) @ x).sum())(np.ones(3))


def test_a_right_side_of_one_column_is_a_vector():
    column = RNG.normal(size=(3, 1))
    for solve in (sla.cg, sla.gmres, sla.bicg, sla.bicgstab, sla.minres):
        assert ad.vjp(lambda b, solve=solve: solve(S, b)[0], column)[0].shape == solve(S, column)[0].shape == (3,)
        with pytest.raises(ad.ShapeError, match="spsolve takes several"):
            ad.vjp(lambda b, solve=solve: solve(S, b)[0], X)
    for f in (ad.jit(lambda b: sla.spsolve(S, b)), lambda b: ad.vjp(lambda b: sla.spsolve(S, b), b)[0]):
        assert f(column).shape == sla.spsolve(S, column).shape == (3,)


def test_sums_with_a_dense_matrix_on_either_side():
    W = RNG.normal(size=(4, 3))
    for kind in (sp.csr_array, sp.csr_matrix, sp.dia_array):
        m = kind(A)
        for f in (lambda W, m=m: W + m, lambda W, m=m: W - m, lambda W, m=m: m + W, lambda W, m=m: m - W):
            assert np.allclose(ad.vjp(f, W)[0], f(W)) and np.allclose(f(ad.Tensor(W)), f(W))
    assert np.allclose(ad.jit(lambda W: W - m + (W + m))(W), 2 * W)
    for f in (lambda W: W / m, lambda W: ad.ops.add(W, m), lambda W: W * sp.csr_array(A)):
        with pytest.raises(ad.AdjointError, match="toarray"):
            ad.jit(f)(W)

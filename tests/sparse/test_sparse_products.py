"""Sparse matrices: products, their derivatives in both modes, and the ways from and to SciPy."""

import numpy as np
import pytest
import scipy.sparse

import adjoint as ad
from adjoint import ops, sparse

RNG = np.random.default_rng(0)
DENSE = np.where(RNG.random((4, 3)) < 0.5, RNG.normal(size=(4, 3)), 0.0)
ROWS, COLS = np.nonzero(DENSE)
VALUES = DENSE[ROWS, COLS]
X, M = RNG.normal(size=3), RNG.normal(size=(3, 2))
FORMATS = {
    "coo": lambda v: sparse.coo(v, ROWS, COLS, (4, 3)),
    "csr": lambda v: sparse.csr(v, COLS, np.searchsorted(ROWS, np.arange(5)), (4, 3)),
}
USES = {
    "vector": (lambda A: A @ X, lambda D: D @ X),
    "matrix": (lambda A: A @ M, lambda D: D @ M),
    "vector first": (lambda A: M[:, 0] @ A.T, lambda D: M[:, 0] @ D.T),
    "matrix first": (lambda A: RNG_LEFT @ A, lambda D: RNG_LEFT @ D),
    "transposed": (lambda A: A.T @ X_LEFT, lambda D: D.T @ X_LEFT),
    "dense": (lambda A: A.todense(), lambda D: D),
    "scaled": (lambda A: (-2.0 * A / 3.0).todense(), lambda D: -2.0 * D / 3.0),
    "elements": (lambda A: (A * (DENSE + 1)).todense(), lambda D: D * (DENSE + 1)),
    "sum with sparse": (lambda A: (A + A - A * 0.5) @ X, lambda D: (1.5 * D) @ X),
    "sum with dense": (lambda A: 1.0 - (A + np.ones((4, 3))), lambda D: 1.0 - (D + 1)),
    "sums": (
        lambda A: ops.concat([A.sum(0), A.sum(1), A.sum().reshape(1)]),
        lambda D: np.hstack([D.sum(0), D.sum(1), D.sum()]),
    ),
    "Tensor first": (lambda A: ad.Tensor(X_LEFT) @ A, lambda D: X_LEFT @ D),
    "Tensor times": (lambda A: (ad.Tensor(3.0) * A - A * ad.Tensor(1.0)).todense(), lambda D: 2.0 * D),
    "list": (lambda A: A @ [1.0, 2.0, 3.0], lambda D: D @ [1.0, 2.0, 3.0]),
}
RNG_LEFT, X_LEFT = RNG.normal(size=(2, 4)), RNG.normal(size=4)


@pytest.mark.parametrize("kind", FORMATS)
@pytest.mark.parametrize("use", USES)
def test_values_and_derivatives(kind, use):
    ours, theirs = USES[use]
    y = ours(FORMATS[kind](VALUES))
    assert isinstance(y, ad.Tensor)
    np.testing.assert_allclose(y, theirs(DENSE), atol=1e-12)
    ad.check_grads(lambda v: ops.sum(ops.sin(ours(FORMATS[kind](v)))), VALUES)


@pytest.mark.parametrize("kind", FORMATS)
def test_a_matrix_is_an_input(kind):
    A = FORMATS[kind](VALUES)
    f = lambda A, x: ops.sum((A @ x) ** 2)
    by_matrix, by_vector = ad.grad(f, (0, 1))(A, X)
    dense = 2 * np.outer(DENSE @ X, X)
    assert type(by_matrix) is type(A) and by_matrix.shape == A.shape
    np.testing.assert_allclose(by_matrix.values, dense[ROWS, COLS])
    np.testing.assert_allclose(by_vector, 2 * DENSE.T @ DENSE @ X)
    compiled = ad.jit(ad.grad(f, (0, 1)))(A, X)
    np.testing.assert_allclose(compiled[0].values, dense[ROWS, COLS])
    np.testing.assert_allclose(compiled[1], by_vector)
    inside = ad.grad(lambda p: f(p["A"], p["x"]))({"A": A, "x": X})
    assert inside["A"].shape == A.shape
    np.testing.assert_allclose(inside["A"].values, by_matrix.values)
    np.testing.assert_allclose(ad.jit(lambda p: p[0] @ p[1])((A, X)), DENSE @ X)
    np.testing.assert_allclose(ad.grad(lambda s: ((s * A) @ X).sum())(2.0), (DENSE @ X).sum())
    np.testing.assert_allclose(ad.jvp(lambda x: A @ x, X, X)[1], DENSE @ X)
    np.testing.assert_allclose(ad.vmap(lambda x: A @ x)(M.T), (DENSE @ M).T)
    np.testing.assert_allclose(ad.hessian(lambda x: f(A, x))(X), 2 * DENSE.T @ DENSE)


@pytest.mark.parametrize("fmt", ["csr", "coo", "csc", "dia", "lil", "bsr"])
def test_from_scipy_and_back(fmt):
    theirs = scipy.sparse.csr_array(DENSE.astype(np.float32)).asformat(fmt)
    A = sparse.from_scipy(theirs)
    assert type(A) is (sparse.CSR if fmt == "csr" else sparse.COO) and A.dtype == np.float32
    np.testing.assert_array_equal(A.to_scipy().toarray(), theirs.toarray())
    np.testing.assert_array_equal(A.todense(), theirs.toarray())


def test_formats_and_places_named_twice():
    A = FORMATS["coo"](VALUES)
    assert repr(A) == f"COO(shape=(4, 3), dtype=float64, nnz={len(VALUES)})" and A.ndim == 2
    for B in (
        A.tocsr(),
        A.tocsr().tocoo(),
        A.T.tocsr().T,
        sparse.from_dense(DENSE),
        A.astype(np.float32).astype(np.float64),
    ):
        np.testing.assert_allclose(B.todense(), DENSE, rtol=1e-6)
    twice = sparse.coo([1.0, 2.0], [1, 1], [0, 0], (2, 2))
    np.testing.assert_allclose(twice @ [10.0, 1.0], [0.0, 30.0])
    np.testing.assert_allclose(
        ad.grad(lambda v: (sparse.coo(v, [1, 1], [0, 0], (2, 2)) @ [10.0, 1.0])[1])(np.ones(2)), [10, 10]
    )
    empty = sparse.coo(np.zeros(0), np.zeros(0, int), np.zeros(0, int), (2, 3))
    assert (empty @ X).tolist() == [0.0, 0.0] and empty.tocsr().nnz == 0


@pytest.mark.parametrize(("call", "words"), [
    (lambda: sparse.coo([1.0], [2], [0], (2, 2)), "the rows name 2, outside of an axis of size 2"),
    (lambda: sparse.coo([1.0], [0], [-1], (2, 2)), "the cols name -1"),
    (lambda: sparse.coo([1.0], [0, 1], [0], (2, 2)), "1 values, but rows of shape"),
    (lambda: sparse.coo([1.0], [0.5], [0], (2, 2)), "must be integers"),
    (lambda: sparse.coo([[1.0]], [0], [0], (2, 2)), "must be a vector"),
    (lambda: sparse.coo([1.0], [0], [0], (2,)), "two sizes"),
    (lambda: sparse.csr([1.0], [0], [0, 2], (1, 2)), "growing integers from 0"),
    (lambda: FORMATS["coo"](VALUES) @ np.ones(4), "must have the size 3"),
    (lambda: np.ones(3) @ FORMATS["csr"](VALUES), "must have the size 4"),
    (lambda: FORMATS["coo"](VALUES) @ FORMATS["coo"](VALUES), "make one dense"),
    (lambda: FORMATS["coo"](VALUES) * X, "the product is A @ x"),
    (lambda: sparse.from_scipy(DENSE), "not a ndarray"),
    (lambda: np.dot(FORMATS["coo"](VALUES), X), "numpy.dot of a sparse matrix: write A @ x"),
    (lambda: ops.sin(FORMATS["coo"](VALUES)), "a COO has operators and methods of its own"),
    (lambda: ops.matmul(FORMATS["coo"](VALUES), X), "a COO has operators and methods of its own"),
    (lambda: ops.matmul(ad.Tensor(X), FORMATS["csr"](VALUES)), "a CSR has operators and methods of its own"),
    (lambda: ops.sum(FORMATS["csr"](VALUES)), "a CSR has operators and methods of its own"),
    (lambda: ops.einsum("ij,j->i", FORMATS["csr"](VALUES), X), "a CSR has operators and methods of its own"),
    (lambda: ad.grad(lambda x: ops.mv(FORMATS["coo"](VALUES), x).sum())(X), "a COO has operators and methods of its own"),
    (lambda: ops.sin(scipy.sparse.csr_array(DENSE.T)), r"adjoint.sparse.from_scipy\(x\)"),
    (lambda: ad.grad(lambda A: A)(scipy.sparse.csr_array(DENSE)), r"adjoint.sparse.from_scipy\(x\)"),
])  # fmt: skip
def test_refusals(call, words):
    with pytest.raises(ad.AdjointError, match=words):
        call()


@pytest.mark.parametrize("f", [abs, lambda a: a**2, lambda a: a[0, 1], list])
def test_what_sparse_matrices_do_not_have_is_named(f):
    with pytest.raises(ad.ArgumentTypeError, match="of a sparse matrix is not supported: compute with its values"):
        f(ad.sparse.coo([2.0, 3.0], [0, 1], [1, 1], (2, 3)))

"""Linear algebra: values against NumPy and SciPy, derivatives against finite differences of those."""

import numpy as np
import pytest
import scipy.linalg

from adjoint.api.forward import jvp
from adjoint.api.grad import grad
from adjoint.core.errors import ArgumentError, ShapeError
from adjoint.core.tensor import Tensor
from adjoint.ops import exp, matmul
from adjoint.ops.functional import linalg
from adjoint.ops.linalg import adjoint as conjugate_transpose

RNG = np.random.default_rng(7)
A, B, C = RNG.normal(size=(3, 3)), RNG.normal(size=(3, 2)), RNG.normal(size=3)
REGULAR = A + 4 * np.eye(3)
TALL, WIDE = RNG.normal(size=(4, 2)), RNG.normal(size=(2, 4))
STACK = RNG.normal(size=(2, 3, 3)) + 4 * np.eye(3)


def numbers(x):
    return x.asnumpy() if isinstance(x, Tensor) else np.asarray(x)


def close(got, want, rtol=1e-12):
    np.testing.assert_allclose(numbers(got), want, rtol=rtol, atol=rtol)


def complexed(x):
    return x + 1j * np.random.default_rng(3).normal(size=x.shape)


def spd(x):
    """A positive definite matrix, for NumPy arrays and Tensors alike."""
    adjoint_x = conjugate_transpose(x)
    return linalg.matmul(x, adjoint_x) + x.shape[-1] * np.eye(x.shape[-1])


def np_spd(x):
    return x @ np.conj(np.swapaxes(x, -1, -2)) + x.shape[-1] * np.eye(x.shape[-1])


def on_spd(name, *args):
    """A function of positive definite matrices, and NumPy's."""
    ours, theirs = getattr(linalg, name), getattr(np.linalg, name)
    return lambda x: ours(spd(x), *args), lambda x: theirs(np_spd(x), *args)


def both(name, module=np.linalg, **options):
    ours, theirs = getattr(linalg, name), getattr(module, name)
    return lambda *xs: ours(*xs, **options), lambda *xs: theirs(*xs, **options)


MATRIX_FUNCTIONS = {
    "inv": both("inv"),
    "det": both("det"),
    "slogdet": both("slogdet"),
    "expm": both("expm", scipy.linalg),
    "pinv": both("pinv"),
    "qr": both("qr"),
    "qr r": both("qr", mode="r"),
    "svdvals": both("svdvals"),
    "power 5": both("matrix_power", n=5),
    "power -2": both("matrix_power", n=-2),
    "cond": both("cond"),
    "cond 1": both("cond", p=1),
    "cond fro": both("cond", p="fro"),
    "cholesky": on_spd("cholesky"),
    "eigvalsh": on_spd("eigvalsh"),
    "logdet": (lambda x: linalg.logdet(spd(x)), lambda x: np.log(np.linalg.det(np_spd(x)))),
    "cholesky upper": (lambda x: linalg.cholesky(spd(x), upper=True), lambda x: scipy.linalg.cholesky(np_spd(x))),
}


@pytest.mark.parametrize("ours, reference", MATRIX_FUNCTIONS.values(), ids=MATRIX_FUNCTIONS)
def test_function_of_a_matrix(check, ours, reference):
    check(ours, reference, REGULAR)


@pytest.mark.parametrize("name", ["inv", "det", "slogdet", "expm", "pinv", "qr", "svdvals", "cholesky", "eigvalsh"])
def test_function_of_a_complex_matrix(check, name):
    check(*MATRIX_FUNCTIONS[name], complexed(REGULAR))


@pytest.mark.parametrize("name", ["inv", "det", "slogdet", "expm", "pinv", "svdvals", "qr", "eigvalsh"])
def test_function_of_a_stack_of_matrices(check, name):
    check(*MATRIX_FUNCTIONS[name], STACK)


@pytest.mark.parametrize("name", ["pinv", "svdvals", "qr", "qr r"])
@pytest.mark.parametrize("x", [TALL, WIDE, complexed(TALL), complexed(WIDE)], ids=["tall", "wide", "tall c", "wide c"])
def test_function_of_an_oblong_matrix(check, name, x):
    check(*MATRIX_FUNCTIONS[name], x)


@pytest.mark.parametrize("a, b", [(REGULAR, C), (REGULAR, B), (STACK, C), (STACK, B), (STACK, STACK[:, :, :1])])
def test_solve(check, a, b):
    check(linalg.solve, np.linalg.solve, a, b)
    check(linalg.solve, np.linalg.solve, complexed(a), b)


@pytest.mark.parametrize("trans", [0, 1, 2, "N", "T", "C"])
@pytest.mark.parametrize("lower, unit", [(False, False), (True, False), (True, True)])
def test_solve_triangular(check, trans, lower, unit):
    options = {"trans": trans, "lower": lower, "unit_diagonal": unit}
    ours = lambda a, b: linalg.solve_triangular(a, b, **options)
    reference = lambda a, b: scipy.linalg.solve_triangular(a, b, **options)
    check(ours, reference, complexed(REGULAR), complexed(B))
    check(ours, reference, REGULAR, C)
    looped = np.stack([reference(a, B) for a in STACK])
    close(ours(STACK, B), looped)


# ---------------------------------------------------------------- vectors that are determined up to a phase


def projector(vectors):
    return linalg.matmul(vectors, conjugate_transpose(vectors))


@pytest.mark.parametrize("x", [A, complexed(A), STACK], ids=["real", "complex", "stack"])
def test_eigenvectors(check, x):
    def spectral(lib, x):
        w, v = lib.eigh(x)
        return w, (v * lib.expand(w) ** 3) @ conjugate_transpose(v), projector(v[..., :1])

    class Ours:
        eigh, expand = staticmethod(lambda x: linalg.eigh(spd(x))), staticmethod(lambda w: w[..., None, :])

    class Theirs(Ours):
        eigh = staticmethod(lambda x: np.linalg.eigh(np_spd(x)))

    check(lambda x: spectral(Ours, x), lambda x: spectral(Theirs, x), x)


@pytest.mark.parametrize("x", [A, TALL, WIDE, complexed(A), complexed(TALL), complexed(WIDE), STACK])
def test_singular_vectors(check, x):
    def parts(svd, x):
        u, s, vh = svd(x, full_matrices=False)
        return (
            (u * s[..., None, :] ** 2) @ vh,
            u[..., :1] @ vh[..., :1, :],
            projector(u),
            projector(conjugate_transpose(vh)),
        )

    check(lambda x: parts(linalg.svd, x), lambda x: parts(np.linalg.svd, x), x)


@pytest.mark.parametrize("x", [TALL, WIDE, complexed(TALL), A], ids=["tall", "wide", "complex", "square"])
def test_full_singular_vectors(check, x):
    u, s, vh = linalg.svd(x)
    m, n = x.shape
    assert u.shape == (m, m) and vh.shape == (n, n)
    close(projector(u), np.eye(m))
    close((u[:, : len(s)] * s) @ vh[: len(s)], x)

    def null_spaces(svd, x):
        u, _, vh = svd(x, full_matrices=True)
        k = min(m, n)
        return projector(u[:, k:]), projector(conjugate_transpose(vh[k:]))

    check(lambda x: null_spaces(linalg.svd, x), lambda x: null_spaces(np.linalg.svd, x), x)


def test_complete_qr(check):
    q, r = linalg.qr(TALL, "complete")
    want_q, want_r = np.linalg.qr(TALL, "complete")
    close(q, want_q)
    close(r, want_r)
    rest = lambda qr: lambda x: projector(qr(x, mode="complete")[0][:, 2:])
    check(rest(linalg.qr), rest(np.linalg.qr), TALL)


def test_results_have_names():
    assert linalg.svd(A).S.shape == (3,)
    assert linalg.eigh(A).eigenvalues.shape == (3,)
    assert linalg.qr(A).R.shape == (3, 3)
    assert linalg.slogdet(A).sign in (-1.0, 1.0)


# ---------------------------------------------------------------- where values coincide


def test_repeated_eigenvalues(check):
    x = np.eye(3)
    close(grad(lambda x: (linalg.eigvalsh(x) ** 2).sum())(x), 2 * x)
    close(grad(lambda x: (linalg.eigh(x)[0] ** 2).sum())(x), 2 * x)
    # How the vectors of matrices nearby lie decides: exp(x) has a derivative off the diagonal, which they do not tell.
    by_vectors = lambda x: (lambda w, v: matmul(v * exp(w), v.T))(*linalg.eigh(x))[0, 1]
    assert np.isnan(numbers(grad(by_vectors)(x))).any() and np.isnan(
        numbers(jvp(by_vectors, (x,), (np.ones((3, 3)),))[1])
    )
    close(grad(lambda x: linalg.expm(x)[0, 1])(x)[0, 1], np.e)
    # A vector whose own value stands alone has a derivative.
    turn = np.linalg.qr(A)[0]
    x = turn @ np.diag([1.0, 1.0, 3.0]) @ turn.T
    last = lambda eigh: lambda x: projector(eigh((x + x.T) / 2)[1][:, 2:])
    check(last(linalg.eigh), last(np.linalg.eigh), x, second=False)
    assert np.isnan(numbers(grad(grad(lambda t: (linalg.eigvalsh(np.eye(2) + t) ** 2).sum()))(0.0)))


def test_repeated_singular_values():
    x = np.eye(3)
    close(grad(linalg.norm)(x, "nuc"), x)
    close(grad(lambda x: (linalg.svd(x)[1] ** 2).sum())(x), 2 * x)
    for k in (0, 2):
        assert np.isnan(numbers(grad(lambda x, k=k: linalg.svd(x)[k].sum())(x))).any()
        assert np.isnan(numbers(grad(lambda x, k=k: linalg.svd(x)[k].sum())(np.zeros((3, 2))))).any()


def test_pinv_of_an_orthogonal_matrix_and_of_lower_rank(check):
    turn = np.linalg.qr(A)[0]
    check(*MATRIX_FUNCTIONS["pinv"], turn)
    x, t = np.outer(C, C), np.outer(C, B[:, 0])  # moving along t keeps the rank
    want = (np.linalg.pinv(x + 1e-6 * t, 1e-9) - np.linalg.pinv(x - 1e-6 * t, 1e-9)) / 2e-6
    close(jvp(linalg.pinv, (x,), (t,))[1], want, 1e-6)


# ---------------------------------------------------------------- determinants of singular matrices


def cofactors(x):
    """Signed minors, from their definition."""
    n = len(x)
    minor = lambda i, j: np.linalg.det(np.delete(np.delete(x, i, 0), j, 1))
    return np.array([[(-1) ** (i + j) * minor(i, j) for j in range(n)] for i in range(n)])


@pytest.mark.parametrize("rank", [0, 1, 2, 3])
def test_det_at_every_rank(rank):
    x = RNG.normal(size=(4, rank)) @ RNG.normal(size=(rank, 4))
    close(grad(linalg.det)(x), cofactors(x), 1e-10)
    (t,) = RNG.normal(size=(1, 4, 4))
    want = (cofactors(x + 1e-5 * t) - cofactors(x - 1e-5 * t)) / 2e-5
    close(jvp(grad(linalg.det), (x,), (t,))[1], want, 1e-7)


def test_high_derivatives_of_det_at_zero():
    t = RNG.normal(size=(3, 3))
    f = linalg.det
    for _ in range(3):
        f = lambda x, f=f: jvp(f, (x,), (t,))[1]
    close(f(np.zeros((3, 3))), 6 * np.linalg.det(t), 1e-10)


def test_det_of_a_nearly_singular_matrix():
    x = np.array([[1.0, 1.0], [1.0, 1.0 + 1e-14]])
    close(grad(linalg.det)(x), [[1.0, -1.0], [-1.0, 1.0]])


def test_det_in_a_batch_with_and_without_inverse():
    xs = np.stack([np.ones((3, 3)), REGULAR, np.diag([1.0, 2.0, 0.0]), np.zeros((3, 3))])
    close(grad(linalg.det)(xs), np.stack([cofactors(x) for x in xs]), 1e-10)


def test_logdet_of_a_negative_determinant_is_nan():
    assert np.isnan(linalg.logdet([[0.0, 1.0], [1.0, 0.0]]))
    assert linalg.logdet(np.array([[0.0, 1.0], [1.0, 0.0]], complex)) == pytest.approx(np.pi * 1j)


# ---------------------------------------------------------------- shapes, dtypes, kinds


def test_arrays_in_arrays_out():
    assert isinstance(linalg.inv(REGULAR), np.ndarray)
    assert isinstance(linalg.inv(REGULAR.tolist()), np.ndarray)
    assert isinstance(linalg.inv(Tensor(REGULAR)), Tensor)
    assert isinstance(linalg.matrix_power(Tensor(REGULAR), 0), Tensor)
    close(grad(lambda x: linalg.det([[x, 1.0], [2.0, x]]))(3.0), 6.0, 1e-6)


@pytest.mark.parametrize("name", ["inv", "det", "svdvals", "pinv", "cholesky", "eigvalsh", "expm", "norm", "cond"])
def test_precision_is_kept(name):
    f = getattr(linalg, name)
    x = np_spd(A).astype("float32")
    assert f(Tensor(x)).dtype == np.float32
    assert grad(f)(Tensor(x)).dtype == np.float32
    assert f(Tensor(x.astype(int))).dtype == np.float64


@pytest.mark.parametrize("name", ["inv", "det", "svdvals", "pinv", "cholesky", "eigvalsh", "expm"])
def test_empty_batches(name):
    f = getattr(linalg, name)
    x = np.zeros((0, 3, 3))
    assert f(x).shape[0] == 0
    assert grad(f)(x).shape == x.shape


# ---------------------------------------------------------------- refusals


def refusal(error, words, f, *args, **options):
    with pytest.raises(error) as caught:
        f(*args, **options)
    assert words in str(caught.value), str(caught.value)
    assert "called at test_linalg.py" in str(caught.value)


def test_refusals():
    oblong = np.ones((2, 3))
    for name, card in [("inv", "Inv"), ("det", "Det"), ("cholesky", "Cholesky"), ("eigh", "Eigh"), ("expm", "Expm")]:
        refusal(ShapeError, f"{card}: the last two axes of (2, 3) must be equal", getattr(linalg, name), oblong)
    refusal(ShapeError, "a matrix needs two axes", linalg.svd, np.ones(3))
    refusal(ShapeError, "a matrix needs two axes", linalg.qr, np.ones(3))
    refusal(ShapeError, "must have 3 rows, as the matrix (3, 3)", linalg.solve, REGULAR, np.ones(2))
    refusal(ArgumentError, "trans must be 0, 1, 2", linalg.solve_triangular, REGULAR, C, trans="X")
    refusal(ArgumentError, "mode must be 'reduced', 'complete' or 'r'", linalg.qr, A, "raw")
    refusal(ArgumentError, "the power must be an integer, not 0.5", linalg.matrix_power, A, 0.5)
    refusal(ShapeError, "matrix_power: the last two axes of (2, 3)", linalg.matrix_power, oblong, 2)


def test_singular_matrices_name_the_op_and_the_line():
    refusal(np.linalg.LinAlgError, "Inv() on float64[2, 2]: Singular matrix", linalg.inv, np.ones((2, 2)))
    refusal(np.linalg.LinAlgError, "Singular matrix", linalg.solve, np.ones((2, 2)), np.ones(2))
    refusal(np.linalg.LinAlgError, "Cholesky() on float64[2, 2]: ", linalg.cholesky, -np.eye(2))

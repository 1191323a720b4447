"""np.r_, np.c_, histograms and their like on Tensors, in both modes; results that are truth values."""

import numpy as np
import pytest

import adjoint as ad
import adjoint.numpy as anp
from adjoint import ops

X = np.array([0.31, -1.2, 0.77, 2.4, -0.05])
DATA = np.array([0.1, 0.42, 0.5, 0.9, 0.2])
W = np.cos(np.arange(40.0))


def weighed(y):
    return ops.sum(ops.reshape(y, (-1,)) * W[: y.size])


USES = {
    "r_": lambda x: np.r_[x, 1.0, x[:2] ** 2, 0:3],
    "r_ with a text": lambda x: np.r_["0,2", x, x * x],
    "c_": lambda x: np.c_[x, x**2, np.ones(5)],
    "own r_": lambda x: anp.r_[x[0], x, [1.0, 2.0]],
    "own c_": lambda x: anp.c_[x, np.sin(x)],
    "row_stack": lambda x: anp.row_stack([x, x**2]),
    "histogram": lambda x: np.histogram(DATA, 3, weights=x)[0],
    "density": lambda x: np.histogram(DATA, 3, weights=x**2, density=True)[0],
    "histogram2d": lambda x: np.histogram2d(DATA, DATA**2, bins=[2, 3], weights=x)[0],
    "histogramdd": lambda x: np.histogramdd(np.stack([DATA, DATA[::-1]], 1), bins=2, weights=x)[0],
    "counts are constants": lambda x: x[:3] * np.histogram(x, 3)[0],
    "edges": lambda x: np.histogram(x, 3)[1],
    "bincount": lambda x: np.bincount([0, 1, 1, 3, 0], weights=x),
    "digitize": lambda x: x * np.digitize(x, [-0.5, 0.5]),
    "isin": lambda x: x + np.isin(x, [5.0, -1.0]) + np.isin([1, 2, 3, 4, 5], [2, 4]),
    "lexsort": lambda x: x[np.lexsort((x, np.array([1, 0, 1, 0, 0])))],
    "argpartition": lambda x: np.sort(x[np.argpartition(x, 2)[:3]]),
    "partition": lambda x: np.sort(np.partition(x, 2)[:2]),
    "triangles": lambda x: np.outer(x, x)[np.triu_indices(5, 1)] + np.outer(x, x)[np.tril_indices(5, -1)],
    "i0": np.i0,
    "pad": lambda x: np.pad(x, 2, "linear_ramp", end_values=1.0) + np.pad(x, 2, "mean", stat_length=3),
    "arange": lambda x: x[0] * np.arange(5),
}


@pytest.mark.parametrize("name", USES)
def test_derivatives(name):
    f = lambda x: weighed(ops.array(USES[name](x)))
    ad.check_grads(f, X)
    np.testing.assert_allclose(f(ad.Tensor(X)), sum(np.ravel(USES[name](X)) * W[: np.size(USES[name](X))]))


def test_all_of_them_in_one_compiled_function():
    def total(x):
        return [weighed(ops.array(use(x))) for use in USES.values()]

    np.testing.assert_allclose(ad.jit(total)(X), total(ad.Tensor(X)), rtol=1e-10)
    summed = lambda x: sum(total(x))
    np.testing.assert_allclose(ad.jit(ad.grad(summed))(X), ad.grad(summed)(X), rtol=1e-9)


def test_results_are_tensors_outside_too():
    assert isinstance(anp.r_[1.0, 2.0], ad.Tensor) and repr(anp.c_) == "<c_ of adjoint.numpy>"
    np.testing.assert_array_equal(np.r_[ad.Tensor(X), 1.0], [*X, 1.0])
    counts, edges = np.histogram(ad.Tensor(X), 4)
    want = np.histogram(X, 4)
    assert counts.dtype == want[0].dtype
    np.testing.assert_array_equal(counts, want[0])
    np.testing.assert_allclose(edges, want[1])


@pytest.mark.parametrize("data", [np.zeros(0), np.ones(3), np.array([0, 1, 1, 4]), X.astype(np.float32)], ids=str)
def test_histograms_of_odd_data(data):
    for bins, limits in ((3, None), (2, (0.0, 1.0)), ([0.0, 1.0, 4.0], None)):
        got, want = anp.histogram(data, bins, limits), np.histogram(data, bins, limits)
        np.testing.assert_array_equal(got[0], want[0])
        np.testing.assert_allclose(got[1], want[1], rtol=1e-6)
        assert got[1].dtype == want[1].dtype


@pytest.mark.parametrize(("call", "words"), [
    (lambda: anp.histogram(X, 0), "bins must be positive"),
    (lambda: anp.histogram(X, [1.0, 0.0]), "increase monotonically"),
    (lambda: anp.histogram(X, 2, (1.0, 0.0)), "max must be larger than min"),
    (lambda: anp.histogram(X, 2, weights=X[:2]), "weights of shape"),
    (lambda: anp.histogram2d(X, X[:2]), "the same length"),
    (lambda: anp.histogramdd([X, X], [2]), "1 kinds of bins for 2 axes"),
    (lambda: ad.grad(lambda x: anp.histogram(x, 2)[0])(X), "has no derivative"),
    (lambda: ad.jit(lambda x: anp.histogram(x, "auto")[0])(X), "depends on values"),
    (lambda: anp.pad(np.arange(3), 1, "mean"), "rounds integers"),
    (lambda: anp.pad(X, 9, "reflect", reflect_type="odd"), "pad in two steps"),
])  # fmt: skip
def test_refusals(call, words):
    with pytest.raises(ad.AdjointError, match=words):
        call()


# ---------------------------------------------------------------- truth values as results


def test_truth_values_come_out_of_every_transform():
    f = lambda x: x > 0.5
    for way in (ad.jit(f), ad.vmap(f), ad.jit(ad.vmap(f)), ad.vmap(ad.jit(f))):
        assert way(X).dtype == bool and way(X).tolist() == (X > 0.5).tolist()
    both = lambda x: ((x * x).sum(), (x > 0.5).all(), True)
    for way in (ad.value_and_grad(both, has_aux=True), ad.jit(ad.value_and_grad(both, has_aux=True))):
        (_value, flag, python), gradient = way(X)
        assert not flag and python
        np.testing.assert_allclose(gradient, 2 * X)
    np.testing.assert_allclose(ad.grad(lambda x: ((x * x).sum(), x > 0))(X), 2 * X)
    (_, mask), (tangent, _) = ad.jvp(lambda x: (x * x, x > 0.5), X, np.ones(5))
    assert mask.tolist() == (X > 0.5).tolist()
    np.testing.assert_allclose(tangent, 2 * X)
    with pytest.raises(ad.NotDifferentiableError, match="dtype bool, which has no derivative"):
        ad.grad(lambda x: (x > 0).all())(X)

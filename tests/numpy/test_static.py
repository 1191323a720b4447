"""Every call that the namespace is tested with, in static mode: the values, shapes and dtypes of dynamic mode, or a refusal.

What is refused has a result whose shape or dtype depends on values; the list may only shrink.
"""

from __future__ import annotations

import numpy as np
import pytest

import adjoint as ad
import adjoint.numpy as anp
from adjoint.core import tree
from adjoint.core.errors import DtypeError, ShapeError
from tests.numpy.test_namespace import CASES

pytestmark = pytest.mark.filterwarnings("ignore")

#: Results whose shape (or dtype) depends on values.
REFUSED = {
    "where",
    "nonzero",
    "argwhere",
    "flatnonzero",
    "extract",
    "unique",
    "unique_all",
    "unique_counts",
    "unique_inverse",
    "unique_values",
    "delete",
    "linalg.lstsq",
    "real_if_close",
}
NO_NUMBERS = {"result_type", "common_type"}
#: Complex in a graph, which does not know whether all of them are real (docs/conventions.md).
COMPLEX = {"linalg.eig", "linalg.eigvals"}
NAMES = sorted({name for name, _, _ in CASES} - NO_NUMBERS)


def function(namespace, name):
    for part in name.split("."):
        namespace = getattr(namespace, part, None)
    return namespace


def split(fn, args, kwargs):
    """A call as a function of the arrays in it, and those."""
    leaves, rebuild = tree.flatten((args, kwargs))
    spots = [i for i, x in enumerate(leaves) if isinstance(x, np.ndarray)]

    def run(*arrays):
        filled = list(leaves)
        for i, x in zip(spots, arrays, strict=True):
            filled[i] = x
        positional, named = rebuild(filled)
        return fn(*positional, **named)

    return run, [ad.Tensor(leaves[i]) for i in spots]


def check(run, arrays, backend, is_complex=False):
    want, got = tree.leaves(run(*arrays)), tree.leaves(ad.jit(run, backend=backend)(*arrays))
    assert len(want) == len(got)
    for a, b in zip(got, want, strict=True):
        if isinstance(b, (ad.Tensor, np.ndarray, np.generic, bool, int, float, complex)):
            a, b = np.asarray(a), np.asarray(b)
            assert (a.shape, a.dtype) == (b.shape, np.result_type(b, complex) if is_complex else b.dtype)
            np.testing.assert_allclose(a, b, rtol=1e-6, atol=1e-9)


@pytest.mark.parametrize("namespace", [anp, np], ids=["adjoint.numpy", "numpy"])
@pytest.mark.parametrize("name", NAMES)
def test_a_function_in_static_mode(name, namespace):
    refused = []
    for _, args, kwargs in (case for case in CASES if case[0] == name):
        fn = function(namespace, name)
        if fn is None:  # a name that this NumPy does not have
            continue
        run, arrays = split(fn, args, kwargs)
        if not arrays:
            continue
        if namespace is np:
            try:
                run(*arrays)
            except (TypeError, ValueError):  # NumPy itself does not take this of a Tensor
                continue
        for backend in ("native", "interpreter"):
            try:
                check(run, arrays, backend, name in COMPLEX)
            except (ShapeError, DtypeError) as error:
                refused.append(str(error))
    said = ("known only when the graph runs", "not known in a graph")
    assert all(any(s in words for s in said) and "called at" in words for words in refused)
    assert bool(refused) == (name in REFUSED), refused


Y = np.arange(12.0).reshape(3, 4) - 5.0


def doubled(y):
    y[y > 0] *= 2
    return y


def by_formula(y):
    y[y > 0] = -(y[y > 0] ** 2) + np.sin(y[y > 0])
    return y


def rows(y):
    y[y.sum(-1) > 0] += np.array([1.0, 2.0, 3.0, 4.0])
    return y


def columns(y):
    y[:, y[0] > -4] = 0.5
    return y


def last(y):
    y[..., y[0] > -4] /= 3.0
    return y


def from_another(y):
    z, m = y * 3.0, y > 1
    y[m] = z[m] - y[m] / 2.0
    return y


def into_columns(y):
    y[:, y[0] > -4] = np.array([[1.0], [2.0], [3.0]])
    return y


MASKED = [doubled, by_formula, rows, columns, last, from_another, into_columns]


@pytest.mark.parametrize("fn", MASKED)
def test_masks_that_are_known_only_at_run_time(fn):
    want = fn(Y.copy())
    copied = lambda y: fn(y * 1.0)
    for way in (copied, ad.jit(copied), ad.jit(copied, backend="interpreter")):
        np.testing.assert_allclose(np.asarray(way(ad.Tensor(Y))), want)
    total = lambda y: (copied(y) ** 2).sum()
    slope = ad.grad(total)(Y)
    for way in (ad.jit(ad.grad(total)), ad.grad(ad.jit(total))):
        np.testing.assert_allclose(np.asarray(way(Y)), np.asarray(slope))
    batch = np.stack([Y, -Y, Y + 4.0])
    each = np.stack([fn(y.copy()) for y in batch])
    for way in (ad.vmap(copied), ad.jit(ad.vmap(copied))):
        np.testing.assert_allclose(np.asarray(way(batch)), each)


@pytest.mark.parametrize(
    "fn",
    [
        lambda y: y[y > 0],
        lambda y: y[y > 0].sum(),
        lambda y: y[y > 0][0],
        lambda y: len(y[y > 0]),
        lambda y: y[y > 0] + y[y < 0],
        lambda y: y[y > 0] * y,
        lambda y: [v for v in y[y > 0]],  # noqa: C416
        lambda y: ad.ops.concat([y[y > 0], y]),
        lambda y: y[y > 0, 0],
        lambda y: doubled_wrong(y),
    ],
)
def test_elements_of_unknown_number_are_refused(fn):
    for way in (ad.jit(fn), ad.jit(fn, backend="interpreter"), ad.vmap(fn)):
        with pytest.raises(ShapeError, match=r"depends on values(.|\n)*called at"):
            way(np.stack([Y, -Y]))


def doubled_wrong(y):
    y = y * 1.0
    y[y > 0] = np.array([1.0, 2.0])
    return y


PARTS = {
    "array": lambda x: np.array([x, x**2]),
    "asarray": lambda x: np.asarray(x) * 2.0,
    "nested": lambda x: np.array([[x.sum(), 1.0], [2.0, (x**2).sum()]]),
    "asarray of list": lambda x: np.asarray([x, x]),
    "stack": lambda x: np.stack([x, x], 1),
    "concatenate": lambda x: np.concatenate([x, x]),
    "vstack": lambda x: np.vstack([x, x]),
    "hstack": lambda x: np.hstack([x, x]),
    "array in a loop": lambda x: sum(v.sum() for v in np.array([x, x**2])),
    "with a dtype": lambda x: anp.array([x, x], dtype=np.float32),
    "in a dict": lambda x: {"a": np.array([x, x]), "b": [np.asarray(x)]},
}


@pytest.mark.parametrize("name", PARTS)
def test_arrays_of_graph_values(name):
    fn, x = PARTS[name], np.array([1.0, -2.0, 3.0])
    want = tree.leaves(fn(x))
    for backend in ("native", "interpreter"):
        for a, b in zip(tree.leaves(ad.jit(fn, backend=backend)(ad.Tensor(x))), want, strict=True):
            np.testing.assert_allclose(np.asarray(a), np.asarray(b))
    total = lambda x: sum(ad.ops.sum(anp.array(y)) for y in tree.leaves(fn(x)))
    np.testing.assert_allclose(np.asarray(ad.jit(ad.grad(total))(x)), np.asarray(ad.grad(total)(x)))


INDICES = {
    "None": lambda x: x[None].sum(),
    "...": lambda x: x[...] * 2,
    "()": lambda x: x[()] * 3,
    "None, ..., None": lambda x: (x[None, ..., None] ** 2).sum(),
}


@pytest.mark.parametrize("name", INDICES)
def test_indices_of_a_python_float(name):
    fn = INDICES[name]
    value, slope = fn(np.float64(2.0)), fn(np.array(3.0)) - fn(np.array(2.0)) if "**" not in name else None
    assert float(ad.jit(fn)(2.0)) == float(ad.jit(fn, backend="interpreter")(2.0)) == float(value)
    slopes = [ad.grad(fn)(2.0), ad.jit(ad.grad(fn))(2.0), ad.grad(ad.jit(fn))(2.0), ad.jvp(fn, 2.0, 1.0)[1]]
    assert len({float(s) for s in slopes}) == 1
    assert name == "None, ..., None" or float(slopes[0]) == float(slope)

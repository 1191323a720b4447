"""The namespace of the array API standard: names and signatures from the standard's list, meanings from NumPy and differences."""

import inspect
from pathlib import Path

import numpy as np
import pytest

import adjoint as ad
import adjoint.array_api as xp

LIST = (Path(__file__).parent / "standard_2024_12.txt").read_text().splitlines()
FUNCTIONS = [line for line in LIST if not line.startswith("#")]
UFUNC = type(xp.add)


def found(name):
    place = xp
    for part in name.split("."):
        place = getattr(place, part)
    return place


@pytest.mark.parametrize("line", FUNCTIONS, ids=lambda line: line.partition("(")[0])
def test_each_function_is_called_as_the_standard_says(line):
    name, _, rest = line.rstrip(")").partition("(")
    function, parts = found(name), [p for p in rest.split(", ") if p]
    if isinstance(function, UFUNC):
        assert function.nin == len([p for p in parts if p not in "/*" and not p.endswith("=")])
        return
    before = parts.index("*") if "*" in parts else len(parts)
    positional = [p for p in parts[:before] if p != "/" and not p.startswith("*")]
    keywords = {p.rstrip("="): None for p in parts[before + 1 :]}
    required = [p for p in positional if not p.endswith("=")]
    try:
        signature = inspect.signature(function)
    except ValueError:  # NumPy's own functions on dtypes, written in C
        return
    signature.bind(*positional, **keywords)  # raises a TypeError where it does not fit
    signature.bind(*required)
    if "/" in parts:  # what stands behind it can be named
        named = [p.rstrip("=") for p in positional[parts.index("/") :]]
        signature.bind(*positional[: parts.index("/")], **dict.fromkeys(named), **keywords)


def test_the_list_is_whole():
    assert len(FUNCTIONS) == 170
    for name in ("e", "inf", "nan", "newaxis", "pi", "bool", "int8", "uint64", "float32", "complex128"):
        assert hasattr(xp, name)
    with pytest.raises(AttributeError, match="not in the array API standard"):
        xp.polyfit


def test_the_way_in():
    x = ad.Tensor([1.0, 2.0])
    assert x.__array_namespace__() is xp is x.__array_namespace__(api_version="2023.12")
    with pytest.raises(ad.ArgumentError, match="'1999.12': known are 2021.12"):
        x.__array_namespace__(api_version="1999.12")
    info = xp.__array_namespace_info__()
    assert info.default_device() == x.device == "cpu" and x.to_device("cpu") is x
    assert info.default_dtypes()["real floating"] == xp.zeros(2).dtype == xp.float64
    assert list(info.dtypes(kind="real floating")) == ["float32", "float64"]
    assert len(info.dtypes()) == 13 and info.capabilities()["boolean indexing"]
    with pytest.raises(ad.ArgumentError, match="'text' is not one of"):
        info.dtypes(kind="text")


X = np.array([[3.0, 1.0, 2.0], [0.5, 4.0, 2.0]])
MEANINGS = {
    "sort": (lambda xp, x: xp.sort(x, descending=True), lambda x: -np.sort(-x)),
    "argsort": (lambda xp, x: xp.argsort(x, axis=0), lambda x: np.argsort(x, 0)),
    "std": (lambda xp, x: xp.std(x, axis=1, correction=1.0), lambda x: np.std(x, axis=1, ddof=1)),
    "sum of small integers": (lambda xp, x: xp.sum(xp.astype(x, xp.int8)), lambda x: x.astype("i1").sum(dtype="i8")),
    "prod": (lambda xp, x: xp.prod(x, axis=0, dtype=xp.float32), lambda x: x.prod(0, dtype="f4")),
    "cumulative_sum": (
        lambda xp, x: xp.cumulative_sum(x, axis=1, include_initial=True),
        lambda x: np.hstack([np.zeros((2, 1)), x.cumsum(1)]),
    ),
    "unique": (
        lambda xp, x: xp.unique_all(x).inverse_indices,
        lambda x: np.unique(x, return_inverse=True)[1].reshape(2, 3),
    ),
    "take": (lambda xp, x: xp.take(x, xp.asarray([2, 0]), axis=1), lambda x: x[:, [2, 0]]),
    "clip": (lambda xp, x: xp.clip(x, max=2.0), lambda x: np.minimum(x, 2)),
    "searchsorted": (
        lambda xp, x: xp.searchsorted(xp.asarray([1.0, 2.0]), x),
        lambda x: np.searchsorted([1.0, 2.0], x),
    ),
    "diff": (lambda xp, x: xp.diff(x, prepend=x[:, :1]), lambda x: np.diff(x, prepend=x[:, :1])),
    "where": (lambda xp, x: xp.where(x > 1, x, 0.0), lambda x: np.where(x > 1, x, 0.0)),
    "norm": (lambda xp, x: xp.linalg.vector_norm(x, axis=0, ord=1), lambda x: np.abs(x).sum(0)),
    "rfft": (lambda xp, x: xp.fft.rfft(x, norm="ortho"), lambda x: np.fft.rfft(x, norm="ortho")),
    "frequencies": (
        lambda xp, x: xp.fft.fftfreq(4, d=0.5, dtype=xp.float32),
        lambda x: np.fft.fftfreq(4, 0.5).astype("f4"),
    ),
}


@pytest.mark.parametrize("name", MEANINGS)
def test_meanings(name):
    ours, theirs = MEANINGS[name]
    got, want = ours(xp, ad.Tensor(X)), theirs(X)
    assert isinstance(got, ad.Tensor) and got.dtype == want.dtype
    np.testing.assert_allclose(got, want)


def whitened(x):
    """A program as people write it for every library."""
    xp = x.__array_namespace__()
    centred = x - xp.mean(x, axis=0)
    cov = xp.matmul(xp.matrix_transpose(centred), centred) / (x.shape[0] - 1)
    factor = xp.linalg.cholesky(cov + 0.1 * xp.eye(x.shape[1]))
    rows = xp.linalg.solve(factor, xp.matrix_transpose(centred))
    return xp.sum(xp.tanh(xp.sort(rows, axis=-1)) * xp.asarray([1.0, 2.0, -1.0]), axis=None) + xp.max(xp.abs(rows))


def test_a_program_for_every_library_is_differentiated_and_compiled():
    x = np.random.default_rng(0).normal(size=(3, 2))
    ad.check_grads(whitened, x)
    np.testing.assert_allclose(ad.jit(ad.grad(whitened))(x), ad.grad(whitened)(ad.Tensor(x)), rtol=1e-9)
    np.testing.assert_allclose(ad.vmap(whitened)(np.stack([x, 2 * x]))[1], whitened(ad.Tensor(2 * x)))

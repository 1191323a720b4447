"""Functions of NumPy on lists, and on the arrays that NumPy makes of them, of values that only the run knows."""

from __future__ import annotations

from collections import deque

import numpy as np
import pytest

import adjoint as ad
from run_time_numbers import halvings


def complexes(x):
    z = x + 1j * x
    return np.array([z, 2 * z])


FUNCTIONS = {
    "max": lambda x: np.max([x, 1.0]), "min": lambda x: np.min((x, 1.0, 3.0)), "axis": lambda x: np.max([[x, 1.0], [2.0, 3.0]], axis=0),
    "argmax": lambda x: np.argmax([x, 1.0]), "argmin": lambda x: np.argmin((x, 1.0, -3.0)), "sort": lambda x: np.sort([x, 1.0, 0.0]),
    "argsort": lambda x: np.argsort([x, 1.0, 0.0]), "mean": lambda x: np.mean([x, 1.0]), "median": lambda x: np.median([x, 1.0, 5.0]),
    "std": lambda x: np.std([x, 1.0]), "var": lambda x: np.var(a=(x, 1.0)), "ptp": lambda x: np.ptp([x, 1.0]),
    "clip": lambda x: np.clip([x, 1.0], 0, 1.5), "any": lambda x: np.any([x > 1, False]), "all": lambda x: np.all([x > 1, True]),
    "percentile": lambda x: np.percentile([x, 1.0], 50), "quantile": lambda x: np.quantile([x, 1.0], 0.3),
    "maximum": lambda x: np.maximum([x, 1.0], [0.0, 3.0]), "isnan": lambda x: np.isnan([x, 1.0]), "nanmax": lambda x: np.nanmax([x, 1.0]),
    "where": lambda x: np.where([x > 1.0, False], [x, 1.0], [2.0, 3.0]), "allclose": lambda x: np.allclose([x, 1.0], [2.0, 1.0]),
    "round": lambda x: np.round([x, 1.4]), "count": lambda x: np.count_nonzero([x, 0.0]), "of Tensors": lambda x: np.max([x * np.ones(2), [1.0, 9.0]]),
    "method": lambda x: np.array([x, 1.0]).max(), "position": lambda x: np.array([x, 1.0, 7.0]).argmin(), "spread": lambda x: np.array([x, 1.0]).std(),
    "real": lambda x: complexes(x).real, "imag": lambda x: complexes(x).imag.sum(), "parts": lambda x: np.real(complexes(x)) * np.imag(complexes(x)),
    "norm": lambda x: np.linalg.norm(complexes(x)), "norm of a list": lambda x: np.linalg.norm([x + 1j * x, 2.0]),
    "det": lambda x: np.linalg.det([[x, 1.0], [2.0, x]]), "solve": lambda x: np.linalg.solve([[x, 1.0], [2.0, x]], [x, 1.0]),
    "fft": lambda x: np.abs(np.fft.fft([x, 1.0, 2.0])), "angle": lambda x: np.angle(complexes(x)), "conj": lambda x: (complexes(x).conj() * complexes(x)).real,
    "kind": lambda x: x * np.iscomplexobj(complexes(x)), "getattr": lambda x: getattr(complexes(x), "imag"),  # noqa: B009
}  # fmt: skip


@pytest.mark.parametrize("name", FUNCTIONS)
def test_as_numpy(name):
    f = FUNCTIONS[name]
    for x in (2.0, 0.5):
        wanted, found = f(x), ad.jit(f)(x)
        assert np.allclose(found, wanted, rtol=1e-14)
        assert np.shape(found) == np.shape(wanted)
    if np.asarray(f(2.0)).dtype.kind == "f":
        h = 1e-6
        slope = (np.sum(f(2.0 + h)) - np.sum(f(2.0 - h))) / (2 * h)
        assert np.allclose(ad.grad(ad.jit(lambda x: np.sum(f(x))))(2.0), slope, atol=1e-6)


NUMBERS = {
    "deque": lambda x: deque([x, x], maxlen=halvings(x))[0], "pad": lambda x: np.pad(np.ones(3), halvings(x)).sum() * x,
    "partition": lambda x: np.partition(np.arange(5.0), halvings(x))[0] * x,
}  # fmt: skip


@pytest.mark.parametrize("name", NUMBERS)
def test_numbers_that_python_must_know(name):
    with pytest.raises(
        ad.NeedsNumberError, match=f"`{name}` is given a number that is known only when the graph runs, and says"
    ):
        ad.jit(NUMBERS[name])(2.0)


class Settings(dict):
    __getattr__ = dict.__getitem__


SETTINGS = Settings(rate=0.5)


def test_dicts_that_answer_for_attributes():
    def f(x):
        y = SETTINGS.rate * x if x > 0 else SETTINGS["rate"] * 2 * x
        return y + Settings(a=x).a

    for x in (2.0, -1.0):
        assert ad.jit(f)(x) == f(x)


class Near:
    """Compares with arrays by itself, as pytest.approx does."""

    __array_ufunc__ = None

    def __init__(self, value):
        self.value = value

    def __gt__(self, other):
        return other < self.value

    def __le__(self, other):
        return other >= self.value


def test_objects_that_compare_by_themselves():
    def f(x):
        return x * (2.0 if x < Near(5.0) else 3.0) + (1.0 if x >= Near(5.0) else 0.0)

    for x in (2.0, 7.0):
        assert ad.jit(f)(x) == ad.value_and_grad(f)(x)[0] == f(x)

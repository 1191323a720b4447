"""`np.array([x, y])` of plain NumPy inside transforms: a Tensor, which every function takes; NumPy's own outside."""

from __future__ import annotations

import threading
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
import scipy.linalg
import scipy.sparse.linalg
import scipy.special
from numpy import array

import adjoint as ad

PROGRAMS: dict[str, Callable[[Any], Any]] = {
    "inv": lambda x: np.linalg.inv(np.array([[x, 1.0], [0.5, 2.0]]))[0, 0],
    "solve": lambda x: np.linalg.solve(np.array([[x, 1.0], [0.5, 3.0]]), np.array([1.0, x]))[0],
    "det of rows": lambda x: np.linalg.det(np.array([np.array([x, 1.0]), [0.5, x]])),
    "mean": lambda x: np.array([x] * 3).mean() + np.array((x, 2.0)).std(),
    "ufuncs": lambda x: np.sqrt(np.array([x, 4.0])).sum() + scipy.special.gamma(np.array([x, 2.0])).sum(),
    "SciPy": lambda x: scipy.linalg.cholesky(np.array([[x + 2.0, 1.0], [1.0, 2.0]])).sum(),
    "dtype": lambda x: np.array([x, 1], dtype=float).sum() + np.asarray([1, x], np.float64)[1],
    "interp": lambda x: np.interp(0.3, [0.0, 1.0], np.array([x, 2.0])),
    "mask": lambda x: np.where(np.array([x, 1.0]) > 1.1, np.array([x, 1.0]), 0.0).sum(),
    "complex": lambda x: np.abs(np.array([1j * x, 1.0])).sum(),
    "written": lambda x: _written(x),
    "scalar": lambda x: np.array(x) * 2.0 + np.array([x])[0],
    "nothing": lambda x: np.array([]).sum() + x,
}


def _written(x: Any) -> Any:
    m = np.array([[x, 0.0], [0.0, 1.0]])
    m[0, 1] = x * x
    m[1] += 2.0
    return (m @ m).sum()


@pytest.mark.parametrize("name", PROGRAMS)
def test_arrays_made_of_tensors(name: str) -> None:
    f, x, step = PROGRAMS[name], 1.3, 1e-6
    slope = (f(x + step) - f(x - step)) / (2 * step)
    assert np.isclose(float(ad.grad(f)(x)), slope, rtol=1e-6)
    assert np.isclose(float(ad.jit(ad.grad(f))(x)), slope, rtol=1e-6)
    assert np.allclose(ad.vmap(ad.grad(f))(np.array([x, x])).asnumpy(), slope, rtol=1e-6)
    assert np.isclose(float(ad.jvp(f, x, 1.0)[1]), slope, rtol=1e-6)


def test_what_is_no_array_of_traced_numbers_is_numpys() -> None:
    def f(x: Any) -> Any:
        assert type(np.array([1.0, 2.0])) is np.ndarray and np.array([x, None]).dtype == object
        assert np.array([x, 1.0], dtype=object).dtype == object and np.array([ad.Tensor(1.0), 2.0]).dtype != object
        assert np.array([x, 2.5], dtype=int).dtype == int  # as int(x): a cast ends the gradient
        return x * 2

    assert ad.grad(f)(1.5) == 2


def test_numpys_functions_are_put_back() -> None:
    made, taken = np.array, np.asarray
    assert ad.grad(lambda x: ad.grad(lambda y: np.array([y * y, x]).sum() * x)(x))(3.0) == 12
    with pytest.raises(ZeroDivisionError):
        ad.grad(lambda x: 1 / 0)(1.0)
    thread = threading.Thread(target=lambda: [ad.grad(lambda x: np.array([x, x]).sum())(1.0) for _ in range(20)])
    thread.start()
    for _ in range(20):
        assert ad.grad(lambda x: np.array([x, 1.0]).sum())(1.0) == 1
    thread.join()
    assert np.array is made and np.asarray is taken and made.__name__ == "array" and not hasattr(made, "__wrapped__")


@pytest.mark.parametrize(
    "f",
    [
        lambda x: np.sin([x, 2.0]).sum(),
        lambda x: np.linalg.det([[x, 1.0], [0.5, 1.0]]),
        lambda x: np.interp(0.5, [0.0, 1.0], [x, 2.0]),
        lambda x: scipy.special.gamma([x, 1.0])[0],
        lambda x: scipy.special.gamma(array([x, 1.0]))[0],
    ],
)
def test_lists_that_numpy_makes_objects_of(f: Any) -> None:
    for transform, x in ((ad.grad, 1.3), (ad.jit, 1.3), (ad.vmap, np.ones(2))):
        with pytest.raises(ad.CutGradientError, match=r"(?s)Make one Tensor of it: np.array.*called at test_made_arr"):
            transform(f)(x)


def test_functions_of_c_that_take_arrays_only() -> None:
    factor = scipy.sparse.linalg.splu(scipy.sparse.eye_array(3).tocsc())
    with pytest.raises(
        ad.CutGradientError, match=r"(?s)takes plain arrays only .*ad.host_callback.*called at test_made_arr"
    ):
        ad.grad(lambda x: factor.solve(x).sum())(np.ones(3))


def test_other_objects_keep_numpys_words() -> None:
    nothing = lambda: np.sin(np.array([None, 1.0]))
    with pytest.raises(TypeError, match="callable sin"):
        ad.grad(lambda x: nothing()[0])(1.0)

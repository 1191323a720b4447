"""The public functions as a whole: odd values, Python numbers, refusals, and that each is tested."""

from __future__ import annotations

import inspect
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from scipy import special as sp

import adjoint as ad
from adjoint import ops

HERE = Path(__file__).parent


def test_every_family_has_a_test_file() -> None:
    """A file here or in `functional` for each module of public functions; there each function has its row."""
    functions = [f for f in vars(ops).values() if inspect.isfunction(f) and "ops.functional." in f.__module__]
    families = {f.__module__.rsplit(".", 1)[1] for f in functions} - {
        "repeating",
        "assignment",
    }  # test_joining.py, api/test_stores.py
    untested = [
        f for f in families if not any((HERE / place / f"test_{f}.py").exists() for place in (".", "functional"))
    ]
    assert not untested


def plain(y: Any) -> np.ndarray:
    return y.asnumpy() if isinstance(y, ad.Tensor) else np.asarray(y)


ODD_VALUES: list[tuple[Any, Any]] = [
    (lambda: ops.exp2(ad.Tensor([3, -1])), [8.0, 0.5]),
    (lambda: ops.hypot(ad.Tensor([np.inf, 0.0, 1e-300]), ad.Tensor([1.0, 0.0, 0.0])), np.float32([np.inf, 0.0, 0.0])),
    (lambda: ops.hypot(np.array([1e-300, 1e300]), 0.0), [1e-300, 1e300]),
    (lambda: ops.fmod(np.array([5.3, -5.3, 7.0, -4.0]), 0.1), np.fmod([5.3, -5.3, 7.0, -4.0], 0.1)),
    (lambda: ops.fmod(ad.Tensor([7, -7]), ad.Tensor([-4, 4])), [3, -3]),
    (lambda: ops.xlogy(np.zeros(4), np.array([0.0, -1.0, np.inf, np.nan])), [0.0, 0.0, 0.0, np.nan]),
    (lambda: ops.isclose(np.array([np.inf, -np.inf, np.nan, 1.0]), np.array([np.inf, np.inf, np.nan, np.inf])), [True, False, False, False]),
    (lambda: ops.isclose(np.array([np.nan, 1.0]), np.nan, equal_nan=True), [True, False]),
    (lambda: ops.isclose(np.uint8([1]), np.uint8([2])), [False]),
    (lambda: ops.isinf(np.array([np.inf, -np.inf, np.nan, 0.0])), [True, True, False, False]),
    (lambda: ops.prod(ad.Tensor(np.full(4, 200, "int32"))), 200**4),
    (lambda: ops.cumprod(ad.Tensor(np.full(5, 200, "int32")))[-1], 200**5),
    (lambda: ops.cummin(ad.Tensor(np.array([3, 0, 2], "uint8")), 0)[0], np.uint8([3, 0, 0])),
    (lambda: ops.median(ad.Tensor([3, 1, 2])), 2.0),
    (lambda: ops.median(np.array([1.0, np.nan, 2.0])), np.nan),
    (lambda: ops.logsumexp(np.zeros((2, 0)), 1), [-np.inf, -np.inf]),
    (lambda: ops.round(np.array([0.125, 15.0, 25.0]), 2), [0.12, 15.0, 25.0]),
    (lambda: ops.round(np.array([15.0, 25.0, 1234.0]), -1), [20.0, 20.0, 1230.0]),
    (lambda: ops.binary_cross_entropy(np.array([0.0, 1.0]), np.array([1.0, 0.0]), reduction="none"), [100.0, 100.0]),
    (lambda: ops.searchsorted(np.array([[1.0, 3.0], [5.0, 9.0]]), np.array([[3.0, 0.0], [9.0, 10.0]])), [[1, 0], [1, 2]]),
    (lambda: ops.one_hot(ad.Tensor([0, -1, 5]), 2, dtype=ad.int32), [[1, 0], [0, 0], [0, 0]]),
    (lambda: ops.bincount([0, 2], [0.5, 1.5]), [0.5, 0.0, 1.5]),
    (lambda: ops.take(ops.arange(3), []), []),
    (lambda: ops.add([1.0, 2.0], [3.0, 4.0]), [4.0, 6.0]),
    (lambda: ops.mul([1.0, 2.0], 2), [2.0, 4.0]),
    (lambda: ops.sum(ops.ones((2, 3)), np.int64(1)), [3.0, 3.0]),
    (lambda: ops.max(ops.ones((2, 3)), np.int64(1), return_indices=True)[1], [0, 0]),
    (lambda: ops.dropout(ad.Tensor([3.0, 3.0, 3.0]), 0.25, seed=0), [4.0, 0.0, 4.0]),
    (lambda: ops.index_add(ops.zeros((2, 2)), 1, ops.ones(2), 0), [[0.0, 0.0], [1.0, 1.0]]),
]  # fmt: skip


@pytest.mark.parametrize(("call", "want"), ODD_VALUES)
def test_odd_values(call: Callable[[], Any], want: Any) -> None:
    """Infinities, wrap-around, ties and other places where a formula goes astray. Nothing warns."""
    got = plain(call())
    np.testing.assert_array_equal(got, want)
    assert got.dtype.kind == np.asarray(want).dtype.kind or not got.size


X = ad.Tensor(np.ones((2, 3)))
REFUSED: list[tuple[Any, str]] = [
    (lambda: ops.add(X, ops.ones(2)), r"shapes \(2, 3\) and \(2,\) do not broadcast"),
    (lambda: ops.clamp(X), "give min, max or both"),
    (lambda: ops.gelu(X, "fast"), "approximate must be 'none' or 'tanh', not 'fast'"),
    (lambda: ops.glu(X), r"axis -1 of shape \(2, 3\) cannot be halved"),
    (lambda: ops.sum(X, 2), "sum: axis 2 is outside the input's 2 axes"),
    (lambda: ops.mean(X, (0, -2)), "names an axis twice"),
    (lambda: ops.max(X, (0, 1), return_indices=True), "needs one axis"),
    (lambda: ops.topk(X, 4), "k=4 of an axis with 3 elements"),
    (lambda: ops.quantile(X, 1.5), "q must lie between 0 and 1, not 1.5"),
    (lambda: ops.softmax(X, 3), "softmax: axis 3 is outside"),
    (lambda: ops.reshape(X, (4, -1)), r"6 elements of shape \(2, 3\) do not fill \(4, -1\)"),
    (lambda: ops.reshape(X, (5,)), r"6 elements of shape \(2, 3\) do not fill the shape \(5,\)"),
    (lambda: ops.flatten(X, "K"), "order must be 'C' or 'F', not 'K'"),
    (lambda: ops.transpose(X, (0, 0)), "does not name each of the input's 2 axes once"),
    (lambda: ops.t(ops.ones((1, 1, 1))), "a matrix is needed"),
    (lambda: ops.moveaxis(X, (0, 1), 0), "2 axes for 1 places"),
    (lambda: ops.squeeze(X, 0), "has size 2, not 1"),
    (lambda: ops.expand_dims(X, (0, 0)), "names an axis twice"),
    (lambda: ops.broadcast_to(X, (3, 3)), r"shape \(2, 3\) does not broadcast to \(3, 3\)"),
    (lambda: ops.concat([]), "no tensors to join"),
    (lambda: ops.concat([X, ops.ones((2, 2))]), "differ on other axes than axis 0"),
    (lambda: ops.stack([X, ops.ones((2, 2))]), "differ"),
    (lambda: ops.split(X, 0), "the size must be at least 1"),
    (lambda: ops.split(X, [1, 2]), r"sizes \(1, 2\) do not add up to the 2 elements of axis 0"),
    (lambda: ops.chunk(X, 0), "there must be at least 1"),
    (lambda: ops.pad(X, (1, 2, 3)), "3 widths for an input of 2 axes"),
    (lambda: ops.pad(X, (1, 2), "mirror"), "mode 'mirror' is not one of constant"),
    (lambda: ops.pad(X, (-2, -2)), r"crop more than the shape \(2, 3\) has"),
    (lambda: ops.take(X, [3], 1), "3 is outside axis 1 of size 3"),
    (lambda: ops.take_along_axis(X, [0], 0), "the indices have 1 axes, the input 2"),
    (lambda: ops.meshgrid(X, indexing="no"), "indexing must be 'xy' or 'ij'"),
    (lambda: ops.diag(ops.ones((1, 1, 1))), "a vector or matrix is needed"),
    (lambda: ops.tril(ops.ones(2)), "a matrix is needed"),
    (lambda: ops.scatter(X, 0, [[0, 0]], ops.ones((1, 1))), r"src has shape \(1, 1\), the index \(1, 2\)"),
    (lambda: ops.linspace(0, 1, 0), "it must be at least 1"),
    (lambda: ops.one_hot([0], 2, axis=3), "axis 3 for indices of 1 axes"),
    (lambda: ops.mse_loss(X, X, "total"), "reduction must be 'mean', 'sum' or 'none', not 'total'"),
    (lambda: ops.logical_and(X, ops.bitwise_and(X, X)), "not defined for float64 and float64"),
]  # fmt: skip


@pytest.mark.parametrize(("call", "words"), REFUSED, ids=[words for _, words in REFUSED])
def test_refusals(call: Callable[[], Any], words: str) -> None:
    """What makes no sense is refused with words, and the user's line."""
    with pytest.raises((ValueError, TypeError, IndexError), match=words) as caught:
        call()
    assert "called at test_functional.py" in str(caught.value)


BINARY: list[tuple[Any, Any]] = [
    (ops.add, np.add), (ops.sub, np.subtract), (ops.mul, np.multiply), (ops.div, np.divide), (ops.pow, np.power),
    (ops.mod, np.mod), (ops.fmod, np.fmod), (ops.atan2, np.arctan2), (ops.hypot, np.hypot), (ops.xlogy, sp.xlogy),
    (ops.logaddexp, np.logaddexp), (ops.maximum, np.maximum), (ops.minimum, np.minimum),
    (ops.complex, lambda x, y: x + 1j * y), (ops.polar, lambda r, a: r * np.exp(1j * a)),
    (ops.lerp, lambda x, y: x + 0.5 * (y - x)), (ops.prelu, lambda x, w: np.where(x > 0, x, w * x)),
    (ops.mse_loss, lambda x, y: np.mean((x - y) ** 2)), (ops.l1_loss, lambda x, y: np.mean(np.abs(x - y))),
]  # fmt: skip


@pytest.mark.parametrize("dtype", ["float32", "float16"])
@pytest.mark.parametrize(("function", "reference"), BINARY, ids=[f.__name__ for f, _ in BINARY])
def test_python_numbers(function: Callable[..., Any], reference: Callable[..., Any], dtype: str) -> None:
    """A Python number beside an array gives way to its dtype, in the result and in the gradient."""
    x, number = np.array([0.75, 1.25], dtype), 0.7
    more = (0.5,) if function is ops.lerp else ()
    for order in (1, -1):
        call = lambda x, order=order: function(*(x, number)[::order], *more)
        want = reference(*(x.astype(float), number)[::order])
        y = call(ad.Tensor(x))
        assert y.dtype == (ad.complex64 if want.dtype.kind == "c" else dtype)
        np.testing.assert_allclose(plain(y), want, rtol=1e-6 if dtype == "float32" else 5e-3)
        assert ad.grad(lambda x, call=call: ops.real(call(x)))(ad.Tensor(x)).dtype == dtype

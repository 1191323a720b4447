"""Methods of Tensor whose arguments or results mean something else in MindSpore: as in NumPy, or refused."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from hypothesis.extra import numpy as hnp

import adjoint as ad

pytestmark = pytest.mark.filterwarnings(
    "ignore::adjoint.PromotionWarning"
)  # NumPy's numbers promote, as they do to arrays

TABLE = np.arange(6.0).reshape(2, 3) - 2.0
METHODS = ["sum", "mean", "max", "min", "prod", "var", "std", "any", "all", "argmax", "argmin"]
ARGUMENTS = [
    ((),),
    (0,),
    ((0, 1),),
    (0, None),
    (0, np.float32),
    (0, "float64"),
    (1, np.zeros(2)),
    (None, np.dtype("f8")),
]


@pytest.mark.parametrize("how", [lambda f: lambda x: f(ad.Tensor(x)), ad.jit], ids=["dynamic", "static"])
@pytest.mark.parametrize("arguments", ARGUMENTS, ids=[str(i) for i in range(len(ARGUMENTS))])
@pytest.mark.parametrize("name", METHODS)
def test_a_method_agrees_with_numpy_or_is_refused(name: str, arguments: Any, how: Any) -> None:
    try:
        found = how(lambda x: getattr(x, name)(*arguments))(TABLE)
    except (TypeError, ValueError):
        assert arguments not in [(0,)]
        return
    expected = getattr(TABLE, name)(*arguments)
    assert found.shape == expected.shape and found.dtype == expected.dtype
    np.testing.assert_allclose(found.asnumpy(), expected)


WIDE = (np.arange(6).reshape(2, 3) - 2) * 37
CALLS: list[Any] = [
    *(lambda x, m=m: getattr(x, m)() for m in (*METHODS, "cumsum", "cumprod", "round", "ravel", "argsort", "trace", "conj", "copy")),
    *(lambda x, m=m, d=d: getattr(x, m)(dtype=d) for m in ("sum", "prod", "cumsum", "cumprod")
      for d in ("int8", "int16", "uint8", "float32", "float64", "bool", "complex64")),
    lambda x: x.clip(-40, 30), lambda x: x.clip(0), lambda x: x.clip(0.5, 3), lambda x: x.round(1), lambda x: x.dot(x.T), lambda x: x.round(-1),
    lambda x: x.repeat(2), lambda x: x.repeat([1, 2], 0), lambda x: x.take([0, -1]), lambda x: x.diagonal(1), lambda x: x.real, lambda x: x.imag,
    lambda x: x.astype("int8"), lambda x: x.astype("uint8"), lambda x: x.astype(bool), lambda x: x.astype("float32"), lambda x: x.astype(complex),
    lambda x: -x, lambda x: ~x, lambda x: abs(x), lambda x: x**2, lambda x: x**-1, lambda x: x // 7, lambda x: x % 7,
    lambda x: 7 // x, lambda x: 7 % x, lambda x: x / 7, lambda x: x << 1, lambda x: x >> 1, lambda x: x & 3, lambda x: divmod(x, 3), lambda x: x @ x.T,
    lambda x: x + True, lambda x: x * 2.5, lambda x: x * 1j, lambda x: x + np.float32(1), lambda x: x - np.int64(1), lambda x: np.int8(3) * x,
]  # fmt: skip


@pytest.mark.filterwarnings("ignore::RuntimeWarning", "ignore:Casting complex values")
@pytest.mark.parametrize("dtype", ["float64", "float32", "int8", "int32", "uint8", "bool", "complex128"])
@pytest.mark.parametrize("call", CALLS, ids=range(len(CALLS)))
def test_a_method_of_any_dtype_agrees_with_numpy_or_is_refused(call: Any, dtype: str) -> None:
    table = WIDE.astype(dtype)
    for how in (lambda x: call(ad.Tensor(x)), ad.jit(call), lambda x: ad.vmap(call)(x[None])):
        try:
            found = how(table)
        except (TypeError, ValueError, OverflowError):
            continue
        expected = call(table)
        for g, e in zip(*((v if isinstance(v, tuple) else (v,)) for v in (found, expected)), strict=True):
            g = g.asnumpy().reshape(np.shape(e))
            assert g.dtype == e.dtype
            np.testing.assert_allclose(g, e, rtol=1e-5, atol=1e-7)


@given(hnp.arrays(np.float64, hnp.array_shapes(min_dims=1, max_dims=3, max_side=3), elements=st.integers(-2, 2)))
@settings(max_examples=30, deadline=None)
def test_positions_of_a_method_index_as_in_numpy(x: np.ndarray) -> None:
    value, slope = ad.value_and_grad(lambda x: (x[(x > 0).nonzero()] ** 2).sum())(x)
    np.testing.assert_allclose(np.asarray(value), (x[x > 0] ** 2).sum())
    np.testing.assert_allclose(slope.asnumpy(), np.where(x > 0, 2 * x, 0))
    rows = ad.Tensor(x).nonzero(as_tuple=False)
    np.testing.assert_array_equal(rows.asnumpy(), np.argwhere(x))


@pytest.mark.parametrize(
    ("f", "order"), [(np.ravel, "K"), (np.ravel, "A"), (lambda x, order: np.reshape(x, -1, order), "A")]
)
def test_orders_of_memory_are_refused(f: Any, order: str) -> None:
    flat = lambda x: f(x.T, order)
    for call in (lambda x: flat(ad.Tensor(x)), ad.jit(flat), ad.grad(lambda x: flat(x)[1])):
        with pytest.raises(ValueError, match=f"order '{order}' depends on how .*\\n.*test_methods.py"):
            call(TABLE)
    np.testing.assert_array_equal(f(ad.Tensor(TABLE[0]), order), TABLE[0])


@pytest.mark.filterwarnings("ignore:the matrix subclass")
def test_a_matrix_as_a_result_is_refused() -> None:
    with pytest.raises(TypeError, match="np.matrix"):
        ad.jit(lambda x: np.matrix(x))(TABLE)

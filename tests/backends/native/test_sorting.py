"""Sorting, the largest few, partitions and running places as machine code: every dtype, axis and way to sort, against NumPy."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import adjoint as ad
from adjoint import ops
from adjoint.ops.along_axis import ArgPartition, ArgSort, ArgTopK, CumArgMax

DTYPES = ("float32", "float64", "int32", "int64", "bool")
#: Around the lengths at which the way to sort changes; more axes, and none of the elements along others.
SHAPES = (((1,), 0), ((3,), 0), ((17,), 0), ((48, 2), 0), ((49,), 0), ((2, 65, 3), 1), ((3, 300), 1), ((6000,), 0))


def numbers(dtype: str, shape: tuple[int, ...]) -> np.ndarray:
    """With many equal ones, and all that is odd."""
    rng = np.random.default_rng(sum(shape))
    if dtype == "bool":
        return rng.integers(0, 2, shape).astype(bool)
    if dtype.startswith("int"):
        range_of = np.iinfo(dtype)
        rare = rng.integers(range_of.min, range_of.max, shape, dtype)
        return np.where(rng.random(shape) < 0.3, rare, rng.integers(-3, 4, shape).astype(dtype))
    odd = np.array([0.0, -0.0, np.inf, -np.inf, np.nan, -np.nan, 5e-324, -1e-45, 1.0], dtype)
    return np.where(rng.random(shape) < 0.3, rng.choice(odd, shape), rng.normal(size=shape).astype(dtype))


def cards(axis: int, size: int) -> list[Any]:
    some = {1, min(5, size), min(33, size), min(70, size), size // 5, size}
    parts = [(0,), (size // 2,), (-1, size // 3), tuple(range(0, size, max(size // 10, 1)))]
    return [
        *(ArgSort(axis, descending) for descending in (False, True)),
        *(ArgTopK(axis, k, largest) for k in sorted(some) for largest in (False, True)),
        *(ArgPartition(axis, kth) for kth in parts),
        CumArgMax(axis),
    ]


@pytest.mark.parametrize("dtype", DTYPES)
@pytest.mark.parametrize(("shape", "axis"), SHAPES)
def test_places(shape: tuple[int, ...], axis: int, dtype: str) -> None:
    x = numbers(dtype, shape)
    every = cards(axis, shape[axis])
    compiled = ad.jit(lambda x: tuple(op(x) for op in every))
    assert "in the interpreter" not in compiled.explain(x)
    for op, found in zip(every, compiled(x), strict=True):
        np.testing.assert_array_equal(found, op.eval(np, x), err_msg=str(op), strict=True)
        if isinstance(op, ArgSort) and not op.descending:
            np.testing.assert_array_equal(found, np.argsort(x, axis, stable=True))
        if isinstance(op, ArgPartition):
            parted = np.take_along_axis(x, found.asnumpy(), axis).take(op.kth, axis)
            np.testing.assert_array_equal(parted, np.sort(x, axis).take(op.kth, axis))


def test_arrays_that_are_no_rows() -> None:
    x = numbers("float64", (70, 8))[::2, ::-3]
    for y in (x, x.T, np.asfortranarray(x)):
        np.testing.assert_array_equal(ad.jit(lambda y: ops.argsort(y, 0))(y), np.argsort(y, 0, stable=True))


def middle(x: Any, n: Any) -> Any:
    """Sorting in a loop and in a branch."""
    for _ in range(n):
        y, order = ops.sort(x)
        if y[0] < 0.0:
            x = x + 0.1 * ops.topk(x, 3)[0][-1]
        else:
            x = y * np.linspace(0.5, 1.5, 5)
            x = x - ops.median(x)
    return ops.sum(x * x)


def test_loops_and_branches_around_it_stay_compiled() -> None:
    x, n = np.array([0.3, -0.7, 1.1, 0.2, -0.4]), ad.Tensor(7)
    run = ad.jit(ad.value_and_grad(middle))
    assert "in the interpreter" not in run.explain(x, n)
    (value, slope), (wanted, dynamic) = run(x, n), ad.value_and_grad(middle)(x, 7)
    np.testing.assert_allclose(value, wanted, rtol=1e-12)
    np.testing.assert_allclose(slope, dynamic, rtol=1e-12)
    h = 1e-6 * np.eye(5)
    differences = [(middle(x + e, 7) - middle(x - e, 7)) / 2e-6 for e in h]
    np.testing.assert_allclose(slope, differences, rtol=1e-6)


def test_second_derivatives_and_batches() -> None:
    def loss(x: Any) -> Any:
        return (ops.sort(x)[0] * np.arange(60.0)).sum() ** 2 + (np.partition(x, 20)[20] ** 3)

    x = numbers("int64", (60,)) % 1000 + np.linspace(0.0, 0.5, 60)
    second = ad.grad(lambda x: (ad.grad(loss)(x) ** 2).sum())
    np.testing.assert_allclose(ad.jit(second)(x), second(x), rtol=1e-12)
    rows = np.stack([x, x[::-1], -x])
    np.testing.assert_array_equal(ad.jit(ad.vmap(ops.argsort))(rows), np.argsort(rows, 1, stable=True))

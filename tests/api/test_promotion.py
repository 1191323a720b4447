"""A NumPy number or array that makes float64 of a compiled program's float32 is named once; programs that mean it are left alone."""

from __future__ import annotations

import warnings
from typing import Any

import numpy as np
import pytest

import adjoint as ad
from adjoint import nn, ops

X = np.ones((4, 3), np.float32)
HALF, TABLE, WIDE = np.float64(0.5), np.linspace(0.0, 1.0, 3), np.random.default_rng(0).normal(size=(3, 3))


def layer(x: Any) -> Any:
    y = ops.tanh(x)
    return y * HALF  # layer


def deep(x: Any) -> Any:
    return layer(x * 2.0).sum()


def branch(x: Any) -> Any:
    y = ops.sum(x.astype(np.float64))
    if x[0, 0] > 0:
        y = ops.sum(x * TABLE)  # branch
    return y


def loop(x: Any, n: Any) -> Any:
    s = np.float64(0.0)
    for _ in range(n):
        s = s + ops.sum(x * TABLE)  # loop
    return s


def listed(x: Any) -> Any:
    return x * np.array([1.0, 2.0, 3.0])  # listed


def ranged(x: Any) -> Any:
    return x + np.arange(3)  # ranged


def product(x: Any) -> Any:
    return x @ WIDE  # product


PROMOTED: list[tuple[Any, tuple[Any, ...], str, str]] = [
    (deep, (X,), "layer", "Mul makes float64 of float32[4, 3]: the other operand np.float64(0.5) is a NumPy number"),
    (ad.value_and_grad(deep), (X,), "layer", "write `float(value)`"),
    (branch, (X,), "branch", "comes from an array outside the function, float64[3]"),
    (loop, (X, ad.Tensor(2)), "loop", "comes from an array outside the function, float64[3]"),
    (listed, (X,), "listed", "`array.astype(np.float32)`"),
    (ranged, (X,), "ranged", "comes from an array outside the function, int64[3]"),
    (product, (X,), "product", "MatMul makes float64 of float32[4, 3]"),
    (lambda x: ad.jit(layer)(x), (X,), "layer", "Mul makes float64"),
]


def told(f: Any, *args: Any) -> list[warnings.WarningMessage]:
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        for _ in range(3):
            f(*args)
    return caught


def line_of(mark: str) -> int:
    with open(__file__, encoding="utf-8") as file:
        (found,) = [k for k, text in enumerate(file, 1) if text.rstrip().endswith(f"  # {mark}")]
    return found


@pytest.mark.parametrize("case", range(len(PROMOTED)))
def test_the_line_and_the_fix_are_named_once(case: int) -> None:
    f, args, mark, words = PROMOTED[case]
    (found,) = told(ad.jit(f, backend="interpreter"), *args)
    assert found.category is ad.PromotionWarning
    assert (found.filename, found.lineno) == (__file__, line_of(mark))
    assert f"test_promotion.py:{line_of(mark)}: " in str(found.message)
    assert words in str(found.message)


def test_a_float64_argument_of_a_network() -> None:
    net = nn.SequentialCell(nn.Dense(3, 4), nn.Tanh(), nn.Dense(4, 1))
    (found,) = told(ad.jit(lambda data: net(data), backend="interpreter"), np.ones((5, 3)))
    assert "MatMul makes float64 of float32[3, 4]: `data` is float64[5, 3]" in str(found.message)
    assert "`data.astype(np.float32)`" in str(found.message)
    assert not told(ad.jit(lambda data: net(data), backend="interpreter"), np.ones((5, 3), np.float32))


W, B = ad.Parameter(ad.Tensor([1.0, 2.0, 3.0]), name="w"), ad.Parameter(ad.Tensor(1.0), name="b")
MEANT: list[tuple[Any, tuple[Any, ...]]] = [
    (lambda x: x * 2.0 * np.pi * 3, (X,)),  # Python's numbers
    (lambda x: x * np.float32(0.5) * ad.Tensor([1.0, 2.0, 3.0]), (X,)),
    (lambda x: x * np.arange(3, dtype=np.int16), (X,)),
    (lambda x: x.astype(np.float64) * TABLE, (X,)),  # asked for
    (lambda x: np.sum(x, dtype=np.float64) * HALF, (X,)),
    (lambda x: ops.sum(x) * HALF, (X,)),  # a number, not an array
    (lambda x, y: x * y, (X, np.ones(3))),  # both were given
    (lambda x: x * TABLE, (np.ones((4, 3)),)),
    (
        lambda w: ((WIDE @ w - TABLE) ** 2).sum(),
        (ad.Tensor([1.0, 2.0, 3.0]),),
    ),  # the data are float64, a few numbers are not
    (lambda a, y: ((a @ W + B - y) ** 2).sum(), (np.ones((9, 3)), np.ones(9))),
    (lambda x: x[np.array([0, 2])] > HALF, (X,)),
    (lambda x: np.polyder(x[:, 0]).sum() + np.polyint(x[:, 0]).sum(), (X,)),  # the integers are the function's own
]


@pytest.mark.parametrize("case", range(len(MEANT)))
def test_what_is_meant_is_left_alone(case: int) -> None:
    f, args = MEANT[case]
    assert not told(ad.jit(f, backend="interpreter"), *args)


def test_the_warning_can_be_switched_off() -> None:
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        warnings.simplefilter("ignore", ad.PerformanceWarning)
        ad.jit(listed, backend="interpreter")(X)
    assert not caught

"""Why a function was compiled again: which argument, variable or attribute, what it was and what it is; and a warning if it never ends."""

from __future__ import annotations

import dataclasses
import warnings
from collections import namedtuple
from typing import Any

import numpy as np
import pytest

import adjoint as ad
from adjoint import nn, ops

A, Pair = np.ones(3), namedtuple("Pair", "a b")


@dataclasses.dataclass
class Config:
    w: Any
    n: int = 3


class Thing:
    pass


def plain(p: Any, x: Any = 1.0) -> Any:
    return x * 2.0


OTHER = "the arguments have another structure: "
CALLS: list[tuple[Any, Any, str]] = [
    (({"w": A},), ({"w": A, "b": 1.0},), OTHER + "`p['b']` is new: a Python number (float64)"),
    (({"w": A, "b": A},), ({"w": A},), OTHER + "`p['b']` is missing, which was float64[3]"),
    (([A, A],), ([A],), OTHER + "`p` changed from a list of 2 to a list of 1"),
    (([A, A],), ((A, A),), OTHER + "`p` changed from a list of 2 to a tuple of 2"),
    (
        (1, 2.0),
        (1.0, 2.0),
        OTHER + "`p` changed from 1 to a Python number (float64): one is an input, the other part of the program",
    ),
    ((None, 2.0), (A, 2.0), OTHER + "`p` changed from None to float64[3]"),
    ((A,), (A, 2.0), OTHER + "`x` is new: a Python number (float64)"),
    ((1, 2.0), (1, np.float32(2.0)), "dtype of `x` changed from float64 to float32"),
    ((1, 2.0), (1, np.float64(2.0)), "`x` changed from a Python number to float64 of NumPy or a Tensor"),
    (("mode", 2.0), ("other", 2.0), "static value of `p` changed from 'mode' to 'other'"),
    ((Config(A), 2.0), (Config(A, 4), 2.0), "static value of `p.n` changed from 3 to 4"),
    ((Pair(A, 1), 2.0), (Pair(np.ones((2, 2)), 1), 2.0), "shape of `p.a` changed from (3,) to (2, 2)"),
    ((Thing(), 2.0), (Thing(), 2.0), "static value of `p` changed to another Thing"),
]


@pytest.mark.parametrize("case", range(len(CALLS)))
def test_arguments(case: int) -> None:
    first, second, reason = CALLS[case]
    f = ad.jit(plain, backend="interpreter")
    f(*first)
    f(*second)
    assert [c.reason for c in f.compilations] == ["first call", reason]


def test_arguments_by_name_and_static_ones() -> None:
    f = ad.jit(plain, backend="interpreter")
    f(A, x=2.0)
    f(A, 2.0)
    assert f.compilations[-1].reason == OTHER + "`x` is passed by position and was passed by its name"
    g = ad.jit(plain, static_argnames="p", backend="interpreter")
    g(np.arange(1000.0), 2.0)
    g(np.arange(1000.0) + 1, 2.0)
    now, was = "float64[1000] [1, 2, 3, 4, …]", "float64[1000] [0, 1, 2, 3, …]"
    assert g.compilations[-1].reason == f"static value of `p` changed from {was} to {now}"


def test_the_order_in_memory() -> None:
    def written(x: Any) -> Any:
        x = x.reshape(-1)
        x[0] = 1.0
        return x.sum()

    f = ad.jit(written, backend="interpreter")
    f(np.ones((2, 3)))
    f(np.ones((3, 2)).T)
    assert f.compilations[-1].reason == "the order of `x` in memory changed"


def test_variables_and_their_contents() -> None:
    array, items, settings, tensor = np.arange(4.0), [1, 2], {"lr": 0.1, "n": 3}, ad.Tensor([1.0, 2.0])

    def scale(x: Any) -> Any:
        return x * array.sum() * items[0] * settings["lr"] * tensor

    f = ad.jit(scale, backend="interpreter")
    f(1.0)
    array[1] = 7.0
    f(1.0)
    array = np.arange(5.0)
    f(1.0)
    items[0] = 9
    f(1.0)
    settings["lr"] = 0.2
    f(1.0)
    tensor = ad.Tensor([1.0, 3.0])
    f(1.0)
    assert [c.reason for c in f.compilations[1:]] == [
        "`array` changed: element [1] from 1 to 7",
        "`array` changed from float64[4] [0, 7, 2, 3] to float64[5] [0, 1, 2, 3, …]",
        "`items[0]` changed from 1 to 9",
        "`settings['lr']` changed from 0.1 to 0.2",
        "`tensor` changed: element [1] from 2 to 3",
    ]


class Net(nn.Cell):
    def __init__(self) -> None:
        super().__init__()
        self.w = ad.Parameter(ad.Tensor([1.0, 1.0]))
        self.k: Any = 3
        self.table = np.ones(2, np.float32)

    def construct(self, x: Any) -> Any:
        return x * self.w * self.k * self.table


def test_attributes_of_networks() -> None:
    net = Net()
    f = ad.jit(net, backend="interpreter")
    x = np.ones(2, np.float32)
    f(x)
    net.k = 4
    f(x)
    net.table = np.zeros(2, np.float32)
    f(x)
    net.set_train()
    f(x)
    assert [c.reason for c in f.compilations[1:]] == [
        "attribute `k` of Net changed from 3 to 4",
        "attribute `table` of Net changed from float32[2] [1, 1] to float32[2] [0, 0]",
        "attribute `training` of Net changed from False to True",
    ]


def test_an_attribute_that_changes_in_every_call_is_named() -> None:
    net = Net()
    f = ad.jit(net, backend="interpreter")
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        for k in range(12):
            net.k = float(k)
            f(np.ones(2, np.float32))  # the call
    (told,) = caught
    assert told.category is ad.RecompileWarning
    assert issubclass(told.category, ad.PerformanceWarning)
    assert told.filename == __file__
    with open(__file__, encoding="utf-8") as file:
        assert file.read().splitlines()[told.lineno - 1].endswith("# the call")
    assert "attribute `k` of Net changes (last values: 2.0, 3.0, 4.0)" in str(told.message)
    assert "Parameter" in str(told.message)
    assert "argument" in str(told.message)


def test_the_way_out_of_the_warning_works() -> None:
    net = Net()
    net.k = ad.Parameter(ad.Tensor(1.0), requires_grad=False)
    f = ad.jit(net, backend="interpreter")
    for k in range(8):
        net.k.set_data(ad.Tensor(float(k)))
        np.testing.assert_array_equal(f(np.ones(2, np.float32)), [k, k])
    assert len(f.compilations) == 1


def test_no_warning_of_an_attribute_that_changes_now_and_then() -> None:
    net = Net()
    f = ad.jit(net, backend="interpreter")
    for k in range(8):  # epochs
        net.k = float(k)
        net.set_train(k % 2 == 0)
        for _ in range(3):
            f(np.ones(2, np.float32))
    assert len(f.compilations) >= 8


def test_a_variable_that_changes_in_every_call_is_named() -> None:
    count = 0
    f = ad.jit(lambda x: x * count, backend="interpreter")
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        for _ in range(9):
            count += 1
            f(1.0)
    (told,) = caught
    assert told.category is ad.RecompileWarning
    assert "because `count` changes (last values: 5, 6, 7)" in str(told.message)


def test_floats_outside_become_inputs_without_a_word() -> None:
    rate = 0.0
    f = ad.jit(lambda x: ops.sin(x) * rate, backend="interpreter")
    for k in range(12):
        rate = k / 7
        np.testing.assert_allclose(f(1.0), np.sin(1.0) * rate)
    assert len(f.compilations) < 6

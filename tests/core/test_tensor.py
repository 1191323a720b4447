"""Tensor: conversion, text, containers, operators, interchange."""

from __future__ import annotations

import math
import operator

import numpy as np
import pytest

import adjoint as ad
from adjoint import Tensor, ops


def test_dtypes_of_what_it_holds():
    assert Tensor(1.0).dtype == ad.float32
    assert Tensor([1.0, 2.0]).dtype == ad.float32
    assert Tensor(1).dtype == ad.int64
    assert Tensor(True).dtype == ad.bool_
    assert Tensor(np.float64(1.0)).dtype == ad.float64
    assert Tensor(np.ones(2)).dtype == ad.float64
    assert Tensor([1, 2], ad.float16).dtype == ad.float16
    assert Tensor([1.0], ad.bfloat16).dtype.name == "bfloat16"
    assert Tensor(Tensor([1, 2]), ad.float64).dtype == ad.float64


def test_it_owns_its_values():
    array = np.ones(3)
    x = Tensor(array)
    array[0] = 7
    assert x[0].item() == 1
    out = x.asnumpy()
    out[0] = 9
    assert x[0].item() == 1
    view = np.asarray(x)
    with pytest.raises(ValueError, match="read-only"):
        view[0] = 5


def test_a_list_of_tensors_is_stacked_and_stays_differentiable():
    g = ad.grad(lambda a, b: (Tensor([a, b, [1.0, 2.0][0]]) ** 2).sum(), (0, 1))(3.0, 4.0)
    assert [v.item() for v in g] == [6, 8]
    assert Tensor([[Tensor(1.0), 2.0], [3.0, Tensor(4.0)]]).shape == (2, 2)


def test_text():
    assert repr(Tensor([1.0, 2.0])) == "Tensor(shape=[2], dtype=Float32, value= [ 1.00000000e+00,  2.00000000e+00])"
    assert repr(Tensor([1, 2])) == "Tensor(shape=[2], dtype=Int64, value= [1, 2])"
    assert repr(Tensor(1.5)) == "Tensor(shape=[], dtype=Float32, value= 1.5)"
    assert str(Tensor([1.0, 2.0])) == "[1. 2.]"
    assert f"{Tensor(2.0):.3f}" == "2.000"
    assert f"{Tensor([1.0])}" == "[1.]"
    assert repr(ad.Parameter(1.0, name="w")).startswith("Parameter(name=w, requires_grad=True, shape=[]")
    seen = []
    ad.grad(lambda x: seen.append(f"{x:.1f} {x!r}") or x)(2.0)
    assert seen == ["2.0 Tensor(shape=[], dtype=Float64, value= 2.0)"]


def test_sizes():
    x = ops.ones((2, 3))
    assert (x.shape, x.ndim, x.size, x.itemsize, x.nbytes, x.strides) == ((2, 3), 2, 6, 4, 24, (12, 4))
    assert x.T.shape == (3, 2)
    assert x.mT.shape == (3, 2)
    assert x.dim() == 2
    assert x.device == "cpu"
    assert len(x) == 2


def test_numbers():
    assert float(Tensor(2.5)) == 2.5
    assert int(Tensor([3])) == 3
    assert complex(Tensor(1 + 2j)) == 1 + 2j
    assert math.sqrt(Tensor(4.0)) == 2
    assert [10, 20, 30][Tensor(1)] == 20
    assert range(Tensor(3))[-1] == 2
    assert bool(Tensor([True])) and not Tensor(0.0)
    assert Tensor([[1, 2]]).tolist() == [[1, 2]]
    assert 2.0 in Tensor([1.0, 2.0])
    assert 3.0 not in Tensor([1.0, 2.0])


def test_a_whole_number_of_a_followed_tensor_is_allowed():
    def f(x):
        return x * int(x) if x > 1 else x

    assert ad.grad(f)(2.5).item() == 2


BINARY = {
    operator.add: 2.0, operator.sub: 2.0, operator.mul: 2.0, operator.truediv: 2.0, operator.floordiv: 2.0,
    operator.mod: 2.0, operator.pow: 2.0, operator.lt: 2.0, operator.le: 2.0, operator.gt: 2.0, operator.ge: 2.0,
    operator.eq: 2.0, operator.ne: 2.0, divmod: 2.0, operator.and_: 6, operator.or_: 6, operator.xor: 6,
    operator.lshift: 2, operator.rshift: 1,
}  # fmt: skip


@pytest.mark.parametrize("op", BINARY, ids=lambda f: f.__name__)
def test_binary_operators_both_ways(op):
    other = BINARY[op]
    array = np.array([1, 2, 3]) if isinstance(other, int) else np.array([1.0, 2.0, 3.5])
    for left, right in ((Tensor(array), other), (other, Tensor(array)), (array, Tensor(array)), (Tensor(array), array)):
        plain = [np.asarray(v) if not isinstance(v, Tensor) else v.asnumpy() for v in (left, right)]
        expected = op(*(v.item() if v.ndim == 0 else v for v in plain))
        np.testing.assert_array_equal(np.asarray(op(left, right)), np.asarray(expected))


@pytest.mark.parametrize(
    "op", [operator.neg, operator.pos, abs, operator.invert, round, math.floor, math.ceil, math.trunc]
)
def test_unary_operators(op):
    array = np.array([1, -2]) if op is operator.invert else np.array(-1.7)
    expected = op(array) if array.ndim else op(array.item())
    np.testing.assert_array_equal(np.asarray(op(Tensor(array))), expected)


def test_matrix_product_both_ways():
    a, b = np.arange(6.0).reshape(2, 3), np.arange(3.0)
    for left, right in ((Tensor(a), b), (a, Tensor(b)), (Tensor(a), Tensor(b))):
        np.testing.assert_array_equal(np.asarray(left @ right), a @ b)


def test_iteration_and_unpacking_are_differentiable():
    def f(x):
        a, b, c = x
        return a * b + sum(v * v for v in x) + c

    np.testing.assert_allclose(ad.grad(f)(np.array([1.0, 2.0, 3.0])), [2 + 2, 1 + 4, 1 + 6])


def test_interchange():
    x = Tensor(np.arange(3.0))
    np.testing.assert_array_equal(np.from_dlpack(x), [0, 1, 2])
    with pytest.raises(TypeError, match="__dlpack__ would cut the gradient"):
        ad.grad(lambda v: np.from_dlpack(v))(x)


def test_methods_are_the_functions():
    x = Tensor([[3.0, 1.0], [2.0, 4.0]])
    assert x.sum().item() == 10
    np.testing.assert_array_equal(x.max(axis=1), [3, 4])
    np.testing.assert_array_equal(x.reshape(4).argsort(), [1, 2, 0, 3])
    np.testing.assert_array_equal(x.transpose(1, 0), x.asnumpy().T)
    np.testing.assert_array_equal(x.view(-1), [3, 1, 2, 4])
    assert x.astype(ad.int32).dtype == ad.int32
    assert x.float().dtype == ad.float32 and x.long().dtype == ad.int64 and x.bool().dtype == ad.bool_
    assert Tensor([1 + 2j]).real.item() == 1 and Tensor([1 + 2j]).imag.item() == 2


def test_half_precision_rounds_once():
    x = Tensor(np.array([1.0, 2.0, 3.0]), ad.float16)
    assert (x / 3).dtype == ad.float16
    assert (x * ops.ones(3)).dtype == ad.float32
    assert (x * ops.ones(3, ad.int64)).dtype == ad.float16
    assert ops.sum(ops.full((4096,), 1.0, ad.float16)).item() == 4096

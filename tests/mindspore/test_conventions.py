"""The rules of MindSpore for dtypes are its face's alone: the engine keeps its own."""

from __future__ import annotations

import numpy as np

import adjoint as ad
from adjoint.mindspore.common import conventions


def kinds() -> list[str]:
    n, x, w = ad.Tensor([1, 2]), ad.Tensor([0.5, 1.5]), ad.Parameter(ad.Tensor([1, 2]), name="w")
    found = (n * 0.5, n + x, n / 2, n // 2, 2.0**n, n % 0.5, x * 2, n - 1, w * 0.5, ad.Tensor([True]) + 1.5)
    compiled = (ad.jit(lambda a, b: a * b)(n, x), ad.jit(lambda a: a / 2)(n))
    return [y.asnumpy().dtype.name for y in (*found, *compiled)]


def test_integers_give_way_to_floats_of_any_width() -> None:
    assert kinds() == ["float32"] * 3 + ["int64"] + ["float32"] * 3 + ["int64"] + ["float32"] * 4


def test_the_engine_follows_numpy() -> None:
    conventions.switch_off()
    assert kinds() == ["float64"] * 3 + ["int64"] + ["float64"] * 2 + ["float32", "int64"] + ["float64"] * 4
    assert repr(ad.Parameter(ad.Tensor([1.0]), name="w")).startswith("Parameter(name=w, requires_grad=True, shape=[1]")
    assert ad.Tensor(np.ones((2, 3))).max(0).shape == (3,)


def test_switching_twice_is_switching_once() -> None:
    before = ad.Tensor.max
    conventions.switch_on()
    conventions.switch_off()
    assert ad.Tensor.max is not before
    conventions.switch_on()
    assert (
        str(ad.Parameter(ad.Tensor([1.0]), name="w"))
        == "Parameter (name=w, shape=(1,), dtype=Float32, requires_grad=True)"
    )


def test_gradients_keep_the_dtypes_of_their_inputs() -> None:
    n, x = ad.Tensor([2, 3]), ad.Tensor([0.5, 1.5])
    for transform in (ad.grad, lambda f: ad.jit(ad.grad(f))):
        found = transform(lambda x, n: (x * n + n / 2).sum())(x, n)
        assert found.dtype == np.float32
        np.testing.assert_allclose(found.asnumpy(), [2, 3])

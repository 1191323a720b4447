"""Arrays that adjoint.numpy makes: from tracked parts, by assignment, as copies, by the functions that create, in `out=`."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import adjoint as ad
import adjoint.numpy as anp


def test_arrays_from_tracked_parts() -> None:
    def f(x: Any, y: Any) -> Any:
        a = anp.array([[x, 2.0], [x * y, y]])
        return anp.linalg.det(a) + anp.asarray([x, y, 1]).sum()

    np.testing.assert_allclose([g.item() for g in ad.grad(f, (0, 1))(3.0, 5.0)], [5 - 10 + 1, 3 - 6 + 1])
    assert anp.array([ad.Tensor(1.0), 2]).dtype == np.float64


def test_assignment_is_differentiable() -> None:
    def f(x: Any) -> Any:
        a = anp.zeros((3, 3))
        a[0] = x
        a[1:, 1] = x[:2] * x[2]
        a[a > 4.0] = 0.0
        np.add.at(a, ([0, 0], [1, 1]), x[:2])
        return (a * anp.arange(9.0).reshape(3, 3)).sum()

    x = np.array([1.0, 2.0, 3.0])
    np.testing.assert_allclose(ad.grad(f)(x).asnumpy(), [4 * 3 + 1, 1 + 1, 2 + 4 * 1])


def test_a_copy_is_its_own_and_asarray_is_not() -> None:
    x = anp.array([1.0, 2.0])
    y, z = anp.copy(x), anp.asarray(x)
    y[0], z[1] = 9.0, 5.0
    assert x.tolist() == [1.0, 5.0] and y.tolist() == [9.0, 2.0]


def test_an_array_is_copied_in() -> None:
    theirs = np.ones(2)
    x, y = anp.array(theirs), anp.asarray(theirs)
    theirs[0] = 7.0
    assert x.tolist() == y.tolist() == [1.0, 1.0]


@pytest.mark.parametrize("build", [
    lambda x: anp.full(3, x), lambda x: anp.full_like(anp.ones(3), x), lambda x: anp.arange(0.0, x, x / 2.5),
    lambda x: anp.broadcast_to(x, (3,)), lambda x: anp.linspace(0, x, 3) + anp.linspace(x, 0, 3),
    lambda x: anp.fromfunction(lambda i: x + 0 * i, (3,)), lambda x: anp.block([x, x, x]),
], ids=range(7))  # fmt: skip
def test_creation_is_differentiable(build: Any) -> None:
    got, h = ad.grad(lambda x: build(x).sum())(2.0).item(), 1e-6
    assert got == pytest.approx((build(2.0 + h).sum().item() - build(2.0 - h).sum().item()) / (2 * h))


def test_results_are_tensors_whatever_comes_in() -> None:
    for y in (
        anp.sum([1.0, 2.0]),
        anp.sin(0.5),
        anp.add(1, 2),
        anp.where([True], 1.0, 2.0),
        anp.linalg.norm([3.0, 4.0]),
    ):
        assert isinstance(y, ad.Tensor)


def test_ufuncs_bind_out() -> None:
    y, plain = anp.zeros(2), np.zeros(2)
    assert anp.add([1.0, 2.0], 1.0, out=y) is y and y.tolist() == [2.0, 3.0]
    assert anp.add.reduce(anp.ones((3, 2)), out=y) is y and y.tolist() == [3.0, 3.0]
    assert anp.multiply(y, 2.0, plain) is plain and plain.tolist() == [6.0, 6.0]

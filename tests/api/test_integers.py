"""Integers with derivatives, where a program's rules say so: dynamic, compiled, and through loops."""

from __future__ import annotations

from collections.abc import Iterator

import pytest

import adjoint as ad
from adjoint.core import context


@pytest.fixture
def _integers() -> Iterator[None]:
    with context.setting(context.integers, True):
        yield


def grown(x, y):
    while x < 10:
        x = x * 2
        y = y + x
    return y * x


@pytest.mark.usefixtures("_integers")
@pytest.mark.parametrize("wrap", [lambda f: f, ad.jit])
def test_integers_have_integer_gradients(wrap):
    x, y = ad.Tensor(3), ad.Tensor(4)
    for gradient in (wrap(ad.grad(grown, (0, 1))), ad.grad(wrap(grown), (0, 1))):
        dx, dy = gradient(x, y)
        assert (int(dx), int(dy), dx.dtype.kind, dy.dtype.kind) == (160, 12, "i", "i")
    assert int(ad.jvp(wrap(grown), (x, y), (ad.Tensor(1), ad.Tensor(0)))[1]) == 160


@pytest.mark.usefixtures("_integers")
def test_gradients_pass_casts_to_integers():
    assert float(ad.grad(lambda x: ad.ops.cast(x, "int32") * 2)(ad.Tensor(1.5))) == 2


def test_integers_have_none_otherwise():
    with pytest.raises(ad.NotDifferentiableError):
        ad.grad(grown)(ad.Tensor(3), ad.Tensor(4))

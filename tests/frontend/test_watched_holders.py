"""What distributions, sparse matrices and splines hold is watched: a compiled function that reads one sees what becomes of its Tensors."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import adjoint as ad
from adjoint import distributions as dist
from adjoint import sparse
from adjoint.scipy import interpolate, stats

X = np.array([1.5, 0.5])
KNOTS = np.array([0.0, 1.0, 2.0, 3.0])


def tensor(*values: float) -> Any:
    return ad.Tensor(np.array(values))


def normal() -> Any:
    return dist.Normal(tensor(0.0, 0.0), tensor(1.0, 1.0))


class Slower(dist.Bijector):
    factor = 2.0

    def forward(self, x: Any) -> Any:
        return x * self.factor

    def inverse(self, y: Any) -> Any:
        return y / self.factor

    def log_slope(self, x: Any) -> Any:
        return x * 0 + float(np.log(self.factor))


class Weighted(dist.Normal):
    factor = 2.0

    def log_prob(self, value: Any) -> Any:
        return super().log_prob(value) * self.factor


class Holder:
    def __init__(self, held: Any) -> None:
        self.held = held


def write(tensor_of: Callable[[Any], Any]) -> Callable[[Any], None]:
    def change(d: Any) -> None:
        tensor_of(d)[0] = 0.9

    return change


def log_prob(d: Any, x: Any) -> Any:
    return (d.log_prob(x) * ad.Tensor([1.0, 3.0])).sum()


def value(f: Any, x: Any) -> Any:
    return f(x).sum()


#: How an object is made, what is computed with it, what becomes of it.
CHANGED: dict[str, tuple[Callable[[], Any], Callable[[Any, Any], Any], Callable[[Any], None]]] = {
    "attribute": (normal, log_prob, lambda d: setattr(d, next(iter(d.arguments)), tensor(0.7, 1.9))),
    "in place": (normal, log_prob, write(lambda d: next(iter(d.arguments.values())))),
    "its mean": (normal, lambda d, x: (d.mean * x).sum(), write(lambda d: d.mean)),
    "in a list": (lambda: [normal()], lambda d, x: log_prob(d[0], x), write(lambda d: next(iter(d[0].arguments.values())))),
    "in an object": (
        lambda: Holder(normal()), lambda h, x: log_prob(h.held, x), write(lambda h: next(iter(h.held.arguments.values()))),
    ),
    "around another": (
        lambda: dist.TransformedDistribution(normal(), dist.AffineBijector(tensor(1.0, 1.0), tensor(2.0, 2.0))),
        log_prob, write(lambda d: d.bijectors[0].scale if hasattr(d, "bijectors") else d.bijector.scale),
    ),
    "a Bijector of the user's": (
        lambda: dist.TransformedDistribution(normal(), Slower()), log_prob, lambda d: setattr(Slower, "factor", 3.0),
    ),
    "a distribution of the user's": (
        lambda: Weighted(tensor(0.0, 0.0), tensor(1.0, 1.0)), log_prob, lambda d: setattr(Weighted, "factor", 3.0),
    ),
    "a matrix": (
        lambda: sparse.CSR(tensor(1.0, 2.0, 3.0), np.array([0, 0, 1]), np.array([0, 1, 3]), (2, 2)),
        lambda a, x: (a @ x).sum(), write(lambda a: a.values),
    ),
    "interp1d": (lambda: interpolate.interp1d(KNOTS, tensor(0.0, 2.0, 3.0, 1.0)), value, write(lambda f: f.y)),
    "a spline": (
        lambda: interpolate.BSpline(np.arange(8.0), tensor(0.0, 2.0, 3.0, 1.0), 3),
        lambda f, x: f(x + 3.0).sum(), lambda f: setattr(f, "c", f.c * 2.0),
    ),
    "of statistics": (lambda: [m := tensor(0.0, 0.0), stats.norm(m, 1.0)], lambda d, x: d[1].logpdf(x * x).sum(), write(lambda d: d[0])),
}  # fmt: skip


@pytest.mark.parametrize("name", CHANGED)
def test_a_change_of_what_an_object_holds_is_seen(name: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(Slower, "factor", 2.0)
    monkeypatch.setattr(Weighted, "factor", 2.0)
    make, compute, change = CHANGED[name]
    held, x = make(), ad.Tensor(X)
    slope = ad.grad(lambda x: compute(held, x))
    ways = [(lambda x: compute(held, x), ad.jit(lambda x: compute(held, x))), (slope, ad.jit(slope))]
    for plain, compiled in ways:
        for _ in range(3):
            np.testing.assert_allclose(compiled(x), plain(x), rtol=1e-6)
    before = [np.asarray(plain(x)) for plain, _ in ways]
    change(held)
    assert any(not np.allclose(plain(x), old) for (plain, _), old in zip(ways, before, strict=True))
    for plain, compiled in ways:
        for _ in range(2):
            np.testing.assert_allclose(compiled(x), plain(x), rtol=1e-6)


def test_an_object_that_is_an_argument() -> None:
    compiled, d, x = ad.jit(log_prob), normal(), ad.Tensor(X)
    for _ in range(3):
        np.testing.assert_allclose(compiled(d, x), log_prob(d, x), rtol=1e-6)
    next(iter(d.arguments.values()))[1] = 2.5
    for _ in range(2):
        np.testing.assert_allclose(compiled(d, x), log_prob(d, x), rtol=1e-6)

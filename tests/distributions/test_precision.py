"""The dtype of what distributions give, and their digits far from the middle: numbers of 60-digit arithmetic."""

from __future__ import annotations

import numpy as np
import pytest

import adjoint as ad
from adjoint import distributions as ds

#: Of one argument, and a value.
MAKE = {
    "Normal": (lambda p: ds.Normal(p, 1.0), 0.7), "LogNormal": (lambda p: ds.LogNormal(p, 1.0), 0.7), "HalfNormal": (ds.HalfNormal, 0.7),
    "Laplace": (lambda p: ds.Laplace(p, 1.0), 0.7), "Cauchy": (lambda p: ds.Cauchy(p, 1.0), 0.7), "Gumbel": (lambda p: ds.Gumbel(p, 1.0), 0.7),
    "Uniform": (lambda p: ds.Uniform(p, 4.0), 0.7), "Exponential": (ds.Exponential, 0.7), "Gamma": (lambda p: ds.Gamma(p, 1.0), 0.7),
    "Beta": (lambda p: ds.Beta(p, 1.0), 0.7), "StudentT": (lambda p: ds.StudentT(p * 5, 0.0, 1.0), 0.7), "Bernoulli": (ds.Bernoulli, 1.0),
    "Geometric": (ds.Geometric, 1.0), "Poisson": (ds.Poisson, 1.0), "Binomial": (lambda p: ds.Binomial(3, p), 1.0),
    "Categorical": (lambda p: ds.Categorical([p, 0.25]), 1), "Dirichlet": (lambda p: ds.Dirichlet([p, 2.0]), [0.5, 0.5]),
    "Normals": (lambda p: ds.MultivariateNormal([p, 0.0], [[1.0, 0.0], [0.0, 1.0]]), [0.0, 1.0]),
    "Exp": (lambda p: ds.TransformedDistribution(ds.Normal(p, 1.0), [ds.AffineBijector(0.1, 2.0), ds.ExpBijector()]), 0.7),
    "Sigmoid": (lambda p: ds.TransformedDistribution(ds.Normal(p, 1.0), ds.SigmoidBijector()), 0.7),
    "Tanh": (lambda p: ds.TransformedDistribution(ds.Normal(p, 1.0), ds.TanhBijector()), 0.7),
}  # fmt: skip


ASKED = {
    "sample": lambda p, x: p.sample((2,)), "log_prob": lambda p, x: p.log_prob(x), "prob": lambda p, x: p.prob(x),
    "cdf": lambda p, x: p.cdf(x), "icdf": lambda p, x: p.icdf(0.3), "mean": lambda p, x: p.mean, "variance": lambda p, x: p.variance,
    "stddev": lambda p, x: p.stddev, "entropy": lambda p, x: p.entropy(), "kl": lambda p, x: p.kl(p),
}  # fmt: skip


def results(make, value, run=lambda f: f) -> dict:
    """All that a distribution has in closed form, by name."""
    found = {}
    for name, ask in ASKED.items():
        try:
            ask(make(), value)
        except (NotImplementedError, ad.ArgumentError):
            continue
        found[name] = run(lambda ask=ask: ask(make(), value))()
    return found


@pytest.mark.parametrize("name", MAKE)
def test_python_numbers_give_single_precision(name) -> None:
    make, value = MAKE[name]
    for run in (lambda f: f, ad.jit):
        found = results(lambda: make(0.5), value, run)
        assert {"sample", "log_prob"} <= set(found)
        kinds = {k: y.dtype for k, y in found.items() if not (name == "Categorical" and k == "sample")}
        assert set(kinds.values()) == {np.dtype(np.float32)}, kinds


@pytest.mark.parametrize("name", [n for n in MAKE if n not in ("Categorical", "Dirichlet", "Normals")])
def test_beside_an_array_numbers_take_its_dtype(name) -> None:
    make, value = MAKE[name]
    for given in (np.array([0.5, 0.75], np.float32), np.array([0.5, 0.75])):
        dtype = given.dtype
        found = results(lambda given=given: make(given), np.asarray(value, dtype))
        assert {y.dtype for y in found.values()} == {dtype}, {k: y.dtype for k, y in found.items()}
    p = ds.MultivariateNormal(np.zeros(2), [[1.0, 0.0], [0.0, 1.0]])
    assert p.variance.dtype == p.entropy().dtype == np.float64


#: Values and slopes by the argument of the function.
FAR = [
    (ds.Normal(np.float64(0), np.float64(1)).icdf, 1e-20, -9.2623400897984076, 1.0674725333013998e19),
    (ds.Laplace(np.float64(0), np.float64(1)).cdf, -40.0, 2.1241771276457945e-18, 2.1241771276457945e-18),
    (ds.Laplace(np.float64(0), np.float64(1)).cdf, 40.0, 1.0, 2.1241771276457945e-18),
    (ds.Cauchy(np.float64(0), np.float64(1)).cdf, -1e10, 3.1830988618379067e-11, 3.1830988618379067e-21),
    (ds.Cauchy(np.float64(0), np.float64(1)).log_prob, 1e200, -922.17876708346767, -2e-200),
    (ds.StudentT(np.float64(3)).log_prob, 1e200, -1840.8717386675238, -4e-200),
    (ds.StudentT(np.float64(3)).cdf, 0.0, 0.5, 0.36755259694786136),
    (ds.StudentT(np.float64(3)).cdf, -1e5, 1.1026577904466273e-15, 3.3079733705459683e-20),
    (ds.Exponential(np.float64(1)).cdf, 40.0, 1.0, 4.248354255291589e-18),
    (lambda p: ds.Geometric(p).cdf(3.0), 1e-20, 4e-20, 4.0),
    (lambda p: ds.Geometric(p).log_prob(1e10), 1e-20, -46.051701859980914, 9.999999999e19),
]  # fmt: skip


@pytest.mark.parametrize(("f", "x", "value", "slope"), FAR)
@pytest.mark.parametrize("mode", [lambda f: f, ad.jit], ids=["dynamic", "compiled"])
def test_far_from_the_middle(f, x, value, slope, mode) -> None:
    found = [float(v) for v in mode(ad.value_and_grad(lambda x: f(x)))(np.float64(x))]
    np.testing.assert_allclose(found, [value, slope], rtol=1e-9, atol=0)


def test_single_precision_near_the_middle_and_of_large_parameters() -> None:
    p, x = ds.StudentT(3.0), np.array([-1e-3, -1e-6, 1e-9, 1e-4, 0.02], np.float32)
    np.testing.assert_allclose(p.cdf(x).asnumpy() - 0.5, 0.36755259694786136 * x, rtol=5e-4, atol=1e-7)
    np.testing.assert_allclose(ad.grad(lambda x: p.cdf(x).sum())(x), np.full(5, 0.36755259), rtol=5e-4)
    assert float(ds.StudentT(1e6).log_prob(0.5)) == pytest.approx(-1.0439388925796595, rel=1e-6)
    assert float(ds.Beta(2.0, 1e6).log_prob(1e-6)) == pytest.approx(12.815512057963941, rel=1e-6)

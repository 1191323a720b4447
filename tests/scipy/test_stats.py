"""Distributions of scipy.stats on Tensors: values are SciPy's, derivatives those of differences, in both modes."""

from __future__ import annotations

import numpy as np
import pytest
import scipy.stats as st

import adjoint as ad

INF = np.inf
#: By name: the shape parameters at a point, and values of x inside, at and outside the support.
CONTINUOUS: dict[str, tuple[tuple, list]] = {
    "norm": ((), [-3.0, 0.2, 40.0]),
    "t": ((3.4,), [-2.0, 0.0, 1.3]),
    "beta": ((2.3, 1.7), [-0.5, 0.0, 0.3, 0.8, 1.0, 1.5]),
    "gamma": ((2.6,), [-1.0, 0.0, 0.4, 7.0]),
    "chi2": ((3.3,), [-1.0, 0.0, 0.4, 7.0]),
    "expon": ((), [-1.0, 0.0, 0.5, 3.0]),
    "laplace": ((), [-1.5, 0.7, 30.0]),
    "uniform": ((), [-0.1, 0.0, 0.4, 1.0, 1.1]),
    "lognorm": ((0.8,), [-1.0, 0.0, 0.6, 4.0]),
    "cauchy": ((), [-3.0, 0.1, 50.0]),
    "logistic": ((), [-40.0, 0.3, 2.0]),
    "pareto": ((2.7,), [0.5, 1.0, 1.5, 6.0]),
    "weibull_min": ((1.7,), [-1.0, 0.0, 0.6, 2.0]),
    "invgamma": ((2.4,), [-1.0, 0.0, 0.6, 4.0]),
    "gumbel_r": ((), [-1.0, 0.3, 5.0]),
    "gumbel_l": ((), [-1.0, 0.3, 1.5]),
    "halfnorm": ((), [-1.0, 0.0, 0.7, 9.0]),
    "truncnorm": ((-0.75, 1.75), [-1.0, -0.75, 0.4, 1.75, 2.0]),
    "rayleigh": ((), [-1.0, 0.0, 0.8, 3.0]),
}
DISCRETE: dict[str, tuple[tuple, list]] = {
    "poisson": ((2.3,), [-1, 0, 3, 2.5, 11]),
    "binom": ((6, 0.3), [-1, 0, 3, 2.5, 6, 7]),
    "bernoulli": ((0.3,), [-1, 0, 1, 0.5, 2]),
    "geom": ((0.3,), [0, 1, 4, 2.5]),
    "nbinom": ((3.4, 0.6), [-1, 0, 5, 2.5]),
}
OF_X = ("pdf", "logpdf", "cdf", "logcdf", "sf", "logsf")
MOMENTS = ("mean", "var", "std", "entropy")


def close(found, want, rtol=1e-10, what=""):
    """Equal values, or slopes as good as differences are."""
    np.testing.assert_allclose(np.asarray(found), want, rtol=rtol, atol=1e-16 if rtol < 1e-8 else 2e-11, err_msg=what)


def slopes(f, *xs, h=1e-5):
    """Central differences of a function of numbers by each of them."""
    found = []
    for i, x in enumerate(xs):
        step = h * max(1.0, abs(x))
        at = [f(*xs[:i], x + s * step, *xs[i + 1 :]) for s in (-2, -1, 1, 2)]
        found.append((at[0] - 8 * at[1] + 8 * at[2] - at[3]) / (12 * step))
    return np.array(found)


@pytest.mark.parametrize("name", CONTINUOUS)
@pytest.mark.parametrize("compiled", [False, True])
def test_far_away_and_at_simple_places(name: str, compiled: bool) -> None:
    """Infinite, undefined and whole values; the slope of the mass is the density wherever there is one."""
    theirs, (shapes, _) = getattr(st, name), CONTINUOUS[name]
    mode = ad.jit if compiled else lambda f: f
    for method in OF_X:
        f = getattr(theirs, method)
        own = mode(ad.value_and_grad(lambda x, f=f: f(x, *shapes)))
        for x in (-INF, INF, np.nan, 0.0, 0.5, 1.0, 2.0):
            with np.errstate(all="ignore"):
                value, slope = own(x)
                close(value, f(x, *shapes), what=f"{method}({x})")
            if method in ("cdf", "sf") and np.isfinite(x) and x not in theirs.support(*shapes):
                close(slope, theirs.pdf(x, *shapes) * (1 if method == "cdf" else -1), what=f"{method}({x})")


@pytest.mark.parametrize("name", CONTINUOUS)
def test_continuous(name: str) -> None:
    theirs, (shapes, xs) = getattr(st, name), CONTINUOUS[name]
    loc, scale = 0.25, 1.5
    points = loc + scale * np.array(xs)
    ours = getattr(ad.scipy.stats, name)
    for method in OF_X:
        f = getattr(theirs, method)
        with np.errstate(all="ignore"):
            want = f(points, *shapes, loc, scale)
            close(getattr(ours, method)(points, *shapes, loc=loc, scale=scale), want, what=method)
            close(ad.vjp(lambda x, f=f: f(x, *shapes, loc, scale=scale), points)[0], want, what=method)
            derived = [
                np.array([float(g) for g in ad.grad(f, tuple(range(3 + len(shapes))))(float(x), *shapes, loc, scale)])
                for x in points
            ]
        assert not np.isnan([g for g, w in zip(derived, want, strict=True) if np.isfinite(w)]).any(), method
        for x, z, g in zip(points, xs, derived, strict=True):
            low, high = theirs.support(*shapes)
            if z < low or z > high:
                assert not np.nan_to_num(g).any(), (method, z)
            elif low < z < high and np.isfinite(want[list(points).index(x)]):
                close(g, slopes(f, float(x), *shapes, loc, scale), 2e-6, f"{method} at {z}")
    for method in ("ppf", "isf"):
        f = getattr(theirs, method)
        q = np.array([0.0, 0.2, 0.7, 1.0, 1.2])
        close(getattr(ours, method)(q, *shapes, loc, scale), f(q, *shapes, loc, scale), what=method)
        for p in (0.2, 0.7):
            g = [float(v) for v in ad.grad(f, tuple(range(3 + len(shapes))))(p, *shapes, loc, scale)]
            close(g, slopes(f, p, *shapes, loc, scale), 1e-6, method)


@pytest.mark.parametrize("name", DISCRETE)
def test_discrete(name: str) -> None:
    theirs, (shapes, ks) = getattr(st, name), DISCRETE[name]
    ours, positions = getattr(ad.scipy.stats, name), tuple(i + 1 for i, s in enumerate(shapes) if isinstance(s, float))
    for method in ("pmf", "logpmf", "cdf", "logcdf", "sf", "logsf"):
        f = getattr(theirs, method)
        with np.errstate(all="ignore"):
            want = f(np.array(ks), *shapes, 0)
            close(getattr(ours, method)(ks, *shapes), want, what=method)
            for k, w in zip(ks, want, strict=True):
                g = [float(v) for v in np.atleast_1d(np.asarray(ad.grad(f, positions)(k, *shapes)))]
                if np.isfinite(w):
                    d = slopes(
                        lambda *s, k=k, f=f: f(k, *_filled(shapes, s)), *(s for s in shapes if isinstance(s, float))
                    )
                    np.testing.assert_allclose(g, d, rtol=1e-6, atol=1e-9, err_msg=f"{method} at {k}")
                assert not np.isnan(g).any() or not np.isfinite(w)
    with pytest.raises(
        ad.NotDifferentiableError, match=rf"scipy.stats.{name}.logpmf has no derivative by its argument k"
    ):
        ad.grad(theirs.logpmf)(1.0, *shapes)
    with pytest.raises(ad.CutGradientError, match=rf"scipy.stats.{name}.ppf cannot"):
        ad.grad(theirs.ppf, len(shapes))(0.5, *shapes)


def _filled(shapes, floats):
    given = iter(floats)
    return [next(given) if isinstance(s, float) else s for s in shapes]


@pytest.mark.parametrize("name", [*CONTINUOUS, *DISCRETE])
def test_moments(name: str) -> None:
    theirs, (shapes, _) = getattr(st, name), (CONTINUOUS | DISCRETE)[name]
    parameters = (*map(float, shapes), 0.25, 1.5) if name in CONTINUOUS else tuple(map(float, shapes))
    for method in MOMENTS:
        f, given = getattr(theirs, method), ad.Tensor(np.array(parameters))
        called = lambda v, f=f: f(*(v[i] for i in range(len(parameters))))
        if (name, method) in ABSENT:
            with pytest.raises(ad.CutGradientError, match=rf"scipy.stats.{name}.{method} cannot"):
                ad.vjp(called, given)
            continue
        found = ad.vjp(called, given)[0]
        close(found, f(*parameters), 1e-9, method)
        if np.isfinite(f(*parameters)):
            positions = tuple(i for i in range(len(parameters)) if not (name == "binom" and i == 0))
            g = [float(v) for v in np.atleast_1d(np.asarray(ad.grad(f, positions)(*parameters)))]
            d = (
                slopes(lambda *p, f=f: float(f(*p)), *parameters)
                if name != "binom"
                else slopes(lambda p, f=f: float(f(6, p)), 0.3)
            )
            np.testing.assert_allclose(g, d, rtol=1e-6, atol=1e-7, err_msg=method)


#: Moments that are refused.
ABSENT = {
    *(("truncnorm", method) for method in MOMENTS),
    *((name, "entropy") for name in ("poisson", "binom", "geom", "nbinom")),
}


def test_all_of_them_compiled() -> None:
    """One program with every distribution: the numbers of dynamic mode, derivatives by x and by parameters too."""

    def total(x, shapes):
        y = 0.0
        for name in CONTINUOUS:
            a = shapes[name]
            d = getattr(st, name)(*(a[i] for i in range(len(CONTINUOUS[name][0]))), loc=0.1, scale=x[0])
            y = y + d.logpdf(x[1]) + (d.cdf(x[1]) if name not in ("gumbel_l", "truncnorm", "chi2") else d.ppf(0.3))
        for name in DISCRETE:
            a = shapes[name]
            p = [6 if name == "binom" and i == 0 else a[i] for i in range(len(DISCRETE[name][0]))]
            y = y + getattr(st, name).logpmf([1, 2], *p)[0] + getattr(st, name).cdf(1, *p)
        return y

    x = np.array([0.6, 1.1])
    shapes = {name: np.array(s or [1.0], float) for name, (s, _) in (CONTINUOUS | DISCRETE).items()}
    with np.errstate(all="ignore"):
        dynamic, static = ad.grad(total, (0, 1))(x, shapes), ad.jit(ad.grad(total, (0, 1)))(x, shapes)
    np.testing.assert_allclose(np.asarray(dynamic[0]), np.asarray(static[0]), rtol=1e-10)
    for name in shapes:
        np.testing.assert_allclose(np.asarray(dynamic[1][name]), np.asarray(static[1][name]), rtol=1e-10, err_msg=name)
        assert np.isfinite(np.asarray(dynamic[1][name])).all()


def test_second_order() -> None:
    x = np.array([0.4, 0.7])
    for f in (
        lambda x: st.norm.logcdf(x, x[0], 1.0 + x[1]),
        lambda x: st.t.logpdf(x, 2.0 + x[0], x[1]),
        lambda x: st.t.cdf(x, 3.0),
        lambda x: st.beta.cdf(x, 2.0, 1.5),
        lambda x: st.beta.logpdf(x, 1.0 + x[0], 2.0),
        lambda x: st.gamma.cdf(x, 1.0 + x[1]),
        lambda x: st.truncnorm.logpdf(x, -1.0 - x[0], 2.0 + x[1]),
    ):
        ad.check_grads(f, x, order=2)


def test_arguments() -> None:
    one = ad.Tensor(np.array(1.0))
    for call in (lambda x: st.gamma.pdf(x), lambda x: st.gamma.pdf(x, 1, 2, 3, 4), lambda x: st.norm.pdf(x, size=3),
                 lambda x: st.norm.pdf(x, 0.0, loc=1.0)):  # fmt: skip
        with pytest.raises(ad.ArgumentTypeError, match=r"scipy.stats.\w+.pdf"):
            ad.grad(call)(one)
    for call, name in ((lambda x: st.norm.rvs(x), "norm.rvs"), (lambda x: st.norm(x, 1.0).rvs(), "norm.rvs"),
                       (lambda x: st.gamma.fit(x), "gamma.fit"), (lambda x: st.crystalball.pdf(x, 1, 2), "crystalball.pdf"),
                       (lambda x: st.norm.interval(0.9, x), "norm.interval")):  # fmt: skip
        with pytest.raises(ad.CutGradientError, match=rf"scipy.stats.{name} cannot be"):
            ad.grad(call)(one)
    assert np.isnan(np.asarray(ad.vjp(lambda s: st.norm.pdf(0.0, 0.0, s), np.array([-1.0, 0.0]))[0])).all()


def test_shapes_and_dtypes() -> None:
    x = np.array([[0.5], [1.5]])
    mu = np.array([0.0, 0.1, 0.2])
    found = ad.grad(lambda mu: st.norm.logpdf(x, mu).sum())(mu)
    close(found, (x - mu).sum(0))
    assert ad.grad(lambda x: st.norm.logpdf(x).sum())(np.zeros((0, 3))).shape == (0, 3)
    assert ad.grad(lambda x: st.norm.logpdf(x).sum())(np.ones(2, np.float32)).dtype == np.float32
    per_example = ad.vmap(ad.grad(lambda x, m: st.norm.logpdf(x, m)))(mu, mu + 1.0)
    close(per_example, np.ones(3))
    tape = st.norm(0.0, 1.0)
    close(ad.jit(ad.grad(lambda x: tape.logpdf(x).sum()))(mu), -mu)


def test_logistic_at_its_centre() -> None:
    second = lambda f: ad.grad(ad.grad(f))
    for f, want in (
        (st.logistic.logpdf, -0.5),
        (st.logistic.pdf, -0.125),
        (lambda loc: st.logistic.logpdf(0.0, loc=loc), -0.5),
    ):
        np.testing.assert_allclose(second(f)(0.0), want)
    np.testing.assert_allclose(ad.jit(second(lambda x: st.logistic.logpdf(x)))(0.0), -0.5)

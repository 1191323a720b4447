"""Functions of scipy.special on Tensors: values are SciPy's, derivatives those of differences, in both modes."""

from __future__ import annotations

import numpy as np
import pytest
import scipy.special as sp

import adjoint as ad

draw = np.random.default_rng(0).uniform
NEAR, UNIT, POSITIVE, TIMES = (-2.0, 2.0), (0.1, 0.9), (0.5, 4.0), (1.5, 4.0)

#: By name, where the arguments are drawn; those of a list are plain numbers without a derivative.
CASES: dict[str, tuple] = {
    **dict.fromkeys(("erf", "erfc", "erfcx", "erfi", "dawsn", "ndtr", "log_ndtr", "expit", "log_expit", "exprel", "expm1", "cosm1", "exp2", "exp10", "j0", "j1", "i0", "i1", "i0e", "i1e", "gammasgn"), (NEAR,)),
    **dict.fromkeys(("gamma", "gammaln", "loggamma", "rgamma", "psi", "digamma", "log1p", "cbrt", "expi", "exp1", "entr", "spence", "y0", "y1", "k0", "k1", "k0e", "k1e"), (POSITIVE,)),
    **dict.fromkeys(("erfinv", "erfcinv", "ndtri", "logit", "ellipk", "ellipe"), (UNIT,)),
    **dict.fromkeys(("beta", "betaln", "gammainc", "gammaincc", "xlogy", "xlog1py", "rel_entr", "kl_div", "huber", "pseudo_huber", "boxcox", "boxcox1p", "inv_boxcox", "inv_boxcox1p", "poch", "chdtr", "chdtrc"), (POSITIVE, POSITIVE)),
    **{name: ([0, 1, 2.0], POSITIVE) for name in ("jv", "jn", "yv", "yn", "iv", "ive", "kv", "kn", "kve", "expn", "pdtr", "pdtrc")},
    **dict.fromkeys(("gammaincinv", "gammainccinv"), (POSITIVE, UNIT)),
    **dict.fromkeys(("betainc", "betaincc", "betaincinv", "betainccinv"), (POSITIVE, POSITIVE, UNIT)),
    "binom": ((4.2, 5.0), (0.5, 3.0)), "stdtr": (TIMES, NEAR), "stdtrit": (TIMES, UNIT), "zeta": ([2, 3, 4], POSITIVE),
    "gdtr": (POSITIVE, POSITIVE, POSITIVE), "gdtrc": (POSITIVE, POSITIVE, POSITIVE),
    "fdtr": (POSITIVE, POSITIVE, POSITIVE), "fdtrc": (POSITIVE, POSITIVE, POSITIVE),
    "fresnel": (NEAR,), "sici": (POSITIVE,), "shichi": (POSITIVE,),
}  # fmt: skip


def called(name: str):
    """The function of its arguments with derivatives, and a point."""
    function, domains = getattr(sp, name), CASES[name]
    fixed = [np.array(d) if isinstance(d, list) else None for d in domains]
    point = [draw(*d, 3) for d in domains if not isinstance(d, list)]

    def f(*xs):
        given = iter(xs)
        y = function(*(next(given) if c is None else c for c in fixed))
        return y[0] + 2.0 * y[1] if isinstance(y, tuple) else y

    return f, point


@pytest.mark.parametrize("name", CASES)
def test_values_and_derivatives(name: str) -> None:
    f, point = called(name)
    want = f(*point)
    value, back = ad.vjp(f, *point)
    np.testing.assert_allclose(np.asarray(value), want, rtol=1e-12)
    ad.check_grads(f, *point, order=2 if name not in ("gammasgn",) else 1)


def test_all_of_them_compiled() -> None:
    """Gradients of many functions at once, as machine code: the numbers of dynamic mode."""
    made = {name: called(name) for name in list(CASES)[::2]}
    points = [point for _, point in made.values()]

    def total(points):
        return sum(f(*p).sum() for (f, _), p in zip(made.values(), points, strict=True))

    dynamic, static = ad.grad(total)(points), ad.jit(ad.grad(total))(points)
    for name, a, b in zip(made, dynamic, static, strict=True):
        for u, v in zip(a, b, strict=True):
            np.testing.assert_allclose(np.asarray(u), np.asarray(v), rtol=1e-11, atol=1e-13, err_msg=name)


@pytest.mark.parametrize(
    ("name", "xs", "position", "argument"),
    [("jv", (1.5, 2.0), 0, "v"), ("kve", (1.5, 2.0), 0, "v"), ("expn", (2.0, 2.0), 0, "n"), ("iv", (0.5, 1.0), 0, "v")],
)
def test_arguments_without_a_derivative_are_named(name, xs, position, argument) -> None:
    with pytest.raises(
        ad.NotDifferentiableError, match=rf"scipy.special.{name} has no derivative by its argument {argument}\b"
    ):
        ad.grad(getattr(sp, name), position)(*map(np.float64, xs))


def test_edges() -> None:
    grad = lambda f, x: np.asarray(ad.vmap(ad.grad(f))(np.array(x)))
    np.testing.assert_allclose(
        grad(sp.exprel, [0.0, 1e-8, -1e-3, 0.3]), [0.5, 0.5, 0.5 - 1e-3 / 3 + 1e-6 / 8, 0.61221], rtol=1e-4
    )
    np.testing.assert_allclose(grad(sp.j1, [0.0]), [0.5])
    np.testing.assert_allclose(grad(lambda x: sp.sici(x)[0], [0.0]), [1.0])
    np.testing.assert_allclose(grad(sp.ellipk, [0.0]), [np.pi / 8])
    np.testing.assert_allclose(
        grad(sp.log_ndtr, [-1e3, -30.0, 30.0]), [1e3 + 1e-3, 30.03326, 0.0], rtol=1e-5, atol=1e-100
    )
    assert np.isnan(sp.loggamma(ad.Tensor([-0.5])).item()) and grad(sp.loggamma, [-0.5]) == 0
    assert float(ad.grad(lambda d: sp.betainc(d, 2.0, 0.0))(1.5)) == 0.0


def test_the_parameters_of_the_beta_function_far_out() -> None:
    """Derivatives by a and b where series are long, against differences in extended steps."""
    for a, b, x in ((200.0, 300.0, 0.4), (0.01, 0.02, 0.999), (1e3, 0.5, 0.9999), (5.0, 1e4, 6e-4), (30.0, 1.0, 0.5)):
        found = [float(g) for g in ad.grad(sp.betainc, (0, 1))(a, b, x)]
        for i, g in enumerate(found):
            h = 1e-4 * (a, b)[i]
            at = [[a + s * h * (i == 0), b + s * h * (i == 1), x] for s in (-2, -1, 1, 2)]
            f = [sp.betainc(*p) for p in at]
            want = (f[0] - 8 * f[1] + 8 * f[2] - f[3]) / (12 * h)
            np.testing.assert_allclose(g, want, rtol=3e-8, atol=1e-13)


def test_float32_and_integers() -> None:
    x = ad.Tensor(np.array([0.5, 1.0], np.float32))
    for name in ("erfcx", "gamma", "i0e", "ndtri"):
        assert ad.grad(lambda x, f=getattr(sp, name): f(x).sum())(x * 0.5).dtype == np.float32
    assert np.allclose(np.asarray(sp.gamma(ad.Tensor([3, 4]))), [2, 6])


def test_functions_that_are_no_ufuncs() -> None:
    x = draw(0.5, 2.0, (1, 3))
    b = draw(-1.0, 2.0, 3)
    for f in (
        lambda x: sp.logsumexp(x, axis=1, b=np.abs(b)),
        lambda x: sp.logsumexp(x, axis=(0, 1), b=b, return_sign=True)[0],
        lambda x: sp.logsumexp(x, keepdims=True),
        lambda x: sp.softmax(x, axis=0)[0],
        lambda x: sp.log_softmax(x, axis=1),
        lambda x: sp.polygamma(2, x),
        lambda x: sp.polygamma([0, 1, 3], x),
        lambda x: sp.multigammaln(x[0] + 3.0, 3),
        lambda x: sp.comb(x + 3.0, 1.5),
        lambda x: sp.comb(4.0, x, repetition=True),
        lambda x: sp.factorial(x),
        lambda x: sp.lambertw(x).real,
        lambda x: sp.zeta(3, x),
        lambda x: sp.diric(x, 4),
    ):
        want = f(x)
        np.testing.assert_allclose(np.asarray(ad.vjp(f, x)[0]), want, rtol=1e-12)
        ad.check_grads(f, x, order=2)
    y, sign = ad.jit(lambda x: sp.logsumexp(x, b=b, return_sign=True))(x)
    want = sp.logsumexp(x, b=b, return_sign=True)
    np.testing.assert_allclose([np.asarray(y), np.asarray(sign)], want)


@pytest.mark.parametrize(
    ("a", "options"),
    [
        ([-np.inf, -np.inf], {}), ([np.inf, 1.0], {}), ([1e3, 1e3], {}), ([1.0, 2.0], {"b": [1.0, -5.0]}),
        ([1.0, 2.0], {"b": [0.0, 0.0]}), (3.0, {}), ([np.inf, 1.0], {"b": [0.0, 2.0]}), ([1, 2], {}),
        ([1.0, 2.0], {"b": [1.0, -5.0], "return_sign": True}), ([1.0, 1.0], {"b": [1.0, -1.0], "return_sign": True}),
    ],
)  # fmt: skip
def test_logsumexp_has_scipy_s_limits(a, options) -> None:
    with np.errstate(all="ignore"):
        np.testing.assert_allclose(ad.scipy.special.logsumexp(a, **options), sp.logsumexp(a, **options))


def test_refusals() -> None:
    with pytest.raises(ad.ArgumentTypeError, match="exact"):
        ad.grad(lambda x: sp.comb(x, 2, exact=True))(3.0)
    with pytest.raises(ad.ArgumentTypeError, match="n must be"):
        ad.grad(lambda x: sp.polygamma(x, 2.0))(1.0)
    with pytest.raises(ad.CutGradientError, match="lambertw"):
        ad.grad(lambda x: abs(sp.lambertw(x, 2)))(1.0)


def derivative(order: int, f):
    for _ in range(order):
        f = ad.grad(f)
    return f


#: Functions with removable points: the order of a derivative, the point, and what it is.
REMOVABLE = [
    (sp.ellipk, 2, 0.0, 9 * np.pi / 64), (sp.ellipe, 2, 0.0, -3 * np.pi / 64), (sp.ellipk, 3, 0.0, np.pi * 3 * (5 / 16) ** 2),
    (sp.spence, 2, 1.0, 0.5), (lambda t: sp.xlog1py(t, t), 2, 0.0, 2.0), (lambda x: sp.sici(x)[0], 3, 0.0, -1 / 3),
    (lambda x: sp.shichi(x)[0], 3, 0.0, 1 / 3), (lambda x: sp.diric(x, 4), 2, 1e-6, -1.25), (lambda x: sp.diric(x, 4), 2, 2 * np.pi, 1.25),
    (sp.rgamma, 1, 0.0, 1.0), (sp.rgamma, 1, -1.0, -1.0), (sp.rgamma, 1, -2.0, 2.0), (sp.rgamma, 2, 0.0, 2 * np.euler_gamma),
    (lambda s: sp.inv_boxcox(0.7, s), 1, 0.0, -0.245 * np.exp(0.7)), (lambda s: sp.inv_boxcox1p(0.7, s), 1, 0.0, -0.245 * np.exp(0.7)),
    (lambda s: sp.inv_boxcox(0.7, s), 2, 1e-8, (0.245**2 + 2 * 0.343 / 3) * np.exp(0.7)),
    (lambda d: sp.pseudo_huber(d, 2.0), 1, 0.0, 2.0), (lambda d: sp.pseudo_huber(d, 2.0), 2, 0.0, -2.0),
    (lambda t: ad.grad(lambda df: sp.stdtr(df, t))(1.0), 1, 0.0, (2 * np.log(2) - 1) / (2 * np.pi)), (ad.scipy.special.softplus, 2, 0.0, 0.25),
]  # fmt: skip


@pytest.mark.parametrize("case", REMOVABLE)
def test_higher_derivatives_at_removable_points(case) -> None:
    f, order, x, want = case
    np.testing.assert_allclose(derivative(order, f)(x), want, rtol=3e-8)


def test_higher_derivatives_at_removable_points_compiled() -> None:
    cases = [(f, order, want) for f, order, x, want in REMOVABLE if x == 0.0]
    found = ad.jit(lambda x: [derivative(order, f)(x) for f, order, _ in cases])(0.0)
    np.testing.assert_allclose(np.array(found), [want for *_, want in cases], rtol=1e-10)


@pytest.mark.parametrize(("f", "edges"), [(sp.ellipk, (0.15, -0.15)), (sp.ellipe, (0.15,)), (sp.spence, (0.9, 1.1)), (sp.rgamma, (0.5, -1.5)), (lambda x: sp.sici(x)[0], (0.5,)), (lambda x: sp.inv_boxcox(0.5, x), (0.2,))])  # fmt: skip
def test_series_meet_the_closed_forms(f, edges) -> None:
    for x in edges:
        for order in (1, 2, 3):
            g = derivative(order, f)
            np.testing.assert_allclose(g(x - 1e-12), g(x + 1e-12), rtol=1e-9)


def test_lambertw_has_no_number_where_it_is_complex() -> None:
    for f in (lambda z: sp.lambertw(z).imag, lambda z: sp.lambertw(z).real, lambda z: sp.lambertw(z, -1).imag):
        for mode in (ad.vmap(f), ad.jit(f)):
            assert np.isnan(mode(np.array([-0.5]))).all()
    assert ad.vmap(lambda z: sp.lambertw(z).imag)(np.array([0.5]))[0] == 0

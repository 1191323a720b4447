"""Densities and moments against scipy.stats, samples by their moments, divergences by sums over samples, slopes by differences."""

import numpy as np
import pytest
import scipy.stats as st

import adjoint as ad
from adjoint import distributions as ds
from adjoint import ops

D = np.float64
A = np.array([0.7, 1.3, 2.5])
B = np.array([0.4, 1.0, 2.2])


def t(x):
    return ad.Tensor(np.asarray(x, D))


CONTINUOUS = {  # ours, SciPy's, values
    "Normal": (lambda a, b: ds.Normal(a, b), lambda a, b: st.norm(a, b), [-1.0, 0.5, 3.0]),
    "LogNormal": (lambda a, b: ds.LogNormal(a, b), lambda a, b: st.lognorm(b, scale=np.exp(a)), [0.3, 1.0, 4.0]),
    "HalfNormal": (lambda a, b: ds.HalfNormal(a * b), lambda a, b: st.halfnorm(scale=a * b), [0.3, 1.0, 4.0]),
    "Laplace": (lambda a, b: ds.Laplace(a, b), lambda a, b: st.laplace(a, b), [-1.0, 0.5, 3.0]),
    "Cauchy": (lambda a, b: ds.Cauchy(a, b), lambda a, b: st.cauchy(a, b), [-1.0, 0.5, 3.0]),
    "Gumbel": (lambda a, b: ds.Gumbel(a, b), lambda a, b: st.gumbel_r(a, b), [-1.0, 0.5, 3.0]),
    "Uniform": (lambda a, b: ds.Uniform(a, a + b), lambda a, b: st.uniform(a, b), [0.9, 1.5, 3.0]),
    "Exponential": (lambda a, b: ds.Exponential(a), lambda a, b: st.expon(scale=1 / a), [0.3, 1.0, 4.0]),
    "Gamma": (lambda a, b: ds.Gamma(a, b), lambda a, b: st.gamma(a, scale=1 / b), [0.3, 1.0, 4.0]),
    "Beta": (lambda a, b: ds.Beta(a, b), lambda a, b: st.beta(a, b), [0.2, 0.5, 0.9]),
    "StudentT": (lambda a, b: ds.StudentT(a + 2, a, b), lambda a, b: st.t(a + 2, a, b), [-1.0, 0.5, 3.0]),
}
DISCRETE = {
    "Bernoulli": (lambda a, b: ds.Bernoulli(a / 3), lambda a, b: st.bernoulli(a / 3), [0.0, 1.0, 1.0]),
    "Geometric": (lambda a, b: ds.Geometric(a / 3), lambda a, b: st.geom(a / 3, loc=-1), [0.0, 2.0, 5.0]),
    "Poisson": (lambda a, b: ds.Poisson(4 * a), lambda a, b: st.poisson(4 * a), [0.0, 2.0, 9.0]),
    "Binomial": (lambda a, b: ds.Binomial(9, a / 3), lambda a, b: st.binom(9, a / 3), [0.0, 2.0, 9.0]),
}
ALL = CONTINUOUS | DISCRETE


@pytest.mark.parametrize("name", ALL)
def test_values_against_scipy(name) -> None:
    ours, scipy, values = ALL[name]
    p, q, x = ours(t(A), t(B)), scipy(A, B), np.array(values)
    log = q.logpdf if name in CONTINUOUS else q.logpmf
    np.testing.assert_allclose(p.log_prob(t(x)).asnumpy(), log(x), rtol=1e-9, atol=1e-12)
    np.testing.assert_allclose(p.log_prob(t(x[:, None])).asnumpy(), log(x[:, None]), rtol=1e-9, atol=1e-12)
    np.testing.assert_allclose(p.cdf(t(x)).asnumpy(), q.cdf(x), rtol=1e-9)
    np.testing.assert_allclose(p.prob(t(x)).asnumpy(), np.exp(log(x)), rtol=1e-9)
    if name != "Cauchy":
        np.testing.assert_allclose(p.mean.asnumpy(), q.mean(), rtol=1e-9)
        np.testing.assert_allclose(p.variance.asnumpy(), q.var(), rtol=1e-9)
        np.testing.assert_allclose(p.stddev.asnumpy(), q.std(), rtol=1e-9)
    if name not in ("Poisson", "Binomial"):
        np.testing.assert_allclose(p.entropy().asnumpy(), q.entropy(), rtol=1e-6, atol=1e-9)
    if name in CONTINUOUS and name not in ("Gamma", "Beta", "StudentT"):
        np.testing.assert_allclose(p.icdf(t([0.1, 0.5, 0.8])).asnumpy(), q.ppf([0.1, 0.5, 0.8]), rtol=1e-7, atol=1e-9)
    elif name in CONTINUOUS:
        with pytest.raises(NotImplementedError, match=f"{name} has no icdf"):
            p.icdf(0.5)


@pytest.mark.parametrize("name", ALL)
def test_samples_follow_the_distribution(name) -> None:
    ours, scipy, _ = ALL[name]
    ad.set_seed(1)
    p = ours(t(A), t(B))
    x = p.sample((4000,)).asnumpy()
    assert x.shape == (4000, 3) and x.dtype == D
    for k in range(3):
        q = scipy(A[k], B[k])
        if name in CONTINUOUS:
            assert st.kstest(x[:, k], q.cdf).pvalue > 1e-3
        else:
            found, wanted = x[:, k], q.pmf(np.arange(60))
            counts = np.bincount(found.astype(int), minlength=60)[:60]
            assert np.abs(counts / 4000 - wanted).max() < 0.035 and counts.sum() == 4000
    assert np.array_equal(p.sample(3, seed=5).asnumpy(), p.sample((3,), seed=5).asnumpy())


@pytest.mark.parametrize("name", CONTINUOUS)
def test_slopes_of_samples_and_densities(name) -> None:
    ours, _, values = CONTINUOUS[name]
    assert ours(t(A), t(B)).reparametrised

    def sampled(a, b):  # the same noise at every call
        return ops.tanh(ours(a, b).sample((2,), seed=3)).sum()

    ad.check_grads(lambda a, b: ours(a, b).log_prob(t(values)).sum(), t(A), t(B), order=2)
    if name in ("Gamma", "Beta", "StudentT"):  # implicit: the mean of the slopes is the slope of the mean
        ad.set_seed(0)
        run = lambda a, b: ours(a, b).sample((2500,)).mean(0).sum()
        slopes = ad.grad(run, (0, 1))(t(A + 1), t(B + 1))
        wanted = ad.grad(lambda a, b: ours(a, b).mean.sum(), (0, 1))(t(A + 1), t(B + 1))
        for found, exact in zip(slopes, wanted, strict=True):
            np.testing.assert_allclose(found.asnumpy(), exact.asnumpy(), rtol=0.15, atol=0.05)
    else:
        ad.check_grads(sampled, t(A), t(B))


def test_gamma_samples_move_along_their_quantile() -> None:
    """The slope of a sample by the shape is that of the quantile function at its own probability, to second order."""
    for a in (0.4, 3.0):
        f = lambda a: ds.Gamma(a, 1.0).sample((4,), seed=2)
        z = f(t(a)).asnumpy()
        u, h = st.gamma.cdf(z, a), 1e-4 * a
        low, mid, high = (st.gamma.ppf(u, a + k * h) for k in (-1, 0, 1))
        np.testing.assert_allclose(ad.jacobian(f)(t(a)).asnumpy(), (high - low) / (2 * h), rtol=1e-5)
        curved = ad.jacobian(ad.jacobian(f))(t(a)).asnumpy()
        np.testing.assert_allclose(curved, (high - 2 * mid + low) / h**2, rtol=2e-3, atol=1e-4)


@pytest.mark.parametrize("name", [n for n in ALL if n not in ("StudentT",)])
def test_divergences_by_sums_over_samples(name) -> None:
    ours = ALL[name][0]
    p, q = (ours(t(A), t(B)), ours(t(A * 1.1), t(B * 1.1)))
    if name == "Uniform":
        p, q = ds.Uniform(t(A), t(A + B)), ds.Uniform(t(A - 1), t(A + B + 2))
    ad.set_seed(0)
    x = p.sample((6000,))
    difference = (p.log_prob(x) - q.log_prob(x)).asnumpy()
    spread = 5 * difference.std(0) / 77 + 1e-6
    assert (np.abs(p.kl(q).asnumpy() - difference.mean(0)) < spread).all()
    np.testing.assert_allclose(ds.kl(p, p).asnumpy(), 0, atol=1e-12)
    if name != "Uniform":
        ad.check_grads(lambda a, b: ours(a, b).kl(ours(t(A * 1.1), t(B * 1.1))).sum(), t(A), t(B))


def test_a_distribution_of_vectors() -> None:
    rng = np.random.default_rng(0)
    root = rng.standard_normal((3, 3))
    cov, mean, x = root @ root.T + np.eye(3), rng.standard_normal(3), rng.standard_normal((5, 3))
    p, scipy = ds.MultivariateNormal(t(mean), t(cov)), st.multivariate_normal(mean, cov)
    np.testing.assert_allclose(p.log_prob(t(x)).asnumpy(), scipy.logpdf(x))
    np.testing.assert_allclose(p.entropy().asnumpy(), scipy.entropy())
    np.testing.assert_allclose((p.covariance.asnumpy(), np.diag(p.variance.asnumpy()) * 0 + cov), (cov, cov))
    ad.set_seed(0)
    z = p.sample((2500,)).asnumpy()
    np.testing.assert_allclose(np.cov(z.T), cov, atol=0.4)
    q = ds.MultivariateNormal(t(mean + 1), scale_tril=t(np.eye(3) * 2))
    inverse = np.eye(3) / 4
    wanted = 0.5 * (np.trace(inverse @ cov) + 3 / 4 - 3 + np.log(64) - np.linalg.slogdet(cov)[1])
    assert float(p.kl(q)) == pytest.approx(wanted)

    def both(m, c):
        p = ds.MultivariateNormal(m, (c + c.T) / 2)
        return p.log_prob(t(x)).sum() + p.sample(seed=1).sum()

    ad.check_grads(both, t(mean), t(cov), order=1)
    shares = ds.Dirichlet(t(A))
    y = np.array([0.2, 0.3, 0.5])
    np.testing.assert_allclose(shares.log_prob(t(y)).asnumpy(), st.dirichlet(A).logpdf(y))
    np.testing.assert_allclose(shares.entropy().asnumpy(), st.dirichlet(A).entropy())
    np.testing.assert_allclose(shares.sample((4000,)).asnumpy().mean(0), st.dirichlet(A).mean(), atol=0.02)
    np.testing.assert_allclose(shares.variance.asnumpy(), st.dirichlet(A).var())
    s = shares.sample((6000,))
    other = ds.Dirichlet(t(B))
    gap = (shares.log_prob(s) - other.log_prob(s)).asnumpy()
    assert abs(float(shares.kl(other)) - gap.mean()) < 5 * gap.std() / 77


def test_categories_and_events() -> None:
    logits = np.log([[0.2, 0.3, 0.5], [0.1, 0.1, 0.8]])
    for p in (ds.Categorical(logits=t(logits)), ds.Categorical(t(np.exp(logits) * 7))):
        assert p.batch_shape == (2,)
        np.testing.assert_allclose(p.log_prob([2, 0]).asnumpy(), [np.log(0.5), np.log(0.1)])
        np.testing.assert_allclose(
            p.log_prob(np.array([[0, 0], [1, 1]])).asnumpy(), logits[[0, 1], :2].T[:, :] * 0 + logits[:, :2].T
        )
        np.testing.assert_allclose(p.entropy().asnumpy(), -(np.exp(logits) * logits).sum(-1))
        ad.set_seed(0)
        x = p.sample((5000,)).asnumpy()
        np.testing.assert_allclose((x == 2).mean(0), [0.5, 0.8], atol=0.03)
        q = ds.Categorical(t([1.0, 1.0, 1.0]))
        np.testing.assert_allclose(p.kl(q).asnumpy(), (np.exp(logits) * (logits - np.log(1 / 3))).sum(-1))
    ad.check_grads(lambda x: ds.Categorical(logits=x).log_prob([2, 0]).sum(), t(logits))
    p = ds.Independent(ds.Normal(t([[0.0, 1.0], [2.0, 3.0]]), 1.0), 1)
    assert p.batch_shape == p.event_shape == (2,) and p.sample(4).shape == (4, 2, 2)
    np.testing.assert_allclose(p.log_prob(0.0).asnumpy(), st.norm([[0, 1], [2, 3]]).logpdf(0).sum(1))
    np.testing.assert_allclose(p.kl(ds.Independent(ds.Normal(0.0, 1.0 + np.zeros((2, 2))), 1)).asnumpy(), [0.5, 6.5])


def test_functions_of_variables() -> None:
    x = np.array([0.2, 0.5, 0.9])
    p = ds.TransformedDistribution(ds.Normal(t(0.3), t(0.5)), [ds.AffineBijector(1.0, -2.0), ds.SigmoidBijector()])
    z = (np.log(x / (1 - x)) - 1) / -2
    wanted = st.norm(0.3, 0.5).logpdf(z) - np.log(2 * x * (1 - x))
    np.testing.assert_allclose(p.log_prob(x).asnumpy(), wanted)
    np.testing.assert_allclose(p.cdf(x).asnumpy(), st.norm(0.3, 0.5).sf(z))
    ad.set_seed(0)
    assert st.kstest(p.sample((4000,)).asnumpy(), lambda v: p.cdf(v).asnumpy()).pvalue > 1e-3
    tanh = ds.TransformedDistribution(ds.Normal(t(0.3), t(0.5)), ds.TanhBijector())
    np.testing.assert_allclose(tanh.log_prob(x).asnumpy(), st.norm(0.3, 0.5).logpdf(np.arctanh(x)) - np.log(1 - x * x))
    ad.check_grads(lambda m: ds.TransformedDistribution(ds.Normal(m, 1.0), ds.ExpBijector()).log_prob(x).sum(), t(0.3))


def test_compiled_batched_and_with_parameters() -> None:
    w = ad.Parameter(t(A), name="w")

    def f(x):
        p, q, g = ds.Normal(w, ops.exp(x)), ds.Normal(0.0, 1.0), ds.Gamma(ops.exp(x) + w, 1.0)
        c = ds.Categorical(logits=w).log_prob(2) + ds.Poisson(ops.exp(x)).log_prob(2.0).sum()
        return p.sample((4,)).sum() + p.kl(q).sum() + q.log_prob(x).sum() + g.sample().sum() + c

    x = t(B)
    run = ad.value_and_grad(f, 0, weights=w)
    ad.set_seed(4)
    value, (by_x, by_w) = run(x)
    ad.set_seed(4)
    compiled, (cx, cw) = ad.jit(run)(x)
    np.testing.assert_allclose(compiled.asnumpy(), value.asnumpy(), rtol=1e-9)
    np.testing.assert_allclose(cx.asnumpy(), by_x.asnumpy(), rtol=1e-7)
    np.testing.assert_allclose(cw.asnumpy(), by_w.asnumpy(), rtol=1e-7)
    rows = ad.vmap(lambda m: ds.Normal(m, 1.0).sample((50,)))(x)
    assert rows.shape == (3, 50) and len(np.unique((rows - x[:, None]).asnumpy())) == 150
    ad.set_seed(4)
    counts = ad.jit(lambda r: (ds.Poisson(r).sample((5,)), ds.Binomial(6, 0.5).sample((5,))))(t(3.0))
    ad.set_seed(4)
    assert all(
        np.array_equal(a.asnumpy(), b.asnumpy())
        for a, b in zip(counts, (ds.Poisson(t(3.0)).sample((5,)), ds.Binomial(6, 0.5).sample((5,))), strict=True)
    )


@pytest.mark.parametrize(
    "wrong, message",
    [
        (lambda: ds.Normal(0.0, -1.0), "Normal: scale must be above 0, not -1.0"),
        (lambda: ds.Bernoulli(1.5), "probs must lie between 0 and 1"),
        (lambda: ds.Bernoulli(), "give one of probs and logits"),
        (lambda: ds.Uniform(1.0, 0.0), "low must lie below high"),
        (lambda: ds.Normal(np.zeros(2), np.ones(3)), r"do not broadcast: loc \(2,\), scale \(3,\)"),
        (lambda: ds.Normal(0.0, 1.0).kl(ds.Laplace(0.0, 1.0)), "no closed form for Normal and Laplace"),
        (lambda: ds.Poisson(1.0).rsample(), "Poisson.rsample: its samples are not differentiable"),
        (lambda: ds.Normal(0.0, 1.0).sample(-1), "a shape of integers"),
        (lambda: ds.Categorical(1.0), "need an axis"),
        (lambda: ds.Categorical([0.5, 0.5]).kl(ds.Categorical([0.2, 0.3, 0.5])), "kl: two Categoricals of 2 and 3 elements"),
        (lambda: ds.Normal(0.0, 1.0).sample(2.5), "a shape of integers"),
        (lambda: ds.Normal("a", 2.0), "Normal: loc must be a number, an array or a Tensor, not 'a'"),
        (lambda: ds.Normal(None, 2.0), "Normal: loc must be a number, an array or a Tensor, not None"),
        (lambda: ds.Normal().log_prob("a"), "Normal.log_prob: the value must be a number"),
        (lambda: ds.Normal().cdf(None), "Normal.cdf: the value must be a number"),
        (lambda: ds.MultivariateNormal(np.zeros(2), np.eye(2)).log_prob(0.0), r"its last axes must be \(2,\)"),
        (lambda: ds.MultivariateNormal(np.zeros(2), np.eye(2)).log_prob([0.0]), r"its last axes must be \(2,\)"),
        (lambda: ds.Dirichlet(np.ones(3)).log_prob([[0.5]]), r"its last axes must be \(3,\)"),
        (lambda: ds.MultivariateNormal(np.zeros(2), scale_tril=[[1.0, 5.0], [0.0, 1.0]]), "must be lower triangular"),
        (lambda: ds.Independent(ds.Normal(0.0, 1.0), 1), "there are not so many"),
        (lambda: ds.MultivariateNormal([0.0], [[1.0, 0.0]]), "a mean .* and a matrix"),
        (lambda: ds.Binomial(2.5, 0.5), "total_count must be integers"),
        (lambda: ds.kl(1.0, ds.Normal()), "two distributions are needed"),
        (lambda: ds.Normal(1j, 1.0), "loc must be real"),
    ],
)  # fmt: skip
def test_mistakes_are_named(wrong, message) -> None:
    with pytest.raises(ad.AdjointError, match=message):
        wrong()


def test_dtypes_and_outside_of_the_support() -> None:
    assert ds.Normal(0, 1).sample().dtype == np.float32 and ds.Normal(0.0, 1.0).log_prob(1).dtype == np.float32
    assert ds.LogNormal(0.0, 1.0).log_prob(2.0).dtype == np.float32
    for p in (ds.Exponential(1.0), ds.Gamma(2.0), ds.LogNormal(), ds.HalfNormal(), ds.Poisson(1.0), ds.Geometric(0.5)):
        assert p.log_prob(-1.0).item() == -np.inf and p.cdf(-1.0).item() == 0.0
        assert np.isfinite(ad.grad(lambda x, p=p: p.cdf(x))(ad.Tensor(-1.0)).item())
    assert ds.Poisson(1.0).log_prob(0.5).item() == -np.inf and ds.Beta(2.0, 2.0).log_prob(1.5).item() == -np.inf
    assert ds.Gamma(1e-3).sample((1000,)).asnumpy().min() >= 0
    assert ds.Poisson(1e6).sample((20,)).asnumpy().mean() == pytest.approx(1e6, rel=1e-2)
    assert ds.Normal(np.zeros((0, 2)), 1.0).sample(3).shape == (3, 0, 2)


WRONG = {  # functions of one number which the argument refuses
    "probs must lie between 0 and 1": (1.5, lambda a: ds.Bernoulli(a).variance + ds.Binomial(5, 0.5).mean),
    "Binomial: probs must lie": (1.5, lambda a: ds.Binomial(5, a).mean),
    "Categorical: probs must be >= 0": (-1.0, lambda a: ds.Categorical(ops.stack([a, a + 2.0])).log_prob(1)),
    "Cauchy: scale must be above 0": (-1.5, lambda a: ds.Cauchy(0.0, a).cdf(1.0)),
    "Uniform: low must lie below high": (0.0, lambda a: ds.Uniform(1.0, a).sample()),
    "Exponential: rate must be above 0": (-1.5, lambda a: ds.Exponential(a).log_prob(1.0)),
    "total_count must be integers": (2.5, lambda a: ds.Binomial(a, 0.5).mean),
    "must be lower triangular": (5.0, lambda a: ds.MultivariateNormal(
        np.zeros(2), scale_tril=ops.stack([ops.stack([a, a]), ops.stack([0 * a, a])])).log_prob([0.0, 0.0])),
}  # fmt: skip


@pytest.mark.parametrize("message", WRONG)
def test_arguments_are_checked_in_every_mode(message) -> None:
    value, f = WRONG[message]
    batch = lambda x: ad.vmap(f)(ops.stack([x, x])).sum()
    for run in (
        f,
        ad.grad(f),
        lambda x: ad.jvp(f, (x,), (x,)),
        batch,
        ad.grad(batch),
        ad.jit(f),
        ad.jit(ad.grad(f)),
        ad.jit(batch),
    ):
        with pytest.raises(ad.ArgumentError, match=message):
            run(t(value))


def test_a_check_takes_place_where_its_branch_does() -> None:
    def f(x):
        if x > 0:
            return ds.Normal(0.0, x).log_prob(1.0)
        return x

    assert ad.jit(f)(t(-2.0)).item() == -2.0 and ad.jit(ad.vmap(f))(t([-2.0, 1.0])).asnumpy()[0] == -2.0
    assert ad.jit(ad.grad(f))(t(2.0)).item() == pytest.approx(1 / 8 - 1 / 2)


def test_not_a_number_stays_and_outside_is_impossible() -> None:
    for name, (ours, _, _) in ALL.items():
        p = ours(t(A), t(B))
        for f in (p.log_prob, p.cdf):
            assert np.isnan(f(t(np.full(3, np.nan))).asnumpy()).all(), name
        if name in CONTINUOUS:
            assert (p.log_prob(t(np.full(3, np.inf))).asnumpy() == -np.inf).all(), name
    c = ds.Categorical(t([0.2, 0.3, 0.5]))
    found = ad.jit(c.log_prob)(t([0.7, 3.0, -1.0, np.nan, 2.0])).asnumpy()
    np.testing.assert_array_equal(found, c.log_prob(t([0.7, 3.0, -1.0, np.nan, 2.0])).asnumpy())
    np.testing.assert_allclose(found, [-np.inf, -np.inf, -np.inf, np.nan, np.log(0.5)])
    d = (
        ds.Dirichlet(t(A))
        .log_prob(t([[0.5, 0.5, 0.6], [1.2, -0.4, 0.2], [0.2, 0.2, 0.6], [np.nan, 0.5, 0.5]]))
        .asnumpy()
    )
    np.testing.assert_allclose(d, [-np.inf, -np.inf, st.dirichlet(A).logpdf([0.2, 0.2, 0.6]), np.nan])
    n = ds.Normal(t(0.0), t(1.0))
    for bijector, points, below in (
        (ds.ExpBijector(), [-1.0, 0.0], [0, 0]),
        (ds.SigmoidBijector(), [-1.0, 0.0, 1.0, 2.0], [0, 0, 1, 1]),
        (ds.TanhBijector(), [-1.2, -1.0, 1.0, 1.2], [0, 0, 1, 1]),
    ):
        p = ds.TransformedDistribution(n, [ds.AffineBijector(0.0, 2.0), bijector])
        assert (p.log_prob(t(points)).asnumpy() == -np.inf).all()
        with np.errstate(invalid="ignore"):
            assert np.isnan(p.log_prob(np.nan).item())
        np.testing.assert_array_equal(p.cdf(t(points)).asnumpy(), below)
        assert np.isfinite(ad.grad(lambda x, p=p: p.log_prob(x).sum())(t(points)).asnumpy()).all()
        turned = ds.TransformedDistribution(n, [ds.AffineBijector(0.0, -2.0), bijector])
        np.testing.assert_array_equal(turned.cdf(t(points)).asnumpy(), below)


def test_edges_of_the_support_and_far_quantiles() -> None:
    a, b = np.array([0.5, 1.0, 2.0]), np.array([3.0, 1.0, 0.5])
    np.testing.assert_allclose(ds.Gamma(t(a), t(2.0)).log_prob(0.0).asnumpy(), st.gamma(a, scale=0.5).logpdf(0.0))
    for x in (0.0, 1.0):
        with np.errstate(divide="ignore"):
            wanted = st.beta(a, b).logpdf(x)
        np.testing.assert_allclose(ds.Beta(t(a), t(b)).log_prob(x).asnumpy(), wanted)
    assert ad.grad(ds.Gamma(t(1.0), t(2.0)).log_prob)(t(0.0)).item() == -2.0
    u = np.array([0.0, 1e-300, 1e-9, 0.2, 0.25, 0.5, 0.6, 0.75, 1 - 1e-9, 1.0])
    for ours, scipy in ((ds.Cauchy, st.cauchy), (ds.Laplace, st.laplace)):
        with np.errstate(divide="ignore"):
            found = ours(t(0.3), t(1.7)).icdf(t(u)).asnumpy()
        np.testing.assert_allclose(found, scipy(0.3, 1.7).ppf(u), rtol=1e-13, atol=1e-15)
        ad.check_grads(lambda s, u, ours=ours: ours(s, s).icdf(u).sum(), t(1.7), t([0.1, 0.3, 0.6, 0.9]), order=2)


def test_python_numbers_are_of_one_dtype_in_every_mode() -> None:
    def f(a):
        p, x = ds.Gumbel(0.1, a), ds.LogNormal(a, 0.3).log_prob(a)
        return p.kl(ds.Gumbel(0.2, 0.3)), p.log_prob(a), x, p.entropy(), ds.Poisson(a).log_prob(2), p.mean, p.icdf(0.3)

    for found, wanted in zip(ad.jit(f)(1.3), f(1.3), strict=True):
        assert found.dtype == wanted.dtype == np.float32
        np.testing.assert_allclose(found.asnumpy(), wanted.asnumpy(), rtol=1e-6)
    kl = lambda a: ds.Normal(0.0, a).kl(ds.Normal(0.0, 1.0))
    for run in (ad.grad(kl), ad.jit(ad.grad(kl)), ad.grad(ad.jit(kl))):
        assert float(run(1.3)) == pytest.approx(1.3 - 1 / 1.3, rel=1e-6)
        assert float(run(np.float64(1.3))) == pytest.approx(1.3 - 1 / 1.3, rel=1e-12)

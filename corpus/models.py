"""Models: likelihoods, filters, mixtures, Markov chains, prices."""

from __future__ import annotations

import math

import numpy as np

from adjoint import ops
from corpus.program import program

DATA = np.array([0.3, 1.1, 0.7, 1.9])


def normal_cdf(x):
    return 0.5 * (1 + ops.erf(x / math.sqrt(2)))


@program(0.6, 0.4, traced=True)
def normal_log_likelihood(mean, log_scale):
    z = (DATA - mean) / ops.exp(log_scale)
    return -0.5 * (z**2).sum() - len(DATA) * log_scale


@program(1.6, 0.9, traced=True)
def gamma_log_likelihood(shape, rate):
    total = 0.0
    for v in DATA:
        total = total + shape * ops.log(rate) - ops.lgamma(shape) + (shape - 1) * math.log(v) - rate * v
    return total


@program(2.6, traced=True)
def student_t_log_likelihood(nu):
    constant = ops.lgamma((nu + 1) / 2) - ops.lgamma(nu / 2) - 0.5 * ops.log(nu * math.pi)
    return (constant - (nu + 1) / 2 * ops.log1p(DATA**2 / nu)).sum()


@program([0.45, -0.2], also=(([2.4, -1.3],),))
def huber_regression(p):
    total = 0.0
    for i, y in enumerate(DATA):
        r = y - p[0] - p[1] * i
        total = total + (0.5 * r**2 if abs(r) < 1 else abs(r) - 0.5)
    return total


@program([0.4, -0.3], traced=True)
def logistic_regression(w):
    features = np.array([[0.5, 1.0], [1.5, -0.3], [-0.7, 0.8]])
    labels = np.array([1.0, 0.0, 1.0])
    logits = features @ w
    return (ops.softplus(logits) - labels * logits).sum() + 0.1 * (w @ w)


@program(0.8)
def poisson_until_cumulated(rate):
    probability, total, k = ops.exp(-rate), 0.0, 0
    while total < 0.9:
        total = total + probability
        k += 1
        probability = probability * rate / k
    return total * k


@program(0.4, 1.6, 0.3, traced=True)
def em_step_for_mixture(m1, m2, p):
    for _ in range(2):
        a = p * ops.exp(-0.5 * (DATA - m1) ** 2)
        b = (1 - p) * ops.exp(-0.5 * (DATA - m2) ** 2)
        r = a / (a + b)
        m1, m2, p = (r * DATA).sum() / r.sum(), ((1 - r) * DATA).sum() / (1 - r).sum(), r.mean()
    return m1 * p + m2**2


@program([0.7, 0.3, 0.4], [0.9, 0.2], traced=True)
def hmm_forward(moves, emits):
    transition = ops.stack([ops.stack([moves[0], 1 - moves[0]]), ops.stack([moves[1], 1 - moves[1]])])
    alpha = ops.stack([moves[2], 1 - moves[2]])
    log_likelihood = 0.0
    for seen in [1, 0, 1, 1]:
        likelihood = emits if seen else 1 - emits
        alpha = (alpha @ transition) * likelihood
        scale = alpha.sum()
        log_likelihood = log_likelihood + ops.log(scale)
        alpha = alpha / scale
    return log_likelihood


@program([[0.2, 0.9], [0.7, 0.4], [0.3, 0.5]], [[0.1, 0.6], [0.4, 0.2]], traced=True)
def viterbi_soft(scores, moves):
    best = scores[0]
    for t in range(1, 3):
        best = scores[t] + ops.logsumexp(best[:, None] + moves, 0)
    return ops.logsumexp(best, 0)


@program([[0.2, 0.9], [0.7, 0.4], [0.3, 0.5]], [[0.1, 0.6], [0.4, 0.2]], traced=True)
def viterbi_hard_with_backtracking(scores, moves):
    best, back = scores[0], []
    for t in range(1, 3):
        paths = best[:, None] + moves
        back.append(ops.argmax(paths, 0))
        best = scores[t] + ops.max(paths, 0)
    state = ops.argmax(best)
    total = scores[2][state] ** 2
    for t in (1, 0):
        state = back[t][state]
        total = total + scores[t][state] ** 2
    return total


@program(0.3, 0.9, 0.5, traced=True)
def kalman_filter_scalar(x, p, q):
    total = 0.0
    for y in DATA:
        p = p + q
        k = p / (p + 0.4)
        innovation = y - x
        total = total + 0.5 * (innovation**2 / (p + 0.4) + ops.log(p + 0.4))
        x = x + k * innovation
        p = (1 - k) * p
    return total + x


@program([0.3, 0.1], 0.2, traced=True)
def kalman_filter_matrix(state, noise):
    f, h = np.array([[1.0, 0.5], [0.0, 1.0]]), np.array([1.0, 0.0])
    p = np.eye(2) * 0.5 + noise
    for i, y in enumerate(DATA):
        state, p = f @ state, f @ p @ f.T + noise * np.eye(2)
        if i == 2:
            continue
        s = h @ p @ h + 0.3
        gain = p @ h / s
        state = state + gain * (y - h @ state)
        p = p - ops.outer(gain, h @ p)
    return state * np.array([1.0, 2.0])


@program(1.0, 1.1, 0.5, 0.03, 0.25, also=((1.3, 1.1, 2.0, 0.03, 0.4),), traced=True)
def black_scholes(spot, strike, time, rate, vol):
    d1 = (ops.log(spot / strike) + (rate + 0.5 * vol**2) * time) / (vol * ops.sqrt(time))
    d2 = d1 - vol * ops.sqrt(time)
    return spot * normal_cdf(d1) - strike * ops.exp(-rate * time) * normal_cdf(d2)


@program(0.22, also=((0.09,),))
def implied_volatility(price):
    vol = 0.3
    for _ in range(50):
        d1 = (math.log(1.0 / 1.1) + 0.5 * vol**2) / vol
        value = normal_cdf(d1) - 1.1 * normal_cdf(d1 - vol)
        vega = ops.exp(-0.5 * d1**2) / math.sqrt(2 * math.pi)
        step = (value - price) / vega
        vol = vol - step
        if abs(step) < 1e-12:
            break
    return vol


@program(1.0, 0.3, also=((1.4, 0.2),))
def binomial_tree_american_put(spot, vol):
    n, strike = 4, 1.07
    up = ops.exp(vol * 0.5)
    p = (1.01 - 1 / up) / (up - 1 / up)
    values = []
    for i in range(n + 1):
        payoff = strike - spot * up ** (2 * i - n)
        values.append(payoff if payoff > 0 else 0.0)
    for step in range(n - 1, -1, -1):
        for i in range(step + 1):
            held = (p * values[i + 1] + (1 - p) * values[i]) / 1.01
            exercised = strike - spot * up ** (2 * i - step)
            values[i] = exercised if exercised > held else held
        values.pop()
    return values[0] + spot * vol


@program(1.0, 0.3, traced=True)
def monte_carlo_with_fixed_draws(spot, vol):
    draws = np.random.default_rng(3).normal(size=8)
    ends = spot * ops.exp(vol * draws - 0.5 * vol**2)
    return ops.where(ends > 0.95, ends - 0.95, 0.0).mean()


@program(0.05, also=((0.11,),))
def bond_yield_by_newton(coupon):
    rate = 0.1
    error = 1.0
    while error > 1e-12:
        price, slope = 0.0, 0.0
        for year in range(1, 4):
            cash = coupon + (1.0 if year == 3 else 0.0)
            price = price + cash * (1 + rate) ** -year
            slope = slope - year * cash * (1 + rate) ** (-year - 1)
        step = (price - 0.95) / slope
        rate = rate - step
        error = abs(step)
    return rate


@program([0.02, 0.03, 0.05], traced=True)
def progressive_tax(rates):
    income, tax = 70.0, 0.0
    for limit, rate in zip([10.0, 40.0, math.inf], rates):
        if income > limit:
            tax = tax + rate * limit
            income -= limit
        else:
            tax = tax + rate * income**1.1
            break
    return tax


@program([0.4, 0.7], also=(([1.4, -0.7],),), traced=True)
def rosenbrock(x):
    return (1 - x[0]) ** 2 + 100 * (x[1] - x[0] ** 2) ** 2


@program([0.4, 0.7, -0.3], traced=True)
def entropy_and_divergence(x):
    p = ops.softmax(x)
    q = np.array([0.2, 0.5, 0.3])
    return -(p * ops.log(p)).sum() + 2 * (q * ops.log(q / p)).sum()


@program([0.4, 0.7, 1.3], 0.6, traced=True)
def gaussian_process_likelihood(x, scale):
    d = (x[:, None] - x[None, :]) / scale
    k = ops.exp(-0.5 * d**2) + 0.1 * np.eye(3)
    l = ops.cholesky(k)
    alpha = ops.solve(k, DATA[:3])
    return -0.5 * ops.dot(DATA[:3], alpha) - ops.log(ops.diag(l)).sum()


@program(0.4, 0.3, 0.5, traced=True)
def garch_variance(omega, a, b):
    variance, total = omega, 0.0
    for r in DATA:
        total = total - 0.5 * (ops.log(variance) + r * r / variance)
        variance = omega + a * r * r + b * variance
    return total


@program([0.6, 0.2], [0.3, 0.8, 0.5], traced=True)
def autoregression(phi, y):
    total = 0.0
    for t in range(2, 3 + 2):
        fresh = phi[0] * y[-1] + phi[1] * y[-2]
        total = total + (fresh - 0.1 * t) ** 2
        y = ops.concatenate([y, fresh.reshape(1)])
    return total


@program([0.2, 0.5, 0.9])
def isotonic_pool_twice(x):
    a, b, c = x
    if a > 0.3:
        a = b = (a + b) / 2
    if b < c:
        m = (b + c) / 2
        b, c = m, m
    return a**2 + b * c


@program([0.3, -0.2], also=(([-0.3, -0.2],),))
def perceptron_updates(w):
    samples = [(np.array([1.0, 0.5]), 1), (np.array([-0.4, 1.0]), -1), (np.array([0.2, -1.0]), 1)]
    for x, label in samples:
        if label * ops.dot(w, x) < 0.1:
            w = w + 0.5 * label * x * ops.sum(w * w)
    return w**2

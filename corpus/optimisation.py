"""Optimisation inside the function: descent, least squares, line search, transport, clustering."""

from __future__ import annotations

import numpy as np

import adjoint as ad
from adjoint import ops
from corpus.program import program


@program([0.9, -0.6], 0.3, traced=True)
def gradient_descent_inside(x, rate):
    def loss(v):
        return (v[0] - 0.5) ** 2 + 0.5 * (v[1] * v[0] + 0.1) ** 2

    for _ in range(3):
        x = x - rate * ad.grad(loss)(x)
    return loss(x)


@program(0.9, also=((2.9,),))
def gradient_descent_until_flat(a):
    def loss(v):
        return ops.cosh(v - a) + 0.5 * v * v

    v = a * 0.5
    g = ad.grad(loss)(v)
    while abs(g) > 1e-12:
        v = v - 0.4 * g
        g = ad.grad(loss)(v)
    return v


@program([0.9, 0.6], [0.5, 0.8, 1.1], traced=True)
def gauss_newton(p, y):
    t = np.array([0.0, 0.5, 1.0])

    def residual(v):
        return v[0] * ops.exp(-v[1] * t) - y

    for _ in range(2):
        j, r = ad.jacfwd(residual)(p), residual(p)
        p = p - ops.solve(j.T @ j + 0.01 * np.eye(2), j.T @ r)
    return p


@program([0.9, 0.6], also=(([3.0, -2.0],),))
def levenberg_step(p):
    def residual(v):
        return ops.stack([v[0] ** 2 + v[1] - 1.1, v[0] - v[1] ** 2, 0.3 * v[0] * v[1]])

    damping = 0.1
    for _ in range(3):
        j, r = ad.jacobian(residual)(p), residual(p)
        trial = p - ops.solve(j.T @ j + damping * np.eye(2), j.T @ r)
        if (residual(trial) ** 2).sum() < (r**2).sum():
            p, damping = trial, damping / 3
        else:
            damping = damping * 2
    return p


@program([0.9, -0.6], traced=True)
def momentum_and_adam(x):
    m, v = 0.0, 0.0
    for t in range(1, 4):
        g = 2 * x + ops.cos(x)
        m = 0.9 * m + 0.1 * g
        v = 0.99 * v + 0.01 * g * g
        x = x - 0.1 * (m / (1 - 0.9**t)) / (ops.sqrt(v / (1 - 0.99**t)) + 1e-3)
    return x**2


@program(1.9, also=((0.3,),))
def line_search(x):
    def f(v):
        return v**4 / 4 + v

    g = x**3 + 1
    step = 1.0
    while f(x - step * g) > f(x) - 0.3 * step * g * g:
        step = step / 2
    return f(x - step * g)


@program([0.3, 0.7, 0.5], [0.2, 0.4, 0.4], traced=True)
def sinkhorn(a, b):
    a = a / a.sum()
    kernel = np.exp(-np.abs(np.subtract.outer(np.arange(3.0), np.arange(3.0))))
    v = np.ones(3)
    for _ in range(5):
        u = a / (kernel @ v)
        v = b / (kernel.T @ u)
    return (u[:, None] * kernel * v[None, :] * np.arange(9.0).reshape(3, 3)).sum()


@program([[0.1, 0.2], [0.9, 0.8], [0.2, 0.1], [0.7, 1.0]])
def k_means(points):
    centres = [points[0], points[1]]
    for _ in range(2):
        sums, counts = [points[0] * 0, points[0] * 0], [0, 0]
        for i in range(4):
            near = [((points[i] - c) ** 2).sum() for c in centres]
            if near[0] < near[1]:
                sums[0], counts[0] = sums[0] + points[i], counts[0] + 1
            else:
                sums[1], counts[1] = sums[1] + points[i], counts[1] + 1
        centres = [s / n for s, n in zip(sums, counts)]
    return centres[0] ** 2 + centres[1] * centres[0]

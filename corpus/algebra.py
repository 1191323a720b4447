"""Linear algebra by loops, and iterations until tolerance."""

from __future__ import annotations

import numpy as np

import adjoint as ad
from adjoint import ops
from corpus.program import program

SPD = [[2.0, 0.3, 0.1], [0.3, 1.5, 0.2], [0.1, 0.2, 1.2]]
GENERAL = [[2.0, 0.4, -0.3], [0.2, 1.7, 0.5], [-0.1, 0.3, 1.4]]


@program(SPD, traced=True)
def cholesky_by_loops(a):
    n = a.shape[0]
    l = ops.zeros_like(a)
    for i in range(n):
        for j in range(i + 1):
            s = a[i, j]
            for k in range(j):
                s = s - l[i, k] * l[j, k]
            l[i, j] = ops.sqrt(s) if i == j else s / l[j, j]
    return l


@program(SPD, traced=True)
def cholesky_by_rows(a):
    l = ops.zeros_like(a)
    for j in range(3):
        l[j, j] = ops.sqrt(a[j, j] - (l[j, :j] ** 2).sum())
        if j < 2:
            l[j + 1 :, j] = (a[j + 1 :, j] - l[j + 1 :, :j] @ l[j, :j]) / l[j, j]
    return l


@program(GENERAL, traced=True)
def lu_by_loops(a):
    u = a.copy()
    l = ops.eye(3, dtype=ad.float64)
    for k in range(2):
        for i in range(k + 1, 3):
            f = u[i, k] / u[k, k]
            l[i, k] = f
            u[i] = u[i] - f * u[k]
    return l + u


@program(GENERAL, also=(([[0.1, 0.4, -0.3], [0.9, 1.7, 0.5], [-1.7, 0.3, 1.4]],),))
def determinant_with_pivoting(a):
    sign = 1.0
    det = 1.0
    for k in range(3):
        p = k + ops.argmax(ops.abs(a[k:, k]))
        if p != k:
            row = a[k] * 1.0
            a[k] = a[p]
            a[p] = row
            sign = -sign
        det = det * a[k, k]
        for i in range(k + 1, 3):
            a[i] = a[i] - a[i, k] / a[k, k] * a[k]
    return sign * det


@program(GENERAL, [1.0, 0.5, -0.2], traced=True)
def gauss_elimination_solve(a, b):
    for k in range(3):
        for i in range(k + 1, 3):
            f = a[i, k] / a[k, k]
            a[i] -= f * a[k]
            b[i] -= f * b[k]
    x = ops.zeros_like(b)
    for i in reversed(range(3)):
        x[i] = (b[i] - a[i] @ x) / a[i, i]
    return x


@program(GENERAL, traced=True)
def gram_schmidt(a):
    columns = []
    for j in range(3):
        v = a[:, j]
        for q in columns:
            v = v - ops.dot(q, a[:, j]) * q
        columns.append(v / ops.norm(v))
    return ops.stack(columns, 1)


@program(GENERAL, traced=True)
def householder_qr(a):
    r = a
    for k in range(2):
        x = r[k:, k]
        e = np.zeros(3 - k)
        e[0] = 1.0
        v = x + ops.sqrt((x * x).sum()) * e
        v = v / ops.sqrt((v * v).sum())
        block = r[k:] - 2 * ops.outer(v, v @ r[k:])
        r = ops.concatenate([r[:k], block]) if k else block
    return r


@program(SPD)
def power_iteration(a):
    v = np.ones(3) / np.sqrt(3.0)
    while True:
        w = a @ v
        fresh = w / ops.sqrt((w * w).sum())
        change = ops.max(ops.abs(fresh - v))
        v = fresh
        if change < 1e-14:
            break
    return v @ a @ v


@program(SPD, traced=True)
def rayleigh_quotient_iteration(a):
    v = np.array([1.0, 0.4, 0.3])
    for _ in range(4):
        mu = (v @ a @ v) / (v @ v)
        v = ops.solve(a - (mu + 0.05) * np.eye(3), v)
        v = v / ops.norm(v)
    return (v @ a @ v) / (v @ v)


@program(SPD, traced=True)
def qr_iteration(a):
    for _ in range(6):
        q, r = ops.qr(a)
        a = r @ q
    return ops.diag(a) * np.array([1.0, 2.0, 3.0])


@program([[2.0, 0.6], [0.6, 1.1]], traced=True)
def jacobi_rotation(a):
    theta = 0.5 * ops.arctan2(2 * a[0, 1], a[0, 0] - a[1, 1])
    c, s = ops.cos(theta), ops.sin(theta)
    r = ops.stack([ops.stack([c, -s]), ops.stack([s, c])])
    d = r.T @ a @ r
    return d[0, 0] * d[1, 1] ** 2 + d[0, 1]


@program(GENERAL, [1.0, 0.5, -0.2])
def jacobi_until_tolerance(a, b):
    d = ops.diag(a)
    x = b / d
    change = 1.0
    while change > 1e-12:
        fresh = (b - a @ x + d * x) / d
        change = ops.max(ops.abs(fresh - x))
        x = fresh
    return x


@program(GENERAL, [1.0, 0.5, -0.2])
def gauss_seidel_until_tolerance(a, b):
    x = ops.zeros_like(b)
    for _ in range(100):
        old = x.copy()
        for i in range(3):
            x[i] = (b[i] - a[i] @ x + a[i, i] * x[i]) / a[i, i]
        if ops.norm(x - old) < 1e-12:
            break
    return x


@program(SPD, [1.0, 0.5, -0.2])
def conjugate_gradients(a, b):
    x = ops.zeros_like(b)
    r = b
    p = r
    rs = r @ r
    for _ in range(3):
        ap = a @ p
        alpha = rs / (p @ ap)
        x = x + alpha * p
        r = r - alpha * ap
        fresh = r @ r
        if fresh < 1e-24:
            break
        p = r + fresh / rs * p
        rs = fresh
    return x


@program(SPD, [1.0, 0.5, -0.2], also=((SPD, [0.1, -0.5, 0.9]),))
def steepest_descent_until_small(a, b):
    x = b / 2
    r = b - a @ x
    while r @ r > 1e-24:
        x = x + (r @ r) / (r @ a @ r) * r
        r = b - a @ x
    return x


@program(GENERAL)
def newton_schulz_inverse(a):
    x = a.T / (a * a).sum()
    while ops.norm(ops.eye(3, dtype=ad.float64) - a @ x) > 1e-9:
        x = x @ (2 * ops.eye(3, dtype=ad.float64) - a @ x)
    return x


@program([[0.3, 0.5], [-0.2, 0.4]])
def matrix_exponential_series(a):
    term = ops.eye(2, dtype=ad.float64)
    total = term
    n = 1
    while ops.max(ops.abs(term)) > 1e-15:
        term = term @ a / n
        total = total + term
        n += 1
    return total


@program([[1.1, 0.5], [-0.2, 0.9]], traced=True)
def matrix_power_by_squaring(a):
    result, n = ops.eye(2, dtype=ad.float64), 11
    while n:
        if n & 1:
            result = result @ a
        a = a @ a
        n >>= 1
    return result


@program(SPD, traced=True)
def matrix_square_root(a):
    y, z = a, ops.eye(3, dtype=ad.float64)
    for _ in range(6):
        y, z = 0.5 * (y + ops.inv(z)), 0.5 * (z + ops.inv(y))
    return y


@program([2.0, 1.8, 2.2], [0.3, -0.4], [1.0, 0.2, 0.7], traced=True)
def thomas_tridiagonal(main, off, b):
    n = 3
    c, d = [off[0] / main[0]], [b[0] / main[0]]
    for i in range(1, n):
        m = main[i] - off[i - 1] * c[i - 1]
        c.append(off[i] / m if i < n - 1 else 0.0)
        d.append((b[i] - off[i - 1] * d[i - 1]) / m)
    x = [d[-1]]
    for i in range(n - 2, -1, -1):
        x.insert(0, d[i] - c[i] * x[0])
    return ops.stack(x)


@program([[0.2, 0.5, 0.9], [0.7, 0.1, 0.4]], [1.0, 0.3], traced=True)
def least_squares_normal_equations(a, b):
    gram = a @ a.T + 0.1 * np.eye(2)
    return a.T @ ops.solve(gram, b)


@program(GENERAL, traced=True)
def characteristic_polynomial(a):
    m = ops.eye(3, dtype=ad.float64)
    coefficients = [1.0]
    for k in range(1, 4):
        m = a @ m
        c = -ops.trace(m) / k
        coefficients.append(c)
        m = m + c * np.eye(3)
    return coefficients[1] + coefficients[2] ** 2 + coefficients[3]


@program([[0.2, 0.5], [0.7, 0.1]], [[1.0, 0.3], [0.2, 0.8]], traced=True)
def matmul_by_loops(a, b):
    c = ops.zeros((2, 2), ad.float64)
    for i in range(2):
        for j in range(2):
            for k in range(2):
                c[i, j] += a[i, k] * b[k, j]
    return c**2


@program(GENERAL, traced=True)
def library_decompositions(a):
    s = a @ a.T
    w = ops.eigvalsh(s)
    _, d, _ = ops.svd(a)
    _, logdet = ops.slogdet(a)
    return w.sum() * logdet + (d * np.array([1.0, 2.0, 3.0])).sum() + ops.cholesky(s)[2, 0]

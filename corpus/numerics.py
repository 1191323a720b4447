"""Numerical methods: roots until tolerance, fixed points, quadrature, series, interpolation."""

from __future__ import annotations

import math

import numpy as np

import adjoint as ad
from adjoint import ops
from corpus.program import program


@program(2.0, also=((9.0,),))
def newton_square_root(a):
    x = a
    while abs(x * x - a) > 1e-13:
        x = 0.5 * (x + a / x)
    return x


@program(0.8, 0.3, also=((2.4, 0.6),))
def newton_kepler(mean_anomaly, eccentricity):
    e = mean_anomaly
    for _ in range(50):
        step = (e - eccentricity * ops.sin(e) - mean_anomaly) / (1 - eccentricity * ops.cos(e))
        e = e - step
        if abs(step) < 1e-12:
            break
    return e


@program([0.8, 1.3], traced=True)
def newton_in_two_dimensions(p):
    z = ops.ones_like(p)
    for _ in range(7):
        f = ops.stack([z[0] ** 2 + z[1] - 2 * p[0], z[0] * z[1] ** 2 + z[1] - p[1]])
        row0 = ops.stack([2 * z[0], z[1] * 0 + 1])
        row1 = ops.stack([z[1] ** 2, 2 * z[0] * z[1] + 1])
        z = z - ops.solve(ops.stack([row0, row1]), f)
    return z


@program(1.7, also=((0.9,),))
def newton_with_inner_gradient(a):
    def f(x):
        return x**3 + x - a

    x = 1.0 + 0.0 * a
    while abs(f(x)) > 1e-12:
        x = x - f(x) / ad.grad(f)(x)
    return x


@program(3.0, also=((11.0,),))
def bisection_then_newton(a):
    lo, hi = 0.0, 4.0
    while hi - lo > 1e-6:
        mid = (lo + hi) / 2
        if mid**3 + mid < a:
            lo = mid
        else:
            hi = mid
    x = (lo + hi) / 2
    for _ in range(2):
        x = x - (x**3 + x - a) / (3 * x**2 + 1)
    return x


@program(0.1, 2.9, also=((0.3, 1.9),))
def bisection_of_moving_bracket(lo, hi):
    for _ in range(5):
        mid = 0.5 * (lo + hi)
        lo, hi = (mid, hi) if mid * mid < 2.2 else (lo, mid)
    return lo * hi


@program(2.5, also=((0.7,),))
def secant_until_tolerance(a):
    x0, x1 = 0.5 * a, 0.5 * a + 0.5
    f0, f1 = ops.exp(x0) - a - 1, ops.exp(x1) - a - 1
    while abs(x1 - x0) > 1e-9:
        x0, x1 = x1, x1 - f1 * (x1 - x0) / (f1 - f0)
        f0, f1 = f1, ops.exp(x1) - a - 1
    return x1


@program(2.5, also=((0.7,),))
def halley_cube_root(a):
    x = 1.0
    error = 1.0
    while error > 1e-12:
        cube = x**3
        fresh = x * (cube + 2 * a) / (2 * cube + a)
        error = abs(fresh - x)
        x = fresh
    return x


@program(0.7, also=((0.2,),))
def fixed_point_cosine(a):
    x = a * 0 + 0.5
    change = 1.0
    while change > 1e-13:
        fresh = ops.cos(a * x)
        change = abs(fresh - x)
        x = fresh
    return x


@program(0.6, also=((0.3,),))
def steffensen(a):
    x = a
    while True:
        g1 = ops.exp(-a * x)
        g2 = ops.exp(-a * g1)
        denominator = g2 - 2 * g1 + x
        if abs(denominator) < 1e-7:
            break
        x = x - (g1 - x) ** 2 / denominator
    for _ in range(3):
        x = x - (x - ops.exp(-a * x)) / (1 + a * ops.exp(-a * x))
    return x


@program(1.7, 0.6)
def arithmetic_geometric_mean(a, b):
    while abs(a - b) > 1e-13:
        a, b = 0.5 * (a + b), ops.sqrt(a * b)
    return a


@program([1.0, -0.5, 0.25, 2.0], 0.7, traced=True)
def horner(c, x):
    y = 0.0
    for i in range(3, -1, -1):
        y = y * x + c[i]
    return y


@program([1.0, -0.5, 0.25, 2.0], 0.7, traced=True)
def clenshaw(c, x):
    b1, b2 = 0.0, 0.0
    for k in range(3, 0, -1):
        b1, b2 = c[k] + 2 * x * b1 - b2, b1
    return c[0] + x * b1 - b2


@program(0.7, also=((2.1,),))
def taylor_until_small(x):
    term, total, n = x, x, 1
    while abs(term) > 1e-14:
        term = -term * x * x / ((2 * n) * (2 * n + 1))
        total = total + term
        n += 1
    return total


@program(0.7, traced=True)
def continued_fraction(x):
    y = 0.0
    for k in range(8, 0, -1):
        y = k * x / (1 + y)
    return 1 / (1 + y)


@program(0.7, also=((1.6,),))
def lentz_tangent(x):
    f, c, d, k = 1.0, 1.0, 0.0, 1
    while k < 40:
        a, b = -x * x, 2 * k + 1.0
        d = 1 / (b + a * d)
        c = b + a / c
        f = f * c * d
        if abs(c * d - 1) < 1e-13:
            break
        k += 1
    return x / f


@program(0.4, 1.9, traced=True)
def simpson_with_loops(a, b):
    n = 6
    h = (b - a) / n
    total = ops.exp(-a * a) + ops.exp(-b * b)
    for i in range(1, n):
        x = a + i * h
        total = total + (4 if i % 2 else 2) * ops.exp(-x * x)
    return total * h / 3


@program(0.4, 1.9, traced=True)
def romberg(a, b):
    h = b - a
    rows = [[0.5 * h * (ops.sin(a * a) + ops.sin(b * b))]]
    for k in range(1, 4):
        h = h / 2
        fresh = sum(ops.sin((a + (2 * i + 1) * h) ** 2) for i in range(2 ** (k - 1)))
        row = [0.5 * rows[-1][0] + h * fresh]
        for j in range(1, k + 1):
            row.append(row[j - 1] + (row[j - 1] - rows[-1][j - 1]) / (4**j - 1))
        rows.append(row)
    return rows[-1][-1]


@program(0.4, also=((2.2,),))
def trapezoid_until_tolerance(a):
    h, n = 1.0, 1
    value = 0.5 * (1 + ops.exp(a))
    change = 1.0
    while change > 1e-3:
        mid = 0.0
        for i in range(n):
            mid = mid + ops.exp(a * (i + 0.5) * h)
        fresh = 0.5 * (value + h * mid)
        change = abs(fresh - value)
        value = fresh
        h, n = h / 2, n * 2
    return value


@program(1.5)
def adaptive_simpson_by_recursion(a):
    def f(x):
        return ops.exp(-a * x) * ops.cos(x)

    def rule(lo, hi):
        return (hi - lo) / 6 * (f(lo) + 4 * f((lo + hi) / 2) + f(hi))

    def adapt(lo, hi, depth):
        mid = (lo + hi) / 2
        coarse, fine = rule(lo, hi), rule(lo, mid) + rule(mid, hi)
        if depth == 0:
            return fine
        return fine if abs(fine - coarse) < 1e-5 else adapt(lo, mid, depth - 1) + adapt(mid, hi, depth - 1)

    return adapt(0.0, 2.0, 3)


@program([0.8, 0.3], traced=True)
def gauss_legendre(p):
    nodes, weights = np.polynomial.legendre.leggauss(4)
    total = 0.0
    for x, w in zip(nodes, weights):
        total = total + w * ops.exp(p[0] * x) * ops.cos(p[1] * x)
    return total


@program([0.3, 0.9, 0.4, 1.2], 1.6, also=(([0.3, 0.9, 0.4, 1.2], 0.3), ([0.3, 0.9, 0.4, 1.2], 2.8)))
def linear_interpolation(y, t):
    i = 0
    while i < 2 and t > i + 1:
        i += 1
    return y[i] + (t - i) * (y[i + 1] - y[i])


@program([0.3, 0.9, 0.4, 1.2], 1.6, also=(([0.3, 0.9, 0.4, 1.2], 2.7),), traced=True)
def catmull_rom_with_where(y, t):
    total = 0.0
    for i in range(3):
        u = t - i
        left = y[max(i - 1, 0)]
        right = y[min(i + 2, 3)]
        m0, m1 = (y[i + 1] - left) / 2, (right - y[i]) / 2
        piece = y[i] + m0 * u + (3 * (y[i + 1] - y[i]) - 2 * m0 - m1) * u**2
        piece = piece + (2 * (y[i] - y[i + 1]) + m0 + m1) * u**3
        total = total + ops.where((t >= i) & (t < i + 1), piece, 0.0)
    return total


@program([0.2, 0.7, 1.1], [0.5, 0.9, 0.1], 0.4, traced=True)
def lagrange_interpolation(xs, ys, t):
    total = 0.0
    for i in range(3):
        weight = 1.0
        for j in range(3):
            if j != i:
                weight = weight * (t - xs[j]) / (xs[i] - xs[j])
        total = total + ys[i] * weight
    return total


@program([0.5, 1.1, 0.9, 1.6], 0.3, traced=True)
def de_casteljau(points, t):
    layer = list(points)
    while len(layer) > 1:
        layer = [(1 - t) * a + t * b for a, b in zip(layer, layer[1:])]  # noqa: RUF007
    return layer[0]


@program(0.35, also=((0.8,),))
def cordic_like(angle):
    x, y, z = 1.0, 0.0 * angle, angle
    for k in range(6):
        d = 1.0 if z > 0 else -1.0
        shift = 2.0**-k
        x, y, z = x - d * y * shift, y + d * x * shift, z - d * math.atan(shift)
    return x + y + z * angle


@program(0.3, 0.5, also=((0.2, 0.3), (-0.9, 0.8)))
def mandelbrot_escape(cx, cy):
    x, y, n = cx, cy, 0
    while x * x + y * y < 4 and n < 6:
        x, y = x * x - y * y + cx, 2 * x * y + cy
        n += 1
    return ops.log(1 + x * x + y * y) + n


@program(3.2, 0.4, traced=True)
def logistic_map(r, x):
    orbit = []
    for _ in range(5):
        x = r * x * (1 - x)
        orbit.append(x)
    return ops.stack(orbit)


@program(0.9, 1.4, traced=True)
def richardson_of_difference(x, a):
    def d(h):
        return (ops.sin(a * (x + h)) - ops.sin(a * (x - h))) / (2 * h)

    return (4 * d(0.05) - d(0.1)) / 3


@program([0.5, 0.9, 1.1], 0.3, traced=True)
def aitken_acceleration(c, q):
    partial = [c[0], c[0] + c[1] * q, c[0] + c[1] * q + c[2] * q * q]
    s0, s1, s2 = partial
    return s2 - (s2 - s1) ** 2 / (s2 - 2 * s1 + s0)


@program(0.8, 0.3, also=((2.8, 1.3),))
def golden_section_then_newton(a, b):
    lo, hi = -3.0, 3.0
    ratio = (math.sqrt(5) - 1) / 2
    while hi - lo > 1e-3:
        p, q = hi - ratio * (hi - lo), lo + ratio * (hi - lo)
        if ops.cosh(p - a) + b * p < ops.cosh(q - a) + b * q:
            hi = q
        else:
            lo = p
    x = (lo + hi) / 2
    for _ in range(4):
        x = x - (ops.sinh(x - a) + b) / ops.cosh(x - a)
    return x


@program(2.3, also=((5.1,),))
def gamma_by_recurrence(x):
    product = 1.0
    while x < 6:
        product = product * x
        x = x + 1
    series = 1 / (12 * x) - 1 / (360 * x**3)
    return (x - 0.5) * ops.log(x) - x + series - ops.log(product)


@program(0.7, also=((-2.1,), (4.0,)))
def angle_wrapped(x):
    while x > math.pi:
        x = x - 2 * math.pi
    while x < -math.pi:
        x = x + 2 * math.pi
    return x**2 + ops.sin(x / 2)

"""Simulations: ordinary differential equations with fixed and adaptive steps, stencils, events, rays."""

from __future__ import annotations

import numpy as np

import adjoint as ad
from adjoint import ops
from corpus.program import program


@program(0.8, 0.5, traced=True)
def euler_decay(y, k):
    for _ in range(6):
        y = y - 0.1 * k * y * (1 + 0.1 * y)
    return y


@program([0.8, 0.1], 1.3, traced=True)
def rk4_pendulum(y, g):
    def f(s):
        return ops.stack([s[1], -g * ops.sin(s[0])])

    h = 0.1
    for _ in range(3):
        k1 = f(y)
        k2 = f(y + h / 2 * k1)
        k3 = f(y + h / 2 * k2)
        k4 = f(y + h * k3)
        y = y + h / 6 * (k1 + 2 * k2 + 2 * k3 + k4)
    return y


@program(1.0, 0.2, traced=True)
def leapfrog_oscillator(q, p):
    h = 0.15
    for _ in range(5):
        p = p - h / 2 * q**3
        q = q + h * p
        p = p - h / 2 * q**3
    return q, p


@program(0.9, 0.7, also=((2.0, 1.5),))
def adaptive_step_heun(y, k):
    t, h = 0.0, 0.4
    while t < 1:
        h = min(h, 1 - t)
        k1 = -k * y * y
        k2 = -k * (y + h * k1) ** 2
        error = h * (k2 - k1) / 2
        if error * error < 1e-4:
            t, y = t + h, y + h * (k1 + k2) / 2
            h = 1.3 * h
        else:
            h = 0.5 * h
    return y


@program(0.9, 0.7, also=((1.4, 1.5),))
def adaptive_step_smooth_control(y, k):
    t = 0.0
    steps = 0
    while t < 1 and steps < 20:
        h = 0.1 + 0.1 / (1 + k * y * y)
        y = y + h * (-k * y + 0.3 * ops.sin(y))
        t = t + h
        steps += 1
    return y + t


@program([1.0, 0.5], [0.6, 0.4, 0.5], traced=True)
def lotka_volterra(populations, rates):
    prey, hunters = populations
    a, b, c = rates
    for _ in range(6):
        prey, hunters = prey + 0.1 * (a * prey - b * prey * hunters), hunters + 0.1 * (b * prey * hunters - c * hunters)
    return prey * hunters


@program([0.1, 0.9, 0.4, 0.3, 0.6], 0.2, traced=True)
def heat_equation_stencil(u, alpha):
    for _ in range(4):
        inside = u[1:-1] + alpha * (u[2:] - 2 * u[1:-1] + u[:-2])
        u = ops.concatenate([u[:1], inside, u[-1:]])
    return u**2


@program([0.1, 0.9, 0.4, 0.3, 0.6], traced=True)
def heat_equation_in_place(u):
    for _ in range(3):
        old = u.copy()
        for i in range(1, 4):
            u[i] += 0.2 * (old[i + 1] - 2 * old[i] + old[i - 1])
    return u**2


@program([0.1, 0.9, 0.4, 0.3], traced=True)
def wave_equation_periodic(u):
    previous = u
    for _ in range(4):
        u, previous = 2 * u - previous + 0.3 * (ops.roll(u, 1) - 2 * u + ops.roll(u, -1)), u
    return u**2


@program([0.2, 0.9, 0.5, 0.7])
def burgers_upwind(u):
    for _ in range(3):
        fresh = []
        for i in range(4):
            left, right = u[i - 1], u[(i + 1) % 4]
            slope = u[i] - left if u[i] > 0.4 else right - u[i]
            fresh.append(u[i] - 0.1 * u[i] * slope)
        u = ops.stack(fresh)
    return u**2


@program([[0.1, 0.8, 0.3], [0.7, 0.2, 0.6], [0.4, 0.5, 0.9]], traced=True)
def soft_game_of_life(a):
    for _ in range(2):
        around = 0.0
        for i in (-1, 0, 1):
            for j in (-1, 0, 1):
                if (i, j) != (0, 0):
                    around = around + ops.roll(a, (i, j), (0, 1))
        born = ops.exp(-((around - 3) ** 2))
        a = born + a * ops.exp(-((around - 2) ** 2)) * 0.5
    return a


@program(1.0, 2.0, also=((0.4, 0.3),))
def bouncing_ball(height, speed):
    h = 0.1
    for _ in range(10):
        height = height + h * speed
        speed = speed - h * 9.81
        if height < 0:
            height = -0.8 * height
            speed = -0.8 * speed
    return height * speed


@program(1.1, 2.0, also=((0.4, 0.3),))
def fall_until_ground(height, speed):
    t = 0.0
    while True:
        if height + 0.1 * speed < 0:
            break
        height = height + 0.1 * speed
        speed = speed - 0.981
        t = t + 0.1
    return t - height / speed


@program([0.1, 0.2, -3.0], [0.02, 0.05, 1.0], 1.0, also=(([0.1, 2.2, -3.0], [0.02, 0.05, 1.0], 1.0),))
def ray_marching_sphere(origin, direction, radius):
    direction = direction / ops.norm(direction)
    t = 0.0
    for _ in range(40):
        p = origin + t * direction
        distance = ops.sqrt((p * p).sum()) - radius
        if distance < 1e-9:
            break
        if t > 6:
            return 6.0 + 0.1 * distance
        t = t + distance
    # one Newton step makes the derivative that of the hit and not of the march
    p = origin + t * direction
    n = p / ops.sqrt((p * p).sum())
    return t - (ops.sqrt((p * p).sum()) - radius) / (n * direction).sum()


@program([0.0, 0.1, -3.0], 0.8, also=(([2.0, 0.1, -3.0], 0.8),))
def ray_sphere_closed_form(origin, radius):
    d = np.array([0.0, 0.0, 1.0])
    b = (origin * d).sum()
    disc = b * b - (origin * origin).sum() + radius * radius
    if disc < 0:
        return ops.exp(disc)
    t = -b - ops.sqrt(disc)
    return t if t > 0 else -b + ops.sqrt(disc)


@program([1.0, 0.0, 0.0, 1.1], 1.0, traced=True)
def kepler_orbit_symplectic(state, mass):
    x, y, vx, vy = state
    for _ in range(5):
        r3 = (x * x + y * y) ** 1.5
        vx, vy = vx - 0.1 * mass * x / r3, vy - 0.1 * mass * y / r3
        x, y = x + 0.1 * vx, y + 0.1 * vy
    return x * x + y * y


@program([[0.0, 0.1], [1.0, -0.2], [0.3, 1.2]], traced=True)
def n_body_forces(points):
    total = 0.0
    for i in range(3):
        for j in range(3):
            if i != j:
                d = points[j] - points[i]
                total = total + d * 0.5 * i / ((d * d).sum() + 0.1) ** 1.5
    return total


@program(0.9, 0.05, also=((0.7, 0.2),))
def sir_until_peak(beta, infected):
    s, r, t = 1 - infected, 0.0, 0
    rising = True
    while rising and t < 30:
        new = beta * s * infected
        healed = 0.3 * infected
        s, infected, r = s - new, infected + new - healed, r + healed
        rising = new > healed
        t += 1
    return infected + r * t


@program([0.3, 0.8], traced=True)
def implicit_euler(p):
    y = p[0]
    for _ in range(3):
        guess = y
        for _ in range(4):
            residual = guess - y + 0.2 * p[1] * guess**3
            guess = guess - residual / (1 + 0.6 * p[1] * guess**2)
        y = guess
    return y


@program([1.0, 1.1, 0.9], 0.2, traced=True)
def lorenz(state, h):
    history = ops.zeros((3, 3), ad.float64)
    for k in range(3):
        x, y, z = state
        d = ops.stack([10 * (y - x), x * (28 - z) - y, x * y - 8 / 3 * z])
        state = state + 0.05 * h * d
        history[k] = state
    return history * 0.1


@program(0.4, 0.7, also=((1.5, 0.2),))
def random_walk_with_fixed_noise(x, drift):
    noise = np.random.default_rng(0).normal(size=6)
    path = [x]
    for e in noise:
        step = drift * 0.1 + 0.2 * float(e)
        path.append(path[-1] + (step if path[-1] < 1 else -step * x))
    return ops.stack(path) ** 2


@program([0.3, 0.6, 0.2], 0.4, traced=True)
def traffic_following(gaps, headway):
    speeds = [1.0, 0.9, 0.8]
    for _ in range(4):
        speeds = [v + 0.1 * (ops.tanh(g - headway) - 0.2 * v) for v, g in zip(speeds, gaps)]
        gaps = ops.stack([g + 0.1 * (ahead - v) for g, v, ahead in zip(gaps, speeds, [1.0, *speeds[:-1]])])
    return gaps**2


@program([0.7, 0.3], also=(([1.8, 0.9],),))
def van_der_pol_events(y):
    crossings = 0
    x, v = y
    area = 0.0
    for _ in range(12):
        before = x
        x, v = x + 0.2 * v, v + 0.2 * ((1 - x * x) * v - x)
        if before * x < 0:
            crossings += 1
        area = area + 0.2 * (x if x > 0 else -0.5 * x)
    return area + crossings * x

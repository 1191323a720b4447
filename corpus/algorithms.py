"""Algorithms: dynamic programming, graphs, sorting, transforms, convolutions, geometry."""
# ruff: noqa: SIM108 (branches stand as people write them)

from __future__ import annotations

import cmath
import heapq
import itertools
import math

import numpy as np

import adjoint as ad
from adjoint import ops
from corpus.program import program


def softmin(*xs):
    return -ops.logsumexp(ops.stack([-x for x in xs]), 0)


@program([0.3, 0.9, 0.5], [0.4, 0.8], traced=True)
def soft_edit_distance(x, y):
    table = [[0.7 * j for j in range(3)]]
    for i in range(3):
        row = [0.7 * (i + 1)]
        for j in range(2):
            row.append(softmin(row[j] + 0.7, table[i][j + 1] + 0.7, table[i][j] + (x[i] - y[j]) ** 2))
        table.append(row)
    return table[-1][-1]


@program([0.3, 0.9, 0.5, 0.2], [0.4, 0.8, 0.1])
def dynamic_time_warping(x, y):
    cost = ops.full((5, 4), 1e3, ad.float64)
    cost[0, 0] = 0.0
    for i in range(1, 5):
        for j in range(1, 4):
            best = min(cost[i - 1, j], cost[i, j - 1], cost[i - 1, j - 1])
            cost[i, j] = (x[i - 1] - y[j - 1]) ** 2 + best
    return cost[4, 3]


@program([0.9, 0.4, 1.3, 0.7], also=(([0.1, 0.4, 0.3, 2.7],),))
def knapsack_by_table(values):
    weights, capacity = [2, 1, 3, 2], 5
    best = [0.0] * (capacity + 1)
    for i, w in enumerate(weights):
        for c in range(capacity, w - 1, -1):
            taken = best[c - w] + values[i]
            if taken > best[c]:
                best[c] = taken
    return best[-1] ** 2


@program([[0.2, 0.8, 0.5], [0.9, 0.1, 0.4], [0.3, 0.7, 0.6]], traced=True)
def cheapest_path_in_grid(cost):
    best = ops.zeros_like(cost)
    for i in range(3):
        for j in range(3):
            if i == 0 and j == 0:
                came = 0.0
            elif i == 0:
                came = best[i, j - 1]
            elif j == 0:
                came = best[i - 1, j]
            else:
                came = ops.minimum(best[i - 1, j], best[i, j - 1])
            best[i, j] = cost[i, j] ** 2 + came
    return best[2, 2]


@program([0.5, -0.8, 0.9, 0.3, -0.4], also=(([-0.5, -0.8, 0.9, -1.3, 1.4],),))
def maximum_subarray(x):
    best, here = x[0], x[0]
    for i in range(1, 5):
        here = here + x[i] if here > 0 else x[i]
        if here > best:
            best = here
    return best**2


@program([[0.0, 0.4, 0.9], [0.5, 0.0, 0.3], [0.8, 0.2, 0.0]], traced=True)
def floyd_warshall_soft(d):
    for k in range(3):
        through = d[:, k][:, None] + d[k][None, :]
        d = -ops.logaddexp(-4 * d, -4 * through) / 4
    return d


@program([0.4, 0.9, 0.3, 0.8, 0.5])
def bellman_ford(w):
    edges = [(0, 1), (0, 2), (2, 1), (1, 3), (2, 3)]
    far = [0.0, 10.0, 10.0, 10.0]
    for _ in range(3):
        for k, (a, b) in enumerate(edges):
            far[b] = far[a] + w[k] ** 2 if far[a] + w[k] ** 2 < far[b] else far[b]
    return far[3] + far[1]


@program([0.4, 0.9, 0.3, 0.8, 0.5], static=False, reason="the heap orders tensors inside the interpreter")
def dijkstra_with_heap(w):
    edges = {0: [(1, 0), (2, 1)], 1: [(3, 3)], 2: [(1, 2), (3, 4)], 3: []}
    queue, done = [(0.0, 0)], {}
    while queue:
        far, node = heapq.heappop(queue)
        if node in done:
            continue
        done[node] = far
        for other, k in edges[node]:
            heapq.heappush(queue, (far + w[k], other))
    return done[3] ** 2


@program([0.5, 0.3, 0.9, 0.4], 0.8)
def pagerank(weights, damping):
    links = np.array([[0, 1, 1], [1, 0, 0], [1, 0, 0]])
    a = links * ops.stack([weights[:3], weights[1:], weights[:3] ** 2])
    a = a / a.sum(0)
    rank = np.ones(3) / 3
    change = 1.0
    while change > 1e-13:
        fresh = damping * (a @ rank) + (1 - damping) / 3
        change = ops.sum(ops.abs(fresh - rank))
        rank = fresh
    return rank * np.array([1.0, 2.0, 3.0])


@program([0.7, 0.2, 0.9, 0.4])
def sorting_network(x):
    v = [x[0], x[1], x[2], x[3]]
    for i, j in [(0, 1), (2, 3), (0, 2), (1, 3), (1, 2)]:
        if v[i] > v[j]:
            v[i], v[j] = v[j], v[i]
    return v[0] + 2 * v[1] ** 2 + 3 * v[2] ** 3 + 4 * v[3] ** 4


@program([0.7, 0.2, 0.9, 0.4], also=(([0.1, 0.2, 0.3, 0.4],),))
def bubble_sort_in_place(x):
    for i in range(3):
        for j in range(3 - i):
            if x[j] > x[j + 1]:
                low = x[j + 1]
                x[j + 1] = x[j]
                x[j] = low
    return x ** np.arange(1.0, 5.0)


@program([0.7, 0.2, 0.9, 0.4])
def insertion_sort(x):
    for i in range(1, 4):
        v = x[i]
        j = i - 1
        while j >= 0 and x[j] > v:
            x[j + 1] = x[j]
            j -= 1
        x[j + 1] = v
    return x * np.array([1.0, 2.0, 3.0, 4.0])


@program([0.7, 0.2, 0.9], traced=True)
def soft_sort(x):
    difference = ops.abs(x[:, None] - x[None, :])
    scale = np.array([2.0, 0.0, -2.0])
    p = ops.softmax((scale[:, None] * x[None, :] - difference.sum(1)) / 0.5, -1)
    return p @ x * np.array([3.0, 2.0, 1.0])


@program([0.1, 0.4, 0.7], also=(([0.1, 0.2, 0.7],),))
def binary_search(x):
    lo, hi = 0, 2
    while lo < hi:
        mid = (lo + hi) // 2
        if x[mid] < 0.3:
            lo = mid + 1
        else:
            hi = mid
    return x[lo] ** 2 + x[0]


@program([0.7, 0.2, 0.9, 0.4, 0.1, 0.6, 0.8, 0.3], traced=True)
def fft_by_recursion(x):
    def fft(v):
        n = len(v)
        if n == 1:
            return [v[0]]
        even, odd = fft(v[::2]), fft(v[1::2])
        turned = [cmath.exp(-2j * math.pi * k / n) * odd[k] for k in range(n // 2)]
        return [e + t for e, t in zip(even, turned)] + [e - t for e, t in zip(even, turned)]

    return sum(k * ops.real(z * ops.conj(z)) for k, z in enumerate(fft(x)))


@program([0.7, 0.2, 0.9, 0.4], traced=True)
def dft_in_real_arithmetic(x):
    power = []
    for k in range(3):
        re, im = 0.0, 0.0
        for n in range(4):
            re = re + x[n] * math.cos(2 * math.pi * k * n / 4)
            im = im - x[n] * math.sin(2 * math.pi * k * n / 4)
        power.append((re * re + im * im) * (k + 1))
    return power


@program([0.7, 0.2, 0.9, 0.4], traced=True)
def haar_wavelet(x):
    out = []
    while len(x) > 1:
        out.append((x[::2] - x[1::2]) / math.sqrt(2))
        x = (x[::2] + x[1::2]) / math.sqrt(2)
    return x.sum() ** 2 + sum((k + 1) * (d**3).sum() for k, d in enumerate(out))


@program([0.7, 0.2, 0.9, 0.4], [0.5, 0.3], traced=True)
def convolution_by_loops(x, k):
    y = ops.zeros(3, ad.float64)
    for i in range(3):
        for j in range(2):
            y[i] += x[i + j] * k[j]
    return y**2


@program([[0.7, 0.2, 0.9], [0.4, 0.1, 0.6], [0.3, 0.8, 0.5]], [[0.5, -0.3], [0.2, 0.7]], traced=True)
def convolution_2d(image, kernel):
    rows = []
    for i in range(2):
        rows.append(ops.stack([(image[i : i + 2, j : j + 2] * kernel).sum() for j in range(2)]))
    return ops.tanh(ops.stack(rows))


@program([0.7, 0.2, 0.9, 0.4, 0.6], traced=True)
def moving_average(x):
    total = x[0] + x[1]
    out = [total / 2]
    for i in range(2, 5):
        total = total + x[i] - x[i - 2]
        out.append(total / 2)
    return ops.stack(out) ** 2


@program([0.7, 0.2, 0.9, 0.4], 0.3, traced=True)
def exponential_smoothing(x, alpha):
    level, error = x[0], 0.0
    for v in x[1:]:
        error = error + (v - level) ** 2
        level = alpha * v + (1 - alpha) * level
    return error


@program([0.7, 0.2, 0.9, 0.4], traced=True)
def cumulative_products(x):
    running, out = 1.0, []
    for v in x:
        running = running * (1 + v)
        out.append(running)
    return ops.stack(out) / ops.cumprod(1 + x**2)


@program([0.7, 0.2, 0.9, 0.4], 0.15, traced=True)
def soft_histogram(x, width):
    centres = np.array([0.25, 0.5, 0.75])
    weights = ops.exp(-0.5 * ((x[:, None] - centres) / width) ** 2)
    share = weights / weights.sum(1, keepdims=True)
    return share.sum(0) ** 2


@program([0.2, 0.9, 0.8, 0.1, 0.4, 0.7], traced=True)
def polygon_area_and_perimeter(flat):
    points = flat.reshape(3, 2)
    area, length = 0.0, 0.0
    for i in range(3):
        p, q = points[i], points[(i + 1) % 3]
        area = area + p[0] * q[1] - p[1] * q[0]
        length = length + ops.norm(p - q)
    return area / length


@program([0.2, 0.9, 0.5], also=(([0.9, 0.2, 0.5],),))
def median_of_three_by_branches(x):
    a, b, c = x
    if a < b:
        m = b if b < c else (c if a < c else a)
    else:
        m = a if a < c else (c if b < c else b)
    return m**2 + a


@program([0.3, 0.2, 0.6], traced=True)
def pascal_triangle(x):
    row = [1.0]
    for k in range(3):
        row = [1.0, *[a + x[k] * b for a, b in itertools.pairwise(row)], x[k]]
    return sum(v**2 for v in row)


@program([0.4, 0.8, 0.3], 0.6, traced=True)
def infix_evaluator(x, y):
    tokens = ["0", "1", "*", "2", "y", "+", "/", "sin"]
    stack = []
    for token in tokens:
        if token.isdigit():
            stack.append(x[int(token)])
        elif token == "y":
            stack.append(y)
        elif token == "sin":
            stack.append(ops.sin(stack.pop()))
        else:
            b, a = stack.pop(), stack.pop()
            stack.append({"+": a + b, "*": a * b, "/": a / b}[token])
    return stack.pop()

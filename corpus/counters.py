"""Python numbers beside Tensors: counters as keys and members, integers of any size, floats that stay weak."""

from __future__ import annotations

from adjoint import ops
from corpus.program import program


@program([0.3, 0.5])
def members_and_types(x):
    y = x * 0
    for k in range(12):
        if k in {3, 7} and isinstance(k, int):
            y = y + x**2
        y = y + x * (k not in (1, 2))
    return y


@program([0.3, 0.5])
def keys(x):
    table = {3: 2.0, 10: 0.5}
    y = x
    for k in range(12):
        y = y + table.get(k, 0.1) * x * y
    return y


@program([0.3, 0.5])
def missing_keys(x):
    table = {3: 2.0, 10: 0.5}
    y = x
    for k in range(12):
        try:
            factor = table[k]
        except KeyError:
            factor = 0.25
        y = ops.sin(y) + factor * x
    return y


@program([0.3, 0.5])
def powers_of_counters(x):
    y = x * 0
    for k in range(1, 13):
        y = y + x**2 * k**-2 + x * (k // 3) * 0.1 + x * (k % 5) + x * (1 << k) * 1e-3
    return y


@program([0.3, 0.5])
def integers_beyond_64_bits(x):
    y, n = x, 1
    for k in range(1, 30):
        n = n * k
        y = y + x**2 / n
    return y * (n / 1e30)


@program([0.3, 0.5])
def sums_of_integers(x):
    total, y = 0, x
    for k in range(20):
        total += k * k
        y = y + x * total * 1e-3
    return y


@program([0.3, 0.5], also=(([2.5, 3.1],),))
def counts_and_flags(x):
    count, large = 0, False
    for k in range(12):
        if (x * k).sum() > 5:
            count += 1
            large = True
    y = x * count
    if large is True:
        y = y + x**3
    return y


@program([0.3, 0.5, 0.8], also=(([0.3, 2.0, 0.8],),))
def up_to_the_end(x):
    i, y = 0, x[0]
    while i < 3 and x[i] < 1.0:
        y = y * x[i] + 1.0
        i += 1
    return y * (i + 1)


@program([0.3, 0.5], 0.7)
def weak_floats(x, s):
    loss = 0.0
    for k in range(12):
        s = s * 0.9 + 0.01 * k
        loss = loss + (x * s).sum() * max(s, 0.5)
    return loss

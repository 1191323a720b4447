"""The counter of a loop is an integer to Python, in 5 iterations, which Python runs, and in 20, which the graph does."""

import collections
import json
import math
import numbers

import numpy as np
import pytest

import adjoint as ad

INPUTS = [ad.Tensor(np.arange(1, 4, dtype=dtype) / dtype(3)) for dtype in (np.float32, np.float64)]
COUNTED = []


def counted(fn):
    COUNTED.append(fn)
    return fn


@counted
def among(x, n):
    y = x * 0
    for k in range(n):
        if k in {3, 7}:
            y = y + x
        if k in [2, "a", None]:
            y = y + 2 * x
        if k not in (1, 5, 11):
            y = y + x * x
        if k in range(2, 90, 3):
            y = y - x
    return y


@counted
def dict_get(x, n):
    table = {3: 2.0, 12: 5.0}
    y = x * 0
    for k in range(n):
        y = y + x * table.get(k, 0)
    return y


@counted
def key_error(x, n):
    table = {3: 2.0, 12: 5.0}
    y = x * 0
    for k in range(n):
        try:
            factor = table[k]
        except KeyError:
            factor = 0.5
        y = y + factor * x
    return y


@counted
def any_error(x, n):
    table = {3: 2.0, 12: 5.0}
    y = x * 0
    for k in range(n):
        try:
            factor = table[k]
        except:  # noqa: E722
            factor = 0.5
        y = y + factor * x
    return y


@counted
def type_tests(x, n):
    y = x * 0
    for k in range(n):
        if isinstance(k, int) and isinstance(k, numbers.Integral):
            y = y + x
        if isinstance(k, (float, str, ad.Tensor)):
            y = y + 100 * x
        if type(k) is int and type(k).__name__ == "int":
            y = y + 3 * x
    return y


@counted
def attributes(x, n):
    y = x * 0
    for k in range(n):
        if hasattr(k, "shape"):
            y = y + 100 * x
        if getattr(k, "dtype", None) is None and hasattr(k, "bit_length"):
            y = y + x
        try:
            k.shape
            y = y + 1000 * x
        except AttributeError:
            y = y + 2 * x
        try:
            y = y + x * k.bit_length()
        except AttributeError:
            y = y + 1000 * x
    return y


@counted
def powers(x, n):
    y = x * 0
    for k in range(1, n + 1):
        y = y + x * k**-2 + x * k ** (-k) + x * (k**20 / 1e20) + x * 2**k
    return y


@counted
def texts(x, n):
    table = {f"a{i}": i * 1.5 for i in range(n)}
    y = x * 0
    for k in range(n):
        y = y + table[f"a{k}"] * x + table["a%d" % k] * x + len(str(k)) * x + len(json.dumps({"k": k})) * x  # noqa: UP031
    return y


@counted
def identity(x, n):
    y = x * 0
    for k in range(n):
        if k is None or k is True:
            y = y + 100 * x
        if k is not None and k is not ...:
            y = y + x
    return y


@counted
def hashes_and_places(x, n):
    places = list(range(n))
    pairs = {(i, i + 1): i for i in range(n)}
    counts = collections.Counter()
    seen = set()
    y = x * 0
    for k in range(n):
        counts[k % 3] += 1
        seen.add(k % 4)
        y = y + x * hash(k) * places.index(k) * places.count(k) + x * pairs[k, k + 1]
    return y + counts[0] * x + len(seen) * x


@counted
def library(x, n):
    y = x * 0
    for k in range(n):
        y = y + x * math.sqrt(k) + x * math.floor(k) + sorted([3, k, 1])[1] * x
    return y


@counted
def bits(x, n):
    y = x * 0
    for k in range(n):
        y = y + x * (1 << k) + x * (k >> 1) + (k & 3) * x + (k | 4) * x + (k ^ 5) * x + (~k) * x
    return y


@counted
def signed_division(x, n):
    y = x * 0
    for k in range(-n // 2, n // 2 + 3):
        y = y + x * (k // 3) + x * (k % 3) + x * (k // -3) + x * (k % -4) + (k / 7) * x
    return y


@counted
def conversions(x, n):
    y = x * 0
    for k in range(n):
        quotient, rest = divmod(k, 3)
        y = y + x * round(k) + quotient * x + rest * x + int(k) * x + float(k) * x + bool(k) * x + abs(-k) * x
    return y


@counted
def patterns(x, n):
    y = x * 0
    for k in range(n):
        match k:
            case 3:
                y = y + x
            case int():
                y = y + 2 * x
            case _:
                y = y + 100 * x
        match (k, 1):
            case (int(), 1):
                y = y + 2 * x
            case _:
                y = y + 100 * x
    return y


@counted
def repeats(x, n):
    y = x * 0
    for k in range(n):
        y = y + x * len([0] * k) + x * sum([1] * k) + x * len("ab" * k)
    return y


@counted
def truths(x, n):
    y, count = x * 0, 0
    for k in range(n):
        count = count + (k > 3) + (k % 2 == 0)
        if 2 < k < 5:
            y = y + x
        if not k:
            y = y + 7 * x
        y = y + x * (k or 5) + x * (k and 3) + x * max(k, 3) + x * min([k, 4, 2])
    return y, count


@counted
def flags(x, n):
    y, flag = x * 0, False
    for _ in range(n):
        flag = bool(x.sum() > 1)
        if flag is True:
            y = y + x
        if flag is not False:
            y = y + 3 * x
    return y


@counted
def lists(x, n):
    floats, integers = [], []
    for k in range(n):
        floats.append(k * 0.5)
        integers.append(k * 2)
    return x * floats[-1] + sum(floats) * x + integers.index(4) * x


@counted
def large_integers(x, n):
    power, product, a, b = 1, 1, 0, 1
    y = x * 0
    for _ in range(1, 7 * n):
        power = power * 3
        a, b = b, a + b
    for k in range(1, n + 20):
        product = product * k
        y = y + x * (1 / product)
    return y + x * (power / 3 ** (7 * n)) + x * (a / b)


@pytest.mark.parametrize("n", [5, 8, 9, 20])
@pytest.mark.parametrize("fn", COUNTED, ids=lambda f: f.__name__)
def test_counters(fn, n, agree):
    for x in INPUTS:
        agree(lambda x: fn(x, n), x)

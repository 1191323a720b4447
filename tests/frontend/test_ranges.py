"""Ranges of a length that the run decides, and iterators over Tensors: as in Python, or refused by name."""

from __future__ import annotations

import itertools

import numpy as np
import pytest

import adjoint as ad
from adjoint import ops
from run_time_numbers import halvings

ANSWERED = {
    "bounds": lambda k: [range(1, k, 2).start, range(1, k, 2).stop, range(1, k, 2).step],
    "length": lambda k: [len(range(k)), len(range(2, k)), len(range(9, k)), len(range(k, 0, -2))],
    "in": lambda k: [2 in range(k), 3 in range(k), k in range(k), -1 in range(k), 2 in range(k, 0, -1), 1 not in range(0, k, 2)],
    "floats in": lambda k: [2.0 in range(k), 2.5 in range(k)],
    "kinds": lambda k: [isinstance(range(k), range), type(range(k)) is range, isinstance(enumerate(range(k)), enumerate)],
    "no kinds": lambda k: [isinstance(range(k), list), isinstance(zip(range(k)), range), type(reversed(range(k))) is range],
}  # fmt: skip
REFUSED = {
    "index": lambda k: range(k)[1],
    "slice": lambda k: range(k)[1:],
    "equal": lambda k: range(k) == range(3),
    "unequal": lambda k: range(3) != range(k),
    "text": lambda k: len(f"{range(k)}"),
    "print": lambda k: print([range(k)]) or 1.0,
    "list": lambda k: len(list(range(k))),
    "sum": lambda k: sum(range(k)),
    "largest": lambda k: max(range(k)),
    "starred": lambda k: len([*range(k), 1]),
    "comprehension": lambda k: len([i * 2 for i in range(k)]),
    "reversed": lambda k: len(list(reversed(range(k)))),
    "enumerate": lambda k: len(list(enumerate(range(k)))),
    "zip": lambda k: len(list(zip(range(k), range(3), strict=False))),
    "next": lambda k: next(enumerate(range(k)))[0],
    "truth": lambda k: 1.0 if range(k) else 2.0,
    "key": lambda k: {range(k): 1}[range(3)],
    "array": lambda k: np.sum(range(k)),
    "place": lambda k: range(k).index(2),
}


@pytest.mark.parametrize("name", ANSWERED)
def test_what_a_range_knows(name):
    for x in (1.0, 8.0, 40.0):
        expected = ANSWERED[name](halvings(x))
        assert [int(y) for y in ad.jit(lambda x: ANSWERED[name](halvings(x)))(x)] == expected


@pytest.mark.parametrize("name", REFUSED)
def test_what_only_the_run_knows_of_a_range(name):
    with pytest.raises(ad.NeedsNumberError, match=r"(range|enumerate|zip|reversed)\(\.\.\.\) whose number of items"):
        ad.jit(lambda x: x * REFUSED[name](halvings(x)))(8.0)


def test_ranges_pass_branches_and_loops():
    def f(x):
        r, total = range(halvings(x)), 0.0
        if x > 2:
            x = x + 1.0
        for i in r:
            for j, (a, b) in enumerate(zip(r, reversed(r), strict=False)):
                total = total + x * i * j * (a - b + 1)
        return total + (2 in r)

    for x in (1.0, 8.0, 40.0):
        assert ad.jit(f)(x) == f(x)


def test_an_iterator_is_gone_through_once():
    def f(x):
        pairs = enumerate(range(halvings(x)))
        for i, j in pairs:
            x = x + i * j
        for i, j in pairs:
            x = x + i * j
        return x

    with pytest.raises(ad.NeedsNumberError, match="goes again through enumerate"):
        ad.jit(f)(8.0)


def once(v):
    pairs, total = enumerate(v), 0.0
    for i, y in pairs:
        total = total + i * y
    for i, y in pairs:
        total = total + i * y
    return total


def begun(v):
    pairs, total = zip(v, v, strict=False), 0.0
    next(pairs)
    for a, b in pairs:
        total = total + a * b
    return total


def turned(v):
    return next(reversed(v)) + 2 * next(iter(reversed(v)))


def pairwise(v):
    it, total = iter(v), 0.0
    for a, b in zip(it, it, strict=False):
        total = total + a * b
    return total


def pairwise_in_header(v):
    total = 0.0
    for a, b in zip(*[iter(np.arange(40.0))] * 2, strict=False):
        total = total + a * b * v[0]
    return total


def left_over(v):
    it, total = iter(range(40)), v[0]
    for k, a in enumerate(it):
        total = total + a * k * v[1]
        if k == 5:
            break
    return total + sum(it)


def kinds(v):
    e = enumerate(v)
    return v.sum() * (isinstance(e, enumerate) + 2 * hasattr(e, "__next__") + 4 * hasattr(e, "__len__"))


@pytest.mark.parametrize("f", [once, begun, turned, pairwise, pairwise_in_header, left_over, kinds])
def test_iterators_over_tensors(f):
    v = np.linspace(1.0, 2.0, 20)
    assert np.allclose(ad.jit(f)(v), f(v), rtol=1e-14)


def test_loops_over_iterators_of_tensors_stay_loops():
    def f(v):
        total = ops.sum(v) * 0.0
        for i, (a, (b, c)) in enumerate(zip(v, zip(reversed(v), range(50), strict=False), strict=False)):
            total = total + i * a * b * c
        return total

    v = np.linspace(1.0, 2.0, 50)
    compiled = ad.jit(f)
    assert np.allclose(
        compiled(v), sum(i * a * b * c for i, (a, (b, c)) in zip(itertools.count(), zip(v, zip(v[::-1], range(50)))))
    )
    assert len(compiled.graph(v).calls) < 40

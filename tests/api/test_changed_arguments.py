"""A compiled function that changes a container among its arguments is refused: a graph works on copies. Arrays are written to."""

from __future__ import annotations

import copy
from collections import defaultdict, deque
from dataclasses import dataclass
from typing import Any

import numpy as np
import pytest

import adjoint as ad
from adjoint.core.errors import ArgumentError


@dataclass
class Pair:
    a: Any
    n: int = 3


def new_key(d):
    d["b"] = d["a"] * 2
    return d["b"]


def default(d):
    return d["b"] + d["a"]


def item(a):
    a[0] = a[0] * 2
    return a[0]


def nested(d):
    d["k"][0] = d["k"][0] * 2
    return d["k"][0]


def appended(a):
    a.append(a[0])
    return a[0]


def deleted(a):
    del a[1]
    return a[0]


def in_a_loop(a):
    for _ in range(12):
        a[0] = a[0] + 1
    return a[0]


def in_a_branch(a):
    if a[0] > 0:
        a[0] = a[0] * 2
    return a[0]


def field(p):
    p.a = p.a * 2
    return p.a


def static_field(p):
    p.n = 4
    return p.a


def new_attribute(p):
    p.extra = 5
    return p.a


def added(x, s):
    s.add(3)
    return x * 2


def queued(x, s):
    s.append(3)
    return x * 2


X = ad.Tensor(1.5)
CHANGES = [
    (new_key, {"a": X}), (new_key, {"a": 1.5}), (default, defaultdict(float, a=X)), (item, [X]), (item, [1.5, 2]), (item, [2, X]),
    (nested, {"k": [X]}), (appended, [X]), (deleted, [X, X]), (in_a_loop, [X]), (in_a_branch, [X]), (field, Pair(X)),
    (static_field, Pair(X)), (new_attribute, Pair(X)), (added, X, {1}), (queued, X, deque([1])),
]  # fmt: skip


@pytest.mark.parametrize("case", CHANGES, ids=lambda c: f"{c[0].__name__}-{type(c[-1]).__name__}")
def test_a_change_is_refused_and_leaves_the_argument_as_it_was(case):
    fn, *args = case
    before = repr(args)
    with pytest.raises(ArgumentError, match=rf"{fn.__name__} changes its argument `[a-z]+.*Return the\s+new value"):
        ad.jit(fn)(*args)
    assert repr(args) == before


def test_one_list_given_twice():
    def both(a, b):
        a[0] = a[0] + 1
        return b[0]

    same = [X]
    with pytest.raises(ArgumentError, match="changes its argument `a`"):
        ad.jit(both)(same, same)


def test_what_is_not_the_callers_may_change():
    def copies(d, *rest, **named):
        d, rest, named["z"] = dict(d), list(rest), 1.0
        d["b"], rest[0] = d["a"] * 2, rest[0] + 1
        rest.append(d["b"])
        return d["b"] + rest[0] + rest[-1] + named["z"] + named["y"]

    def undone(a):
        a.append(a[0] * 2)
        return a.pop() + a[0]

    assert ad.jit(copies)({"a": X}, X, y=X).item() == copies({"a": X}, X, y=X).item()
    given = [copy.copy(X)]
    assert ad.jit(undone)(given).item() == 4.5
    assert len(given) == 1


def updated_twice(t):
    u = t
    t += 1
    t *= 2
    return t * 3 + u


def updated_in_a_loop(t):
    for _ in range(20):
        t += 2.0
    return t * 1


def updated_in_a_branch(t):
    if t > 0:
        t += 1
    else:
        t -= 1
    return t * 2


@pytest.mark.parametrize("f", [updated_twice, updated_in_a_loop, updated_in_a_branch])
@pytest.mark.parametrize("backend", ["native", "interpreter"])
def test_an_array_without_axes_is_written_to_and_a_number_is_not(f, backend):
    mine, yours, compiled = np.array(1.0), np.array(1.0), ad.jit(f, backend=backend)
    for _ in range(4):
        assert np.allclose(compiled(mine), f(yours)) and mine == yours
    tensor = ad.Tensor(np.array(2.0))
    for number in (2.0, np.float64(2.0)):
        assert np.allclose(compiled(number), f(number))
    assert np.allclose(compiled(tensor), f(2.0)) and float(tensor) == 2.0
    assert np.allclose(compiled(mine), f(yours)) and mine == yours

"""Writes to views in branches and loops of a graph."""

import numpy as np
import pytest

import adjoint as ad
from adjoint import ops
from like_numpy import Programs, disagreements

X = np.array([[1.0, 2.0, 3.0], [4.0, 5.0, 6.0], [7.0, 8.0, 9.5]])
program = PROGRAMS = Programs()


def zeros_for(x):
    return ops.zeros((12, 3), "float64") if isinstance(x, ad.Tensor) else np.zeros((12, 3))


@program
def prevloop(x):
    y = zeros_for(x)
    y[0] = x[0]
    for i in range(11):
        prev = y[i]
        y[i + 1] = prev * 0.9 + x[1]
    return y


@program
def rowloop(x):
    y = zeros_for(x)
    for i in range(12):
        r = y[i]
        r[0] = x[0, 0] * i
        r += 1.0
    return y


@program
def iterloop(x):
    y = zeros_for(x)
    for r in y:
        r[0] = x[0, 0]
        r += x[1]
    return y


@program
def augloop(x):
    t = x[0] * 1.0
    u = t
    for i in range(20):
        t += x[1] * i
    return t * u


@program
def augbranch(x):
    t = x[0] * 1.0
    u = t
    if x[0, 0] > 0:
        t += x[1]
    else:
        t -= x[1]
    t += 1.0
    return t * u


@program
def viewbranch(x):
    m = x * 1.0
    r = m[0]
    if x[0, 0] > 0:
        r[0] = 5.0
    else:
        r[1] = 6.0
    m[0, 2] = 1.0
    return m * r


@program
def viewbranch2(x):
    m = x * 1.0
    r = m[0]
    if x[0, 0] > 0:
        m[0, 0] = 5.0
    r *= 2
    return m * r


@program
def viewloop(x):
    m = x * 1.0
    r = m[0]
    c = m[:, 1]
    for _ in range(15):
        r[0] = r[0] * 0.5 + c[0]
        c += 0.1
    return m * r * c[0]


@program
def whileloop(x):
    m = x * 1.0
    r = m[0]
    while r.sum() < 50.0:
        m[0, 1] += 1.0
        r *= 1.1
    return m + r


@program
def nested(x):
    m = x * 1.0

    def upd(v):
        if v[0] > 0:
            v += 1.0
        return v

    r = upd(m[0])
    r *= 2
    return m


@program
def augnames(x):
    m = x * 1.0
    for _ in range(12):
        t = m[0]
        t += 1.0
    return m


@pytest.mark.parametrize("name", PROGRAMS)
def test_writes_are_seen_where_numpy_shows_them(name):
    assert not disagreements(PROGRAMS[name], X, traced=True)

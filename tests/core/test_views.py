"""Views: a write to a part is seen in the whole and in every other part, as in NumPy."""

import numpy as np
import pytest

import adjoint as ad
from like_numpy import Programs, disagreements

X = np.array([[1.0, 2.0, 3.0], [4.0, 5.0, 6.0], [7.0, 8.0, 9.5]])
program = PROGRAMS = Programs()


@program
def chain(x):
    m = x * 1.0
    m[0][1] = x[0, 0] * 5
    return m


@program
def rows(x):
    m = x * 1.0
    for row in m:
        row[0] = row[1] * 2
    return m


@program
def alias(x):
    m = x * 1.0
    y = m
    y += 1
    return m * y


@program
def sl(x):
    m = x * 1.0
    y = m[1:]
    y[0] = 7.0
    return m


@program
def rowadd(x):
    m = x * 1.0
    for i in range(len(m)):
        row = m[i]
        row += i
        row *= row
    return m


@program
def unpack(x):
    m = x[:2] * 1.0
    a, b = m
    a[0] = b[1]
    b += a
    return m


@program
def swaprows(x):
    a = x * 1.0
    a[0], a[1] = a[1], a[0]
    return a


@program
def swapel(x):
    a = x[0] * 1.0
    a[0], a[1] = a[1], a[0]
    return a


@program
def baseview(x):
    m = x * 1.0
    row = m[0]
    m[0, 0] = 5.0
    return m * row


@program
def baseview2(x):
    m = x * 1.0
    row = m[0]
    col = m[:, 0]
    row[0] = 3.0
    col *= 2
    return m + row + col[0]


@program
def viewofview(x):
    m = x * 1.0
    a = m[1:]
    b = a[0]
    c = b[1:]
    c[0] = 8.0
    del a
    b[0] = 4.0
    return m.sum(0) * b


@program
def deadroot(x):
    a = (x * 2)[1:]
    b = a[0]
    b[0] = 5.0
    return a


@program
def siblings(x):
    def f():
        t = x * 2
        return t[0:2], t[1:3]

    a, b = f()
    a[1] = 5.0
    return a.sum() + b


@program
def aug(x):
    m = x * 1.0
    m[0] += 1
    m[:, 1] *= 2
    m[1][0] -= 3
    return m


@program
def neg(x):
    m = x * 1.0
    r = m[::-1]
    r[0] = 1.0
    return m


@program
def newaxis(x):
    m = x * 1.0
    r = m[None, :, 0]
    r[0, 1] = 2.0
    return m


@program
def fancy(x):
    m = x * 1.0
    y = m[[0, 1]]
    y[0] = 5.0
    return m * 1 + y.sum()


@program
def scalar(x):
    s = x.sum()
    t = s
    t += 1
    return s * t


@program
def elem(x):
    e = x[0, 0]
    f = e
    f += 1
    return e * f * x


@program
def inlist(x):
    ps = [x[0] * 1.0, x[1] * 1.0]
    for q in ps:
        q *= 2
    return ps[0] * ps[1]


@program
def argw(x):
    def g(r):
        r[0] = 5.0

    m = x * 1.0
    g(m[0])
    g(m.T)
    return m


@program
def matpow(x):
    m = x[:, :2] * 1.0
    m = m[:2]
    m @= m
    m **= 2
    return m


@program
def div(x):
    m = x * 1.0
    y = m
    y /= 2
    y -= x
    return m + x


@program
def setargs(x):
    m = x * 1.0
    m[0] = m[1]
    m[1] = 0.0
    return m


@program
def overlap(x):
    m = x[0] * 1.0
    m[1:] = m[:-1]
    m[:2] += m[1:]
    return m


@program
def twoviews(x):
    m = x * 1.0
    a = m[:2]
    b = m[1:]
    a += b
    b *= a
    return m


@pytest.mark.parametrize("name", PROGRAMS)
def test_writes_are_seen_where_numpy_shows_them(name):
    assert not disagreements(PROGRAMS[name], X)


@pytest.mark.parametrize(
    "run", [lambda f: f, ad.grad, ad.jit, lambda f: ad.jit(ad.grad(f))], ids=["", "grad", "jit", "jit(grad)"]
)
def test_sort_in_place_is_refused_and_its_result_is_not(run):
    def in_place(x):
        x = x * 1.0
        x.sort()
        return (x * x).sum()

    def taken(x):
        values, _ = x.sort()
        return (values * ad.Tensor([1.0, 2.0])).sum()

    x = ad.Tensor([3.0, 1.0])
    with pytest.raises(ad.core.errors.AdjointError, match=r"x = np\.sort\(x\)"):
        run(in_place)(x)
    run(taken)(x)

"""Views that functions and methods give: transposes, reshapes, splits, `out=`, einsum, diagonals, broadcasts, asarray."""

import numpy as np
import pytest
from numpy import asarray

import adjoint as ad
from like_numpy import Programs, disagreements

X = np.array([[1.0, 2.0, 3.0], [4.0, 5.0, 6.0], [7.0, 8.0, 9.5]])
program = PROGRAMS = Programs()


@program
def T(x):
    m = x * 1.0
    m.T[0] = m.T[1] * 3
    return m


@program
def rav(x):
    m = x * 1.0
    m.ravel()[1] = 9.0
    return m


@program
def ravT(x):
    m = x * 1.0
    r = m.T.ravel()
    r[1] = 9.0
    return m * 2 + r.reshape(m.shape[1], m.shape[0]).T


@program
def resh(x):
    m = x * 1.0
    m.reshape(-1, 1)[1] = m.reshape(-1)[0]
    return m


@program
def split(x):
    m = x * 1.0
    a, b = np.split(m, [1])
    a[0] = 3.0
    b += 1
    return m


@program
def flatcopy(x):
    m = x * 1.0
    f = m.flatten()
    f[0] = 9.0
    return m + f[0]


@program
def copycopy(x):
    m = x * 1.0
    r = m[0].copy()
    r[0] = 9.0
    return m * r


@program
def out(x):
    m = x * 1.0
    np.add(m[0], 1.0, out=m[1])
    np.multiply(m, 2.0, out=m)
    return m


@program
def ufat(x):
    m = x * 1.0
    np.add.at(m[0], [0, 0, 1], 1.0)
    return m


@program
def squeeze(x):
    m = x[:1] * 1.0
    r = m.squeeze()
    r[1] = 2.0
    return m


@program
def exp(x):
    m = x * 1.0
    r = np.expand_dims(m, 0)
    r[0, 0, 1] = 2.0
    return m


@program
def swap(x):
    m = x * 1.0
    np.swapaxes(m, 0, 1)[0] = 4.0
    return m


@program
def flip(x):
    m = x * 1.0
    np.flip(m)[0] = 4.0
    return m


@program
def pos(x):
    m = x * 1.0
    n = +m
    n[0] = 4.0
    return m + n


@program
def astype(x):
    m = x * 1.0
    n = m.astype(np.float64)
    n[0] = 4.0
    return m + n


@program
def whr(x):
    m = x * 1.0
    v = m[1:]
    np.multiply(v, 3.0, out=v, where=v > 2.2)
    return m


@program
def atleast(x):
    m = x[0] * 1.0
    v = np.atleast_2d(m)
    v[0, 1] = 3.0
    return m


@program
def hsp(x):
    m = x * 1.0
    a, b = np.hsplit(m, [1])
    a += 10.0
    b[0] = a[0]
    return m


@program
def rollax(x):
    m = x * 1.0
    v = np.moveaxis(m, 0, 1)
    v[0, 0] = 3.0
    v[1] *= 2
    return m


@program
def einsum_alias(x):
    m = x[0] * 1.0
    v = np.einsum("i->i", m)
    v[0] = x[1, 1] * 3
    return m


@program
def einsum_diagonal(x):
    m = x * 1.0
    d = np.einsum("ii->i", m)
    d += x[0] * 2
    m[1, 1] = 5.0
    return m + d


@program
def einsum_turned(x):
    m = x * 1.0
    t = np.einsum("ij->ji", m)
    t[0] = x[2]
    m[2, 2] = 1.0
    return m * t


@program
def einsum_summed(x):
    m = x * 1.0
    s = np.einsum("ij->i", m)
    s[0] = 4.0
    return m + s


@program
def diagonal_of_a_transposed_view(x):
    m = x * 1.0
    d = np.einsum("aba->ab", np.stack([m, m * 2, m * 3]).transpose(0, 2, 1))
    d[0, 1] = x[0, 0] * 7
    return d * 2


@program
def diagonal_shows(x):
    m = x * 1.0
    d = m.diagonal()
    m[1, 1] = x[0, 2] * 2
    return d + m


@program
def broadcast_shows(x):
    m = x[0] * 1.0
    b = np.broadcast_to(m, (3, 3))
    m[1] = x[2, 2]
    return b * m


@pytest.mark.parametrize("name", PROGRAMS)
def test_writes_are_seen_where_numpy_shows_them(name):
    assert not disagreements(PROGRAMS[name], X)


def test_no_write_while_there_is_a_numpy_array_of_the_tensor():
    def shown(x):
        y = x * 1.0
        a, part = np.asarray(y), np.asarray(y)[1:]  # of a traced Tensor itself
        y[0], y[1] = 5.0, x[0]
        return (a * x).sum() + part.sum() * y.sum()

    def stale(x):
        y = x * 1.0
        a = asarray(y)  # NumPy's own: an array of objects
        y[0] = 5.0
        return (a * x).sum()

    def stale_part(x):
        y = x * 1.0
        a = asarray(y)[1:]
        part = y[1:]
        part[0] = 5.0
        return a.sum() * y.sum()

    def stale_constant(x):
        y = ad.ops.zeros(3, "float64")
        a = np.asarray(y)
        y[0] = x[0]
        return (a * x).sum()

    def copied(x):
        y = x * 1.0
        a, s = np.array(y), np.asarray(y).sum()
        y[0] = 5.0
        return (a * y).sum() * s

    x = X[0]
    for run in (ad.grad, ad.jit, lambda f: ad.jit(ad.grad(f)), ad.jacfwd):
        for f in (stale, stale_part, stale_constant):
            with pytest.raises(ad.core.errors.AdjointError, match=r"np\.array\(x\), a copy"):
                run(f)(x)
    assert not disagreements(copied, x)
    assert ad.vjp(shown, x)[0] == ad.jit(shown)(x) == ad.jvp(shown, x, x)[0] == shown(x)
    held = ad.Tensor(x)
    array = np.asarray(held)  # outside of any transform it is what the Tensor was
    held += 1
    assert np.array_equal(array, x)

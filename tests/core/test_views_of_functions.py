"""Views that functions of NumPy's give: einsum, diagonals, broadcasts, asarray."""

import numpy as np
import pytest

import adjoint as ad
from like_numpy import disagreements

X = np.array([[1.0, 2.0, 3.0], [4.0, 5.0, 6.0], [7.0, 8.0, 9.5]])
PROGRAMS = {}


def program(f):
    PROGRAMS[f.__name__] = f
    return f


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
    def stale(x):
        y = x * 1.0
        a = np.asarray(y)
        y[0] = 5.0
        return (a * x).sum()

    def stale_part(x):
        y = x * 1.0
        a = np.asarray(y)[1:]
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
    held = ad.Tensor(x)
    array = np.asarray(held)  # outside of any transform it is what the Tensor was
    held += 1
    assert np.array_equal(array, x)

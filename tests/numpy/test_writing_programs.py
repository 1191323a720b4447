"""Programs written for NumPy that write in place, to buffers, views of views, picked elements and masks: every mode gives what NumPy does."""

import numpy as np
import pytest

from like_numpy import Programs, disagreements

X = np.array([[1.0, 2.1, 3.3], [4.2, 5.4, 2.6], [7.7, 8.3, 1.5]])
program = PROGRAMS = Programs()


@program
def outbuf(x):
    b = x * 0.0
    np.multiply(x, 2, out=b)
    np.add(b, x.T, out=b)
    np.sin(b[0], out=b[1])
    np.matmul(x, b, out=b)
    return b


@program
def neg(x):
    y = x[::-1, ::-1] * 1.0
    z = y[:, ::-2]
    z += 1
    y[::2] *= z[0, 0]
    return y


@program
def vov(x):
    y = x.ravel() * 1.0
    a = y[1:]
    b = a[::2]
    c = b[1:]
    c *= y[0]
    a[0] = c.sum()
    return y * y[::-1]


@program
def fancyset(x):
    y = x * 1.0
    y[[0, 2], [1, 1]] = y[[2, 0], [0, 0]]
    y[:, [0, 2]] *= 2
    y[[1]] += x[[0]]
    return y


@program
def fancyadd(x):
    y = x[0] * 1.0
    np.add.at(y, [0, 0, 2], x[1])
    y[[0, 0]] += 1
    return y


@program
def mask(x):
    y = x * 1.0
    m = x > 2.4
    y[m] = y[m] ** 2
    y[~m] += 1
    y[m & (x < 7)] = 0.5
    return y


@program
def masknd(x):
    y = x * 1.0
    y[x[:, 0] > 2] *= 3
    return y + np.where(y > 5, np.log(np.abs(y) + 1), y)


@program
def swap(x):
    y = x * 1.0
    y[[0, 1]] = y[[1, 0]]
    y[:, 0], y[:, 2] = y[:, 2].copy(), y[:, 0].copy()
    return y


@program
def rollpad(x):
    y = np.roll(x, 1, 0) - np.roll(x, -1, 1)
    y[0] = y[-1]
    return np.pad(y, ((1, 0), (0, 2)), mode="edge")


@program
def srt(x):
    y = np.sort(x, axis=0)[::-1]
    i = np.argsort(-x[0])
    z = x[:, i] * 1.0
    z[0] += y[1]
    return z


@program
def cplx(x):
    z = x + 1j * x.T
    z *= np.conj(z[0])
    z[1] = z[0] * 1j
    z.real[2] = x[0]
    z.imag += 1
    return np.abs(z) + np.angle(z + 3)


@program
def minmax(x):
    y = np.minimum(np.maximum(x, 2.2), 6.6)
    y[y.argmax(0), np.arange(3)] = 0
    return y - y.min(1, keepdims=True)


@program
def rowsviews(x):
    y = x * 1.0
    for r in y[::-1]:
        r[1:] -= r[:-1] * 0.5
    return y


@program
def triu(x):
    y = np.triu(x) + np.tril(x, -1).T * 2
    i = np.triu_indices(3, 1)
    y[i] = x[i] ** 2
    return y


@program
def takealong(x):
    i = np.argsort(x, axis=1)
    y = np.take_along_axis(x, i, 1)
    y[:, 0] *= 2
    return y - np.take_along_axis(x, i[:, ::-1], 1)


@program
def step(x):
    y = x.ravel() * 1.0
    y[::2] += y[1::2].sum()
    y[1:8:3] = y[8:1:-3]
    return y


@program
def stackw(x):
    s = np.stack([x, x.T])
    s[1, :, 0] = s[0, 0]
    s[:, 1] += x[2]
    return s.sum(0)


@program
def listrows(x):
    rows = [x[i] * 1.0 for i in range(3)]
    rows[0] += rows[1]
    rows[2] = rows[0]
    rows[2] *= 2
    return np.array(rows) if False else np.stack(rows)


@program
def alias_arg(x):
    def f(a, b):
        a += b
        return a

    y = x * 1.0
    z = f(y, y)
    z -= 1
    return y * z


@program
def selfop(x):
    y = x * 1.0
    y += y
    y *= y.T
    y[0] = y[:, 0]
    y[1:] = y[:-1]
    return y


@pytest.mark.parametrize("name", PROGRAMS)
def test_every_mode_does_what_numpy_does(name, monkeypatch):
    monkeypatch.setenv("ADJOINT_CHECKED", "1")
    with np.errstate(all="ignore"):
        assert not disagreements(PROGRAMS[name], X)

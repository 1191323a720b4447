"""Numeric programs written for NumPy, with writes in place, buffers, views of views and masks: every mode gives what NumPy does."""

import numpy as np
import pytest

from like_numpy import disagreements

PROGRAMS = {}


def program(f):
    PROGRAMS[f.__name__] = f
    return f


@program
def gs(x):
    a = x @ x.T + 4 * np.eye(3)
    u = np.ones(3) * x[0, 0]
    for _ in range(4):
        for i in range(3):
            u[i] = (x[i, 0] - a[i, :i] @ u[:i] - a[i, i + 1 :] @ u[i + 1 :]) / a[i, i]
    return u


@program
def lu(x):
    a = x + 5 * np.eye(3)
    a = a * 1.0
    for k in range(2):
        a[k + 1 :, k] /= a[k, k]
        a[k + 1 :, k + 1 :] -= np.outer(a[k + 1 :, k], a[k, k + 1 :])
    return a


@program
def chol(x):
    a = x @ x.T + 3 * np.eye(3)
    L = a * 0.0
    for j in range(3):
        L[j, j] = np.sqrt(a[j, j] - (L[j, :j] ** 2).sum())
        for i in range(j + 1, 3):
            L[i, j] = (a[i, j] - (L[i, :j] * L[j, :j]).sum()) / L[j, j]
    return L


@program
def stencil(x):
    u = np.pad(x, 1) * 1.0
    for _ in range(3):
        u[1:-1, 1:-1] = 0.25 * (u[:-2, 1:-1] + u[2:, 1:-1] + u[1:-1, :-2] + u[1:-1, 2:])
    return u


@program
def stencil_inplace(x):
    u = np.pad(x, 1) * 1.0
    for i in range(1, 4):
        for j in range(1, 4):
            u[i, j] += 0.1 * (u[i - 1, j] + u[i, j - 1] - 2 * u[i, j])
    return u


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
def cumul(x):
    y = np.cumsum(x, axis=1)
    y[:, 1:] -= y[:, :-1]
    return np.cumsum(y[::-1], axis=0)[::-1]


@program
def swap(x):
    y = x * 1.0
    y[[0, 1]] = y[[1, 0]]
    y[:, 0], y[:, 2] = y[:, 2].copy(), y[:, 0].copy()
    return y


@program
def empty(x):
    z = x[:0]
    return np.concatenate([z, x[1:2]]) * z.sum() + x[1:2] + z.sum(0)


@program
def zerod(x):
    t = x[0, 0]
    s = np.asarray(3.0) * t
    r = x.sum()
    r += s
    r *= 2
    return r * np.ones(2) + x.mean()


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
def bro(x):
    y = x[:, None, :] - x[None, :, :]
    d = (y**2).sum(-1)
    d[np.arange(3), np.arange(3)] = 1.0
    return 1 / d


@program
def tensordot(x):
    t = np.tensordot(x, np.stack([x, x * 2]), axes=([0], [1]))
    return np.transpose(t, (1, 0, 2)) @ x[0]


@program
def powneg(x):
    y = x * 1.0
    y **= -2
    y -= x**0.5
    y /= x + 1
    return y


@program
def modfl(x):
    y = x * 1.3
    y %= 2.0
    y += (x * 1.7) // 1.0
    return y


@program
def cplx(x):
    z = x + 1j * x.T
    z *= np.conj(z[0])
    z[1] = z[0] * 1j
    z.real[2] = x[0]
    z.imag += 1
    return np.abs(z) + np.angle(z + 3)


@program
def cplx2(x):
    z = np.exp(1j * x)
    w = np.fft.fft(z, axis=1)
    w[:, 1:] *= 0.5
    return np.real(np.fft.ifft(w, axis=1)) + w.imag


@program
def minmax(x):
    y = np.minimum(np.maximum(x, 2.2), 6.6)
    y[y.argmax(0), np.arange(3)] = 0
    return y - y.min(1, keepdims=True)


@program
def norml(x):
    y = x - x.mean(0)
    y /= np.sqrt((y * y).mean(0) + 1e-5)
    y *= x[0]
    y += x[1]
    return y


@program
def soft(x):
    y = x - x.max(-1, keepdims=True)
    np.exp(y, out=y)
    y /= y.sum(-1, keepdims=True)
    return y


@program
def horner(x):
    r = x * 0.0
    for c in (1.0, -0.5, 0.25):
        r *= x
        r += c
    return r


@program
def prefix(x):
    y = x.reshape(-1) * 1.0
    for i in range(1, 9):
        y[i] += y[i - 1] * 0.5
    return y.reshape(3, 3)


@program
def prefixlong(x):
    y = np.tile(x.reshape(-1), 5) * 0.3
    for i in range(1, 45):
        y[i] = np.tanh(y[i] + y[i - 1] * 0.5)
    return y


@program
def longmat(x):
    y = x * 0.2
    for i in range(25):
        y[i % 3] = np.sin(y[(i + 1) % 3] + y[:, i % 3])
    return y


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
def einsums(x):
    return np.einsum("ij,kj,k->i", x, x, x[0])[:, None] * np.einsum("ij,ij->j", x, x)


@program
def whloop(x):
    y = x * 1.0
    while y.sum() > 1.0:
        y *= 0.5
        y[0] -= 0.01
    return y


@program
def brk(x):
    y = x[0] * 1.0
    for i in range(30):
        y[i % 3] *= 0.9
        if y.sum() < 2.0:
            break
        y -= 0.01 * x[1]
    return y


@program
def gather2(x):
    i = np.array([[0, 2], [1, 1]])
    return x[i] * x[:, i].sum() + x[i, i.T][..., None]


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
def logsum(x):
    m = x.max()
    return m + np.log(np.exp(x - m).sum(0)) + np.logaddexp.reduce(x, axis=1)


@program
def cumextr(x):
    return np.maximum.accumulate(x[:, ::-1], axis=1) * np.multiply.accumulate(x, axis=0)


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


X = np.array([[1.0, 2.1, 3.3], [4.2, 5.4, 2.6], [7.7, 8.3, 1.5]])

TRACED = {"whloop", "brk"}  # their control flow depends on numbers: a batch needs a graph


@pytest.mark.parametrize("name", PROGRAMS)
def test_every_mode_does_what_numpy_does(name, monkeypatch):
    monkeypatch.setenv("ADJOINT_CHECKED", "1")
    with np.errstate(all="ignore"):
        assert not disagreements(PROGRAMS[name], X, traced=name in TRACED)

"""Numeric programs written for NumPy, algorithms with loops and buffers among them: every mode gives what NumPy does."""

import numpy as np
import pytest

from like_numpy import Programs, disagreements

X = np.array([[1.0, 2.1, 3.3], [4.2, 5.4, 2.6], [7.7, 8.3, 1.5]])
program = PROGRAMS = Programs()


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
def cumul(x):
    y = np.cumsum(x, axis=1)
    y[:, 1:] -= y[:, :-1]
    return np.cumsum(y[::-1], axis=0)[::-1]


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
def cplx2(x):
    z = np.exp(1j * x)
    w = np.fft.fft(z, axis=1)
    w[:, 1:] *= 0.5
    return np.real(np.fft.ifft(w, axis=1)) + w.imag


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
def logsum(x):
    m = x.max()
    return m + np.log(np.exp(x - m).sum(0)) + np.logaddexp.reduce(x, axis=1)


@program
def cumextr(x):
    return np.maximum.accumulate(x[:, ::-1], axis=1) * np.multiply.accumulate(x, axis=0)


TRACED = {"whloop", "brk"}  # their control flow depends on numbers: a batch needs a graph


@pytest.mark.parametrize("name", PROGRAMS)
def test_every_mode_does_what_numpy_does(name, monkeypatch):
    monkeypatch.setenv("ADJOINT_CHECKED", "1")
    with np.errstate(all="ignore"):
        assert not disagreements(PROGRAMS[name], X, traced=name in TRACED)

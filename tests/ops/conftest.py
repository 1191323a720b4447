"""The fixture `check`: a differentiable function against a NumPy function that knows nothing of derivatives."""

from __future__ import annotations

import numpy as np
import pytest

from adjoint.api.batching import vmap
from adjoint.api.forward import jvp
from adjoint.api.grad import grad
from adjoint.core.tensor import Tensor
from adjoint.ops.functional.linalg import vdot
from adjoint.ops.functional.of_cards import real


def listed(y):
    return list(y) if isinstance(y, tuple) else [y]


def numbers(y):
    return y.asnumpy() if isinstance(y, Tensor) else np.asarray(y)


def directions(rng, values):
    return [rng.normal(size=v.shape) + (1j * rng.normal(size=v.shape) if v.dtype.kind == "c" else 0) for v in values]


def quotient(f, x, t, step=1e-3):
    """The derivative of f at x along t: central differences, extrapolated once."""
    coarse, fine = ((f(x + h * t) - f(x - h * t)) / (2 * h) for h in (step, step / 2))
    return (4 * fine - coarse) / 3


def slopes(f, x):
    """The gradient of a real f by differences, for complex x the derivatives by real and imaginary part as one number."""
    result = np.zeros_like(x)
    for i in np.ndindex(*x.shape):
        unit = np.zeros_like(x)
        unit[i] = 1
        result[i] = quotient(f, x, unit) + (1j * quotient(f, x, 1j * unit) if x.dtype.kind == "c" else 0)
    return result


def close(got, want, rtol):
    got, want = numbers(got), numbers(want)
    assert got.shape == want.shape
    np.testing.assert_allclose(got, want, rtol=rtol, atol=rtol * max(1.0, np.abs(want).max(initial=0)))


def compare(ours, reference, *xs, second=True):
    """Value, gradient in each input, second derivative and vmap of `ours`; first derivatives against the reference."""
    rng = np.random.default_rng(0)
    ys = [numbers(y) for y in listed(reference(*xs))]
    for got, want in zip(listed(ours(*map(Tensor, xs))), ys, strict=True):
        close(got, want, 1e-10)
    weights = directions(rng, ys)

    def loss(*xs):
        return sum(real(vdot(w, y)) for w, y in zip(weights, listed(ours(*xs)), strict=True))

    for i, x in enumerate(xs):

        def plain(v, i=i):
            return sum(
                np.vdot(w, y).real for w, y in zip(weights, listed(reference(*xs[:i], v, *xs[i + 1 :])), strict=True)
            )

        def gradient(v, i=i):
            return grad(loss, i)(*xs[:i], v, *xs[i + 1 :])

        close(gradient(x), slopes(plain, x), 1e-7)
        if not second:
            continue
        (t,) = directions(rng, [x])
        want = quotient(lambda v: numbers(gradient(v)), x, t)
        close(jvp(gradient, (x,), (t,))[1], want, 1e-6)
        close(grad(lambda v, t=t, gradient=gradient: real(vdot(t, gradient(v))))(x), want, 1e-6)

    batch = [np.stack([x, 1.25 * x, 0.75 * x]) for x in xs]
    looped = [np.stack(parts) for parts in zip(*(map(numbers, listed(ours(*row))) for row in zip(*batch, strict=True)))]
    for got, want in zip(listed(vmap(ours)(*batch)), looped, strict=True):
        close(got, want, 1e-10)


@pytest.fixture
def check():
    """`check(ours, reference, *xs)`; `second=False` leaves the second derivative out."""
    return compare

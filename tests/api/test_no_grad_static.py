"""What is computed under `no_grad` has no derivative, in whatever mode the program around it runs."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import numpy as np
import pytest

import adjoint as ad


def straight(x):
    with ad.no_grad():
        y = x * 5
    return y + x


def short_loop(x):
    s = x
    for _ in range(3):
        with ad.no_grad():
            y = ad.ops.sin(s * 5)
        s = s * x + y
    return s


def long_loop(x):
    s = x
    for _ in range(12):
        with ad.no_grad():
            y = ad.ops.sin(s) * x
        s = s * x * 0.5 + y
    return s


def loop_inside(x):
    s = x
    with ad.no_grad():
        for _ in range(12):
            s = s * x
    return s * x


def from_a_number(x):
    s = 0.0
    for _ in range(12):
        with ad.no_grad():
            s = s + x * x
    return s * x


def repeated(x):
    s, k = x, x
    while s < 50:
        with ad.no_grad():
            k = s + 1
        s = s + k * x
    return s


@ad.no_grad()
def square(x):
    return x * x


def decorated(x):
    return square(x) * x


def branch_inside(x):
    with ad.no_grad():
        y = x * 3 if x > 1 else x * 4
    return y * x


def inside_a_branch(x):
    if x > 1:
        with ad.no_grad():
            y = x * 3
        z = y * x
    else:
        z = x * 2
    return z


compiled = ad.jit(lambda x: x * x * 2)


def compiled_inside(x):
    with ad.no_grad():
        y = compiled(x)
    return y * x


def gradient_inside(x):
    with ad.no_grad():
        y = ad.grad(lambda t: t**3)(x)
    return y * x


def several_results(x):
    with ad.no_grad():
        m, n = ad.ops.split(ad.ops.stack([x, x * 2]), 1)
    return (m * x + n).sum()


def batched_inside(x):
    with ad.no_grad():
        y = ad.vmap(lambda t: t * t * x)(ad.ops.stack([x, x + 1]))
    return (y * x).sum()


def cast_inside(x):
    with ad.no_grad():
        y = (x * 1.0).astype(ad.float64)
    return y * x


PROGRAMS = [
    straight, short_loop, long_loop, loop_inside, from_a_number, repeated, decorated, branch_inside, inside_a_branch,
    compiled_inside, gradient_inside, several_results, batched_inside, cast_inside,
]  # fmt: skip


def _backward(f: Any, x: Any) -> Any:
    f(x := ad.Tensor(x, ad.float64, requires_grad=True)).backward()
    return x.grad


def derivatives(f: Any, x: Any) -> Iterator[tuple[str, Any]]:
    for backend in ("native", "interpreter"):
        yield f"jit(grad), {backend}", ad.jit(ad.grad(f), backend=backend)(x)
        yield f"grad(jit), {backend}", ad.grad(ad.jit(f, backend=backend))(x)
    yield "jit(grad(jit))", ad.jit(ad.grad(ad.jit(f)))(x)
    yield "jvp(jit)", ad.jvp(ad.jit(f), (x,), (ad.ops.ones_like(x),))[1]
    yield "backward()", _backward(f, x.numpy())
    yield "backward() of jit", _backward(ad.jit(f), x.numpy())
    yield "vmap(grad(jit))", ad.vmap(ad.grad(ad.jit(f)))(ad.ops.stack([x, x]))[1]


@pytest.mark.parametrize("f", PROGRAMS, ids=lambda f: f.__name__)
def test_no_grad_cuts_in_every_mode(f):
    x = ad.Tensor(1.3, ad.float64)
    np.testing.assert_allclose(ad.jit(f)(x).numpy(), f(x).numpy(), rtol=1e-9)
    expected = ad.grad(f)(x).numpy()
    for mode, found in derivatives(f, x):
        np.testing.assert_allclose(found.numpy(), expected, rtol=1e-9, err_msg=mode)


def test_no_grad_around_a_compiled_function_is_no_part_of_its_graph():
    f = ad.jit(lambda x: x * x)
    with ad.no_grad():
        f(ad.Tensor(3.0))
    assert ad.grad(f)(ad.Tensor(3.0)).item() == 6.0
    assert len(f.compilations) == 1

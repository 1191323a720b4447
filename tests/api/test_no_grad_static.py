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


#: Under `no_grad`: y is x itself on some ways, and computed on others.
HANDED_ON = {
    "if": "y = x\nif x > 1:\n    y = x * 3",
    "if, unchanged": "y = x\nif x > 9:\n    y = x * 3",
    "else": "if x > 1:\n    y = x\nelse:\n    y = ad.ops.sin(x)",
    "ternary": "y = x if x > 1 else x * 3",
    "exchanged": "y, z = x, x * 2\nif x > 1:\n    y, z = z, y",
    "both": "y, z = x, x * 2\nif x > 1:\n    z = z * x",
    "or": "y = x or 3.0",
    "and": "y = x and x * 2",
    "max": "y = max(x, x * 0.5, 0.2)",
    "min": "y = min([x, x * x, 0.9])",
    "sorted by": "y = max(x, -x, key=lambda v: v * v * v)",
    "list": "y = [x, x * 2]\nif x > 1:\n    y[1] = x\ny = y[1]",
    "counted loop": "y, z = x, x\nfor _ in range(12):\n    z = z * x",
    "loop that exchanges": "y, z = x, x * 2\nfor _ in range(13):\n    y, z = z, y",
    "branch in a loop": "y = x\nfor k in range(12):\n    if k > 20 * x:\n        y = y * 2",
    "while": "y, z = x, x\nwhile z < 9:\n    z = z + 2",
    "loop that may replace": "y, z = x, x\nwhile z < 1:\n    z = z + 2\n    y = z",
    "break": "y = x\nfor k in range(12):\n    if k > x:\n        break\n    z = y * 2",
    "appended": "y = []\nfor k in range(12):\n    y.append(x * 1.0 if k > x else x)\ny = sum(y)",
    "returned": "def pick(v):\n    if v > 1:\n        return v\n    return v * 3\ny = pick(x)",
    "nested": "y = x\nif x > -1:\n    for k in range(12):\n        if x > 1:\n            y = x",
    "a gradient inside": "y = x\nif x > 1:\n    y = y + ad.grad(lambda t: t * t if t > 0 else t)(x)",
}


@pytest.mark.parametrize("text", HANDED_ON.values(), ids=HANDED_ON)
def test_what_no_grad_only_hands_on_keeps_its_derivative(text, tmp_path):
    path = tmp_path / "program.py"
    lines = "".join(f"        {line}\n" for line in text.splitlines())
    path.write_text(f"def f(x):\n    with ad.no_grad():\n{lines}    return y * x + y\n")
    space = {"ad": ad}
    exec(compile(path.read_text(), str(path), "exec"), space)
    f: Any = space["f"]
    for value in (1.3, 0.7):
        expected = ad.grad(f)(value)
        modes = [
            ad.jit(ad.grad(f)),
            ad.grad(ad.jit(f)),
            ad.grad(ad.jit(f, backend="interpreter")),
            ad.jit(ad.grad(ad.jit(f))),
        ]
        modes += [lambda v: ad.jvp(ad.jit(f), v, 1.0)[1], lambda v: ad.jit(lambda u: ad.jvp(f, u, 1.0)[1])(v)]
        np.testing.assert_allclose([float(g(value)) for g in modes], [expected] * 6, rtol=1e-9)


def test_no_grad_around_a_compiled_function_is_no_part_of_its_graph():
    f = ad.jit(lambda x: x * x)
    with ad.no_grad():
        f(ad.Tensor(3.0))
    assert ad.grad(f)(ad.Tensor(3.0)).item() == 6.0
    assert len(f.compilations) == 1

"""Complaints about what happens to ordinary Python: one test for each, in dynamic and static mode."""

from __future__ import annotations

import linecache
import re
import traceback
from pathlib import Path

import numpy as np
import pytest

import adjoint as ad
from adjoint import ops
from adjoint.core.errors import AdjointError
from adjoint.testing.fuzz import alarm

HERE = Path(__file__).name
MODES = pytest.mark.parametrize("mode", [lambda f: f, ad.jit], ids=["dynamic", "static"])


def close(found, wanted, rtol=1e-9):
    np.testing.assert_allclose(np.asarray(found), np.asarray(wanted), rtol=rtol, atol=1e-12)


def slopes(f, x, h=1e-6):
    """Central differences."""
    return np.array([(f(x + h * e) - f(x - h * e)) / (2 * h) for e in np.eye(len(x))])


# ---------------------------------------------------------------- 15


def decides(x):
    total = x[0] * 0.0
    for v in x:
        if v < 0:
            continue
        if not (v < 2.0 or total < 1.0):
            break
        total += v * v if 0.5 < v <= 2.9 else v
    return total if total > 1 else -total


def decides_by_numpy(x):
    total = 0.0
    for v in x:
        if v < 0:
            continue
        if not (v < 2.0 or total < 1.0):
            break
        total += v * v if 0.5 < v <= 2.9 else v
    return total if total > 1 else -total


@MODES
@pytest.mark.parametrize("x", [[0.3, 0.2, -1.0], [1.1, 2.5, 3.0], [-1.0, -2.0, 0.1], [0.6, 4.0, 0.7]])
def test_pain_15_python_decides_on_traced_values(mode, x):
    x = np.array(x)
    close(mode(decides)(x), decides_by_numpy(x))
    close(ad.grad(mode(decides))(x), slopes(decides_by_numpy, x), rtol=1e-6)


def test_pain_15_a_branch_not_taken_does_not_run():
    """One that would not end, or whose derivative is infinite, does no harm."""

    def f(x):
        if x > 1:
            y = x
            while y < 10:
                y = y * x
        else:
            y = x
        return y

    def g(x):
        return ops.sqrt(x) if x > 0 else x * 2.0

    assert ad.grad(g)(0.0) == 2 and ad.grad(ad.jit(g))(0.0) == 2 and ad.jit(ad.grad(g))(0.0) == 2
    with alarm(5):
        assert ad.jit(f)(0.5) == 0.5
        assert ad.jit(ad.grad(f))(0.5) == 1


@MODES
def test_pain_15_boolean_masks(mode):
    def f(x):
        y = x * 1.0
        y[y < 0] = 0.0
        return ops.sum(ops.where(x > 1, y * x, y))

    close(ad.grad(mode(f))(np.array([-1.0, 0.5, 3.0])), [0, 1, 6])


# ---------------------------------------------------------------- 16

kept = []
box = {}


def keeps_in_a_list(x):
    kept.append(x)
    return x * 2


def keeps_in_a_dict(x):
    box["last"] = x * 2
    return x * 2


def keeps_in_a_global(x):
    global last
    last = x * 3
    return x * 2


@pytest.mark.parametrize(
    ("fn", "text"),
    [
        (keeps_in_a_list, "kept.append(x)"),
        (keeps_in_a_dict, 'box["last"] = x * 2'),
        (keeps_in_a_global, "last = x * 3"),
    ],
)
def test_pain_16_a_value_that_would_leak_is_refused_where_it_is_stored(fn, text):
    lines = Path(__file__).read_text().splitlines()
    line = 1 + next(i for i, code in enumerate(lines) if code.strip() == text)
    with pytest.raises(AdjointError) as caught:
        ad.jit(fn)(np.ones(2))
    assert re.search(rf"{re.escape(HERE)}(:|, line ){line}\b", str(caught.value)), caught.value


def test_pain_16_in_dynamic_mode_a_kept_tensor_is_just_a_tensor():
    found = []
    ad.grad(lambda x: (found.append(x.asnumpy().copy()), ops.sum(x * x))[1])(np.ones(2))
    close(found[0], [1, 1])


# ---------------------------------------------------------------- 17


def multiplied(x):
    return ops.matmul(x, ops.ones((4, 2)))


@MODES
@pytest.mark.parametrize("transform", [lambda f: f, ad.grad, ad.vmap], ids=["call", "grad", "vmap"])
def test_pain_17_an_error_shows_the_users_line_the_op_and_the_shapes(mode, transform):
    shape = (5, 2, 3) if transform is ad.vmap else (2, 3)
    with pytest.raises(ValueError) as caught:
        transform(mode(multiplied))(np.ones(shape))
    message = str(caught.value)
    assert "MatMul" in message and "2, 3)" in message and "(4, 2)" in message
    assert re.search(rf"{re.escape(HERE)}:\d+: return ops\.matmul\(x, ops\.ones\(\(4, 2\)\)\)", message)
    if mode is ad.jit or transform in (ad.grad, ad.vmap):
        frames = [f.filename for f in traceback.extract_tb(caught.value.__traceback__)]
        ours = [f for f in frames if f.startswith(str(Path(ad.__file__).parent))]
        assert len(ours) <= 2, frames  # the call, and what raises


# ---------------------------------------------------------------- 19


def ordinary(x, *, scale=2.0, **options):
    """Unpacking, enumerate, zip, slices, comprehensions, f-strings, print, nested functions, defaults."""
    first, *rest = x
    (a, b), c = (first, rest[0]), rest[-1]
    assert c is not None, "three numbers"

    def weigh(v, by=scale):
        return v * by

    total = sum(weigh(v) * k for k, v in enumerate([a, b, c], start=1))
    total += sum(p * q for p, q in zip(x, x[1:] * 1.0))
    table = {f"n{k}": v for k, v in enumerate(x[::-1])}
    if options.get("loud", False):
        print(f"total {total:.3f}")
    try:
        bias = options["bias"]
    except KeyError:
        bias = 0.0
    return total + table["n0"] * 10 + bias


@MODES
def test_pain_19_ordinary_python_is_accepted(mode, capsys):
    x = np.array([1.0, 2.0, 3.0])
    close(mode(ordinary)(x), 66.0)
    close(ad.grad(mode(ordinary))(x), [4, 8, 18])
    close(mode(ordinary)(x, loud=True, bias=1.0), 67.0)
    assert capsys.readouterr().out == "total 36.000\n"


@MODES
def test_pain_19_functions_typed_into_a_prompt(mode):
    namespace = {"ops": ops}
    code = "def typed(x):\n    while x < 10:\n        x = x * 3\n    return x\n"
    linecache.cache["<stdin-7>"] = (len(code), None, code.splitlines(True), "<stdin-7>")
    exec(compile(code, "<stdin-7>", "exec"), namespace)
    close(ad.grad(mode(namespace["typed"]))(2.0), 9)
    close(ad.grad(mode(lambda x: x * x if x > 0 else -x))(3.0), 6)


def test_pain_19_what_is_not_supported_is_named_at_its_line():
    def waits(x):
        yield x

    with pytest.raises((SyntaxError, AdjointError)) as caught:
        ad.jit(waits)(1.0)
    assert HERE in str(caught.value) or HERE in str(getattr(caught.value, "filename", ""))

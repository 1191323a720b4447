"""What fails in a branch while Python runs it to see what it does: an error of the run, if the branch is taken, as in plain Python."""

from __future__ import annotations

import math
import sys

import numpy as np
import pytest

import adjoint as ad


class Odd(Exception):
    def __init__(self, code, *, text):
        super().__init__(code, text)


def odd():
    raise Odd(3, text="odd")


def divided(x):
    return x / 0


FAILING = {
    "division": lambda x: x / 0, "in a function": divided, "integers": lambda x: x * (1 // 0), "key": lambda x: {}["k"] * x,
    "index": lambda x: [1.0, 2.0][5] * x, "value": lambda x: x * int("abc"), "attribute": lambda x: x * (1).foo,
    "name": lambda x: undefined * x, "call": lambda x: {"f": None}["f"](x), "stop": lambda x: next(iter([])) * x,  # noqa: F821
    "unpacking": lambda x: (lambda a, b: a)(*(1, 2, 3)) * x, "math": lambda x: math.sqrt(-1) * x, "length": lambda x: len(5) * x,
    "numpy": lambda x: np.linalg.inv(np.zeros((2, 2)))[0, 0] * x, "shapes": lambda x: np.ones(3) @ np.ones(4) * x,
    "own": lambda x: odd() * x, "overflow": lambda x: x * math.exp(1e4),
}  # fmt: skip


def otherwise(fail, x):
    if x > 0:  # noqa: SIM108
        y = x * 2
    else:
        y = fail(x)
    return y


def early(fail, x):
    if x > 0:
        return x * 2
    return fail(x)


def ternary(fail, x):
    return x * 2 if x > 0 else fail(x)


def shortcut(fail, x):
    return x * 2 if x > 0 or fail(x) > 0 else x


def nested(fail, x):
    if x > 0:
        if x > 100:
            x = fail(x)
        return x * 2
    elif x > -100:
        return fail(x)
    raise KeyError("low")


def in_while(fail, x):
    k = 0
    while k < 3:
        if x < 0:
            x = fail(x)
        x, k = x + 1, k + 1
        if x > 50:
            break
    return x


def in_for(fail, x):
    for k in range(20):
        if x < k - 10:
            x = fail(x)
        x = x + 1
    return x


@pytest.mark.parametrize("name", FAILING)
@pytest.mark.parametrize("f", [otherwise, early, ternary, shortcut, nested, in_while, in_for], ids=lambda f: f.__name__)
def test_fails_where_plain_python_fails(f, name):
    fail = FAILING[name]
    compiled = ad.jit(lambda x: f(fail, x))
    assert compiled(2.0) == f(fail, 2.0)
    assert ad.grad(compiled)(2.0) == ad.grad(lambda x: f(fail, x))(2.0)
    with pytest.raises(Exception) as wanted:
        f(fail, -20.0)
    for _ in range(2):
        with pytest.raises(wanted.type) as found:
            compiled(-20.0)
        # What Python 3.10 calls a function inside of another says where that was made.
        here = name == "unpacking" and sys.version_info < (3, 11)
        assert here or found.value.args == wanted.value.args or name in ("division", "in a function")
    assert compiled(2.0) == f(fail, 2.0)


def test_says_where():
    compiled = ad.jit(lambda x: otherwise(divided, x))
    with pytest.raises(ZeroDivisionError) as found:
        compiled(-1.0)
    notes = "".join(getattr(found.value, "__notes__", ["test_failing_branches.py"]))
    assert "test_failing_branches.py" in notes


def test_what_fails_in_all_cases_fails_at_once():
    def f(x):
        if x > 0:
            return divided(x)
        return {}["k"]

    with pytest.raises((ZeroDivisionError, KeyError)):
        ad.jit(f)(2.0)


def test_what_tracing_refuses_in_a_branch_is_refused():
    with pytest.raises(ad.NeedsNumberError):
        ad.jit(lambda x: x if x > 0 else x * len("a" * int(x)))(2.0)


def test_each_example_of_a_batch():
    batched = ad.jit(ad.vmap(lambda x: early(FAILING["key"], x)))
    assert np.array_equal(batched(np.array([1.0, 2.0])), [2.0, 4.0])
    with pytest.raises(KeyError, match="k"):
        batched(np.array([1.0, -20.0]))


@pytest.mark.parametrize("name", FAILING)
def test_what_fails_in_a_loop_fails_in_its_iterations(name):
    def f(x):
        while x > 10.0:
            x = FAILING[name](x)
        for _ in range(int(x > 5)):
            x = FAILING[name](x)
        return x * 2

    compiled = ad.jit(f)
    assert compiled(2.0) == f(2.0) == 4.0
    for x in (7.0, 20.0):
        with pytest.raises(Exception) as wanted:
            f(x)
        with pytest.raises(wanted.type):
            compiled(x)

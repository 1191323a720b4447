"""Integers of more than 64 bits and numbers of derived classes: they stay what they are to Python, or are refused by name."""

import enum
import linecache
from fractions import Fraction

import numpy as np
import pytest

import adjoint as ad
from adjoint.core.errors import ArgumentError
from adjoint.frontend.errors import ControlFlowError
from adjoint.graph.numbers import NeedsNumberError

pytestmark = pytest.mark.filterwarnings(
    "ignore::adjoint.PromotionWarning"
)  # numbers of other classes promote, as in NumPy

LARGE = {
    "sum": "(k + {m}) % 7",
    "difference": "({m} - k) % 7",
    "product": "(k * {m}) % 7",
    "remainder": "(-k) % {m} % 1000",
    "quotient": "(k - {m}) // 3 % 11",
    "bits": "(k ^ {m}) % 10",
    "compared": "(3 if k < {m} else 5)",
    "member": "(k in (3, {m}))",
}


def _made(text):
    """A function from its text, which the frontend can read."""
    lines = text.splitlines(keepends=True)
    name = f"<large {hash(text)}>"
    linecache.cache[name] = (len(text), None, lines, name)
    space = {}
    exec(compile(text, name, "exec"), space)
    return space["f"]


@pytest.mark.parametrize("backend", ["native", "interpreter"])
@pytest.mark.parametrize("m", ["2**63", "2**64", "10**19", "(-2**63 - 1)", "10**30"])
@pytest.mark.parametrize("term", LARGE)
def test_integers_of_more_than_64_bits_are_pythons(term, m, backend):
    expression = LARGE[term].format(m=m)
    counted = _made(
        f"def f(x):\n    s = 0.0\n    for k in range(12):\n        s = s + {expression} * x\n    return s\n"
    )
    assert float(ad.jit(counted, backend=backend)(1.5)) == counted(1.5)
    uncounted = _made(
        f"def f(x):\n    s, k = 0.0, 0\n    while k < x:\n        s = s + {expression} * x\n        k += 1\n    return s\n"
    )
    with pytest.raises((NeedsNumberError, ControlFlowError)):
        ad.jit(uncounted, backend=backend)(1.5)


@pytest.mark.parametrize("low", ["3", "2**63 - 1", "3.0", "x"])
@pytest.mark.parametrize("large", ["2**63", "10**30", "-2**63 - 1"])
def test_integers_of_more_than_64_bits_are_neither_chosen_nor_carried(large, low):
    chosen = _made(f"def f(x):\n    n = {large} if x > 1 else {low}\n    return x * (n % 7)\n")
    with pytest.raises(ControlFlowError, match="which a graph cannot hold"):
        ad.jit(chosen)(1.5)
    carried = _made(
        f"def f(x):\n    n, k = {large}, 0\n    while k < x:\n        n, k = n // 3, k + 1\n    return x * (n % 7)\n"
    )
    with pytest.raises((NeedsNumberError, ControlFlowError)):
        ad.jit(carried)(1.5)


class Size(enum.IntEnum):
    SMALL = 3


class Metres(float):
    pass


@pytest.mark.parametrize("number", [Size.SMALL, Metres(2.5)], ids=["int", "float"])
@pytest.mark.parametrize(
    "x", [1.5, ad.Tensor(np.float32(1.5)), ad.Tensor([1.0, 2.0])], ids=["float", "float32", "array"]
)
def test_numbers_of_derived_classes_are_numbers(x, number):
    def f(x):
        return x * number + number / x - (x < number) * x**number

    for found in (ad.jit(f)(x), ad.jit(lambda x, n: x * n + n / x - (x < n) * x**n)(x, number)):
        want = np.asarray(f(x))
        assert np.asarray(found).dtype == want.dtype
        np.testing.assert_allclose(found, want, rtol=1e-6)


def test_numbers_of_other_classes_are_refused_by_name():
    with pytest.raises(ArgumentError, match="Fraction"):
        ad.jit(lambda x: x * Fraction(1, 3))(1.5)
    with pytest.raises(ControlFlowError, match="Size"):
        ad.jit(lambda x: x * (Size.SMALL if x > 1 else 2))(1.5)


def test_powers_by_a_modulus_are_pythons():
    def f(x):
        n = 5 if x > 1 else 3
        return x * pow(n, 2, 10007)

    with pytest.raises(NeedsNumberError, match="modulus"):
        ad.jit(f)(1.5)

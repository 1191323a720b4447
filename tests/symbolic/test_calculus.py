"""Derivatives, stationary points and expression swell."""

from __future__ import annotations

import math
from itertools import pairwise

import numpy as np
import pytest
import sympy

import adjoint as ad
from adjoint import ops, symbolic
from adjoint.symbolic.expression_swell import operations, written_out

X = sympy.Symbol("x", real=True)


def logistic(x):
    return 4 * x * (1 - x)


def loss(x):
    return math.exp(math.exp(x) + math.exp(x) ** 2) + math.sin(math.exp(x) + math.exp(x) ** 2)


def recursion(x, n):
    for _ in range(n):
        x = 4 * x * (1 - x)
    return x


def test_derivatives_of_the_logistic_recursion_are_those_of_the_survey():
    """l₁ = x, lₙ₊₁ = 4 lₙ (1 - lₙ): the simplified derivatives of l₂, l₃ and l₄."""
    want = [
        4 - 8 * X,
        16 * (1 - 10 * X + 24 * X**2 - 16 * X**3),
        64 * (1 - 42 * X + 504 * X**2 - 2640 * X**3 + 7040 * X**4 - 9984 * X**5 + 7168 * X**6 - 2048 * X**7),
    ]
    for n, polynomial in enumerate(want, start=1):
        slope = symbolic.derivative(lambda x, n=n: recursion(x, n))
        assert sympy.expand(slope - polynomial) == 0
        short = symbolic.simplify(slope)
        assert sympy.expand(short - polynomial) == 0 and written_out(short) <= written_out(slope)


def test_orders_inputs_and_containers():
    f = lambda x, y: np.exp(x * y)
    assert symbolic.derivative(f, "x", 2).subs({"x": 0}) == symbolic.derivative(f, "x", order=2).subs({"x": 0})
    assert symbolic.derivative(np.sin, order=0) == sympy.sin(X)
    assert symbolic.derivative(lambda x: 3.0) == 0
    assert symbolic.derivative(X**3) == 3 * X**2 and symbolic.derivative("x**3") == 3 * sympy.Symbol("x") ** 2
    assert symbolic.derivative(lambda x: (x, {"a": x * x})) == (1, {"a": 2 * X})
    assert symbolic.latex(lambda x: np.sqrt(x) / 2) == r"\frac{\sqrt{x}}{2}"


@pytest.mark.parametrize(
    ("f", "options", "want"),
    [
        (lambda x: x**3 - 3 * x, {}, ["maximum 2 at x = -1", "minimum -2 at x = 1"]),
        (np.sin, {"between": (0, 7)}, ["maximum 1 at x = pi/2", "minimum -1 at x = 3*pi/2"]),
        (lambda x: abs(x), {}, []),
        (lambda x: x * np.log(x), {}, ["minimum -exp(-1) at x = exp(-1)"]),
        (lambda x: x**4, {}, ["minimum 0 at x = 0"]),
        (lambda x: x**3, {}, ["inflexion 0 at x = 0"]),
        (lambda x: np.sqrt(x) * (x - 3), {}, ["minimum -2 at x = 1"]),
        (np.exp, {}, []),
        (lambda x: (x - 0.1) ** 2, {}, ["minimum 0 at x = 1/10"]),
        (lambda x, y: x**2 + y**2 - x * y + x, {}, ["minimum -1/3 at x = -2/3, y = -1/3"]),
        (lambda x, y: x**2 - y**2, {}, ["saddle 0 at x = 0, y = 0"]),
        (sympy.Symbol("t") ** 2 - sympy.Symbol("t"), {}, ["minimum -1/4 at x = 1/2"]),
    ],
)
def test_stationary_points(f, options, want):
    assert [str(p) for p in symbolic.stationary_points(f, **options)] == want


@pytest.mark.parametrize(
    ("f", "words"),
    [
        (np.sin, r"infinitely many.*between=\(a, b\)"),
        (lambda x: x * np.sin(x), "no closed form"),
        (lambda x, y: (x - y) ** 2, "a curve or a surface"),
        (lambda x: 5.0, "constant"),
        (lambda x: (x, x), "one number"),
    ],
)
def test_where_there_are_none_in_closed_form(f, words):
    with pytest.raises(ad.AdjointError, match=words):
        symbolic.stationary_points(f)


def test_formulas_swell_and_graphs_do_not(tmp_path):
    found = symbolic.swell(logistic, 4)
    sizes = [r.derivative for r in found.rows]
    assert all(b > 2 * a for a, b in pairwise(sizes))
    steps = {b.gradient - a.gradient for a, b in pairwise(found.rows)}
    assert (
        len(steps) == 1 and found.rows[-1].graph == 12
    )  # three operations an application, and as many more for each gradient
    assert found.rows[2].simplified < found.rows[2].derivative
    assert [r[1:] for r in _cells(symbolic.swell(recursion, 3))] == [r[1:] for r in _cells(found)[:3]]
    found.draw(tmp_path / "swell.png")
    assert (tmp_path / "swell.png").stat().st_size > 5000
    page = found._repr_html_()
    assert "<table>" in page and "<svg" in page
    assert found.markdown().splitlines()[1] == "| --- | ---: | ---: | ---: | ---: | ---: |"


def _cells(found):
    return [(r.n, r.formula, r.derivative, r.simplified, r.graph, r.gradient) for r in found.rows]


def test_the_loss_of_the_slides_swells_too():
    """L(x) = exp(exp(x) + exp(x)²) + sin(exp(x) + exp(x)²)."""
    found = symbolic.swell(loss, 3)
    assert found.rows[0].formula == 11 and found.rows[0].graph == 6
    assert found.rows[2].derivative > 30 * found.rows[2].gradient and found.rows[2].simplified is None


def test_counting():
    x = sympy.Symbol("x")
    for expr, count in ((x, 0), (x + 1, 1), (1 - x, 1), (x / (x + 1), 2), (sympy.sin(x) ** 2, 2), (-x, 0)):
        assert written_out(expr) == count
    with pytest.raises(ad.AdjointError, match="smaller n"):
        value = x
        for _ in range(60):
            value = sympy.sin(value, evaluate=False) + sympy.cos(value, evaluate=False)
        written_out(value)
    assert operations(ad.graph.trace_function(lambda x: recursion(x, 300), [0.5])) == 900
    assert operations(ad.graph.trace_function(_until_ten, [0.5])) is None


def _until_ten(x):
    while x < 10:
        x = x + ops.exp(x)
    return x


@pytest.mark.parametrize("call", [lambda: symbolic.swell(logistic, 0), lambda: symbolic.swell(lambda a, b, c: a, 2), lambda: symbolic.swell(lambda x: (x, x), 2), lambda: symbolic.swell(3, 2)])  # fmt: skip
def test_refusals(call):
    with pytest.raises(ad.AdjointError, match="swell: "):
        call()


@pytest.mark.parametrize("between", [5, (1, 2, 3), (3, 1), (1, 1), ("a", 2), (None, 1), (1j, 2)])
def test_ends_that_are_no_interval_are_refused(between):
    with pytest.raises(ad.ArgumentError, match="`between` must be two numbers"):
        symbolic.stationary_points(lambda x: x**2, between=between)


def test_formulas_that_cannot_be_functions_are_refused():
    x, y = sympy.symbols("x y")
    with pytest.raises(ad.ArgumentError, match="names x twice"):
        symbolic.from_sympy(x - y, [x, x, y])
    for name in ("ops", "a b", "def", 5):
        with pytest.raises(ad.ArgumentError, match="cannot be the name of a function"):
            symbolic.from_sympy(sympy.sin(x), name=name)
    for large in (10**400, -(10**400), sympy.Float("1e400"), sympy.Rational(10**400, 7)):
        with pytest.raises(ad.NoClosedFormError, match="too large for a float"):
            symbolic.from_sympy(large * x)
    assert symbolic.from_sympy(10**30 * x)(2.0) == 2e30

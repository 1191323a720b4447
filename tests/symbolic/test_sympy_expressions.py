"""Python functions as SymPy expressions, and expressions as functions, against values computed without SymPy."""

from __future__ import annotations

import inspect
import math
import sys
from functools import partial
from math import exp as exponential

import numpy as np
import pytest
import sympy

import adjoint as ad
from adjoint import nn, ops, symbolic

X, Y = sympy.symbols("x y", real=True)


def helper(x):
    return math.sin(x) * exponential(-x)


def polynomial(x, coefficients=(1.0, -2.0, 0.5)):
    return sum(c * x**k for k, c in enumerate(coefficients))


def recursion(x, n=4):
    for _ in range(n - 1):
        x = 4 * x * (1 - x)
    return x


class Model:
    rate = 0.3

    def __call__(self, x):
        return self.rate * math.cosh(x)

    def method(self, x):
        return self.rate + math.log(x, 2)


def scaled(factor):
    return lambda x: factor * helper(x)


FUNCTIONS = [
    helper, polynomial, recursion, Model(), Model().method, scaled(3), np.sin, math.sqrt, abs,
    lambda x: math.atan2(x, 2) + math.hypot(x, 3.0) + math.log1p(x) + math.expm1(x) + math.log10(x) + math.pow(x, 1.5),
    lambda x: np.arcsinh(x) + np.cbrt(x) + np.sign(x) + np.square(x) + np.logaddexp(x, 1.0) + np.reciprocal(x),
    lambda x: max(x, 0.5, 2 * x - 1) + min(x, 1.0), lambda x: np.where((x > 0.5) & (x < 3), x, -x),
    lambda x: ops.relu(x) + ops.sigmoid(x) + ops.softplus(x) + ops.gelu(x) + ops.tanh(x),
    lambda x: ops.erf(x) + ops.erfc(x) + ops.lgamma(x) + ops.digamma(x) + ops.polygamma(1, x) + ops.bessel_j(1, x),
    lambda x: x % 0.3 + x // 0.3 + math.floor(x) + np.ceil(x), lambda x: 2**x + x**-1 + x**0.5 + (-x) ** 2,
    lambda x: math.radians(x) + math.degrees(x) + math.fabs(x) + 0.1 + math.pi + math.e,
]  # fmt: skip


@pytest.mark.parametrize("case", range(len(FUNCTIONS)))
def test_expressions_have_the_values_and_derivatives_of_their_functions(case):
    f = FUNCTIONS[case]
    found = symbolic.to_sympy(f)
    slope = symbolic.derivative(f)
    for x in (0.37, 0.81):
        plain = f(x)
        want = float(plain.asnumpy() if isinstance(plain, ad.Tensor) else plain)
        assert float(found.subs(X, x).evalf()) == pytest.approx(
            want, rel=1e-6 if isinstance(plain, ad.Tensor) else 1e-12
        )
        h = 1e-5
        difference = (found.subs(X, x + h).evalf(30) - found.subs(X, x - h).evalf(30)) / (2 * h)
        assert float(slope.doit().subs(X, x).evalf()) == pytest.approx(float(difference), rel=1e-6, abs=1e-6)
        back = symbolic.from_sympy(found)
        assert float(back(np.float64(x))) == pytest.approx(want, rel=1e-6)


def test_arrays_containers_and_chosen_inputs():
    assert symbolic.to_sympy(lambda v: np.sqrt(np.sum(v**2)), ["a", "b"]) == sympy.sqrt(
        sympy.Symbol("a", real=True) ** 2 + sympy.Symbol("b", real=True) ** 2
    )
    a, b, c, d = sympy.symbols("a b c d")
    product = symbolic.to_sympy(lambda m, v: m @ v, [[a, b], [c, d]], sympy.Matrix([X, Y]).T.tolist()[0])
    assert list(product) == [a * X + b * Y, c * X + d * Y]
    assert list(symbolic.to_sympy(lambda v: v[::-1] * v, [X, Y, 2])) == [2 * X, Y**2, 2 * X]
    assert symbolic.to_sympy(lambda v: v.max() + v.min(axis=0), [X, Y]) == sympy.Max(X, Y) + sympy.Min(X, Y)
    grid = symbolic.to_sympy(lambda m: m.max(axis=1, keepdims=True), [[X, 1], [Y, 2]])
    assert grid.shape == (2, 1) and list(sympy.flatten(grid)) == [sympy.Max(1, X), sympy.Max(2, Y)]
    assert symbolic.to_sympy(lambda x: (x, {"a": x * x, "b": 3})) == (X, {"a": X**2, "b": 3})
    assert symbolic.to_sympy(lambda x, n: x**n, "x", 3) == X**3
    t = sympy.Symbol("t")
    assert symbolic.to_sympy(recursion, t).free_symbols == {t}
    assert symbolic.to_sympy(lambda x: x + 0.1, sympy.Rational(1, 3)) == sympy.Rational(13, 30)
    assert symbolic.to_sympy(lambda x: 3) == 3
    assert symbolic.to_sympy(lambda x: (x > 2) * x).subs(X, 3) == 3
    assert symbolic.to_sympy(partial(lambda a, x: a * math.sin(x), 3)) == 3 * sympy.sin(X)
    assert symbolic.to_sympy(lambda x: np.exp(1j * x).real) == sympy.cos(X)
    assert len(symbolic.to_sympy(lambda m: m.sum(), sympy.MatrixSymbol("A", 2, 2)).free_symbols) == 1


def test_long_loops_are_unrolled():
    def series(x):
        total, term = 0.0, 1.0
        for k in range(1, 60):
            total, term = total + term, term * x / k
        return total

    assert float(symbolic.to_sympy(series).subs(X, 1.0)) == pytest.approx(math.e, rel=1e-12)
    squares = symbolic.to_sympy(lambda v: sum(a * a for a in v), [X] * 40)
    assert squares == 40 * X**2


def branch(x):
    if x > 0:
        return x * 2
    return x


def loop(x):
    while x < 10:
        x = x * 2
    return x


@pytest.mark.parametrize(
    ("f", "words"),
    [
        (branch, "a branch on a value is no formula. Write np.where"),
        (lambda x: x if x > 0 else -x, "a branch on a value"),
        (loop, "a loop whose length depends on a value is no formula"),
        (lambda x: int(x) * x, "Python needs a number"),
        (lambda x: math.gamma(x), "is no formula"),
        (lambda x: ad.stop_gradient(x) * x, "stop_gradient, which softmax and others use inside"),
        (lambda x: np.round(x), "Round has no formula"),
        (lambda x: print(x) or x, "prints, checks or stores"),
        (lambda x: x.astype("int32"), "Cast has no formula"),
        (lambda x: x * ops.randn(1), "draws random numbers"),
        (nn.Dense(1, 1), "stop_gradient|reads Parameters|is no formula"),
    ],
)
def test_what_is_no_formula_is_refused_by_name(f, words):
    with pytest.raises(ad.NoClosedFormError, match=words):
        symbolic.to_sympy(f)


def test_a_refusal_names_the_line():
    with pytest.raises(ad.NoClosedFormError, match=r"test_sympy_expressions.py:\d+: if x > 0:"):
        symbolic.to_sympy(branch)


@pytest.mark.parametrize(
    ("call", "words"),
    [
        (lambda: symbolic.to_sympy(3j), "must be a function"),
        (lambda: symbolic.to_sympy(lambda *xs: xs[0]), "any number of arguments"),
        (lambda: symbolic.to_sympy(np.sin, [[1], [1, 2]]), "several lengths"),
        (lambda: symbolic.to_sympy(np.sin, {"a"}), "no symbol, number or array"),
        (lambda: symbolic.to_sympy(X**2, X), "has its symbols already"),
        (lambda: symbolic.derivative(lambda x, y: x * y), "the inputs x, y: say by which"),
        (lambda: symbolic.derivative(np.sin, "t"), "t is no input of sin, which has x"),
        (lambda: symbolic.derivative(np.sin, order=-1), "order must be"),
        (lambda: symbolic.from_sympy(X**2, [sympy.Symbol("x")]), "other assumptions is another symbol"),
        (lambda: symbolic.from_sympy(X**2, [Y]), "x is no parameter"),
        (lambda: symbolic.from_sympy(X**2, name="not a name"), "cannot be the name"),
        (lambda: symbolic.from_sympy(sympy.Integral(sympy.sin(X**2), X)), "Integral has no op of ours"),
        (lambda: symbolic.from_sympy(X + sympy.I), "no op of ours|no real number"),
    ],
)
def test_refusals(call, words):
    with pytest.raises(ad.AdjointError, match=words):
        call()


EXPRESSIONS = [
    "x**2*sin(y)/y - 1/3", "-x/(2*y)", "sqrt(x)/x**3", "exp(-x**2/2)/sqrt(2*pi)", "(x-1)*(x-2)/(x*y)", "Max(x,y,0)",
    "x**(1/3)*y**x", "-(x+y)", "2*(x+y)**2", "-x**2", "1/(x+1)**2", "(x+1)/(y+1)/(x-y)", "-3*x/4", "x-(y-1)", "-(x+1)*y",
    "2**-x", "atan2(y,x)", "Piecewise((x**2, x > 1), (y, x > 0), (1, True))", "Abs(x-y)**3", "E**x + 0.123456789012345678*y",
    "sec(x) + csc(x) + cot(x)", "Heaviside(x - 1) + sign(y)", "log(x)/log(2)", "x**y**2",
    "(x**2)**(-1/2)", "-(-x - 1)/(-y)", "x - 2*(y - x*(1 - y))",
]  # fmt: skip


@pytest.mark.parametrize("text", EXPRESSIONS)
def test_functions_have_the_values_and_gradients_of_their_expressions(text):
    expr = sympy.sympify(text, locals={"x": X, "y": Y})
    f = symbolic.from_sympy(expr, [X, Y])
    point = {X: 0.7, Y: 1.9}
    xs = np.float64(0.7), np.float64(1.9)
    assert float(f(*xs)) == pytest.approx(float(expr.subs(point).evalf()), rel=1e-12)
    want = [float(expr.diff(s).subs(point).evalf()) for s in (X, Y)]
    for made in (ad.grad(f, grad_position=(0, 1)), ad.jit(ad.grad(f, grad_position=(0, 1)))):
        assert [float(g) for g in made(*xs)] == pytest.approx(want, rel=1e-10)


def test_functions_are_readable_and_work_on_arrays():
    f = symbolic.from_sympy(sympy.sin(X**2) / (1 + sympy.sin(X**2)), name="ratio")
    assert inspect.getsource(f) == "def ratio(x):\n    t0 = ops.sin(x**2)\n    return t0 / (t0 + 1)\n"
    x = np.linspace(0.1, 1.0, 7)
    np.testing.assert_allclose(np.asarray(f(x)), np.sin(x**2) / (1 + np.sin(x**2)), rtol=1e-14)
    pair = symbolic.from_sympy((X, sympy.Matrix([[1, X], [X**2, 0]])))
    one, matrix = pair(np.float64(3.0))
    assert float(one) == 3 and np.asarray(matrix).tolist() == [[1, 3], [9, 0]]
    odd = sympy.Symbol("lambda"), sympy.Symbol("x_{1}"), sympy.Symbol("ops")
    assert float(symbolic.from_sympy(odd[0] - 2 * odd[1] + odd[2], odd)(7.0, 2.0, 1.0)) == 4
    assert float(symbolic.from_sympy(sympy.Integer(4))()) == 4


def test_a_function_goes_to_sympy_and_back():
    def f(x, y):
        return math.log(x) + x * y - math.sin(y)

    back = symbolic.from_sympy(symbolic.to_sympy(f), [X, Y])
    assert [float(g) for g in ad.grad(back, grad_position=(0, 1))(2.0, 5.0)] == pytest.approx(
        [5.5, 2 - math.cos(5)], rel=1e-6
    )
    assert symbolic.to_sympy(back) == symbolic.to_sympy(f)


def test_without_sympy_a_sentence_says_what_to_install(monkeypatch):
    monkeypatch.setitem(sys.modules, "sympy", None)
    with pytest.raises(ImportError, match=r'needs the package SymPy: pip install "adjoint\[symbolic\]"'):
        symbolic.to_sympy(np.sin)

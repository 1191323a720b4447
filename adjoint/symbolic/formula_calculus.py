"""What one does with formulas: derive, simplify, solve f'(x) = 0, typeset."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

from adjoint.core.errors import ArgumentError, boundary, called_at
from adjoint.symbolic.op_formulas import sympy
from adjoint.symbolic.sympy_expressions import Expression, NoClosedFormError, expression

Source = Any  # a function, or an expression of SymPy's


@boundary
def derivative(f: Source, by: Any = None, order: int = 1) -> Any:
    """The derivative of a function, or of an expression, as an expression: by the rules, without simplification.

    Args:
        f: a function of Python's, as in `to_sympy`, or an expression.
        by: the input to differentiate by, as a name or a symbol; it may be left out where there is but one.
        order: how often.

    >>> from adjoint import symbolic
    >>> symbolic.derivative(lambda x, y: x**2 * y, "x")
    2*x*y
    """
    if isinstance(order, bool) or not isinstance(order, int) or order < 0:
        raise ArgumentError(f"derivative: order must be an integer >= 0, not {order!r}{called_at()}")
    found = expression(f)
    symbol = _chosen("derivative", found, by)
    return _each(found.value, lambda e: differentiated(e, symbol, order))


@boundary
def gradient(f: Source) -> tuple[Any, ...]:
    """The derivatives of a function, or of an expression, by each of its inputs.

    >>> from adjoint import symbolic
    >>> symbolic.gradient(lambda x, y: x**2 * y)
    (2*x*y, x**2)
    """
    found = expression(f)
    return tuple(_each(found.value, lambda e, x=x: differentiated(e, x)) for x in found.symbols)  # type: ignore[misc]


@boundary
def simplify(f: Source) -> Any:
    """The shortest form that SymPy finds: as it is, simplified, expanded or factored.

    >>> from adjoint import symbolic
    >>> symbolic.simplify(symbolic.derivative(lambda x: 4 * x * (1 - x)))
    4 - 8*x
    """
    s = sympy()

    def shortest(e: Any) -> Any:
        forms = [e, s.expand(e), s.factor(e)] if e.is_polynomial() else [e, s.simplify(e)]
        return min(forms, key=lambda form: (s.count_ops(form), len(str(form))))

    return _each(expression(f).value, shortest)


@boundary
def latex(f: Source) -> str:
    """A function or an expression as LaTeX.

    >>> from adjoint import symbolic
    >>> print(symbolic.latex(lambda x: x**2 / 3))
    \\frac{x^{2}}{3}
    """
    return str(sympy().latex(expression(f).value))


def differentiated(e: Any, symbol: Any, order: int = 1) -> Any:
    """The derivative by the rules. That of a step is zero, as everywhere in adjoint, whatever it does where it jumps."""
    s = sympy()
    steps = s.floor, s.ceiling
    for _ in range(order):
        if e.has(s.Mod):
            e = e.replace(s.Mod, lambda x, y: x - y * s.floor(x / y))
        e = e.diff(symbol)
        if e.has(s.Derivative, s.Subs, s.DiracDelta):
            e = e.replace(lambda d: isinstance(d, (s.Derivative, s.Subs)) and d.has(*steps), lambda d: s.Integer(0))
            e = e.replace(s.DiracDelta, lambda *args: s.Integer(0))
    return e


def _each(value: Any, change: Callable[[Any], Any]) -> Any:
    """An expression changed, or each of a container of them."""
    from adjoint.core import tree

    return change(value) if hasattr(value, "free_symbols") else tree.map(change, value)


def _chosen(what: str, found: Expression, by: Any) -> Any:
    """The symbol to differentiate by."""
    names = {str(x): x for x in found.symbols}
    if by is None:
        if len(names) == 1:
            return found.symbols[0]
        if not names:
            return sympy().Symbol("x", real=True)  # a constant
        raise ArgumentError(f"{what}: {found.name} has the inputs {', '.join(names)}: say by which{called_at()}")
    if str(by) not in names:
        raise ArgumentError(
            f"{what}: {by} is no input of {found.name}, which has {', '.join(names) or 'none'}{called_at()}"
        )
    return names[str(by)]


@dataclass(frozen=True)
class StationaryPoint:
    """A point where all first derivatives are zero."""

    at: Any  # the input; for several, a dict from their names
    value: Any
    kind: str  # "minimum", "maximum", "saddle", "inflexion", or "degenerate" where second derivatives do not tell

    def __str__(self) -> str:
        where = ", ".join(f"{k} = {v}" for k, v in self.at.items()) if isinstance(self.at, dict) else f"x = {self.at}"
        return f"{self.kind} {self.value} at {where}"


@boundary
def stationary_points(f: Source, between: tuple[Any, Any] | None = None) -> list[StationaryPoint]:
    """The real points where the derivative is zero, in closed form, with the values there and their kinds.

    Args:
        f: a function or an expression with one result.
        between: for one input, the ends of an interval to look in: a function with infinitely many such points has finitely
            many there.

    >>> from adjoint import symbolic
    >>> for point in symbolic.stationary_points(lambda x: x**3 - 3 * x):
    ...     print(point)
    maximum 2 at x = -1
    minimum -2 at x = 1
    """
    found = expression(f)
    if not hasattr(found.value, "free_symbols") or hasattr(found.value, "shape"):
        raise ArgumentError(f"stationary_points: {found.name} must have one number as its result{called_at()}")
    s = sympy()
    # Whatever the user's symbols may be, only real points are looked for.
    real = {x: s.Symbol(str(x), real=True) for x in found.symbols}
    value = found.value.subs(real)
    symbols = [real[x] for x in found.symbols]
    if not symbols:
        raise ArgumentError(f"stationary_points: {found.name} is constant: every point is stationary{called_at()}")
    if len(symbols) > 1 and between is not None:
        raise ArgumentError(f"stationary_points: `between` is for functions of one input{called_at()}")
    if between is not None:
        between = _ends(between)
    points = _on_a_line(value, symbols[0], between) if len(symbols) == 1 else _in_space(value, symbols)
    return [_described(value, point) for point in points]


def _ends(between: Any) -> tuple[Any, Any]:
    """The ends of an interval, the lower one first."""
    s = sympy()
    try:
        low, high = (s.sympify(x) for x in between)
        if low < high:
            return low, high
    except (TypeError, ValueError, s.SympifyError):
        pass
    raise ArgumentError(
        f"stationary_points: `between` must be two numbers (a, b) with a < b, not {between!r}{called_at()}"
    )


def _on_a_line(value: Any, x: Any, between: tuple[Any, Any] | None) -> list[dict[Any, Any]]:
    s = sympy()
    domain = s.S.Reals if between is None else s.Interval(*map(s.sympify, between))
    slope = differentiated(value, x)
    if s.simplify(slope) == 0:
        raise ArgumentError(f"stationary_points: {value} is constant: every point is stationary{called_at()}")
    roots = s.solveset(slope, x, domain)
    if isinstance(roots, s.Intersection) and between is not None:
        roots = roots.doit()
    if not isinstance(roots, s.FiniteSet) and roots is not s.S.EmptySet:
        if between is None and roots.has(s.ImageSet) and not roots.has(s.ConditionSet):
            raise NoClosedFormError(
                f"stationary_points: there are infinitely many, {roots}. Give the interval to look in: between=(a, b){called_at()}"
            )
        raise NoClosedFormError(
            f"stationary_points: SymPy finds no closed form of the points where {slope} is zero{called_at()}"
        )
    found = [{x: root} for root in sorted(roots, key=lambda r: float(r))]
    return [p for p in found if _is_real(value, p) and _is_smooth(slope, x, p[x])]


def _in_space(value: Any, symbols: list[Any]) -> list[dict[Any, Any]]:
    s = sympy()
    slopes = [differentiated(value, x) for x in symbols]
    try:
        found = s.solve(slopes, symbols, dict=True)
    except NotImplementedError:
        raise NoClosedFormError(
            f"stationary_points: SymPy finds no closed form of the points where {slopes} are zero{called_at()}"
        ) from None
    if any(set(p) != set(symbols) or any(v.free_symbols for v in p.values()) for p in found):
        raise NoClosedFormError(f"stationary_points: they fill a curve or a surface: {found}{called_at()}")
    return [p for p in found if all(v.is_real is not False for v in p.values()) and _is_real(value, p)]


def _is_real(value: Any, point: dict[Any, Any]) -> bool:
    """Whether a function has a real value at a point: what solves an equation may lie outside of the function's domain."""
    there = value.subs(point)
    return bool(there.is_finite is not False and there.is_real is not False and abs(sympy().im(there.evalf())) < 1e-12)


def _is_smooth(slope: Any, x: Any, root: Any) -> bool:
    """Whether the derivative goes through zero: SymPy gives |x| the derivative 0 at 0, where it jumps."""
    s = sympy()
    if not slope.has(s.sign, s.Piecewise, s.Heaviside, s.Abs, s.floor, s.ceiling):
        return True
    near = [abs(complex(slope.subs(x, root + h).evalf())) for h in (s.Float("1e-9"), -s.Float("1e-9"))]
    return max(near) < 1e-4


def _described(value: Any, point: dict[Any, Any]) -> StationaryPoint:
    s = sympy()
    there = s.simplify(value.subs(point))
    bends = s.hessian(value, list(point)).subs(point)
    signs = [float(s.re(e.evalf())) for e in bends.evalf().eigenvals(multiple=True)]
    if any(abs(e) < 1e-12 for e in signs):
        kind = _along_the_line(value, *point.items()) if len(point) == 1 else "degenerate"
    else:
        kind = "minimum" if min(signs) > 0 else "maximum" if max(signs) < 0 else "saddle"
    at = next(iter(point.values())) if len(point) == 1 else {str(k): v for k, v in point.items()}
    return StationaryPoint(at, there, kind)


def _along_the_line(value: Any, item: tuple[Any, Any]) -> str:
    """The kind of a point of a function of one input, by the first derivative that is not zero."""
    x, root = item
    for order in range(3, 13):
        bend = value.diff(x, order).subs(x, root)
        if bend.is_zero is False or (bend.is_number and abs(complex(bend.evalf())) > 1e-12):
            if order % 2:
                return "inflexion"
            return "minimum" if float(bend.evalf()) > 0 else "maximum"
    return "degenerate"

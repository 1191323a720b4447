"""From a SymPy expression to a function of ours: readable source, one line for each common subexpression."""

from __future__ import annotations

import keyword
import linecache
import math
from collections.abc import Callable, Iterable, Sequence
from itertools import count
from typing import Any

from adjoint import ops
from adjoint.core.errors import ArgumentError, boundary, called_at
from adjoint.symbolic.op_formulas import sympy
from adjoint.symbolic.sympy_expressions import NoClosedFormError, expression

#: SymPy's functions that are ops of ours under another name, or the same.
FUNCTIONS = {
    "exp": "exp", "log": "log", "sin": "sin", "cos": "cos", "tan": "tan", "asin": "asin", "acos": "acos", "atan": "atan",
    "atan2": "atan2", "sinh": "sinh", "cosh": "cosh", "tanh": "tanh", "asinh": "asinh", "acosh": "acosh", "atanh": "atanh",
    "Abs": "abs", "sign": "sign", "floor": "floor", "ceiling": "ceil", "erf": "erf", "erfc": "erfc", "erfinv": "erfinv",
    "loggamma": "lgamma", "Mod": "mod", "And": "logical_and", "Or": "logical_or", "Not": "logical_not", "sinc": "sinc",
}  # fmt: skip
RELATIONS = {"Equality": "==", "Unequality": "!=", "StrictLessThan": "<", "LessThan": "<=", "StrictGreaterThan": ">", "GreaterThan": ">="}  # fmt: skip
FORMS = {
    "sec": "(1 / ops.cos({}))",
    "csc": "(1 / ops.sin({}))",
    "cot": "(1 / ops.tan({}))",
    "re": "{}",
    "conjugate": "{}",
}
_numbers = count()


@boundary
def from_sympy(expr: Any, symbols: Sequence[Any] | None = None, name: str = "f") -> Callable[..., Any]:
    """A function of ours that computes an expression of SymPy's: for numbers, arrays and Tensors, to differentiate and compile.

    Args:
        expr: an expression, a tuple or list of them (the function then returns a tuple), or a Matrix or Array (it returns a Tensor).
        symbols: the parameters in order; by default the symbols of the expression by their names.
        name: of the function.

    Its source, which `inspect.getsource` shows, computes common subexpressions once.

    >>> from adjoint import symbolic
    >>> import inspect, sympy
    >>> x = sympy.Symbol("x")
    >>> f = symbolic.from_sympy(sympy.sin(x**2) / x**2)
    >>> print(inspect.getsource(f))
    def f(x):
        t0 = x**2
        return ops.sin(t0) / t0
    <BLANKLINE>
    """
    s = sympy()
    if not isinstance(name, str) or not name.isidentifier() or keyword.iskeyword(name) or name == "ops":
        raise ArgumentError(f"from_sympy: {name!r} cannot be the name of a function{called_at()}")
    several = isinstance(expr, (tuple, list))
    found = [expression(e).value for e in (expr if several else [expr])]
    free = set().union(*(e.free_symbols for e in found)) if found else set()
    given = sorted(free, key=str) if symbols is None else [s.sympify(x) for x in _listed(symbols)]
    if twice := sorted({str(x) for x in given if given.count(x) > 1}):
        raise ArgumentError(f"from_sympy: `symbols` names {', '.join(twice)} twice{called_at()}")
    missing = sorted(str(x) for x in free - set(given))
    if missing:
        alike = {str(x) for x in given} & set(missing)
        why = " (a symbol of that name with other assumptions is another symbol)" if alike else ""
        raise ArgumentError(f"from_sympy: {', '.join(missing)} is no parameter{why}: name it in `symbols`{called_at()}")
    source = _Writer(given, free).function(name, found, several)
    return _compiled(source, name)


def _listed(symbols: Any) -> Iterable[Any]:
    return symbols if isinstance(symbols, (tuple, list)) else (symbols,)


def _compiled(source: str, name: str) -> Callable[..., Any]:
    filename = f"<formula {next(_numbers)} of adjoint.symbolic>"
    linecache.cache[filename] = (len(source), None, source.splitlines(True), filename)  # so that its source can be read
    namespace: dict[str, Any] = {"ops": ops, "__name__": "formula"}
    exec(compile(source, filename, "exec"), namespace)
    return namespace[name]  # type: ignore[no-any-return]


class _Writer:
    """Writes expressions as Python."""

    def __init__(self, parameters: Sequence[Any], free: set[Any]) -> None:
        self.names: dict[Any, str] = {}
        taken = {"ops"}
        for k, symbol in enumerate([*parameters, *sorted(free - set(parameters), key=str)]):
            text = str(symbol)
            good = text.isidentifier() and not keyword.iskeyword(text) and text not in taken
            self.names[symbol] = text if good else f"x{k}_"
            taken.add(self.names[symbol])
        self.parameters = [self.names[p] for p in parameters]
        self.taken = taken

    def function(self, name: str, found: Sequence[Any], several: bool) -> str:
        s = sympy()
        flat = [e for value in found for e in (list(value) if hasattr(value, "shape") else [value])]
        steps, reduced = s.cse(flat, symbols=(s.Dummy() for _ in count()))
        lines, names = [], (f"t{k}" for k in count())
        for symbol, value in steps:
            text = self.text(value)
            self.names[symbol] = next(n for n in names if n not in self.taken)
            lines.append(f"    {self.names[symbol]} = {text}\n")
        rest = iter([self.text(e) for e in reduced])
        results = [self._result(value, rest) for value in found]
        out = f"({', '.join(results)}{',' if len(results) == 1 else ''})" if several else results[0]
        return f"def {name}({', '.join(self.parameters)}):\n{''.join(lines)}    return {out}\n"

    def _result(self, value: Any, rest: Any) -> str:
        if not hasattr(value, "shape"):
            return next(rest)  # type: ignore[no-any-return]
        parts = ", ".join(next(rest) for _ in range(len(list(value))))
        return f"ops.array([{parts}]).reshape({tuple(int(n) for n in value.shape)})"

    def text(self, e: Any, tight: int = 0) -> str:
        """An expression as Python; in brackets where what is around it binds more tightly (0 sums, 1 products, 2 powers)."""
        text, own = self._written(e)
        return f"({text})" if own < tight else text

    def _written(self, e: Any) -> tuple[str, int]:
        s = sympy()
        if e in self.names:
            return self.names[e], 3
        if e is s.true or e is s.false:
            return str(bool(e)), 3
        if e.is_Number or e.is_NumberSymbol:
            return self._number(e)
        if e.is_Add:
            return self._sum(e), 0
        if e.is_Mul:
            return self._product(e)
        if e.is_Pow:
            return self._power(e.base, e.exp)
        return self._function(e), 3

    def _number(self, e: Any) -> tuple[str, int]:
        s = sympy()
        if e.is_Integer and abs(int(e)) < 2**53:
            return str(int(e)), 3 if e >= 0 else 0
        if e.is_Rational and abs(e.p) < 2**53 and e.q < 2**53:
            return f"{e.p} / {e.q}", 1 if e >= 0 else 0
        if e in (s.oo, -s.oo, s.nan):
            return f"float('{float(e)}')", 3
        if not e.is_real:
            raise NoClosedFormError(f"from_sympy: {e} is no real number{called_at()}")
        value = float(e)
        if math.isinf(value):
            raise NoClosedFormError(f"from_sympy: a number above 1e308 is too large for a float{called_at()}")
        return repr(value), 3 if e >= 0 else 0

    def _sum(self, e: Any) -> str:
        text = ""
        for term in e.as_ordered_terms():
            factor = term.as_coeff_Mul()[0]
            down = bool(factor.is_negative) and bool(text)
            part = self.text(-term if down else term, 1 if down else 0)
            text = f"{text} {'-' if down else '+'} {part}" if text else part
        return text

    def _product(self, e: Any) -> tuple[str, int]:
        s = sympy()
        factor, rest = e.as_coeff_Mul()
        over: list[str] = []
        under: list[str] = []
        for part in s.Mul.make_args(rest):
            base, power = part.as_base_exp()
            if not part.is_Function and power.is_Rational and power.is_negative:
                under.append(self.text(base**-power, 2))
            else:
                over.append(self.text(part, 1 if not over else 2))
        if factor.is_Rational and factor.q != 1 and factor.p in (1, -1) and not under:
            under, factor = [str(factor.q)], s.Integer(factor.p)
        sign = "-" if factor.is_negative else ""
        if abs(factor) != 1 or not over:
            over.insert(0, self.text(abs(factor), 1))
        text = sign + " * ".join(over)
        if under:
            text += f" / {under[0]}" if len(under) == 1 else f" / ({' * '.join(under)})"
        return text, 0 if sign else 1

    def _power(self, base: Any, power: Any) -> tuple[str, int]:
        if power == sympy().Rational(1, 2):
            return f"ops.sqrt({self.text(base)})", 3
        if power.is_Rational and power.is_negative:
            return f"1 / {self.text(base**-power, 2)}", 1
        if power.is_Integer:
            return f"{self.text(base, 3)}**{int(power)}", 2
        return f"ops.pow({self.text(base)}, {self.text(power)})", 3

    def _function(self, e: Any) -> str:
        kind = type(e).__name__
        args = [self.text(a) for a in e.args if kind not in ("Piecewise",)]
        if kind in RELATIONS:
            return f"({args[0]} {RELATIONS[kind]} {args[1]})"
        if kind == "Piecewise":
            return self._pieces(e)
        if kind in ("Max", "Min", "And", "Or"):
            name = {"Max": "maximum", "Min": "minimum", "And": "logical_and", "Or": "logical_or"}[kind]
            text = args[0]
            for arg in args[1:]:
                text = f"ops.{name}({text}, {arg})"
            return text
        if kind == "Heaviside":
            return f"ops.where({args[0]} > 0, 1.0, ops.where({args[0]} < 0, 0.0, {args[1]}))"
        if kind == "polygamma" and e.args[0].is_Integer:
            return f"ops.polygamma({int(e.args[0])}, {args[1]})"
        if kind in ("besselj", "bessely", "besseli", "besselk") and e.args[0].is_Integer:
            return f"ops.bessel_{kind[-1]}({int(e.args[0])}, {args[1]})"
        if kind in FORMS and len(args) == 1:
            return FORMS[kind].format(args[0])
        if kind in FUNCTIONS:
            return f"ops.{FUNCTIONS[kind]}({', '.join(args)})"
        raise NoClosedFormError(f"from_sympy: {kind} has no op of ours: {e}{called_at()}")

    def _pieces(self, e: Any) -> str:
        text = "float('nan')"
        for value, condition in reversed(e.args):
            text = (
                self.text(value)
                if condition == sympy().true
                else f"ops.where({self.text(condition)}, {self.text(value)}, {text})"
            )
        return text

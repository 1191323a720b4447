"""Formulas in the notation of mathematics: as plain text, as HTML and as LaTeX."""

from __future__ import annotations

import ast
import html
import unicodedata
from collections.abc import Callable
from typing import Any

import numpy as np

SUBSCRIPTS = str.maketrans("-0123456789", "₋₀₁₂₃₄₅₆₇₈₉")
SUPERSCRIPTS = str.maketrans("-0123456789", "⁻⁰¹²³⁴⁵⁶⁷⁸⁹")

#: What functions are called in formulas, where it is not what NumPy calls them.
CALLED = {
    "log": "ln", "arcsin": "arcsin", "maximum": "max", "minimum": "min", "broadcast_to": "broadcast", "expit": "σ",
    "concatenate": "concat", "gammaln": "lnΓ", "linalg.inv": "inv", "linalg.det": "det", "linalg.solve": "solve",
}  # fmt: skip
LATEX_NAMES = {
    "sin",
    "cos",
    "tan",
    "sinh",
    "cosh",
    "tanh",
    "ln",
    "exp",
    "max",
    "min",
    "arcsin",
    "arccos",
    "arctan",
    "det",
}

#: Keywords that formulas leave out: always, and where every number in them is 0 or 1.
UNSAID = ("optimize", "norm", "stable")
USUAL = {(name, "") for name in ("stride", "dilation", "padding", "groups")}

_ATOM, _POWER, _SIGN, _PRODUCT, _SUM, _COMPARED = 6, 5, 4, 3, 2, 1
_BINARY: dict[type, tuple[str, int]] = {
    ast.Add: ("+", _SUM), ast.Sub: ("-", _SUM), ast.Mult: ("*", _PRODUCT), ast.Div: ("/", _PRODUCT),
    ast.MatMult: ("@", _PRODUCT), ast.FloorDiv: ("//", _PRODUCT), ast.Mod: ("%", _PRODUCT),
    ast.BitAnd: ("&", _COMPARED), ast.BitOr: ("|", _COMPARED), ast.BitXor: ("^", _COMPARED),
    ast.LShift: ("<<", _COMPARED), ast.RShift: (">>", _COMPARED),
}  # fmt: skip
_RELATIONS = {ast.Lt: "<", ast.LtE: "≤", ast.Gt: ">", ast.GtE: "≥", ast.Eq: "==", ast.NotEq: "≠"}


class Notation:
    """Plain text, in Unicode."""

    times, minus, relations = " × ", "-", dict(_RELATIONS)
    chains = False  # whether adjoints are written by the chain rule first

    def __init__(self, constant: Callable[[int], str] = lambda k: f"c{k}") -> None:
        self.constant = constant

    # ------------------------------------------------------------ parts that differ

    def name(self, kind: str, index: int) -> str:
        """The name of a value (V), of its adjoint (G) or of its tangent (T)."""
        return self.named("v", kind) + str(index).translate(SUBSCRIPTS)

    def named(self, symbol: str, kind: str) -> str:
        """A variable, its adjoint or its tangent."""
        first = next((k for k, c in enumerate(symbol) if c.isalpha()), 0) + 1
        mark = {"V": "", "G": "\u0304", "T": "\u0307"}[kind]
        return unicodedata.normalize("NFC", symbol[:first] + mark) + symbol[first:]

    def text(self, text: str) -> str:
        """Words as they are."""
        return text

    def over(self, a: str, b: str) -> str:
        """A quotient; the parts are in parentheses where it needs them."""
        return f"{a} / {b}"

    def power(self, base: str, exponent: str) -> str:
        plain = exponent.lstrip("-").isdigit()
        return base + (exponent.translate(SUPERSCRIPTS) if plain else f"^{exponent}")

    def root(self, x: str, atom: bool) -> str:
        return f"√{x}" if atom else f"√({x})"

    def function(self, name: str) -> str:
        return name

    def partial(self, y: str, x: str) -> str:
        """∂y/∂x"""
        return f"∂{y}/∂{x}"

    # ------------------------------------------------------------ trees

    def formula(self, tree: ast.expr) -> str:
        """A formula as text.

        >>> from adjoint.core.parsing import parsed
        >>> Notation().formula(parsed("G_1 * np.cos(V_0) / (V_2 + 1.0)", mode="eval").body)
        'v̄₁ × cos v₀ / (v₂ + 1)'
        """
        return self._at(tree)[0]

    def _within(self, tree: ast.expr, least: int) -> str:
        text, level = self._at(tree)
        return text if level >= least else f"({text})"

    def _at(self, tree: ast.expr) -> tuple[str, int]:
        """The text of a tree, and how tightly it binds."""
        match tree:
            case ast.Name(name):
                return self._name(name), _ATOM
            case ast.Constant(value):
                return self.text(shown_number(value) if isinstance(value, (int, float)) else str(value)), _ATOM
            case ast.UnaryOp(ast.USub(), operand):
                return self.minus + self._within(operand, _POWER), _SIGN
            case ast.UnaryOp(ast.Invert(), operand):
                return self.text("not ") + self._within(operand, _SIGN), _SIGN
            case ast.BinOp(a, operator, b):
                return self._binary(a, operator, b)
            case ast.Compare(a, [relation], [b]):
                sign = self.relations[type(relation)]
                return f"{self._within(a, _SUM)} {sign} {self._within(b, _SUM)}", _COMPARED
            case ast.Call(function, args, keywords):
                return self._call(function, args, keywords)
            case ast.Subscript(ast.Attribute(ast.Name("np"), "index_exp"), index):
                return f"[{self._index(index)}]", _ATOM
            case ast.Subscript(value, index):
                return f"{self._within(value, _ATOM)}[{self._index(index)}]", _ATOM
            case ast.Attribute(ast.Name("np"), name):
                return self.text({"inf": "∞", "nan": "NaN"}.get(name, name)), _ATOM
            case ast.Attribute(value, "T"):
                return self._transposed(self._within(value, _ATOM)), _ATOM
        return self.text(ast.unparse(tree)), _ATOM

    def _transposed(self, x: str) -> str:
        return x + "ᵀ"

    def _name(self, name: str) -> str:
        kind, _, index = name.partition("_")
        if kind in "VGT" and index.lstrip("m").isdigit():
            return self.name(kind, int(index.replace("m", "-")))
        return self.text(self.constant(int(index)) if kind == "K" and index.isdigit() else name)

    def _binary(self, a: ast.expr, operator: ast.operator, b: ast.expr) -> tuple[str, int]:
        if isinstance(operator, ast.Pow):
            return self.power(self._within(a, _ATOM), self._within(b, _ATOM)), _POWER
        sign, level = _BINARY[type(operator)]
        match operator, b:
            case ast.Mult(), ast.BinOp(ast.Constant(one), ast.Div(), below) if one == 1:
                return self._binary(a, ast.Div(), below)
            case ast.Add(), ast.UnaryOp(ast.USub(), negated):
                return self._binary(a, ast.Sub(), negated)
        tight = level == _COMPARED
        left, right = self._within(a, level + tight), self._within(b, level + (sign not in "+*"))
        if sign == "/":
            return self.over(left, right), level
        joint = {"*": self.times, "-": f" {self.minus} ", "@": " @ "}.get(sign, f" {self.text(sign)} ")
        if right.startswith(self.minus) and sign in "+-*":
            right = f"({right})"
        return f"{left}{joint}{right}", level

    def _index(self, tree: ast.expr) -> str:
        if isinstance(tree, ast.Tuple):
            return ", ".join(self._index(e) for e in tree.elts)
        if isinstance(tree, ast.Constant):
            return "..." if tree.value is Ellipsis else str(tree.value)
        return self.text(ast.unparse(tree)) if isinstance(tree, ast.Slice) else self.formula(tree)

    def _call(self, function: ast.expr, args: list[ast.expr], keywords: list[ast.keyword]) -> tuple[str, int]:
        called = ast.unparse(function)
        if called == "partial":
            return self.partial(*map(self.formula, args)), _ATOM
        if called in ("np.float64", "np.float32", "np.float16") and isinstance(args[0], ast.Compare):
            return f"[{self.formula(args[0])}]", _ATOM  # 1 where it holds, else 0
        if isinstance(function, ast.Attribute) and function.attr == "astype":
            return self._call(args[0], [function.value], [])
        name = called.removeprefix("np.").removeprefix("scipy.special.").removeprefix("scipy.")
        if name in ("masked_mul", "power") and len(args) == 2:
            return self._binary(args[0], ast.Mult() if name == "masked_mul" else ast.Pow(), args[1])
        if name == "sqrt":
            text, level = self._at(args[0])
            return self.root(text, level == _ATOM), _POWER
        if name in ("abs", "absolute"):
            return f"|{self.formula(args[0])}|", _ATOM
        name = self.function(CALLED.get(name, name))
        if len(args) == 1 and not keywords:
            text, level = self._at(args[0])
            plain = level == _ATOM and isinstance(args[0], (ast.Name, ast.Constant))
            return (f"{name} {text}", _SIGN) if plain else (f"{name}({text})", _ATOM)
        said = [
            k for k in keywords if (k.arg, ast.unparse(k.value).strip("(),01 ")) not in USUAL and k.arg not in UNSAID
        ]
        given = [self._argument(a) for a in args]
        given += [self.text(f"{k.arg}=") + self._argument(k.value) for k in said]
        return f"{name}({', '.join(given)})", _ATOM

    def _argument(self, tree: ast.expr) -> str:
        if isinstance(tree, (ast.Tuple, ast.List)):
            inner = ", ".join(self._argument(e) for e in tree.elts)
            comma = "," if isinstance(tree, ast.Tuple) and len(tree.elts) == 1 else ""
            return f"({inner}{comma})" if isinstance(tree, ast.Tuple) else f"[{inner}]"
        return self.formula(tree)


class Html(Notation):
    """HTML, with real subscripts; what is not a letter of ours is escaped."""

    relations = {k: html.escape(v) for k, v in _RELATIONS.items()}
    minus, chains = "−", True

    def name(self, kind: str, index: int) -> str:
        return f"{self.named('v', kind)}<sub>{str(index).replace('-', '−')}</sub>"

    def named(self, symbol: str, kind: str) -> str:
        shown = html.escape(super().named(symbol, kind if kind == "T" else "V"))
        return f"<i class='bar'>{shown}</i>" if kind == "G" else f"<i>{shown}</i>"

    def text(self, text: str) -> str:
        return html.escape(text)

    def power(self, base: str, exponent: str) -> str:
        return f"{base}<sup>{exponent}</sup>"

    def _transposed(self, x: str) -> str:
        return f"{x}<sup>T</sup>"


class Latex(Notation):
    """LaTeX."""

    times, chains = r" \times ", True
    relations = {ast.Lt: "<", ast.LtE: r"\leq", ast.Gt: ">", ast.GtE: r"\geq", ast.Eq: "==", ast.NotEq: r"\neq"}

    def name(self, kind: str, index: int) -> str:
        return {"V": "v", "G": r"\bar{v}", "T": r"\dot{v}"}[kind] + f"_{{{index}}}"

    def named(self, symbol: str, kind: str) -> str:
        stem = symbol.rstrip("0123456789")
        number = symbol[len(stem) :]
        inner = escaped(stem) if len(stem) == 1 else rf"\mathrm{{{escaped(stem or symbol)}}}"
        marked = {"V": inner, "G": rf"\bar{{{inner}}}", "T": rf"\dot{{{inner}}}"}[kind]
        return f"{marked}_{{{number}}}" if stem and number else marked

    def text(self, text: str) -> str:
        if text in ("∞", "NaN"):
            return r"\infty" if text == "∞" else r"\mathrm{NaN}"
        number, exponent, power = text.partition("e")
        if exponent and power.lstrip("+-").isdigit():
            return rf"{number} \cdot 10^{{{int(power)}}}"
        return text if not any(c.isalpha() or c in "%&_#$^~{}\\[" for c in text) else rf"\text{{{escaped(text)}}}"

    def over(self, a: str, b: str) -> str:
        return rf"\frac{{{_bare(a)}}}{{{_bare(b)}}}"

    def power(self, base: str, exponent: str) -> str:
        return f"{base}^{{{exponent}}}"

    def root(self, x: str, atom: bool) -> str:
        return rf"\sqrt{{{x}}}"

    def function(self, name: str) -> str:
        if name == "σ":
            return r"\sigma"
        return f"\\{name}" if name in LATEX_NAMES else rf"\operatorname{{{escaped(name)}}}"

    def partial(self, y: str, x: str) -> str:
        return rf"\frac{{\partial {y}}}{{\partial {x}}}"

    def _transposed(self, x: str) -> str:
        return f"{x}^{{T}}"


def _bare(text: str) -> str:
    """A numerator or denominator without the parentheses that a fraction bar makes needless."""
    if not (text.startswith("(") and text.endswith(")")):
        return text
    depth = 0
    for k, c in enumerate(text):
        depth += (c == "(") - (c == ")")
        if depth == 0 and k < len(text) - 1:
            return text
    return text[1:-1]


def escaped(text: str) -> str:
    """Text with what is special to LaTeX made plain."""
    table = {"\\": r"\textbackslash{}", "^": r"\^{}", "~": r"\~{}", **{c: "\\" + c for c in "_%&#${}"}}
    return "".join(table.get(c, c) for c in text)


def shown_number(value: Any) -> str:
    """A number with four digits.

    >>> shown_number(0.6931471805599453), shown_number(5.0), shown_number(1e-12), shown_number(True)
    ('0.6931', '5', '1e-12', 'True')
    """
    if isinstance(value, (bool, np.bool_)):
        return str(bool(value))
    if isinstance(value, (complex, np.complexfloating)):
        return f"{value.real:.4g}{value.imag:+.4g}j"
    if isinstance(value, (int, np.integer)):
        return str(int(value))
    text = f"{float(value):.4g}" if abs(value) < 1000 or abs(value) >= 1e6 else f"{float(value):.7g}"
    return text.replace("inf", "∞").replace("nan", "NaN") if not np.isfinite(value) else text


def shown_value(value: Any, most: int = 4) -> str:
    """An array by its shape and a few of its elements.

    >>> shown_value(np.array([1.0, 2.5])), shown_value(np.arange(12.0).reshape(3, 4))
    ('[1, 2.5]', '3×4 [0, 1, …, 11]')
    """
    array = np.asarray(value)
    if array.ndim == 0:
        return shown_number(array[()])
    flat = [shown_number(v) for v in (array.ravel() if array.size <= most else array.ravel()[[0, 1, -1]])]
    body = ", ".join(flat if array.size <= most else [*flat[:2], "…", flat[2]])
    return f"[{body}]" if array.ndim == 1 and array.size <= most else f"{'×'.join(map(str, array.shape))} [{body}]"

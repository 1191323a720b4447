"""What elementwise ops become in ONNX."""

from __future__ import annotations

import math

import numpy as np

from adjoint.deploy.onnx_writer import CardCall, Rule, boolean
from adjoint.graph.node import Const

int32 = np.dtype(np.int32)


def same(kind: str, truth: str | None = None, kinds: str = "fiu") -> Rule:
    """The op of this name on inputs in the result's dtype; another one for truth values."""

    def rule(c: CardCall) -> str:
        if c.dtype.kind == "b" and truth is not None:
            return str(c.add(truth, *c.all()))
        if c.dtype.kind not in kinds:
            raise c.refuse(f"{kind} is not for {c.dtype}")
        return str(c.add(kind, *c.all()))

    return rule


def rounding(kind: str) -> Rule:
    """Rounding; integers are what they are."""
    return lambda c: c.add(kind, *c.all()) if c.dtype.kind == "f" else c.x(0, c.dtype)


def comparison(kind: str, negated: bool = False) -> Rule:
    """A comparison in the dtype that both inputs have room in."""

    def rule(c: CardCall) -> str:
        numbers = [np.asarray(n.op.value) if isinstance(n.op, Const) else n for n in c.node.inputs]
        weak = [type(n.op.value) if isinstance(n.op, Const) else None for n in c.node.inputs]
        dtypes = [x.dtype for x in numbers]
        if any(w in (int, float, bool) for w in weak):
            plain = [
                n.op.value if w in (int, float, bool) else np.zeros((), d)
                for n, w, d in zip(c.node.inputs, weak, dtypes)
            ]
            common = np.result_type(*plain)
        else:
            common = np.result_type(*dtypes)
        if {d.kind for d in dtypes} >= {"i", "u"}:
            raise c.refuse("signed and unsigned integers are compared by value in NumPy")
        common = int32 if common == boolean and kind != "Equal" else common
        found = c.add(kind, *c.all(common))
        return str(c.add("Not", found) if negated else found)

    return rule


def power(c: CardCall) -> str:
    """Powers of floats; of integers those with a constant exponent, which are products."""
    if c.dtype.kind == "f":
        return str(c.add("Pow", *c.all()))
    exponent = c.node.inputs[1].op
    value = np.asarray(exponent.value) if isinstance(exponent, Const) else np.array(-1)
    if value.shape or not 0 <= int(value) <= 64 or c.dtype.kind == "b":
        raise c.refuse("a power of integers is exact there only with a constant exponent from 0 to 64")
    base, found = c.x(0, c.dtype), None
    for bit in bin(int(value))[2:] if value else "":
        found = None if found is None else str(c.add("Mul", found, found))
        found = (base if found is None else str(c.add("Mul", found, base))) if bit == "1" else found
    return found or str(c.add("Expand", c.number(1), c.ints(*c.spec.shape)))


def masked_product(c: CardCall) -> str:
    x, y = c.all()
    zero = c.number(0)
    none = c.add("Or", c.add("Equal", x, zero), c.add("Equal", y, zero))
    return c.where(none, zero, c.add("Mul", x, y))


def remainder(c: CardCall, x: str, y: str) -> tuple[str, str]:
    """C's remainder of floats, and where it has another sign than the divisor."""
    rest, zero = c.add("Mod", x, y, fmod=1), c.number(0)
    other_sign = c.add("Xor", c.add("Less", rest, zero), c.add("Less", y, zero))
    some = c.add("Not", c.add("Equal", rest, zero))
    return rest, c.add("And", some, other_sign)


def mod(c: CardCall) -> str:
    x, y = c.all()
    if c.dtype.kind == "f":
        rest, wrong = remainder(c, x, y)
        return c.where(wrong, c.add("Add", rest, y), rest)
    safe, zero = safe_divisor(c, y), c.number(0)
    return c.where(c.add("Equal", y, zero), zero, c.add("Mod", x, safe))


def safe_divisor(c: CardCall, y: str) -> str:
    """The divisor with 1 in place of 0, by which processors do not divide."""
    return c.where(c.add("Equal", y, c.number(0)), c.number(1), y)


def floor_division(c: CardCall) -> str:
    x, y = c.all()
    zero, one = c.number(0), c.number(1)
    if c.dtype.kind == "f":
        rest, wrong = remainder(c, x, y)
        exact = c.add("Div", c.add("Sub", x, rest), y)
        exact = c.where(wrong, c.add("Sub", exact, one), exact)
        whole = c.add("Floor", exact)
        up = c.add("Greater", c.add("Sub", exact, whole), c.number(0.5))
        return c.where(c.add("Equal", y, zero), c.add("Div", x, y), c.where(up, c.add("Add", whole, one), whole))
    if c.dtype.kind != "i":
        raise c.refuse(f"it is not written for {c.dtype}")
    minus = c.add("Equal", y, c.number(-1))
    divisor = c.where(minus, one, safe_divisor(c, y))
    quotient = c.add("Div", x, divisor)
    rest = c.add("Sub", x, c.add("Mul", quotient, divisor))
    down = c.add("Xor", c.add("Less", rest, zero), c.add("Less", divisor, zero))
    down = c.add("And", c.add("Not", c.add("Equal", rest, zero)), down)
    quotient = c.where(down, c.add("Sub", quotient, one), quotient)
    quotient = c.where(minus, c.add("Neg", x), quotient)
    return c.where(c.add("Equal", y, zero), zero, quotient)


# ---------------------------------------------------------------- functions that ONNX lacks


def expm1(c: CardCall) -> str:
    """tanh(x / 2) (exp(x) + 1), which is accurate near 0 too."""
    (x,) = c.all()
    return str(c.add("Mul", c.add("Tanh", c.add("Mul", x, c.number(0.5))), c.add("Add", c.add("Exp", x), c.number(1))))


def log1p_of(c: CardCall, x: str) -> str:
    """The logarithm of u = 1 + x, times x / (u - 1) for small x: what rounding 1 + x lost comes back."""
    one = c.number(1)
    u = c.add("Add", one, x)
    log, rounded = c.add("Log", u), c.add("Sub", u, one)
    mended = c.where(c.add("Equal", rounded, c.number(0)), x, c.add("Div", c.add("Mul", log, x), rounded))
    return c.where(c.add("Less", c.add("Abs", x), one), mended, log)


def softplus_of(c: CardCall, x: str) -> str:
    falling = log1p_of(c, c.add("Exp", c.add("Neg", c.add("Abs", x))))
    return str(c.add("Add", c.add("Max", x, c.number(0)), falling))


def log_add_exp(c: CardCall) -> str:
    x, y = c.all()
    apart = c.add("Abs", c.add("Sub", x, y))
    found = c.add("Add", c.add("Max", x, y), log1p_of(c, c.add("Exp", c.add("Neg", apart))))
    return c.where(c.add("Equal", x, y), c.add("Add", x, c.number(math.log(2.0))), found)


def logarithm(base: float) -> Rule:
    return lambda c: c.add("Mul", c.add("Log", c.all()[0]), c.number(1.0 / math.log(base)))


def cbrt(c: CardCall) -> str:
    (x,) = c.all()
    root = c.add("Pow", c.add("Abs", x), c.number(1.0 / 3.0))
    return c.where(c.add("Less", x, c.number(0)), c.add("Neg", root), root)


def trunc(c: CardCall) -> str:
    x = c.x(0, c.dtype)
    if c.dtype.kind != "f":
        return x
    return c.where(c.add("Less", x, c.number(0)), c.add("Ceil", x), c.add("Floor", x))


def is_finite(c: CardCall) -> str:
    if c.specs[0].dtype.kind != "f":
        return str(c.add("Equal", c.x(), c.x()))
    return str(c.add("Not", c.add("Or", c.add("IsInf", c.x()), c.add("IsNaN", c.x()))))


def is_nan(c: CardCall) -> str:
    if c.specs[0].dtype.kind != "f":
        return str(c.add("Not", c.add("Equal", c.x(), c.x())))
    return str(c.add("IsNaN", c.x()))


def relu(c: CardCall) -> str:
    return str(c.add("Relu", *c.all()) if c.dtype.kind == "f" else c.add("Max", *c.all(), c.number(0)))


def bce_with_logits(c: CardCall) -> str:
    x, label, weight, positive = c.all()
    off = c.add("Mul", c.add("Sub", c.number(1), label), softplus_of(c, x))
    on = c.add("Mul", c.add("Mul", positive, label), softplus_of(c, c.add("Neg", x)))
    return str(c.add("Mul", weight, c.add("Add", off, on)))


def imaginary(c: CardCall) -> str:
    return str(c.add("Expand", c.number(0), c.ints(*c.spec.shape)))


def choice(c: CardCall) -> str:
    test, yes, no = c.x(0, boolean), c.x(1, c.dtype), c.x(2, c.dtype)
    if c.dtype != boolean:
        return c.where(test, yes, no)
    return str(c.add("Or", c.add("And", test, yes), c.add("And", c.add("Not", test), no)))


def first(c: CardCall) -> str:
    """The first input, in the result's dtype."""
    return c.x(0, c.dtype)


RULES: dict[str, Rule] = {
    "Add": same("Add", "Or"),
    "Sub": same("Sub"),
    "Mul": same("Mul", "And"),
    "MaskedMul": masked_product,
    "Div": same("Div", kinds="f"),
    "Pow": power,
    "FloorDiv": floor_division,
    "Mod": mod,
    "Neg": same("Neg", kinds="fi"),
    "Abs": same("Abs"),
    "Sign": same("Sign"),
    "BitwiseAnd": same("BitwiseAnd", "And", "iu"),
    "BitwiseOr": same("BitwiseOr", "Or", "iu"),
    "BitwiseXor": same("BitwiseXor", "Xor", "iu"),
    "BitwiseNot": same("BitwiseNot", "Not", "iu"),
    "Cast": first,
    "StopGradient": first,
    "Undifferentiated": first,
    "After": first,
    "Real": first,
    "Conj": first,
    "Imag": imaginary,
    "Less": comparison("Less"),
    "LessEqual": comparison("LessOrEqual"),
    "Greater": comparison("Greater"),
    "GreaterEqual": comparison("GreaterOrEqual"),
    "Equal": comparison("Equal"),
    "NotEqual": comparison("Equal", negated=True),
    "IsFinite": is_finite,
    "IsNan": is_nan,
    "Floor": rounding("Floor"),
    "Ceil": rounding("Ceil"),
    "Round": rounding("Round"),
    "Trunc": trunc,
    "Maximum": same("Max", "Or"),
    "Minimum": same("Min", "And"),
    "Where": choice,
    "Expm1": expm1,
    "Log1p": lambda c: log1p_of(c, c.all()[0]),
    "Log2": logarithm(2.0),
    "Log10": logarithm(10.0),
    "Cbrt": cbrt,
    "LogAddExp": log_add_exp,
    "Softplus": lambda c: softplus_of(c, c.all()[0]),
    "Relu": relu,
    "BCEWithLogits": bce_with_logits,
} | {
    name: same(name, kinds="f")
    for name in "Exp Log Sqrt Sigmoid Erf Sin Cos Tan Asin Acos Atan Sinh Cosh Tanh Asinh Acosh Atanh".split()  # noqa: SIM905
}

"""Primitives: arithmetic, comparisons, logic and elementary functions."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from adjoint import ops
from adjoint.mindspore.absent import elsewhere as _elsewhere
from adjoint.mindspore.ops import math_functions as _f
from adjoint.mindspore.ops.primitive import primitive
from adjoint.mindspore.ops.promotion import in_float, promoted, tensor


def plain(name: str, function: Callable[..., Any]) -> Any:
    """A primitive without attributes that is a function."""
    return primitive(name, lambda self, *inputs: function(*inputs))


#: Primitives without attributes, by the functions that they are.
FUNCTIONS = {
    "Add": "add", "TensorAdd": "add", "Sub": "sub", "Mul": "mul", "Div": "div", "RealDiv": "real_div",
    "DivNoNan": "div_no_nan", "MulNoNan": "mul_no_nan", "FloorDiv": "floor_div", "FloorMod": "floor_mod",
    "Mod": "fmod", "TruncateDiv": "truncate_div", "TruncateMod": "truncate_mod", "Pow": "pow",
    "Maximum": "maximum", "Minimum": "minimum", "Fmax": "fmax", "Fmin": "fmin",
    "SquaredDifference": "squared_difference", "Xlogy": "xlogy", "Xdivy": "xdivy", "Hypot": "hypot",
    "Heaviside": "heaviside", "Atan2": "atan2", "Lerp": "lerp", "LerpScalar": "lerp", "Addcmul": "addcmul",
    "Addcdiv": "addcdiv", "AddN": "addn", "AccumulateNV2": "addn", "Equal": "equal", "NotEqual": "not_equal",
    "Less": "less", "LessEqual": "less_equal", "Greater": "greater", "GreaterEqual": "greater_equal",
    "LogicalAnd": "logical_and", "LogicalOr": "logical_or", "LogicalXor": "logical_xor",
    "LogicalNot": "logical_not", "BitwiseAnd": "bitwise_and", "BitwiseOr": "bitwise_or",
    "BitwiseXor": "bitwise_xor", "LeftShift": "bitwise_left_shift", "RightShift": "bitwise_right_shift",
    "Invert": "invert", "IsFinite": "isfinite", "IsInf": "isinf", "IsNan": "isnan", "Abs": "abs", "Neg": "neg",
    "Sign": "sign", "Square": "square", "Conj": "conj", "Real": "real", "Imag": "imag", "Sqrt": "sqrt",
    "Rsqrt": "rsqrt", "Reciprocal": "reciprocal", "Inv": "inv", "Exp": "exp", "Expm1": "expm1", "Log": "log",
    "Log1p": "log1p", "Sin": "sin", "Cos": "cos", "Tan": "tan", "Sinh": "sinh", "Cosh": "cosh", "Tanh": "tanh",
    "Asin": "asin", "ACos": "acos", "Atan": "atan", "Asinh": "asinh", "Acosh": "acosh", "Atanh": "atanh",
    "Erf": "erf", "Erfc": "erfc", "Erfinv": "erfinv", "Floor": "floor", "Ceil": "ceil", "Trunc": "trunc",
    "Rint": "round", "Sigmoid": "sigmoid", "Sinc": "sinc", "Lgamma": "lgamma", "Digamma": "digamma",
    "ComplexAbs": "abs",
}  # fmt: skip
globals().update({name: plain(name, getattr(_f, function)) for name, function in FUNCTIONS.items()})

Round = primitive("Round", lambda self, x, decimals=0: _f.round(x, decimals=decimals))
Complex = plain("Complex", lambda real, imag: ops.complex(*promoted(in_float(real), imag)))
Angle = plain("Angle", lambda x: ops.angle(tensor(x)))
Polar = plain("Polar", lambda abs, angle: ops.polar(tensor(abs), tensor(angle)))
ApproximateEqual = primitive(
    "ApproximateEqual", lambda self, x, y: _f.approximate_equal(x, y, self.tolerance), tolerance=1e-5
)
IsClose = primitive(
    "IsClose",
    lambda self, x, y: _f.isclose(x, y, self.rtol, self.atol, self.equal_nan),
    rtol=1e-5,
    atol=1e-8,
    equal_nan=False,
)
Logit = primitive("Logit", lambda self, x: _f.logit(x, self.eps), eps=-1.0)
NanToNum = primitive(
    "NanToNum", lambda self, x: _f.nan_to_num(x, self.nan, self.posinf, self.neginf), nan=None, posinf=None, neginf=None
)
EqualCount = plain("EqualCount", lambda x, y: ops.cast(ops.reshape(ops.sum(ops.equal(x, y)), (1,)), x.dtype))
SquareSumAll = plain("SquareSumAll", lambda x, y: (ops.sum(ops.square(x)), ops.sum(ops.square(y))))
L2Loss = plain("L2Loss", lambda x: ops.sum(ops.square(x)) / 2)
L2Normalize = primitive(
    "L2Normalize",
    lambda self, x: x / ops.sqrt(ops.maximum(ops.sum(ops.square(x), self.axis, keepdims=True), self.epsilon)),
    axis=0,
    epsilon=1e-4,
)

__all__ = [
    name
    for name, value in globals().items()
    if isinstance(value, type) and value.__module__ == "mindspore.ops.operations"
]

__getattr__ = _elsewhere(__name__, "adjoint.mindspore.ops.operations")

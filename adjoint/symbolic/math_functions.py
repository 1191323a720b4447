"""Functions of the user's whose `math.sin` and the like take what is traced, as NumPy's do."""

from __future__ import annotations

import math
from collections.abc import Callable
from functools import partial
from types import CellType, FunctionType, MethodType, ModuleType
from typing import Any

from adjoint import ops
from adjoint.core.tensor import Tensor
from adjoint.frontend.files import is_users

#: The functions of `math` that ops of ours compute, where both have one name.
SAME = (
    "acos", "acosh", "asin", "asinh", "atan", "atan2", "atanh", "cbrt", "cos", "cosh", "erf", "erfc", "exp", "exp2", "expm1",
    "lgamma", "log10", "log1p", "log2", "pow", "sin", "sinh", "sqrt", "tan", "tanh",
)  # fmt: skip


def _log(x: Any, base: Any = math.e) -> Any:
    return ops.log(x) if base is math.e else ops.log(x) / ops.log(base)


def _for_tensors(own: Callable[..., Any], ours: Callable[..., Any]) -> Callable[..., Any]:
    """`math`'s function for numbers, ours where a Tensor is among the arguments."""

    def either(*args: Any) -> Any:
        return (ours if any(isinstance(x, Tensor) for x in args) else own)(*args)

    return either


def _replaced() -> dict[Any, Callable[..., Any]]:
    pairs = {getattr(math, n): getattr(ops, n) for n in SAME if hasattr(math, n)}
    pairs |= {math.log: _log, math.fabs: ops.abs, math.hypot: lambda *xs: ops.sqrt(sum(x * x for x in xs))}
    pairs |= {math.radians: lambda x: x * (math.pi / 180), math.degrees: lambda x: x * (180 / math.pi)}
    return {own: _for_tensors(own, ours) for own, ours in pairs.items()}


REPLACED = _replaced()
MATH = ModuleType("math")
MATH.__dict__.update(
    {name: REPLACED.get(value, value) if callable(value) else value for name, value in vars(math).items()}
)


def with_math(fn: Any) -> Any:
    """A function with `math` replaced, in the functions of the user's that it calls by name too.

    >>> print(with_math(lambda x: math.cos(x))(Tensor(0.0)))
    1.0
    """
    called = getattr(type(fn), "__call__", None)  # noqa: B004
    if isinstance(called, FunctionType) and not isinstance(fn, FunctionType) and is_users(called.__code__.co_filename):
        return _with_math(MethodType(called, fn), {})  # an object of the user's
    return _with_math(fn, {})


def _with_math(value: Any, done: dict[int, Any]) -> Any:
    if value is math:
        return MATH
    if isinstance(value, MethodType):
        return MethodType(_with_math(value.__func__, done), value.__self__)
    if type(value) is partial:
        return partial(_with_math(value.func, done), *value.args, **value.keywords)
    if not isinstance(value, FunctionType):
        return REPLACED.get(value, value) if type(value) is type(math.sin) else value
    if id(value) in done or not is_users(value.__code__.co_filename):
        return done.get(id(value), value)
    names = dict(value.__globals__)
    cells = tuple(CellType() for _ in value.__closure__ or ())
    copy = FunctionType(value.__code__, names, value.__name__, value.__defaults__, cells or None)
    copy.__kwdefaults__, copy.__qualname__ = value.__kwdefaults__, value.__qualname__
    done[id(value)] = copy
    for name in _names(value.__code__):
        if name in names:
            names[name] = _with_math(names[name], done)
    for cell, own in zip(cells, value.__closure__ or (), strict=True):
        try:
            cell.cell_contents = _with_math(own.cell_contents, done)
        except ValueError:  # one that holds nothing yet
            continue
    return copy


def _names(code: Any) -> set[str]:
    """The names that code, and code inside of it, may look up."""
    inner = [c for c in code.co_consts if isinstance(c, type(code))]
    return set(code.co_names).union(*map(_names, inner))

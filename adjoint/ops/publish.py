"""The public face of an op: a function in `ops`, a method of Tensor, and the ufunc of NumPy or SciPy that it answers to.

`register(function=...)` makes them for a card without fields; `public` does so for a function that is written out.
"""

from __future__ import annotations

import sys
from collections.abc import Callable
from typing import Any, TypeVar

import numpy as np

from adjoint.core.errors import ArgumentTypeError, called_at
from adjoint.core.foreign import kind_of, refusal
from adjoint.core.language import language
from adjoint.core.tensor import Tensor
from adjoint.ops.op_habits import with_habits

#: The public functions that stand beside their cards, by name.
FUNCTIONS: dict[str, Callable[..., Any]] = {}
#: What ufuncs mean for Tensors: a card each. `ndarray * Tensor` looks here, so the way is short.
UFUNCS: dict[np.ufunc, Callable[..., Any]] = {}
#: The same for ufuncs of scipy.special, by name: SciPy is imported when it is used.
SPECIAL: dict[str, Callable[..., Any]] = {}

Methods = bool | tuple[str, ...]
#: Ufuncs, or names of ufuncs of scipy.special.
Ufuncs = np.ufunc | str | tuple[np.ufunc | str, ...] | None
Function = TypeVar("Function", bound=Callable[..., Any])


def listed(x: Any) -> Any:
    """A list stands for an array: Python's own `+` would lengthen it."""
    if getattr(type(x), "__array_ufunc__", "") is None:
        raise ArgumentTypeError(
            f"a {type(x).__name__} has operators and methods of its own, and is no input of a function of arrays: write them, or make "
            f"it dense first{called_at()}"
        )
    if kind_of(type(x)) == "scipy":
        raise refusal("an operand", x)
    return language.array(x) if isinstance(x, (list, tuple)) else x


def function_of(op: Any, name: str, example: str) -> Callable[..., Any]:
    """A public function for a card: its documentation is the card's, with an example `call -> what it prints`."""

    def unary(input: Any) -> Any:
        return op(input if isinstance(input, Tensor) else listed(input))

    def binary(input: Any, other: Any) -> Any:
        return op(
            input if isinstance(input, Tensor) else listed(input),
            other if isinstance(other, Tensor) else listed(other),
        )

    def several(*inputs: Any) -> Any:
        return op(*map(listed, inputs))

    function: Any = {1: unary, 2: binary}.get(getattr(op, "arity", 1), several)
    function.__name__ = function.__qualname__ = name
    function.__module__ = "adjoint.ops"
    function.__doc__ = type(op).__doc__
    if example:
        call, printed = example.split(" -> ")
        function.__doc__ += (
            f"\n\n    >>> from adjoint import ops, Tensor\n    >>> print(ops.{call})\n    {printed}\n    "
        )
    return function


def publish(
    function: Callable[..., Any],
    names: tuple[str, ...],
    method: Methods,
    ufunc: Ufuncs,
    meaning: Any,
    as_method: Callable[..., Any] | None = None,
) -> None:
    """Enter a function under its names; with a method of Tensor, and as what ufuncs mean, if they are given."""
    methods = method if isinstance(method, tuple) else names[:1] * method
    ops = sys.modules["adjoint.ops"]
    taken = [f"ops.{n}" for n in names if n in FUNCTIONS or hasattr(ops, n)]
    taken += [f"Tensor.{n}" for n in methods if hasattr(Tensor, n)]
    ufuncs = () if ufunc is None else ufunc if isinstance(ufunc, tuple) else (ufunc,)
    taken += [f"the ufunc {getattr(u, '__name__', u)}" for u in ufuncs if u in UFUNCS or u in SPECIAL]
    if taken:
        raise ArgumentTypeError(f"{names[0]}: there is {taken[0]} already")
    for name in names:
        FUNCTIONS[name] = function
        setattr(ops, name, function)
    for name in methods:
        setattr(Tensor, name, with_habits(as_method or function, name))
    for u in ufuncs:
        if isinstance(u, str):
            SPECIAL[u] = meaning
        else:
            UFUNCS[u] = meaning


def public(
    *,
    aliases: tuple[str, ...] = (),
    method: Methods = False,
    as_method: Callable[[Any], Any] | None = None,
    ufunc: Ufuncs = None,
) -> Callable[[Function], Function]:
    """A decorator: the function is one of `ops`, by its name and its aliases.

    `method=True` makes it a method of Tensor too (or a tuple of names, several), `as_method` makes the method of the function
    where they differ, and `ufunc` is NumPy's or SciPy's function that it is the meaning of: itself, the name of one of
    scipy.special, or several.
    """

    def enter(function: Function) -> Function:
        own = None if as_method is None else as_method(function)
        publish(function, (function.__name__, *aliases), method, ufunc, function, own)
        return function

    return enter

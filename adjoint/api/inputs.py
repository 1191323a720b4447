"""What every transform does with a call: find the inputs, check them, take the outputs apart."""

from __future__ import annotations

import inspect
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Any

import numpy as np

from adjoint.core import context, tree
from adjoint.core.absent import ZERO
from adjoint.core.dispatch import Value, lift, wrap
from adjoint.core.errors import ArgumentError, NotDifferentiableError, called_at
from adjoint.core.parameter import Parameter, resolve
from adjoint.core.spec import dtype_of, is_inexact, shape_of
from adjoint.core.verbs import verbs

Positions = tuple[int, ...]


def name_of(fn: Any) -> str:
    """A function's name for messages."""
    return getattr(fn, "__name__", None) or type(fn).__name__


def check_function(what: str, fn: Any) -> None:
    if not callable(fn):
        raise TypeError(f"{what}: the first argument must be a function or a Cell, not {type(fn).__name__}{called_at()}")


def check_positions(what: str, position: Any) -> Positions:
    """The positions as a tuple, in the caller's order."""
    positions = (position,) if isinstance(position, int) and not isinstance(position, bool) else position
    if not isinstance(positions, tuple) or not all(isinstance(p, int) and not isinstance(p, bool) for p in positions):
        raise TypeError(f"{what}: grad_position must be an int or a tuple of ints, not {position!r}{called_at()}")
    if any(p < 0 for p in positions):
        raise ArgumentError(f"{what}: grad_position must be >= 0, not {position!r}{called_at()}")
    if len(set(positions)) != len(positions):
        raise ArgumentError(f"{what}: grad_position {position!r} names a position twice{called_at()}")
    if not positions:
        raise ArgumentError(f"{what}: grad_position is empty; name an input, or give weights{called_at()}")
    return positions


@dataclass
class Call:
    """The arguments of one call, with the inputs to differentiate picked out."""

    args: list[Any]
    kwargs: dict[str, Any]
    places: list[int | str]  # where each chosen input stands: a position, or a keyword
    names: list[str]

    @classmethod
    def bind(cls, what: str, fn: Any, positions: Positions, args: Sequence[Any], kwargs: dict[str, Any]) -> Call:
        places: list[int | str] = []
        for p in positions:
            if p < len(args):
                places.append(p)
            elif (name := _parameter_name(fn, p)) in kwargs:
                places.append(name)
            else:
                raise ArgumentError(
                    f"{what}: grad_position {p}, but {name_of(fn)} was called with {len(args)} positional "
                    f"argument{'s' if len(args) != 1 else ''}{called_at()}"
                )
        names = [f"argument {p}" if isinstance(p, int) else f"argument '{p}'" for p in places]
        return cls(list(args), dict(kwargs), places, names)

    @property
    def chosen(self) -> list[Any]:
        return [self.args[p] if isinstance(p, int) else self.kwargs[p] for p in self.places]

    def replace(self, values: Sequence[Any]) -> tuple[list[Any], dict[str, Any]]:
        """The arguments with the chosen inputs exchanged."""
        args, kwargs = list(self.args), dict(self.kwargs)
        for place, value in zip(self.places, values, strict=True):
            if isinstance(place, int):
                args[place] = value
            else:
                kwargs[place] = value
        return args, kwargs


def _parameter_name(fn: Any, position: int) -> str:
    target = fn.construct if hasattr(fn, "construct") else fn
    try:
        names = list(inspect.signature(target).parameters)
    except (TypeError, ValueError):
        return ""
    return names[position] if position < len(names) else ""


def check_input(what: str, name: str, x: Any) -> Any:
    """One leaf of a differentiable input as a value one level below, or an error that says why it cannot be one."""
    if isinstance(x, Parameter):
        x = resolve(x)
    if isinstance(x, np.ndarray) and x.dtype == object:
        x = verbs.array(x)
    if not isinstance(x, (Value, np.ndarray, np.generic, bool, int, float, complex)):
        raise NotDifferentiableError(
            f"{what}: {name} is a {type(x).__name__}, which has no derivative. Differentiate with respect to Tensors, "
            f"arrays, floats, or containers of them{called_at()}"
        )
    if not is_inexact(dtype_of(x)):
        kind = f"the {type(x).__name__} {x}" if isinstance(x, (bool, int)) else f"of dtype {dtype_of(x)}"
        fix = f"pass {float(x)}" if isinstance(x, int) and not isinstance(x, bool) else "cast it to float32 first"
        raise NotDifferentiableError(
            f"{what}: {name} is {kind}; whole numbers and booleans have no derivative: {fix}{called_at()}"
        )
    return lift(x)


def check_inputs(what: str, names: Sequence[str], trees: Sequence[Any]) -> list[list[Any]]:
    """The leaves of each input, ready to be tracked."""
    return [
        [check_input(what, path, x) for path, x in tree.paths(t, name)] for name, t in zip(names, trees, strict=True)
    ]


def output_leaves(what: str, fn: Any, out: Any) -> list[Any]:
    """The floating-point leaves of a function's output; an error if there is nothing to differentiate."""
    found = [_output(x) for x in tree.leaves(out)]
    floats = [x for x in found if x is not None]
    if not floats:
        got = "nothing (did you forget `return`?)" if out is None or not found else _describe(out)
        raise NotDifferentiableError(
            f"{what}: {name_of(fn)} returned {got}, which has no derivative. Return a floating-point value{called_at()}"
        )
    return floats


def _output(x: Any) -> Any:
    if isinstance(x, np.ndarray) and x.dtype == object:
        x = verbs.array(x)
    numeric = isinstance(x, (Value, np.ndarray, np.generic, float, complex))
    return x if numeric and is_inexact(dtype_of(x)) else None


def _describe(out: Any) -> str:
    if isinstance(out, (Value, np.ndarray)):
        return f"a Tensor of dtype {out.dtype}"
    return f"a {type(out).__name__}"


def ones_like(y: Any) -> Any:
    """The default cotangent, one level below."""
    return lift(np.ones(shape_of(y), dtype_of(y)))


def finished(value: Any, like: Any) -> Any:
    """A derivative as the user gets it: a Tensor, zeros where nothing flowed."""
    return wrap(np.zeros(shape_of(like), dtype_of(like)) if value is ZERO else value)


def lowered(trace: Any, x: Any) -> Any:
    """A value of `trace`, one level below, as the user gets it; anything else as it is."""
    if isinstance(x, np.ndarray) and x.dtype == object:
        x = verbs.array(x)
    if isinstance(x, Value) and x._trace is trace:
        return wrap(x._value)
    return x


@contextmanager
def binding(pairs: dict[Parameter, Any]) -> Iterator[None]:
    """Let Parameters stand for other values; also marks a functional transform as active."""
    with context.setting(context.bindings, {**(context.bindings.get() or {}), **pairs}):
        yield


def check_cotangent(what: str, g: Any, y: Any) -> Any:
    """A cotangent or tangent of the user's, one level below, fitting the value it belongs to."""
    value = g
    if isinstance(value, Parameter):
        value = resolve(value)
    if not isinstance(value, (Value, np.ndarray, np.generic, int, float, complex)):
        raise TypeError(f"{what} must be a Tensor, an array or a number, not {type(g).__name__}{called_at()}")
    if shape_of(value) != shape_of(y):
        raise ArgumentError(f"{what} has shape {shape_of(value)}, its value {shape_of(y)}{called_at()}")
    want = dtype_of(y)
    if dtype_of(value) != want:
        if dtype_of(value).kind == "c" and want.kind != "c":
            raise ArgumentError(f"{what} is complex, its value {want}{called_at()}")
        value = verbs.cast(value, want)
    return lift(value)


Function = Callable[..., Any]

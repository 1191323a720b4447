"""What every transform does with a call: find the inputs, check them, take the outputs apart."""

from __future__ import annotations

import inspect
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from adjoint.core import context, foreign, placement, tree
from adjoint.core.absent import instantiate
from adjoint.core.arrays import check_kind, kept
from adjoint.core.dispatch import EAGER, HALF, Value, lift, snapshot, wrap
from adjoint.core.dispatch import beside as placed_beside
from adjoint.core.errors import ArgumentError, ArgumentTypeError, NotDifferentiableError, called_at
from adjoint.core.parameter import Parameter, resolve
from adjoint.core.spec import dtype_of, has_derivative, shape_of
from adjoint.core.stores import Bindings
from adjoint.core.stores import dropped as dropped
from adjoint.core.tensor import Tensor
from adjoint.core.tree_matching import beside, shown
from adjoint.ops.language import cast
from adjoint.ops.stacking import array

Positions = tuple[int, ...]


def name_of(fn: Any) -> str:
    """A function's name for messages."""
    return getattr(fn, "__name__", None) or type(fn).__name__


def check_function(what: str, fn: Any) -> None:
    if not callable(fn):
        raise ArgumentTypeError(
            f"{what}: the first argument must be a function or a Cell, not {type(fn).__name__}{called_at()}"
        )


_POSITION = "argnums or grad_position"


def check_positions(what: str, position: Any) -> Positions:
    """The positions as a tuple, in the caller's order."""
    positions = (position,) if isinstance(position, int) and not isinstance(position, bool) else position
    if not isinstance(positions, tuple) or not all(isinstance(p, int) and not isinstance(p, bool) for p in positions):
        raise ArgumentTypeError(f"{what}: {_POSITION} must be an int or a tuple of ints, not {position!r}{called_at()}")
    if any(p < 0 for p in positions):
        raise ArgumentError(f"{what}: {_POSITION} must be >= 0, not {position!r}{called_at()}")
    if len(set(positions)) != len(positions):
        raise ArgumentError(f"{what}: {_POSITION} {position!r} names a position twice{called_at()}")
    if not positions:
        raise ArgumentError(f"{what}: {_POSITION} is empty; name an input, or give weights{called_at()}")
    return positions


def chosen_position(what: str, grad_position: Any, argnums: Any) -> Any:
    """The position that was given as `grad_position`, or under JAX's name for it."""
    if argnums is None:
        return grad_position
    if grad_position != 0:
        raise ArgumentError(f"{what}: argnums is another name for grad_position: give one of them{called_at()}")
    return tuple(argnums) if isinstance(argnums, list) else argnums


class ChosenInputs:
    """The arguments of one call, with the inputs to differentiate picked out."""

    __slots__ = ("args", "kwargs", "places")

    def __init__(self, what: str, fn: Any, positions: Positions, args: Sequence[Any], kwargs: dict[str, Any]) -> None:
        self.args, self.kwargs = args, kwargs
        self.places: list[int | str] = [p if p < len(args) else _keyword(what, fn, p, args, kwargs) for p in positions]

    @property
    def chosen(self) -> list[Any]:
        """The inputs to differentiate by."""
        return [self.args[p] if isinstance(p, int) else self.kwargs[p] for p in self.places]

    def replace(self, values: Sequence[Any]) -> tuple[list[Any], dict[str, Any]]:
        """The arguments with the chosen inputs exchanged; what is written to the others is not seen outside."""
        args, kwargs = list(self.args), dict(self.kwargs)
        if len(args) + len(kwargs) > len(self.places):
            tensors = {id(x): x for x in (*args, *kwargs.values()) if type(x) is Tensor}
            for x in self.chosen:
                tensors.pop(id(x), None)
            own = {key: snapshot(x) for key, x in tensors.items()}
            args = [own.get(id(x), x) for x in args]
            kwargs = {name: own.get(id(x), x) for name, x in kwargs.items()}
        for place, value in zip(self.places, values, strict=True):
            if isinstance(place, int):
                args[place] = value
            else:
                kwargs[place] = value
        return args, kwargs


def _keyword(what: str, fn: Any, position: int, args: Sequence[Any], kwargs: dict[str, Any]) -> str:
    """The keyword under which an input beyond the positional ones was passed."""
    name = _parameter_name(fn, position)
    if name not in kwargs:
        plural = "s" if len(args) != 1 else ""
        raise ArgumentError(
            f"{what}: grad_position {position}, but {name_of(fn)} was called with {len(args)} positional "
            f"argument{plural}{called_at()}"
        )
    return name


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
        x = resolve(x, for_backward=False)
    elif placement.is_device_array(x):
        x = lift(x)
    if isinstance(x, np.ndarray):
        check_kind(x)
        if x.dtype.hasobject:
            x = array(x)  # one Tensor of the Tensors that it holds
    if isinstance(x, (Value, np.ndarray, np.generic, float, complex)) and has_derivative(dtype_of(x)):
        return held(x)
    foreign.check_leaf(f"{what}: {name}", x)
    if not isinstance(x, (Value, np.ndarray, np.generic, int)):
        raise NotDifferentiableError(
            f"{what}: {name} is a {type(x).__name__}, which has no derivative. Differentiate with respect to Tensors, "
            f"arrays, floats, or containers of them{called_at()}"
        )
    kind = f"the {type(x).__name__} {x}" if isinstance(x, int) else f"of dtype {dtype_of(x)}"
    fix = f"pass {float(x)}" if isinstance(x, int) and not isinstance(x, bool) else "cast it to float32 first"
    raise NotDifferentiableError(
        f"{what}: {name} is {kind}; integers and booleans have no derivative: {fix}{called_at()}"
    )


def held(x: Any) -> Any:
    """A value one level below that stays as it is: the caller may write to the array, or to the Tensor, later."""
    if isinstance(x, np.ndarray):
        return lift(kept(x))
    x = lift(x)
    return snapshot(x) if isinstance(x, Value) else x


class Input:
    """One differentiable input: its leaves, ready to be tracked, how to build its like, and how to build a derivative by it.

    Leaves of a container without derivatives (strings, integers, truth values) go into the function as they are, and are None in the
    derivative. `places` are those of the others among all leaves; None where the input is no tree.
    """

    __slots__ = ("derivative", "leaves", "places", "rebuild")

    def __init__(self, what: str, place: int | str, value: Any) -> None:
        self.rebuild: Callable[[list[Any]], Any]
        self.places: list[int] | None = None
        if type(value) is Tensor and has_derivative(value.dtype):
            self.leaves, self.rebuild = [held(value)], _only
        elif type(value) in (list, tuple, dict) and (plain := _plain_tree(value)) is not None:
            self.leaves, self.rebuild = plain
            self.places = list(range(len(self.leaves)))
        elif hasattr(type(value), "with_values"):  # a sparse matrix: its values have derivatives
            self.leaves = [check_input(what, f"argument {place!r}.values", value.values)]
            self.rebuild = lambda xs: value.with_values(xs[0])
        else:
            found = list(tree.paths(value, f"argument {place!r}"))
            active = [i for i, (_, x) in enumerate(found) if _is_active(x)]
            if not active:  # an input without anything to differentiate by says so, of its numbers first
                active = sorted(range(len(found)), key=lambda i: not is_number(found[i][1]))
            self.leaves = [check_input(what, *found[i]) for i in active]
            self.places, self.rebuild = active, tree.flatten(value)[1]
            if len(active) < len(found):
                for i, (path, x) in enumerate(found):  # their numbers would have no gradient, without a word
                    if i not in active and foreign.kind_of(type(x)) in ("labelled", "tensor"):
                        _check_foreign(what, path, x)
                whole, leaves = self.rebuild, [x for _, x in found]
                self.rebuild = lambda xs: whole(_put(xs, active, leaves))
                self.derivative = lambda xs: whole(_put(xs, active, [None] * len(leaves)))
                return
        self.derivative = self.rebuild

    def beside(self, what: str, other: Any, value: Any) -> list[Any]:
        """What another tree has at the places of the leaves."""
        if self.places is None:
            return tree.leaves_like(other, value)
        found = beside(other, value, what, "its value")
        if len(found) > len(self.places):
            for i, (path, x) in enumerate(tree.paths(value, what)):
                if i not in self.places:
                    _check_none(path, x, found[i])
        return [found[i] for i in self.places]


def _check_foreign(what: str, path: str, x: Any) -> None:
    """Refuse an array of another library; integers of JAX's are let through as integers are."""
    if not placement.is_device_array(x):
        raise foreign.refusal(f"{what}: {path}", x)


def _is_plain(x: Any) -> bool:
    """Whether a leaf is a Tensor, and no Parameter, or an array with a derivative: nothing more has to be checked."""
    return type(x) in (Tensor, np.ndarray) and has_derivative(x.dtype)


def _plain_tree(value: Any) -> tuple[list[Any], Callable[[list[Any]], Any]] | None:
    """The leaves of a container as values one level below, and how to build its like, if all of them are plain."""
    leaves, rebuild = tree.flatten(value)
    return ([held(x) for x in leaves], rebuild) if leaves and all(map(_is_plain, leaves)) else None


def _is_active(x: Any) -> bool:
    """Whether a leaf may have a derivative; what becomes of Parameters and objects is found out by `check_input`."""
    if isinstance(x, np.ndarray) and x.dtype.hasobject:
        return True
    numeric = isinstance(x, (Value, np.ndarray, np.generic, float, complex)) or placement.is_device_array(x)
    return numeric and has_derivative(dtype_of(x))


def _check_none(what: str, x: Any, tangent: Any) -> None:
    """Refuse a tangent, other than None and zeros, of a leaf that has no derivative."""
    if not isinstance(tangent, (Value, np.ndarray, np.generic, int, float, complex)):
        return
    while isinstance(tangent, Value) and tangent._trace in (EAGER, HALF):
        tangent = tangent._value
    if isinstance(tangent, Value) or np.any(tangent):
        raise ArgumentError(
            f"{what} must be None or 0: its value, {shown(x)}, has no derivative. Make it a float to differentiate by it"
            f"{called_at()}"
        )


def _put(xs: Sequence[Any], places: Sequence[int], around: Sequence[Any]) -> list[Any]:
    filled = list(around)
    for i, x in zip(places, xs, strict=True):
        filled[i] = x
    return filled


def _only(xs: list[Any]) -> Any:
    return xs[0]


def check_inputs(what: str, values: Sequence[Any], places: Sequence[int | str]) -> list[Input]:
    """The inputs with their leaves checked."""
    return [Input(what, p, x) for p, x in zip(places, values, strict=True)]


def output_leaves(what: str, fn: Any, out: Any) -> list[Any]:
    """The floating-point leaves of a function's output; an error if there is nothing to differentiate."""
    if type(out) is Tensor and has_derivative(out.dtype):
        return [out]
    found = [_output(x) for x in tree.leaves(out)]
    floats = [x for x in found if x is not None]
    if not floats:
        got = "nothing (did you forget `return`?)" if out is None or not found else _describe(out)
        raise NotDifferentiableError(
            f"{what}: {name_of(fn)} returned {got}, which has no derivative. Return a floating-point value{called_at()}"
        )
    return floats


def whole(out: Any) -> Any:
    """A function's output with object arrays of Tensors made Tensors again, and Parameters the values they stand for."""
    if isinstance(out, Parameter):
        return resolve(out)
    if tree.is_leaf(out):
        return array(out) if isinstance(out, np.ndarray) and out.dtype.hasobject else out
    return tree.map(whole, out)


def _output(x: Any) -> Any:
    numeric = isinstance(x, (Value, np.ndarray, np.generic, float, complex))
    return x if numeric and has_derivative(dtype_of(x)) else None


def is_number(x: Any) -> bool:
    """Whether a leaf of an output is a number or an array; others have no derivative, not even zeros."""
    return isinstance(x, (Value, np.ndarray, np.generic, bool, int, float, complex)) or placement.is_device_array(x)


def _describe(out: Any) -> str:
    if foreign.described(out):
        return f"{foreign.described(out)} (return {foreign.way_in(out)})"
    if isinstance(out, (Value, np.ndarray)):
        return f"a Tensor of dtype {dtype_of(out)}"
    return f"a {type(out).__name__}"


def ones_like(y: Any) -> Any:
    """The default cotangent, one level below."""
    shape = shape_of(y)
    return placed_beside(np.ones(shape, dtype_of(y)) if shape else dtype_of(y).type(1), y)


def finished(value: Any, like: Any) -> Any:
    """A derivative as the user gets it: a Tensor, zeros where nothing flowed."""
    return wrap(instantiate(value, like))


def lowered(trace: Any, x: Any) -> Any:
    """A value of `trace`, one level below, as the user gets it; anything else as it is."""
    if isinstance(x, Value) and x._trace is trace:
        below = x._value
        return below._trace.twin(below) if isinstance(below, Value) else wrap(below)
    return x


class Bound(Bindings):
    """What Parameters stand for; those not named here stand for what they do outside."""

    def __init__(self, outer: Any, pairs: dict[Parameter, Any], lower: Callable[[Any], Any] | None = None) -> None:
        super().__init__(pairs, lower)
        self.outer = outer

    def __contains__(self, p: object) -> bool:
        return dict.__contains__(self, p) or p in self.outer

    def __missing__(self, p: Parameter) -> Any:
        return self.outer[p]

    def get(self, p: Any, default: Any = None) -> Any:
        return self[p] if p in self else default  # noqa: SIM401  # dict's own `get` knows no outer one


class binding:
    """Let Parameters stand for other values; also marks a functional transform as active.

    What is stored in Parameters inside is stored outside in the end, `lower(value)`, unless an exception was raised.
    """

    __slots__ = ("scope", "token")

    def __init__(self, pairs: dict[Parameter, Any], lower: Callable[[Any], Any] | None = None) -> None:
        outer = context.bindings.get()
        self.scope = Bindings(pairs, lower) if outer is None else Bound(outer, pairs, lower)

    def __enter__(self) -> None:
        self.token = context.bindings.set(self.scope)

    def __exit__(self, kind: type | None, *exc: Any) -> None:
        context.bindings.reset(self.token)
        if self.scope.stored and kind is None:
            self.scope.hand_on()


def check_cotangent(what: str, g: Any, y: Any) -> Any:
    """A cotangent or tangent of the user's, one level below, fitting the value it belongs to."""
    value = g
    if isinstance(value, Parameter):
        value = resolve(value, for_backward=False)
    elif placement.is_device_array(value):
        value = lift(value)
    foreign.check_leaf(what, value)
    if not isinstance(value, (Value, np.ndarray, np.generic, int, float, complex)):
        raise ArgumentTypeError(f"{what} must be a Tensor, an array or a number, not {type(g).__name__}{called_at()}")
    if isinstance(value, np.ndarray):
        check_kind(value)
    if shape_of(value) != shape_of(y):
        raise ArgumentError(f"{what} has shape {shape_of(value)}, its value {shape_of(y)}{called_at()}")
    want = dtype_of(y)
    if dtype_of(value) != want:
        if dtype_of(value).kind == "c" and want.kind != "c":
            raise ArgumentError(f"{what} is complex, its value {want}{called_at()}")
        value = cast(value, want)
    placement.check_same(what, value, y)
    return held(value)


Function = Callable[..., Any]

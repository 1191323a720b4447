"""The arguments of a compiled function: numbers apart from what is part of the program, and names for both."""

from __future__ import annotations

import contextlib
import inspect
from collections import deque
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from adjoint.api.inputs import name_of
from adjoint.core import context, tree, views
from adjoint.core.dispatch import Value, lift
from adjoint.core.errors import ArgumentError, ArgumentTypeError, ShapeError, called_at
from adjoint.core.foreign import check_leaf, kind_of
from adjoint.core.layout import scaled
from adjoint.core.parameter import Parameter, resolve
from adjoint.core.placement import device_among, is_device_array
from adjoint.core.spec import Spec, spec_of

NUMBERS = (Value, np.ndarray, np.generic, float, complex)


@dataclass(frozen=True)
class Key:
    """What a graph was built for."""

    shape: Any
    numeric: tuple[bool, ...]
    specs: tuple[Spec, ...]
    statics: tuple[Any, ...]
    policy: Any = None  # what gradients in it keep of the forward pass
    device: str | None = None  # where its inputs are, if not on the host
    lowered: Any = None  # the dtype of products and convolutions of float32 inputs, under `amp.autocast`


@dataclass(frozen=True, eq=False)
class CallArguments:
    """The arguments of one call, the numbers taken out."""

    whole: tuple[tuple[Any, ...], dict[str, Any]]
    rebuild: Callable[[list[Any]], Any]
    numeric: list[bool]
    numbers: list[Any]
    statics: list[Any]

    def filled(self, numbers: Sequence[Any]) -> Any:
        """The arguments with other numbers."""
        values, still = iter(numbers), iter(self.statics)
        return self.rebuild([next(values) if yes else next(still) for yes in self.numeric])

    def paths(self, numeric: bool = True) -> list[str]:
        """Where the numbers, or the static values, stand."""
        found = tree.paths(self.whole)
        return [path for (path, _), yes in zip(found, self.numeric, strict=True) if yes == numeric]

    def key(self) -> Key:
        """What a graph for this call is kept under."""
        return Key(
            tree.shape(self.whole), tuple(self.numeric),
            tuple(map(spec_of, self.numbers)), tuple(map(_static_key, self.statics)), context.checkpointing.get(), device_among(self.numbers),
            context.autocast.get(),
        )  # fmt: skip

    def points(self) -> list[int]:
        """Which numbers are NumPy arrays without axes."""
        leaves = [x for x, yes in zip(tree.leaves(self.whole), self.numeric, strict=True) if yes]
        return [i for i, x in enumerate(leaves) if isinstance(x, np.ndarray) and not x.shape]

    def layouts(self, specs: Sequence[Spec]) -> list[Any]:
        """How the numbers, in arrays of these shapes, lie in memory."""
        return [scaled(views.layout(x), s.shape) for x, s in zip(self.numbers, specs, strict=True)]

    def orders(self) -> tuple[Any, ...]:
        """The same, to be compared."""
        return tuple(getattr(views.layout(x), "strides", None) for x in self.numbers)


_Kind = inspect.Parameter


def names_of(names: str | Sequence[str]) -> tuple[str, ...]:
    """One name, or several, as a tuple."""
    if isinstance(names, str):
        return (names,)
    if not isinstance(names, Iterable):
        raise ArgumentTypeError(f"jit: arguments are named by text, or several of them, not {names!r}{called_at()}")
    return tuple(names)


def all_but(fn: Callable[..., Any], names: Sequence[str]) -> tuple[str, ...]:
    """What a function calls its arguments, but for these."""
    return tuple(name for name in _parameters(fn) if name not in names)


def _parameters(fn: Callable[..., Any]) -> list[str]:
    return list(inspect.signature(fn.construct if hasattr(fn, "construct") else fn).parameters)


def names_at(fn: Callable[..., Any], positions: int | Sequence[int]) -> tuple[str, ...]:
    """What a function calls the arguments at some positions; negative ones count from the end."""
    numbers = (positions,) if isinstance(positions, int) else tuple(positions)
    if not numbers:
        return ()
    names = _parameters(fn)
    for n in numbers:
        if isinstance(n, bool) or not isinstance(n, int) or not -len(names) <= n < len(names):
            raise ArgumentError(
                f"jit: static_argnums names the argument {n!r}, {name_of(fn)} takes {len(names)}{called_at()}"
            )
    return tuple(names[n] for n in numbers)


class Signature:
    """How a function takes its arguments, and which of them are special."""

    def __init__(self, fn: Callable[..., Any], **named: Sequence[str]) -> None:
        self.name = name_of(fn)
        self.parameters: inspect.Signature | None = None
        with contextlib.suppress(TypeError, ValueError):  # a builtin has none
            self.parameters = inspect.signature(fn.construct if hasattr(fn, "construct") else fn)
        self.names = list(self.parameters.parameters) if self.parameters else []
        kinds = [p.kind for p in self.parameters.parameters.values()] if self.parameters else []
        self.kinds = dict(zip(self.names, kinds, strict=True))
        self.open_at = sum(kind in (_Kind.POSITIONAL_ONLY, _Kind.POSITIONAL_OR_KEYWORD) for kind in kinds)
        self.rest = next((name for name, kind in self.kinds.items() if kind is _Kind.VAR_POSITIONAL), "")
        for what, names in named.items():
            if missing := set(names) - set(self.names):
                raise ArgumentError(
                    f"jit: {what} names {sorted(missing)}, which {self.name} does not take{called_at()}"
                )

    def split(
        self, args: tuple[Any, ...], kwargs: dict[str, Any], static: frozenset[str], in_order: bool
    ) -> CallArguments:
        """The numbers of a call and what is static; with `in_order`, arguments are put in the order of the signature."""
        if in_order and self.parameters is not None:
            bound = self.parameters.bind(*args, **kwargs)
            args, kwargs = bound.args, bound.kwargs
        whole = (args, kwargs)
        leaves, rebuild = tree.flatten(whole)
        numeric = [isinstance(x, NUMBERS) or is_device_array(x) for x in leaves]
        if static:
            paths = [p for p, _ in tree.paths(whole)]
            numeric = [yes and not self.belongs(p, static) for yes, p in zip(numeric, paths, strict=True)]
        numbers = [_value(x) for x, yes in zip(leaves, numeric, strict=True) if yes]
        statics = [x for x, yes in zip(leaves, numeric, strict=True) if not yes]
        if any(kind_of(type(x)) for x in statics):
            self._refuse_foreign(whole, static)
        return CallArguments(whole, rebuild, numeric, numbers, statics)

    def _refuse_foreign(self, whole: Any, static: frozenset[str]) -> None:
        """Raise for arrays of other libraries: a graph would hold what they are now. What is named static may be anything."""
        for path, x in tree.paths(whole):
            if not (isinstance(x, NUMBERS) or is_device_array(x) or (static and self.belongs(path, static))):
                check_leaf(f"jit: {self.describe(path)} of {self.name}", x)

    def belongs(self, path: str, names: frozenset[str]) -> bool:
        """Whether a path leads into one of the named arguments."""
        return any(self._leads(path, name) for name in names)

    def _leads(self, path: str, name: str) -> bool:
        """Whether a path leads into one argument; `*args` and `**kwargs` have what no other takes."""
        kind, given = self.kinds[name], path[4:].partition("]")[0]
        if path.startswith("[0]"):
            k = int(given)
            return k >= self.open_at if kind is _Kind.VAR_POSITIONAL else self.names.index(name) == k < self.open_at
        return given.strip("'\"") not in self.names if kind is _Kind.VAR_KEYWORD else given == repr(name)

    def positional(self, k: int) -> str:
        """What the function calls a positional argument; those behind `*args` have their number there."""
        if k < self.open_at:
            return self.names[k]
        return f"{self.rest}[{k - self.open_at}]" if self.rest else f"argument {k}"

    def batch_size(self, made: CallArguments, batched: list[bool]) -> int:
        """The size of the first axis that the batched arguments have in common."""
        found = {
            self.describe(path): spec_of(x).shape[:1]
            for path, x, yes in zip(made.paths(), made.numbers, batched, strict=True)
            if yes
        }
        if len(set(found.values())) != 1 or () in found.values():
            shown = ", ".join(f"{name} {size[0] if size else 'no axis'}" for name, size in found.items()) or "no array"
            raise ShapeError(
                f"jit: the dynamic arguments must share the size of their first axis; found {shown}{called_at()}"
            )
        return next(iter(found.values()))[0]

    def describe(self, path: str) -> str:
        """The argument's name for a path like [0][1]['w']."""
        kind, rest = path[1], path[3:]
        if kind == "1":
            name, _, tail = rest[2:].partition("']")
            return f"`{name}{tail}`"
        index, _, tail = rest[1:].partition("]")
        return f"`{self.positional(int(index))}{tail}`"


def _value(x: Any) -> Any:
    if getattr(type(x), "is_plain_float", False):  # a class whose objects are to be taken for Python's own numbers
        x = float(x)
    return resolve(x) if isinstance(x, Parameter) else lift(x)


class _Object:
    """An object that cannot be hashed, for what it is: held, so that no other gets its id."""

    def __init__(self, x: Any) -> None:
        self.x = x

    def __eq__(self, other: object) -> bool:
        return isinstance(other, _Object) and self.x is other.x

    def __hash__(self) -> int:
        return id(self.x)

    def __repr__(self) -> str:
        return repr(self.x)


def _static_key(x: Any) -> Any:
    if isinstance(x, (float, complex)):
        return type(x), repr(x)  # 0.0 is not -0.0 here, and NaN is NaN
    if isinstance(x, np.ndarray):
        return type(x), (x.shape, x.dtype, x.tobytes() if not x.dtype.hasobject else repr(x.tolist()))
    if isinstance(x, (set, deque, bytearray)):  # may change in place
        return type(x), frozenset(map(_static_key, x)) if isinstance(x, set) else tuple(map(_static_key, x))
    try:
        hash(x)
        return type(x), x
    except TypeError:
        return type(x), _Object(x)

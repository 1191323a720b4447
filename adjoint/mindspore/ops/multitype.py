"""Functions chosen by the types of their arguments, and maps over nested containers: MultitypeFuncGraph, HyperMap, Map."""

from __future__ import annotations

import re
from collections.abc import Callable
from functools import partial as _partial
from types import BuiltinFunctionType, EllipsisType, FunctionType, MethodType
from typing import Any

import numpy as np

from adjoint.core import context
from adjoint.core.spec import number_of
from adjoint.core.tensor import Tensor
from adjoint.mindspore.ops.primitive import Primitive

_FUNCTIONS = (FunctionType, MethodType, BuiltinFunctionType, _partial, Primitive)
_BY_PYTHON: dict[str, tuple[type, ...]] = {
    "Tuple": (tuple,), "List": (list,), "Dictionary": (dict,), "String": (str,), "None": (type(None),), "Slice": (slice,),
    "Ellipsis": (EllipsisType,), "TypeNone": (type(None),), "TypeType": (type, np.dtype), "Function": _FUNCTIONS,
}  # fmt: skip
_KINDS = {"Bool": "b", "Int": "i", "UInt": "u", "Float": "f", "Complex": "c", "Number": "biufc"}


def in_graph() -> bool:
    """Whether a program runs in static mode, as a graph or in place of one."""
    return context.tracer.get() is not None or context.lenient.get()


def _is_number(x: Any) -> bool:
    return isinstance(x, (bool, int, float, complex, np.generic)) or (
        isinstance(x, Tensor) and context.tracer.get() is not None and _stands_for_number(x)
    )


def _stands_for_number(x: Any) -> bool:
    return number_of(x) is not None


def _dtype(x: Any) -> np.dtype:
    if isinstance(x, bool):
        return np.dtype(bool)
    if isinstance(x, int):
        return np.dtype(np.int64)
    return np.dtype(np.float32 if isinstance(x, float) else x.dtype if hasattr(x, "dtype") else np.complex64)


def _has_dtype(x: Any, name: str) -> bool:
    """Whether a number or Tensor is of a kind such as Float, or of a dtype such as Float32."""
    dtype = _dtype(x)
    return dtype.kind in _KINDS[name] if name in _KINDS else dtype.name.lower() == name.lower()


def fits(x: Any, name: Any) -> bool:
    """Whether an object is of a type that MindSpore names so.

    >>> fits(1.5, "Number"), fits((1, 2), "Tuple"), fits(3, "Tensor")
    (True, True, False)
    """
    if isinstance(name, np.dtype):
        return _is_number(x) and _dtype(x) == name
    if isinstance(name, type):
        return isinstance(x, name)
    outer, _, inner = name.partition("[")
    if outer in ("Tensor", "Ref", "RefType", "Parameter"):
        whole = isinstance(x, Tensor) and not _is_number(x)
        return whole and (not inner or _has_dtype(x, inner.rstrip("]")))
    if outer in _BY_PYTHON:
        if not isinstance(x, _BY_PYTHON[outer]) and not (outer == "Function" and _is_function(x)):
            return False
        names = [n for n in inner.rstrip("]").split(",") if n]
        return not names or all(fits(y, n.strip()) for y, n in zip(x, names * (len(x) if len(names) == 1 else 1)))
    if outer in _KINDS or re.fullmatch(r"(?i)(u?int|float|bfloat|complex)\d+", outer):
        return _is_number(x) and _has_dtype(x, outer)
    return type(x).__name__ == outer


def _is_function(x: Any) -> bool:
    return callable(x) and not isinstance(x, (type, Tensor))


class MultitypeFuncGraph:
    """A function with several forms, chosen by the types of the arguments.

    >>> twice = MultitypeFuncGraph("twice")
    >>> @twice.register("Number")
    ... def twice_number(x):
    ...     return 2 * x
    >>> @twice.register("String")
    ... def twice_text(x):
    ...     return x + x
    >>> twice(4), twice("ab")
    (8, 'abab')
    """

    def __init__(self, name: str, read_value: bool = False) -> None:
        self.name = name
        self.entries: list[tuple[tuple[Any, ...], Callable[..., Any]]] = []
        self.default_func: Callable[..., Any] | None = None

    def register(self, *type_names: Any) -> Callable[[Any], Any]:
        """Decorates the form for arguments of these types, given by name or as dtypes."""

        def decorate(fn: Any) -> Any:
            for name in type_names:
                if not isinstance(name, (str, np.dtype, type)):
                    raise TypeError(f"MultitypeFuncGraph.register takes names of types or dtypes, not {name!r}")
            self.entries.append((type_names, fn))
            return fn

        return decorate

    def _register_default(self, convert_to_interpret: bool = True) -> Callable[[Any], Any]:
        def decorate(fn: Any) -> Any:
            self.default_func = fn
            return fn

        return decorate

    def set_doc_url(self, doc_url: str) -> None:
        """Where MindSpore describes it."""

    def set_need_raise(self) -> None:
        """A call that fits no form is an error: here it always is."""

    def __call__(self, *args: Any) -> Any:
        return context.readable(self._chosen(args))(*args)

    def _chosen(self, args: tuple[Any, ...]) -> Callable[..., Any]:
        if any(isinstance(x, np.ndarray) for x in args):
            raise TypeError(f"MultitypeFuncGraph {self.name}: an input is a numpy.ndarray")
        for types, fn in self.entries:
            if len(types) == len(args) and all(map(fits, args, types)):
                return fn
        if self.default_func is not None:
            return self.default_func
        if len(self.entries) == 1:
            return self.entries[0][1]
        given = ", ".join(type(x).__name__ for x in args)
        known = "; ".join(", ".join(map(str, types)) for types, _ in self.entries)
        raise ValueError(f"MultitypeFuncGraph {self.name} has no form for ({given}), only for: {known}")

    def __repr__(self) -> str:
        return f"MultitypeFuncGraph({self.name!r})"


class HyperMap:
    """Applies a function to the items of containers, which may be nested; lists become tuples unless a graph is built.

    >>> HyperMap()(lambda x, y: x + y, ((1, 2), 3), ((10, 20), 30))
    ((11, 22), 33)
    """

    nested = True

    def __init__(self, ops: Any = None, reverse: bool = False) -> None:
        if ops is not None and not callable(ops):
            raise TypeError(f"{type(self).__name__}: ops must be a function or None, not {ops!r}")
        self.ops, self.reverse = ops, reverse

    def __call__(self, *args: Any) -> Any:
        fn, inputs = (args[0], args[1:]) if self.ops is None else (self.ops, args)
        return self._apply(context.readable(fn), inputs)

    def _apply(self, fn: Any, inputs: tuple[Any, ...]) -> Any:
        first = inputs[0]
        if not isinstance(first, (tuple, list)):
            if isinstance(first, dict) and self.nested and in_graph():
                return {k: self._apply(fn, tuple(x[k] for x in inputs)) for k in first}
            return fn(*inputs)
        lengths = {len(x) if isinstance(x, (tuple, list)) else None for x in inputs}
        if None in lengths:
            raise TypeError(f"{type(self).__name__}: some inputs are containers, and some are not")
        if len(lengths) > 1 and in_graph():
            raise RuntimeError(f"{type(self).__name__}: the inputs have lengths {sorted(map(len, inputs))}")
        rows = list(zip(*inputs))
        each = [self._apply(fn, row) if self.nested else fn(*row) for row in (rows[::-1] if self.reverse else rows)]
        kind = type(first) if type(first) in (tuple, list) and in_graph() else tuple
        return kind(each[::-1] if self.reverse else each)


class Map(HyperMap):
    """Applies a function to the items of containers.

    >>> Map()(lambda x: -x, (1, 2))
    (-1, -2)
    """

    nested = False

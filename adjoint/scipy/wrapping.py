"""The thin wrapper around a function of SciPy: who computes a call, SciPy or the mirror in this package."""

from __future__ import annotations

import functools
from collections.abc import Callable
from importlib import import_module
from types import FunctionType, MethodType
from typing import Any, TypeVar

import numpy as np

from adjoint.core import context
from adjoint.core.dispatch import Value, wrap
from adjoint.core.errors import CutGradientError, called_at, refused
from adjoint.core.library_functions import WRAPPERS
from adjoint.ops.numpylike.common import array_of, is_plain, is_traced, replaced, values_in, would_cut

MARK = "__adjoint_original__"
Function = TypeVar("Function", bound=Callable[..., Any])
_PLAIN = frozenset({int, float, bool, complex, str, type(None), np.float64, np.int64, np.ndarray})


def takes_functions(function: Function) -> Function:
    """A decorator: this function calls functions that it is given, which may read Tensors from outside."""
    function.takes_functions = True  # type: ignore[attr-defined]
    return function


def has_tensors(args: Any) -> bool:
    """Whether there is a Tensor among arguments, or in lists, tuples and object arrays among them."""
    for x in args:
        if isinstance(x, Value):
            return True
        if type(x) in _PLAIN:
            if type(x) is np.ndarray and x.dtype.hasobject and next(values_in(x), None) is not None:
                return True
        elif isinstance(x, (list, tuple)) and not _PLAIN.issuperset(map(type, x)) and has_tensors(x):
            return True
    return False


def _provided(mirror: str | None, name: str) -> Any:
    """What the mirror has under a name of SciPy's; None if it has nothing."""
    if mirror is None:
        return None
    module = import_module(mirror)
    if "." in name:
        return getattr(module, "METHODS", {}).get(name)
    return vars(module).get(name)


def refusal(called: str, mirror: str | None) -> CutGradientError:
    """What is raised for a function of SciPy that is not provided."""
    where = "adjoint.scipy does not have it" if mirror is None else f"{mirror} does not have it"
    instead = " (ad.optimize has optimisers that are differentiated)" if called.startswith("scipy.optimize.") else ""
    return CutGradientError(
        f"{called} cannot be differentiated, batched or compiled: {where}{instead}. Give it a rule with ad.custom_vjp, call it "
        f"through ad.host_callback, or pass x.asnumpy() or ad.stop_gradient(x) if no derivative is wanted.{called_at()}"
    )


def _is_differentiated(ours: Any, args: tuple, kwargs: dict, called: str, mirror: str | None) -> bool:
    """Whether the mirror is to compute a call, for the sake of its derivative; refused where it has nothing and one would be lost."""
    if context.cutting.get() or not is_traced(args, kwargs):
        return False
    if ours is None and would_cut(args, kwargs):
        raise refused(refusal(called, mirror))
    return ours is not None


def _by_mirror(ours: Any, original: Any, args: tuple, kwargs: dict, called: str, mirror: str | None) -> Any:
    """A call with Tensors."""
    if _is_differentiated(ours, args, kwargs, called, mirror):
        return ours(*args, **kwargs)
    if ours is not None and not is_plain(args, kwargs):  # half precision, or on a device
        return ours(*args, **kwargs)
    y = original(*replaced(args, array_of), **replaced(kwargs, array_of))
    return y if ours is None else as_tensors(y)


def as_tensors(y: Any) -> Any:
    """SciPy's result with Tensors for its arrays, as NumPy's functions give them for Tensors."""
    if isinstance(y, (np.ndarray, np.generic)):
        return wrap(y) if y.dtype.kind in "biufc" else y
    if type(y) is tuple:
        return tuple(map(as_tensors, y))
    return y


def _reads_tensors(args: tuple, kwargs: dict) -> bool:
    """Whether a function is among the arguments, inside a transform: it may read a Tensor that is being traced."""
    inside = context.bindings.get() is not None or context.open_tape.get() is not None
    return inside and any(callable(x) and not isinstance(x, type) for x in (*args, *kwargs.values()))


def _constant(given: Any, called: str, mirror: str | None) -> Any:
    """A function to be called by one of SciPy's that is not provided: a result that is being traced is refused by name."""
    if not isinstance(given, (FunctionType, MethodType, functools.partial)):
        return given

    @functools.wraps(given)
    def checked(*args: Any, **kwargs: Any) -> Any:
        y = given(*args, **kwargs)
        if is_traced((y,), {}) and not context.cutting.get():
            raise refused(refusal(called, mirror))
        return y

    return checked


def wrapped(original: Any, home: str, name: str, mirror: str | None) -> Any:
    """The wrapper of a function, to stand in its place."""
    called = f"{home}.{name}"

    @functools.wraps(original)
    def function(*args: Any, **kwargs: Any) -> Any:
        if has_tensors(args) or (kwargs and has_tensors(kwargs.values())):
            return _by_mirror(_provided(mirror, name), original, args, kwargs, called, mirror)
        if _reads_tensors(args, kwargs):
            ours = _provided(mirror, name)
            if hasattr(ours, "takes_functions"):
                return ours(*args, **kwargs)
            args = tuple(_constant(x, called, mirror) for x in args)
            kwargs = {key: _constant(x, called, mirror) for key, x in kwargs.items()}
        return original(*args, **kwargs)

    setattr(function, MARK, original)
    if "." not in name:
        function.__module__, function.__qualname__ = home, name  # where pickle finds it
    WRAPPERS[original] = function
    return function


def wrap_method(cls: type, method: str, home: str, name: str, mirror: str | None) -> None:
    """Put a wrapper on a method that a class has, from itself or from a class above."""
    original = getattr(cls, method, None)
    if original is not None and not (method in vars(cls) and hasattr(original, MARK)):
        setattr(cls, method, wrapped(getattr(original, MARK, original), home, name, mirror))


def wrap_class(cls: Any, home: str, mirror: str | None) -> None:
    """Let the mirror make an object of a class where an argument of its constructor is traced."""
    made: Any = cls.__new__
    called = f"{home}.{cls.__name__}"
    if "__new__" in vars(cls) and hasattr(made, MARK):
        return

    def new(kind: Any, /, *args: Any, **kwargs: Any) -> Any:
        if kind is cls and (has_tensors(args) or has_tensors(kwargs.values())):
            ours = _provided(mirror, cls.__name__)
            if _is_differentiated(ours, args, kwargs, called, mirror):
                return ours(*args, **kwargs)
            if isinstance(ours, type):  # SciPy's own constructor takes some Tensors for arrays
                return ours(*args, **kwargs)
        return made(kind) if made is object.__new__ else made(kind, *args, **kwargs)

    setattr(new, MARK, made)
    cls.__new__ = new


def untraced(original: Any, refuse: Callable[[], Any]) -> Any:
    """What has values but no derivative (samples, `fit`), called by a mirror's own name: SciPy computes it, unless it is traced."""
    if not callable(original):
        return original

    def function(*args: Any, **kwargs: Any) -> Any:
        if is_traced(args, kwargs) and not context.cutting.get():
            refuse()
        return original(*replaced(args, array_of), **replaced(kwargs, array_of))

    return function


def absent(module: str) -> Callable[[str], Any]:
    """The `__getattr__` of a mirror: a name that SciPy has and the mirror has not is named."""

    def missing(name: str) -> Any:
        theirs = import_module(module.removeprefix("adjoint."))
        if not name.startswith("_") and hasattr(theirs, name):
            raise AttributeError(
                f"{module} has no {name!r}: {module.removeprefix('adjoint.')}.{name} works on arrays, and on Tensors outside "
                f"transforms; ad.custom_vjp or ad.host_callback make it part of a traced function."
            )
        raise AttributeError(f"module {module!r} has no attribute {name!r}")

    return missing

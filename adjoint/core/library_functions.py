"""Functions of other libraries that have a wrapper of ours: names bound before adjoint was imported still mean the original."""

from __future__ import annotations

import sys
from collections.abc import Callable
from importlib import import_module
from types import FrameType
from typing import Any

from adjoint.core.errors import LIBRARIES, CutGradientError, called_at

#: The wrapper of a function of SciPy, by the function that SciPy defined.
WRAPPERS: dict[Any, Callable[..., Any]] = {}
#: What the functions are called by which SciPy's decorators call another.
_DECORATORS = {"wrapper", "wrapped", "inner", "_wrapper", "decorated", "new_func"}


def current(function: Any) -> Any:
    """The wrapper of a library's function; every other function is itself."""
    return WRAPPERS.get(function, function)


def is_multimethod(kind: type) -> bool:
    """Whether functions of a class are those of scipy.fft, which are no Python functions."""
    return kind.__module__ == "uarray"


def asking() -> str | None:
    """The function of SciPy that the user called and that asks for an array, as `scipy.linalg.cholesky`; None if it is not SciPy."""
    frame: FrameType | None = sys._getframe(1)
    found = None
    while frame is not None:
        module = str(frame.f_globals.get("__name__", "")).split(".")
        if module[0] == "scipy":
            inside = module[1].startswith("_") if len(module) > 1 else False  # what the packages of SciPy share
            if inside and frame.f_code.co_name in _DECORATORS and (of := _decorated(frame)) is not None:
                found = of
            elif found is None or not (inside or frame.f_code.co_name in _DECORATORS):
                found = _public(module, _called(frame))
        elif module[0] not in LIBRARIES and not frame.f_code.co_filename.startswith("<__array_function__"):
            break
        frame = frame.f_back
    return found


def _public(module: list[str], name: str) -> str:
    """The name of a function as users have it: in the module without a leading `_` that has it, as scipy.stats.qmc."""
    depth = next((k for k, part in enumerate(module) if part.startswith("_")), len(module))
    shown = module[:depth]
    known = [
        shown,
        *([[*shown, module[depth].strip("_")]] if depth < len(module) else []),
        *(shown[:k] for k in range(depth - 1, 1, -1)),
    ]
    for home in known:
        if hasattr(sys.modules.get(".".join(home)), name.partition(".")[0]):
            return ".".join([*home, name])
    return ".".join([*shown[:2], name])


def _decorated(frame: FrameType) -> str | None:
    """The function that one of SciPy's decorators stands around."""
    f = next((frame.f_locals[name] for name in ("f", "fun", "func", "function") if name in frame.f_locals), None)
    module = str(getattr(f, "__module__", None)).split(".")
    return _public(module, f.__name__) if callable(f) and module[0] == "scipy" else None


def _called(frame: FrameType) -> str:
    """The name of a function, or of the class or object whose method it is."""
    name, owner = frame.f_code.co_name, frame.f_locals.get("self")
    if isinstance(kind := frame.f_locals.get("cls"), type) and frame.f_code.co_varnames[:1] == ("cls",):
        return kind.__name__ if name.startswith("__") else f"{kind.__name__}.{name}"
    if name == "__ua_function__":  # SciPy's way from scipy.fft.fft to the code behind it
        return str(getattr(frame.f_locals.get("method"), "__name__", name))
    if owner is None or "self" not in frame.f_code.co_varnames[:1]:
        qualified = getattr(frame.f_code, "co_qualname", name)  # of a static method, from Python 3.11 on
        return name if "<" in qualified else str(qualified)
    package = sys.modules.get(".".join(str(frame.f_globals.get("__name__", "")).split(".")[:2]))
    for public, value in vars(package).items() if package is not None else ():
        if value is owner:  # an object that is called, as scipy.special.legendre_p
            return public if name.startswith("__") else f"{public}.{name}"
    named = getattr(owner, "name", None)
    of = named if isinstance(named, str) else type(owner).__name__
    return of if name.startswith("__") else f"{of}.{name}"


def unconverted(function: str) -> CutGradientError:
    """What is raised where a function of SciPy asks a Tensor that is being traced for an array."""
    given = (
        f"{function} was given a Tensor that is being differentiated, batched or compiled, and works on plain arrays. "
    )
    if _is_provided(function):
        way = f"Its name was bound before adjoint was imported: import adjoint first, or call adjoint.{function}."
    else:
        way = (
            "adjoint does not provide it: give it a rule with ad.custom_vjp, call it through ad.host_callback, or pass x.asnumpy() if "
            "no derivative is wanted."
        )
    return CutGradientError(given + way + called_at())


def _is_provided(function: str) -> bool:
    """Whether adjoint.scipy has a function of this name."""
    module, _, name = f"adjoint.{function}".rpartition(".")
    try:
        return name in vars(import_module(module))
    except ImportError:
        return False

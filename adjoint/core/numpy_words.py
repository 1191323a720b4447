"""What NumPy and SciPy say of Tensors in lists and arrays of objects, in our words: which call it was, and what to write."""

from __future__ import annotations

from types import FrameType, TracebackType
from typing import Any

import numpy as np

from adjoint.core.dispatch import Value
from adjoint.core.errors import LIBRARIES, AdjointError, CutGradientError, shown_place

#: What their C code says of an array of objects.
_SAID = (
    "dtype('O')",
    "loop of ufunc does not support argument",
    "not supported for the input types",
    "object arrays are not supported",
)

_OF_OBJECTS = (
    "NumPy and SciPy make an array of objects of a list like [x, 1.0] that holds Tensors, and this function does not compute with "
    "objects ({}). Make one Tensor of it: adjoint.numpy.array([x, 1.0])."
)
_OF_ARRAYS = (
    "a function written in C was given a Tensor that is being differentiated, batched or compiled, and takes plain arrays only ({}). "
    "Write it in functions of NumPy, SciPy or adjoint, call it through ad.host_callback, or pass x.asnumpy() if no derivative is wanted."
)


def is_about_objects(error: Exception) -> bool:
    """Whether an error of NumPy's or SciPy's is about the elements of an array of objects."""
    return any(words in str(error) for words in _SAID)


def in_our_words(error: Exception) -> Exception:
    """An error of NumPy's about objects as one about Tensors, where the line that it comes from computes with traced ones."""
    if isinstance(error, AdjointError) or not isinstance(error, (TypeError, ValueError, AttributeError)):
        return error
    if isinstance(error, AttributeError):
        of_objects = _is_raised_by(error.__traceback__, ("numpy", "scipy"))  # it asked an element for what arrays have
    else:
        of_objects = is_about_objects(error)
    if not of_objects and not str(error).endswith("not Tensor"):
        return error
    frame, line = _innermost_of_user(error.__traceback__)
    if frame is None or not any(map(_holds_traced, frame.f_locals.values())):
        return error
    text = _OF_OBJECTS if of_objects else _OF_ARRAYS
    place = shown_place((frame.f_code.co_filename, line))
    return CutGradientError(f"{text.format(error)}\n    called at {place}").with_traceback(error.__traceback__)


def _innermost_of_user(traceback: TracebackType | None) -> tuple[FrameType | None, int]:
    found: tuple[FrameType | None, int] = None, 0
    while traceback is not None:
        library = str(traceback.tb_frame.f_globals.get("__name__", "")).split(".")[0]
        if library not in LIBRARIES:
            found = traceback.tb_frame, traceback.tb_lineno
        traceback = traceback.tb_next
    return found


def _is_raised_by(traceback: TracebackType | None, libraries: tuple[str, ...]) -> bool:
    """Whether an error comes from the code of one of these libraries itself."""
    while traceback is not None and traceback.tb_next is not None:
        traceback = traceback.tb_next
    return traceback is not None and str(traceback.tb_frame.f_globals.get("__name__", "")).split(".")[0] in libraries


def _holds_traced(x: Any) -> bool:
    if isinstance(x, Value):
        return x.tracked
    if isinstance(x, np.ndarray):
        return x.dtype.hasobject and any(map(_holds_traced, x.flat))
    return isinstance(x, (list, tuple)) and any(map(_holds_traced, x))

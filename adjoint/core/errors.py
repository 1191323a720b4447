"""Errors that name the op, the shapes, the user's line and the fix."""

from __future__ import annotations

import contextlib
import functools
import itertools
import os
import sys
import warnings
from collections.abc import Callable
from threading import get_ident
from types import FrameType, TracebackType
from typing import Any, TypeVar

from adjoint.core import context
from adjoint.core.parsing import line_of

PACKAGE = os.path.dirname(os.path.dirname(os.path.abspath(__file__))) + os.sep
LIBRARIES = {"adjoint", "numpy", "scipy", "threading"}  # not the user's own code
F = TypeVar("F", bound=Callable[..., Any])


class AdjointError(Exception):
    """Base of every error that adjoint raises on purpose; each is Python's own kind too, a ValueError or TypeError for example."""


class ShapeError(AdjointError, ValueError, RuntimeError):
    """Inputs whose shapes do not fit the operation: a ValueError as in NumPy, a RuntimeError as in PyTorch."""


class UnknownShapeError(ShapeError):
    """A result whose shape depends on values that are not known yet."""


class DtypeError(AdjointError, TypeError):
    """Inputs whose dtypes do not fit the operation."""


class SeveralElementsError(DtypeError, ValueError):
    """A number was asked for where a Tensor has several elements, or none; NumPy's kinds of error for it."""


class AmbiguousTruthError(DtypeError, ValueError):
    """The truth of an array of several elements; NumPy's kind of error too."""


class IndexingError(AdjointError, IndexError):
    """An index outside an axis, or of a kind that cannot index."""


class ArgumentError(AdjointError, ValueError):
    """An argument whose value makes no sense."""


class ArgumentTypeError(AdjointError, TypeError):
    """An argument of the wrong kind, or one that is missing."""


class SharingError(AdjointError, BufferError):
    """Memory that cannot be shared with another library; a BufferError, as DLPack has it."""


class DeviceError(AdjointError, ValueError, RuntimeError):
    """Values on different devices, or on another one than the function runs on."""


class GpuKernelError(AdjointError, RuntimeError):
    """A kernel of our own that cannot be made for a GPU, or not be loaded: XLA does its work then."""


class MemoryBudgetError(AdjointError, MemoryError):
    """What cannot be done in the memory that was allowed for it."""


class NotDifferentiableError(AdjointError, TypeError):
    """A derivative was asked for where there is none."""


class CutGradientError(AdjointError, TypeError):
    """A conversion that would silently cut the gradient."""


class BatchedError(DtypeError):
    """Python asked for one value where vmap has a batch of them."""


class EndedTransformError(AdjointError, RuntimeError):
    """A Tensor outlived the transform that made it."""


class HookError(AdjointError, RuntimeError):
    """A hook gave back what cannot stand for what it was given."""


class OffloadError(AdjointError, OSError):
    """Checkpoints of a gradient that could not be written to disk."""


class NotExportableError(AdjointError, NotImplementedError):
    """A function that cannot be written to a file of the kind that was asked for: some part of it needs Python, or has no counterpart."""


class NoRuleError(AdjointError, NotImplementedError):
    """An op lacks the rule that was needed."""

    def __init__(self, op: Any, rule: str, hint: str = "") -> None:
        hint = hint or f"Add `{rule}` to its card, or wrap the value in stop_gradient."
        super().__init__(f"{op} has no {rule} rule{called_at()}.\n{hint}")


class PerformanceWarning(UserWarning):
    """A program that is right, and slower than it looks: the base of such warnings."""


class PromotionWarning(PerformanceWarning):
    """Values in float32 become float64 in compiled code, because a NumPy number or array is."""


class RecompileWarning(PerformanceWarning):
    """A function is compiled again and again, because something that it reads changes between calls."""


def user_frame() -> FrameType | None:
    """The nearest calling frame that is not part of adjoint, NumPy or SciPy."""
    frame: FrameType | None = sys._getframe(1)
    while frame is not None:
        library = str(frame.f_globals.get("__name__", "")).split(".")[0]
        if library not in LIBRARIES:
            return frame
        frame = frame.f_back
    return None


_of_libraries: dict[str, bool] = {}  # whether a file belongs to adjoint, NumPy or SciPy


def user_place() -> tuple[str, int] | None:
    """File and line of the nearest calling frame that is the user's: as `user_frame`, for every step of a trace."""
    frame: FrameType | None = sys._getframe(1)
    while frame is not None:
        path = frame.f_code.co_filename
        known = _of_libraries.get(path)
        if known is None:
            known = str(frame.f_globals.get("__name__", "")).split(".")[0] in LIBRARIES
            if path[:1] != "<":  # generated code has its name from whoever made it
                _of_libraries[path] = known
        if not known:
            return path, frame.f_lineno
        frame = frame.f_back
    return None


def warn_user(message: str, kind: type[Warning] = UserWarning) -> None:
    """A warning at the user's line."""
    frame = user_frame()
    if frame is None:
        warnings.warn(message, kind, stacklevel=2)
    else:
        warnings.warn_explicit(message, kind, frame.f_code.co_filename, frame.f_lineno)


_warned: dict[Any, Any] = {}  # what Python has shown; it forgets with each change of the filters


def warn_at(place: tuple[str, int], message: str, kind: type[Warning]) -> None:
    """A warning at a line of the user's program that need not be running now."""
    warnings.warn_explicit(message, kind, *place, registry=_warned)


def user_line() -> str:
    """The user's place in the program, as `file.py:12: z = x @ w`; empty if there is none."""
    frame = user_frame()
    return "" if frame is None else shown_place((frame.f_code.co_filename, frame.f_lineno))


def shown_place(place: tuple[str, int]) -> str:
    """A line of a program as messages show it: `file.py:12: z = x @ w`."""
    path, number = place
    text = line_of(path, number).strip()
    return f"{os.path.basename(path)}:{number}" + (f": {text}" if text else "")


def called_at() -> str:
    """A clause for the end of a message: where the user called from."""
    line = user_line()
    return f"\n    called at {line}" if line else ""


_CALLED = "\n    called at "


def place_error(error: Exception, place: tuple[str, int] | None, own: bool) -> None:
    """Name the line of the user's program whose step failed in compiled code; an exception of the user's `own` keeps its text."""
    if is_placed(error):
        return
    with contextlib.suppress(AttributeError, TypeError):  # an exception that takes no attributes is left as it is
        error._adjoint_placed = True  # type: ignore[attr-defined]
        if place is None:
            return
        where = "in the derivative of" if isinstance(place, context.DerivativePlace) else "at"
        line = f"{where} {shown_place(place)}"
        if own:
            if sys.version_info >= (3, 11) and not getattr(error, "__notes__", None):
                error.add_note(f"{line} (in compiled code)")
        elif len(error.args) == 1 and isinstance(error.args[0], str):
            text, called, after = error.args[0].partition(_CALLED)
            called, after = ("", "") if after == shown_place(place) else (called, after)
            error.args = (f"{text}\n    {line}{called}{after}",)


def is_placed(error: BaseException) -> bool:
    """Whether an error names the step of a graph that failed."""
    return getattr(error, "_adjoint_placed", False)


def user_frames(traceback: TracebackType | None) -> TracebackType | None:
    """The traceback without frames of adjoint, as long as something of the user's is left."""
    frames = []
    while traceback is not None:
        frames.append(traceback)
        traceback = traceback.tb_next
    kept = [tb for tb in frames if not tb.tb_frame.f_code.co_filename.startswith(PACKAGE)]
    for here, following in itertools.pairwise([*kept, None]):
        assert here is not None
        here.tb_next = following
    return kept[0] if kept else None


Refusal = tuple[type[AdjointError], str]
#: By thread, what has been refused inside a transform and has not come out of it as an error.
_refused: dict[int, Refusal] = {}
#: By thread, what was refused last while a graph was built.
_refused_in_trace: dict[int, Refusal] = {}
_SAID_BY_NUMPY = (IndexError, TypeError, ValueError)


def refused(error: AdjointError) -> AdjointError:
    """An error that a function has only under a transform: if the function catches it, the transform raises it in the end.

    Code that is traced does not catch it in the first place: see `refusal_behind`.
    """
    if context.tracer.get() is not None:
        _refused_in_trace[get_ident()] = type(error), str(error)
    elif context.bindings.get() is not None:
        _refused[get_ident()] = type(error), str(error)
    return error


def last_refusal() -> Refusal | None:
    """What was refused last while a graph was built."""
    return _refused_in_trace.get(get_ident())


def forget_refusal() -> None:
    """What was refused has been mended."""
    _refused_in_trace.pop(get_ident(), None)


def refusal_behind(error: BaseException, before: Refusal | None = None) -> AdjointError | None:
    """The refusal that an error stands for, if one came since `before`: NumPy swallows what `__index__` raises, and says its own."""
    found = last_refusal()
    if found is None or found is before or not isinstance(error, Exception):
        return None
    if isinstance(error, AdjointError):
        return found[0](str(error)) if _comes_from(error, found[1]) else None
    return found[0](found[1]) if isinstance(error, _SAID_BY_NUMPY) or _comes_from(error, found[1]) else None


def _comes_from(error: BaseException, text: str) -> bool:
    """Whether an error was raised in place of one that says this."""
    inner: BaseException | None = error
    while inner is not None and str(inner) != text:
        inner = inner.__cause__ or inner.__context__
    return inner is not None


def _check_caught() -> None:
    """Raise what the function has caught: it went on in another way than with plain numbers."""
    found = _refused.pop(get_ident(), None)
    if found is not None:
        raise found[0](
            f"{found[1]}\n    An `except` of the function caught this, so that it went on in another way than with plain numbers. Leave "
            f"the `try` out, or ask `isinstance(x, ad.Tensor)` first."
        )


def boundary(function: F) -> F:
    """Hide adjoint's frames in the traceback of an error that passes through a public function.

    Set the environment variable ADJOINT_TRACEBACK=full to see them.
    """

    @functools.wraps(function)
    def guarded(*args: Any, **kwargs: Any) -> Any:
        try:
            result = function(*args, **kwargs)
            if _refused:
                _check_caught()
            return result
        except Exception as error:
            behind = _refused.pop(get_ident(), None)
            if behind and isinstance(error, _SAID_BY_NUMPY) and not isinstance(error, AdjointError):
                error = behind[0](behind[1]).with_traceback(error.__traceback__)  # NumPy's words in place of ours
            if isinstance(error.__cause__, CutGradientError):  # NumPy's words around ours: `array[0] = tensor`
                error = error.__cause__
            from adjoint.core.numpy_words import in_our_words  # which knows Tensors

            error = in_our_words(error)
            if os.environ.get("ADJOINT_TRACEBACK") == "full":
                raise
            raise error.with_traceback(user_frames(error.__traceback__)) from error.__cause__
        except BaseException:
            _refused.pop(get_ident(), None)
            raise

    return guarded  # type: ignore[return-value]

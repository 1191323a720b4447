"""The branch or loop that is being traced: what it may do while Python runs it, and what it may not.

Python runs a branch while the graph is built, whatever the graph will choose, and the body of a loop once for all iterations.
"""

from __future__ import annotations

import builtins
import dis
import io
import random
from collections.abc import Callable, Iterator
from contextlib import ExitStack, contextmanager, suppress
from contextvars import ContextVar, Token
from dataclasses import dataclass
from itertools import pairwise
from types import CodeType, FunctionType, GeneratorType, TracebackType
from typing import Any

import numpy as np

from adjoint.core import context
from adjoint.core.errors import (
    AdjointError,
    BatchedError,
    CutGradientError,
    UnknownShapeError,
    called_at,
    last_refusal,
    refusal_behind,
)
from adjoint.frontend.errors import ControlFlowError, LeakError, UnsupportedSyntaxError
from adjoint.frontend.heap import Heap
from adjoint.frontend.kinds import facets
from adjoint.frontend.libraries import is_users_class
from adjoint.frontend.state import Again, refused
from adjoint.graph.numbers import NeedsNumberError


class Abandoned(BaseException):
    """A branch or iteration ends here by an exception, which the graph raises when it runs."""


@dataclass(eq=False)
class Block:
    """The branch or iteration of a loop that is being traced. `when` says whether it takes place; it is made if it is `wanted`.

    `heap` is what was there before it; `where` names it in messages.
    """

    heap: Heap
    where: str
    wanted: bool = False
    when: Any = None


current: ContextVar[Block | None] = ContextVar("current", default=None)
#: Whether Python can run the loop that is being traced, if anything fails.
attempting: ContextVar[bool] = ContextVar("attempting", default=False)


@contextmanager
def inside(block: Block, when: Any) -> Iterator[None]:
    """Trace a branch or an iteration."""
    block.when = when
    with context.setting(current, block), block.heap.locked():
        yield


def when() -> Any:
    """Whether the code being traced takes place when the graph runs: True, or a graph value."""
    block = current.get()
    if block is None:
        return True
    if block.when is None:
        block.wanted = True
        raise Again
    return block.when


# ---------------------------------------------------------------- `try`

_UNTRIED: Any = object()
_tried: ContextVar[Any] = ContextVar("tried", default=_UNTRIED)
#: What tracing and transforms raise where plain Python does not: no `except` of the user's is meant for it.
OURS = (
    ControlFlowError, LeakError, UnsupportedSyntaxError, NeedsNumberError, CutGradientError, BatchedError, UnknownShapeError, Again,
    Abandoned,
)  # fmt: skip


#: What refusals of other kinds say, which plain Python does not raise either.
_ONLY_THEN = "known only when the graph runs"
#: What NumPy says of an index of objects, graph values perhaps.
_NO_INDEX = ("arrays used as indices must be of integer", "only integers, slices")


class trying:
    """The body of a `try` that has handlers for some kinds of errors."""

    __slots__ = ("before", "caught", "kinds", "token")
    token: Token
    caught: Token
    before: Any

    def __init__(self, kinds: Callable[[], Any]) -> None:
        try:
            self.kinds = _classes(kinds())
        except Exception:  # whatever it was: Python raises it again where it looks for a handler
            self.kinds = (BaseException,)

    def __enter__(self) -> None:
        self.token = _tried.set(current.get())
        self.caught = context.caught.set((*context.caught.get(), *self.kinds))
        self.before = last_refusal()

    def __exit__(self, kind: type | None, error: BaseException | None, at: TracebackType | None) -> None:
        context.caught.reset(self.caught)
        _tried.reset(self.token)
        if error is not None and not isinstance(error, OURS) and (refusal := refusal_behind(error, self.before)):
            raise refusal from error
        if isinstance(error, AdjointError) and not isinstance(error, OURS) and _ONLY_THEN in str(error):
            raise NeedsNumberError(str(error)) from error
        if type(error) is IndexError and str(error).startswith(_NO_INDEX) and context.tracer.get() is not None:
            raise NeedsNumberError(
                f"an index that NumPy cannot take, of numbers that are known only when the graph runs perhaps. Index a Tensor in place "
                f"of the NumPy array, ad.Tensor(array)[i], or leave the `try` out{called_at()}"
            ) from error


def _classes(kinds: Any) -> tuple[type, ...]:
    """Classes of errors, from a tuple of such; None stands for all."""
    if isinstance(kinds, tuple):
        return tuple(c for k in kinds for c in _classes(k))
    return (kinds if isinstance(kinds, type) else BaseException,)


class _Swallowing:
    """A context manager that may swallow errors; but not what tracing itself raises."""

    def __init__(self, manager: Any) -> None:
        kinds: Any = vars(manager)["_exceptions"] if type(manager) is suppress else None
        self.manager, self.tried = manager, trying(lambda: kinds)

    def __enter__(self) -> Any:
        entered = type(self.manager).__enter__(self.manager)
        self.tried.__enter__()
        return entered

    def __exit__(self, kind: type | None, error: BaseException | None, at: TracebackType | None) -> Any:
        self.tried.__exit__(kind, error, at)
        swallowed = type(self.manager).__exit__(self.manager, kind, error, at)
        return swallowed and not isinstance(error, OURS)


def managed(manager: Any) -> Any:
    """The context manager of a `with`."""
    kind = type(manager)
    if not hasattr(kind, "__enter__") or not hasattr(kind, "__exit__"):
        return manager  # Python's own complaint
    generator = getattr(manager, "gen", None)
    if isinstance(generator, GeneratorType):  # made by contextlib.contextmanager
        ours = generator.gi_frame is not None and generator.gi_frame.f_globals.get("__package__", "") == "adjoint.core"
        return _Swallowing(manager) if _goes_on(generator.gi_code) and not ours else manager
    exits = kind.__exit__
    known = type(exits) is FunctionType and (_gives_nothing(exits.__code__) or exits.__module__.startswith("adjoint."))
    python = type(exits) is FunctionType or is_users_class(kind)  # those in C swallow nothing
    swallows = isinstance(manager, (suppress, ExitStack)) or (python and not known)
    return _Swallowing(manager) if swallows else manager


def _goes_on(code: CodeType) -> bool:
    """Whether code may go on after an error that it caught: where it is done with one it raises it again, or not."""
    names = [i.opname for i in dis.get_instructions(code)]
    return any(a == "POP_EXCEPT" and b != "RERAISE" for a, b in pairwise(names))


def _gives_nothing(code: CodeType) -> bool:
    """Whether all that a function returns is None or False."""
    steps = list(dis.get_instructions(code))
    constants = [i for i in steps if i.opname == "RETURN_CONST"]
    values = [a for a, b in pairwise(steps) if b.opname == "RETURN_VALUE"]
    return all(i.opname == "LOAD_CONST" or i in constants for i in (*constants, *values)) and not any(
        i.argval for i in (*constants, *values)
    )


def is_tried() -> bool:
    """Whether a `try` around the code being traced may catch what it raises."""
    return _tried.get() is not _UNTRIED


def is_tried_here() -> bool:
    """Whether that `try` stands in the same branch or loop, so that Python knows what is raised."""
    return _tried.get() is current.get()


def uncaught(what: str, place: str) -> ControlFlowError:
    """The refusal of an error that may be raised when the graph runs, inside a `try` of Python's."""
    return ControlFlowError(
        f"whether {what} at {place} is reached is known only when the graph runs, where no `except` can catch it. "
        f"Move it out of the `try`, or compute a value for that case with ops.where"
    )


def outcome(error: BaseException, block: Block) -> BaseException:
    """What to raise for an error in a branch or loop: the error, or a refusal where it means something else."""
    if isinstance(error, OURS) or not isinstance(error, Exception):
        return error
    if isinstance(error, ValueError) and "read-only" in str(error) and block.heap.large:
        return refused("a large NumPy array is changed in", block.where, facets(block.heap.large[0])[0].advice)
    if is_tried():
        return uncaught(f"what raises {type(error).__name__} in {block.where}, inside a `try`", "that place")
    return error


# ---------------------------------------------------------------- calls of what is not converted

_DRAW = "Draw with ops.randn or ops.rand, which are part of the graph, or draw before the {block}"
_BEFORE = "Do it before the {block}, or pass the value in as an argument"
_WORLD = {
    "time",
    "secrets",
    "uuid",
    "logging",
    "warnings",
    "subprocess",
    "shutil",
    "socket",
    "posix",
    "nt",
    "_io",
    "io",
}
_HARMLESS = {
    "fspath",
    "getcwd",
    "getpid",
    "cpu_count",
    "strftime",
    "gmtime",
    "StringIO",
    "BytesIO",
    "struct_time",
    "getLogger",
}
_NO_ITERATION = {isinstance, issubclass, id, type, repr, callable, hasattr, getattr, iter, builtins.print}
_RANDOM = (random.Random, np.random.Generator, np.random.RandomState, np.random.BitGenerator)


def check_call(fn: Any, args: tuple[Any, ...]) -> None:
    """Refuse, in a branch or loop, a call that changes what Python alone can change, before it does."""
    block = current.get()
    if block is None or (type(fn) is FunctionType and fn.__module__ not in _WORLD):
        return
    name = getattr(fn, "__name__", type(fn).__name__)
    module = getattr(fn, "__module__", None)
    owner = getattr(fn, "__self__", None)
    if isinstance(owner, _RANDOM) and (owner in block.heap or isinstance(owner, random.SystemRandom)):
        raise refused(f"`{name}` draws random numbers in", block.where, _DRAW)
    if name == "default_rng" and module == "numpy.random._generator" and not any(args):
        raise refused(f"`{name}` draws random numbers in", block.where, _DRAW)
    in_memory = isinstance(owner, (io.StringIO, io.BytesIO)) or fn in (io.StringIO, io.BytesIO)
    world = module in _WORLD or fn in (builtins.input, builtins.open) or isinstance(owner, io.IOBase)
    world = world or (isinstance(owner, ContextVar) and name != "get")  # a network reads some when it is called
    if world and not in_memory and name not in _HARMLESS:
        raise refused(f"`{name}` is called in", block.where, _BEFORE)
    check_iteration(owner)
    if fn not in _NO_ITERATION and not (isinstance(fn, type) and is_users_class(fn)):
        for x in args:
            check_iteration(x)


def check_iteration(x: Any) -> None:
    """Refuse to take items, in a branch or loop, from an iterator that was there before."""
    block = current.get()
    if block is None or not isinstance(x, Iterator) or is_users_class(type(x)) or x not in block.heap:
        return
    if not (found := facets(x)):
        return  # one of ours, which refuses by itself
    facet = found[0]
    raise refused(f"items are taken from {facet.what} ({type(x).__name__}) in", block.where, facet.advice)

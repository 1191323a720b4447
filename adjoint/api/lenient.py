"""What cannot become a graph runs op by op, where that is asked for: MindSpore's manner of falling back to the interpreter.

A refused trace leaves nothing behind (`frontend.leaks` puts all that the function can reach back as it was, and effects such as
`print` belong to the graph), so that the function can be run from its beginning.
"""

from __future__ import annotations

from collections import deque
from typing import Any

import numpy as np

from adjoint.core import context, tree, views
from adjoint.core.dispatch import Value, snapshot
from adjoint.core.errors import forget_refusal, warn_user
from adjoint.core.parameter import Parameter
from adjoint.core.spec import number_of
from adjoint.core.tensor import Tensor
from adjoint.frontend.reads import recorder

ARRAYS = (Value, np.ndarray, np.generic)

#: The last functions that ran op by op for want of a graph, each with the error of the compiler.
refusals: deque[tuple[str, Exception]] = deque(maxlen=100)


def instead(compiled: Any, error: Exception, args: tuple[Any, ...], kwargs: dict[str, Any]) -> Any:
    """What a refused function gives op by op, where that is allowed; if it fails there too, it fails as it does in Python.

    From now on it is not traced again. In a graph around it, it is the whole that is refused.
    """
    if not context.lenient.get() or recorder.get() is not None or getattr(error, "is_final", False):
        raise error
    forget_refusal()
    result = as_python_runs(compiled._target(), args, kwargs)
    compiled._unreadable = True
    compiled.notes.append(f"{compiled!r} runs op by op, without a graph: {error}")
    refusals.append((repr(compiled), error))
    return result


def op_by_op(compiled: Any, error: Exception) -> Any:
    """The function as Python runs it, from now on, with a word on why."""
    compiled._unreadable = True
    warn_user(f"{compiled!r} runs op by op, without a graph: {error}")
    return compiled._target()


def as_python_runs(target: Any, args: tuple[Any, ...], kwargs: dict[str, Any]) -> Any:
    """What a function gives that Python runs in place of a graph: its caller sees `x += v` in an argument, but no `x[i] = v`."""
    if not context.lenient.get():
        return target(*args, **kwargs)
    given = {id(x): x for x in (*args, *kwargs.values()) if isinstance(x, Tensor) and not isinstance(x, Parameter)}
    mine = {key: x.copy() for key, x in given.items()}
    before = {key: x._value for key, x in mine.items()}
    with context.setting(views.kept, {}):
        named = {name: mine.get(id(x), x) for name, x in kwargs.items()}
        result = target(*(mine.get(id(x), x) for x in args), **named)
        after = {key: views.outside(x) for key, x in mine.items()}
    for key, x in given.items():
        if after[key]._value is not before[key]:
            views.write(x, after[key])
    return tree.map(lambda y: snapshot(y) if type(y) is Tensor else y, result)  # none of which is written to again


def final(error: Exception) -> Exception:
    """An error that a program is to have where it is compiled, although it would run op by op."""
    error.is_final = True  # type: ignore[attr-defined]
    return error


def as_python(values: list[Any], numbers: list[bool]) -> list[Any]:
    """Results that are numbers to Python as Python's own; what a transform is following stays a Tensor."""
    return [_number(y) if yes else y for y, yes in zip(values, numbers, strict=True)]


def _number(y: Any) -> Any:
    return y.item() if getattr(y, "_trace", None) is not None and y._trace.level <= 1 else y


def is_python_number(y: Any) -> bool:
    """Whether a value of a trace is a number to Python."""
    return isinstance(y, Value) and number_of(y) is not None

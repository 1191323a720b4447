"""What Python asks of a number, where a graph value stands for one: `is`, `in`, `isinstance`, attributes, conversions.

Where the answer is known it is given: the counter of a loop is an int. Where it is a matter of the number it becomes part of the
graph (`k in {3}` is `k == 3`). Otherwise NeedsNumberError says that Python must run the loop.
"""

from __future__ import annotations

import builtins
import math
from collections import deque
from collections.abc import Callable, ItemsView, KeysView, Mapping, Set, ValuesView
from numbers import Number as AnyNumber
from typing import Any

import numpy as np

from adjoint.core.dispatch import Value
from adjoint.core.errors import called_at
from adjoint.core.spec import Number, dtype_of
from adjoint.core.tensor import Tensor
from adjoint.frontend import aliases, looked_up, reading, state
from adjoint.frontend.items import GraphRange, RunIterable
from adjoint.graph.control import Control
from adjoint.graph.node import Const, Node, Param, Pick
from adjoint.graph.number_types import kinds_of, needs, types_of
from adjoint.graph.numbers import NeedsNumberError, as_number, is_number, kind_of, renumbered
from adjoint.ops.functional import logical_not

_MANY = 64  # a container of more elements is not compared one by one


def _has(x: Any, name: str) -> bool:
    """Whether the Python number that a graph value stands for has an attribute."""
    found = {hasattr(kind(0), name) for kind in types_of(x)}
    return found.pop() if len(found) == 1 else hasattr(kind_of(x)(0), name)


# ---------------------------------------------------------------- operators


def is_(a: Any, b: Any) -> Any:
    """`a is b`."""
    reading.identified(a, b)
    if a is b or not (isinstance(a, Value) or isinstance(b, Value)):
        return a is b
    if is_number(b):
        a, b = b, a
    if is_number(a):
        if isinstance(b, bool):
            return (a if b else logical_not(a)) if kind_of(a) is bool else False
        if isinstance(b, (int, float, complex)) or is_number(b):
            raise NeedsNumberError(f"`is` between numbers that are known only when the graph runs: use =={called_at()}")
        return False
    if state.is_graph_value(a) and state.is_graph_value(b) and (_passed(a) or _passed(b)):
        raise unidentified()
    return False


def unidentified() -> NeedsNumberError:
    """The refusal of a question which object this is."""
    return NeedsNumberError(
        f"`is` or `id` of objects that came out of a branch or a loop of the graph, or are arguments of the compiled function: those "
        f"are values, and not objects. Keep a number that says which one it is, or pass one{called_at()}"
    )


def _innermost(x: Any) -> Any:
    """The value of the graph that transforms have wrapped."""
    while isinstance(x._value, Value):
        x = x._value
    return x


def _passed(x: Any) -> bool:
    """Whether a value came through a branch or a loop, which hand on values and not objects."""
    x = _innermost(x)
    op = getattr(x._value, "op", None)
    if isinstance(op, Pick):
        return isinstance(x._value.inputs[0].op, Control)
    return isinstance(op, Param) and x._trace.inner


def is_not(a: Any, b: Any) -> Any:
    """`a is not b`."""
    answer = is_(a, b)
    return logical_not(answer) if isinstance(answer, Value) else not answer


def in_(x: Any, container: Any) -> Any:
    """`x in container`."""
    graph = state.is_graph_value(x)
    if isinstance(container, GraphRange) and (isinstance(x, (int, float)) or is_number(x)):
        return container.has(x)
    if isinstance(container, (Tensor, np.ndarray)):
        if not graph and not state.is_graph_value(container):
            return x in container
        return as_number((Tensor(container) == x).any(), 0, 1)
    if isinstance(container, (list, tuple, deque, ValuesView)):
        return _among(x, list(container)) if graph or any(map(state.is_graph_value, container)) else x in container
    if not is_number(x):
        return x in container
    if type(container) is range:
        return _in_range(x, container)
    if isinstance(container, (Set, KeysView, Mapping)) and not isinstance(container, ItemsView):
        return _among(x, [y for y in container if isinstance(y, AnyNumber)])
    return x in container  # what it asks of x raises, if it is a number that is not known


def _among(x: Any, elements: list[Any]) -> Any:
    """Whether a value is one of some, or equal to one."""
    if len(elements) > _MANY:
        raise needs(f"this looks for a number among {len(elements)}")
    found: Any = False
    for y in elements:
        if y is x:
            return True
        if (is_number(x) and not isinstance(y, (AnyNumber, *state.ARRAYS))) or (
            is_number(y) and not isinstance(x, (AnyNumber, *state.ARRAYS))
        ):
            continue
        same = x == y
        if not state.is_graph_value(same):
            if same:
                return True
            continue
        if same.size != 1:
            return x in elements  # Python's own complaint
        same = same if same.shape == () else same.reshape(())
        found = same if found is False else found | same
    return as_number(found, 0, 1)


def _in_range(x: Any, numbers: range) -> Any:
    if kind_of(x) is float and len(numbers) > _MANY:
        raise needs("this looks for a float in a range")
    if len(numbers) <= _MANY:
        return _among(x, list(numbers))
    up = numbers if numbers.step > 0 else numbers[::-1]
    return (x >= up.start) & (x < up.stop) & ((x - up.start) % up.step == 0)


def not_in(x: Any, container: Any) -> Any:
    """`x not in container`."""
    answer = in_(x, container)
    return logical_not(answer) if isinstance(answer, Value) else not answer


def attribute(x: Any, name: str, *how: Any) -> Any:
    """`x.name` where a `try` may catch that there is none."""
    if is_number(x) and not _has(x, name):
        raise AttributeError(f"{kind_of(x).__name__!r} object has no attribute {name!r}")
    return reading.attr(x, name, *how)


# ---------------------------------------------------------------- builtins


def _may_be_number(x: Any) -> bool:
    """Whether a value of a batch may be a number to Python: an integer, or one of several constants. Inputs are Tensors."""
    if not isinstance(x, Value) or x._trace.transparent or not state.is_graph_value(x) or x.shape != ():
        return False
    node = _innermost(x)._value
    if not isinstance(node, Node) or isinstance(node.op, Param):
        return False
    if dtype_of(x).kind in "bi":
        return True
    return bool(node.inputs) and all(isinstance(y.op, Const) or _is_truth(y.spec) for y in node.inputs)


def _is_truth(spec: Any) -> bool:
    return not isinstance(spec, tuple) and spec.dtype.kind == "b"


def _which_kind() -> NeedsNumberError:
    return NeedsNumberError(
        f"this asks what a value of a batch is, which may be a Python number or a Tensor: leave the question out, or ask "
        f"it in a function that is compiled for one example, `vmap(jit(f))`{called_at()}"
    )


def _isinstance(x: Any, classes: Any) -> bool:
    if isinstance(x, RunIterable):
        return issubclass(x.kind, classes)
    if not is_number(x):
        answer = reading.isinstance_(x, classes)
        if not answer and _may_be_number(x) and any(issubclass(kind, classes) for kind in (bool, int, float, complex)):
            raise _which_kind()
        return answer
    found = {issubclass(kind, classes) for kind in types_of(x)}
    return found.pop() if len(found) == 1 else issubclass(kind_of(x), classes)


def _type(*args: Any, **options: Any) -> Any:
    if len(args) == 1 and isinstance(args[0], RunIterable):
        return args[0].kind
    if len(args) == 1 and _may_be_number(args[0]):
        raise _which_kind()
    return kind_of(args[0]) if len(args) == 1 and is_number(args[0]) else reading.type_(*args, **options)


def _check_known(x: Any, name: str) -> None:
    """Refuse to say whether a value of a batch has an attribute that Tensors have and numbers do not, or the other way round."""
    if _may_be_number(x) and hasattr(x, name) is not hasattr(0, name):
        raise _which_kind()


def _hasattr(x: Any, name: str) -> bool:
    _check_known(x, name)
    return _has(x, name) if is_number(x) else reading.hasattr_(x, name)


def _getattr(x: Any, name: str, *default: Any) -> Any:
    if default:
        _check_known(x, name)
    if is_number(x) and default and not _has(x, name):
        return default[0]
    return reading.getattr_(x, name, *default)


def _id(x: Any) -> int:
    if is_number(x):
        raise needs("this asks for the identity of a number")
    if aliases.refusal(x) or aliases.are_arguments(x) or (state.is_graph_value(x) and _passed(x)):
        raise unidentified()
    reading.identified(x)
    return id(x)


def _int(*args: Any, **options: Any) -> Any:
    """`int(k)` of an integer is the integer."""
    if len(args) == 1 and not options:
        if is_number(args[0]) and kind_of(args[0]) in (bool, int):
            return args[0] + 0
        if (found := looked_up.int_of(args[0])) is not None:
            return found
    return int(*args, **options)


def _pow(*args: Any, **options: Any) -> Any:
    """`pow(k, n, m)` is for Python to compute."""
    if len(args) + len(options) == 3 and any(map(is_number, (*args, *options.values()))):
        raise needs("this raises an integer to a power by a modulus")
    return pow(*args, **options)


def _float(*args: Any) -> Any:
    """`float(k)` of a number is a conversion, as it is of an element of a constant array."""
    if len(args) == 1:
        if is_number(args[0]) and "c" not in kinds_of(args[0]):
            return args[0] * 1.0
        if (found := looked_up.float_of(args[0])) is not None:
            return found
    return float(*args)


def _kept(python: Callable[..., Any]) -> Callable[..., Any]:
    """A rounding to an integer; one to digits gives a float."""

    def rounded(x: Any, *rest: Any, **options: Any) -> Any:
        if not is_number(x):
            return python(x, *rest, **options)
        if dtype_of(x).kind in "bi":
            if rest or options:
                raise needs("this rounds an integer to digits")
            return x + 0
        y = python(x, *rest, **options)
        return y if rest or options or not is_number(y) else renumbered(y, Number(kinds="i"))

    return rounded


def _sized(python: Callable[..., Any]) -> Callable[..., Any]:
    """A function of NumPy's that makes an array of a given shape."""

    def made(*args: Any, **options: Any) -> Any:
        shape = args[0] if args else options.get("shape", options.get("N"))
        sizes = shape if isinstance(shape, (tuple, list)) else (shape,)
        if any(state.is_graph_value(n) for n in sizes):
            raise NeedsNumberError(
                f"np.{python.__name__} makes an array whose shape depends on a number that is known only when the graph runs. Make "
                f"one that is as large as needed at most and use a part of it with a mask, or pass the number as a static "
                f"argument{called_at()}"
            )
        return python(*args, **options)

    return made


BUILTINS: dict[Any, Callable[..., Any]] = {
    builtins.isinstance: _isinstance,
    type: _type,
    builtins.hasattr: _hasattr,
    builtins.getattr: _getattr,
    builtins.id: _id,
    int: _int,
    float: _float,
    builtins.pow: _pow,
    builtins.round: _kept(round),
    math.floor: _kept(math.floor),
    math.ceil: _kept(math.ceil),
    math.trunc: _kept(math.trunc),
    **{function: _sized(function) for function in (np.zeros, np.empty)},
}

"""A call from converted code: functions of the user are converted too, builtins learn about graph values."""

from __future__ import annotations

import builtins
import functools
import operator
import os
import sys
import weakref
from collections.abc import Callable, Iterator, Set, ValuesView
from types import BuiltinFunctionType, FunctionType, MethodType
from typing import Any

import numpy as np

from adjoint.core import context, library_functions, tree
from adjoint.core.errors import PACKAGE, AdjointError, called_at
from adjoint.core.keywords import behind
from adjoint.core.numpy_words import is_about_objects
from adjoint.core.tensor import Tensor
from adjoint.frontend import looked_up, numbers, reading, reading_calls, state, unseen
from adjoint.frontend.arrays_of_tensors import gathered
from adjoint.frontend.convert import convert_function, is_converted
from adjoint.frontend.copies import chosen
from adjoint.frontend.errors import ControlFlowError, SourceError, UnsupportedSyntaxError
from adjoint.frontend.expressions import RUNTIME
from adjoint.frontend.files import INSTALLED, is_users
from adjoint.frontend.getters import attribute_of, each, method_called
from adjoint.frontend.guards import SIZED
from adjoint.frontend.hidden import CACHED
from adjoint.frontend.items import GraphIterator, GraphRange, RunIterable, backwards, enumerated, zipped
from adjoint.frontend.libraries import is_users_class
from adjoint.frontend.logic import not_, picked, truth
from adjoint.frontend.region import check_call, current
from adjoint.frontend.source import OURS
from adjoint.graph.numbers import MANY, NeedsNumberError, as_number, is_number, kind_of, needs
from adjoint.ops.functional import logical_and

_GATHERED = {list, tuple, np.ndarray}
_FUNCTIONS = (FunctionType, MethodType, operator.attrgetter, operator.itemgetter, operator.methodcaller)
#: Functions whose code suspends itself: calling them runs nothing yet.
_SUSPENDS = 0x20 | 0x80 | 0x200  # generator, coroutine, async generator


def call(fn: Any, /, *args: Any, **kwargs: Any) -> Any:
    """`fn(*args, **kwargs)`."""
    kind = type(fn)
    if kind is BuiltinFunctionType or kind is MethodType:
        if fn is print or (fn.__name__ in ("write", "writelines") and _is_stream(fn.__self__)):
            return _shown(fn, args, kwargs)
        if (recorded := reading.recorder.get()) is not None and any(fn.__self__ is file for file in recorded.printed):
            raise ControlFlowError(f"`{fn.__name__}` of a file that the graph prints into when it runs{called_at()}")
    if current.get() is not None:
        check_call(fn, args)
    if (recorded := reading.recorder.get()) is not None:
        unseen.asked(recorded, fn, args, kwargs)
    if ("a" in kwargs or (args and type(args[0]) in _GATHERED)) and context.tracer.get() is not None:
        args, kwargs = gathered(fn, args, kwargs)
    if kind is FunctionType:
        fn = behind(library_functions.current(fn), kwargs)
        if fn.__code__.co_filename.startswith(PACKAGE):
            args, kwargs = tuple(map(_function_too, args)), {k: _function_too(v) for k, v in kwargs.items()}
        return _ready(fn, args)(*args, **kwargs)
    if kind is MethodType:
        inner = fn.__func__
        if inner is Tensor.item and not (args or kwargs) and (found := looked_up.item_of(fn.__self__)) is not None:
            return found
        if type(inner) is FunctionType:
            inner = library_functions.current(inner)
            return _ready(inner, (fn.__self__, *args))(fn.__self__, *args, **kwargs)
        return call(inner, fn.__self__, *args, **kwargs) if isinstance(inner, CACHED) else fn(*args, **kwargs)
    if library_functions.is_multimethod(kind) and (wrapper := library_functions.current(fn)) is not fn:
        return call(wrapper, *args, **kwargs)
    special = _SPECIAL.get(fn) if kind is type or kind is BuiltinFunctionType else None
    if special is not None:
        return special(*args, **kwargs)
    if _is_item_of_array(fn) and any(map(state.is_graph_value, args)):
        reading.whole(fn.__self__, "item")
        return call(item(fn.__self__, args[0] if len(args) == 1 else args).item)
    if kind is functools.partial:
        reading_calls.bound(fn)
        return call(fn.func, *fn.args, *args, **{**fn.keywords, **kwargs})
    if kind is weakref.ref:
        reading_calls.alive(fn)
        return fn()
    if kind is operator.attrgetter:
        return each([attribute_of(args[0], name) for name in fn.__reduce__()[1]])
    if kind is operator.itemgetter:
        return each([item(args[0], index, "itemgetter") for index in fn.__reduce__()[1]])
    if kind is operator.methodcaller:
        name, given, options = method_called(fn)
        return call(reading.attr(args[0], name), *given, **options)
    if isinstance(fn, type):
        if fn is str:
            reading_calls.handed(args)
        return reading_calls.made(_instance(fn, args, kwargs))
    of_class = getattr(kind, "__call__", None)  # noqa: B004
    if type(of_class) is FunctionType:
        reading_calls.called(kind)
        return _ready(of_class, (fn, *args))(fn, *args, **kwargs)
    reading_calls.handed((fn, *args))
    return reading_calls.made(_by_python(fn, args, kwargs))


def _by_python(fn: Any, args: tuple[Any, ...], kwargs: dict[str, Any]) -> Any:
    """What code that knows nothing of graphs gives: it complains of a number that only the run knows as of no number."""
    try:
        return fn(*args, **kwargs)
    except TypeError as error:
        leaves = [x for x in tree.leaves((args, kwargs)) if state.is_graph_value(x) and x.shape == ()]
        if isinstance(error, AdjointError) or not leaves or not callable(fn) or is_about_objects(error):
            raise
        name = getattr(fn, "__qualname__", type(fn).__name__)
        raise NeedsNumberError(
            f"`{name}` is given a number that is known only when the graph runs, and says: {error}. Use ops on Tensors, or make the "
            f"number static{called_at()}"
        ) from error


def _is_stream(x: Any) -> bool:
    return x is sys.stdout or x is sys.stderr


def _shown(fn: Any, args: tuple[Any, ...], kwargs: dict[str, Any]) -> Any:
    """`print` under another name, and what is written to the streams that it prints to."""
    from adjoint.frontend import effects  # which calls this module

    if fn is print:
        return effects.print_(fn, *args, **kwargs)
    if context.tracer.get() is None or kwargs or len(args) != 1:
        return fn(*args, **kwargs)
    written = effects.wrote(fn.__self__, args if fn.__name__ == "write" else args[0])
    return written if fn.__name__ == "write" else None


def _is_item_of_array(fn: Any) -> bool:
    """Whether a method is `item` of a NumPy array."""
    owner = getattr(fn, "__self__", None)
    return type(owner) is np.ndarray and type(fn) is BuiltinFunctionType and fn.__name__ == "item" and owner.ndim > 0


def _ready(fn: FunctionType, args: tuple[Any, ...]) -> Callable[..., Any]:
    """A function to be called, converted if it is the user's; what it may read is noted if it stays as it is."""
    ready = traceable(fn)
    recorded = reading.recorder.get()
    if recorded is None or ready is not fn or is_converted(fn):
        return ready
    if fn is os.getenv:
        unseen.environment(recorded, *args[:1])
    if is_users(fn.__code__.co_filename):
        recorded.sweep(fn, args)
    elif not fn.__code__.co_filename.startswith(PACKAGE):
        reading_calls.handed((fn, *args))
        return lambda *xs, **options: reading_calls.made(fn(*xs, **options))
    elif args and not reading.note_network(args[0]):
        unseen.filled_in(recorded, args[0])
    return fn


def _instance(cls: type, args: tuple[Any, ...], kwargs: dict[str, Any]) -> Any:
    """`cls(*args, **kwargs)`, with the user's `__init__` and `__post_init__` converted."""
    init, post = cls.__init__, getattr(cls, "__post_init__", None)  # type: ignore[misc]
    reading_calls.instantiated(cls)
    recorded = reading.recorder.get()
    new: Any = cls.__new__
    usual = type(cls).__call__ is type.__call__ and new is object.__new__ and type(init) is FunctionType
    if recorded is not None:
        unseen.methods_of(recorded, cls, usual)
    if not usual or init.__code__.co_filename.startswith(PACKAGE):
        return cls(*args, **kwargs) if is_users_class(cls) else _by_python(cls, args, kwargs)
    made: Any = object.__new__(cls)
    if recorded is not None:
        recorded.made(made)
    if type(post) is FunctionType and hasattr(made, "__dict__"):  # a dataclass, whose own `__init__` calls it
        vars(made)["__post_init__"] = MethodType(traceable(post), made)
    traceable(init)(made, *args, **kwargs)
    getattr(made, "__dict__", {}).pop("__post_init__", None)
    if recorded is not None:
        unseen.held_inside(recorded, made)
    return made


def traceable(fn: FunctionType) -> Callable[..., Any]:
    """The converted function, or the function itself where its source is not the user's or not to be had."""
    code = fn.__code__
    if is_converted(fn) or not is_users(code.co_filename):
        return fn
    if (recorded := reading.recorder.get()) is not None:
        recorded.visit(fn)
    if code.co_flags & _SUSPENDS or (code.co_filename == "<string>" and code.co_name.startswith("__")):
        if recorded is not None:
            recorded.sweep(fn)
        return fn  # the latter is what `dataclass` writes
    try:
        return convert_function(fn)
    except SourceError as error:
        if recorded is not None:
            recorded.leave_unread(fn, error)
        return fn
    except UnsupportedSyntaxError:
        if code.co_filename.startswith(INSTALLED):
            return fn
        raise


_COMPREHENSIONS = {"<listcomp>", "<setcomp>", "<dictcomp>", "<genexpr>"}


def unread_hint(error: BaseException) -> str:
    """What helps where code that stays Python's asked for a number: that of operators, properties, generators; empty elsewhere."""
    at, code = error.__traceback__, None
    while at is not None:
        code = at.tb_frame.f_code if is_users(at.tb_frame.f_code.co_filename) else code
        at = at.tb_next
    if code is None:
        return ""
    if code.co_name in _COMPREHENSIONS:
        return "The conditions of a comprehension are Python's: write a `for` loop, or choose with ops.where."
    if code.co_flags & _SUSPENDS:
        return f"`{code.co_name}` is a generator, whose `if` and loops are Python's: write its loop where the items are used."
    if RUNTIME in code.co_freevars or OURS in code.co_consts or RUNTIME in code.co_consts:
        return ""
    return (
        f"`{code.co_name}` is called by Python itself or by a library (an operator, a `with`, a `for`), so that its `if` and loops are "
        f"Python's: call it by its name, or choose with ops.where."
    )


def _function_too(argument: Any) -> Any:
    """A function of the user's that is handed to adjoint (`grad(f)`, `vmap(f)`) is converted as well."""
    if type(argument) is FunctionType:
        return traceable(argument)
    if type(argument) is MethodType and type(argument.__func__) is FunctionType:
        return MethodType(traceable(argument.__func__), argument.__self__)
    return argument


def item(container: Any, index: Any, text: str = "") -> Any:
    """`container[index]`; a NumPy array can be indexed by a graph value too. `text` names a container from outside."""
    parts = index if type(index) is tuple else (index,)
    if isinstance(container, state.ARRAYS):
        for k in parts:
            if is_number(k):
                kind_of(k)  # a bool and an int are different indices
    if type(container) is np.ndarray and any(map(_holds_graph_values, parts)):
        reading.whole(container, text)
        container, listed = Tensor(container), [k.tolist() if _is_of_objects(k) else k for k in parts]
        index = tuple(listed) if type(index) is tuple else listed[0]
    elif (found := looked_up.element(container, index)) is not None:
        reading.whole(container, text)
        return found
    return reading.items(container, index, text) if text else container[index]


# ---------------------------------------------------------------- builtins


def _any_graph(values: Any) -> bool:
    return any(map(state.is_graph_value, values))


def _is_of_objects(x: Any) -> bool:
    return type(x) is np.ndarray and x.dtype == object


def _holds_graph_values(index: Any) -> bool:
    """Whether an index is a graph value, or a list or an array of some."""
    if type(index) is list or _is_of_objects(index):
        return any(map(_holds_graph_values, index))
    return state.is_graph_value(index)


def _range(*bounds: Any) -> Any:
    return GraphRange(*bounds) if _any_graph(bounds) else range(*bounds)


def _enumerate(iterable: Any, start: Any = 0) -> Any:
    counted = not isinstance(iterable, RunIterable)
    if counted and not state.is_graph_value(start):
        return enumerate(iterable, start)
    found = enumerated(iterable, start)
    return enumerate(iterable, start) if found is None else GraphIterator(enumerate, found)


def _zip(*parts: Any, **options: Any) -> Any:
    if options.get("strict") or not any(isinstance(p, RunIterable) for p in parts):
        return zip(*parts, **options)
    found = zipped(parts)
    return zip(*parts, **options) if found is None else GraphIterator(zip, found)


def _reversed(sequence: Any) -> Any:
    found = backwards(sequence) if isinstance(sequence, GraphRange) else None
    return reversed(sequence) if found is None else GraphIterator(reversed, found)


def _len(x: Any) -> Any:
    if isinstance(x, GraphRange):
        return as_number(x.items().count, 0, MANY)
    if type(x) not in SIZED:
        reading_calls.handed((x,))
    return len(x)


def _bool(*args: Any) -> Any:
    if len(args) != 1:
        return bool(*args)
    found = truth(args[0])
    return as_number(found, 0, 1) if state.is_graph_value(found) else found


def _extreme(python: Callable[..., Any], better: Callable[[Any, Any], Any]) -> Callable[..., Any]:
    """`min` or `max`: the first of the values that no other one is better than, as Python has it."""

    def extreme(*args: Any, key: Any = None, **options: Any) -> Any:
        values: Any = list(args) if len(args) != 1 else args[0]
        if len(args) == 1 and (
            isinstance(values, (Iterator, RunIterable, Set, ValuesView)) or state.is_graph_value(values)
        ):
            args = (values := list(values),)  # an iterator is empty once it has been gone through
        if not (isinstance(values, (list, tuple)) and (key is not None or _any_graph(values))):
            return python(*args, **({} if key is None else {"key": key}), **options)
        keys = list(values) if key is None else [call(key, v) for v in values]
        if not _any_graph(keys):
            places = list(range(len(values)))
            if not places:
                return python(values, **options)
            return values[python(places, key=keys.__getitem__)]
        if not all(map(state.is_dynamic, values)):
            raise needs(f"`{python.__name__}` chooses among objects that are no numbers or arrays by a number")
        best, value = keys[0], values[0]
        for k, v in zip(keys[1:], values[1:], strict=True):
            wins = truth(better(k, best))
            if state.is_graph_value(wins):
                best, value = picked(wins, k, best), picked(wins, v, value)
            elif wins:
                best, value = k, v
        return chosen(value, list(values), f"that `{python.__name__}` gives")

    return extreme


def _all(values: Any) -> Any:
    """`all`, also of truths that are known only when the graph runs."""
    result: Any = True
    for value in values:
        if not state.is_graph_value(value) and not value:
            return False
        if state.is_graph_value(value):
            result = truth(value) if result is True else logical_and(result, truth(value))
    return as_number(result, 0, 1)


def _any(values: Any) -> Any:
    """`any`, also of truths that are known only when the graph runs."""
    return not_(_all(not_(v) for v in values))


def _with_functions(python: Callable[..., Any]) -> Callable[..., Any]:
    """A builtin that calls what it is given."""

    def called(*args: Any, **options: Any) -> Any:
        if callable(options.get("key")):
            options["key"] = functools.partial(call, options["key"])
        reading_calls.handed(args)
        return python(*(functools.partial(call, a) if type(a) in _FUNCTIONS else a for a in args), **options)

    return called


_SPECIAL: dict[Any, Callable[..., Any]] = {
    **numbers.BUILTINS,
    range: _range,
    enumerate: _enumerate,
    zip: _zip,
    reversed: _reversed,
    bool: _bool,
    len: _len,
    builtins.all: _all,
    builtins.any: _any,
    builtins.min: _extreme(min, operator.lt),
    builtins.max: _extreme(max, operator.gt),
    map: _with_functions(map),
    filter: _with_functions(filter),
    builtins.sorted: _with_functions(sorted),
    functools.reduce: _with_functions(functools.reduce),
    vars: reading.vars_,
    dir: reading.dir_,
    callable: reading.callable_,
}

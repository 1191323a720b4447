"""`print`, `assert` and `raise` on graph values: they become effects of the graph, and take place when it runs."""

from __future__ import annotations

import builtins
from collections.abc import Callable
from typing import Any

from adjoint.core import context, tree
from adjoint.core.parameter import Parameter, resolve
from adjoint.core.spec import number_of
from adjoint.frontend import state
from adjoint.frontend.calls import call
from adjoint.frontend.errors import ControlFlowError
from adjoint.frontend.items import RunIterable
from adjoint.frontend.logic import truth
from adjoint.frontend.region import Abandoned, current, is_tried, is_tried_here, uncaught, when
from adjoint.frontend.site import Site
from adjoint.graph.effects import Check, Field, Print, Template, Text
from adjoint.graph.number_types import needs
from adjoint.ops.functional import logical_and


def both(a: Any, b: Any) -> Any:
    """`a and b`, where a may be True."""
    return b if a is True else logical_and(a, b)


def text(*parts: Any) -> Text:
    """An f-string: its texts, and its values each as (value, conversion, format)."""
    return Text(tuple(p if isinstance(p, str) else Field(*p) for p in parts))


def print_(fn: Any, /, *values: Any, **options: Any) -> Any:
    """`print(...)`: by the graph, in each of its runs; at once where no graph is being built."""
    if fn is not builtins.print:
        return call(fn, *map(_plain, values), **options)
    recorder = context.tracer.get()
    if current.get() is not None or any(map(state.is_graph_value, tree.leaves(values))):
        template, inputs = _template(values)
        Print(template, options)(when(), *inputs)
    elif recorder is None:
        print(*values, **options)
    else:
        template, inputs = _template(values)
        recorder.apply(Print(template, options), (True, *inputs))
    return None


def holds(test: Any, message: Callable[[], Any] | None, site: Site) -> Any:
    """The condition of an `assert`; one that is known only when the graph runs is checked then."""
    graph = state.is_graph_value(test)
    if not graph and (test or current.get() is None):
        return test
    said = message() if message is not None else f"`{site.text}` does not hold"
    error = AssertionError, Text((Field(said), f" ({site.place})"))
    if not graph:
        raise raised(site, *error)
    if is_tried():
        raise uncaught("the failing `assert`", site.place)
    check(truth(test), site, *error)
    return True


def raised(site: Site, error: Any, /, *args: Any, **kwargs: Any) -> BaseException:
    """What `raise error(*args)` raises now; in a branch or loop of the graph, the graph raises the error when it runs."""
    said = (error.args if isinstance(error, BaseException) else (), args, kwargs)
    if current.get() is None and not is_tried() and any(map(state.is_graph_value, tree.leaves(said))):
        raise needs("an error is raised with this number")
    if isinstance(error, BaseException):
        found, error = error, lambda: found
    elif not (isinstance(error, type) and issubclass(error, BaseException)) or current.get() is None:
        made = call(error, *map(_plain, args), **{k: _plain(v) for k, v in kwargs.items()})
        args, kwargs, error = (), {}, lambda: made
    if current.get() is None or is_tried_here():
        return error(*map(_plain, args), **{k: _plain(v) for k, v in kwargs.items()})
    if is_tried():
        return uncaught("the `raise`", site.place)
    check(False, site, error, *args, **kwargs)
    return Abandoned()


def both_raise(site: Site) -> BaseException:
    """What follows an `if` of whose branches each raises."""
    if current.get() is not None:
        return Abandoned()
    return ControlFlowError(f"both branches of the `if` at {site.place} raise, so the function has no result")


def check(condition: Any, site: Site, error: Any, /, *args: Any, **kwargs: Any) -> None:
    """Let the graph raise an error where the code being traced takes place and the condition does not hold."""
    template, inputs = _template((args, kwargs))
    Check(error, template, site.place)(when(), condition, *inputs)


def _template(value: Any) -> tuple[Template, list[Any]]:
    template, inputs = Template.of(value, state.is_graph_value)
    for leaf in template.leaves:
        if isinstance(leaf, RunIterable):
            str(leaf)  # which it refuses
    for x in inputs:
        if (mark := number_of(x)) is not None and mark.kinds:
            raise needs(
                "this shows a number as text that may be of several types, or an integer that the graph holds as a float"
            )
    return template, [resolve(x) if isinstance(x, Parameter) else x for x in inputs]


def _plain(value: Any) -> Any:
    """A text as what Python makes of it."""
    return str(value) if isinstance(value, Text) else value

"""`print`, `assert` and `raise` on graph values: they become effects of the graph, and take place when it runs."""

from __future__ import annotations

import builtins
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from contextvars import ContextVar
from dataclasses import dataclass
from typing import Any

from adjoint.core import context, tree
from adjoint.core.parameter import Parameter, resolve
from adjoint.frontend import state
from adjoint.frontend.calls import call
from adjoint.frontend.errors import ControlFlowError
from adjoint.frontend.logic import truth
from adjoint.frontend.site import Site
from adjoint.frontend.state import Again
from adjoint.graph.effects import Check, Field, Print, Template, Text
from adjoint.ops.functional import logical_and


class Abandoned(BaseException):
    """A branch or round ends here by an exception, which the graph raises when it runs."""


@dataclass(eq=False)
class Block:
    """The branch or round of a loop that is being traced. `when` says whether it takes place; it is made if it is `wanted`."""

    wanted: bool = False
    when: Any = None


_block: ContextVar[Block | None] = ContextVar("block", default=None)


@contextmanager
def inside(block: Block, when: Any) -> Iterator[None]:
    """Trace a branch or a round."""
    block.when = when
    with context.setting(_block, block):
        yield


def when() -> Any:
    """Whether the code being traced takes place when the graph runs: True, or a graph value."""
    block = _block.get()
    if block is None:
        return True
    if block.when is None:
        block.wanted = True
        raise Again
    return block.when


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
    if _block.get() is not None or any(map(state.is_graph_value, tree.leaves(values))):
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
    if not graph and (test or _block.get() is None):
        return test
    said = message() if message is not None else f"`{site.text}` does not hold"
    error = AssertionError, Text((Field(said), f" ({site.place})"))
    if not graph:
        raise raised(site, *error)
    check(truth(test), site, *error)
    return True


def raised(site: Site, error: Any, /, *args: Any, **kwargs: Any) -> BaseException:
    """What `raise error(*args)` raises now; in a branch or loop of the graph, the graph raises the error when it runs."""
    if isinstance(error, BaseException):
        found, error = error, lambda: found
    elif not (isinstance(error, type) and issubclass(error, BaseException)) or _block.get() is None:
        made = call(error, *map(_plain, args), **{k: _plain(v) for k, v in kwargs.items()})
        args, kwargs, error = (), {}, lambda: made
    if _block.get() is None:
        return error()
    check(False, site, error, *args, **kwargs)
    return Abandoned()


def both_raise(site: Site) -> BaseException:
    """What follows an `if` of whose branches each raises."""
    if _block.get() is not None:
        return Abandoned()
    return ControlFlowError(f"both branches of the `if` at {site.place} raise, so the function has no result")


def check(condition: Any, site: Site, error: Any, /, *args: Any, **kwargs: Any) -> None:
    """Let the graph raise an error where the code being traced takes place and the condition does not hold."""
    template, inputs = _template((args, kwargs))
    Check(error, template, site.place)(when(), condition, *inputs)


def _template(value: Any) -> tuple[Template, list[Any]]:
    template, inputs = Template.of(value, state.is_graph_value)
    return template, [resolve(x) if isinstance(x, Parameter) else x for x in inputs]


def _plain(value: Any) -> Any:
    """A text as what Python makes of it."""
    return str(value) if isinstance(value, Text) else value

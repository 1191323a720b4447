"""`print`, `assert` and `raise` on graph values: they become effects of the graph, and take place when it runs."""

from __future__ import annotations

import builtins
import copy
import functools
import sys
from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager
from dataclasses import replace
from typing import Any

from adjoint.core import context, tree
from adjoint.core.errors import AdjointError, called_at, last_refusal, refusal_behind
from adjoint.core.parameter import Parameter, resolve
from adjoint.core.spec import number_of
from adjoint.frontend import reading, state
from adjoint.frontend.calls import call
from adjoint.frontend.errors import ControlFlowError
from adjoint.frontend.files import is_users
from adjoint.frontend.items import RunIterable
from adjoint.frontend.logic import truth
from adjoint.frontend.region import OURS, Abandoned, attempting, current, is_tried, is_tried_here, uncaught, when
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
    graph = any(map(state.is_graph_value, tree.leaves(values)))
    options = {k: _plain(v) for k, v in options.items()}
    if recorder is None and current.get() is None and not graph:
        print(*values, **options)
        return
    stream = printed_to(options, recorder, graph)
    if stream is None:
        print(*map(_plain, values), **options)
        return
    template, inputs = _template(values)
    if recorder is None or graph or current.get() is not None:
        Print(template, options, stream)(when(), *inputs)
    else:
        recorder.apply(Print(template, options, stream), (True, *inputs))


def printed_to(options: dict[str, Any], recorder: Any, graph: bool) -> str | None:
    """Which stream the graph prints to, in place of the `file` of the options; None where Python prints, at once."""
    file, reads, block = options.get("file"), reading.recorder.get(), current.get()
    streams = (sys.stdout, sys.stderr) if recorder is None else recorder.streams
    for name, stream in zip(("stdout", "stderr"), streams, strict=True):
        now = getattr(sys, name)
        if (file is None and name == "stdout") or (file is not None and file is now):
            if now is not stream:
                raise _unprinted(f"this prints where sys.{name} has been redirected")
            options.pop("file", None)
            return name
    if reads is None or reads.is_outside(file):
        if reads is not None:
            reads.printed.append(file)
        return ""
    if graph or (block is not None and file in block.heap):
        raise _unprinted("this prints into a file that the compiled function has made")
    return None


def _unprinted(why: str) -> ControlFlowError:
    return ControlFlowError(
        f"{why}, but what is printed is known only when the graph runs, when that is over: return the values, and print them outside "
        f"of the compiled function{called_at()}"
    )


def wrote(stream: Any, texts: Iterable[str]) -> int:
    """`sys.stdout.write(text)`, likewise."""
    text = "".join(texts)
    print_(builtins.print, text, end="", file=stream)
    return len(text)


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


def is_of_program(error: Exception, before: Any) -> bool:
    """Whether plain Python raises an error as well, where the code is reached: it is none of tracing, nor due to a refusal."""
    ours = isinstance(error, (*OURS, AdjointError, RecursionError, MemoryError, Warning))
    return not (ours or refusal_behind(error, before) or any(map(state.is_graph_value, tree.leaves(error.args))))


@contextmanager
def failing(site: Site, failed: list[Exception]) -> Iterator[None]:
    """A branch: what fails in it, where Python runs it to see what it does, fails in the graph if the branch is taken."""
    before = last_refusal()
    try:
        yield
    except Exception as error:
        if is_tried() or attempting.get() or not is_of_program(error, before):
            raise
        failed.append(error)
        check(False, _site_of(error, site), functools.partial(_anew, _anew(error)))
        raise Abandoned from None


def _site_of(error: Exception, site: Site) -> Site:
    """The line of the user's that failed."""
    at, found = error.__traceback__, site
    while at is not None:
        if is_users(name := at.tb_frame.f_code.co_filename):
            found = replace(site, filename=name, line=at.tb_lineno, column=1)
        at = at.tb_next
    return found


def _anew(error: Exception) -> Exception:
    """The same error for another run."""
    try:
        return copy.copy(error)
    except Exception:  # of a class whose constructor takes something else
        return error


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

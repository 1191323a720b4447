"""`while` and `for`: Python's on plain values, loops of the graph on graph values.

A loop that Python could run itself becomes a loop of the graph where that works, so that the graph does not grow with the number
of iterations; where it does not (the body indexes a list of layers, or a shape changes), Python runs it.
"""

from __future__ import annotations

import functools
import itertools
import operator
import sys
from collections.abc import Callable
from contextvars import ContextVar
from typing import Any

from adjoint.core import compile_line, context
from adjoint.core.errors import forget_refusal
from adjoint.frontend import effects, region, state
from adjoint.frontend.branches import guarded
from adjoint.frontend.errors import ControlFlowError
from adjoint.frontend.items import LoopItems, counting, items_of, unstarted
from adjoint.frontend.logic import not_, tested, truth
from adjoint.frontend.reads import recorder
from adjoint.frontend.rolled import GraphLoop, going_on
from adjoint.frontend.site import Site
from adjoint.frontend.state import Flat, FrameVariables

#: So many items are taken from an iterator without a known end after a `break` that may have been reached.
_PATIENCE = 500
#: Loops of at most this many iterations are run by Python.
few: ContextVar[int] = ContextVar("few", default=8)
#: Iterations of an unrolled loop that are worth a note.
MANY = 100

Block = Callable[..., Any]


def while_(test: Block, body: Block, stop: Block | None, names: Block, site: Site) -> None:
    """`while test(): body()`, ended early when `stop()` holds."""
    frame = FrameVariables(names)
    iterations = 0
    while True:
        ended = stop() if stop is not None else False
        going = ended if state.is_graph_value(ended) or ended else tested(test())
        if state.is_graph_value(going):
            first = functools.partial(going_on, ended, lambda going=going: going, test, names, site)
            GraphLoop(frame, site, body, test=test, stop=stop, names=names, first=first).run()
            return
        if ended or not going:
            return
        iterations += 1
        if (
            iterations == few.get() + 1
            and _counts(frame, site)
            and _attempt(
                GraphLoop(frame, site, body, test=test, stop=stop, names=names, first=lambda: True, strict=True)
            )
        ):
            return
        body()


def _counts(frame: FrameVariables, site: Site) -> bool:
    """Whether a loop that Python runs may be one of the graph: it works on graph values, and its numbers are whole."""
    held = [x for n in site.names for x in Flat.of(frame.value(n)).leaves]
    return frame.holds_graph_values() and not any(isinstance(x, (float, complex)) for x in held)


def for_(iterable: Any, body: Block, stop: Block | None, names: Block, site: Site) -> None:
    """`for item in iterable: body(item)`, ended early when `stop()` holds."""
    items = items_of(iterable)
    if items is None and sys.getrefcount(iterable) <= _ALONE:
        items = unstarted(iterable)
    if items is None:
        endless = counting(iterable) if sys.getrefcount(iterable) <= _ALONE else None
        if stop is not None and endless is not None:
            _endless_for(endless, body, stop, names, site)
        else:
            _python_for(iterable, body, stop, names, site)
    elif state.is_graph_value(items.count):
        GraphLoop(FrameVariables(names), site, body, items=items, stop=stop).run()
    else:
        _counted_for(items, body, stop, names, site)


def _references(iterable: Any, *_: Any) -> int:
    return sys.getrefcount(iterable)


#: References to an iterable that was made for its loop.
_ALONE = _references(object(), None)


def _endless_for(items: LoopItems, body: Block, stop: Block, names: Block, site: Site) -> None:
    """A loop that ends only by a `break`: by Python as long as Python knows, the rest by the graph."""
    for k in itertools.count():
        ended = stop()
        if state.is_graph_value(ended):
            rest = LoopItems(items.count, functools.partial(_shifted, items, k))
            GraphLoop(FrameVariables(names), site, body, items=rest, stop=stop).run()
            effects.check(truth(stop()), site, OverflowError, f"the loop at {site.place} has no end")
            return
        if ended:
            return
        body(items.at(k))


def _python_for(iterable: Any, body: Block, stop: Block | None, names: Block, site: Site) -> None:
    region.check_iteration(iterable)
    if stop is None:
        for item in iterable:
            body(item)
        return
    left = _PATIENCE if operator.length_hint(iterable, -1) < 0 else sys.maxsize
    for item in iterable:
        if state.is_graph_value(stop()):
            left -= 1
            if not left:
                raise ControlFlowError(
                    f"the `for` at {site.place} goes through an iterator that has no known end, and whether its `break` is reached "
                    f"is known only when the graph runs. Go through a range or a list, or write a `while` with a counter"
                )
            guarded(not_(stop()), functools.partial(body, item), FrameVariables(names), site)
        else:
            body(item)
        ended = stop()
        if not state.is_graph_value(ended) and ended:
            return


def _counted_for(items: LoopItems, body: Block, stop: Block | None, names: Block, site: Site) -> None:
    """A loop over a known number of items: one of the graph if it is long, perhaps after a first iteration by Python."""
    frame = FrameVariables(names)
    for k in range(items.count):
        ended = stop() if stop is not None else False
        graph_stop = state.is_graph_value(ended)
        if not graph_stop and ended:
            return
        if k < 2 and items.count - k > few.get() and frame.holds_graph_values():
            rest = LoopItems(items.count - k, functools.partial(_shifted, items, k))
            if _attempt(loop := GraphLoop(frame, site, body, items=rest, stop=stop)):
                return
            _note_unrolled(site, items.count, loop.refused)
        if graph_stop:
            guarded(not_(ended), functools.partial(body, items.at(k)), frame, site)
        else:
            body(items.at(k))


def _shifted(items: LoopItems, first: int, i: Any) -> Any:
    """The item of iteration i of a loop that begins with item `first`."""
    return items.at(i + first if first else i)


def _attempt(loop: GraphLoop) -> bool:
    """Whether the loop could become one of the graph; else nothing has happened."""
    loop.optional = True
    try:
        with context.setting(region.attempting, True):
            loop.run()
    except Exception as error:  # whatever it was: Python runs the loop, and raises what there is to raise
        loop.refused = str(error).partition("\n")[0]
        loop.snapshot.restore()
        forget_refusal()
        return False
    return True


def _note_unrolled(site: Site, count: int, why: str) -> None:
    """Take note of a long loop that Python runs: the graph has a copy of its body for each iteration."""
    reads = recorder.get()
    if count < MANY or reads is None:
        return
    text = f"the `for` at {site.place} was unrolled, {count:,} times: {why}"
    reads.unrolled[site.place] = text
    compile_line.note(text)

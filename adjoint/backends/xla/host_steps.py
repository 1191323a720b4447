"""Steps that Python does: what a program prints, checks and keeps, and functions of the user's."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from adjoint.backends.xla.devices import jax
from adjoint.backends.xla.failures import Tracing
from adjoint.backends.xla.python_calls import Journal, on_host
from adjoint.core.dispatch import evaluate
from adjoint.graph.effects import Check, Each, Effect
from adjoint.graph.nested import Control
from adjoint.graph.node import Graph
from adjoint.graph.ruled import uses


def by_python(op: Any, spec: Any, tracing: Tracing, *xs: Any) -> Any:
    """A step that the user's Python does, on NumPy arrays."""
    if isinstance(op, Effect):
        return _effect(op, spec, tracing, xs)
    specs = spec if isinstance(spec, tuple) else (spec,)

    def work(*arrays: Any) -> Sequence[Any]:
        found = evaluate(op, arrays)
        return found if isinstance(spec, tuple) else (found,)

    found = on_host(tracing, op, work, specs, xs)
    return tuple(found) if isinstance(spec, tuple) else found[0]


def _effect(op: Effect, spec: Any, tracing: Tracing, xs: Sequence[Any]) -> Any:
    """Python is called only where the effect takes place: a check that holds costs a comparison."""
    jnp = jax().numpy
    when = _truths(op, xs, 0, spec)
    truths, due = when, when
    if isinstance(_innermost(op), Check):
        truths = _truths(op, xs, 1, spec)
        due = when & ~truths
    due = jnp.any(due) & (tracing.code == 0)
    if (op.afterwards and not tracing.later_inside) or (tracing.devices > 1 and not tracing.depth):
        # Where there are several devices Python is not called on the way: what is printed and checked comes with the results.
        tracing.extras += [tracing.code == 0, *xs]
        tracing.afterwards.append((len(xs), lambda *arrays: op.eval(np, *arrays)))
        return truths

    def performed(code: Any) -> Any:
        with tracing.inside(code):
            on_host(tracing, type(op).__name__, lambda *arrays: _performed(op, tracing, arrays), (), xs)
            return tracing.code

    tracing.code = jax().lax.cond(due, performed, lambda code: code, jnp.asarray(tracing.code))
    return truths


def later_inside(graph: Graph) -> bool:
    """Whether what may be done after the run stands inside branches or loops."""
    inner = [g for n in graph.calls if isinstance(n.op, Control) for g in n.op.graphs().values()]
    return any(uses(g, lambda op: isinstance(op, Effect) and op.afterwards) for g in inner)


def after_run(tracing: Tracing, extras: Sequence[Any], journal: Journal | None) -> None:
    """Do what was left until the program is through, with what it gave for that."""
    given = iter(extras)
    for count, work in tracing.afterwards:
        takes_place, *xs = [next(given) for _ in range(count + 1)]
        if takes_place:
            work(*xs)
    for later in journal.later if journal is not None else ():
        later()


def _performed(op: Effect, tracing: Tracing, arrays: Sequence[np.ndarray]) -> tuple[()]:
    """Do it, or note that it is to be done when the program is through."""
    if op.afterwards:
        tracing.journal.later.append(lambda: op.eval(np, *arrays))
    else:
        evaluate(op, arrays)
    return ()


def _innermost(op: Effect) -> Effect:
    while isinstance(op, Each):
        op = op.one
    return op


def _truths(op: Effect, xs: Sequence[Any], place: int, spec: Any) -> Any:
    """An input that is one truth value for each example, for all examples."""
    jnp = jax().numpy
    x, k = jnp.asarray(xs[place], bool), 0
    while isinstance(op, Each):
        x = x if op.batched[place] else jnp.expand_dims(x, k)
        op, k = op.one, k + 1
    return jnp.broadcast_to(x, spec.shape)

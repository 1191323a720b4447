"""A user's function of the unknowns as a program of flat inputs: compiled once, differentiated as often as a solver asks.

Everything that the function uses and that may have a derivative is an input of the program: the arguments, the Parameters, and
where it is compiled also the values that it closes over.
"""

from __future__ import annotations

import contextvars
import weakref
from collections.abc import Callable
from typing import Any

import numpy as np

from adjoint.api.compiled import taken_over
from adjoint.api.grad import value_and_grad, vjp
from adjoint.api.graph_call import GraphCall
from adjoint.api.inputs import name_of
from adjoint.api.jacobian import hessian, hvp, jacfwd, jacobian
from adjoint.api.jit import Jitted
from adjoint.core import context, random_counters, tree
from adjoint.core.dispatch import BOTTOM, Value, wrap
from adjoint.core.errors import ArgumentError, ArgumentTypeError, CutGradientError, called_at, warn_user
from adjoint.core.parameter import Parameter, resolve
from adjoint.core.rules import kept
from adjoint.core.spec import float64, is_inexact, shape_of
from adjoint.frontend.errors import ControlFlowError, LeakError, SourceError, UnsupportedSyntaxError
from adjoint.frontend.reads import recorder
from adjoint.graph.bounds import UnboundedError
from adjoint.graph.flow import MismatchError
from adjoint.graph.node import Graph
from adjoint.graph.ruled import outside
from adjoint.graph.trace import NeedsNumberError, is_graph_value
from adjoint.graph.walk import replay
from adjoint.ops.casting import cast
from adjoint.ops.joining import concat
from adjoint.ops.language import reshape
from adjoint.ops.numpylike.common import tensor
from adjoint.ops.reduce import sum
from adjoint.ops.stacking import stack
from adjoint.optimize.unknowns import Variables, line

#: Why a function cannot become a graph; it still runs op by op.
UNREADABLE = (
    NeedsNumberError, SourceError, UnsupportedSyntaxError, ControlFlowError, LeakError, MismatchError, UnboundedError,
)  # fmt: skip
_KINDS: dict[str, Callable[..., Any]] = {
    "value": lambda call: call, "gradient": value_and_grad, "hessian": hessian, "product": hvp, "jacobian": jacobian,
    "bend": lambda call: hessian(lambda *xs: sum(call(*xs))),
    "curvature": lambda call: hessian(lambda *xs: sum(wrap(xs[-1]) * call(*xs[:-1]))),
}  # fmt: skip


class SolverFunction:
    """`call(x, *inputs)` is the function on a vector of unknowns, in ops; `inputs` are the values that it depends on besides."""

    def __init__(self, name: str, inputs: list[Any], call: Callable[..., Any], graph: Graph | None) -> None:
        self.name, self.inputs, self.call, self.graph = name, inputs, call, graph

    def host(self, kind: str, inputs: list[Any]) -> Callable[..., Any]:
        """The value or a derivative for SciPy: a function of arrays that gives arrays."""
        found = _KINDS[kind](self.call) if self.graph is None else _compiled(self.graph, kind)

        def run(x: Any, *vectors: Any) -> Any:
            y = found(np.asarray(x, float64), *inputs, *(np.asarray(v, float64) for v in vectors))
            if self.graph is None:
                self._check_closed(y)
            return tuple(map(np.array, y)) if isinstance(y, tuple) else np.array(y)

        return run

    def _check_closed(self, y: Any) -> None:
        for value in tree.leaves(y):
            if isinstance(value, Value) and value._trace not in BOTTOM:
                raise CutGradientError(
                    outside(self.name).replace("has a derivative rule of its own and", "is solved for op by op and")
                )

    def square(self, function: Callable[..., Any], z: Any) -> Any:
        """The square Jacobian of a function of a vector, in ops; row by row where Python needs the numbers."""
        if self.graph is not None:
            return jacfwd(function)(z)
        _, pull = vjp(function, z)
        size = shape_of(z)[0]
        return stack([pull(wrap(row))[0] for row in np.eye(size)])


def called(graph: Graph, xs: tuple[Any, ...]) -> Any:
    """The single result of a graph: its steps where a graph is built around it, else one op."""
    found = replay(graph, list(xs)) if any(map(is_graph_value, xs)) else GraphCall(graph, "interpreter")(*xs)
    return wrap(found[0])


@kept
def _compiled(graph: Graph, kind: str) -> Any:
    def call(*xs: Any) -> Any:
        return called(graph, xs)

    call.__name__ = graph.name
    return _made(_KINDS[kind](call))


def _made(fn: Callable[..., Any]) -> Jitted:
    """A compiled function that says nothing of float64: that is what solvers compute in."""
    jitted = Jitted(fn, (), (), (), (), None)
    jitted._promoted = True
    return jitted


def program(what: str, fun: Any, variables: Variables, args: Any, scalar: bool, compiled: bool) -> SolverFunction:
    """A user's function as a program of a vector of unknowns and of all values that it depends on."""
    if not callable(fun):
        raise ArgumentTypeError(f"{what}: a function is needed, not {type(fun).__name__}{called_at()}")
    args = tuple(args) if isinstance(args, (tuple, list)) else (args,)
    if not compiled:
        return _op_by_op(what, fun, variables, args, scalar)
    jitted = _jitted(what, fun, variables, scalar)
    try:
        made, entry, _ = jitted._prepared((variables.start, *args), {})
    except UNREADABLE as error:
        if recorder.get() is not None:  # the graph around it cannot be built either
            raise
        warn_user(
            f"{what}: {name_of(fun)} cannot be compiled and runs op by op (compiled=False says so beforehand): {error}"
        )
        return _op_by_op(what, fun, variables, args, scalar)
    if entry.draws is not None:
        raise ArgumentError(
            f"{what}: {name_of(fun)} draws random numbers, so that it is another function in each call. Draw them before, and "
            f"pass them in args{called_at()}"
        )
    if entry.written or entry.stored:
        raise ArgumentError(
            f"{what}: {name_of(fun)} writes into an argument or a Parameter; a solver may not{called_at()}"
        )
    inputs = [*made.numbers, *entry.weights(), *taken_over(entry, recorder.get())]
    graph = entry.graph
    return SolverFunction(name_of(fun), inputs[1:], lambda *xs: called(graph, xs), graph)


def _op_by_op(what: str, fun: Any, variables: Variables, args: tuple[Any, ...], scalar: bool) -> SolverFunction:
    if any(is_graph_value(x) for x in tree.leaves(args)) or recorder.get() is not None:
        raise ArgumentError(
            f"{what}: compiled=False inside a function that is being compiled: the solver cannot run op by op there{called_at()}"
        )
    leaves, rebuild = tree.flatten(args)
    leaves = [resolve(x) if isinstance(x, Parameter) else x for x in leaves]
    spots = [i for i, x in enumerate(leaves) if isinstance(x, (Value, np.ndarray, np.generic, float))]

    def call(x: Any, *inputs: Any) -> Any:
        filled = list(leaves)
        for i, value in zip(spots, inputs, strict=True):
            filled[i] = wrap(value) if not isinstance(value, float) else value
        return _result(what, fun, fun(variables.tree(x), *rebuild(filled)), scalar)

    return SolverFunction(name_of(fun), [leaves[i] for i in spots], call, None)


# ---------------------------------------------------------------- compiled functions, kept as long as the user's function

_known: weakref.WeakKeyDictionary[Any, dict[Any, Jitted]] = weakref.WeakKeyDictionary()


def _jitted(what: str, fun: Any, variables: Variables, scalar: bool) -> Jitted:
    key = (what, variables.key, scalar)
    try:
        table = _known.setdefault(fun, {})
        reference: Callable[[], Any] = weakref.ref(fun)
        if key in table:
            return table[key]
    except TypeError:  # what cannot be referred to weakly, or has no hash, is compiled in each call
        reference, table = (lambda: fun), {}

    def flat(x: Any, *args: Any) -> Any:
        function = reference()
        return _result(what, function, context.readable(function)(variables.tree(x), *args), scalar)

    flat.__name__ = flat.__qualname__ = name_of(fun)
    table[key] = _made(flat)
    return table[key]


def _result(what: str, fun: Any, out: Any, scalar: bool) -> Any:
    """What the function returned, as a number or as a vector."""
    leaves = [tensor(y) if isinstance(y, np.ndarray) and y.dtype == object else y for y in tree.leaves(out)]
    if not leaves or not all(isinstance(y, (Value, np.ndarray, np.generic, float, int)) for y in leaves):
        said = "nothing (did you forget `return`?)" if out is None else f"{type(out).__name__}"
        raise ArgumentTypeError(f"{what}: {name_of(fun)} must return numbers, it returned {said}{called_at()}")
    parts = [y if is_inexact(wrap(y).dtype) else cast(wrap(y), float64) for y in leaves]
    if scalar:
        shapes = [shape_of(y) for y in parts]
        if len(parts) != 1 or int(np.prod(shapes[0])) != 1:
            raise ArgumentError(
                f"{what}: {name_of(fun)} must return one number, it returned {', '.join(f'shape {s}' for s in shapes)}{called_at()}"
            )
        return cast(reshape(wrap(parts[0]), ()), float64)
    flat = [line(y) for y in parts]
    return flat[0] if len(flat) == 1 else concat(flat)


def apart(work: Callable[..., Any], *args: Any) -> Any:
    """Run a solver as if no transform were around it: what it computes with are plain arrays."""

    def run() -> Any:
        settings: tuple[tuple[contextvars.ContextVar[Any], Any], ...] = (
            (context.open_tape, None), (context.bindings, None), (context.reader, None), (context.branch, None),
            (context.tracer, None), (context.cells, None), (context.fused, None), (context.replaying, False),
            (context.muted_below, -1), (recorder, None), (random_counters.batches, ()),
        )  # fmt: skip
        for variable, value in settings:
            variable.set(value)
        return work(*args)

    return contextvars.copy_context().run(run)

"""A graph gone through under `jax.jit`: each step by its lowering, or by its card's `eval` on `jax.numpy`."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

from adjoint.backends.xla.common_dtypes import in_common, in_dtype
from adjoint.backends.xla.devices import jax
from adjoint.backends.xla.failing_steps import checked
from adjoint.backends.xla.failures import Tracing
from adjoint.backends.xla.growing_stacks import StackBuffer, on_stacks
from adjoint.backends.xla.host_steps import by_python
from adjoint.backends.xla.stored_once import compared, stored
from adjoint.core.spec import NUMBERS, spec_of
from adjoint.graph.inplace import InPlace
from adjoint.graph.nested import Control
from adjoint.graph.node import Const, Graph, Param, Pick

#: How an op is done on XLA where its `eval` cannot be: `(op, spec of the result, tracing, *arrays)` gives the result.
LOWERINGS: dict[type, Callable[..., Any]] = {}


def lowers(*cards: type) -> Callable[[Callable[..., Any]], Callable[..., Any]]:
    """Make a function the lowering of some cards."""

    def note(function: Callable[..., Any]) -> Callable[..., Any]:
        LOWERINGS.update(dict.fromkeys(cards, function))
        return function

    return note


def run(graph: Graph, tracing: Tracing, arrays: Sequence[Any]) -> list[Any]:
    """The results of a graph, as values that JAX traces."""
    values: dict[Any, Any] = dict(zip(graph.params, arrays, strict=True))
    rounded_once = compared(graph)
    for node in graph.nodes:
        if isinstance(node.op, Param):
            continue
        if isinstance(node.op, Const):
            big = type(node.op.value) is int and abs(node.op.value) >= 2**63  # a float will be made of it
            values[node] = node.op.value if big else fitted(node.op.value, node.spec)
        elif isinstance(node.op, Pick):
            values[node] = values[node.inputs[0]][node.op.index]
        else:
            tracing.place = node.place
            op = node.op.op if isinstance(node.op, InPlace) else node.op
            xs = [n.op.value if _is_read(op, k, n) else values[n] for k, n in enumerate(node.inputs)]
            values[node] = apply(op, node.spec, tracing, xs, [n.spec for n in node.inputs])
        if node in rounded_once:
            values[node] = stored(values[node], tracing.platform)
    return [values[n] for n in graph.outputs]


def _is_read(op: Any, k: int, node: Any) -> bool:
    """Whether the k-th input of an op is a constant that is looked at here: an array of indices, or a Python number that must fit a dtype."""
    if not isinstance(node.op, Const):
        return False
    return 0 < op.first_index <= k or (type(op) not in LOWERINGS and type(node.op.value) in NUMBERS)


def apply(op: Any, spec: Any, tracing: Tracing, arrays: Sequence[Any], specs: Sequence[Any] | None = None) -> Any:
    """The result of one op, with the dtype that its Spec says; `specs` are those of the inputs, where arrays do not say all."""
    if isinstance(op, InPlace):
        op = op.op
    if not isinstance(op, Control) and any(isinstance(x, StackBuffer) for x in arrays):
        return on_stacks(op, spec, tracing, arrays, lambda xs: apply(op, spec, tracing, xs))
    lowering = LOWERINGS.get(type(op)) or (by_python if op.opaque else None)
    if lowering is not None:
        y = lowering(op, spec, tracing, *arrays)
    else:
        y = op.eval(jax().numpy, *in_common(op, spec, specs or [spec_of(x) for x in arrays], arrays))
    if op.indexing or op.fails_where:
        checked(op, tracing, y, arrays)
    return tuple(map(fitted, y, spec)) if isinstance(spec, tuple) else fitted(y, spec)


def fitted(y: Any, spec: Any) -> Any:
    """A result as its Spec says; JAX's own rules of promotion have no say in it."""
    if isinstance(y, StackBuffer):
        return y
    return in_dtype(jax().numpy.asarray(y), spec.dtype)

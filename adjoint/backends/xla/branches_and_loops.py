"""Branches and loops as XLA has them."""

from __future__ import annotations

from typing import Any

import numpy as np

from adjoint.backends.xla.devices import jax
from adjoint.backends.xla.failures import Tracing, too_short
from adjoint.backends.xla.growing_stacks import StackBuffer, refused, rows
from adjoint.backends.xla.lowering import fitted, lowers, run
from adjoint.graph.control import Cond, Control, Loop
from adjoint.graph.node import Graph


@lowers(Cond)
def cond(op: Cond, spec: Any, tracing: Tracing, chosen: Any, *xs: Any) -> tuple[Any, ...]:
    """One of two graphs."""

    def side(graph: Any) -> Any:
        def taken(code: Any) -> Any:
            with tracing.inside(code):
                found = run(graph, tracing, xs)
                if any(isinstance(y, StackBuffer) for y in found):
                    raise refused("what a loop in a branch has stacked")
                return found, tracing.code

        return taken

    found, tracing.code = jax().lax.cond(
        jax().numpy.asarray(chosen, bool).reshape(()), side(op.true), side(op.false), jax().numpy.asarray(tracing.code)
    )
    return tuple(found)


@lowers(Loop)
def loop(op: Loop, spec: Any, tracing: Tracing, *xs: Any) -> tuple[Any, ...]:
    """A loop over slices, of a number of iterations that is known here or only on the device."""
    carry, stacked, constants = op.parts(xs)
    carry = [fitted(c, p.spec) for c, p in zip(carry, op.body.params, strict=False)]
    if op.test is None and not any(isinstance(s, StackBuffer) for s in stacked):
        return _scan(op, tracing, carry, stacked, constants)
    return _while(op, tracing, carry, stacked, constants)


def _iteration(op: Loop, tracing: Tracing, carry: Any, slices: list[Any], constants: list[Any]) -> tuple[Any, Any]:
    """The next carry and the slices of the results; `carry` ends with the code."""
    *carry, code = carry

    def taken(code: Any, *carry: Any) -> Any:
        with tracing.inside(code):
            found = run(op.body, tracing, [*carry, *slices, *constants])
            if any(isinstance(y, StackBuffer) for y in found):
                raise refused("what a loop in a loop has stacked")
            return (*found[: op.carried], tracing.code), found[op.carried :]

    def passed(code: Any, *carry: Any) -> Any:
        return (*carry, code), [jax().numpy.zeros(s.shape, s.dtype) for s in op.body.specs[op.carried :]]

    if not op.guarded:
        return taken(code, *carry)
    return jax().lax.cond(slices[0].reshape(()), taken, passed, code, *carry)


def _scan(op: Loop, tracing: Tracing, carry: Any, stacked: Any, constants: Any) -> tuple[Any, ...]:
    first = (*carry, jax().numpy.asarray(tracing.code))
    (*carry, tracing.code), results = jax().lax.scan(
        lambda state, slices: _iteration(op, tracing, state, list(slices), constants),
        first,
        tuple(stacked),
        length=op.iterations(stacked),
        reverse=op.backwards,
    )
    return (*carry, *results)


def _while(op: Loop, tracing: Tracing, carry: Any, stacked: Any, constants: Any) -> tuple[Any, ...]:
    """A loop with a test, or over the stacks of one. What it stacks goes to buffers; one that is full ends it.

    The test stands at the end of each iteration, since what goes wrong in it is handed on, as elsewhere.
    """
    lax, jnp = jax().lax, jax().numpy
    known = [s.count for s in stacked if isinstance(s, StackBuffer)]
    specs = op.body.specs[op.carried :]
    buffers = tuple(jnp.zeros((tracing.capacity, *s.shape), s.dtype) for s in specs)
    tracing.bounded |= bool(buffers)

    def more(carry: Any, k: Any) -> tuple[Any, Any]:
        """Whether there is another iteration, and the code."""
        *carry, code = carry
        if op.test is None:
            return k < known[0], code
        with tracing.inside(code):
            found = run(op.test, tracing, [*carry, *constants])[0]
            return jnp.reshape(found, ()) != 0, tracing.code

    def goes_on(state: Any) -> Any:
        (*_, code), k, _, another = state
        return another & (code == 0) & ((k < tracing.capacity) | (not buffers))

    def step(state: Any) -> Any:
        carry, k, buffers, _ = state
        at = known[0] - 1 - k if op.backwards else k
        carry, slices = _iteration(op, tracing, carry, [rows(s, at) for s in stacked], constants)
        buffers = tuple(map(lambda b, y: lax.dynamic_update_index_in_dim(b, y, at, 0), buffers, slices))
        another, code = more(carry, k + 1)
        return (*carry[:-1], code), k + 1, buffers, another

    first = (*carry, jnp.asarray(tracing.code))
    another, code = more(first, 0)
    state = (*first[:-1], code), np.int64(0), buffers, another
    (*carry, tracing.code), k, buffers, another = lax.while_loop(goes_on, step, state)
    if buffers:
        tracing.fail_if(another, too_short)
    return (*carry, *(StackBuffer(b, k) for b in buffers))


def grows(graph: Graph) -> bool:
    """Whether what a loop stacks may turn out to need longer buffers, so that a graph is run again."""
    ops = [n.op for n in graph.calls if isinstance(n.op, Control)]
    return any(isinstance(op, Loop) and op.test is not None and len(op.body.outputs) > op.carried for op in ops) or any(
        grows(g) for op in ops for g in op.graphs().values()
    )

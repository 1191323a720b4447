"""A differentiated function in static mode under a checkpoint policy: its graph, cut into parts that are computed again."""

from __future__ import annotations

import functools
from collections.abc import Callable, Sequence
from contextvars import ContextVar
from math import prod
from typing import Any

from adjoint.api.graph_part import in_part
from adjoint.core import context
from adjoint.core.checkpoint_policy import CheckpointPolicy, KeepEverything, ShareOfMemory
from adjoint.core.dispatch import Trace, Value
from adjoint.core.spec import shape_of
from adjoint.graph.control import Loop
from adjoint.graph.nested import float_positions
from adjoint.graph.node import Graph
from adjoint.graph.ruled import uses
from adjoint.graph.walk import replay
from adjoint.passes.checkpoint_plan import planned

#: The budgets of gradients with loops, whose memory is known when the function around them is planned.
budgets: ContextVar[list[int] | None] = ContextVar("budgets", default=None)

#: What takes the place of those budgets while a program is searched that keeps them, or of all policies: `KeepEverything`.
searched: ContextVar[ShareOfMemory | KeepEverything | None] = ContextVar("searched", default=None)


def under_policy(policy: CheckpointPolicy | None, tape: Trace, fn: Callable[..., Any]) -> Callable[..., Any]:
    """The function, which keeps for the backward pass of a tape what the policy says; gradients inside know the policy too."""
    instead = searched.get()
    if policy is not None and (policy.strategy == "budget" or isinstance(instead, KeepEverything)):
        policy = instead or policy
    return fn if policy is None else functools.partial(_call, policy, tape, fn)


def _call(policy: CheckpointPolicy, tape: Trace, fn: Callable[..., Any], /, *args: Any, **kwargs: Any) -> Any:
    if context.reader.get() is None:
        with context.setting(context.checkpointing, policy):
            return fn(*args, **kwargs)

    def run(*args: Any, **kwargs: Any) -> Any:
        with context.setting(context.checkpointing, policy):
            return fn(*args, **kwargs)

    def applied(graph: Graph, inputs: Sequence[Any]) -> Sequence[Any]:
        if policy.memory is not None and uses(graph, lambda op: isinstance(op, Loop)):
            _note(policy.memory)
        mine = [i for i in float_positions(inputs) if isinstance(inputs[i], Value) and inputs[i]._trace is tape]
        return replay(planned(graph, mine, policy, _times(inputs)), inputs) if mine else replay(graph, inputs)

    return in_part(run, args, kwargs, applied, "forward")


def _note(memory: int) -> None:
    if (noted := budgets.get()) is not None:
        noted.append(memory)


def _times(inputs: Sequence[Any]) -> int:
    """How many examples run side by side, under the transforms around."""
    return max([prod(_bottom_shape(x)) // max(prod(shape_of(x)), 1) for x in inputs if isinstance(x, Value)], default=1)


def _bottom_shape(x: Any) -> Sequence[int]:
    while isinstance(x._value, Value):
        x = x._value
    return shape_of(x)

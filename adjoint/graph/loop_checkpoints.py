"""What the backward pass of a loop holds, by the policy of the gradient: how many states, and how long the segments between them are.

A loop that is applied while a policy is in force gets its plan here (`Loop.snapshots`, `Loop.segment`); `loop_revolve` follows it.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import replace
from math import isqrt, prod
from typing import Any

import numpy as np

from adjoint.core import context
from adjoint.core.checkpoint_policy import CheckpointPolicy, ShareOfMemory
from adjoint.core.rules import kept
from adjoint.core.spec import Spec, int64
from adjoint.graph.control import UNKNOWN, Loop
from adjoint.graph.loop_revolve import ON_DISK
from adjoint.graph.loop_segments import SegmentedLoop, segmented, suits
from adjoint.graph.nested import Control, float_positions, silent
from adjoint.graph.node import Builder, Graph, Node, Param, Pick
from adjoint.graph.python_results import has_calls
from adjoint.graph.residuals import worth_keeping
from adjoint.graph.rewrite import changed
from adjoint.ops.language import add

FEW = 9  # iterations below which everything is kept
SMALL = 1 << 20  # bytes that "balanced" keeps without more ado
CACHED = 1 << 16  # bytes of the stacks of a segment that are in the cache
UNHURRIED = 64 << 20  # bytes for snapshots, and for segments, of a loop of unknown length
TIMES = 2  # how often "binomial" computes an iteration again, unless it is given the number of snapshots


def applied(loop: Loop, inputs: Sequence[Any]) -> list[Any]:
    """The results of a loop, under the policy that is in force."""
    policy = context.checkpointing.get()
    if policy is None:
        return list(loop(*inputs))
    n = loop.iterations(loop.parts(inputs)[1])
    planned = with_plan(loop, policy, n)
    if suits(planned, n):
        return list(segmented(planned, n)(*inputs)[: len(loop.body.outputs)])
    if planned.carried == loop.carried:
        return list(planned(*inputs))
    return list(planned(np.int64(0), *inputs)[1:])


def with_plan(loop: Loop, policy: CheckpointPolicy, n: int) -> Loop:
    """The loop with the plan that a policy makes for it; itself if all its states are kept."""
    stacks = len(loop.body.outputs) > loop.carried
    if loop.snapshots or loop.guarded or not float_positions(loop.body.specs) or (n == UNKNOWN and stacks):
        return loop
    if has_calls(loop.body):  # no iteration is computed again: Python may give something else then
        return loop
    snapshots, segment = plan(policy, n, *step_bytes(loop))
    if not snapshots:
        return loop
    planned = replace(loop, snapshots=snapshots, segment=segment)
    return planned if loop.test is None else _counted(planned)


def has_plan(op: Any) -> bool:
    """Whether an op is a loop that holds few of its states."""
    return isinstance(op, SegmentedLoop) or (isinstance(op, Loop) and op.snapshots != 0)


def step_bytes(loop: Loop) -> tuple[int, int]:
    """The bytes of a state, and of all that an iteration leaves for the backward pass."""
    state = _bytes(p.spec for p in loop.body.params[: loop.carried])
    return state, state + _bytes(n.spec for n in worth_keeping(silent(loop.body), loop.carried))


def _bytes(specs: Iterable[Spec]) -> int:
    return sum(prod(max(n, 1) for n in s.shape) * s.dtype.itemsize for s in specs)


def plan(policy: CheckpointPolicy, n: int, state: int, step: int) -> tuple[int, int]:
    """How many states are held and how many iterations a segment has; (0, 0) if everything is kept.

    >>> plan(CheckpointPolicy("sqrt"), 10_000, 8, 8)
    (98, 100)
    """
    kind = policy.strategy
    part = policy.share if isinstance(policy, ShareOfMemory) else 1.0
    share = int((policy.memory or 0) * (1 + 7 * part) / 16)  # the rest is for other steps
    fits = 0 <= n * step <= (share if kind == "budget" else SMALL) and n != UNKNOWN
    few = n < 2 if policy.snapshots is not None else n < FEW
    if (n != UNKNOWN and few) or (kind in ("balanced", "budget") and fits):
        return 0, 0
    if kind == "offload":
        return ON_DISK, 1
    if kind == "binomial":
        return _binomial(n, state, step, policy.snapshots)
    if kind != "budget":
        return _square(n, state, step, UNHURRIED)
    found = _square(n, state, step, share // 2)
    if found[0] * state + found[1] * step <= share:
        return found
    segment = max(min(_segment(n, step), share // (2 * step)), 1)
    return max((share - segment * step) // state, 1), segment


def _square(n: int, state: int, step: int, room: int) -> tuple[int, int]:
    """Segments as long as there are snapshots, by their bytes; of a loop of unknown length, as many as there is room for."""
    if n == UNKNOWN:
        return min(max(room // state, 4), 256), min(max(room // step, 1), 256)
    segment = min(max(isqrt(n * state // step), 1), n)
    return max(-(-n // segment) - 2, 1), segment


def _binomial(n: int, state: int, step: int, snapshots: int | None) -> tuple[int, int]:
    """Few snapshots, and segments that stay in the cache."""
    segment = _segment(n, step)
    if snapshots is not None:
        return snapshots, segment
    if n == UNKNOWN:
        return min(max(UNHURRIED // state, 4), 64), segment
    segments, found = -(-n // segment) - 1, 1
    while _reach(found) < segments:
        found += 1
    return found, segment


def _segment(n: int, step: int) -> int:
    segment = min(max(CACHED // step, 1), 256)
    return segment if n == UNKNOWN else min(segment, isqrt(n))


def _reach(slots: int) -> int:
    """How many segments so many slots suffice for, if none is computed more than TIMES again."""
    found = 1
    for r in range(1, TIMES + 1):
        found = found * (slots + r) // r
    return found


def _counted(loop: Loop) -> Loop:
    """A loop with a test that also carries the number of iterations, as the first part of its state."""
    body, test = loop.body, loop.test
    assert test is not None
    count, builder = Node(Param(0), (), Spec((), int64)), Builder()
    following = builder.build(add, (count, builder.const(np.int64(1))))
    return replace(
        loop, carried=loop.carried + 1,
        body=replace(body, params=(count, *body.params), outputs=(following, *body.outputs)),
        test=replace(test, params=(Node(Param(0), (), count.spec), *test.params)),
    )  # fmt: skip


# ---------------------------------------------------------------- graphs that were traced without a policy


@kept
def with_plans(graph: Graph, policy: CheckpointPolicy) -> Graph:
    """The graph whose loops have the plans of a policy; itself if it has no loop that needs one."""
    builder = Builder()
    found: dict[Node, Node] = {p: p for p in graph.params}
    for node in graph.nodes:
        if node in found:
            continue
        op, inputs = node.op, tuple([found[i] for i in node.inputs])
        if isinstance(op, Control):
            op = op.mapped(lambda inner: with_plans(inner, policy))
        if isinstance(op, Loop):
            found[node] = _planned(builder, node, op, inputs, policy)
        elif isinstance(op, Pick) and isinstance(node.inputs[0].op, Loop):
            counted = isinstance(inputs[0].op, Loop) and inputs[0].op.carried > node.inputs[0].op.carried
            found[node] = builder.pick(inputs[0], op.index + counted)
        else:
            found[node] = builder.keep(node, op, inputs)
    return changed(graph, found)


def _planned(builder: Builder, node: Node, loop: Loop, inputs: tuple[Node, ...], policy: CheckpointPolicy) -> Node:
    n = loop.iterations([x.spec for x in loop.parts(inputs)[1]])
    planned = with_plan(loop, policy, n)
    if suits(planned, n):
        return builder.keep(node, segmented(planned, n), inputs)
    if planned.carried > loop.carried:
        inputs = (builder.const(np.int64(0)), *inputs)
    return builder.keep(node, planned, inputs)

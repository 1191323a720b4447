"""What the native backend has code for, asked of the backend itself with the samples of the op cards."""

from __future__ import annotations

from collections.abc import Iterator
from functools import cache

from adjoint.backends.native.compiler import prepared
from adjoint.backends.native.plan.stages import can_compile
from adjoint.core.spec import spec_of
from adjoint.graph.node import Builder, Const, Graph, Node, Param, Pick
from adjoint.ops.card import REGISTRY, Op
from adjoint.testing.cases import Case, cases


def graph_of(case: Case) -> Graph:
    """One call of an op, as a graph."""
    builder = Builder()
    call = builder.build(case.op, [builder.param(spec_of(x)) for x in case.xs])
    parts = [builder.pick(call, k) for k in range(len(call.spec))] if isinstance(call.spec, tuple) else [call]
    return Graph(tuple(builder.params), tuple(parts))


def interpreted(graph: Graph) -> list[Node]:
    """The calls of a graph, in the forms that the backend gives them, for which it has no code."""
    plain = (Param, Const, Pick)
    return [n for n in prepared(graph)[0].calls if not isinstance(n.op, plain) and not can_compile(n)]


def samples_of(cls: type[Op]) -> Iterator[Case]:
    for case, *_ in cases(cls, "float64", 1):
        yield case


@cache
def without_code() -> frozenset[str]:
    """The ops that have no code: every sample of theirs runs in the interpreter."""
    return frozenset(
        name
        for name, cls in REGISTRY.items()
        if not cls.opaque and all(interpreted(graph_of(case)) for case in samples_of(cls))
    )

"""Machine code against the kernel: every call of a card that the native backend compiles, on its samples and at its edges."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from adjoint import backends
from adjoint.core.spec import float32, spec_of
from adjoint.graph.node import Builder, Graph
from adjoint.ops.families import Elementwise
from adjoint.testing.cases import Case
from adjoint.testing.edges import at_edges


def check_code(samples: Sequence[Case]) -> None:
    """What compiled code gives for all samples, at once in one program, and for the edges in both precisions."""
    from adjoint.backends.native.plan.stages import can_compile  # needs llvmlite, which not everybody has

    calls = list(samples)
    for case in {case.op: case for case in samples if isinstance(case.op, Elementwise) and case.op.edges}.values():
        at = at_edges(case)
        calls += [at, at.cast(float32)]
    native = backends.load("native")
    builder = Builder()
    nodes, compiled = [], []
    for case in calls:
        inputs = [builder.param(spec_of(x)) for x in case.xs]
        node = builder.build(case.op, inputs)
        if not isinstance(node.spec, tuple) and can_compile(node):
            nodes.append(node)
            compiled.append(case)
    if not nodes:
        return
    found = native.compile(Graph(tuple(builder.params), tuple(nodes)))(*(x for case in calls for x in case.xs))
    for y, case in zip(found, compiled, strict=True):
        want = case.results()[0]
        assert (y.shape, y.dtype) == (want.shape, want.dtype), f"machine code of {case}: {y.dtype}{y.shape}"
        rtol = 1e-5 if want.dtype == float32 else 1e-11
        largest = max((float(np.abs(x[np.isfinite(x)]).max(initial=0)) for x in case.floats), default=0.0)
        np.testing.assert_allclose(y, want, rtol, rtol * 1e-3 * min(largest, 1), err_msg=f"machine code of {case}")

"""Many small graphs as one program of XLA's: compiling is what takes the time."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from adjoint.backends.xla import executable as executable  # enters the lowerings
from adjoint.backends.xla.devices import jax, precise
from adjoint.backends.xla.failures import Tracing
from adjoint.backends.xla.lowering import run
from adjoint.backends.xla.python_calls import Journal
from adjoint.graph.node import Graph

#: What is computed is the same; what is left out are passes of LLVM's that make it faster.
QUICKLY = {"xla_backend_optimization_level": 0, "xla_llvm_disable_expensive_passes": True}


def together(calls: Sequence[tuple[Graph, Sequence[Any]]]) -> list[list[np.ndarray]]:
    """The results of each graph on its inputs."""
    tracing = Tracing(16)
    tracing.journal = Journal()

    def program(inputs: list[Any]) -> list[Any]:
        return [run(graph, tracing, xs) for (graph, _), xs in zip(calls, inputs, strict=True)]

    with precise():
        inputs = [[np.asarray(x) for x in xs] for _, xs in calls]
        compiled = jax().jit(program).lower(inputs).compile(compiler_options=QUICKLY)
        return [[np.asarray(y) for y in ys] for ys in compiled(inputs)]

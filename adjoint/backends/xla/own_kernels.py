"""Kernels of our own inside a program of XLA's, on NVIDIA GPUs where they were measured to be faster."""

from __future__ import annotations

import os
from collections.abc import Sequence
from importlib.util import find_spec
from typing import Any

from adjoint.backends.gpu_kernels import targets
from adjoint.backends.gpu_kernels.replaced import KernelCall, WithKernels, replaced
from adjoint.backends.xla.lowering import lowers
from adjoint.graph.node import Graph

SWITCH = "ADJOINT_GPU_KERNELS"  # an environment variable: with 0, XLA does everything


@lowers(KernelCall)
def call(op: KernelCall, _spec: Any, _tracing: Any, *arrays: Any) -> Any:
    """The call of a kernel."""
    return op.run(*arrays)


def with_own_kernels(graph: Graph, devices: Sequence[Any]) -> WithKernels:
    """The graph with kernels where they gain something; on anything but one NVIDIA GPU, the graph as it is."""
    if len(devices) != 1 or devices[0].platform != "gpu":
        return WithKernels(graph)  # XLA cuts a program for several devices, but not a kernel of ours
    if os.environ.get(SWITCH) == "0":
        return WithKernels(graph, left=[f"all of it ({SWITCH} is 0)"])
    if find_spec("llvmlite") is None:
        return WithKernels(graph, left=["all of it (the package llvmlite is not installed)"])
    try:
        return replaced(graph, targets.on_gpu(devices[0].local_hardware_id))
    except Exception as error:  # whatever is wrong with kernels costs their speed, never the program
        return WithKernels(graph, left=[f"all of it ({type(error).__name__}: {error})"])

"""Kernels for GPUs, run on this CPU as XLA calls them: the same nests with the same bits, for tests without a GPU."""

from __future__ import annotations

from typing import Any

from adjoint.backends.gpu_kernels import ptx
from adjoint.backends.gpu_kernels.block_code import KernelText
from adjoint.backends.gpu_kernels.targets import handler, kernel_names, registered
from adjoint.backends.gpu_kernels.thread_layout import ThreadLayout


def registered_on_cpu(geometry: ThreadLayout) -> str:
    """Makes a kernel known on the CPU, block by block and thread by thread: slow, with the bits that a GPU gives."""
    text = KernelText(geometry, gpu=False).text()

    def make() -> Any:
        library = ptx.cpu_library(geometry)
        kernels = {name: library[name] for name in kernel_names(geometry)}
        return handler(geometry, kernels, library["launch"], False, library)

    return registered(text, geometry, "cpu", make)

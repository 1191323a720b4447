"""Kernels as functions that XLA knows by name: `register` of `replaced`."""

from __future__ import annotations

import hashlib
import threading
from collections.abc import Callable
from typing import Any

from adjoint.backends.gpu_kernels import driver, ffi_handler, ptx
from adjoint.backends.gpu_kernels.ffi_handler import Launch
from adjoint.backends.gpu_kernels.thread_layout import ThreadLayout
from adjoint.core.errors import GpuKernelError

_known: dict[str, Any] = {}  # by name: machine code, which lives as long as XLA may call it
_lock = threading.Lock()


def on_gpu(device: int) -> Callable[[ThreadLayout], str]:
    """What makes kernels known on a GPU, the one with this number for the driver."""
    number = driver.capability(device)
    if number < ptx.OLDEST:
        raise GpuKernelError(f"the GPU has compute capability {number / 10}, kernels need {ptx.OLDEST / 10}")

    def register(geometry: ThreadLayout) -> str:
        text = ptx.ptx(geometry, number)

        def make() -> Any:
            loaded = driver.load(text, kernel_names(geometry), device)
            return handler(geometry, loaded.kernels, loaded.launch, True, loaded)

        return registered(text + f"on {device}", geometry, "CUDA", make)

    return register


def kernel_names(geometry: ThreadLayout) -> list[str]:
    """The functions of a kernel: one, and another where blocks leave sums to add up."""
    return ["kernel", "finish"] if geometry.kind == "full" else ["kernel"]


def handler(geometry: ThreadLayout, kernels: dict[str, int], launch: int, gpu: bool, keep: Any) -> Any:
    """What XLA calls for a kernel."""
    inputs, results = len(geometry.inputs), len(geometry.results)
    return ffi_handler.handler(inputs, results, launches(geometry, kernels), launch, gpu, keep)


def launches(geometry: ThreadLayout, kernels: dict[str, int]) -> list[Launch]:
    """What a call launches."""
    first, folds = len(geometry.inputs) + len(geometry.stores), len(geometry.folds)
    sums = tuple(range(first, first + folds))
    if geometry.kind != "full":
        return [Launch(kernels["kernel"], geometry.blocks, (*range(first), *sums))]
    partial = tuple(range(first + folds, first + 2 * folds))
    return [
        Launch(kernels["kernel"], geometry.blocks, (*range(first), *partial)),
        Launch(kernels["finish"], 1, (*partial, *sums)),
    ]


def registered(text: str, geometry: ThreadLayout, platform: str, make: Callable[[], Any]) -> str:
    """The name of a kernel with this text and these arrays, made if there is none."""
    import jax

    arrays = [(s.shape, s.dtype.name) for s in (*(n.spec for n in geometry.inputs), *geometry.results)]
    name = f"adjoint_{hashlib.sha256(f'{text}{arrays}{geometry.blocks}'.encode()).hexdigest()[:24]}"
    with _lock:
        if name not in _known:
            code = make()
            jax.ffi.register_ffi_target(name, ffi_handler.address(code), platform=platform)
            _known[name] = code
    return name

"""NVIDIA's own library, which every driver brings with it: PTX -> kernels that can be launched."""

from __future__ import annotations

import ctypes
import functools
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from adjoint.core.errors import GpuKernelError

_CAPABILITY = (75, 76)  # attributes of a device: the two numbers of its compute capability
_LOG = 8192  # bytes for what the driver says against a text
_ERROR_LOG, _ERROR_LOG_SIZE = 5, 6  # options of its compiler


@dataclass(frozen=True)
class Loaded:
    """Kernels in the driver: their handles, good on every device, and the address of the function that launches them."""

    kernels: dict[str, int]
    launch: int


@functools.cache
def library() -> Any:
    """The driver's library."""
    try:
        found = ctypes.CDLL("libcuda.so.1")
    except OSError as error:
        raise GpuKernelError(f"there is no NVIDIA driver: {error}") from None
    if not hasattr(found, "cuLibraryLoadData"):
        raise GpuKernelError("the NVIDIA driver is older than CUDA 12")
    _check(found, found.cuInit(0), "cuInit")
    return found


def capability(device: int) -> int:
    """The compute capability of a device, as one number: 90 is 9.0."""
    cuda, handle = library(), _device(device)
    numbers = []
    for attribute in _CAPABILITY:
        value = ctypes.c_int()
        _check(cuda, cuda.cuDeviceGetAttribute(ctypes.byref(value), attribute, handle), "cuDeviceGetAttribute")
        numbers.append(value.value)
    return numbers[0] * 10 + numbers[1]


def load(text: str, names: Sequence[str], device: int) -> Loaded:
    """Compile PTX in the driver, now and not at the first launch, which may be while a CUDA graph is recorded."""
    cuda, context = library(), ctypes.c_void_p()
    _check(cuda, cuda.cuDevicePrimaryCtxRetain(ctypes.byref(context), _device(device)), "cuDevicePrimaryCtxRetain")
    _check(cuda, cuda.cuCtxPushCurrent_v2(context), "cuCtxPushCurrent")
    try:
        return _loaded(cuda, text, names)
    finally:
        cuda.cuCtxPopCurrent_v2(ctypes.byref(ctypes.c_void_p()))


def _loaded(cuda: Any, text: str, names: Sequence[str]) -> Loaded:
    log = ctypes.create_string_buffer(_LOG)
    options = (ctypes.c_int * 2)(_ERROR_LOG, _ERROR_LOG_SIZE)
    values = (ctypes.c_void_p * 2)(ctypes.addressof(log), _LOG)
    handle = ctypes.c_void_p()
    code = cuda.cuLibraryLoadData(ctypes.byref(handle), text.encode() + b"\0", options, values, 2, None, None, 0)
    _check(cuda, code, "cuLibraryLoadData", log)
    found: dict[str, int] = {}
    for name in names:
        kernel, function = ctypes.c_void_p(), ctypes.c_void_p()
        _check(cuda, cuda.cuLibraryGetKernel(ctypes.byref(kernel), handle, name.encode()), "cuLibraryGetKernel", log)
        _check(cuda, cuda.cuKernelGetFunction(ctypes.byref(function), kernel), "cuKernelGetFunction", log)
        if hasattr(cuda, "cuFuncLoad"):
            _check(cuda, cuda.cuFuncLoad(function), "cuFuncLoad", log)
        found[name] = kernel.value or 0
    return Loaded(found, ctypes.cast(cuda.cuLaunchKernel, ctypes.c_void_p).value or 0)


def _device(number: int) -> ctypes.c_int:
    cuda, handle = library(), ctypes.c_int()
    _check(cuda, cuda.cuDeviceGet(ctypes.byref(handle), number), "cuDeviceGet")
    return handle


def _check(cuda: Any, code: int, what: str, log: Any = None) -> None:
    if code:
        text = ctypes.c_char_p()
        cuda.cuGetErrorString(code, ctypes.byref(text))
        said = f": {log.value.decode(errors='replace').strip()}" if log is not None and log.value else ""
        raise GpuKernelError(f"{what}: {(text.value or str(code).encode()).decode()}{said}")

"""mindspore.runtime, and settings that change no result here: devices, memory, streams, seeds, determinism."""

from __future__ import annotations

from collections import namedtuple
from typing import Any

from adjoint.mindspore.context import get_context, set_context
from adjoint.ops.functional.random import set_seed as _set_seed

_Device = namedtuple("_Device", "device_target device_id")
_seed: list[int | None] = [None]


def set_seed(seed: int) -> None:
    """Begin the random numbers anew: the global seed of operators, and NumPy's.

    >>> set_seed(7)
    >>> get_seed()
    7
    """
    if not isinstance(seed, int) or isinstance(seed, bool):
        raise TypeError(f"set_seed: the seed must be an int, not {seed!r}")
    if seed < 0:
        raise ValueError(f"set_seed: the seed must be 0 or above, not {seed}")
    import numpy as np

    np.random.seed(seed % 2**32)
    _set_seed(seed)
    _seed[0] = seed


def get_seed() -> int | None:
    """The seed that was set last; None if none was."""
    return _seed[0]


def set_deterministic(deterministic: bool) -> None:
    """Results are the same in every run anyway."""
    if not isinstance(deterministic, bool):
        raise TypeError(f"set_deterministic: a bool, not {deterministic!r}")
    set_context(deterministic="ON" if deterministic else "OFF")


def set_device(device_target: str, device_id: int | None = None) -> None:
    """Choose the device: there is the CPU."""
    if device_target not in ("CPU", "GPU", "Ascend"):
        raise ValueError(f"set_device: device_target must be 'CPU', 'GPU' or 'Ascend', not {device_target!r}")
    if device_target != "CPU":
        raise RuntimeError(f"set_device: there is no {device_target} here")
    set_context(device_target=device_target, device_id=device_id or 0)


def get_current_device() -> Any:
    """The device in use."""
    return _Device(get_context("device_target"), get_context("device_id"))


def launch_blocking() -> None:
    """Operators are finished when a call returns anyway."""


def synchronize() -> None:
    """Nothing is left to wait for."""


def empty_cache() -> None:
    """No memory is kept that could be given back."""


def dispatch_threads_num(threads_num: int) -> None:
    """How many threads start operators; here the number changes nothing."""
    if not isinstance(threads_num, int) or isinstance(threads_num, bool):
        raise TypeError(f"dispatch_threads_num: an int, not {threads_num!r}")
    if threads_num <= 0:
        raise ValueError(f"dispatch_threads_num: a number above 0, not {threads_num}")


def set_cpu_affinity(enable_affinity: bool, affinity_cpu_list: Any = None, module_to_cpu_dict: Any = None) -> None:
    """Which cores run what; here the choice changes nothing."""


def set_memory(
    init_size: str = "2GB",
    increase_size: str = "2GB",
    max_size: str = "1024GB",
    optimize_level: str = "O0",
    huge_page_reserve_size: str = "0GB",
) -> None:
    """How much memory to reserve; here none is."""


def set_kernel_launch_group(thread_num: int = 2, kernel_group_num: int = 8) -> None:
    """How operators are started; here the choice changes nothing."""


def memory_allocated() -> int:
    """Bytes of devices in use: there are none beside the CPU's."""
    return 0


max_memory_allocated = memory_reserved = max_memory_reserved = memory_allocated


def memory_stats() -> dict[str, int]:
    """What is known of the memory of devices: nothing, there being none beside the CPU's."""
    return {}


def memory_summary() -> str:
    """The same as text."""
    return ""


def reset_peak_memory_stats() -> None:
    """Nothing is counted."""


reset_max_memory_allocated = reset_max_memory_reserved = reset_peak_memory_stats


def enable_dynamic(**symbols: Any) -> Any:
    """Decorates a function whose arguments may change their shapes; here all may."""
    return lambda fn: fn


def run_check() -> None:
    """Say that computing works.

    >>> run_check()
    MindSpore version: 2.10.0 (adjoint)
    The result of multiplication calculation is correct, MindSpore has been installed on platform [CPU] successfully!
    """
    print("MindSpore version: 2.10.0 (adjoint)")
    print(
        "The result of multiplication calculation is correct, MindSpore has been installed on platform [CPU] successfully!"
    )


__all__ = [
    "dispatch_threads_num", "empty_cache", "enable_dynamic", "get_current_device", "get_seed", "launch_blocking",
    "max_memory_allocated", "max_memory_reserved", "memory_allocated", "memory_reserved", "memory_stats", "memory_summary",
    "reset_max_memory_allocated", "reset_max_memory_reserved", "reset_peak_memory_stats", "run_check", "set_cpu_affinity",
    "set_deterministic", "set_device", "set_kernel_launch_group", "set_memory", "set_seed", "synchronize",
]  # fmt: skip

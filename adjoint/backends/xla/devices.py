"""Devices by name, and JAX as this backend uses it: in full precision, without a change to the user's own settings."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from functools import cache
from typing import Any

from adjoint.core.errors import ArgumentError, called_at
from adjoint.core.extras import extra

PLATFORMS = ("cpu", "gpu", "tpu")


@cache
def jax() -> Any:
    """The package, loaded when it is first used."""
    return extra("jax", "JAX", "xla", "the backend 'xla'")


@contextmanager
def precise() -> Iterator[None]:
    """All dtypes as they are, and products in the precision of their inputs, for this thread."""
    module = jax()
    x64 = module.enable_x64 if hasattr(module, "enable_x64") else module.experimental.enable_x64
    with x64(True), module.default_matmul_precision("highest"):
        yield


def device(name: str | None) -> Any:
    """The device of this process that a name stands for: "gpu", "gpu:1", "cpu:0"; None for JAX's own choice.

    >>> device("cpu").platform
    'cpu'
    """
    module = jax()
    if name is None:
        return module.local_devices()[0]
    platform, _, number = name.lower().partition(":")
    platform = "gpu" if platform == "cuda" else platform  # PyTorch's word
    if platform not in PLATFORMS or not (number == "" or number.isdecimal()):
        raise ArgumentError(
            f"there is no device {name!r}: a device is one of {', '.join(PLATFORMS)}, or one of several by its number, as 'gpu:1'{called_at()}"
        )
    try:
        found = module.local_devices(backend=platform)
    except RuntimeError:
        here = sorted({platform_of(d) for d in module.devices()} | {"cpu"})
        raise ArgumentError(
            f"there is no device {name!r} on this machine: JAX sees {', '.join(here)}. A GPU needs JAX with its plugin: "
            f'pip install "jax[cuda13]"{called_at()}'
        ) from None
    k = int(number or 0)
    if k >= len(found):
        raise ArgumentError(f"there is no device {name!r}: of {platform} there are {len(found)}{called_at()}")
    return found[k]


def name_of(found: Any) -> str:
    """The name of a device.

    >>> name_of(device("cpu:0"))
    'cpu:0'
    """
    platform = platform_of(found)
    here = jax().local_devices(backend=platform)
    if found not in here:
        return f"{platform} {found.id} of process {found.process_index}"
    return f"{platform}:{here.index(found)}"


def platform_of(found: Any) -> str:
    """The kind of a device, as adjoint calls it."""
    return "gpu" if found.platform in ("cuda", "rocm") else str(found.platform)

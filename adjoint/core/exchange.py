"""DLPack, memory shared with NumPy, PyTorch, JAX, CuPy and others without a copy; and the array API standard's entrance."""

from __future__ import annotations

import inspect
from functools import cache
from importlib import import_module
from typing import Any

import numpy as np

from adjoint.core import foreign, placement
from adjoint.core.dispatch import DEVICE, Value, make, wrap
from adjoint.core.errors import ArgumentError, ArgumentTypeError, CutGradientError, DeviceError, SharingError, called_at

API_VERSIONS = ("2021.12", "2022.12", "2023.12", "2024.12")
CPU = 1  # DLPack's number for memory of the host


class SharedWithOthers:
    """The protocols by which other libraries take a Tensor."""

    __slots__ = ()

    def __dlpack__(
        self, *, stream: Any = None, max_version: Any = None, dl_device: Any = None, copy: bool | None = None
    ) -> Any:
        return export(self, stream, max_version, dl_device, copy)

    def __dlpack_device__(self) -> tuple[int, int]:
        return device_of(self)

    def to_device(self, device: str, /, *, stream: Any = None) -> Any:
        """As `to(device)`, with the array API standard's name."""
        if stream is not None:
            raise ArgumentError(f"to_device: stream must be None{called_at()}")
        x: Any = self
        return x.to(device)

    def __array_namespace__(self, /, *, api_version: str | None = None) -> Any:
        """The functions of the array API standard, for code that is written for any library of arrays."""
        if api_version is not None and api_version not in API_VERSIONS:
            raise ArgumentError(f"array API {api_version!r}: known are {', '.join(API_VERSIONS)}{called_at()}")
        return import_module("adjoint.array_api")  # it stands on `ops`, and so above this file


@cache
def _has_versions() -> bool:
    """Whether this NumPy knows DLPack's later arguments: from 2.1 on."""
    try:
        np.zeros(1).__dlpack__(max_version=(1, 0))
    except TypeError:
        return False
    return True


def _exportable(x: Any) -> Any:
    """The array behind a Tensor that nothing tracks."""
    if x.tracked:
        how = "x.detach()" if x.requires_grad else "x.asnumpy()"
        raise CutGradientError(
            f"__dlpack__ would cut the gradient of a Tensor that is being differentiated, batched or traced; pass {how} "
            f"instead.{called_at()}"
        )
    array = x._plain()
    return array if placement.is_device_array(array) else np.asarray(array)


def export(
    x: Any,
    stream: Any = None,
    max_version: tuple[int, int] | None = None,
    dl_device: tuple[int, int] | None = None,
    copy: bool | None = None,
) -> Any:
    """A capsule for another library: the memory itself, said to be read-only where the protocol has a word for it."""
    array = _exportable(x)
    if placement.is_device_array(array):
        if dl_device is None or tuple(map(int, dl_device)) == tuple(map(int, array.__dlpack_device__())):
            given = {"stream": stream, "max_version": max_version, "copy": copy}
            known = inspect.signature(array.__dlpack__).parameters
            return array.__dlpack__(**{k: v for k, v in given.items() if v is not None and k in known})
        if copy is False or int(dl_device[0]) != CPU:
            raise SharingError(f"this Tensor is on {x.device}: only a copy can go to another device{called_at()}")
        array, copy = placement.on_host(array), None
    if stream is not None:
        raise SharingError(
            f"__dlpack__: this Tensor is on the host, which has no streams: stream must be None{called_at()}"
        )
    if dl_device is not None and int(dl_device[0]) != CPU:
        raise SharingError(
            f"this Tensor is on the host: move it first, as x.to('gpu'), or let the other library do so{called_at()}"
        )
    if array.dtype.kind not in "biufc" or not array.dtype.isnative:
        raise SharingError(f"DLPack through NumPy has no {array.dtype}: cast it, as x.astype('float32'){called_at()}")
    signals = max_version is not None and tuple(max_version) >= (1, 0) and _has_versions()
    if copy:
        array = np.array(array)
    elif signals:
        array = array.view()
        array.flags.writeable = False  # a write would change the Tensor unseen
    elif not array.flags.writeable:  # there is no way to say so: the other library may write to what it is given
        if copy is False:
            raise SharingError(
                f"this Tensor is read-only, which DLPack before 1.0 cannot say: allow a copy{called_at()}"
            )
        array = np.array(array)
    return array.__dlpack__(max_version=tuple(max_version)) if signals and max_version else array.__dlpack__()


def device_of(x: Any) -> tuple[int, int]:
    """DLPack's name for where a Tensor is."""
    array = x._plain()
    return (array if placement.is_device_array(array) else np.asarray(array)).__dlpack_device__()


def from_dlpack(x: Any, /, *, device: str | None = None, copy: bool | None = None) -> Any:
    """A Tensor of an array of another library (PyTorch, JAX, CuPy, NumPy ...), on the same memory.

    Nothing is copied, unless `copy=True` or another `device` is asked for; with `copy=False` what would need a copy is
    refused. The Tensor shows what the other library writes to the memory later, so write to neither while a derivative
    is being computed; `x[i] = v` on the Tensor leaves the other one alone. A tensor on a GPU needs JAX.

    >>> import numpy as np
    >>> import adjoint as ad
    >>> array = np.array([1.0, 2.0])
    >>> x = ad.from_dlpack(array)
    >>> bool(np.shares_memory(np.asarray(x), array))
    True
    """
    if isinstance(x, Value):
        made = wrap(placement.copied(_exportable(x))) if copy else make(x._value, x._trace, x._extra)
    elif placement.is_device_array(x) and device is not None and device.lower() != "cpu":
        made = make(x, DEVICE)
    else:
        made = _imported(x, copy)
    if device is not None and made.device != device.lower():
        if copy is False:
            raise SharingError(f"from_dlpack: on {made.device}; on {device} it would be a copy{called_at()}")
        return made.to(device)
    return made


def _imported(x: Any, copy: bool | None) -> Any:
    if not hasattr(x, "__dlpack__") or not hasattr(x, "__dlpack_device__"):
        what = foreign.described(x) or f"a {type(x).__name__}"
        way = f": pass {foreign.way_in(x)}" if foreign.described(x) else ", which does not speak DLPack: pass an array"
        raise ArgumentTypeError(f"from_dlpack: the argument is {what}{way}{called_at()}")
    try:
        if int(x.__dlpack_device__()[0]) == CPU:
            array = np.from_dlpack(x)
            if copy:
                array = np.array(array)
            array = array.view()
            array.flags.writeable = False  # the other library's: ours to read
            return wrap(array)
        return make(_on_device(x, copy), DEVICE)
    except (BufferError, RuntimeError, TypeError) as error:
        if isinstance(error, (DeviceError, SharingError)):
            raise
        what = foreign.described(x) or f"a {type(x).__name__}"
        raise SharingError(
            f"from_dlpack: {what} cannot be shared ({error}). Of one that requires a gradient pass t.detach(){called_at()}"
        ) from None


def _on_device(x: Any, copy: bool | None) -> Any:
    """An array of JAX's on the memory of a GPU."""
    try:
        import jax
    except ImportError:
        raise DeviceError(
            f"from_dlpack: the array is on a device, which needs JAX: pip install adjoint[xla], or bring it to the host "
            f"first (t.cpu()){called_at()}"
        ) from None
    array = jax.dlpack.from_dlpack(x)
    return jax.numpy.array(array, copy=True) if copy else array

"""Methods of NumPy's arrays that Tensors have no function of `ops` for: `x.fill(0)`, `x.compress(mask)`, `x.view()`.

They are found where Tensor has no attribute of that name; a Python number that is traced has none of them.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from adjoint.core.errors import ArgumentTypeError, DtypeError, called_at
from adjoint.core.tensor import Tensor
from adjoint.core.tensor_text import refuse_to_cut
from adjoint.ops import functional as _f
from adjoint.ops.numpylike.common import array_of_known, tensor


def _numpy(name: str) -> Callable[..., Any]:
    """The function of NumPy's name, whose module is loaded when it is first called."""

    def function(*args: Any, **kwargs: Any) -> Any:
        from adjoint.ops.numpylike import api

        return getattr(api, name)(*args, **kwargs)

    return function


def _fill(x: Any, value: Any) -> None:
    """Write one value to all elements."""
    x[...] = value


def _put(x: Any, ind: Any, v: Any, mode: str = "raise") -> None:
    """Write to elements by their places in the flattened array; values are repeated as often as needed."""
    if mode != "raise":
        raise ArgumentTypeError(f"x.put: mode={mode!r} is not supported for Tensors{called_at()}")
    places, values = np.ravel(array_of_known("x.put", ind)), _f.reshape(tensor(v), (-1,))
    if places.size and values.size:
        x[np.unravel_index(places % x.size if (places < 0).any() else places, x.shape)] = _f.take(
            values, np.arange(places.size) % values.size, 0
        )


def _partition(x: Any, kth: Any, axis: int = -1, kind: str = "introselect", order: Any = None) -> None:
    """Partition in place."""
    x[...] = _numpy("partition")(x, kth, axis, kind, order)


def _bytes(name: str) -> Callable[..., Any]:
    def method(x: Any, *args: Any, **kwargs: Any) -> Any:
        refuse_to_cut(x, f"x.{name}()")
        return getattr(x.asnumpy(), name)(*args, **kwargs)

    return method


_METHODS: dict[str, Callable[..., Any]] = {
    "fill": _fill, "put": _put, "partition": _partition, **{n: _numpy(n) for n in ("argpartition", "choose", "searchsorted")},
    "compress": lambda x, condition, axis=None, out=None: _numpy("compress")(condition, x, axis, out),
    **{n: _bytes(n) for n in ("tobytes", "tofile", "dump", "dumps")},
}  # fmt: skip


def _bound(method: Callable[..., Any]) -> Callable[[Any], Callable[..., Any]]:
    return lambda x: lambda *args, **kwargs: method(x, *args, **kwargs)


def _view(x: Any, *shape: Any, dtype: Any = None, **options: Any) -> Any:
    """The same elements, as NumPy has it, or under another shape, as PyTorch has it."""
    if len(shape) == 1 and isinstance(shape[0], (np.dtype, str, type)):
        (dtype,), shape = shape, ()
    if dtype is not None and np.dtype(dtype) != x.dtype:
        raise DtypeError(
            f"x.view({np.dtype(dtype)}): a Tensor of {x.dtype} cannot be read as other numbers; x.astype converts it{called_at()}"
        )
    return _f.reshape(x, *shape, **options) if shape or options else x[...]


def _set_shape(x: Any, shape: Any) -> None:
    raise AttributeError(f"x.shape = {shape}: the shape of a Tensor stays; write x = x.reshape({shape}){called_at()}")


def attach() -> None:
    """Give them to Tensor."""
    Tensor.habits.update({name: _bound(method) for name, method in _METHODS.items()})
    Tensor.view = _view  # type: ignore[attr-defined]
    Tensor.shape = Tensor.shape.setter(_set_shape)  # type: ignore[attr-defined, assignment, method-assign]

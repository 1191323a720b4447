"""mindspore.Tensor: MindSpore's way to make one, of the engine's own class."""

from __future__ import annotations

from typing import Any

import numpy as np

from adjoint.core.tensor import Tensor as _Tensor


class _Kind(type):
    """Every Tensor of the engine is an instance of `mindspore.Tensor`."""

    def __instancecheck__(cls, instance: Any) -> bool:
        return isinstance(instance, _Tensor)

    def __subclasscheck__(cls, subclass: Any) -> bool:
        return issubclass(subclass, _Tensor)


class Tensor(_Tensor, metaclass=_Kind):
    """A Tensor from a number, a list, an array or a Tensor, or from a shape and an initializer.

    >>> import adjoint.mindspore as mindspore
    >>> print(mindspore.Tensor([1, 2], mindspore.float32), mindspore.Tensor(shape=(2,), dtype=mindspore.int32).shape)
    [1. 2.] (2,)
    """

    __slots__ = ()

    def __new__(
        cls,
        input_data: Any = None,
        dtype: Any = None,
        shape: Any = None,
        init: Any = None,
        const_arg: bool = False,
        device: Any = None,
    ) -> Any:
        if input_data is None and shape is not None:
            sizes = (shape,) if isinstance(shape, int) else tuple(shape)
            sizes = tuple(1 if n is None or n < 0 else n for n in sizes)  # a size that is not known yet
            if init is None:
                return _Tensor(np.zeros(sizes, np.dtype(dtype)))
            from adjoint.nn.initializer import initializer

            return initializer(init, sizes, dtype)
        try:
            return _Tensor(input_data, dtype)
        except ValueError as error:
            if isinstance(input_data, (list, tuple)):
                raise TypeError(f"For Tensor, the input_data {input_data} cannot be an array: {error}") from None
            raise

    @classmethod
    def from_numpy(cls, array: np.ndarray) -> Any:
        """A Tensor of the values of an array."""
        return _Tensor(array)


def tensor(
    input_data: Any = None, dtype: Any = None, shape: Any = None, init: Any = None, const_arg: bool = False
) -> Any:
    """The same as `Tensor`."""
    return Tensor(input_data, dtype, shape, init, const_arg)

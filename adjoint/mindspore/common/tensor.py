"""mindspore.Tensor: MindSpore's way to make one, of the engine's own class."""

from __future__ import annotations

from typing import Any

import numpy as np

from adjoint.core.errors import AdjointError, ShapeError
from adjoint.core.tensor import Tensor as _Tensor
from adjoint.mindspore.common.shared_tensor import from_numpy as from_numpy
from adjoint.mindspore.common.symbol import Symbol


class _Kind(type):
    """Every Tensor of the engine is an instance of `mindspore.Tensor`."""

    def __instancecheck__(cls, instance: Any) -> bool:
        return isinstance(instance, _Tensor)

    def __subclasscheck__(cls, subclass: Any) -> bool:
        return issubclass(subclass, _Tensor)

    def __getattr__(cls, name: str) -> Any:
        """`Tensor.name(x, ...)` for a method that the face has added."""
        if name not in _Tensor.extensions:
            raise AttributeError(f"type object 'Tensor' has no attribute {name!r}")
        return lambda x, *args, **kwargs: getattr(x, name)(*args, **kwargs)


def _check(input_data: Any, dtype: Any, shape: Any, init: Any) -> None:
    """Raise what MindSpore does for arguments that do not go together."""
    if isinstance(dtype, (str, type)):
        raise TypeError(f"For 'Tensor', the 'dtype' should be a dtype such as mindspore.float32, but got {dtype!r}.")
    if input_data is not None and shape is not None:
        raise ValueError(
            f"When initializing a tensor with 'input_data', 'shape' should be set to None.But got shape: {shape}."
        )
    if input_data is None and shape is None and init is not None:
        raise ValueError("init, dtype and shape must have values at the same time.")
    if (input_data is None and shape is None) or isinstance(input_data, (str, dict, set)):
        raise TypeError(
            f"For 'Tensor', the type of 'input_data' should be a number, a list, a tuple, an array or a Tensor, but got type '{type(input_data).__name__}'."
        )
    if input_data is None and dtype is None:
        raise ValueError("init, dtype and shape must have values at the same time.")


class OpenTensor(_Tensor):
    """A Tensor some of whose sizes are not known: it tells `set_inputs` what to expect, and holds no values of use."""

    __slots__ = ("sizes",)

    def __init__(self, sizes: Any, dtype: Any) -> None:
        super().__init__(np.zeros([1 if n is None or n < 0 else n for n in sizes], np.dtype(dtype)))
        self.sizes = tuple(-1 if n is None else n for n in sizes)

    @property
    def shape(self) -> tuple[int, ...]:
        """The sizes, -1 for those that are not known."""
        return self.sizes


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
        _check(input_data, dtype, shape, init)
        if input_data is None:
            sizes: Any = (
                (shape,) if isinstance(shape, int) else tuple(None if isinstance(n, Symbol) else n for n in shape)
            )
            if any(n is None or n < 0 for n in sizes):
                return OpenTensor(sizes, dtype)
            if init is None:
                return _Tensor(np.zeros(sizes, np.dtype(dtype)))
            from adjoint.nn.initializer import initializer

            return initializer(init, sizes, dtype)
        try:
            return _Tensor(input_data, dtype)
        except ValueError as error:
            if isinstance(input_data, (list, tuple)) and (
                isinstance(error, ShapeError) or not isinstance(error, AdjointError)
            ):
                raise TypeError(
                    f"For Tensor, the input_data {input_data} contain unsupported element: {error}"
                ) from None
            raise

    @classmethod
    def from_numpy(cls, array: np.ndarray) -> Any:
        """A Tensor with the memory of an array."""
        return from_numpy(array)


def tensor(
    input_data: Any = None, dtype: Any = None, shape: Any = None, init: Any = None, const_arg: bool = False
) -> Any:
    """The same as `Tensor`."""
    return Tensor(input_data, dtype, shape, init, const_arg)


def is_tensor(obj: Any) -> bool:
    """Whether an object is a Tensor."""
    return isinstance(obj, _Tensor)


def frombuffer(buffer: Any, *, dtype: Any, count: int = -1, offset: int = 0) -> Any:
    """A Tensor of the numbers that bytes hold.

    >>> import numpy as np
    >>> print(frombuffer(b"\x01\x02", dtype=np.dtype("uint8")))
    [1 2]
    """
    return _Tensor(np.frombuffer(buffer, np.dtype(dtype), count, offset).copy())


def swap_tensors(t1: Any, t2: Any) -> None:
    """Let two Tensors change their values, shapes and dtypes.

    >>> a, b = Tensor([1.0]), Tensor([2.0, 3.0])
    >>> swap_tensors(a, b)
    >>> print(a, b)
    [2. 3.] [1.]
    """
    if type(t1) is not type(t2):
        raise RuntimeError(f"swap_tensors: a {type(t1).__name__} and a {type(t2).__name__} cannot change places")
    kept = (t1._value, t1._trace, t1._extra)
    t1._rebind(t2)
    t2._value, t2._trace, t2._extra = kept

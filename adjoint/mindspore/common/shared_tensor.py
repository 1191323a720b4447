"""`Tensor.from_numpy`: a Tensor that has the memory of a NumPy array, without a stored value ever changing under a derivative."""

from __future__ import annotations

from typing import Any

import numpy as np

from adjoint.core.tensor import Tensor as _Tensor


class SharedTensor(_Tensor):
    """A Tensor that shows what an array holds now, and stores into it.

    Whoever computes with it is given the values of that moment: the array may change between a function and its derivative,
    or between two calls of compiled code, and neither sees half of each.

    >>> array = np.ones(3)
    >>> x = SharedTensor(array)
    >>> array[0] = 5
    >>> print(x, x * 2)
    [5. 1. 1.] [10.  2.  2.]
    """

    __slots__ = ("_array", "_taken")
    _array: Any
    _taken: Any

    def __init__(self, array: np.ndarray) -> None:
        self._array = self._taken = None
        super().__init__(array)
        self._array = array

    @property
    def _value(self) -> Any:
        """What the array holds, as another array for other values."""
        if self._array is not None and not _same(self._array, self._taken):
            self._taken = self._array.copy()
        return self._taken

    @_value.setter
    def _value(self, new: Any) -> None:
        self._taken = new
        array = self._array
        if array is None:
            return
        fits = isinstance(new, np.ndarray) and (new.shape, new.dtype) == (array.shape, array.dtype)
        if fits and array.flags.writeable:
            array[...] = new
        else:  # what a transform stores, or another shape: from here on it is a Tensor of its own
            self._array = None

    def __reduce__(self) -> Any:
        return _Tensor, (self.asnumpy(),)


def _same(a: np.ndarray, b: np.ndarray) -> bool:
    """Whether two arrays hold the same bits."""
    return np.array_equal(a.reshape(-1).view(np.uint8), b.reshape(-1).view(np.uint8))


def from_numpy(array: np.ndarray) -> Any:
    """A Tensor with the memory of an array, or a copy of one whose elements do not lie one after the other."""
    if not isinstance(array, np.ndarray):
        raise TypeError(f"from_numpy takes a NumPy array, but got {type(array).__name__}.")
    shareable = array.flags.c_contiguous and array.dtype.isnative and array.dtype.kind in "biufc"
    return SharedTensor(array) if shareable else _Tensor(array)

"""Arrays: which of them may be kept, and what kernels reach for beyond an array namespace itself."""

from __future__ import annotations

import sys
from functools import lru_cache
from importlib import import_module
from types import ModuleType
from typing import Any
from weakref import WeakValueDictionary

import numpy as np

from adjoint.core.errors import DtypeError, ShapeError, called_at


@lru_cache(maxsize=8)
def special(xp: Any) -> ModuleType:
    """The special functions that go with an array namespace: SciPy's for NumPy, JAX's and CuPy's for theirs."""
    homes = {"numpy": "scipy.special", "jax.numpy": "jax.scipy.special", "cupy": "cupyx.scipy.special"}
    return import_module(homes[xp.__name__])


def kept(x: Any) -> Any:
    """An array that is used again later: a read-only copy, unless nobody can write to its memory.

    >>> array = np.ones(2)
    >>> held = kept(array)
    >>> array[0] = 5.0
    >>> held, kept(held) is held
    (array([1., 1.]), True)
    """
    if not isinstance(x, np.ndarray):
        return x
    check_kind(x)
    if is_frozen(x) and x.dtype.isnative:
        return x
    copy = np.array(x) if x.dtype.isnative else x.astype(x.dtype.newbyteorder("="))
    copy.setflags(False)  # type: ignore[call-arg]  # by position it is twice as fast
    return copy


_SILENT = frozenset(("ignore", "warn", "print"))


def numpy_may_raise() -> bool:
    """Whether NumPy raises an error, or calls a function, on a division by zero and such: `np.errstate(all="raise")`.

    >>> with np.errstate(divide="raise"):
    ...     numpy_may_raise()
    True
    >>> numpy_may_raise()
    False
    """
    return not _SILENT.issuperset(np.geterr().values())


def check_kind(x: np.ndarray) -> None:
    """Raise for arrays that mean more than their numbers, or hold none."""
    if type(x) is not np.ndarray:
        if isinstance(x, np.ma.MaskedArray):
            raise DtypeError(
                "a masked array would lose its mask. Fill it (x.filled(0.0)), or pass its data and choose with "
                f"ops.where(mask, 0.0, data){called_at()}"
            )
        if isinstance(x, np.matrix):
            raise DtypeError(f"np.matrix multiplies by `*`, a Tensor by `@`: pass np.asarray(x){called_at()}")
    if x.dtype.kind in "MmSUV" and (x.dtype.kind != "V" or x.dtype.names is not None):
        raise DtypeError(
            f"an array of {x.dtype} holds no numbers that adjoint can compute with: pass numbers, or the fields of the "
            f"array one by one{called_at()}"
        )


def holders(x: Any) -> int:
    """How many names, containers and attributes hold an object, the expression apart that it is passed by.

    >>> arrays = [np.ones(2)]
    >>> alone = holders(arrays[0])
    >>> other = arrays[0]
    >>> alone, holders(arrays[0])
    (1, 2)
    """
    return sys.getrefcount(x) - _PASSED


_PASSED = 0
_PASSED = holders([object()][0])  # what calling it adds


_WRITABLE = 0x400  # NPY_ARRAY_WRITEABLE


def is_frozen(x: np.ndarray) -> bool:
    """Whether an array and the arrays that it is a part of are read-only."""
    base: Any = x
    while isinstance(base, np.ndarray):
        if is_writable(base):
            return False
        base = base.base
    return base is None or type(base) is bytes


def is_writable(x: np.ndarray) -> bool:
    """As `x.flags.writeable`, which warns of arrays from np.broadcast_arrays even when it is only read."""
    return bool(x.flags.num & _WRITABLE)


_constants: WeakValueDictionary[int, np.ndarray] = WeakValueDictionary()  # by the id of the array they are copies of


def constant(x: np.ndarray) -> np.ndarray:
    """A copy for a graph to hold: the same one each time, as long as the array holds the same numbers."""
    check_kind(x)
    if is_frozen(x):
        return x
    known = _constants.get(id(x))
    if known is None or (known.shape, known.dtype) != (x.shape, x.dtype) or known.tobytes() != x.tobytes():
        known = _constants[id(x)] = kept(x)
    return known


def even_array(data: Any, dtype: Any = None) -> np.ndarray:
    """An array of numbers in lists, which must be of one length on each level."""
    try:
        return np.array(data, dtype=dtype)
    except ValueError as error:
        if "inhomogeneous" not in str(error):
            raise
        raise ShapeError(
            f"Tensor: the lists in it differ in length, or stand beside numbers: pad them, or keep a list of Tensors{called_at()}"
        ) from None

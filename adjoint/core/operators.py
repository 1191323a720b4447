"""Python's operators as functions of the op language."""

from __future__ import annotations

from collections import deque
from operator import index
from types import EllipsisType, NoneType, NotImplementedType
from typing import Any

import numpy as np

from adjoint.core.errors import AdjointError, ArgumentTypeError, called_at
from adjoint.core.language import language
from adjoint.core.spec import Number, dtype_of, number_of

#: What no number is equal to, so that `==` says so, as NumPy does.
_NO_NUMBERS = {str, bytes, bytearray, NoneType, type, dict, set, frozenset, EllipsisType, NotImplementedType}
#: What Python's numbers repeat.
_REPEATED = {list, tuple, str, bytes, bytearray, deque}
#: Those that are arrays to NumPy.
_ARRAY_LIKE = {list, tuple}
#: Marks the truth of a comparison of Python numbers: an integer to Python's arithmetic, unlike NumPy's truth values.
TRUTH = object()


def _compared(y: Any, a: Any, b: Any) -> Any:
    """The result of comparing a and b."""
    if y is NotImplemented or y._trace.deferred:  # the other's operator is asked; or no Python numbers are compared
        return y
    if type(y._value) is np.bool_ and number_of(a) is not None and number_of(b) is not None:
        y._extra = TRUTH
    return y


def _differs(x: Any, other: object) -> bool:
    """Whether `other` is of a kind that holds no numbers; to a Python number lists and tuples are too."""
    return type(other) in _NO_NUMBERS or (type(x._extra) is Number and isinstance(other, (list, tuple)))


def _repeats(x: Any, sequence: Any) -> bool:
    """Whether a value known only when a graph runs is to Python a number, by which it repeats sequences.

    NumPy's integers do as well; a graph cannot tell them from Tensors without axes.
    """
    if type(x._extra) is Number:
        return type(sequence) in _ARRAY_LIKE or dtype_of(x).kind in "bi"
    known = x._trace.deferred or isinstance(x._value, (np.ndarray, np.generic, int, Operators))
    return not known and x.shape == () and dtype_of(x).kind in "iu"


def _repeated(sequence: Any, times: Any) -> Any:
    """`[a, b] * k` with a Python number k."""
    kind, name = dtype_of(times).kind, type(sequence).__name__
    if kind not in "bi":
        raise ArgumentTypeError(
            f"can't multiply sequence by non-int of type {'complex' if kind == 'c' else 'float'!r}{called_at()}"
        )
    try:
        return sequence * index(times)
    except AdjointError as error:
        raise type(error)(
            f"this repeats a {name} by a number that is known only when the graph runs, so that its length is not known: make one "
            f"that is as long as needed at most and use a part of it, make the number static, or multiply a Tensor{called_at()}"
        ) from None


class Operators:
    """`x + y`, `x @ y`, `x < y`, ...: each calls the function of its name in the op language."""

    __slots__ = ()
    _extra: Any

    def __add__(self, other: Any) -> Any:
        if type(other) in _ARRAY_LIKE and type(self._extra) is Number:
            return NotImplemented
        return language.add(self if self._extra is not TRUTH else int(self), other)

    def __radd__(self, other: Any) -> Any:
        if type(other) in _ARRAY_LIKE and type(self._extra) is Number:
            return NotImplemented
        return language.add(other, self if self._extra is not TRUTH else int(self))

    def __sub__(self, other: Any) -> Any:
        return language.sub(self if self._extra is not TRUTH else int(self), other)

    def __rsub__(self, other: Any) -> Any:
        return language.sub(other, self if self._extra is not TRUTH else int(self))

    def __mul__(self, other: Any) -> Any:
        if type(other) in _REPEATED and _repeats(self, other):
            return _repeated(other, self)
        return language.mul(self if self._extra is not TRUTH else int(self), other)

    def __rmul__(self, other: Any) -> Any:
        if type(other) in _REPEATED and _repeats(self, other):
            return _repeated(other, self)
        return language.mul(other, self if self._extra is not TRUTH else int(self))

    def __truediv__(self, other: Any) -> Any:
        return language.div(self, other)

    def __rtruediv__(self, other: Any) -> Any:
        return language.div(other, self)

    def __floordiv__(self, other: Any) -> Any:
        return language.floor_divide(self, other)

    def __rfloordiv__(self, other: Any) -> Any:
        return language.floor_divide(other, self)

    def __mod__(self, other: Any) -> Any:
        return language.mod(self, other)

    def __rmod__(self, other: Any) -> Any:
        return language.mod(other, self)

    def __divmod__(self, other: Any) -> Any:
        return self // other, self % other

    def __rdivmod__(self, other: Any) -> Any:
        return other // self, other % self

    def __pow__(self, other: Any) -> Any:
        return language.pow(self, other)

    def __rpow__(self, other: Any) -> Any:
        return language.pow(other, self)

    def __matmul__(self, other: Any) -> Any:
        if type(other).__module__.startswith("scipy.sparse") or getattr(type(other), "__array_ufunc__", self) is None:
            return NotImplemented  # its `__rmatmul__` knows what to do
        return language.matmul(self, other)

    def __rmatmul__(self, other: Any) -> Any:
        if getattr(type(other), "__array_ufunc__", self) is None:
            return NotImplemented
        return language.matmul(other, self)

    def __neg__(self) -> Any:
        return language.neg(self if self._extra is not TRUTH else int(self))

    def __pos__(self) -> Any:
        return self.copy()

    def copy(self, order: str = "C") -> Any:
        """A Tensor of its own with the same value."""
        raise NotImplementedError

    def __abs__(self) -> Any:
        return language.abs(self)

    def __round__(self, digits: int | None = None) -> Any:
        if digits is not None and type(self._extra) is Number and dtype_of(self).kind == "f":
            return language.round_decimal(self, digits)
        return language.round(self, digits or 0)

    def __floor__(self) -> Any:
        return language.floor(self)

    def __ceil__(self) -> Any:
        return language.ceil(self)

    def __trunc__(self) -> Any:
        return language.trunc(self)

    def __invert__(self) -> Any:
        return language.bitwise_not(self)

    def __and__(self, other: Any) -> Any:
        return language.bitwise_and(self, other)

    def __rand__(self, other: Any) -> Any:
        return language.bitwise_and(other, self)

    def __or__(self, other: Any) -> Any:
        return language.bitwise_or(self, other)

    def __ror__(self, other: Any) -> Any:
        return language.bitwise_or(other, self)

    def __xor__(self, other: Any) -> Any:
        return language.bitwise_xor(self, other)

    def __rxor__(self, other: Any) -> Any:
        return language.bitwise_xor(other, self)

    def __lshift__(self, other: Any) -> Any:
        return language.left_shift(self, other)

    def __rlshift__(self, other: Any) -> Any:
        return language.left_shift(other, self)

    def __rshift__(self, other: Any) -> Any:
        return language.right_shift(self, other)

    def __rrshift__(self, other: Any) -> Any:
        return language.right_shift(other, self)

    # ------------------------------------------------------------ in place

    def _updated(self, new: Any) -> Any:
        """What `x += v` makes of x, given x + v."""
        raise NotImplementedError

    def __iadd__(self, other: Any) -> Any:
        return self._updated(self + other)

    def __isub__(self, other: Any) -> Any:
        return self._updated(self - other)

    def __imul__(self, other: Any) -> Any:
        return self._updated(self * other)

    def __itruediv__(self, other: Any) -> Any:
        return self._updated(self / other)

    def __ifloordiv__(self, other: Any) -> Any:
        return self._updated(self // other)

    def __imod__(self, other: Any) -> Any:
        return self._updated(self % other)

    def __ipow__(self, other: Any) -> Any:
        return self._updated(self**other)

    def __imatmul__(self, other: Any) -> Any:
        return self._updated(self @ other)

    def __iand__(self, other: Any) -> Any:
        return self._updated(self & other)

    def __ior__(self, other: Any) -> Any:
        return self._updated(self | other)

    def __ixor__(self, other: Any) -> Any:
        return self._updated(self ^ other)

    def __ilshift__(self, other: Any) -> Any:
        return self._updated(self << other)

    def __irshift__(self, other: Any) -> Any:
        return self._updated(self >> other)

    # ------------------------------------------------------------ comparisons

    def __lt__(self, other: Any) -> Any:
        return _compared(language.less(self, other), self, other)

    def __le__(self, other: Any) -> Any:
        return _compared(language.less_equal(self, other), self, other)

    def __gt__(self, other: Any) -> Any:
        return _compared(language.greater(self, other), self, other)

    def __ge__(self, other: Any) -> Any:
        return _compared(language.greater_equal(self, other), self, other)

    def __eq__(self, other: object) -> Any:
        if _differs(self, other):
            return language.everywhere(self, False)
        if (
            getattr(type(other), "__array_ufunc__", self) is None
        ):  # it compares with arrays by itself, as pytest.approx does
            return NotImplemented
        return _compared(language.equal(self, other), self, other)

    def __ne__(self, other: object) -> Any:
        if _differs(self, other):
            return language.everywhere(self, True)
        if (
            getattr(type(other), "__array_ufunc__", self) is None
        ):  # it compares with arrays by itself, as pytest.approx does
            return NotImplemented
        return _compared(language.not_equal(self, other), self, other)

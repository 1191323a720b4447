"""MindSpore's dtypes as objects: shown as `Float32` and `mindspore.float32`, and taken by NumPy and the engine for their dtypes."""

from __future__ import annotations

from typing import Any, ClassVar

import numpy as np

from adjoint.core import spec


class Type:
    """A dtype of MindSpore; there is one object for each.

    >>> from adjoint.mindspore.common import dtype as mstype
    >>> print(mstype.int32, [mstype.int32], mstype.int32 is mstype.Int(32), np.zeros(2, mstype.int32).dtype)
    Int32 [mindspore.int32] True int32
    """

    __slots__ = ("char", "dtype", "itemsize", "kind", "name", "title", "type", "word")
    dtype: Any
    title: str
    word: str
    known: ClassVar[dict[str, Type]] = {}

    def __new__(cls, bits: Any = "") -> Any:
        word = f"{cls.__name__.lower()}{bits}"
        if word not in Type.known:
            raise TypeError(f"mindspore has no type '{word}'")
        return Type.known[word]

    def __getattr__(self, name: str) -> Any:
        if name == "dtype":  # bfloat16 is there without the package that computes with it, until it is used
            return _filled(self, spec.bfloat16()).dtype
        return getattr(self.dtype, name)

    @property  # type: ignore[misc]
    def __class__(self) -> Any:
        """What `isinstance` goes by beside the true class: it is a dtype to NumPy and to the engine."""
        return np.dtype

    def __eq__(self, other: object) -> bool:
        if isinstance(other, Type) or other is None:
            return self is other
        if type(self) is BFloat:
            return getattr(other, "name", other) == "bfloat16"
        return bool(self.dtype == other)

    def __hash__(self) -> int:
        return hash("bfloat16" if type(self) is BFloat else self.dtype)

    def __repr__(self) -> str:
        return f"mindspore.{self.word}"

    def __str__(self) -> str:
        return self.title

    def __format__(self, how: str) -> str:
        return format(self.title, how)

    def __reduce__(self) -> Any:
        return named, (self.word,)

    def __copy__(self) -> Any:
        return self

    def __deepcopy__(self, memo: Any) -> Any:
        return self

    @property
    def is_complex(self) -> bool:
        """Whether its numbers are complex."""
        return self.kind == "c"

    @property
    def is_floating_point(self) -> bool:
        """Whether its numbers are floats."""
        return type(self) in (Float, BFloat)

    @property
    def is_signed(self) -> bool:
        """Whether its numbers may be negative."""
        return type(self) in (Int, Float, BFloat, Complex)

    def to_complex(self) -> Any:
        """The dtype of complex numbers whose parts are of this one."""
        return of(np.result_type(self.dtype, np.complex64))

    def to_real(self) -> Any:
        """The dtype of the parts of complex numbers."""
        return of(np.zeros((), self.dtype).real.dtype)


class Number(Type):
    """A type of numbers."""

    __slots__ = ()


class Bool(Number):
    """True and false."""

    __slots__ = ()


class Int(Number):
    """Integers."""

    __slots__ = ()


class UInt(Number):
    """Integers that are not negative."""

    __slots__ = ()


class Float(Number):
    """Floats."""

    __slots__ = ()


class BFloat(Number):
    """Floats of 16 bits with the range of 32."""

    __slots__ = ()


class Complex(Number):
    """Complex numbers."""

    __slots__ = ()


class String(Type):
    """Texts."""

    __slots__ = ()


KINDS: dict[str, type[Type]] = {"b": Bool, "i": Int, "u": UInt, "f": Float, "c": Complex, "U": String}
_BY_DTYPE: dict[Any, Type] = {}


def define(word: str, dtype: Any, kind: type[Type] | None = None) -> Any:
    """The type of this name, which to NumPy is this dtype."""
    made = object.__new__(kind or KINDS[dtype.kind])
    made.word = word
    made.title = type(made).__name__ + word.removeprefix(type(made).__name__.lower()).rstrip("_")
    Type.known[word] = made
    return made if dtype is None else _filled(made, dtype)


def _filled(made: Any, dtype: Any) -> Any:
    """A type with what NumPy knows of its dtype."""
    made.dtype = dtype
    for name in ("char", "itemsize", "kind", "name", "type"):
        setattr(made, name, getattr(dtype, name))
    return made


def named(word: str) -> Any:
    """The type of a name such as "float32"."""
    return Type.known[word]


def of(dtype: Any) -> Any:
    """MindSpore's type for a NumPy dtype; a dtype that it has none for is given back.

    >>> of(np.dtype("uint8"))
    mindspore.uint8
    """
    found = _BY_DTYPE.get(dtype)
    if found is None and not isinstance(dtype, Type) and dtype.name == "bfloat16":
        found = _BY_DTYPE[dtype] = bfloat16
    return dtype if found is None else found


bfloat16 = define("bfloat16", None, BFloat)
for _dtype in (
    spec.bool_, spec.int8, spec.int16, spec.int32, spec.int64, spec.uint8, spec.uint16, spec.uint32, spec.uint64,
    spec.float16, spec.float32, spec.float64, spec.complex64, spec.complex128,
):  # fmt: skip
    _BY_DTYPE[_dtype] = define(_dtype.name, _dtype)


class TensorType:
    """The type of a Tensor with elements of a dtype; equal to the dtype.

    >>> TensorType(of(np.dtype("float32"))).element_type(), TensorType(np.dtype("float32")) == np.float32
    (mindspore.float32, True)
    """

    def __init__(self, dtype: Any = None) -> None:
        self.dtype = dtype

    def element_type(self) -> Any:
        """The dtype of the elements."""
        return self.dtype

    def __eq__(self, other: object) -> bool:
        return bool(self.dtype == (other.dtype if isinstance(other, TensorType) else other))

    def __hash__(self) -> int:
        return hash(self.dtype)

    def __repr__(self) -> str:
        return "mindspore.tensor" + (
            f"[{repr(self.dtype).removeprefix('mindspore.')}]" if self.dtype is not None else ""
        )

    def __str__(self) -> str:
        return "Tensor" + (f"[{self.dtype}]" if self.dtype is not None else "")

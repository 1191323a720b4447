"""Shapes and dtypes, known before anything runs."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from math import prod
from operator import index
from typing import Any

import numpy as np

from adjoint.core import context
from adjoint.core.errors import ArgumentTypeError, ShapeError, called_at

Shape = tuple[int, ...]

bool_ = np.dtype(np.bool_)
int8, int16, int32, int64 = (np.dtype(f"int{n}") for n in (8, 16, 32, 64))
uint8, uint16, uint32, uint64 = (np.dtype(f"uint{n}") for n in (8, 16, 32, 64))
float16, float32, float64 = (np.dtype(f"float{n}") for n in (16, 32, 64))
complex64, complex128 = np.dtype("complex64"), np.dtype("complex128")

NUMBERS = {bool: bool_, int: int64, float: float64, complex: complex128}
#: The attributes that Python's numbers have and Tensors may lack.
NUMBER_ATTRIBUTES = frozenset(name for kind in NUMBERS for name in dir(kind) if name[0] != "_")
_SAMPLES = {bool: True, int: 1, float: 1.0, complex: 1j}


@dataclass(frozen=True, slots=True)
class Spec:
    """What is known of an array before anything runs.

    A `weak` dtype is a Python number's: it gives way to any array's dtype of the same kind.
    """

    shape: Shape
    dtype: np.dtype = float64
    weak: bool = False

    @property
    def ndim(self) -> int:
        return len(self.shape)

    @property
    def strong(self) -> Spec:
        """The same of an array that is no Python number."""
        return Spec(self.shape, self.dtype)

    def __str__(self) -> str:
        return f"{self.dtype}{list(self.shape)}"


@dataclass(frozen=True, slots=True)
class Number:
    """A mark on a graph value: it stands for a Python number. An integer lies between `low` and `high`, as far as is known.

    `kinds` says what it may be to Python where that is not what its dtype says: "fi" is a float on one way and an int on another.
    """

    low: int | None = None
    high: int | None = None
    kinds: str = ""


def bfloat16() -> np.dtype:
    """The bfloat16 dtype, from the optional package ml_dtypes."""
    try:
        import ml_dtypes
    except ImportError:
        raise ImportError("bfloat16 needs the package ml_dtypes: pip install adjoint[bfloat16]") from None
    return np.dtype(ml_dtypes.bfloat16)


def spec_of(x: Any) -> Spec:
    """The Spec of an array, a Tensor or a Python number.

    >>> str(spec_of(np.zeros((2, 3), "float32")))
    'float32[2, 3]'
    """
    if type(x) in NUMBERS:
        return Spec((), dtype_of(x), weak=True)
    if isinstance(x, (int, float, complex)) and not isinstance(x, np.generic):  # of a class derived from Python's
        return Spec((), np.asarray(x).dtype)
    return Spec(tuple(x.shape), x.dtype, number_of(x) is not None)


def number_of(x: Any) -> Number | None:
    """The mark of a value that stands for a Python number, whatever transforms hold it; None for arrays."""
    while hasattr(x, "_extra"):
        if x._trace.deferred:
            return None
        if type(x._extra) is Number:
            return x._extra
        x = x._value
    if type(x) not in NUMBERS:
        return None
    return Number(int(x), int(x)) if isinstance(x, int) else Number()


def shape_of(x: Any) -> Shape:
    """The shape of an array, a Tensor, a Spec or a Python number."""
    try:
        return x.shape
    except AttributeError:
        return np.shape(x)


def dtype_of(x: Any) -> np.dtype:
    """The dtype of an array, a Tensor, a Spec or a Python number; an integer that 64 bits cannot hold is a float."""
    try:
        return x.dtype
    except AttributeError:
        pass
    if type(x) is int and not -(2**63) <= x < 2**63:
        return float64
    return NUMBERS.get(type(x)) or np.asarray(x).dtype


def elements(*specs: Any) -> int:
    """How many elements there are in all; results of several parts are tuples of Specs, and a size known at run time counts as 1.

    >>> elements(Spec((2, 3)), (Spec((4,)), Spec((-1, 5))))
    15
    """
    flat = [s for spec in specs for s in (spec if isinstance(spec, tuple) else (spec,))]
    return sum(prod(1 if n < 0 else n for n in s.shape) for s in flat)


def sample(spec: Spec, shape: Shape = ()) -> Any:
    """A harmless value of this dtype: ones, or a Python number where the dtype is weak."""
    if spec.weak:
        return next(value for kind, value in _SAMPLES.items() if NUMBERS[kind] == spec.dtype)
    return np.ones(shape, spec.dtype)


def is_half(dtype: np.dtype) -> bool:
    """Whether arithmetic in this dtype is carried out in float32 and rounded."""
    return dtype.itemsize == 2 and dtype.kind in "fV"  # bfloat16 comes from a package and is of kind V


def is_inexact(dtype: np.dtype) -> bool:
    """Whether values of this dtype are real or complex numbers, which have derivatives."""
    return dtype.kind in "fc" or is_half(dtype)


def has_derivative(dtype: np.dtype) -> bool:
    """Whether values of this dtype have derivatives here: integers too where `context.integers` says so."""
    return dtype.kind in "fc" or is_half(dtype) or (dtype.kind in "iu" and context.integers.get())


def is_complex(x: Any) -> bool:
    return dtype_of(x).kind == "c"


def promote(specs: Iterable[Spec]) -> np.dtype:
    """The dtype that arrays and Python numbers have in common.

    >>> promote([Spec((), float32), Spec((), float64, weak=True)])
    dtype('float32')
    """
    specs = list(specs)
    halves = {s.dtype for s in specs if not s.weak and is_half(s.dtype)}
    if not halves:
        return np.result_type(*(sample(s) if s.weak else s.dtype for s in specs))
    # Integers and Python numbers give way to a half-precision array, as in the other frameworks.
    wide = [s.dtype for s in specs if not s.weak and is_inexact(s.dtype) and not is_half(s.dtype)]
    complex_weak = any(s.weak and s.dtype.kind == "c" for s in specs)
    if not wide and len(halves) == 1 and not complex_weak:
        return halves.pop()
    return np.result_type(float32, *wide, *([complex64] if complex_weak else []))


def broadcast(op: Any, specs: Iterable[Spec]) -> Shape:
    """The common shape, or an error that names the op and the shapes."""
    shapes = [s.shape for s in specs]
    try:
        if any(n < 0 for shape in shapes for n in shape):  # a size known at run time only
            return max(shapes, key=len)
        return np.broadcast_shapes(*shapes)
    except ValueError:
        named = " and ".join(map(str, shapes))
        raise ShapeError(
            f"{op}: shapes {named} do not broadcast: aligned at the right, two sizes must be equal or one of them 1. "
            f"Reshape or transpose one input first."
        ) from None


def normalize_axis(op: Any, axis: int, ndim: int) -> int:
    """A non-negative axis, or an error that names the op and the rank."""
    if type(axis) is not int:
        if not hasattr(axis, "__index__"):
            raise ArgumentTypeError(f"{op}: an axis is an integer, not {axis!r:.60}{called_at()}")
        axis = index(axis)
    if not -ndim <= axis < ndim:
        fix = f"use {-ndim} to {ndim - 1}" if ndim else "it has none"
        raise ShapeError(f"{op}: axis {axis} is outside the input's {ndim} axes; {fix}{called_at()}")
    return axis % ndim

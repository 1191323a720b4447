"""Graph values that stand for Python numbers: a loop's counter, a float argument, a number that an `if` chooses.

To Python they are numbers, so operators on them do what Python's do: integers have no size, floats give way to the dtype of any
array. A graph's integers have 64 bits. Therefore each one carries bounds, and what could leave the 64 bits, or what Python would
refuse, is not computed here: `NeedsNumberError` says that Python must do it.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from itertools import product
from numbers import Number as AnyNumber
from typing import Any

import numpy as np

from adjoint.core.dispatch import Value, make
from adjoint.core.errors import ArgumentError, called_at
from adjoint.core.spec import (
    NUMBERS,
    Number,
    Spec,
    bool_,
    dtype_of,
    float32,
    float64,
    int64,
    is_half,
    number_of,
    promote,
    shape_of,
    spec_of,
    uint64,
)
from adjoint.graph.number_types import NeedsNumberError as NeedsNumberError
from adjoint.graph.number_types import check_dtypes, check_results, either_kind, mark_of_kinds
from adjoint.graph.number_types import is_number as is_number
from adjoint.graph.number_types import kind_of as kind_of
from adjoint.graph.number_types import needs as needs
from adjoint.ops import arithmetic, bitwise, compare
from adjoint.ops.card import Op, card
from adjoint.ops.casting import Cast
from adjoint.ops.families import Elementwise
from adjoint.ops.integer_ranges import Range, without_zero

#: A loop whose number of iterations is known only at run time is taken to have fewer than this.
MANY = 2**31

_INT64: Range = (-(2**63), 2**63 - 1)
_EXACT = 2**53  # every integer up to here is a float64


def is_integer(x: Any) -> bool:
    """Whether a value is a Python integer, or stands for one."""
    return type(x) is int or (number_of(x) is not None and dtype_of(x).kind == "i")


def is_large(x: Any) -> bool:
    """Whether a Python integer needs more than 64 bits: a graph has no such integers."""
    return type(x) is int and not _INT64[0] <= x <= _INT64[1]


def is_special(x: Any) -> bool:
    """Whether an object is a number of a class derived from Python's, as the members of an IntEnum are."""
    return isinstance(x, (int, float, complex)) and type(x) not in NUMBERS and not isinstance(x, np.generic)


def plain(xs: Sequence[Any]) -> Sequence[Any]:
    """The inputs of an op with numbers of derived classes as what they are to Python's operators, or to NumPy beside arrays."""
    for x in xs:
        if isinstance(x, AnyNumber) and not isinstance(x, (int, float, complex, np.generic)):
            raise ArgumentError(f"a {type(x).__name__} is no number of a graph: use float(...) of it{called_at()}")
    if not any(map(is_special, xs)):
        return xs
    arrays = any(number_of(x) is None and not is_special(x) for x in xs)
    return [(np.asarray(x) if arrays else _base(x)) if is_special(x) else x for x in xs]


def _base(x: Any) -> Any:
    base = next(kind for kind in (int, float, complex) if isinstance(x, kind))
    return base.__pos__(x)


# ---------------------------------------------------------------- bounds of integers

_DIVISIONS = (arithmetic.Div, arithmetic.FloorDiv, arithmetic.Mod)


def is_python(op: Any) -> bool:
    """Whether an op is one of Python's operators."""
    return isinstance(op, Op) and op.is_operator


def unbounded(mark: Number | None, spec: Spec) -> Number | None:
    """An integer of which nothing is known may be any that 64 bits hold."""
    return Number(*_INT64) if mark is not None and mark.low is None and spec.dtype.kind == "i" else mark


def result(op: Op, inputs: Sequence[Number], kinds: str) -> Number:
    """The mark of what one of Python's operators gives; raises where a graph cannot compute what Python does."""
    if isinstance(op, compare.Comparison):
        if "f" in kinds:
            check_exact(x for x, kind in zip(inputs, kinds, strict=True) if kind == "i")
        return Number(0, 1)
    if any(x.kinds for x in inputs):
        return _of_several(op, inputs, kinds)
    known = [(x.low, x.high) for x in inputs if x.low is not None and x.high is not None]
    whole = not set(kinds) - set("bi")
    if isinstance(op, arithmetic.Div):
        if whole and len(known) == 2:
            _check_divisor(known[1])
            check_exact(inputs)
        return Number()
    if not whole or len(known) < len(inputs) or isinstance(op, compare.Rounding):
        return Number()
    found = op.integers(*known)
    if isinstance(found, str):
        raise needs(found)
    low, high = found
    if low < _INT64[0] or high > _INT64[1]:
        raise needs("this integer may need more than 64 bits")
    return Number(low, high)


def _of_several(op: Op, inputs: Sequence[Number], kinds: str) -> Number:
    """The mark of a result of numbers that are not what their dtypes say."""
    mark = result(op, [replace(x, kinds="") for x in inputs], kinds)
    if isinstance(op, (arithmetic.Div, compare.Rounding)):
        return mark
    if isinstance(op, bitwise.OnBits):
        raise needs("this works on the bits of a number that may be no integer")
    ways = product(*(x.kinds or kind for x, kind in zip(inputs, kinds, strict=True)))
    found = either_kind(*("c" if "c" in way else "f" if "f" in way else "i" for way in ways))
    return mark_of_kinds(mark, found, float64 if "f" in kinds else int64)


def _check_divisor(b: Range) -> None:
    if why := without_zero(b):
        raise needs(why)


def check_exact(inputs: Any) -> None:
    """Python compares and divides integers exactly; float64 does so up to 2**53."""
    if any(max(abs(x.low), abs(x.high)) > _EXACT for x in inputs if x.low is not None and x.high is not None):
        raise needs("this compares or divides an integer that may be above 2**53")


# ---------------------------------------------------------------- operands


def operands(op: Op, xs: Sequence[Any]) -> tuple[list[Any], Number | None, np.dtype | None]:
    """The inputs of an op as arrays in the dtypes that Python numbers take there; the mark of the result, and the dtype to
    which it must be rounded in the end."""
    marks = [number_of(x) for x in xs]
    if all(m is not None for m in marks):
        if op.is_operator:
            return _python(op, list(xs), marks)  # type: ignore[arg-type]
        check_results(op, xs)
        return list(xs), None, None
    for x in xs:
        if isinstance(x, (list, tuple, str, bytes)):
            raise needs(f"this repeats or extends a {type(x).__name__} by a number")
    if not isinstance(op, Elementwise):
        return list(xs), None, None
    specs = [spec_of(x) if m is None else Spec((), dtype_of(x), weak=True) for x, m in zip(xs, marks, strict=True)]
    common = promote(specs)
    if not isinstance(op, (compare.Comparison, arithmetic.Div)):
        check_dtypes(specs, marks)
    if is_half(common):
        return [_widened(x) for x in xs], None, None if isinstance(op, compare.Comparison) else common
    return [x if m is None else _given_way(op, x, m, common) for x, m in zip(xs, marks, strict=True)], None, None


def fitting(op: Op, xs: Sequence[Any]) -> Sequence[Any]:
    """The inputs of an op, if the Python integers among them fit into the integers that they meet; NumPy refuses the others, and
    compares them as they are."""
    if not isinstance(op, Elementwise) or isinstance(op, arithmetic.Div):
        return xs
    if any(map(is_large, xs)) and all(is_large(x) or dtype_of(x).kind in "biu" for x in xs):
        return _beside_integers(op, xs)
    common = promote([spec_of(x) for x in xs])
    if common.kind not in "iu" or common == int64:
        return xs
    info = np.iinfo(common)
    outside = [x if type(x) is int and not info.min <= x <= info.max else None for x in xs]
    if outside == [None] * len(xs):
        return xs
    if not isinstance(op, compare.Comparison):
        first = next(x for x in outside if x is not None)
        raise OverflowError(f"Python integer {first} out of bounds for {common}{called_at()}")
    return [x if far is None else np.int64(far) for x, far in zip(xs, outside, strict=True)]


def _beside_integers(op: Op, xs: Sequence[Any]) -> Sequence[Any]:
    """Integer arrays beside a Python integer of more than 64 bits."""
    if isinstance(op, compare.Comparison) and all(is_large(x) or dtype_of(x) != uint64 for x in xs):
        return [(np.inf if x > 0 else -np.inf) if is_large(x) else x for x in xs]
    raise OverflowError(f"a Python integer of more than 64 bits meets an array of integers{called_at()}")


def _widened(x: Any) -> Any:
    """A half-precision array, or a number that meets one, in float32."""
    if not isinstance(x, Value):
        return np.asarray(x, float32) if is_half(dtype_of(x)) else x
    return card(Cast, float32)(x) if is_half(dtype_of(x)) or number_of(x) is not None else x


def _given_way(op: Op, x: Any, mark: Number, common: np.dtype) -> Any:
    """A number in the dtype of the array that it meets."""
    if not isinstance(x, Value) or dtype_of(x) == bool_ or dtype_of(x) == common:
        return x
    if common.kind in "iu":
        if isinstance(op, compare.Comparison) and common.kind == "i":
            return x  # compared in 64 bits
        info = np.iinfo(common)
        if mark.low is None or mark.high is None or mark.low < info.min or mark.high > info.max:
            raise needs(f"this integer meets an array of {common}, into which it may not fit")
    return card(Cast, common)(x)


def _python(op: Op, xs: list[Any], marks: list[Number]) -> tuple[list[Any], Number | None, None]:
    kinds = "".join(dtype_of(x).kind for x in xs)
    if isinstance(op, _DIVISIONS) and not isinstance(xs[1], Value) and xs[1] == 0:
        raise ZeroDivisionError(f"division by zero{called_at()}")
    if isinstance(op, arithmetic.Pow) and not set(kinds) - set("bi"):
        exponent = marks[1]
        if exponent.high is not None and exponent.high < 0:  # Python goes over to floats
            if marks[0].low is not None and marks[0].high is not None:
                _check_divisor((marks[0].low, marks[0].high))
            xs = [_as(x, float64) if isinstance(x, Value) else float(x) for x in xs]
            return xs, Number(), None
        if exponent.low is None:
            raise needs("this raises an integer to a power that may be negative")
    xs = _without_large(op, xs, kinds)
    mark = result(op, marks, kinds)
    if not isinstance(op, compare.Comparison) and not (isinstance(op, bitwise.Logic) and set(kinds) == {"b"}):
        xs = [_as(x, int64) if isinstance(x, Value) and dtype_of(x) == bool_ else x for x in xs]
    return xs, mark, None


def _without_large(op: Op, xs: list[Any], kinds: str) -> list[Any]:
    """Integers of more than 64 bits as the floats that they become beside a float; beside an integer Python computes."""
    large = [is_large(x) for x in xs]
    if not any(large):
        return xs
    exact = isinstance(op, compare.Comparison) and any(x != float(x) for x, far in zip(xs, large, strict=True) if far)
    if exact or any(kind in "bi" for kind in kinds):
        raise needs("an integer of more than 64 bits meets a number of the graph here")
    return [float(x) if far else x for x, far in zip(xs, large, strict=True)]


def _as(x: Any, dtype: np.dtype) -> Any:
    """A number in another dtype; still a number."""
    y = card(Cast, dtype)(x)
    marked(y, number_of(x) if dtype == int64 else Number())
    return y


def check_inside(x: Any, indices: Sequence[Any]) -> None:
    """Refuse an index that may be outside: the graph would raise when it runs, where no `except` can catch it."""
    for i, size in zip(indices, shape_of(x), strict=False):
        mark = number_of(i)
        if isinstance(i, Value) and (
            mark is None or mark.low is None or mark.high is None or mark.low < -size or mark.high >= size
        ):
            raise NeedsNumberError(
                f"whether this index is outside is known only when the graph runs, where no `except` or `with` can catch it: move "
                f"it out of the `try` or `with`, or clip the index{called_at()}"
            )


def as_number(x: Any, low: int, high: int) -> Any:
    """A graph value as the Python integer or truth value that `int(x)` or `bool(x)` would be; a batch of them stays one."""
    return renumbered(x, Number(low, high))


def renumbered(x: Any, mark: Number) -> Any:
    """A graph value without a derivative as a Python number of which this is known."""
    inner = x
    while isinstance(inner, Value) and isinstance(inner._value, Value):
        inner = inner._value
    if not isinstance(inner, Value) or shape_of(inner) != shape_of(x):
        return x
    return make(inner._value, inner._trace, mark)


def marked(y: Any, mark: Number | None) -> Any:
    """A result that no one else holds yet, with a mark on the graph value at its bottom."""
    x = y
    while isinstance(x, Value) and isinstance(x._value, Value):
        x = x._value
    if isinstance(x, Value) and x._extra is None:
        x._extra = mark
    return y

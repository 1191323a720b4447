"""What a graph value is to Python that stands for a number: an int, a float, or one of several as the run decides."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from itertools import product
from typing import Any

import numpy as np

from adjoint.core.dispatch import Value
from adjoint.core.errors import AdjointError, called_at
from adjoint.core.spec import Number, Spec, bool_, dtype_of, float64, int64, number_of, promote

_DTYPES = {"b": bool_, "i": int64, "f": float64, "c": np.dtype(complex)}
_TYPES: dict[str, type] = {"b": bool, "i": int, "f": float, "c": complex}


class NeedsNumberError(AdjointError, TypeError):
    """Python asked for a number that is known only when the graph runs."""


def needs(why: str) -> NeedsNumberError:
    """What to raise where Python must compute."""
    return NeedsNumberError(
        f"{why}; it is known only when the graph runs. Use a float or a Tensor in its place{called_at()}"
    )


def is_number(x: Any) -> bool:
    """Whether a value of a graph stands for a Python number."""
    return isinstance(x, Value) and type(x._extra) is Number


def either_kind(*kinds: str) -> str:
    """The kinds that a number may be of, if it is one number or another."""
    return "".join(sorted(set("".join(kinds))))


def kinds_of(x: Any) -> str:
    """The kinds that a number may be of to Python, as NumPy's letters: more than one if it depends on the run."""
    mark = number_of(x)
    return (mark.kinds if mark is not None else "") or dtype_of(x).kind


def mark_of_kinds(mark: Number, kinds: str, dtype: np.dtype) -> Number:
    """The mark of a number that may be of these kinds."""
    return replace(mark, kinds="" if kinds == dtype.kind else kinds)


def types_of(x: Any) -> list[type]:
    """The Python types that a number may have."""
    return [_TYPES[kind] for kind in kinds_of(x)]


def kind_of(x: Any) -> type:
    """The Python type of the number that a value stands for."""
    first, *rest = types_of(x)
    if rest:
        names = " or ".join(sorted(kind.__name__ for kind in (first, *rest)))
        raise needs(f"this asks what a number is that may be {names}, as the run decides")
    return first


def check_results(op: Any, xs: Sequence[Any]) -> None:
    """Refuse numbers of several kinds to an op that gives a Tensor, if that would have another dtype for each."""
    ways = list(product(*(kinds_of(x) for x in xs)))
    if len(ways) > 1 and len({op.infer(*(Spec((), _DTYPES[k], weak=True) for k in way)) for way in ways}) > 1:
        raise needs("this makes a Tensor of a number that may be of several types, of which each gives another dtype")


def check_dtypes(specs: Sequence[Spec], marks: Sequence[Number | None]) -> None:
    """Refuse a number whose kinds would give the arrays that it meets different dtypes."""
    arrays = [s for s, mark in zip(specs, marks, strict=True) if mark is None]
    for s, mark in zip(specs, marks, strict=True):
        ways = [_DTYPES[kind] for kind in (mark.kinds if mark is not None else "")]
        if ways and len({promote([*arrays, Spec((), dtype, weak=True)]) for dtype in (*ways, s.dtype)}) > 1:
            raise needs(
                f"this number may be of several types, which give an array of {arrays[0].dtype} different dtypes"
            )

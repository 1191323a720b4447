"""In which dtype an op computes: NumPy's answer, which is not JAX's. JAX has float32 for integers beside it, and for roots of small integers."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from adjoint.backends.xla.devices import jax
from adjoint.core.spec import NUMBERS, Spec, dtype_of, float32, float64, is_half, is_inexact, promote, spec_of
from adjoint.graph.numbers import is_large
from adjoint.ops.casting import Replaced
from adjoint.ops.compare import Comparison, Where
from adjoint.ops.movement import Movement
from adjoint.ops.ordering import After


def in_common(op: Any, spec: Any, specs: Sequence[Spec], arrays: Sequence[Any]) -> list[Any]:
    """The inputs of an op's `eval`, as arrays of the dtype that NumPy computes in; halves in float32."""
    if isinstance(op, (Movement, After, Replaced)):  # nothing is computed
        return [jax().numpy.asarray(x) for x in arrays]
    if isinstance(op, Where):
        return [arrays[0], *(converted(x, spec.dtype) for x in arrays[1:])]
    dtype = computing_dtype(spec[0].dtype if isinstance(spec, tuple) else spec.dtype, specs)
    if isinstance(op, Comparison) and any(map(_is_beyond, arrays, reversed(arrays))):
        arrays = [np.copysign(np.inf, x) if type(x) is int else x for x in arrays]
        dtype = float64
    return [converted(x, dtype) for x in arrays]


def _is_beyond(x: Any, other: Any) -> bool:
    """Whether a Python integer is above or below all integers of an array's dtype: to these it compares as infinity does."""
    if type(x) is not int or type(other) is int or (dtype := dtype_of(other)).kind not in "iu":
        return False
    return not np.iinfo(dtype).min <= x <= np.iinfo(dtype).max


def beside_integers(op: Any, xs: Sequence[Any]) -> Sequence[Any]:
    """The inputs of an op, with Python integers of more than 64 bits in the dtype of the integers that they meet. One that it cannot
    hold is an error, as in NumPy; where floats are computed, and in comparisons, it may stay."""
    met = [x for x in (xs[1:] if isinstance(op, Where) else xs) if not is_large(x)]
    if isinstance(op, Comparison) or any(dtype_of(x).kind not in "biu" for x in met):
        return xs
    result = op.infer(*(Spec((), np.dtype(np.int64), weak=True) if is_large(x) else spec_of(x) for x in xs))
    if is_inexact(result.dtype):
        return xs
    arrays = [dtype_of(x) for x in met if type(x) not in NUMBERS]
    dtype = np.result_type(*arrays) if {*arrays} - {np.dtype(bool)} else np.dtype(np.int64)
    return [np.asarray(x, dtype) if is_large(x) else x for x in xs]


def computing_dtype(result: np.dtype, specs: Sequence[Spec]) -> np.dtype:
    """What inputs are brought to: what they have in common, or for integers what the result is.

    >>> computing_dtype(np.dtype("float64"), [Spec((), np.dtype("int8"))])
    dtype('float64')
    >>> computing_dtype(np.dtype("bool"), [Spec((), np.dtype("int64")), Spec((), np.dtype("float32"))])
    dtype('float64')
    """
    common = promote(specs)
    if result.kind == "c" and common.kind != "c":
        result = np.zeros((), result).real.dtype
    if not is_inexact(common) and result.kind != "b" and (is_half(result) or np.can_cast(common, result)):
        common = result
    return float32 if is_half(common) else common


def converted(x: Any, dtype: np.dtype) -> Any:
    """An array of a dtype; a Python integer that it cannot hold is an error, as in NumPy."""
    if type(x) is int:
        x = np.asarray(x, dtype)
    return in_dtype(jax().numpy.asarray(x), dtype)


def in_dtype(x: Any, dtype: np.dtype) -> Any:
    """An array of JAX's in another dtype. Of truth values 1 and 0 are chosen: a product or quotient with a conversion of them XLA takes
    for a choice between the other number and 0, which NaN would not come out of."""
    if x.dtype == bool and is_inexact(dtype):
        return jax().numpy.where(x, np.ones((), dtype), np.zeros((), dtype))
    return jax().lax.convert_element_type(x, dtype)

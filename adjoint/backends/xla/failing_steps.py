"""Steps at which NumPy raises an error, which XLA does not: indices out of range, matrices that cannot be factored."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from adjoint.backends.xla.devices import jax
from adjoint.backends.xla.failures import Tracing, shown_number
from adjoint.core.errors import IndexingError, shown_place
from adjoint.core.spec import Spec, dtype_of, float32, is_half


def _failure(
    kind: type[Exception], op: Any, tracing: Tracing, xs: Sequence[Any], said: str
) -> Callable[[int], Exception]:
    """The error of a step, as the interpreter words it; `#` stands for the number in the code."""
    inputs = ", ".join(str(Spec(np.shape(x), dtype_of(x))) for x in xs)
    place = _called_at(tracing)
    return lambda number: kind(f"{op} on {inputs}: {said.replace('#', shown_number(number))}{place}")


def checked(op: Any, tracing: Tracing, y: Any, xs: Sequence[Any]) -> None:
    """Note where NumPy would raise an error, for the result of a step and its inputs."""
    if op.indexing and not tracing.trusted:
        _indices_in_range(op, tracing, xs)
    if op.fails_where:
        kind, said, is_bad = _ERRORS[op.fails_where]
        bad = is_bad(op, y, *xs)
        if bad is not None:
            tracing.fail_if(jax().numpy.any(bad), _failure(kind, op, tracing, xs, said))


def _indices_in_range(op: Any, tracing: Tracing, xs: Sequence[Any]) -> None:
    """Each index lies inside its axis; JAX would take the nearest element."""
    jnp, indices = jax().numpy, xs[op.first_index :]
    if 0 in np.broadcast_shapes(*map(np.shape, indices)):
        return
    for axis, (i, n) in enumerate(zip(indices, np.shape(xs[0]), strict=False)):
        if _is_known(i) and np.all((np.asarray(i) < n) & (np.asarray(i) >= -n)):
            continue
        i = jnp.asarray(i).astype(np.int64)  # small integers may not hold the size
        outside = ((i >= n) | (i < -n)).ravel()
        said = f"index # is out of bounds for axis {axis} with size {n}"
        first = i.ravel()[jnp.argmax(outside)]
        failure = _unknown(op, tracing, n) if getattr(op, "of", "") else _failure(IndexingError, op, tracing, xs, said)
        tracing.fail_if(jnp.any(outside), failure, first)


def _unknown(op: Any, tracing: Tracing, n: int) -> Callable[[int], Exception]:
    """The error of an index that names a class or a segment."""
    place = _called_at(tracing)

    def failure(number: int) -> Exception:
        error = op.unknown(number, n)
        return type(error)(f"{error}{place}")

    return failure


def _called_at(tracing: Tracing) -> str:
    return f"\n    called at {shown_place(tracing.place)}" if tracing.place else ""


def _is_known(i: Any) -> bool:
    """Whether an index is a constant."""
    return isinstance(i, (int, np.ndarray, np.generic))


# ---------------------------------------------------------------- whether a call fails; None if it cannot


def _is_singular(op: Any, y: Any, a: Any, *_: Any) -> Any:
    """Whether a pivot is zero; division by one leaves what is not finite, so that others need not be looked at."""
    jnp, a = jax().numpy, jax().numpy.asarray(a)
    if 0 in a.shape:
        return None
    if is_half(np.dtype(a.dtype)):  # of which XLA makes no factors
        a = a.astype(float32)

    def has_zero(a: Any) -> Any:
        return jnp.any(jnp.diagonal(jax().scipy.linalg.lu_factor(a)[0], axis1=-2, axis2=-1) == 0)

    return jax().lax.cond(jnp.isfinite(y).all(), lambda _: jnp.asarray(False), has_zero, a)


def _is_singular_triangle(op: Any, y: Any, a: Any, b: Any) -> Any:
    return None if op.unit else jax().numpy.diagonal(a, axis1=-2, axis2=-1) == 0


def _is_indefinite(op: Any, y: Any, x: Any) -> Any:
    """What is not a number where all numbers are finite comes from the root of a negative one."""
    return jax().numpy.isnan(y).any((-2, -1)) & jax().numpy.isfinite(x).all((-2, -1))


def _is_no_number(op: Any, y: Any, x: Any) -> Any:
    return jax().numpy.isnan(x)


def _is_negative_power(op: Any, z: Any, x: Any, y: Any) -> Any:
    jnp = jax().numpy
    kinds = [np.dtype(jnp.asarray(v).dtype).kind for v in (z, x, y)]
    return jnp.asarray(y) < 0 if kinds[2] == "i" and set(kinds) <= set("iu") else None


_ERRORS: dict[str, tuple[type[Exception], str, Callable[..., Any]]] = {
    "singular": (np.linalg.LinAlgError, "Singular matrix", _is_singular),
    "singular triangle": (np.linalg.LinAlgError, "Singular matrix", _is_singular_triangle),
    "not positive definite": (np.linalg.LinAlgError, "Matrix is not positive definite", _is_indefinite),
    "not a number": (np.linalg.LinAlgError, "the iteration does not converge for NaN", _is_no_number),
    "negative power": (ValueError, "Integers to negative integer powers are not allowed.", _is_negative_power),
}

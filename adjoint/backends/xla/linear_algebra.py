"""Linear algebra by XLA's own factorisations, where the kernels of the cards are SciPy's or look at their numbers."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from adjoint.backends.xla.common_dtypes import computing_dtype, converted
from adjoint.backends.xla.devices import jax
from adjoint.backends.xla.failures import Tracing
from adjoint.backends.xla.lowering import lowers
from adjoint.core.spec import spec_of
from adjoint.ops.determinant import Cofactor, cofactor_of_regular, condition_limit, points_around
from adjoint.ops.linalg import Expm, TriangularSolve

SQUARINGS = 64  # of the exponential: more than the powers of two that a matrix whose exponential is finite is large


@lowers(Expm)
def expm(op: Expm, spec: Any, tracing: Tracing, x: Any) -> Any:
    """The matrix exponential."""
    x = _inputs(spec, x)[0]
    if x.size == 0:
        return jax().numpy.zeros(spec.shape, spec.dtype)
    return jax().scipy.linalg.expm(x, max_squarings=SQUARINGS)


@lowers(TriangularSolve)
def triangular_solve(op: TriangularSolve, spec: Any, tracing: Tracing, a: Any, b: Any) -> Any:
    """By substitution; the axes before the last two broadcast."""
    jnp = jax().numpy
    a, b = _inputs(spec, a, b)
    if 0 in spec.shape:
        return jnp.zeros(spec.shape, spec.dtype)
    lead = spec.shape[:-2]
    return jax().lax.linalg.triangular_solve(
        jnp.broadcast_to(a, lead + a.shape[-2:]),
        jnp.broadcast_to(b, lead + b.shape[-2:]),
        left_side=True,
        lower=op.lower,
        transpose_a=op.adjoint,
        conjugate_a=op.adjoint,
        unit_diagonal=op.unit,
    )


@lowers(Cofactor)
def cofactor(op: Cofactor, spec: Any, tracing: Tracing, x: Any, *ts: Any) -> Any:
    """At well-conditioned matrices from the inverse; else from those around, of which there are as many as any matrix needs."""
    jnp = jax().numpy
    x, *along = _inputs(spec, x, *ts)
    if x.size == 0 or len(along) >= x.shape[-1]:
        return jnp.zeros(spec.shape, spec.dtype)
    if not isinstance(x, jax().core.Tracer):
        return op.eval(jnp, x, *along)

    def regular(x: Any, *ts: Any) -> Any:
        return cofactor_of_regular(jnp, x, ts).astype(spec.dtype)

    def singular(x: Any, *ts: Any) -> Any:
        points = jnp.stack(points_around(jnp, x, x.shape[-1] + 1))
        total = cofactor_of_regular(jnp, points, ts).mean(0)
        return (total if spec.dtype.kind == "c" else total.real).astype(spec.dtype)

    well = jnp.all(jnp.linalg.cond(x, 1) < condition_limit(np.dtype(x.dtype)))
    return jax().lax.cond(well, regular, singular, x, *along)


def _inputs(spec: Any, *xs: Any) -> Sequence[Any]:
    dtype = computing_dtype(spec.dtype, [spec_of(x) for x in xs])
    return [converted(x, dtype) for x in xs]

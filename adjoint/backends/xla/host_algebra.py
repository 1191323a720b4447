"""Factorisations and recurrences whose kernels are LAPACK's or SciPy's: computed on the host, within a program of XLA's."""

from __future__ import annotations

from typing import Any

import numpy as np

from adjoint.backends.xla.devices import jax
from adjoint.backends.xla.failures import Tracing
from adjoint.backends.xla.host_steps import by_python
from adjoint.backends.xla.lowering import lowers
from adjoint.core.spec import float32, is_half
from adjoint.ops.eigen import LU, Eig, RowOrder
from adjoint.ops.matrix_equations import BandedSolve, Logm, Sqrtm, Sylvester
from adjoint.ops.recurrence import Recurrence
from adjoint.ops.sparse_solve import SparseSolve


@lowers(LU, Eig, RowOrder, BandedSolve, Logm, Sqrtm, Sylvester, Recurrence, SparseSolve)
def on_the_host(op: Any, spec: Any, tracing: Tracing, *xs: Any) -> Any:
    """The kernel of the card on arrays of NumPy's."""
    given = [jax().numpy.asarray(x) for x in xs]
    given = [x.astype(float32) if is_half(np.dtype(x.dtype)) else x for x in given]
    if any(isinstance(x, jax().core.Tracer) for x in given):
        return by_python(op, spec, tracing, *given)
    y = op.eval(np, *map(np.asarray, given))
    return tuple(map(jax().numpy.asarray, y)) if isinstance(y, tuple) else jax().numpy.asarray(y)

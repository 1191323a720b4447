"""Products of matrices on XLA. Those of half precision are taken as they are: the units that multiply them add in float32 and round once."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import partial
from typing import Any

import numpy as np

from adjoint.backends.xla.devices import jax
from adjoint.backends.xla.failures import Tracing
from adjoint.backends.xla.lowering import lowers
from adjoint.core.spec import is_half
from adjoint.ops.contract import MatMul
from adjoint.ops.einstein_sum import Einsum


def product(function: Callable[..., Any], spec: Any, xs: Sequence[Any], direct: bool = True) -> Any:
    """A product by a function of JAX's; `direct` says that it is one, without sums or products before it that would be rounded too."""
    if is_half(spec.dtype):
        if direct and all(x.dtype == spec.dtype for x in xs):
            return function(*xs, precision=jax().lax.Precision.DEFAULT, preferred_element_type=spec.dtype)
        return function(*(x.astype(np.float32) for x in xs))
    return function(*(jax().numpy.asarray(x, spec.dtype) for x in xs))


@lowers(MatMul)
def matmul(op: MatMul, spec: Any, tracing: Tracing, *xs: Any) -> Any:
    """One product, or one for each place of the leading axes."""
    return product(jax().numpy.matmul, spec, xs)


@lowers(Einsum)
def einsum(op: Einsum, spec: Any, tracing: Tracing, *xs: Any) -> Any:
    """Products of two factors at a time, in the order that takes least work."""
    terms = [set(term) for term in op.terms]
    direct = len(xs) == 2 and not (terms[0] ^ terms[1]) - set(op.result)
    return product(partial(jax().numpy.einsum, op.subscripts, optimize=len(xs) > 1), spec, xs, direct)

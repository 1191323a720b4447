"""Functions of complex numbers on their branch cuts: the sign of a zero says the side, which XLA does not always look at."""

from __future__ import annotations

from typing import Any

from adjoint.backends.xla.common_dtypes import in_common
from adjoint.backends.xla.devices import jax
from adjoint.backends.xla.failures import Tracing
from adjoint.backends.xla.lowering import lowers
from adjoint.core.spec import spec_of
from adjoint.ops.transcendental import Sqrt
from adjoint.ops.trigonometric import Acos, Acosh, Asin, Asinh, Atan, Atanh

ODD = (Asin, Asinh, Atan, Atanh)  # the real part has the sign of the input's; of the others it is not negative


@lowers(Sqrt, Acos, Acosh, *ODD)
def of_complex(op: Any, spec: Any, tracing: Tracing, x: Any) -> Any:
    """XLA's function, with the signs that the input's parts say, also where these are 0."""
    jnp = jax().numpy
    (x,) = in_common(op, spec, [spec_of(x)], [x])
    y = op.eval(jnp, x)
    if spec.dtype.kind != "c":
        return y
    real = jnp.copysign(y.real, x.real) if isinstance(op, ODD) else y.real
    return jax().lax.complex(real, jnp.copysign(y.imag, -x.imag if isinstance(op, Acos) else x.imag))

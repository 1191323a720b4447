"""Special functions with the digits and the limits that SciPy's have: JAX's own where they agree, corrected where they do not."""

from __future__ import annotations

from math import factorial, pi, sqrt
from typing import Any

import numpy as np

from adjoint.backends.xla.common_dtypes import computing_dtype, converted
from adjoint.backends.xla.devices import jax
from adjoint.backends.xla.failures import Tracing
from adjoint.backends.xla.host_steps import by_python
from adjoint.backends.xla.lowering import lowers
from adjoint.core.spec import float32, float64, is_half, spec_of
from adjoint.ops.bessel import Bessel
from adjoint.ops.incomplete import Gammainc, Gammaincc, Zeta, of_exponential
from adjoint.ops.incomplete_beta import Betainc
from adjoint.ops.special import Erfinv, Lgamma, Polygamma
from adjoint.ops.special_table import Special


def _doubles(*xs: Any) -> list[Any]:
    """As SciPy does: what is given in single precision is computed in double."""
    return [converted(x, float64) for x in xs]


@lowers(Erfinv)
def erfinv(op: Erfinv, spec: Any, tracing: Tracing, x: Any) -> Any:
    """XLA's polynomials, and a step of Newton's: near 1 by erfc, which keeps its digits there."""
    jnp, special = jax().numpy, jax().scipy.special
    x = converted(x, computing_dtype(spec.dtype, [spec_of(x)]))
    y = special.erfinv(x)
    near = jnp.abs(y) > 0.5
    off = jnp.where(near, jnp.sign(x) * (1 - jnp.abs(x) - special.erfc(jnp.abs(y))), special.erf(y) - x)
    better = y - off * (sqrt(pi) / 2) * jnp.exp(y * y)
    return jnp.where((jnp.abs(x) < 1) & jnp.isfinite(better), better, y)


@lowers(Lgamma)
def lgamma(op: Lgamma, spec: Any, tracing: Tracing, x: Any) -> Any:
    """The logarithm of the gamma function; -inf at -inf, as SciPy says."""
    (x,) = _doubles(x)
    return jax().numpy.where(x == -np.inf, -np.inf, jax().scipy.special.gammaln(x))


@lowers(Polygamma)
def polygamma(op: Polygamma, spec: Any, tracing: Tracing, x: Any) -> Any:
    """Digamma, or its derivatives by way of the zeta function."""
    jnp = jax().numpy
    (x,) = _doubles(x)
    if op.order == 0:
        return jnp.where(x == 0, jnp.copysign(np.inf, -x), jax().scipy.special.digamma(x))
    return (-1.0) ** (op.order + 1) * factorial(op.order) * _zeta(float64.type(op.order + 1), x)


@lowers(Zeta)
def zeta(op: Zeta, spec: Any, tracing: Tracing, x: Any, q: Any) -> Any:
    """Hurwitz's zeta function."""
    return _zeta(*_doubles(x, q))


def _zeta(x: Any, q: Any) -> Any:
    """JAX's, with its poles at 0, -1, -2, ..., and for large q the first two terms of its expansion, beyond which nothing counts."""
    jnp = jax().numpy
    pole, large = (q <= 0) & (q == jnp.floor(q)), q > 1e8
    y = jax().scipy.special.zeta(x, jnp.where(pole | large, 1.0, q))
    y = jnp.where((x > 1) & large, (1 / (x - 1) + 0.5 / q) * q ** (1 - x), y)
    nearest = jnp.where(q > 0, q, jnp.abs(q - jnp.round(q)))  # the term that is left of the sum where x is large
    y = jnp.where((x > 1e4) & jnp.isnan(y) & ~jnp.isnan(q), nearest**-x, y)
    return jnp.where((x > 1) & pole, np.inf, y)


@lowers(Gammainc)
def gammainc(op: Gammainc, spec: Any, tracing: Tracing, a: Any, x: Any) -> Any:
    """The incomplete gamma function, or a derivative of it by a: the series that it is, term by term."""
    a, x = _doubles(a, x)
    if op.order == 0:
        return jax().scipy.special.gammainc(a, x)
    jnp, special = jax().numpy, jax().scipy.special
    a, x = jnp.broadcast_arrays(a, x)
    if a.size == 0:
        return a

    def term(n: Any) -> Any:
        found = [jnp.exp((a + n) * jnp.log(x) - x - special.gammaln(a + n + 1))]
        slopes = [jnp.log(x) - special.digamma(a + n + 1)]
        slopes += [-special.polygamma(k, a + n + 1) for k in range(1, op.order)]
        return of_exponential(found, slopes, op.order)

    largest = jnp.where(jnp.isfinite(x), x, 0.0).max()
    last = (largest + 12 * jnp.sqrt(largest + 1) + 60).astype(np.int64)
    total = jax().lax.fori_loop(0, last, lambda n, total: total + term(n), jnp.zeros(a.shape))
    return jnp.where(x > 0, total, 0.0)


@lowers(Gammaincc)
def gammaincc(op: Gammaincc, spec: Any, tracing: Tracing, a: Any, x: Any) -> Any:
    """The upper incomplete gamma function."""
    return jax().scipy.special.gammaincc(*_doubles(a, x))


@lowers(Betainc)
def betainc(op: Betainc, spec: Any, tracing: Tracing, a: Any, b: Any, x: Any) -> Any:
    """The incomplete beta function; its derivatives by the parameters on the host."""
    if op.by_a or op.by_b:
        return _by_scipy(op, spec, tracing, a, b, x)
    return jax().scipy.special.betainc(*_doubles(a, b, x))


@lowers(Bessel)
def bessel(op: Bessel, spec: Any, tracing: Tracing, x: Any) -> Any:
    """Bessel functions are SciPy's, on the host: XLA has none with all digits."""
    return _by_scipy(op, spec, tracing, x)


@lowers(Special)
def by_name(op: Special, spec: Any, tracing: Tracing, *xs: Any) -> Any:
    """What has no counterpart in JAX with all digits is SciPy's, on the host."""
    return _by_scipy(op, spec, tracing, *xs)


def _by_scipy(op: Any, spec: Any, tracing: Tracing, *xs: Any) -> Any:
    """The kernel on the host."""
    given = [jax().numpy.asarray(x) for x in xs]
    given = [x.astype(float32) if is_half(np.dtype(x.dtype)) else x for x in given]
    if any(isinstance(x, jax().core.Tracer) for x in given):
        return by_python(op, spec, tracing, *given)
    return jax().numpy.asarray(op.eval(np, *map(np.asarray, given)))

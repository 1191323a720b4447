"""scipy.optimize for Tensors: inside a transform its solvers are those of `adjoint.optimize`, whose results are differentiated.

Derivatives that a caller brings (`jac`, `hess`, `fprime`) are not needed: exact ones are computed.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from adjoint import optimize as solvers
from adjoint.api.grad import grad
from adjoint.api.jacobian import hessian, hvp
from adjoint.core.dispatch import Value, wrap
from adjoint.core.errors import ArgumentError, called_at
from adjoint.ops.language import reshape, sum_axes
from adjoint.ops.numpylike.common import tensor
from adjoint.optimize.implicit import Converged
from adjoint.scipy.wrapping import takes_functions


def _refuse(name: str, **options: Any) -> None:
    """What has no meaning for the solvers of ours, named."""
    given = sorted(
        key for key, value in options.items() if value is not None and not (type(value) in (bool, int) and not value)
    )
    if given:
        raise ArgumentError(
            f"scipy.optimize.{name}: {', '.join(given)} cannot be used where the result is differentiated, batched or compiled; "
            f"see ad.optimize{called_at()}"
        )


def _settled(name: str, result: Any, disp: bool = True) -> Any:
    """The solution alone; SciPy raises where there is none, unless told not to."""
    return wrap(Converged(f"scipy.optimize.{name}")(result.x, wrap(result.success))) if disp else result.x


def _vector(x0: Any) -> Any:
    """Where to start, as SciPy has it: one number is a vector of one, and a list, of Tensors too, is an array."""
    if isinstance(x0, (list, tuple)):
        return tensor(x0) if any(isinstance(x, Value) and not x.shape for x in x0) else x0
    is_number = isinstance(x0, (int, float, np.generic, np.ndarray, Value)) and not np.ndim(x0)
    return reshape(tensor(x0), (1,)) if is_number else x0


def _first(fun: Callable[..., Any], jac: Any) -> Callable[..., Any]:
    """The value alone of a function that gives its gradient too."""
    if jac is not True:
        return fun

    def value(*args: Any) -> Any:
        return fun(*args)[0]

    return value


@takes_functions
def minimize(
    fun: Any, x0: Any, args: Any = (), method: Any = None, jac: Any = None, hess: Any = None, hessp: Any = None,
    bounds: Any = None, constraints: Any = (), tol: Any = None, callback: Any = None, options: Any = None,
) -> Any:  # fmt: skip
    """As `adjoint.optimize.minimize`."""
    del hess, hessp
    return solvers.minimize(_first(fun, jac), _vector(x0), args, method, bounds, constraints, tol, options, callback)


@takes_functions
def least_squares(
    fun: Any, x0: Any, jac: Any = "2-point", bounds: Any = None, method: str = "trf", ftol: Any = 1e-8, xtol: Any = 1e-8,
    gtol: Any = 1e-8, x_scale: Any = None, loss: Any = "linear", f_scale: float = 1.0, max_nfev: Any = None, args: Any = (),
    kwargs: Any = None, **others: Any,
) -> Any:  # fmt: skip
    """As `adjoint.optimize.least_squares`."""
    del jac
    _refuse("least_squares", **others)
    function = fun if not kwargs else (lambda *xs: fun(*xs, **kwargs))
    scale = 1.0 if x_scale is None else x_scale
    return solvers.least_squares(
        function, _vector(x0), args, bounds, method, ftol, xtol, gtol, scale, loss, f_scale, max_nfev
    )


@takes_functions
def root(
    fun: Any, x0: Any, args: Any = (), method: str = "hybr", jac: Any = None, tol: Any = None, callback: Any = None,
    options: Any = None,
) -> Any:  # fmt: skip
    """As `adjoint.optimize.root`."""
    _refuse("root", callback=callback)
    return solvers.root(_first(fun, jac), _vector(x0), args, method, tol, options)


@takes_functions
def fsolve(func: Any, x0: Any, args: Any = (), fprime: Any = None, full_output: Any = 0, **others: Any) -> Any:
    """The solution alone of `adjoint.optimize.root`."""
    del fprime
    _refuse("fsolve", full_output=full_output or None, **others)
    return solvers.root(func, _vector(x0), args).x


@takes_functions
def root_scalar(
    f: Any, args: Any = (), method: Any = None, bracket: Any = None, fprime: Any = None, fprime2: Any = None, x0: Any = None,
    x1: Any = None, xtol: Any = None, rtol: Any = None, maxiter: Any = None, options: Any = None,
) -> Any:  # fmt: skip
    """As `adjoint.optimize.root_scalar`."""
    del fprime2
    _refuse("root_scalar", x1=x1, options=options)
    chosen = None if method == "secant" else method
    return solvers.root_scalar(
        _first(f, fprime), args, chosen, bracket, None if bracket is not None else x0, xtol, rtol, maxiter
    )


def _bracketed(method: str) -> Any:
    @takes_functions
    def solve(
        f: Any, a: Any, b: Any, args: Any = (), xtol: Any = None, rtol: Any = None, maxiter: Any = None,
        full_output: bool = False, disp: bool = True, **others: Any,
    ) -> Any:  # fmt: skip
        _refuse(method, full_output=full_output, **others)
        return _settled(method, solvers.root_scalar(f, args, method, (a, b), None, xtol, rtol, maxiter), disp)

    solve.__name__, solve.__doc__ = method, f"The root of `adjoint.optimize.root_scalar(method={method!r})`."
    return solve


brentq, brenth, bisect, ridder, toms748 = map(_bracketed, ("brentq", "brenth", "bisect", "ridder", "toms748"))


@takes_functions
def newton(
    func: Any,
    x0: Any,
    fprime: Any = None,
    args: Any = (),
    tol: Any = None,
    maxiter: Any = None,
    fprime2: Any = None,
    disp: bool = True,
    **others: Any,
) -> Any:
    """The root of `adjoint.optimize.root_scalar`, from a start; of an array of starts that of `root`."""
    del fprime, fprime2
    _refuse("newton", **others)
    if getattr(x0, "ndim", 0):
        return _settled("newton", solvers.root(func, x0, args, tol=tol), disp)
    return _settled("newton", solvers.root_scalar(func, args, "newton", x0=x0, xtol=tol, maxiter=maxiter), disp)


@takes_functions
def fixed_point(
    func: Any, x0: Any, args: Any = (), xtol: float = 1e-8, maxiter: int = 500, method: str = "del2"
) -> Any:
    """The point of `adjoint.optimize.fixed_point`."""
    return _settled("fixed_point", solvers.fixed_point(func, x0, args, xtol, maxiter, method))


@takes_functions
def curve_fit(
    f: Any, xdata: Any, ydata: Any, p0: Any = None, sigma: Any = None, absolute_sigma: bool = False, check_finite: Any = None,
    bounds: Any = None, method: Any = None, jac: Any = None, *, full_output: bool = False, nan_policy: Any = None, **others: Any,
) -> Any:  # fmt: skip
    """As `adjoint.optimize.curve_fit`."""
    del check_finite, jac
    _refuse("curve_fit", full_output=full_output, nan_policy=nan_policy, **others)
    return solvers.curve_fit(f, xdata, ydata, p0, sigma, absolute_sigma, bounds, method)


def rosen(x: Any) -> Any:
    """Rosenbrock's function of a vector, or of the first axis of an array."""
    x = wrap(x)
    return sum_axes(100.0 * (x[1:] - x[:-1] ** 2) ** 2 + (1 - x[:-1]) ** 2, (0,))


def rosen_der(x: Any) -> Any:
    """The gradient of Rosenbrock's function."""
    return grad(rosen)(x)


def rosen_hess(x: Any) -> Any:
    """The Hessian of Rosenbrock's function."""
    return hessian(rosen)(x)


def rosen_hess_prod(x: Any, p: Any) -> Any:
    """The product of that Hessian with a vector."""
    return hvp(rosen)(x, p)

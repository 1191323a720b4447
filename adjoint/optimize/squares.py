"""`least_squares` and `curve_fit`: SciPy's solvers with exact Jacobians; what they find is differentiable."""

from __future__ import annotations

import inspect
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from adjoint.api.jacobian import jacobian
from adjoint.core.dispatch import Value, wrap
from adjoint.core.errors import ArgumentError, ArgumentTypeError, boundary, called_at
from adjoint.core.spec import float64, shape_of
from adjoint.ops import functional as F
from adjoint.ops.linalg import inv
from adjoint.ops.numpylike.common import tensor, values_in
from adjoint.optimize import conditions
from adjoint.optimize.implicit import ImplicitSolve
from adjoint.optimize.program import SolverFunction, program
from adjoint.optimize.results import OptimizeResult, SolverRuns, Watch, stats_of, told
from adjoint.optimize.unknowns import Variables, line

#: What each loss makes of the squares of the residuals.
_LOSSES: dict[str, Callable[[Any], Any]] = {
    "linear": lambda s: s,
    "soft_l1": lambda s: 2 * (F.sqrt(1 + s) - 1),
    "huber": lambda s: F.where(s <= 1, s, 2 * F.sqrt(F.where(s <= 1, 1.0, s)) - 1),
    "cauchy": lambda s: F.log1p(s),
    "arctan": lambda s: F.atan(s),
}


@boundary
def least_squares(
    fun: Callable[..., Any],
    x0: Any,
    args: Any = (),
    bounds: Any = None,
    method: str = "trf",
    ftol: float | None = 1e-10,
    xtol: float | None = 1e-10,
    gtol: float | None = 1e-10,
    x_scale: Any = 1.0,
    loss: str = "linear",
    f_scale: float = 1.0,
    max_nfev: int | None = None,
    *,
    compiled: bool = True,
    progress: bool | None = None,
) -> OptimizeResult:
    """The x with the smallest sum of squared residuals, by SciPy's solvers with an exact Jacobian; it is itself differentiable.

    Args:
        fun: `fun(x, *args)` returns the residuals: an array, or any tree of arrays.
        x0: where to start: a number, array, Tensor, or any tree of them.
        args: further arguments of `fun`; derivatives of the solution by them are exact.
        bounds: a pair `(lower, upper)`, each one number, an array, or a tree like `x0`; or `scipy.optimize.Bounds`.
        method: "trf", "dogbox", or "lm" (Levenberg and Marquardt, without bounds and with the loss "linear").
        ftol, xtol, gtol, x_scale, f_scale, max_nfev: as in SciPy; `x_scale` may be a tree like `x0`, or "jac".
        loss: "linear", "soft_l1", "huber", "cauchy" or "arctan", against outliers.
        compiled, progress: as in `minimize`.

    The result has `x`, `cost` (half the sum of squares under the loss), `fun` (the residuals), `success`, `message`, `nfev`.

    >>> import adjoint as ad, numpy as np
    >>> t = np.linspace(0.0, 1.0, 9)
    >>> def rate(noise):
    ...     data = np.exp(-2.0 * t) + noise
    ...     return ad.optimize.least_squares(lambda k, data: ad.ops.exp(-k * t) - data, 1.0, args=(data,)).x
    >>> print(rate(0.0 * t).round(3), ad.grad(rate)(0.0 * t).shape)
    2.0 (9,)
    """
    if loss not in _LOSSES:
        raise ArgumentError(f"least_squares: loss={loss!r} is none of {', '.join(_LOSSES)}{called_at()}")
    if method not in ("trf", "dogbox", "lm"):
        raise ArgumentError(f"least_squares: method={method!r} is none of trf, dogbox, lm{called_at()}")
    if method == "lm" and (bounds is not None or loss != "linear"):
        raise ArgumentError(f"least_squares: the method lm takes no bounds, and the loss 'linear' only{called_at()}")
    variables = Variables("least_squares", x0)
    main = program("least_squares", fun, variables, args, False, compiled)
    box = _limits(variables, bounds)
    found, count = SolverRuns(), len(main.inputs)
    scale = x_scale if isinstance(x_scale, str) else np.asarray(variables.spread("least_squares: x_scale", x_scale))
    settings = {
        "method": method, "ftol": ftol, "xtol": xtol, "gtol": gtol, "x_scale": scale, "loss": loss, "f_scale": f_scale,
        "max_nfev": max_nfev,
    }  # fmt: skip

    def cost(x: Any, *inputs: Any) -> Any:
        squares = (main.call(x, *inputs) / f_scale) ** 2
        return F.sum(_LOSSES[loss](squares)) * (0.5 * f_scale**2)

    def work(start: Any, *inputs: Any) -> Any:
        watch = Watch("least_squares", lambda v: v, None, progress)
        result = _run(main, start, inputs[:count], inputs[count:], settings, watch)
        found.take(result)
        x, size = np.asarray(result.x, float64), variables.size
        if box is None:
            return x, np.zeros(size), stats_of(result, bool(result.success))
        none = np.zeros(0)
        limits = (np.asarray(inputs[count]), np.asarray(inputs[count + 1]))
        own = list(inputs[:count])
        first = main.host("value", own)(start) @ main.host("jacobian", own)(start)
        slope, rows = np.asarray(result.grad), np.zeros((0, size))
        states, _, held = conditions.held(x, slope, limits, none, rows, (none, none), first)
        return x, states, stats_of(result, held and bool(result.success))

    def residual(z: Any, states: Any, *inputs: Any) -> Any:
        own, limits = inputs[:count], inputs[count:]
        return conditions.residual(
            lambda x: cost(x, *own),
            None,
            variables.size,
            z,
            states,
            (limits[0], limits[1]) if limits else None,
            ((), ()),
        )

    solver = ImplicitSolve(f"least_squares({main.name})", work, residual, main, variables.size)
    z, _, stats = solver(variables.start, *main.inputs, *(box or ()))
    z = wrap(z)
    return OptimizeResult(
        x=variables.tree(z, dtypes=True),
        cost=cost(z, *main.inputs),
        fun=main.call(z, *main.inputs),
        **told(stats, found),
    )


def _run(
    main: SolverFunction, start: Any, inputs: Sequence[Any], box: Sequence[Any], settings: dict[str, Any], watch: Watch
) -> Any:
    from scipy import optimize

    value, slope = main.host("value", list(inputs)), main.host("jacobian", list(inputs))

    def residuals(x: Any) -> Any:
        y = value(x)
        watch.value = float(0.5 * (y**2).sum())
        return y

    def jac(x: Any) -> Any:
        watch.after(x)
        return slope(x)

    more = {"bounds": (np.asarray(box[0]), np.asarray(box[1]))} if box else {}
    if box and not np.all((more["bounds"][0] <= start) & (start <= more["bounds"][1])):
        raise ArgumentError(f"least_squares: the start {np.asarray(start)} lies outside of the bounds{called_at()}")
    try:
        return optimize.least_squares(residuals, start, jac=jac, **settings, **more)
    finally:
        watch.close()


def _limits(variables: Variables, bounds: Any) -> tuple[Any, Any] | None:
    if bounds is None:
        return None
    if hasattr(bounds, "lb"):
        bounds = (bounds.lb, bounds.ub)
    if not isinstance(bounds, (tuple, list)) or len(bounds) != 2:
        raise ArgumentTypeError(f"least_squares: bounds must be a pair (lower, upper){called_at()}")
    lower, upper = (
        variables.spread(f"least_squares: the {n} bounds", b) for n, b in zip(("lower", "upper"), bounds, strict=True)
    )
    return lower, upper


@boundary
def curve_fit(
    f: Callable[..., Any],
    xdata: Any,
    ydata: Any,
    p0: Any = None,
    sigma: Any = None,
    absolute_sigma: bool = False,
    bounds: Any = None,
    method: str | None = None,
    *,
    compiled: bool = True,
    progress: bool | None = None,
) -> tuple[Any, Any]:
    """The parameters p with which `f(xdata, *p)` is nearest to `ydata`, and their covariance; both are differentiable.

    Args:
        f: the model, `f(xdata, p1, p2, ...)`.
        xdata, ydata: what was measured. Derivatives of the result by both are exact.
        p0: where to start. By default ones, as many as `f` has parameters; with bounds, as in SciPy, the middle between the two, or
            1 inside of the only one.
        sigma: the standard deviation of each number in `ydata`.
        absolute_sigma: whether `sigma` is known as it is, not only up to a factor.
        bounds, method, compiled, progress: as in `least_squares`; the method is "lm", with bounds "trf".

    >>> import adjoint as ad, numpy as np
    >>> t = np.linspace(0.0, 2.0, 20)
    >>> p, covariance = ad.optimize.curve_fit(lambda t, a, k: a * ad.ops.exp(-k * t), t, 2.5 * np.exp(-1.3 * t))
    >>> print(p.round(3), covariance.shape)
    [2.5 1.3] (2, 2)
    """
    bounds = _real_limits(bounds)
    start = _start(f, bounds) if p0 is None else _array(p0)
    if len(shape_of(start)) > 1:
        raise ArgumentError(f"curve_fit: p0 must be a list of numbers, not of shape {shape_of(start)}{called_at()}")
    start = start if shape_of(start) else F.reshape(start, (1,))
    xdata, ydata = _array(xdata) if isinstance(xdata, (list, tuple)) else xdata, _array(ydata)
    spread = None if sigma is None else wrap(_array(sigma))
    if spread is not None and spread.shape not in ((), shape_of(wrap(ydata))):
        raise ArgumentError(
            f"curve_fit: sigma of shape {spread.shape} does not fit ydata of shape {shape_of(wrap(ydata))}; a covariance matrix is not "
            f"supported: fit L^-1 f and L^-1 y, with L its Cholesky factor{called_at()}"
        )

    count = shape_of(start)[0]

    def differences(p: Any, x: Any, y: Any, *deviations: Any) -> Any:
        out = f(x, *(p[i] for i in range(count))) - y
        return out / deviations[0] if deviations else out

    differences.__name__ = getattr(f, "__name__", "f")
    given = (xdata, wrap(ydata), *(() if spread is None else (spread,)))
    chosen = method or ("lm" if bounds is None else "trf")
    result = least_squares(differences, start, given, bounds, chosen, compiled=compiled, progress=progress)
    p, rows = result.x, shape_of(result.fun)[0]
    slope = jacobian(lambda p: line(differences(p, *given)))(p)
    covariance = inv(slope.T @ slope)
    if not absolute_sigma:
        if rows <= count:
            raise ArgumentError(
                f"curve_fit: {rows} data for {count} parameters leave the covariance unknown{called_at()}"
            )
        covariance = covariance * (2 * result.cost / (rows - count))
    return p, covariance


def _array(x: Any) -> Any:
    """An array of float64, or a Tensor: of a list that holds Tensors, too."""
    return np.asarray(x, float64) if next(values_in([x]), None) is None else tensor(x)


def _real_limits(bounds: Any) -> Any:
    """A pair of bounds; None where none of them is finite, which is known now."""
    if hasattr(bounds, "lb"):
        bounds = (bounds.lb, bounds.ub)
    if not isinstance(bounds, (tuple, list)) or len(bounds) != 2 or any(isinstance(b, Value) for b in bounds):
        return bounds
    lower, upper = (F.array(list(b) if isinstance(b, (list, tuple)) else b) for b in bounds)
    if isinstance(lower, Value) or isinstance(upper, Value):
        return lower, upper
    return bounds if np.any(np.greater(lower, -np.inf)) or np.any(np.less(upper, np.inf)) else None


def _start(f: Any, bounds: Any) -> Any:
    """A start where none is given, as SciPy has it: ones, or a point inside the bounds."""
    if not isinstance(bounds, (tuple, list)) or len(bounds) != 2:
        return _ones(f)
    known = not any(isinstance(b, Value) for b in bounds)
    sizes = [shape_of(b if isinstance(b, Value) else np.asarray(b)) for b in bounds]
    size = next((shape[0] for shape in sizes if len(shape) == 1), None)
    ones = _ones(f) if size is None else np.ones(size)
    lower, upper = (F.stop_gradient(ones * (b if isinstance(b, Value) else np.asarray(b, float64))) for b in bounds)
    below, above = F.isfinite(lower), F.isfinite(upper)
    low, high = F.where(below, lower, 0.0), F.where(above, upper, 0.0)
    one_sided = F.where(below, low + 1.0, F.where(above, high - 1.0, 1.0))
    start = F.where(F.logical_and(below, above), 0.5 * (low + high), one_sided)
    return np.asarray(wrap(start).asnumpy()) if known else start


def _ones(f: Any) -> np.ndarray:
    """A start where none is given: as many ones as the model has parameters."""
    kinds = inspect.Parameter
    names = list(inspect.signature(f).parameters.values())
    if any(p.kind is kinds.VAR_POSITIONAL for p in names) or len(names) < 2:
        raise ArgumentError(f"curve_fit: the number of parameters cannot be read from the model; give p0{called_at()}")
    return np.ones(len([p for p in names if p.kind in (kinds.POSITIONAL_ONLY, kinds.POSITIONAL_OR_KEYWORD)]) - 1)

"""Initial value problems of scipy.integrate, for Tensors: `solve_ivp` and `odeint`, by the steps of `runge_kutta`."""
# ruff: noqa: ARG001  (arguments of LSODA's own)

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from adjoint.core import context
from adjoint.core.dispatch import Value
from adjoint.core.errors import ArgumentError, ArgumentTypeError, ShapeError, called_at
from adjoint.core.spec import is_inexact
from adjoint.ops import functional as _f
from adjoint.ops import language as F
from adjoint.ops.numpylike.common import array_of, is_known, refuse, tensor, values_in
from adjoint.scipy.runge_kutta import Solution, known_steps, looped_steps, method_of
from adjoint.scipy.wrapping import MARK, takes_functions

_METHODS = {"RK45": "RK45", "RK23": "RK23", "DOP853": "DOP853", "LSODA": "DOP853"}


def _vector(y: Any) -> Any:
    y = tensor(y)
    if y.ndim != 1:
        raise ShapeError(f"the initial state must be a line of numbers, not shape {y.shape}{called_at()}")
    return y if is_inexact(y.dtype) else F.cast(y, np.float64)


def _slope(fun: Callable[..., Any], y0: Any, args: tuple, first: bool = True) -> Callable[[Any, Any], Any]:
    """The user's function of time and state, with a result that fits the state."""
    called = context.readable(fun)

    def rhs(t: Any, y: Any) -> Any:
        found = called(t, y, *args) if first else called(y, t, *args)
        found = tensor(list(found) if isinstance(found, tuple) else found)
        if found.size != y0.size:
            raise ShapeError(f"the function gave the shape {found.shape} for a state of shape {y0.shape}{called_at()}")
        found = _f.reshape(found, y0.shape)
        return found if found.dtype == y0.dtype else F.cast(found, y0.dtype)

    return rhs


def _moved(f: Callable[[Any, Any], Any], t: Any, y: Any, h: Any) -> Any:
    """The state after a step h that is 0: a number without influence, whose derivatives are the problem's up to order 4."""
    k1 = f(t, y)
    k2 = f(t + h / 2, y + h / 2 * k1)
    k3 = f(t + h / 2, y + h / 2 * k2)
    k4 = f(t + h, y + h * k3)
    return y + h / 6 * (k1 + 2 * k2 + 2 * k3 + k4)


def _traced_time(t: Any) -> bool:
    return isinstance(t, Value) and t.tracked and t.dtype.kind == "f"


def _solved(
    f: Any, method: str, t0: Any, y0: Any, end: Any, times: Any, rtol: Any, atol: Any, h: Any, limit: float, what: str
) -> Solution:
    """The states at times; what is differentiable in the times themselves is put in afterwards."""
    held_start, held_end = (F.stop_gradient(v) if isinstance(v, Value) else v for v in (t0, end))
    held = None if times is None else F.stop_gradient(times) if isinstance(times, Value) else np.asarray(times, float)
    if _traced_time(t0):
        y0 = _moved(f, t0, y0, held_start - t0)  # from the start as it is to the same time without derivative
    with np.errstate(all="ignore"):
        probe = f(held_start, y0)
    known = all(is_known(v) for v in (probe, y0, held_start, held_end, *(() if held is None else (held,))))
    chosen = method_of(method)
    if known:
        plain = (float(array_of(tensor(v))) for v in (held_start, held_end))
        start, stop = plain
        grid = None if held is None else array_of(tensor(held)).astype(float)
        found = known_steps(chosen, f, start, y0, stop, grid, rtol, atol, h, limit)
    elif held is None:
        raise ShapeError(
            f"{what}: the number of steps is known only when the graph runs. Give the times of the states: t_eval=.{called_at()}"
        )
    else:
        found = looped_steps(chosen, f, held_start, y0, held_end, held, rtol, atol, h, limit)
    if times is not None and _traced_time(times) and found.y.shape[-1] == times.shape[0]:
        # At each time, a step that is 0 and has the derivative of the time.
        columns = [_moved(f, held[k], found.y[:, k], times[k] - held[k]) for k in range(times.shape[0])]  # type: ignore[index]
        found.y, found.t = _f.stack(columns, -1), times
    elif times is None and _traced_time(end):
        last = _moved(f, held_end, found.y[:, -1], end - held_end)
        found.y = _f.concat([found.y[:, :-1], F.expand_last(last)], -1)
    return found


def _depends(fun: Any, given: Any, probe: Callable[[], Any]) -> bool:
    """Whether a Tensor takes part: among the arguments, or in what the function reads."""
    return next(values_in(given), None) is not None or next(values_in(probe()), None) is not None


@takes_functions
def solve_ivp(
    fun: Any,
    t_span: Any,
    y0: Any,
    method: Any = "RK45",
    t_eval: Any = None,
    dense_output: bool = False,
    events: Any = None,
    vectorized: bool = False,
    args: Any = None,
    **options: Any,
) -> Any:
    """As scipy.integrate.solve_ivp by explicit methods (LSODA's problems by DOP853), differentiable by the initial state, the
    times, `args` and whatever `fun` reads.

    Compiled code needs `t_eval`; then `success` is a Tensor, and states after a failure are NaN.
    """
    import scipy.integrate as si

    args = tuple(args) if args is not None else ()
    if not _depends(fun, (t_span, y0, t_eval, args), lambda: context.readable(fun)(t_span[0], np.asarray(y0), *args)):
        original = getattr(si.solve_ivp, MARK)
        return original(fun, t_span, y0, method, t_eval, dense_output, events, vectorized, args or None, **options)
    refuse("scipy.integrate.solve_ivp", events=events, dense_output=dense_output or None)
    name = method if isinstance(method, str) else getattr(method, "__name__", str(method))
    if name not in _METHODS:
        raise ArgumentError(
            f"solve_ivp: the method {name} cannot be differentiated here; RK45, RK23, DOP853 and LSODA can (the last is computed by "
            f"DOP853, for problems that are not stiff){called_at()}"
        )
    known: dict[str, Any] = {"rtol": 1e-3, "atol": 1e-6, "first_step": None, "max_step": np.inf}
    for ignored in ("jac", "jac_sparsity", "lband", "uband", "min_step"):
        options.pop(ignored, None)
    if unknown := sorted(set(options) - set(known)):
        raise ArgumentTypeError(f"solve_ivp: unknown options {', '.join(unknown)}{called_at()}")
    known.update(options)
    y = _vector(y0)
    f = _slope(fun, y, args)
    start, end = t_span
    grid = t_eval if t_eval is None or isinstance(t_eval, Value) else tensor(t_eval)
    grid = array_of(grid) if grid is not None and not _traced_time(grid) and is_known(grid) else grid
    rtol = (
        max(float(np.max(known["rtol"])), 100 * np.finfo(float).eps) if np.ndim(known["rtol"]) == 0 else known["rtol"]
    )
    found = _solved(
        f, _METHODS[name], start, y, end, grid, rtol, known["atol"], known["first_step"], float(known["max_step"]), "solve_ivp"
    )  # fmt: skip
    ok = found.success
    known_end = isinstance(ok, bool)
    return _result()(
        t=found.t if isinstance(found.t, Value) or t_eval is None else np.asarray(found.t),
        y=found.y,
        sol=None,
        t_events=None,
        y_events=None,
        nfev=found.evaluations,
        njev=0,
        nlu=0,
        status=(0 if ok else -1) if known_end else F.where(ok, 0, -1),
        message=_MESSAGES[ok] if known_end else "",
        success=ok,
    )


_MESSAGES = {
    True: "The solver successfully reached the end of the integration interval.",
    False: "Required step size is less than spacing between numbers.",
}


def _result() -> Any:
    """The class of SciPy's results: a dictionary with attributes."""
    from scipy.optimize import OptimizeResult

    return OptimizeResult


@takes_functions
def odeint(
    func: Any,
    y0: Any,
    t: Any,
    args: Any = (),
    Dfun: Any = None,
    col_deriv: Any = 0,
    full_output: Any = 0,
    ml: Any = None,
    mu: Any = None,
    rtol: Any = None,
    atol: Any = None,
    tcrit: Any = None,
    h0: float = 0.0,
    hmax: float = 0.0,
    hmin: float = 0.0,
    ixpr: Any = 0,
    mxstep: Any = 0,
    mxhnil: Any = 0,
    mxordn: Any = 12,
    mxords: Any = 5,
    printmessg: Any = 0,
    tfirst: bool = False,
) -> Any:
    """As scipy.integrate.odeint, to its tolerance, by DOP853: for problems that are not stiff.

    Differentiable by the initial state, the times, `args` and whatever `func` reads. Arguments of LSODA's own (`Dfun`, `ml`,
    `mxstep`, ...) change nothing.
    """
    import scipy.integrate as si

    args = tuple(args) if isinstance(args, (tuple, list)) else (args,)
    first = (lambda: context.readable(func)(np.asarray(t)[0], np.atleast_1d(y0), *args)) if tfirst else (
        lambda: context.readable(func)(np.atleast_1d(y0), np.asarray(t)[0], *args)
    )  # fmt: skip
    if not _depends(func, (y0, t, args), first):
        original = getattr(si.odeint, MARK)
        return original(func, y0, t, args, Dfun, col_deriv, full_output, ml, mu, rtol, atol, tcrit, h0, hmax, hmin, ixpr,
                        mxstep, mxhnil, mxordn, mxords, printmessg, tfirst)  # fmt: skip
    refuse("scipy.integrate.odeint", full_output=full_output or None, tcrit=tcrit)
    y = tensor(y0)
    y = _vector(_f.reshape(y, (y.size,)))
    times = tensor(t)
    times = times if times.dtype == np.float64 else F.cast(times, np.float64)
    if times.ndim != 1 or not times.size:
        raise ShapeError(f"odeint: a line of times is needed, not shape {times.shape}{called_at()}")
    f = _slope(func, y, args, tfirst)
    moving = _traced_time(times)
    grid = times if moving or not is_known(times) else array_of(times)
    start, end = (times[0], times[-1]) if moving or not is_known(times) else (float(grid[0]), float(grid[-1]))
    tight = [0.1 * (1.49012e-8 if v is None else np.asarray(v)) for v in (rtol, atol)]
    found = _solved(f, "DOP853", start, y, end, grid, tight[0], tight[1], h0 or None, hmax or np.inf, "odeint")
    if found.success is False:
        raise ArgumentError(f"odeint: the steps became too small, the solution may run to infinity{called_at()}")
    return _f.swapaxes(found.y, 0, 1)

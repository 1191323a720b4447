"""`root`, `root_scalar` and `fixed_point`: SciPy's solvers with exact derivatives; what they find is differentiable."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from adjoint.core.dispatch import Value, wrap
from adjoint.core.errors import ArgumentError, boundary, called_at
from adjoint.core.spec import float64, shape_of
from adjoint.ops.numpylike.common import is_known
from adjoint.optimize.implicit import ImplicitSolve
from adjoint.optimize.program import SolverFunction, program
from adjoint.optimize.results import OptimizeResult, SolverRuns, Watch, stats_of, told
from adjoint.optimize.unknowns import Variables

_WITH_JACOBIAN = ("hybr", "lm")
_ROOT = (
    *_WITH_JACOBIAN,
    "broyden1",
    "broyden2",
    "anderson",
    "linearmixing",
    "diagbroyden",
    "excitingmixing",
    "krylov",
    "df-sane",
)
_BRACKETED = ("brentq", "brenth", "bisect", "ridder", "toms748")


@boundary
def root(
    fun: Callable[..., Any],
    x0: Any,
    args: Any = (),
    method: str = "hybr",
    tol: float | None = None,
    options: dict[str, Any] | None = None,
    *,
    compiled: bool = True,
    progress: bool | None = None,
) -> OptimizeResult:
    """A solution of `fun(x, *args) = 0`, by SciPy's solvers with an exact Jacobian; it is itself differentiable.

    Args:
        fun: returns as many numbers as `x` has, in an array or any tree.
        x0: where to start: a number, array, Tensor, or any tree of them.
        args: further arguments of `fun`; derivatives of the solution by them are exact.
        method, tol, options: as in SciPy; "hybr" and "lm" are given the Jacobian.
        compiled, progress: as in `minimize`.

    >>> import adjoint as ad
    >>> def length(a):
    ...     return ad.optimize.root(lambda x, a: x ** 3 - a, 1.0, args=(a,)).x
    >>> print(length(8.0), ad.grad(length)(8.0))
    2.0 0.08333333333333333
    """
    if method not in _ROOT:
        raise ArgumentError(f"root: method={method!r} is none of SciPy's: {', '.join(_ROOT)}{called_at()}")
    variables = Variables("root", x0)
    main = program("root", fun, variables, args, False, compiled)
    _check_square("root", main, variables)

    def solve(start: Any, inputs: Sequence[Any], watch: Watch) -> Any:
        from scipy import optimize

        value = _watched(main.host("value", list(inputs)), watch)
        jac = main.host("jacobian", list(inputs)) if method in _WITH_JACOBIAN else None
        return optimize.root(value, start, jac=jac, method=method, tol=tol, options=dict(options or {}))

    return _solved("root", variables, main, lambda x, *inputs: main.call(x, *inputs), solve, progress)


@boundary
def root_scalar(
    f: Callable[..., Any],
    args: Any = (),
    method: str | None = None,
    bracket: Any = None,
    x0: Any = None,
    xtol: float | None = None,
    rtol: float | None = None,
    maxiter: int | None = None,
    *,
    compiled: bool = True,
) -> OptimizeResult:
    """A root of a function of one number, within a bracket or from a start; it is itself differentiable.

    Args:
        f: `f(x, *args)` returns one number.
        args: further arguments of `f`; derivatives of the root by them are exact.
        method: with a bracket "brentq" (the default), "brenth", "bisect", "ridder" or "toms748"; from `x0` "newton" (the default)
            or "halley", with exact derivatives.
        bracket: two numbers at which `f` has different signs.
        x0: where to start.
        xtol, rtol, maxiter: as in SciPy.
        compiled: as in `minimize`.

    The result has `root` (`x` is the same), `success` (also `converged`), `message`, `nit`.

    >>> import adjoint as ad
    >>> def cosine_meets(a):
    ...     return ad.optimize.root_scalar(lambda x, a: ad.ops.cos(x) - a * x, args=(a,), bracket=(0.0, 2.0)).root
    >>> print(cosine_meets(1.0).round(6), ad.grad(cosine_meets)(1.0).round(6))
    0.739085 -0.441611
    """
    if (bracket is None) == (x0 is None):
        raise ArgumentError(f"root_scalar: give a bracket or x0, one of them{called_at()}")
    known = ("newton", "halley") if bracket is None else _BRACKETED
    name = known[0] if method is None else method
    if name not in known:
        what = "from x0" if bracket is None else "with a bracket"
        raise ArgumentError(f"root_scalar: method={method!r} is none of those {what}: {', '.join(known)}{called_at()}")
    start = np.asarray(_plain(name, bracket)) if bracket is not None else x0
    if bracket is not None and shape_of(start) != (2,):
        raise ArgumentError(f"root_scalar: bracket must be two numbers, not {bracket!r}{called_at()}")
    variables = Variables("root_scalar", float(start[0]) if bracket is not None else x0)
    if variables.size != 1:
        raise ArgumentError(f"root_scalar: x0 must be one number; `root` solves for several{called_at()}")
    main = program("root_scalar", f, variables, args, False, compiled)
    _check_square("root_scalar", main, variables)
    limits = {k: v for k, v in (("xtol", xtol), ("rtol", rtol), ("maxiter", maxiter)) if v is not None}

    def solve(begin: Any, inputs: Sequence[Any], watch: Watch) -> Any:
        from scipy import optimize

        value, slope = _watched(main.host("value", list(inputs)), watch), main.host("jacobian", list(inputs))
        bend = main.host("bend", list(inputs)) if name == "halley" else None

        def number(function: Any) -> Any:
            return lambda x: float(function(np.array([x], float64)).reshape(()))

        more: dict[str, Any] = {"bracket": tuple(map(float, start))} if bracket is not None else {"x0": float(begin[0])}
        more |= {"fprime": number(slope)} if bracket is None else {}
        more |= {"fprime2": number(bend)} if bend is not None else {}
        found = optimize.root_scalar(number(value), method=name, **limits, **more)
        return optimize.OptimizeResult(
            x=np.array([found.root]), success=found.converged, status=0 if found.converged else 1, message=str(found.flag),
            nit=found.iterations, nfev=found.function_calls,
        )  # fmt: skip

    result = _solved("root_scalar", variables, main, lambda x, *inputs: main.call(x, *inputs), solve, False)
    return OptimizeResult(root=result.x, converged=result.success, **result)


@boundary
def fixed_point(
    fun: Callable[..., Any],
    x0: Any,
    args: Any = (),
    xtol: float = 1e-10,
    maxiter: int = 500,
    method: str = "del2",
    *,
    compiled: bool = True,
    progress: bool | None = None,
) -> OptimizeResult:
    """A point with `fun(x, *args) = x`, by iteration; it is itself differentiable, at the cost of one linear system.

    Args:
        fun: returns what has the structure of `x`.
        x0: where to start: a number, array, Tensor, or any tree of them.
        args: further arguments of `fun`; derivatives of the point by them are exact.
        xtol: the relative change at which to stop.
        maxiter: iterations at most.
        method: "del2" (Steffensen's, accelerated) or "iteration" (`x = fun(x)` again and again).
        compiled, progress: as in `minimize`.

    >>> import adjoint as ad
    >>> def square_root(a):
    ...     return ad.optimize.fixed_point(lambda x, a: 0.5 * (x + a / x), 1.0, args=(a,)).x
    >>> print(square_root(9.0), ad.grad(square_root)(9.0))
    3.0 0.16666666666666666
    """
    if method not in ("del2", "iteration"):
        raise ArgumentError(f"fixed_point: method={method!r} is none of del2, iteration{called_at()}")
    variables = Variables("fixed_point", x0)
    main = program("fixed_point", fun, variables, args, False, compiled)
    _check_square("fixed_point", main, variables)

    def solve(start: Any, inputs: Sequence[Any], watch: Watch) -> Any:
        from scipy import optimize

        value, last, calls = main.host("value", list(inputs)), [np.asarray(start)], [0]

        def step(x: Any) -> Any:
            calls[0] += 1
            last[0] = value(x)
            watch.value = float(np.abs(last[0] - x).max())
            watch.after(x)
            return last[0]

        try:
            found = optimize.fixed_point(step, start, xtol=xtol, maxiter=maxiter, method=method)
            success, message = True, "The iteration converged."
        except RuntimeError as error:
            found, success, message = last[0], False, str(error)
        return optimize.OptimizeResult(
            x=found, success=success, status=0 if success else 1, message=message, nit=calls[0], nfev=calls[0]
        )

    return _solved("fixed_point", variables, main, lambda x, *inputs: x - main.call(x, *inputs), solve, progress)


def _solved(
    what: str,
    variables: Variables,
    main: SolverFunction,
    residual: Callable[..., Any],
    solve: Callable[..., Any],
    progress: Any,
) -> OptimizeResult:
    found = SolverRuns()

    def work(start: Any, *inputs: Any) -> Any:
        watch = Watch(what, lambda v: v, None, progress)
        try:
            result = solve(start, inputs, watch)
        finally:
            watch.close()
        found.take(result)
        return (
            np.asarray(result.x, float64).reshape(-1),
            np.zeros(variables.size),
            stats_of(result, bool(result.success)),
        )

    solver = ImplicitSolve(
        f"{what}({main.name})", work, lambda z, states, *inputs: residual(z, *inputs), main, variables.size
    )
    z, _, stats = solver(variables.start, *main.inputs)
    z = wrap(z)
    values = main.call(z, *main.inputs)
    return OptimizeResult(x=variables.tree(z, dtypes=True), fun=_shaped(values, variables), **told(stats, found))


def _shaped(values: Any, variables: Variables) -> Any:
    return variables.tree(values) if len(variables.shapes) == 1 else values


def _watched(value: Callable[..., Any], watch: Watch) -> Callable[..., Any]:
    def run(x: Any) -> Any:
        y = value(x)
        watch.value = float(np.abs(y).max())
        watch.after(x)
        return y

    return run


def _check_square(what: str, main: SolverFunction, variables: Variables) -> None:
    if main.graph is not None:
        count = main.graph.specs[0].shape[0]
    else:
        count = shape_of(main.call(variables.start, *main.inputs))[0]
    if count != variables.size:
        raise ArgumentError(
            f"{what}: {main.name} returns {count} numbers for {variables.size} unknowns; it must return as many{called_at()}"
        )


def _plain(method: str, bracket: Any) -> list[float]:
    """The ends of a bracket as numbers: no derivative flows through them, the root does not depend on them."""
    if any(isinstance(b, Value) and not is_known(b) for b in bracket):
        raise ArgumentError(
            f"root_scalar, {method}: the bracket is known only when the graph runs, or differs within a batch. Give numbers (make "
            f"the argument static), or start from x0 by method 'newton'{called_at()}"
        )
    return [float(b.item()) if isinstance(b, Value) else float(b) for b in bracket]

"""`minimize`: SciPy's minimisers with exact gradients, Hessians and constraint Jacobians; the minimum is differentiable."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from itertools import pairwise
from typing import Any

import numpy as np

from adjoint.api.grad import grad
from adjoint.core import tree
from adjoint.core.dispatch import Value, wrap
from adjoint.core.errors import ArgumentError, ArgumentTypeError, boundary, called_at
from adjoint.core.spec import float64, shape_of
from adjoint.ops.joining import concat
from adjoint.ops.language import matmul
from adjoint.optimize import conditions
from adjoint.optimize.implicit import ImplicitSolve
from adjoint.optimize.program import SolverFunction, program
from adjoint.optimize.results import OptimizeResult, SolverRuns, Stopped, Watch, is_untraced, stats_of, told
from adjoint.optimize.unknowns import Variables

NO_DERIVATIVES = {"nelder-mead", "powell", "cobyla", "cobyqa"}
BY_MATRIX = {"dogleg", "trust-exact"}  # methods that want the Hessian itself
BY_PRODUCT = {"newton-cg", "trust-ncg", "trust-krylov", "trust-constr"}  # those content with its products
FLAT = 1e-7  # a gradient below this share of the value is rounding
METHODS = {"cg", "bfgs", "l-bfgs-b", "tnc", "slsqp"} | NO_DERIVATIVES | BY_MATRIX | BY_PRODUCT
_BOUNDED = {"nelder-mead", "l-bfgs-b", "tnc", "slsqp", "powell", "trust-constr", "cobyla", "cobyqa"}
_CONSTRAINED = {"cobyla", "cobyqa", "slsqp", "trust-constr"}


@boundary
def minimize(
    fun: Callable[..., Any],
    x0: Any,
    args: Any = (),
    method: str | None = None,
    bounds: Any = None,
    constraints: Any = (),
    tol: float | None = None,
    options: dict[str, Any] | None = None,
    callback: Callable[[OptimizeResult], Any] | None = None,
    *,
    compiled: bool = True,
    progress: bool | None = None,
) -> OptimizeResult:
    """The minimum of a scalar function, by one of SciPy's methods with exact derivatives; it is itself differentiable.

    Args:
        fun: `fun(x, *args)` returns one number.
        x0: where to start: a number, array, Tensor, or any tree of them. A list of numbers is a vector. Integers beside floats in a
            tree are no unknowns and stay. The solver computes in float64, and `result.x` has the structure and the dtypes of `x0`.
        args: further arguments of `fun`; derivatives of the solution by them are exact.
        method: one of SciPy's, by default BFGS, with bounds L-BFGS-B, with constraints SLSQP. Gradients, Hessians or their
            products are given to those that take them.
        bounds: `scipy.optimize.Bounds`, or a pair `(lower, upper)` for each number in `x0`; None where there is none.
        constraints: dicts as SciPy has them (`{"type": "ineq", "fun": c, "args": ()}` for c(x, *args) >= 0, "eq" for = 0),
            `scipy.optimize.NonlinearConstraint` or `LinearConstraint`, or several in a list. Jacobians are computed here.
        tol, options: as in SciPy.
        callback: called after each iteration with a result that has `x`, `fun` and `nit`; `raise StopIteration` ends the run.
        compiled: compile function and derivatives; a function that cannot be compiled runs op by op, and a warning says so.
        progress: show it always (True), never (False), or if the work takes longer than two seconds.

    The result has `x`, `fun`, `jac`, `success`, `status`, `message`, `nit`, and with constraints `multipliers`.

    >>> import adjoint as ad
    >>> def nearest(a):
    ...     return ad.optimize.minimize(lambda x, a: ((x - a) ** 2).sum(), ad.ops.zeros(2, ad.float64), args=(a,),
    ...                                 bounds=[(0, 1), (0, 1)]).x.sum()
    >>> print(ad.grad(nearest)(ad.Tensor([0.5, 0.2], ad.float64)))
    [1. 1.]
    """
    variables = Variables("minimize", x0)
    main = program("minimize", fun, variables, args, True, compiled)
    box = _box(variables, bounds)
    rows = [_row(c, variables, compiled) for c in _listed(constraints)]
    name = _method("minimize", method, box is not None, bool(rows))
    problem = _Problem(variables, main, box, rows)
    found = SolverRuns()
    settings = {"tol": tol, "options": dict(options or {})}

    def work(start: Any, *inputs: Any) -> Any:
        watch = Watch("minimize", lambda v: variables.tree(v, dtypes=True), callback, progress)
        result = problem.run(name, start, inputs, settings, watch)
        found.take(result)
        z, states, sound = problem.states(result, start, inputs)
        return z, states, stats_of(result, sound)

    solver = ImplicitSolve(f"minimize({main.name})", work, problem.residual, main, problem.size)
    z, _, stats = solver(variables.start, *problem.inputs)
    return problem.result(z, stats, found)


class _Problem:
    """A function with bounds and constraints; all that it depends on are inputs, one part after the other."""

    def __init__(
        self,
        variables: Variables,
        main: SolverFunction,
        box: tuple[Any, Any] | None,
        rows: Sequence[_ConstraintRow] = (),
    ) -> None:
        self.variables, self.main, self.box, self.rows = variables, main, box, rows
        parts = [main.inputs, [] if box is None else list(box), *(row.program.inputs for row in rows)]
        self.inputs = [x for part in parts for x in part]
        ends = np.cumsum([len(part) for part in parts])
        self.slices = [slice(end - len(part), end) for part, end in zip(parts, ends, strict=True)]
        self.counts = [row.count(variables.start) for row in rows]
        self.size = variables.size + sum(self.counts)
        limits = [row.limits(n) for row, n in zip(rows, self.counts, strict=True)]
        self.limits = tuple(np.concatenate([pair[k] for pair in limits]) if limits else np.zeros(0) for k in (0, 1))

    def split(self, inputs: Sequence[Any]) -> list[Any]:
        """The inputs of the function, the bounds, and the inputs of each constraint."""
        return [inputs[s] for s in self.slices]

    # ------------------------------------------------------------ in ops

    def residual(self, z: Any, states: Any, *inputs: Any) -> Any:
        """Zero at a minimum."""
        mine, box, *others = self.split(inputs)

        def value(x: Any) -> Any:
            return self.main.call(x, *mine)

        def values(x: Any) -> Any:
            parts = [row.program.call(x, *their) for row, their in zip(self.rows, others, strict=True)]
            return parts[0] if len(parts) == 1 else concat(parts)

        pair = (box[0], box[1]) if box else None
        return conditions.residual(
            value, values if self.rows else None, self.variables.size, z, states, pair, (self.limits[0], self.limits[1])
        )

    def result(self, z: Any, stats: Any, found: SolverRuns) -> OptimizeResult:
        """What the user gets."""
        z, n = wrap(z), self.variables.size
        x, inputs = z[:n], self.inputs[self.slices[0]]
        known = found.result if found.runs == 1 and is_untraced((self.variables.start, *self.inputs)) else {}
        slope = grad(self.main.call)(x, *inputs)
        value = wrap(np.asarray(float(known["fun"]))) if "fun" in known else self.main.call(x, *inputs)
        more = {}
        if self.rows:
            ends = np.cumsum([n, *self.counts])
            more["multipliers"] = tuple(z[a:b] for a, b in pairwise(ends))
        return OptimizeResult(
            x=self.variables.tree(x, dtypes=True),
            fun=value,
            jac=self.variables.tree(slope),
            **told(stats, found),
            **more,
        )

    # ------------------------------------------------------------ on the host

    def run(self, method: str, start: Any, inputs: Sequence[Any], settings: dict[str, Any], watch: Watch) -> Any:
        """SciPy's minimiser on arrays."""
        from scipy import optimize

        mine, box, *others = self.split(inputs)
        both = self.main.host("value" if method in NO_DERIVATIVES else "gradient", mine)

        def value(x: Any) -> Any:
            y = both(x)
            watch.value = float(y if method in NO_DERIVATIVES else y[0])
            return watch.value if method in NO_DERIVATIVES else (watch.value, y[1])

        more: dict[str, Any] = {} if method in NO_DERIVATIVES else {"jac": True}
        if method in BY_MATRIX:
            more["hess"] = self.main.host("hessian", mine)
        if method in BY_PRODUCT:
            more["hessp"] = self.main.host("product", mine)
        if box:
            more["bounds"] = optimize.Bounds(box[0], box[1])
        if self.rows:
            more["constraints"] = [
                row.for_scipy(their, n, method) for row, their, n in zip(self.rows, others, self.counts, strict=True)
            ]
        if watch.callback is not None or watch.wanted is not False:
            more["callback"] = watch.after
        try:
            return optimize.minimize(value, start, method=method, **settings, **more)
        except Stopped:
            y = both(watch.x)
            known = {} if method in NO_DERIVATIVES else {"jac": y[1]}
            fun = float(y if method in NO_DERIVATIVES else y[0])
            return optimize.OptimizeResult(
                x=watch.x, fun=fun, success=False, status=99, message="`callback` raised `StopIteration`.",
                nit=watch.iterations, **known,
            )  # fmt: skip
        finally:
            watch.close()

    def states(self, result: Any, start: Any, inputs: Sequence[Any]) -> tuple[np.ndarray, np.ndarray, bool]:
        """The solution with its multipliers, what holds it, and whether it is one that has derivatives."""
        x, n = np.asarray(result.x, float64).reshape(-1), self.variables.size
        mine, box, *others = self.split(inputs)
        stopped = result.get("status") == 99
        if self.box is None and not self.rows:
            if result.success or stopped:
                return x, np.zeros(n, np.int64), bool(result.success)
            value, slope = self.main.host("gradient", mine)(x)  # rounding alone may have kept SciPy from its tolerance
            return x, np.zeros(n, np.int64), bool(np.abs(slope).max() <= FLAT * max(1.0, abs(float(value))))
        slope, first = (self.main.host("gradient", mine)(at)[1] for at in (x, start))
        c, jacobian = np.zeros(0), np.zeros((0, n))
        for row, their in zip(self.rows, others, strict=True):
            c = np.concatenate([c, row.program.host("value", their)(x)])
            jacobian = np.concatenate([jacobian, row.program.host("jacobian", their)(x)])
        pair = (np.asarray(box[0]), np.asarray(box[1])) if len(box) else conditions.unbounded(n)
        states, multipliers, held = conditions.held(
            x, slope, pair, c, jacobian, (self.limits[0], self.limits[1]), first
        )
        return np.concatenate([x, multipliers]), states, held and bool(result.success)


class _ConstraintRow:
    """A constraint: limits on a function of the unknowns, which may have several values."""

    def __init__(self, program: SolverFunction, lower: Any, upper: Any, keep_feasible: Any = False) -> None:
        self.program, self.lower, self.upper, self.keep_feasible = program, lower, upper, keep_feasible

    def count(self, start: Any) -> int:
        """How many values it has."""
        if self.program.graph is not None:
            return self.program.graph.specs[0].shape[0]
        return int(shape_of(self.program.call(np.zeros(shape_of(start)), *self.program.inputs))[0])

    def limits(self, count: int) -> tuple[np.ndarray, np.ndarray]:
        """The lower and the upper limit of each value."""
        lower, upper = (np.broadcast_to(np.asarray(b, float64), (count,)) for b in (self.lower, self.upper))
        return lower, upper

    def for_scipy(self, inputs: Any, count: int, method: str) -> Any:
        """The constraint with its Jacobian on arrays."""
        from scipy import optimize

        more = {"hess": self.program.host("curvature", inputs)} if method == "trust-constr" else {}
        kept = (
            self.keep_feasible if method == "trust-constr" else bool(np.any(self.keep_feasible))
        )  # of others, ignored
        return optimize.NonlinearConstraint(
            self.program.host("value", inputs), *self.limits(count), jac=self.program.host("jacobian", inputs),
            keep_feasible=kept, **more,
        )  # fmt: skip


def _method(what: str, method: Any, bounded: bool, constrained: bool) -> str:
    """The name of SciPy's method for a problem."""
    if method is None:
        return "slsqp" if constrained else "l-bfgs-b" if bounded else "bfgs"
    if not isinstance(method, str) or method.lower() not in METHODS:
        raise ArgumentError(f"{what}: method={method!r} is none of SciPy's: {', '.join(sorted(METHODS))}{called_at()}")
    name = method.lower()
    for wanted, can, thing in ((bounded, _BOUNDED, "bounds"), (constrained, _CONSTRAINED, "constraints")):
        if wanted and name not in can:
            raise ArgumentError(
                f"{what}: the method {method} takes no {thing}; those do: {', '.join(sorted(can))}{called_at()}"
            )
    return name


def _box(variables: Variables, bounds: Any) -> tuple[Any, Any] | None:
    """Lower and upper bounds as vectors; they may be traced."""
    if bounds is None:
        return None
    if hasattr(bounds, "lb"):  # scipy.optimize.Bounds
        return variables.spread("minimize: bounds.lb", bounds.lb), variables.spread("minimize: bounds.ub", bounds.ub)
    given: Any = bounds
    if isinstance(bounds, (Value, np.ndarray)):
        given = [(given[i, 0], given[i, 1]) for i in range(shape_of(given)[0])]
    pairs = list(given)
    if len(pairs) != variables.size or any(not isinstance(p, (tuple, list)) or len(p) != 2 for p in pairs):
        raise ArgumentError(
            f"minimize: bounds must be a pair (lower, upper) for each of the {variables.size} numbers of x0, or scipy.optimize.Bounds; "
            f"{len(pairs)} were given{called_at()}"
        )
    sides = [[none if p[k] is None else p[k] for p in pairs] for k, none in ((0, -np.inf), (1, np.inf))]
    return _line(sides[0]), _line(sides[1])


def _line(values: list[Any]) -> Any:
    from adjoint.ops.stacking import array

    if any(isinstance(v, Value) for v in values):
        return array([wrap(v).astype(float64) if isinstance(v, Value) else np.asarray(v, float64) for v in values])
    return np.asarray(values, float64)


def _listed(constraints: Any) -> list[Any]:
    if isinstance(constraints, dict) or hasattr(constraints, "lb"):
        return [constraints]
    return list(constraints)


def _row(constraint: Any, variables: Variables, compiled: bool) -> _ConstraintRow:
    """A constraint in one of SciPy's forms."""
    what = "minimize: a constraint"
    if isinstance(constraint, dict):
        unknown = set(constraint) - {"type", "fun", "args"}
        if unknown:
            hint = " (Jacobians are computed here: leave `jac` out)" if "jac" in unknown else ""
            raise ArgumentError(f"{what} has the unknown entries {sorted(unknown)}{hint}{called_at()}")
        kind = constraint.get("type")
        if kind not in ("eq", "ineq") or "fun" not in constraint:
            raise ArgumentError(f"{what} needs 'fun' and the type 'eq' or 'ineq', not {kind!r}{called_at()}")
        made = program(what, constraint["fun"], variables, constraint.get("args", ()), False, compiled)
        return _ConstraintRow(made, 0.0, 0.0 if kind == "eq" else np.inf)
    if hasattr(constraint, "A"):  # scipy.optimize.LinearConstraint
        matrix = constraint.A.toarray() if hasattr(constraint.A, "toarray") else np.asarray(constraint.A, float64)
        made = SolverFunction("LinearConstraint", [], lambda x: matmul(wrap(matrix), wrap(x)), None)
        return _ConstraintRow(made, constraint.lb, constraint.ub, constraint.keep_feasible)
    if hasattr(constraint, "fun"):  # scipy.optimize.NonlinearConstraint
        if callable(constraint.jac) or callable(constraint.hess):
            raise ArgumentError(
                f"{what} brings derivatives of its own: they are computed here, leave them out{called_at()}"
            )
        for limit in tree.leaves((constraint.lb, constraint.ub)):
            if isinstance(limit, Value) and limit.tracked:
                raise ArgumentError(
                    f"{what} has limits that are being differentiated: move them into its function, c(x) - limit, with limits 0{called_at()}"
                )
        made = program(what, constraint.fun, variables, (), False, compiled)
        return _ConstraintRow(made, constraint.lb, constraint.ub, constraint.keep_feasible)
    raise ArgumentTypeError(
        f"{what} must be a dict, a NonlinearConstraint or a LinearConstraint, not {type(constraint).__name__}{called_at()}"
    )

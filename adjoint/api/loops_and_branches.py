"""Loops and branches as functions, with JAX's signatures: scan, map, while_loop, fori_loop, cond, switch.

Outside of graphs they are Python's own loops and branches. In a graph they are its loops and branches, also where the functions that they
call cannot be read: lambdas without source, bound methods, library code. Where the examples of a `vmap` go different ways, the loop or
branch becomes a graph for the whole batch.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from contextvars import ContextVar
from typing import Any

import numpy as np

from adjoint.api.inputs import held
from adjoint.core import context, foreign, tree
from adjoint.core.dispatch import Value, wrap
from adjoint.core.errors import (
    AmbiguousTruthError,
    ArgumentError,
    ArgumentTypeError,
    BatchedError,
    boundary,
    called_at,
)
from adjoint.core.parameter import Parameter, resolve
from adjoint.core.placement import is_device_array
from adjoint.core.spec import dtype_of, shape_of
from adjoint.frontend.called_flow import (
    array_of,
    cond_in_graph,
    for_in_graph,
    is_batched,
    kept_carry,
    outputs_of,
    pair_of,
    scan_in_graph,
    stacked_outputs,
    while_in_graph,
)
from adjoint.frontend.calls import call
from adjoint.graph.trace import is_graph_value
from adjoint.transforms.batch import Batch

#: Whether a loop or branch of a batch is being made a graph: it must not come back here.
_as_one_graph: ContextVar[bool] = ContextVar("as_one_graph", default=False)


def _in_graph(*values: Any) -> bool:
    return context.tracer.get() is not None or any(is_graph_value(x) for x in tree.leaves(values))


def _for_batch(what: str, fn: Callable[..., Any], *args: Any) -> Any:
    """The loop or branch as one graph, for values that differ between the examples of a batch."""
    if _as_one_graph.get():
        raise BatchedError(
            f"{what}: the examples of vmap go different ways here, and the functions cannot be made a graph: their source is not to be had, "
            f"and they take numbers out of Tensors. Use ops.where{called_at()}"
        )
    from adjoint.api.jit import jit

    with context.setting(_as_one_graph, True):
        return jit(fn, backend="interpreter")(*args)


def _check_functions(what: str, **functions: Any) -> None:
    for name, fn in functions.items():
        if not callable(fn):
            raise ArgumentTypeError(f"{what}: {name} must be a function, not {type(fn).__name__}{called_at()}")


def _own(x: Any) -> Any:
    """A value that the function may write to, and the caller does not see it."""
    if isinstance(x, Parameter):
        return wrap(held(resolve(x)))
    return wrap(held(x)) if isinstance(x, (Value, np.ndarray, np.generic)) or is_device_array(x) else x


def scan(
    f: Callable[[Any, Any], tuple[Any, Any]],
    init: Any,
    xs: Any = None,
    length: int | None = None,
    reverse: bool = False,
    unroll: int | bool = 1,
) -> tuple[Any, Any]:
    """Go through the slices of `xs` along their first axis with a carried value: `carry, y = f(carry, x)`, again and again.

    Args:
        f: a function of the carry and a slice; it returns the next carry, of the same structure, shapes and dtypes, and an output.
        init: the carry that it begins with: an array, a number, or a tree of them.
        xs: an array or a tree of arrays with equally long first axes; None for none, the slice is then None too.
        length: the number of iterations, where `xs` does not say it.
        reverse: go from the last slice to the first; the outputs stand where their slices do.
        unroll: so many iterations of `f` in one of a compiled loop; True for all of them, without a loop.

    Returns the last carry, and the outputs stacked along a new first axis. In a compiled function it is one loop of the graph, whatever its
    length, and so are its derivatives.

    >>> import adjoint as ad
    >>> total, sums = ad.scan(lambda c, x: (c + x, c + x), 0.0, ad.Tensor([1.0, 2.0, 3.0]))
    >>> print(total, sums)
    6.0 [1. 3. 6.]
    """
    return _scan("scan", f, init, xs, length, reverse, unroll)


@boundary
def _scan(what: str, f: Any, init: Any, xs: Any, length: Any, reverse: bool, unroll: Any) -> tuple[Any, Any]:
    _check_functions(what, f=f)
    xs, init = (tree.map(lambda x: wrap(x) if is_device_array(x) else x, value) for value in (xs, init))
    n = _length(what, xs, length)
    if not isinstance(unroll, (bool, int)) or (unroll is not False and unroll < 1):
        raise ArgumentTypeError(
            f"{what}: unroll is a number of iterations from 1 on, or True for all, not {unroll!r}{called_at()}"
        )
    block = n if unroll is True or unroll >= n else max(int(unroll), 1)
    if _in_graph(init, xs) and not (n and block == n):
        return scan_in_graph(what, lambda c, x: call(f, c, x), init, xs, n, reverse, block if n else 1)
    if not n:  # the outputs have no elements; what they are a graph can say
        return _of_no_length(what, f, init, xs, reverse)
    step = (lambda c, x: call(f, c, x)) if _in_graph(init, xs) else f
    xs, carry, rows = tree.map(array_of, xs), tree.map(_own, init), []
    for i in range(n - 1, -1, -1) if reverse else range(n):
        after, y = pair_of(what, step(carry, tree.map(lambda x, i=i: x[i], xs)))
        carry = kept_carry(what, carry, after)[0]
        rows.append(outputs_of(what, y))
    return carry, stacked_outputs(what, rows[::-1] if reverse else rows)


def _of_no_length(what: str, f: Any, init: Any, xs: Any, reverse: bool) -> tuple[Any, Any]:
    from adjoint.api.jit import jit

    def run(start: Any, slices: Any) -> tuple[Any, Any]:
        return scan_in_graph(what, lambda c, x: call(f, c, x), start, slices, 0, reverse)

    carry, ys = tree.map(_own, init), None
    _, ys = jit(lambda start, slices: (np.zeros(()), run(start, slices)[1]), backend="interpreter")(carry, xs)[0:2]
    return carry, ys


def _length(what: str, xs: Any, length: Any) -> int:
    """The number of iterations."""
    sizes = {}
    for path, x in tree.paths(xs, "xs"):
        foreign.check_leaf(f"{what}: {path}", x)
        if not isinstance(x, (Value, np.ndarray)) or not shape_of(x):
            raise ArgumentTypeError(
                f"{what}: {path} has no axis to go through: it is a {type(x).__name__}"
                f"{'' if not isinstance(xs, (list, tuple)) else '. A list is a tree of its items here: make it an array'}{called_at()}"
            )
        sizes[path] = shape_of(x)[0]
    if length is not None:
        if isinstance(length, bool) or not isinstance(length, (int, np.integer)) or length < 0:
            raise ArgumentTypeError(
                f"{what}: length must be an integer that is not negative, not {length!r}{called_at()}"
            )
        sizes["length"] = int(length)
    if not sizes:
        raise ArgumentError(f"{what}: without xs, length says how many iterations there are{called_at()}")
    if len(set(sizes.values())) > 1:
        shown = ", ".join(f"{path}: {n}" for path, n in sizes.items())
        raise ArgumentError(f"{what}: the numbers of iterations differ ({shown}){called_at()}")
    return next(iter(sizes.values()))


def map(f: Callable[[Any], Any], xs: Any) -> Any:
    """Apply `f` to each slice of `xs` along the first axis, one after the other, and stack the results: a loop where `vmap` is a batch.

    >>> import adjoint as ad
    >>> print(ad.map(lambda x: x ** 2, ad.Tensor([1.0, 2.0, 3.0])))
    [1. 4. 9.]
    """
    _check_functions("map", f=f)
    return _scan("map", _SliceFunction(f), None, xs, None, False, 1)[1]


class _SliceFunction:
    """A function of slices as the function of a scan that carries nothing."""

    def __init__(self, f: Callable[[Any], Any]) -> None:
        self.f = f

    def __call__(self, carry: Any, x: Any) -> tuple[Any, Any]:
        return None, call(self.f, x) if context.tracer.get() is not None else self.f(x)


@boundary
def while_loop(cond_fun: Callable[[Any], Any], body_fun: Callable[[Any], Any], init_val: Any) -> Any:
    """`x = body_fun(x)` as long as `cond_fun(x)` holds, beginning with `init_val`; returns the last x.

    The value keeps its structure, shapes and dtypes. It is differentiated in both modes: the backward pass of a compiled loop keeps as many
    states as the loop turns out to have iterations.

    >>> import adjoint as ad
    >>> print(ad.grad(lambda x: ad.while_loop(lambda y: y < 100.0, lambda y: y * y, x))(3.0))
    17496.0
    """
    _check_functions("while_loop", cond_fun=cond_fun, body_fun=body_fun)
    if _in_graph(init_val):
        return while_in_graph(lambda x: call(cond_fun, x), lambda x: call(body_fun, x), init_val)
    value = tree.map(_own, init_val)
    while True:
        going = cond_fun(value)
        if is_batched(going, Batch):
            return _for_batch("while_loop", lambda x: while_loop(cond_fun, body_fun, x), value)
        if not bool(going):
            return value
        value = kept_carry("while_loop", value, body_fun(value))[0]


@boundary
def fori_loop(
    lower: Any, upper: Any, body_fun: Callable[[Any, Any], Any], init_val: Any, unroll: int | bool | None = None
) -> Any:
    """`x = body_fun(i, x)` for i from `lower` to `upper - 1`, beginning with `init_val`; returns the last x.

    The bounds may be numbers that are known only when a compiled function runs. `unroll=True` writes out a loop with known bounds.

    >>> import adjoint as ad
    >>> print(ad.fori_loop(1, 5, lambda i, x: x * i, ad.Tensor(1.0)))
    24.0
    """
    _check_functions("fori_loop", body_fun=body_fun)
    low, high = (_bound(name, b) for name, b in (("lower", lower), ("upper", upper)))
    known = isinstance(low, int) and isinstance(high, int)
    if unroll not in (None, False, True, 1):
        raise ArgumentError(f"fori_loop: unroll is True or False; scan unrolls some of the iterations{called_at()}")
    if unroll is True and not known:
        raise ArgumentError(
            f"fori_loop: a loop whose bounds are known only when it runs cannot be unrolled{called_at()}"
        )
    traced = _in_graph(low, high, init_val)
    if traced and unroll is not True:
        return for_in_graph("fori_loop", low, high, lambda i, x: call(body_fun, i, x), init_val)
    if is_batched(low, Batch) or is_batched(high, Batch):
        return _for_batch(
            "fori_loop", lambda a, b, x: fori_loop(a, b, body_fun, x), low, high, tree.map(_own, init_val)
        )
    value = tree.map(_own, init_val)
    for i in range(int(low), int(high)):
        value = kept_carry("fori_loop", value, call(body_fun, i, value) if traced else body_fun(i, value))[0]
    return value


def _bound(name: str, x: Any) -> Any:
    x = resolve(x) if isinstance(x, Parameter) else x
    if shape_of(x) != () or dtype_of(x).kind not in "iu":
        raise ArgumentTypeError(f"fori_loop: {name} must be an integer, not {x!r:.60}{called_at()}")
    return int(x) if isinstance(x, (int, np.integer, np.ndarray)) else x


@boundary
def cond(pred: Any, true_fun: Callable[..., Any], false_fun: Callable[..., Any], *operands: Any) -> Any:
    """`true_fun(*operands)` if `pred` holds, else `false_fun(*operands)`; only that one is computed.

    In a compiled function the two must give values of the same structure, shapes and dtypes. Under `vmap`, examples that go different ways
    have both computed, and each its own chosen.

    >>> import adjoint as ad
    >>> f = lambda x: ad.cond(x > 0, lambda x: x ** 2, lambda x: -x, x)
    >>> print(ad.grad(f)(3.0), ad.vmap(f)(ad.Tensor([-1.0, 2.0])))
    6.0 [1. 4.]
    """
    _check_functions("cond", true_fun=true_fun, false_fun=false_fun)
    if np.prod(shape_of(pred)) != 1:
        raise AmbiguousTruthError(
            f"cond: the truth of shape {shape_of(pred)} is ambiguous; use .any(), .all(), or ops.where{called_at()}"
        )
    return _chosen("cond", pred, (false_fun, true_fun), operands, bool)


@boundary
def switch(index: Any, branches: Sequence[Callable[..., Any]], *operands: Any) -> Any:
    """`branches[index](*operands)`; an index beyond the ends takes the function at that end, as in JAX.

    >>> import adjoint as ad
    >>> print(ad.switch(1, [ad.ops.sin, ad.ops.exp, ad.ops.neg], 0.0))
    1.0
    """
    if not isinstance(branches, (list, tuple)) or not branches:
        raise ArgumentTypeError(f"switch: the branches are a list of functions, not {branches!r:.60}{called_at()}")
    _check_functions("switch", **{f"branches[{k}]": b for k, b in enumerate(branches)})
    if shape_of(index) != () or dtype_of(index).kind not in "iub":
        raise ArgumentTypeError(f"switch: the index must be an integer, not {index!r:.60}{called_at()}")
    return _chosen("switch", index, tuple(branches), operands, lambda k: min(max(int(k), 0), len(branches) - 1))


def _chosen(what: str, which: Any, functions: tuple[Any, ...], operands: tuple[Any, ...], number: Any) -> Any:
    """What one of several functions gives."""
    which = resolve(which) if isinstance(which, Parameter) else which
    if is_graph_value(which):
        return _in_branches(what, which, functions, operands)
    if is_batched(which, Batch):
        return _for_batch(what, lambda k, *xs: _in_branches(what, k, functions, xs), which, *operands)
    fn = functions[number(which)]
    return call(fn, *operands) if _in_graph(operands) else fn(*operands)


def _in_branches(what: str, which: Any, functions: tuple[Any, ...], operands: tuple[Any, ...]) -> Any:
    if len(functions) == 1:
        return call(functions[0], *operands)
    if what == "cond":
        no, yes = functions
        return cond_in_graph(what, which, lambda: call(yes, *operands), lambda: call(no, *operands))
    half = len(functions) // 2
    return cond_in_graph(
        what, which >= half,
        lambda: _in_branches(what, which - half, functions[half:], operands),
        lambda: _in_branches(what, which, functions[:half], operands),
    )  # fmt: skip

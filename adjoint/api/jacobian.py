"""Jacobians, Hessians, their products with vectors, and repeated derivatives."""

from __future__ import annotations

import functools
import sys
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from adjoint.api.batching import vmap_alike
from adjoint.api.deferred_transforms import deferring
from adjoint.api.forward import _aux, column_axes_last, jvp
from adjoint.api.grad import grad, vjp
from adjoint.api.inputs import (
    ChosenInputs,
    Input,
    binding,
    check_function,
    check_inputs,
    check_positions,
    chosen_position,
    is_number,
    name_of,
    output_leaves,
)
from adjoint.core import context, tree
from adjoint.core.context import no_grad
from adjoint.core.dispatch import beside, differentiable, wrap
from adjoint.core.errors import ArgumentError, ArgumentTypeError, NotDifferentiableError, boundary, called_at
from adjoint.core.spec import dtype_of, shape_of
from adjoint.core.stores import dropped
from adjoint.ops.stacking import stack

FEW = 4  # rows of a Jacobian that are pulled back one by one


def _bare(grad_position: Any, results: list[Any], argnums: Any = None) -> Any:
    several = isinstance(grad_position, tuple) and (len(grad_position) > 1 or argnums is not None)
    return tuple(results) if several else results[0]


def _basis(x: Any) -> Any:
    n = x.size
    return wrap(beside(np.eye(n, dtype=x.dtype).reshape(n, *x.shape), x))


def jacfwd(
    fn: Callable[..., Any],
    grad_position: int | tuple[int, ...] = 0,
    has_aux: bool = False,
    argnums: int | Sequence[int] | None = None,
) -> Callable[..., Any]:
    """The Jacobian of `fn` by forward mode: best where inputs are fewer than outputs.

    Its shape is output.shape + input.shape, for each leaf of the output and of the input.

    >>> import adjoint as ad
    >>> print(ad.jacfwd(lambda x: x ** 2)(ad.Tensor([1.0, 2.0])))
    [[2. 0.]
     [0. 4.]]
    """
    grad_position = chosen_position("jacfwd", grad_position, argnums)
    positions = check_positions("jacfwd", grad_position)
    check_function("jacfwd", fn)
    several = argnums is not None
    return deferring(
        fn, lambda f: _jacfwd(f, grad_position, positions, has_aux, argnums), "jacfwd", positions, has_aux, several
    )


def _jacfwd(fn: Any, grad_position: Any, positions: tuple[int, ...], has_aux: bool, argnums: Any) -> Callable[..., Any]:
    @boundary
    def jacobian(*args: Any, **kwargs: Any) -> Any:
        call = ChosenInputs("jacfwd", fn, positions, args, kwargs)
        _refuse_complex("jacfwd", call)
        aux: list[Any] = []

        def along(i: int, k: int, leaves: list[list[Any]], t: Any) -> Any:
            nonlocal aux

            def moved(x: Any) -> Any:
                inner = [[leaf.copy() for leaf in xs] for xs in leaves]  # the function may assign to them
                inner[i][k] = x
                new_args, new_kwargs = call.replace([c.rebuild(xs) for c, xs in zip(checked, inner, strict=True)])
                out = context.readable(fn)(*new_args, **new_kwargs)
                if has_aux:
                    out, (extra,) = _aux("jacfwd", fn, out)
                    return out, extra
                return out

            _, tangent, *extra = jvp(moved, leaves[i][k], t, has_aux=has_aux)
            aux = extra  # the same for every column: no value depends on a tangent
            return tangent

        checked = check_inputs("jacfwd", call.chosen, call.places)
        leaves = [[wrap(x) for x in i.leaves] for i in checked]
        results = []
        for i, xs in enumerate(leaves):
            parts = []
            for k, x in enumerate(xs):
                columns = vmap_alike(lambda t, i=i, k=k: along(i, k, leaves, t), out_axes=0)(_basis(x))
                parts.append(tree.map(lambda c, x=x: column_axes_last(c, x.shape), columns))
            results.append(_nested(checked[i].derivative, parts))
        found = _bare(grad_position, results, argnums)
        return (found, *aux) if has_aux else found

    jacobian.__name__ = f"jacfwd({name_of(fn)})"
    return jacobian


def _refuse_complex(what: str, call: ChosenInputs) -> None:
    """A complex input has two real directions, which one column cannot hold."""
    for x in tree.leaves(call.chosen):
        if is_number(x) and dtype_of(x).kind == "c":
            raise NotDifferentiableError(
                f"{what}: a complex input has no single Jacobian. Differentiate by its real and imaginary parts: "
                f"lambda re, im: fn(ops.complex(re, im)){called_at()}"
            )


def _nested(rebuild: Callable[[list[Any]], Any], parts: list[Any]) -> Any:
    """The Jacobians by the leaves of one input: the output's structure, and the input's within."""
    if not parts:
        return rebuild([])
    _, regroup = tree.flatten(parts[0])
    by_output = zip(*(tree.leaves(p) for p in parts), strict=True)
    return regroup([rebuild(list(blocks)) for blocks in by_output])


def jacrev(
    fn: Callable[..., Any],
    grad_position: int | tuple[int, ...] = 0,
    has_aux: bool = False,
    argnums: int | Sequence[int] | None = None,
) -> Callable[..., Any]:
    """The Jacobian of `fn` by reverse mode: best where outputs are fewer than inputs.

    Its shape is output.shape + input.shape, for each leaf of the output and of the input.

    >>> import adjoint as ad
    >>> print(ad.jacrev(lambda x: (x ** 2).sum())(ad.Tensor([1.0, 2.0])))
    [2. 4.]
    """
    grad_position = chosen_position("jacrev", grad_position, argnums)
    positions = check_positions("jacrev", grad_position)
    check_function("jacrev", fn)
    several = argnums is not None
    return deferring(
        fn, lambda f: _jacrev(f, grad_position, positions, has_aux, argnums), "jacrev", positions, has_aux, several
    )


def _jacrev(fn: Any, grad_position: Any, positions: tuple[int, ...], has_aux: bool, argnums: Any) -> Callable[..., Any]:
    @boundary
    def jacobian(*args: Any, **kwargs: Any) -> Any:
        call = ChosenInputs("jacrev", fn, positions, args, kwargs)
        _refuse_complex("jacrev", call)

        def chosen_only(*values: Any) -> Any:
            new_args, new_kwargs = call.replace(values)
            return context.readable(fn)(*new_args, **new_kwargs)

        chosen_only.__name__ = name_of(fn)
        checked = check_inputs("jacrev", call.chosen, call.places)
        out, pull, *aux = vjp(chosen_only, *call.chosen, has_aux=has_aux)
        ys, rebuild = tree.flatten(out)
        floats = output_leaves("jacrev", fn, out)
        zeros = [beside(np.zeros(shape_of(y), wrap(y).dtype), y) for y in floats]
        rows: list[Any] = []
        done = 0
        for y in ys:
            if not differentiable(y):
                rows.append([_zeros(y, i) if is_number(y) else None for i in checked])
                continue
            k, done = done, done + 1
            row = lambda g, k=k: pull(*zeros[:k], g, *zeros[k + 1 :])  # type: ignore[misc]  # noqa: E731
            pulled = _for_each(row, _basis(wrap(y)))
            if (
                dtype_of(y).kind == "c"
            ):  # by real inputs: a cotangent of 1 pulls the real parts back, one of i the others
                imaginary = _for_each(row, _basis(wrap(y)) * 1j)
                pulled = tree.map(lambda re, im: re + 1j * im, pulled, imaginary)
            rows.append(tree.map(lambda r, y=y: r.reshape((*shape_of(y), *r.shape[1:])), pulled))
        by_input = [rebuild([row[i] for row in rows]) for i in range(len(positions))]
        result = _bare(grad_position, by_input, argnums)
        return (result, *aux) if has_aux else result

    jacobian.__name__ = f"jacrev({name_of(fn)})"
    return jacobian


def _zeros(y: Any, one: Input) -> Any:
    """The Jacobian of an output without a derivative by one input."""
    blocks = [beside(np.zeros(shape_of(y) + shape_of(x), wrap(y).dtype), y) for x in one.leaves]
    return one.derivative(list(map(wrap, blocks)))


def _for_each(pull: Callable[[Any], Any], basis: Any) -> Any:
    """The rows of a Jacobian: a few one by one, each without the steps that others need, many at once."""
    if len(basis) > FEW or not len(basis):
        return vmap_alike(pull)(basis)
    rows = [tree.flatten(pull(g)) for g in basis]
    return rows[0][1]([stack(list(parts), 0) for parts in zip(*(leaves for leaves, _ in rows), strict=True)])


def jacobian(
    fn: Callable[..., Any],
    grad_position: int | tuple[int, ...] = 0,
    has_aux: bool = False,
    argnums: int | Sequence[int] | None = None,
) -> Callable[..., Any]:
    """The Jacobian of `fn`, by the cheaper mode: forward for fewer inputs than outputs, else reverse.

    >>> import adjoint as ad
    >>> print(ad.jacobian(lambda x: x * 3)(ad.Tensor([1.0])))
    [[3.]]
    """
    grad_position = chosen_position("jacobian", grad_position, argnums)
    positions = check_positions("jacobian", grad_position)
    given = (0, has_aux, grad_position) if argnums is not None else (grad_position, has_aux)
    forward, reverse = jacfwd(fn, *given), jacrev(fn, *given)

    @boundary
    def chosen(*args: Any, **kwargs: Any) -> Any:
        call = ChosenInputs("jacobian", fn, positions, args, kwargs)
        checked = check_inputs("jacobian", call.chosen, call.places)
        inputs = sum(int(np.prod(shape_of(x))) for i in checked for x in i.leaves)
        new_args, new_kwargs = call.replace([i.rebuild([wrap(x).copy() for x in i.leaves]) for i in checked])
        with binding({}, dropped), no_grad():
            out = context.readable(fn)(*new_args, **new_kwargs)
        outputs = sum(int(np.prod(shape_of(y))) for y in tree.leaves(out[0] if has_aux else out))
        return (forward if inputs < outputs else reverse)(*args, **kwargs)

    chosen.__name__ = f"jacobian({name_of(fn)})"
    return chosen


def hessian(
    fn: Callable[..., Any],
    grad_position: int | tuple[int, ...] = 0,
    has_aux: bool = False,
    argnums: int | Sequence[int] | None = None,
) -> Callable[..., Any]:
    """The second derivatives of a scalar function: forward mode over reverse mode.

    For a tuple of positions `result[i][j]` has the shape of input i, then that of input j. With `has_aux` the function returns a pair, whose
    first part is differentiated, and the result is `(hessian, aux)`. `argnums` is JAX's name for `grad_position`.

    >>> import adjoint as ad
    >>> print(ad.hessian(lambda x: (x ** 3).sum())(ad.Tensor([1.0, 2.0])))
    [[ 6.  0.]
     [ 0. 12.]]
    """
    grad_position = chosen_position("hessian", grad_position, argnums)
    return deferring(
        fn,
        lambda f: _hessian(f, grad_position, has_aux, argnums),
        "hessian",
        repr(grad_position),
        has_aux,
        argnums is not None,
    )


def _hessian(fn: Any, grad_position: Any, has_aux: bool, argnums: Any) -> Callable[..., Any]:
    inner = jacrev(_scalar("hessian", fn, has_aux), grad_position, has_aux)
    blocks = jacfwd(inner, grad_position, has_aux)
    several = isinstance(grad_position, tuple) and len(grad_position) > 1
    if not several and not isinstance(argnums, (tuple, list)):
        return blocks

    @boundary
    def by_rows(*args: Any, **kwargs: Any) -> Any:
        found, *aux = blocks(*args, **kwargs) if has_aux else (blocks(*args, **kwargs),)
        rows = tuple(zip(*found, strict=True)) if several else ((found,),)  # `blocks` has the second position outside
        return (rows, *aux) if has_aux else rows

    by_rows.__name__ = f"hessian({name_of(fn)})"
    return by_rows


def _scalar(what: str, fn: Callable[..., Any], has_aux: bool = False) -> Callable[..., Any]:
    def checked(*args: Any, **kwargs: Any) -> Any:
        out = context.readable(fn)(*args, **kwargs)
        ys = output_leaves(what, fn, _aux(what, fn, out)[0] if has_aux else out)
        if len(ys) != 1 or shape_of(ys[0]) not in ((), (1,)):
            shapes = ", ".join(str(shape_of(y)) for y in ys)
            raise ArgumentError(
                f"{what}: {name_of(fn)} must return one scalar, it returned shape {shapes}. "
                f"Sum it, or use jacfwd(jacrev(fn)){called_at()}"
            )
        return out

    checked.__name__ = name_of(fn)
    return checked


def hvp(
    fn: Callable[..., Any],
    grad_position: int | tuple[int, ...] = 0,
    *misplaced: Any,
    argnums: int | Sequence[int] | None = None,
) -> Callable[..., Any]:
    """The product of the Hessian of a scalar function with a vector: `hvp(fn)(x, v)` is `hessian(fn)(x) @ v`.

    The vector comes after the arguments of `fn`; for a tuple of positions it is a tuple of as many, and so is the result. As `hessp=` of
    SciPy's solvers it takes the order of theirs, `(x, v, *args)`.
    The Hessian is not built: the cost is a few times that of the function, whatever the number of inputs.
    `jvp(grad(fn), x, v)` gives the gradient and the product at the same cost.

    >>> import adjoint as ad
    >>> print(ad.hvp(lambda x: (x ** 3).sum())(ad.Tensor([1.0, 2.0]), ad.Tensor([1.0, 1.0])))
    [ 6. 12.]
    """
    if misplaced:
        raise ArgumentTypeError(
            f"hvp is called as hessian is: hvp(fn)(x, v), not hvp(fn, x, v). It gives the product alone; "
            f"jvp(grad(fn), x, v) gives the gradient and the product{called_at()}"
        )
    grad_position = chosen_position("hvp", grad_position, argnums)
    positions = check_positions("hvp", grad_position)
    check_function("hvp", fn)
    several = isinstance(grad_position, tuple) and len(grad_position) > 1
    product = deferring(fn, lambda f: _hvp(f, positions, several), "hvp", positions, several)

    @functools.wraps(product)
    def called(*args: Any, **kwargs: Any) -> Any:
        if len(args) > 2 and positions == (0,) and _by_scipy():
            x, v, *others = args
            args = x, *others, v
        return product(*args, **kwargs)

    called.__wrapped__ = fn  # type: ignore[attr-defined]
    return called


def _by_scipy() -> bool:
    """Whether a solver of SciPy's makes the call: it gives the vector as the second argument, and the others behind it."""
    frame: Any = sys._getframe(1)
    while frame is not None and str(frame.f_globals.get("__name__", "")).startswith("adjoint."):
        frame = frame.f_back
    return frame is not None and str(frame.f_globals.get("__name__", "")).startswith("scipy.optimize")


def _hvp(fn: Any, positions: tuple[int, ...], several: bool) -> Callable[..., Any]:
    @boundary
    def product(*args: Any, **kwargs: Any) -> Any:
        if not args or len(args) + len(kwargs) <= len(positions):
            raise ArgumentTypeError(f"hvp({name_of(fn)}): the vector is missing, after the arguments{called_at()}")
        *inputs, v = args
        call = ChosenInputs("hvp", fn, positions, tuple(inputs), kwargs)

        def chosen_only(*values: Any) -> Any:
            new_args, new_kwargs = call.replace(values)
            return context.readable(fn)(*new_args, **new_kwargs)

        chosen_only.__name__ = name_of(fn)
        gradient = grad(_scalar("hvp", chosen_only), tuple(range(len(positions))) if several else 0)
        return jvp(gradient, tuple(call.chosen), v if several else (v,))[1]

    product.__name__ = f"hvp({name_of(fn)})"
    return product

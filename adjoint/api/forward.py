"""Forward mode for users: jvp, linearize, dual numbers by hand, ForwardModeAD."""

from __future__ import annotations

import functools
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from adjoint.api.batching import vmap_alike
from adjoint.api.inputs import (
    Input,
    binding,
    check_cotangent,
    check_function,
    check_input,
    check_inputs,
    finished,
    is_number,
    lowered,
    name_of,
    output_leaves,
    whole,
)
from adjoint.core import context, tree
from adjoint.core.absent import ZERO
from adjoint.core.dispatch import Value, beside, wrap
from adjoint.core.errors import ArgumentError, boundary, called_at
from adjoint.core.spec import shape_of
from adjoint.core.tensor import Tensor
from adjoint.transforms.dual import Dual
from adjoint.transforms.dual import push as push_recorded
from adjoint.transforms.tape import Tape


def _paired(what: str, inputs: Any, tangents: Any) -> tuple[list[Input], list[list[Any]]]:
    """The inputs, and the tangents of their leaves."""
    single = not isinstance(inputs, (tuple, list))
    trees, pushes = ((inputs,), (tangents,)) if single else (tuple(inputs), tangents)
    if single and isinstance(tangents, (tuple, list)) and not isinstance(inputs, dict):
        pushes = tuple(tangents)
    if not isinstance(pushes, (tuple, list)) or len(pushes) != len(trees):
        count = len(pushes) if isinstance(pushes, (tuple, list)) else 1
        raise ArgumentError(f"{what}: {count} tangents for {len(trees)} inputs{called_at()}")
    checked = check_inputs(what, trees, range(len(trees)))
    vectors = []
    for i, (one, like, t) in enumerate(zip(checked, trees, pushes, strict=True)):
        xs, leaves = one.leaves, one.beside(f"{what}: the tangent of input {i}", t, like)
        if len(leaves) != len(xs):
            raise ArgumentError(
                f"{what}: the tangent of input {i} has {len(leaves)} leaves, the input {len(xs)}{called_at()}"
            )
        vectors.append(
            [check_cotangent(f"{what}: the tangent of input {i}", v, x) for v, x in zip(leaves, xs, strict=True)]
        )
    return checked, vectors


def _aux(what: str, fn: Any, out: Any) -> tuple[Any, tuple[Any, ...]]:
    """The first output, and the rest as MindSpore gives it: bare if it is one."""
    if not isinstance(out, (tuple, list)) or len(out) < 2:
        raise ArgumentError(f"{what}: has_aux=True, but {name_of(fn)} returned no second output{called_at()}")
    rest = tuple(out[1:])
    return out[0], (rest[0] if len(rest) == 1 else rest,)


@boundary
def jvp(fn: Callable[..., Any], inputs: Any, v: Any, has_aux: bool = False) -> Any:
    """The output of `fn` and its directional derivative: `(output, tangent)`, with aux `(output, tangent, aux)`.

    `inputs` is a Tensor or a tuple of inputs, `v` the tangent of each. One forward pass, by dual numbers.

    >>> import adjoint as ad
    >>> y, t = ad.jvp(lambda x: x ** 2, ad.Tensor([1.0, 2.0]), ad.Tensor([1.0, 1.0]))
    >>> print(y, t)
    [1. 4.] [2. 4.]
    """
    check_function("jvp", fn)
    checked, vectors = _paired("jvp", inputs, v)
    dual = Dual()
    args = [i.rebuild(list(map(dual.track, i.leaves, ts))) for i, ts in zip(checked, vectors, strict=True)]
    try:
        with binding({}, functools.partial(lowered, dual)):
            out = whole(context.readable(fn)(*args))
    finally:
        dual.ended = True
    aux: tuple[Any, ...] = ()
    if has_aux:
        out, aux = _aux("jvp", fn, out)
    output_leaves("jvp", fn, out)
    value = tree.map(lambda y: lowered(dual, y), out)
    tangent = tree.map(lambda y: finished(dual.split(y)[1], y) if is_number(y) else None, out)
    return (value, tangent, *tree.map(lambda a: lowered(dual, a), aux))


@boundary
def linearize(fn: Callable[..., Any], inputs: Any) -> tuple[Any, Callable[..., Any]]:
    """The output of `fn`, and a function from tangents to output tangents that runs `fn` no more.

    >>> import adjoint as ad
    >>> y, push = ad.linearize(lambda x: x ** 2, ad.Tensor([1.0, 2.0]))
    >>> print(y, push(ad.Tensor([1.0, 0.0])))
    [1. 4.] [2. 0.]
    """
    check_function("linearize", fn)
    trees = tuple(inputs) if isinstance(inputs, (tuple, list)) else (inputs,)
    checked = check_inputs("linearize", trees, range(len(trees)))
    tape = Tape("linearize")
    tape.sparing = False  # tangents are pushed through it
    tracked = [list(map(tape.track, i.leaves)) for i in checked]
    nodes = [x._extra for xs in tracked for x in xs]
    try:
        with binding({}, functools.partial(lowered, tape)):
            out = whole(context.readable(fn)(*(i.rebuild(xs) for i, xs in zip(checked, tracked, strict=True))))
    finally:
        tape.ended = True
    output_leaves("linearize", fn, out)

    @boundary
    def push(*tangents: Any) -> Any:
        given = (
            tangents[0]
            if len(tangents) == 1 and isinstance(inputs, (tuple, list)) == isinstance(tangents[0], (tuple, list))
            else tangents
        )
        _, vectors = _paired("linearize", inputs, given)
        ys, rebuild = tree.flatten(out)
        roots = [y._extra for y in ys if isinstance(y, Value) and y._trace is tape]
        seeds = dict(zip(nodes, (t for ts in vectors for t in ts), strict=True))
        found = push_recorded(seeds, roots)
        mine = [found.get(y._extra, ZERO) if isinstance(y, Value) and y._trace is tape else ZERO for y in ys]
        return rebuild([finished(t, y) if is_number(y) else None for t, y in zip(mine, ys, strict=True)])

    return tree.map(lambda y: lowered(tape, y), out), push


def make_dual(x: Any, tangent: Any = None) -> Tensor:
    """The dual number x + t·ε. `tangent` is an array like `x`, or the flat index of the one element that varies.

    Each call makes an infinitesimal of its own, so that duals nest: the dual part of a dual part is a second derivative.
    The manner of PyTorch's forward mode; ours is `jvp`.

    >>> import adjoint as ad
    >>> x = ad.make_dual(ad.Tensor([2.0, 3.0]), 0)
    >>> print(ad.get_dual_part(x * x))
    [4. 0.]
    """
    value = check_input("make_dual", "the value", x)
    if tangent is None:
        tangent = beside(np.ones(shape_of(value), wrap(value).dtype), value)
    elif isinstance(tangent, (int, np.integer)) and not isinstance(tangent, bool) and shape_of(value) != ():
        size = int(np.prod(shape_of(value)))
        if not -size <= tangent < size:
            raise ArgumentError(f"make_dual: element {tangent} of a value with {size} elements{called_at()}")
        unit = np.zeros(size, wrap(value).dtype)
        unit[tangent] = 1
        tangent = beside(unit.reshape(shape_of(value)), value)
    return Dual("make_dual").track(value, check_cotangent("make_dual: the tangent", tangent, value))


def get_dual_part(y: Any) -> Any:
    """The tangent of a dual number: that of the innermost `make_dual` it depends on; zeros if it depends on none.

    >>> import adjoint as ad
    >>> print(ad.get_dual_part(ad.make_dual(3.0) ** 2))
    6.0
    """
    return tree.map(lambda leaf: finished(leaf._extra if _is_dual(leaf) else ZERO, leaf), y)


def get_primal_part(y: Any) -> Any:
    """The value of a dual number, without its tangent.

    >>> import adjoint as ad
    >>> print(ad.get_primal_part(ad.make_dual(3.0) ** 2))
    9.0
    """
    return tree.map(lambda leaf: lowered(leaf._trace, leaf) if _is_dual(leaf) else leaf, y)


def _is_dual(y: Any) -> bool:
    return isinstance(y, Value) and isinstance(y._trace, Dual)


class ForwardModeAD:
    """Jacobians by forward mode, as an object: all columns in one vectorised pass of dual numbers; ours is `jacfwd`.

    >>> import adjoint as ad
    >>> print(ad.ForwardModeAD(lambda x: x * x).jacobian(ad.Tensor([1.0, 2.0])))
    [[2. 0.]
     [0. 4.]]
    """

    def __init__(self, primal_func: Callable[..., Any]) -> None:
        check_function("ForwardModeAD", primal_func)
        self.primal_func = primal_func

    def jacobian(self, x: Any) -> Any:
        """The derivative of each output element by each input element: output.shape + input.shape."""
        value = wrap(check_input("ForwardModeAD", "the input", x))
        basis = np.eye(value.size, dtype=value.dtype).reshape(value.size, *value.shape)
        columns = vmap_alike(lambda t: jvp(self.primal_func, value, t)[1])(wrap(beside(basis, value)))
        return tree.map(lambda c: column_axes_last(c, value.shape), columns)


def column_axes_last(columns: Any, shape: Sequence[int]) -> Any:
    """Stacked columns (n, *out) as a Jacobian (*out, *shape)."""
    return columns.moveaxis(0, -1).reshape((*columns.shape[1:], *shape))

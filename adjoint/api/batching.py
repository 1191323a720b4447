"""vmap: from a function of one example to a function of a batch."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from adjoint.api.deferred_transforms import deferring
from adjoint.api.inputs import binding, check_function, held, name_of, whole
from adjoint.core import context, random_counters, tree
from adjoint.core.dispatch import Value, snapshot, wrap
from adjoint.core.errors import ArgumentError, ArgumentTypeError, boundary, called_at
from adjoint.core.foreign import check_leaf
from adjoint.core.parameter import Parameter, resolve
from adjoint.core.placement import is_device_array
from adjoint.core.spec import shape_of
from adjoint.core.tensor import Tensor
from adjoint.ops.language import moveaxis
from adjoint.transforms.batch import Batch


def vmap(fn: Callable[..., Any], in_axes: Any = 0, out_axes: Any = 0) -> Callable[..., Any]:
    """Apply `fn` to each slice of its inputs at once, as one batched computation.

    Args:
        fn: a function of one example.
        in_axes: the batch axis of each input: an int for all, None for an input that all examples share, or a tuple
            with an entry for each input, which may itself be a container like the input.
        out_axes: where the batch axis of each output goes.

    Keyword arguments are shared by all examples.

    >>> import adjoint as ad
    >>> x = ad.Tensor([[1.0, 2.0], [3.0, 4.0]])
    >>> print(ad.vmap(lambda row: row.sum())(x))
    [3. 7.]
    """
    check_function("vmap", fn)
    return deferring(fn, lambda f: _vmap(f, in_axes, out_axes, own_draws=True), "vmap", repr((in_axes, out_axes)))


def vmap_alike(fn: Callable[..., Any], in_axes: Any = 0, out_axes: Any = 0) -> Callable[..., Any]:
    """`vmap` with the same random samples for each example: those of a Jacobian are directions of one computation."""
    return _vmap(fn, in_axes, out_axes, own_draws=False)


def _vmap(fn: Callable[..., Any], in_axes: Any, out_axes: Any, own_draws: bool) -> Callable[..., Any]:
    check_function("vmap", fn)

    @boundary
    def batched(*args: Any, **kwargs: Any) -> Any:
        leaves, rebuild = tree.flatten(args)
        axes = [None if yes else a for a, yes in zip(spread_axes("in_axes", in_axes, args), _passed_through(args))]
        traced = context.bindings.get() is not None  # backward() goes through a compiled `vmap` only
        leaves = [resolve(x, for_backward=traced) if isinstance(x, Parameter) else x for x in leaves]
        size = _batch_size(fn, leaves, axes)
        batch = Batch(size)
        tracked = [
            snapshot(x)
            if a is None and type(x) is Tensor
            else x
            if a is None
            else batch.track(held(x), a % len(shape_of(x)))
            for x, a in zip(leaves, axes, strict=True)
        ]
        around = random_counters.batches.get()

        def alike(value: Any) -> Any:
            if isinstance(value, Value) and value._trace is batch:
                raise ArgumentError(
                    f"vmap: {name_of(fn)} stores a value in a Parameter that differs between the examples{called_at()}"
                )
            return value

        try:
            with (
                binding({}, alike),
                context.setting(random_counters.batches, (*around, batch) if own_draws else around),
            ):
                out = whole(context.readable(fn)(*rebuild(tracked), **kwargs))
            ys, regroup = tree.flatten(out)
            if not ys:
                raise ArgumentError(f"vmap: {name_of(fn)} returned nothing (did you forget `return`?){called_at()}")
            targets = spread_axes("out_axes", out_axes, out, whole=True)
            results = [_unbatched(batch, y, a) for y, a in zip(ys, targets, strict=True)]
        finally:
            batch.ended = True
        return regroup(results)

    batched.__name__ = f"vmap({name_of(fn)})"
    return batched


def _unbatched(batch: Batch, y: Any, axis: int | None) -> Any:
    if not isinstance(y, (Value, np.ndarray, np.generic, bool, int, float, complex)):
        return y
    if axis is None:
        if isinstance(y, Value) and y._trace is batch:
            raise ArgumentError(f"vmap: out_axes is None for an output that differs between the examples{called_at()}")
        return wrap(y)
    whole = wrap(batch.materialize(y))
    ndim = len(shape_of(whole))
    if not -ndim <= axis < ndim:
        raise ArgumentError(f"vmap: out_axes {axis} for an output of {ndim} axes, the batch included{called_at()}")
    return whole if axis % ndim == 0 else moveaxis(whole, 0, axis % ndim)


def spread_axes(what: str, axes: Any, target: Any, whole: bool = False) -> list[int | None]:
    """One axis for each leaf: an int or None serves a whole subtree."""
    if axes is None or (isinstance(axes, int) and not isinstance(axes, bool)):
        return [axes] * len(tree.leaves(target))
    if isinstance(axes, (tuple, list)) and isinstance(target, (tuple, list)):
        if len(axes) != len(target):
            raise ArgumentError(f"vmap: {what} has {len(axes)} entries for {len(target)} values{called_at()}")
        return [a for part, t in zip(axes, target, strict=True) for a in spread_axes(what, part, t)]
    if isinstance(axes, dict) and isinstance(target, dict):
        if unknown := [k for k in axes if k not in target]:
            raise ArgumentError(f"vmap: {what} names {unknown}, which the values do not have{called_at()}")
        return [a for k, t in target.items() for a in spread_axes(what, axes.get(k), t)]
    if whole and isinstance(axes, (tuple, list)) and len(axes) == 1:
        return spread_axes(what, axes[0], target)
    parts, values = tree.named_children(axes), tree.named_children(target)
    if parts is not None and values is not None and type(axes) is type(target) and len(parts[0]) == len(values[0]):
        return [a for (_, p), (_, t) in zip(parts[0], values[0], strict=True) for a in spread_axes(what, p, t)]
    raise ArgumentTypeError(
        f"vmap: {what} must be an int, None, or a container of them like the values, not {axes!r}{called_at()}"
    )


def _passed_through(args: tuple[Any, ...]) -> list[bool]:
    """Which leaves of the arguments have no axis to batch: what is no number, and Python's integers in containers."""
    numbers = (Value, np.ndarray, np.generic, bool, int, float, complex)
    found = []
    for arg in args:
        alone = tree.is_leaf(arg)
        for x in tree.leaves(arg):
            integer = isinstance(x, int) and not alone
            found.append(integer or not (isinstance(x, numbers) or is_device_array(x)))
    return found


def _batch_size(fn: Any, leaves: list[Any], axes: list[int | None]) -> int:
    sizes = {}
    for i, (x, a) in enumerate(zip(leaves, axes, strict=True)):
        check_leaf(f"vmap: input {i} of {name_of(fn)}", x)
        if a is None:
            continue
        shape = shape_of(x)
        if not -len(shape) <= a < len(shape):
            share = "" if shape else ": give None in in_axes for what all examples share"
            raise ArgumentError(
                f"vmap: in_axes {a} for input {i} of {name_of(fn)}, which has shape {shape}{share}{called_at()}"
            )
        sizes[i] = shape[a]
    if not sizes:
        raise ArgumentError(
            f"vmap: no input of {name_of(fn)} has a batch axis; give at least one in in_axes{called_at()}"
        )
    if len(set(sizes.values())) > 1:
        listed = ", ".join(f"input {i}: {n}" for i, n in sizes.items())
        raise ArgumentError(f"vmap: the batch axes differ in size ({listed}){called_at()}")
    return next(iter(sizes.values()))

"""mindspore.vmap, of functions, of Cells and of lists of Cells."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from adjoint import ops as _ops
from adjoint.api import batching
from adjoint.api.modes import by_mode
from adjoint.core import tree
from adjoint.core.dispatch import Value
from adjoint.core.errors import AdjointError, boundary
from adjoint.core.spec import shape_of
from adjoint.nn import CellList


def vmap(fn: Any, in_axes: Any = 0, out_axes: Any = 0) -> Callable[..., Any]:
    """Apply `fn` to each slice of its inputs at once; of a CellList each Cell to its slice.

    >>> from adjoint.mindspore import Tensor, ops
    >>> print(ops.vmap(lambda x, y: (x * y).sum(), (0, None))(Tensor([[1.0, 2.0], [3.0, 4.0]]), Tensor([1.0, 10.0])))
    [21. 43.]
    """
    if isinstance(fn, CellList):
        return boundary(lambda *args: _ensemble(fn, in_axes, out_axes, args))
    if not callable(fn):
        raise RuntimeError(f"'vmap' takes a 'Function' or 'Cell', but got {type(fn).__name__}.")
    if in_axes is None:
        raise RuntimeError("The 'in_axes' of 'vmap' cannot be a single None while 'fn' is not a 'CellList'.")
    if out_axes is None:
        raise RuntimeError("The 'out_axes' of 'vmap' cannot be a single None while 'fn' is not a 'CellList'.")
    if not all(isinstance(a, int) and not isinstance(a, bool) for a in tree.leaves((in_axes, out_axes))):
        raise RuntimeError(f"The axes of 'vmap' can only be of type Int or None, but got {in_axes} and {out_axes}.")
    batched = by_mode(batching.vmap(fn, in_axes, out_axes))

    def call(*args: Any, **kwargs: Any) -> Any:
        _check(in_axes, args)
        return batched(*args, **kwargs)

    call.__name__ = f"vmap({getattr(fn, '__name__', type(fn).__name__)})"
    return boundary(call)


def _check(in_axes: Any, args: tuple[Any, ...]) -> None:
    """Axes that fit the arguments."""
    try:
        axes = batching.spread_axes("in_axes", in_axes, args)
    except AdjointError as error:
        raise RuntimeError(str(error)) from None
    sizes = set()
    for x, axis in zip(tree.leaves(args), axes, strict=True):
        if axis is not None and isinstance(x, Value):
            ndim = len(shape_of(x))
            if not -ndim <= axis < ndim:
                raise RuntimeError(
                    f"The axis: {axis} in 'in_axes' is out of bounds for array of dimension [-{ndim},{ndim})."
                )
            sizes.add(shape_of(x)[axis])
    if len(sizes) > 1:
        raise RuntimeError(f"The 'axis_size' of each argument in the scope of 'vmap' should be equal, but got {sizes}.")
    if not sizes:
        raise RuntimeError("The 'in_axes' of 'vmap' must have an axis of at least one argument.")


def _ensemble(cells: Any, in_axes: Any, out_axes: Any, args: tuple[Any, ...]) -> Any:
    """The results of all Cells, each of its slice of the arguments, stacked."""
    axes = batching.spread_axes("in_axes", in_axes, args)
    leaves, rebuild = tree.flatten(args)
    results = []
    for i, cell in enumerate(cells):
        parts = [x if a is None else _ops.gather(x, i, a) for x, a in zip(leaves, axes, strict=True)]
        results.append(cell(*rebuild(parts)))
    flat, regroup = tree.flatten(results[0])
    targets = batching.spread_axes("out_axes", out_axes, results[0], whole=True)
    columns = zip(*(tree.leaves(r) for r in results), strict=True)
    return regroup([_ops.stack(list(ys), axis or 0) for ys, axis in zip(columns, targets, strict=True)] if flat else [])


__all__ = ["vmap"]

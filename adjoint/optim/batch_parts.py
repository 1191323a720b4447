"""The gradient of a large batch from parts of it, one after another: the memory of one part."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

from adjoint import ops
from adjoint.api.grad import check_weights, value_and_grad
from adjoint.api.inputs import check_function, check_positions
from adjoint.core import context, tree
from adjoint.core.checkpoint_policy import CheckpointPolicy
from adjoint.core.errors import ArgumentError, ShapeError, boundary, called_at
from adjoint.core.spec import shape_of
from adjoint.frontend.loops import few
from adjoint.optim.part_loop import add_parts

REDUCTIONS = ("mean", "sum")
SHOWN = 5  # different shapes that a message names


def check_reduction(what: str, reduction: Any) -> None:
    """An error if a loss cannot be put together in such a way."""
    if reduction not in REDUCTIONS:
        raise ArgumentError(
            f'{what}: reduction must be "mean" or "sum", as the loss is, not {reduction!r}{called_at()}'
        )


def accumulated(
    what: str,
    parts: int,
    fn: Callable[..., Any],
    grad_position: int | tuple[int, ...] | None,
    weights: Any,
    has_aux: bool,
    batch: int | Sequence[int] | None,
    reduction: str,
) -> Callable[..., Any]:
    """`value_and_grad` of a function whose batch is cut into parts; see `GradientAccumulation.value_and_grad`."""
    check_function(what, fn)
    check_weights(what, weights)
    check_reduction(what, reduction)
    fixed = () if grad_position is None else check_positions(what, grad_position)
    chosen = None if batch is None else (batch,) if isinstance(batch, int) else tuple(batch)
    if chosen is not None and (clash := sorted({*chosen} & {*fixed})):
        raise ArgumentError(
            f"{what}: argument {clash[0]} is cut into parts and differentiated by; the gradient by a batch is that of its examples, "
            f"which `value_and_grad` gives part by part{called_at()}"
        )

    def run(*args: Any, **kwargs: Any) -> tuple[Any, Any]:
        cut = [k for k in range(len(args)) if k not in fixed] if chosen is None else list(chosen)
        if any(not isinstance(k, int) or not 0 <= k < len(args) for k in cut):
            raise ArgumentError(
                f"{what}: batch must name positions of the {len(args)} arguments given, not {batch!r}{called_at()}"
            )
        if chosen is None and any(shape_of(x) for x in tree.leaves(kwargs)):
            raise ArgumentError(
                f"{what}: arrays given by name are not cut; give the batch by position, or say by `batch=` what it is{called_at()}"
            )
        leaves, rebuild = tree.flatten([args[k] for k in cut])
        count = _examples(what, leaves)
        size = max(1, -(-count // parts))

        def share(pieces: Sequence[Any]) -> tuple[Any, Any]:
            """One part's share of the value, the further outputs and the gradients."""
            given = list(args)
            for k, piece in zip(cut, rebuild(list(pieces)), strict=True):
                given[k] = piece
            length = shape_of(pieces[0])[0]
            scale = length / count if reduction == "mean" and length != count else 1
            seen = _Weighted(what, fn, scale, has_aux)
            out, gradients = value_and_grad(seen, grad_position, weights, has_aux=True)(*given, **kwargs)
            return out, gradients

        return _summed(share, leaves, count, size, has_aux)

    return boundary(run)


class _Weighted:
    """A loss times the share of its part in the batch, with all that the function gave beside it."""

    def __init__(self, what: str, fn: Callable[..., Any], scale: float, has_aux: bool) -> None:
        self.what, self.fn, self.scale, self.has_aux = what, fn, scale, has_aux
        self.__name__ = getattr(fn, "__name__", type(fn).__name__)

    def __call__(self, *args: Any, **kwargs: Any) -> Any:
        out = context.readable(self.fn)(*args, **kwargs)
        if self.has_aux and (not isinstance(out, (tuple, list)) or len(out) < 2):
            raise ArgumentError(f"{self.what}: has_aux=True, but the function returned no second output{called_at()}")
        loss, *more = out if self.has_aux else (out,)
        if not tree.is_leaf(loss) or shape_of(loss) != ():
            raise ShapeError(
                f"{self.what}: the loss of a batch in parts must be one number, the mean or the sum over the examples{called_at()}"
            )
        return loss if self.scale == 1 else loss * self.scale, tuple(more)


def _examples(what: str, leaves: Sequence[Any]) -> int:
    """How many examples a batch has."""
    if not leaves:
        raise ShapeError(f"{what}: there is no batch: no array was given to cut into parts{called_at()}")
    shapes = [shape_of(x) for x in leaves]
    if any(not shape for shape in shapes) or len({shape[0] for shape in shapes}) > 1:
        kinds = list(dict.fromkeys(shapes))
        shown = ", ".join(map(str, kinds[:SHOWN])) + (", ..." if len(kinds) > SHOWN else "")
        numbers = "; numbers in lists are no arrays: make a Tensor of them" if () in kinds else ""
        raise ShapeError(
            f"{what}: a batch is cut along the first axes of its arrays, which must be equally long, not of shapes {shown}{numbers}; "
            f"say by `batch=` which arguments are the batch{called_at()}"
        )
    return int(shapes[0][0])


def _summed(share: Callable[..., Any], leaves: list[Any], count: int, size: int, has_aux: bool) -> tuple[Any, Any]:
    """The sum over all parts: first what is left over by parts of one size, then these, in a graph as a loop."""
    full = max(0, (count - 1) // size)
    first = count - full * size
    sums, more, rebuild = _flat(share([x[:first] for x in leaves]))
    others: list[Any] = []
    if full:
        pieces = [ops.reshape(x[first:], (full, size, *shape_of(x)[1:])) for x in leaves]
        inside = _Inside(share, few.get(), context.checkpointing.get())
        # a loop that holds few states is left as it is, also by the passes that would take products of all parts at once
        with context.setting(few, 0), context.setting(context.checkpointing, CheckpointPolicy("binomial", snapshots=2)):
            sums, others = context.readable(add_parts)(inside, sums, pieces, full)
    value, gradients = rebuild(sums)
    if not has_aux:
        return value, gradients
    return (value, *(tuple(parts) for parts in zip(more, *others, strict=True))), gradients


class _Inside:
    """A part's share, in which the loops and checkpoints of the user are treated as ever."""

    def __init__(self, share: Callable[..., Any], few: int, policy: CheckpointPolicy | None) -> None:
        self.share, self.few, self.policy = share, few, policy

    def __call__(self, pieces: Sequence[Any]) -> tuple[list[Any], Any]:
        with context.setting(few, self.few), context.setting(context.checkpointing, self.policy):
            return _flat(self.share(pieces))[:2]


def _flat(found: tuple[Any, Any]) -> tuple[list[Any], Any, Callable[[list[Any]], Any]]:
    """The numbers to add, the further outputs, and how to put the sums together again."""
    (value, more), gradients = found
    sums, rebuild = tree.flatten((value, gradients))
    return sums, more, rebuild

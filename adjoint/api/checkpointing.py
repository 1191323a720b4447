"""Checkpoints: parts of a program whose intermediate results are computed again in the backward pass instead of being kept."""

from __future__ import annotations

import functools
from collections.abc import Callable
from typing import Any, TypeVar

from adjoint.api.graph_part import in_part
from adjoint.api.inputs import check_function
from adjoint.core import context, tree
from adjoint.core.errors import boundary
from adjoint.graph.recompute import recomputed
from adjoint.transforms import records

Result = TypeVar("Result")


def checkpoint(fn: Callable[..., Result]) -> Callable[..., Result]:
    """The function, whose intermediate results are not kept for the backward pass but computed again there.

    Values and gradients are the same; memory is traded for one more evaluation of `fn`. Works under every transform, to any
    order, nested, in dynamic and static mode. In dynamic mode the ops are computed again as they were recorded, which gives the same
    bits: `fn` itself is called once, and samples the same random numbers. What a function with a derivative rule of its own
    (`custom_vjp`) gives is kept. In static mode sums may be rounded differently, and what is computed inside must leave `fn` as
    its result.

    >>> import adjoint as ad
    >>> layer = ad.checkpoint(lambda x, w: ad.ops.tanh(x @ w))
    >>> def loss(w, x):
    ...     for _ in range(3):
    ...         x = layer(x, w)
    ...     return x.sum()
    >>> print(ad.grad(loss)(ad.ops.eye(2), ad.Tensor([1.0, 0.0])))
    [[0.907977  2.4036093]
     [0.        0.       ]]
    """
    check_function("checkpoint", fn)

    @boundary
    @functools.wraps(fn, updated=())
    def call(*args: Any, **kwargs: Any) -> Any:
        return recompute(fn, *args, **kwargs)

    return call


@boundary
def recompute(fn: Callable[..., Result], *args: Any, **kwargs: Any) -> Result:
    """Call a function whose intermediate results are computed again in the backward pass: `checkpoint(fn)(*args)`.

    >>> import adjoint as ad
    >>> print(ad.grad(lambda x: ad.recompute(lambda y: ad.ops.sin(y) * y, x))(2.0).asnumpy().round(4))
    0.077
    """
    check_function("recompute", fn)
    if context.reader.get() is not None:
        return in_part(context.readable(fn), args, kwargs, recomputed)
    start = records.now()
    with context.setting(context.replays, True):
        out = fn(*args, **kwargs)
    records.forget(tree.leaves(out), start)
    return out

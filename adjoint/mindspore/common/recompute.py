"""mindspore.recompute: a Cell whose intermediate results are computed again in the backward pass."""

from __future__ import annotations

from typing import Any

from adjoint.api.checkpointing import recompute as _recompute
from adjoint.nn.cell import Cell as _Cell


def recompute(
    block: Any,
    *args: Any,
    use_reentrant: bool = True,
    output_recompute: bool = False,
    early_stop: bool = True,
    context_fn: Any = None,
    **kwargs: Any,
) -> Any:
    """Call a Cell, keeping only its inputs for the backward pass; the options change no value.

    >>> from adjoint.mindspore import Tensor, nn, ops, recompute
    >>> print(ops.grad(lambda x: recompute(nn.Tanh(), x))(Tensor([0.0])))
    [1.]
    """
    if not isinstance(block, _Cell):
        raise TypeError(f"Recompute function now only support block which inherited from Cell, but got {type(block)}.")
    if context_fn is not None and use_reentrant and not output_recompute:
        raise ValueError("context_fn is only supported when use_reentrant=False.")
    return _recompute(block, *args, **kwargs)

"""`GradientCheckpoint`: how the memory of a gradient is chosen."""

from __future__ import annotations

import os
from collections.abc import Callable
from typing import TYPE_CHECKING, Any

from adjoint.api.inputs import check_function
from adjoint.core.checkpoint_policy import CheckpointPolicy, byte_count
from adjoint.core.errors import ArgumentTypeError, boundary, called_at
from adjoint.graph.nested import float_positions
from adjoint.graph.node import Graph, Node
from adjoint.passes.checkpoint_plan import checkpoint_plan

if TYPE_CHECKING:
    from adjoint.api.checkpoint_report import CheckpointReport


class GradientCheckpoint(CheckpointPolicy):
    """What a gradient keeps of the forward pass, and what it computes again: `grad(f, checkpoint=GradientCheckpoint(...))`.

    Args:
        strategy: "balanced" for the least product of time and memory, at no more than 30% more work by estimate; "sqrt" for about √n parts of a program of n steps, of which one
            at a time is computed again; "budget" for the least recomputation that fits `memory`; "offload" to put what is kept on
            disk; "binomial" for loops, with a number of states that grows with the logarithm of the number of iterations (Revolve).
        memory: for "budget", what may be held: a number of bytes, or text like "200MB" or "1.5GiB".
        snapshots: for "binomial", how many states of a loop are kept; chosen by the number of iterations if not given.
        directory: for "offload", where files are made; the system's place for temporary files if not given.

    >>> import adjoint as ad
    >>> def f(x):
    ...     for _ in range(16):
    ...         x = ad.ops.sin(x)
    ...     return x
    >>> print(ad.grad(f, checkpoint=ad.GradientCheckpoint("sqrt"))(1.0) == ad.grad(f)(1.0))
    True
    """

    def __init__(
        self,
        strategy: str = "balanced",
        *,
        memory: int | str | None = None,
        snapshots: int | None = None,
        directory: str | os.PathLike[str] | None = None,
    ) -> None:
        size = None if memory is None else byte_count("GradientCheckpoint: memory", memory)
        if directory is not None and not isinstance(directory, (str, os.PathLike)):
            raise ArgumentTypeError(
                f"GradientCheckpoint: directory must be a path, as text or a pathlib.Path, not {directory!r}{called_at()}"
            )
        super().__init__(strategy, size, snapshots, None if directory is None else os.fspath(directory))

    @boundary
    def plan(
        self, fn: Callable[..., Any], *args: Any, grad_position: int | tuple[int, ...] | None = 0, weights: Any = None
    ) -> CheckpointReport:
        """What this does to the compiled gradient of a function at these arguments, without running it: its parts and its memory,
        with and without. The result can be printed, and drawn with `draw(path)`.

        >>> import adjoint as ad
        >>> def f(x):
        ...     for _ in range(25):
        ...         x = ad.ops.sin(x @ x)
        ...     return x.sum()
        >>> report = ad.GradientCheckpoint("sqrt").plan(f, ad.ops.ones((300, 300)))
        >>> report.planned.arena_bytes < 0.5 * report.plain.arena_bytes
        True
        """
        from adjoint.api.checkpoint_report import checkpoint_report

        check_function("GradientCheckpoint.plan", fn)
        return checkpoint_report(self, fn, args, grad_position, weights)

    def checkpoint_selection(self, graph: Graph) -> list[Node]:
        """The nodes of a graph whose values this keeps for the backward pass by all inputs; all else is computed again.

        >>> import adjoint as ad
        >>> def f(x):
        ...     for _ in range(16):
        ...         x = ad.ops.sin(x @ x)
        ...     return x.sum()
        >>> graph = ad.graph.trace_function(f, [ad.ops.ones((9, 9))])
        >>> len(ad.GradientCheckpoint("sqrt").checkpoint_selection(graph)) < len(graph.calls) / 2
        True
        """
        return checkpoint_plan(graph, float_positions([p.spec for p in graph.params]), self).kept()


def checked_policy(what: str, given: Any) -> CheckpointPolicy | None:
    """What a user gave as `checkpoint=`: a strategy's name, a GradientCheckpoint or None."""
    if given is None or isinstance(given, CheckpointPolicy):
        return given
    if isinstance(given, str):
        return GradientCheckpoint(given)
    raise ArgumentTypeError(
        f'{what}: checkpoint must be a GradientCheckpoint or a name like "sqrt", not {given!r}{called_at()}'
    )

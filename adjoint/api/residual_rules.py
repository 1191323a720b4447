"""Reverse rules in two functions: `fwd` gives the output and what the backward pass needs of it, `bwd` takes that and the cotangent.

Where a call is differentiated, `fwd` runs in place of the function, one level below the transform: transforms around it differentiate
`fwd` and `bwd` as they are written. Where a graph keeps the call for later, `fwd` is computed again in the backward pass.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from contextvars import ContextVar
from typing import Any

import numpy as np

from adjoint.api.batching import vmap
from adjoint.api.ruled_calls import VjpCall, given_back, note_reads
from adjoint.core import context, random_counters, tree
from adjoint.core.arrays import kept
from adjoint.core.dispatch import BOTTOM, Value, lift, wrap
from adjoint.core.errors import ArgumentError, ArgumentTypeError, CutGradientError, called_at
from adjoint.core.tree_matching import shown
from adjoint.frontend.reads import recorder
from adjoint.graph.ruled import outside
from adjoint.graph.trace import Tracer
from adjoint.ops.card import Op, innermost
from adjoint.ops.language import moveaxis, sum_axes, zeros_like
from adjoint.transforms.batch import Batch

#: The function whose `fwd` is computed again just now; None where none is.
computed_again: ContextVar[str | None] = ContextVar("computed_again", default=None)
_ARRAYS = (Value, np.ndarray, np.generic, float, complex)


class Residuals:
    """What `fwd` keeps for `bwd`: arrays, which go through transforms, and all else, which is carried along."""

    def __init__(self, value: Any) -> None:
        self.leaves, self.rebuild = tree.flatten(value)
        self.places = [i for i, x in enumerate(self.leaves) if isinstance(x, _ARRAYS)]

    @property
    def arrays(self) -> list[Any]:
        return [self.leaves[i] for i in self.places]

    def value(self, arrays: Sequence[Any]) -> Any:
        """The residuals with these arrays."""
        filled = list(self.leaves)
        for i, x in zip(self.places, arrays, strict=True):
            filled[i] = x
        return self.rebuild(filled)


class ResidualCall(VjpCall):
    """A call of a function on flat inputs with `fwd(*xs) -> (out, residuals)` and `bwd(residuals, dout) -> a gradient for each`."""

    def __init__(
        self, name: str, fn: Callable[..., Any], fwd: Callable[..., Any], bwd: Callable[..., Any], known: set[Any]
    ) -> None:
        super().__init__(name, fn, self._again, known)
        self.fwd, self.bwd = fwd, bwd
        self.around: Any = None  # the transform that differentiates the call
        self.residuals: Any = None

    def _again(self, *args: Any) -> Any:
        """The gradients with the forward pass computed again."""
        *xs, _, dout = args
        with context.setting(computed_again, self.name):
            _, residuals = split_pair(self.name, self.fwd(*xs))
        return self.bwd(residuals, dout)

    def __call__(self, *xs: Any) -> Any:
        if self.around is not None:  # by that transform, on values one level below
            return self._kept(xs)
        around = innermost(xs)
        if around is None or around in BOTTOM:
            around = context.open_tape.get()
        if around is not None and around.deferred:  # the rule is for the transform below, and `fwd` for its values
            return self(*(around.below(x) if isinstance(x, Value) and x._trace is around else x for x in xs))
        if around is None or isinstance(around, (Tracer, Batch)):
            note_reads(getattr(self.fwd, "users", None), recorder.get())
            return super().__call__(*xs)
        self.around = around
        return Op.__call__(self, *xs)

    def eval(self, xp: Any, *xs: Any) -> Any:
        if self.around is None:
            return super().eval(xp, *xs)
        with context.setting(context.open_tape, None), context.setting(random_counters.batches, ()):
            return self._kept(xs)

    def _kept(self, xs: Sequence[Any]) -> Any:
        """The results of `fwd`, whose residuals are kept."""
        out, self.residuals = split_pair(
            self.name, self.fwd(*(x if isinstance(x, (float, complex)) else wrap(x) for x in xs))
        )
        leaves, self.rebuild = tree.flatten(out)
        if not leaves:
            raise ArgumentError(f"the fwd of {self.name} returned no output{called_at()}")
        for y in (*leaves, *tree.leaves(self.residuals)):
            if isinstance(y, Value) and y._trace.level >= self.around.level and y._trace not in BOTTOM:
                raise CutGradientError(outside(self.name))
        values = tuple(lift(y) if isinstance(y, Value) else kept(np.asarray(y)) for y in leaves)
        return values if len(values) > 1 else values[0]

    def vjp(self, g: Any, y: Any, *xs: Any) -> tuple[Any, ...]:
        if self.around is None:
            return super().vjp(g, y, *xs)
        dout = self.output(tuple(map(wrap, g)) if isinstance(g, tuple) else wrap(g))
        return tuple(given_back(f"the bwd of {self.name}", self.bwd(self.residuals, dout), xs))

    def batched(self, dims: Sequence[int | None]) -> ResidualCall:
        """The call for a batch: the functions of one example, for each; an input that all share gets the sum of its gradients."""
        axes = tuple(dims)
        last: list[Residuals] = []

        def arrays_of(*xs: Any) -> tuple[Any, Any]:
            out, residuals = split_pair(self.name, self.fwd(*xs))
            last[:] = [Residuals(residuals)]
            return out, last[0].arrays

        def fwd(*xs: Any) -> tuple[Any, Any]:
            out, arrays = vmap(arrays_of, in_axes=axes)(*xs)
            return out, (last[0], list(arrays), list(xs))

        def bwd(residuals: Any, dout: Any) -> list[Any]:
            held, arrays, xs = residuals

            def of_one(inner: list[Any], g: Any, *values: Any) -> list[Any]:
                found = self.bwd(held.value(inner), g)
                return [zeros_like(x) if c is None else c for c, x in zip(found, values, strict=True)]

            grads = vmap(of_one, in_axes=(0, 0, *axes))(arrays, dout, *xs)
            return [sum_axes(g, (0,)) if d is None else moveaxis(g, 0, d) for g, d in zip(grads, axes, strict=True)]

        call = ResidualCall(f"vmap({self.name})", vmap(self.fn, in_axes=axes), fwd, bwd, set())
        call.rebuild = self.rebuild
        return call


def split_pair(name: str, found: Any) -> tuple[Any, Any]:
    """What `fwd` returns."""
    if not isinstance(found, (tuple, list)) or len(found) != 2:
        raise ArgumentTypeError(
            f"the fwd of {name} must return (output, residuals), it returned {shown(found)}{called_at()}"
        )
    return found[0], found[1]

"""Gradient accumulation: several small batches make one step."""

from __future__ import annotations

from typing import Any

from adjoint.core import tree
from adjoint.core.errors import ArgumentError, called_at
from adjoint.optim.optimizer import Optimizer


class GradientAccumulation:
    """Averages the gradients of `steps` batches, then lets an optimiser take a step along the mean.

    `accumulation(grads)` collects, and applies every `steps` calls. `compiled_step` takes one in place of an optimiser:
    the sums are then inputs and results of the compiled function.

    Args:
        steps: how many batches make one step.
        optimiser: what applies the mean; without one, `accumulate_gradients` alone is of use.

    >>> import adjoint as ad
    >>> w = ad.Parameter(ad.Tensor([1.0]), name="w")
    >>> accumulation = ad.optim.GradientAccumulation(2, ad.optim.SGD([w], learning_rate=0.5))
    >>> accumulation((ad.Tensor([1.0]),)), accumulation((ad.Tensor([2.0]),))
    (False, True)
    >>> print(w)
    [0.25]
    """

    def __init__(self, steps: int = 4, optimiser: Optimizer | None = None) -> None:
        if isinstance(steps, bool) or not isinstance(steps, int) or steps < 1:
            raise ArgumentError(
                f"GradientAccumulation: steps must be an integer above zero, not {steps!r}{called_at()}"
            )
        self.accumulation_steps = steps
        self.optimiser = optimiser
        self.gradient_buffer: Any = {}
        self.count = 0

    @property
    def ready(self) -> bool:
        """Whether the buffer holds the mean of all the batches of a step."""
        return self.count == self.accumulation_steps

    def reset(self) -> None:
        """Forget what was collected."""
        self.gradient_buffer, self.count = {}, 0

    def accumulate_gradients(self, gradients: Any) -> Any:
        """Add one batch's share of the mean, and return the sum of the shares so far.

        Gradients are a dict (in which a batch may leave some out), a sequence, or any container of Tensors. Once the
        mean is complete, the next call begins a new one.

        >>> import adjoint as ad
        >>> accumulation = ad.optim.GradientAccumulation(steps=2)
        >>> _ = accumulation.accumulate_gradients({"w": ad.Tensor([1.0])})
        >>> print(accumulation.accumulate_gradients({"w": ad.Tensor([2.0])})["w"], accumulation.ready)
        [1.5] True
        """
        if self.ready:
            self.reset()
        share = tree.map(lambda g: g / self.accumulation_steps, gradients)
        if self.count == 0:
            self.gradient_buffer = share
        elif isinstance(share, dict):
            old = self.gradient_buffer
            self.gradient_buffer = {**old, **{k: _sum(old[k], g) if k in old else g for k, g in share.items()}}
        else:
            self.gradient_buffer = _sum(self.gradient_buffer, share)
        self.count += 1
        return self.gradient_buffer

    def __call__(self, gradients: Any) -> bool:
        """Collect, and apply the mean if it is complete; whether it was applied."""
        optimiser = self.applied()
        mean = self.accumulate_gradients(gradients)
        if not self.ready:
            return False
        optimiser(mean)
        self.reset()
        return True

    def applied(self) -> Optimizer:
        """The optimiser; an error if there is none."""
        if self.optimiser is None:
            raise ArgumentError(f"GradientAccumulation: give an optimiser to apply the gradients with{called_at()}")
        return self.optimiser


def _sum(a: Any, b: Any) -> Any:
    return tree.map(lambda x, y: x + y, a, b)

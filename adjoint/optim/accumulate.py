"""Gradient accumulation: several small batches make one step, or a large one is cut into parts."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

from adjoint.core import tree
from adjoint.core.errors import ArgumentError, called_at
from adjoint.optim.batch_parts import accumulated
from adjoint.optim.optimizer import Optimizer


class GradientAccumulation:
    """Averages the gradients of `steps` batches, then lets an optimiser take a step along the mean.

    `accumulation(grads)` collects, and applies every `steps` calls. `compiled_step` takes one in place of an optimiser:
    the sums are then inputs and results of the compiled function. `accumulation.value_and_grad(loss)` takes one large batch and cuts it
    into `steps` parts itself.

    Args:
        steps: how many batches make one step, or into how many parts a batch is cut.
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

    def value_and_grad(
        self,
        fn: Callable[..., Any],
        grad_position: int | tuple[int, ...] | None = 0,
        weights: Any = None,
        has_aux: bool = False,
        *,
        batch: int | Sequence[int] | None = None,
        reduction: str = "mean",
    ) -> Callable[..., Any]:
        """`adjoint.value_and_grad(fn, ...)`, computed in `steps` parts of the batch: the same numbers to rounding, in the memory of one part.

        The last parts may be shorter. In a compiled function the parts are a loop of the graph. A function that looks at the batch as a
        whole (normalisation by the batch's mean, random samples) sees parts of it, and gives what the parts give.

        Args:
            fn: a function whose loss is the mean, or the sum, of those of the examples.
            grad_position: as in `adjoint.value_and_grad`; likewise `weights`.
            weights: Parameters to differentiate by.
            has_aux: `fn` returns more than the loss; of each further output there is a tuple, with what each part gave.
            batch: positions of the arguments that are cut along their first axis; if not given, all that are not differentiated by.
                Arguments given by keyword are not cut.
            reduction: "mean" or "sum": how the loss of a batch is made of those of its examples.

        >>> import adjoint as ad
        >>> def loss(w, x):
        ...     return ad.ops.mean((w * x - 1.0) ** 2)
        >>> x = ad.ops.arange(8.0)
        >>> value, slope = ad.optim.GradientAccumulation(4).value_and_grad(loss)(2.0, x)
        >>> print(value, slope, ad.grad(loss)(2.0, x))
        57.0 63.0 63.0
        """
        what = "GradientAccumulation.value_and_grad"
        return accumulated(
            what, self.accumulation_steps, fn, grad_position, weights, has_aux, batch=batch, reduction=reduction
        )

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

"""mindspore.nn.wrap.loss_scale: steps of training with a scaled loss, for half precision."""

from __future__ import annotations

from typing import Any

import numpy as np

from adjoint import ops
from adjoint.core import context
from adjoint.core.tensor import Tensor
from adjoint.mindspore.common.parameter import Parameter
from adjoint.mindspore.nn.cell import Cell
from adjoint.mindspore.nn.wrap.cell_wrapper import TrainOneStepCell


class DynamicLossScaleUpdateCell(Cell):
    """The scale of the loss: divided after an overflow, multiplied after so many steps without one.

    >>> from adjoint.mindspore import Parameter, Tensor, nn
    >>> scale = Parameter(Tensor(8.0), name="scale")
    >>> update = nn.DynamicLossScaleUpdateCell(loss_scale_value=8.0, scale_factor=2, scale_window=2)
    >>> _ = update(scale, Tensor(True))
    >>> print(scale.asnumpy(), update.get_loss_scale())
    4.0 8.0
    """

    def __init__(self, loss_scale_value: float, scale_factor: int, scale_window: int) -> None:
        super().__init__()
        self.scale_window, self.scale_factor = Tensor(scale_window, np.int32), Tensor(scale_factor, np.float32)
        self.loss_scale_value = loss_scale_value
        self.cur_iter = Parameter(Tensor(1, np.int32), name="current_iterator_step")
        self.last_overflow_iter = Parameter(Tensor(0, np.int32), name="last_overflow_iterator_step")

    def get_loss_scale(self) -> float:
        """The scale to begin with."""
        return self.loss_scale_value

    def construct(self, loss_scale: Any, overflow: Any) -> Any:
        grows = ops.less_equal(self.scale_window, self.cur_iter - self.last_overflow_iter)
        lowered = ops.where(overflow, ops.maximum(loss_scale / self.scale_factor, 1.0), loss_scale)
        raised = ops.logical_and(grows, ops.logical_not(overflow))
        last = ops.where(ops.logical_or(overflow, grows), self.cur_iter, self.last_overflow_iter)
        loss_scale.set_data(ops.where(raised, lowered * self.scale_factor, lowered))
        self.last_overflow_iter.set_data(last)
        self.cur_iter.set_data(self.cur_iter + 1)
        return overflow


class FixedLossScaleUpdateCell(Cell):
    """A scale of the loss that stays."""

    def __init__(self, loss_scale_value: float) -> None:
        super().__init__()
        self.loss_scale_value = loss_scale_value

    def get_loss_scale(self) -> float:
        """The scale."""
        return self.loss_scale_value

    def construct(self, _: Any, overflow: Any) -> Any:
        return overflow


class TrainOneStepWithLossScaleCell(TrainOneStepCell):
    """One step of training with a scaled loss, left out where a gradient overflows: `(loss, overflow, scale)`.

    `scale_sense` is the scale, a Tensor, or a Cell that keeps it.
    """

    def __init__(self, network: Any, optimizer: Any, scale_sense: Any) -> None:
        super().__init__(network, optimizer, sens=None)
        self.loss_scaling_manager = None
        if isinstance(scale_sense, Cell):
            self.loss_scaling_manager = scale_sense
            scale_sense = Tensor(scale_sense.get_loss_scale(), np.float32)
        elif not isinstance(scale_sense, Tensor):
            raise TypeError(
                "For 'TrainOneStepWithLossScaleCell', the 'scale_sense' must be Cell or Tensor, but got 'scale_sense' "
                f"type: {type(scale_sense)}."
            )
        if scale_sense.shape not in ((1,), ()):
            raise ValueError(
                "For 'TrainOneStepWithLossScaleCell', the shape of 'scale_sense' must be (1,) or (), but got "
                f"{scale_sense.shape}."
            )
        self.scale_sense = Parameter(scale_sense, name="scale_sense")

    def construct(self, *inputs: Any) -> Any:
        scale = ops.reshape(self.scale_sense, ())
        loss, grads = self.loss_and_gradients(inputs, scale)
        grads = self.grad_reducer(tuple(g * ops.cast(1.0 / scale, g.dtype) for g in grads))
        cond = self.get_overflow_status(None, grads)
        overflow = self.process_loss_scale(cond)
        self._step_unless(overflow, grads)
        return loss, cond, self.scale_sense.value()

    def _step_unless(self, overflow: Any, grads: Any) -> None:
        if context.reader.get() is None:
            if not bool(overflow):
                self.optimizer(grads)
            return
        held = list(self.optimizer.get_parameters())  # in a graph: a step whose writes are taken back
        before = [p.value() for p in held]
        self.optimizer(grads)
        for p, old in zip(held, before, strict=True):
            p.set_data(ops.where(overflow, old, p.value()))

    def set_sense_scale(self, sens: Any) -> None:
        """Set the scale."""
        if not isinstance(sens, Tensor):
            raise TypeError(
                f"For 'TrainOneStepWithLossScaleCell', the type of 'sens' must be Tensor, but got {type(sens)}"
            )
        self.scale_sense.set_data(sens)

    def start_overflow_check(self, pre_cond: Any, compute_input: Any) -> Any:
        """A state to hand to `get_overflow_status`, and the input as it is."""
        return Tensor([0] * 8, np.int32), compute_input

    def get_overflow_status(self, status: Any, compute_output: Any) -> Any:
        """Whether any of these Tensors holds what is not finite."""
        finite = [ops.all(ops.isfinite(x)) for x in _leaves(compute_output)]
        whole = finite[0]
        for one in finite[1:]:
            whole = ops.logical_and(whole, one)
        return ops.logical_not(whole)

    def process_loss_scale(self, overflow: Any) -> Any:
        """Change the scale by what happened."""
        if self.loss_scaling_manager is not None:
            return self.loss_scaling_manager(self.scale_sense, overflow)
        return overflow


def _leaves(value: Any) -> list[Any]:
    if isinstance(value, (tuple, list)):
        return [x for part in value for x in _leaves(part)]
    return [value]

"""Cells around a network: with a loss, with its gradient, with an optimiser."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from adjoint import ops
from adjoint.api.grad import value_and_grad
from adjoint.api.gradient_checkpoint import checked_policy
from adjoint.core import context
from adjoint.core.checkpoint_policy import CheckpointPolicy, byte_count
from adjoint.core.context import readable
from adjoint.core.errors import ArgumentError, ArgumentTypeError, called_at
from adjoint.core.parameter import Parameter
from adjoint.core.spec import float32
from adjoint.core.tensor import Tensor
from adjoint.nn.cell import Cell
from adjoint.train.scaling import LossScale, all_finite, loss_scale


class Wrapper(Cell):
    """A Cell that holds others without a name of its own: their Parameters keep the names they have."""

    def hold(self, name: str, part: Any) -> None:
        if isinstance(part, Cell):
            self._cells[name] = part
        else:
            setattr(self, name, part)


class WithLossCell(Wrapper):
    """A network with its loss: the last input is the label, the others are the network's.

    >>> import adjoint as ad
    >>> from adjoint.train import WithLossCell
    >>> print(WithLossCell(lambda x: 2 * x, ad.ops.mse_loss)(ad.Tensor([1.0, 2.0]), ad.Tensor([1.0, 4.0])))
    0.5
    """

    def __init__(self, backbone: Callable[..., Any], loss_fn: Callable[..., Any]) -> None:
        super().__init__()
        self.hold("backbone_network", backbone)
        self.hold("loss_fn", loss_fn)

    def construct(self, *inputs: Any) -> Any:
        return readable(self.loss_fn)(readable(self.backbone_network)(*inputs[:-1]), inputs[-1])


class WithEvalCell(Wrapper):
    """A network for evaluation: its loss, its output and the label.

    >>> import adjoint as ad
    >>> from adjoint.train import WithEvalCell
    >>> loss, output, label = WithEvalCell(lambda x: 2 * x, ad.ops.mse_loss)(ad.Tensor([1.0]), ad.Tensor([4.0]))
    >>> print(loss, output, label)
    4.0 [2.] [4.]
    """

    def __init__(self, network: Callable[..., Any], loss_fn: Callable[..., Any]) -> None:
        super().__init__()
        self.hold("network", network)
        self.hold("loss_fn", loss_fn)

    def construct(self, *inputs: Any) -> Any:
        output = readable(self.network)(*inputs[:-1])
        return readable(self.loss_fn)(output, inputs[-1]), output, inputs[-1]


class ForwardValueAndGrad(Wrapper):
    """A Cell that returns the network's value and a gradient: MindSpore's manner; ours is `value_and_grad`.

    Args:
        network: a Cell or function.
        weights: the Parameters for `get_by_list`; without them, the network's trainable ones.
        get_all: the gradients of all inputs as a tuple. With neither this nor `get_by_list`, that of the first input.
        get_by_list: the gradients of the weights; with `get_all`, `(inputs, weights)`.
        sens_param: the last input is the cotangent of the output.

    >>> import adjoint as ad
    >>> from adjoint.train import ForwardValueAndGrad
    >>> value, gradients = ForwardValueAndGrad(lambda x, y: x * y, get_all=True)(ad.Tensor([2.0]), ad.Tensor([3.0]))
    >>> print(value, *gradients)
    [6.] [3.] [2.]
    """

    def __init__(
        self,
        network: Callable[..., Any],
        weights: Sequence[Parameter] | None = None,
        get_all: bool = False,
        get_by_list: bool = False,
        sens_param: bool = False,
    ) -> None:
        super().__init__()
        self.hold("network", network)
        if weights is None and get_by_list:
            if not isinstance(network, Cell):
                raise ArgumentTypeError("ForwardValueAndGrad: get_by_list of a plain function needs `weights`")
            weights = network.trainable_params()
        self.weights = tuple(weights) if get_by_list and weights is not None else None
        self.get_all, self.get_by_list, self.sens_param = get_all, get_by_list, sens_param
        self._made: dict[int, Callable[..., Any]] = {}

    def construct(self, *inputs: Any) -> Any:
        count = len(inputs) - self.sens_param
        if count not in self._made:
            position: Any = tuple(range(count)) if self.get_all else None if self.get_by_list else 0
            self._made[count] = value_and_grad(self.network, position, self.weights, sens_param=self.sens_param)
        value, gradients = self._made[count](*inputs)
        if self.get_all and count == 1:  # one position comes back bare
            inputs_part = gradients[0] if self.get_by_list else gradients
            tupled = inputs_part if isinstance(inputs_part, tuple) else (inputs_part,)
            gradients = (tupled, gradients[1]) if self.get_by_list else tupled
        return value, gradients


class _Step(Wrapper):
    """One step of training. Writing Parameters is no part of a graph: what can be compiled, compiles itself."""

    def __init__(self, network: Any, optimizer: Any) -> None:
        super().__init__()
        what, trained = type(self).__name__, getattr(optimizer, "parameters", None)
        if not callable(optimizer):
            raise ArgumentTypeError(
                f"{what}: optimizer must be an optimiser or a function of the gradients, not {optimizer!r}{called_at()}"
            )
        if not trained and not isinstance(network, Cell):
            raise ArgumentTypeError(
                f"{what}: network must be a Cell, or optimizer one that names its Parameters, not "
                f"{type(network).__name__} and {type(optimizer).__name__}{called_at()}"
            )
        self.hold("network", network)
        self.hold("optimizer", optimizer)
        self.weights = tuple(trained or network.trainable_params())

    def __call__(self, *inputs: Any, **kwargs: Any) -> Any:
        with context.no_grad():  # nothing outside is to follow the step
            return self.construct(*inputs, **kwargs)


class TrainOneStepCell(_Step):
    """A network that returns a loss, and an optimiser: each call is one step of training and returns the loss.

    `sens` scales the gradients. With `return_grad` the result is `(loss, gradients by name)`. `checkpoint` says what is kept for the
    backward pass, as in `grad`; `memory` what a compiled step may take, as in `jit`: that holds in static mode only.
    The manner of MindSpore; ours is `optim.compiled_step`.

    >>> import adjoint as ad
    >>> from adjoint.train import TrainOneStepCell, WithLossCell
    >>> net = ad.nn.Cell()
    >>> net.w = ad.Parameter(ad.Tensor([1.0]))
    >>> net.construct = lambda x: net.w * x
    >>> step = TrainOneStepCell(WithLossCell(net, ad.ops.mse_loss), lambda grads: net.w.set_data(net.w - 0.1 * grads[0]))
    >>> print(step(ad.Tensor([1.0]), ad.Tensor([3.0])), net.w.asnumpy())
    4.0 [1.4]
    """

    def __init__(
        self,
        network: Any,
        optimizer: Any,
        sens: float | None = None,
        return_grad: bool = False,
        checkpoint: str | CheckpointPolicy | None = None,
        memory: int | str | None = None,
    ) -> None:
        super().__init__(network, optimizer)
        self.sens, self.return_grad = sens, return_grad
        self.checkpoint = checked_policy("TrainOneStepCell", checkpoint)
        self.memory = None if memory is None else byte_count("TrainOneStepCell: memory", memory)
        self._gradient = value_and_grad(network, None, weights=self.weights, checkpoint=self.checkpoint)
        self._compiled: Callable[..., Any] | None = None

    def construct(self, *inputs: Any) -> Any:
        if context.static_mode.get() and not self.return_grad and self.sens is None:
            if self._compiled is None:
                self._compiled = _whole_step(self.network, self.weights, self.optimizer, self.checkpoint, self.memory)
            if self._compiled is not None:
                return self._compiled(*inputs)
        if self.memory is not None:
            raise ArgumentError(
                "memory= holds for a compiled step: in static mode (set_context(mode=GRAPH_MODE)), with an optimiser of `ad.optim` and without "
                f"`sens` and `return_grad`. Elsewhere `checkpoint=` lowers what is held{called_at()}"
            )
        loss, gradients = self._gradient(*inputs)
        if self.sens is not None:
            gradients = tuple(g * self.sens for g in gradients)
        self.optimizer(gradients)
        if self.return_grad:
            return loss, {p.name: g for p, g in zip(self.weights, gradients, strict=True)}
        return loss


class TrainOneStepWithLossScaleCell(_Step):
    """A step of training with a scaled loss, for half precision: returns `(loss, overflow, scale)`.

    A step whose gradients are not all finite changes no Parameter; a dynamic scale then gets smaller.

    >>> import adjoint as ad
    >>> from adjoint.train import DynamicLossScaler, TrainOneStepWithLossScaleCell, WithLossCell
    >>> net = ad.nn.Cell()
    >>> net.w = ad.Parameter(ad.Tensor([1.0]))
    >>> net.construct = lambda x: net.w * x
    >>> update = lambda grads: net.w.set_data(net.w - 0.1 * grads[0])
    >>> step = TrainOneStepWithLossScaleCell(WithLossCell(net, ad.ops.mse_loss), update, DynamicLossScaler(1024, 2, 100))
    >>> print(*step(ad.Tensor([1.0]), ad.Tensor([3.0])), net.w.asnumpy())
    4.0 False 1024.0 [1.4]
    """

    def __init__(
        self,
        network: Any,
        optimizer: Any,
        scale_sense: LossScale | float,
        checkpoint: str | CheckpointPolicy | None = None,
    ) -> None:
        super().__init__(network, optimizer)
        self.scaler = loss_scale(scale_sense)

        def scaled(scale: Any, *inputs: Any) -> Any:
            loss = readable(network)(*inputs)
            return ops.cast(loss, float32) * scale, loss

        policy = checked_policy("TrainOneStepWithLossScaleCell", checkpoint)
        self._gradient = value_and_grad(scaled, None, weights=self.weights, has_aux=True, checkpoint=policy)

    def construct(self, *inputs: Any) -> Any:
        scale = self.scaler.scale_value
        with np.errstate(over="ignore", invalid="ignore"):  # an overflow is what the scale is here to find
            (_, loss), gradients = self._gradient(Tensor(np.float32(scale)), *inputs)
        finite = all_finite(gradients)
        if finite or not self.scaler.drop_overflow_update:
            self.optimizer(tuple(g / scale for g in gradients))
        self.scaler.adjust(finite)
        return loss, not finite, scale


def _whole_step(
    network: Any, weights: Sequence[Parameter], optimizer: Any, checkpoint: CheckpointPolicy | None, memory: int | None
) -> Callable[..., Any] | None:
    """Loss, gradients and update as one compiled function; None for an optimiser that is any other function."""
    from adjoint.optim.accumulate import GradientAccumulation  # these load the compiler
    from adjoint.optim.optimizer import Optimizer
    from adjoint.optim.step import compiled_step

    known = isinstance(optimizer, (Optimizer, GradientAccumulation))
    return compiled_step(network, weights, optimizer, checkpoint=checkpoint, memory=memory) if known else None

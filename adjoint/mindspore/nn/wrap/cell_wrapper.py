"""mindspore.nn.wrap.cell_wrapper: Cells around a network: with a loss, with its gradient, with an optimizer."""

from __future__ import annotations

from typing import Any

import numpy as np

from adjoint import ops
from adjoint.api.grad import value_and_grad
from adjoint.core import context
from adjoint.core.tensor import Tensor
from adjoint.mindspore.checks import bools
from adjoint.mindspore.common.parameter import Parameter, ParameterTuple
from adjoint.mindspore.nn.cell import Cell
from adjoint.mindspore.nn.engine_layers import layer
from adjoint.mindspore.nn.grad import ForwardValueAndGrad as ForwardValueAndGrad
from adjoint.mindspore.ops import composite as C
from adjoint.nn import Identity


class _Around(Cell):
    """A Cell that holds others without a name of its own: their Parameters keep the names they have."""

    def __init__(self) -> None:
        super().__init__(auto_prefix=False)


class WithLossCell(_Around):
    """A network with its loss: `loss_fn(backbone(data), label)`.

    >>> from adjoint.mindspore import Tensor, nn
    >>> print(nn.WithLossCell(nn.ReLU(), nn.MSELoss())(Tensor([1.0, 2.0]), Tensor([1.0, 4.0])))
    2.0
    """

    def __init__(self, backbone: Any, loss_fn: Any) -> None:
        super().__init__()
        self._backbone, self._loss_fn = backbone, loss_fn

    def construct(self, data: Any, label: Any) -> Any:
        return context.readable(self._loss_fn)(context.readable(self._backbone)(data), label)

    @property
    def backbone_network(self) -> Any:
        """The network without the loss."""
        return self._backbone


class WithEvalCell(_Around):
    """A network for evaluation: `(loss, output, label)`."""

    def __init__(self, network: Any, loss_fn: Any, add_cast_fp32: bool = False) -> None:
        super().__init__()
        bools("WithEvalCell", add_cast_fp32=add_cast_fp32)
        self._network, self._loss_fn, self.add_cast_fp32 = network, loss_fn, add_cast_fp32

    def construct(self, data: Any, label: Any) -> Any:
        outputs = context.readable(self._network)(data)
        if self.add_cast_fp32:
            outputs = ops.cast(outputs, np.float32)
            label = ops.cast(label, np.float32) if label.dtype.kind == "f" else label
        return context.readable(self._loss_fn)(outputs, label), outputs, label


class WithGradCell(_Around):
    """A network that returns the gradients of its loss by its Parameters."""

    def __init__(self, network: Any, loss_fn: Any = None, sens: Any = None) -> None:
        super().__init__()
        self.network, self.loss_fn, self.sens = network, loss_fn, sens
        self.weights = ParameterTuple(network.trainable_params())
        self.grad = C.GradOperation(get_by_list=True, sens_param=sens is not None)
        self.network_with_loss = network if loss_fn is None else WithLossCell(network, loss_fn)
        self.network_with_loss.set_train()

    def construct(self, *inputs: Any) -> Any:
        given = inputs if self.sens is None else (*inputs, self.sens)
        return self.grad(self.network_with_loss, self.weights)(*given)


class TrainOneStepCell(_Around):
    """A network that returns a loss, and an optimizer: each call is one step of training and returns the loss.

    A subclass may write `construct` anew with `network`, `weights`, `grad`, `grad_reducer`, `sens` and `optimizer`.

    >>> from adjoint.mindspore import Parameter, Tensor, nn
    >>> net = nn.WithLossCell(nn.Dense(1, 1, weight_init="ones", has_bias=False), nn.MSELoss())
    >>> step = nn.TrainOneStepCell(net, nn.SGD(net.trainable_params(), learning_rate=0.25))
    >>> x, y = Tensor([[1.0]]), Tensor([[0.0]])
    >>> print(step(x, y), step(x, y))
    1.0 0.25
    """

    def __init__(self, network: Any, optimizer: Any, sens: Any = None, return_grad: bool = False) -> None:
        super().__init__()
        self.network = network
        self.network.set_grad()
        self.optimizer, self.weights = optimizer, optimizer.parameters
        self.grad = C.GradOperation(get_by_list=True, sens_param=True)
        self.grad_no_sens = C.GradOperation(get_by_list=True)
        if isinstance(sens, (int, float)) and sens == 0:
            raise ValueError("The input argument of 'sens' can not be 0.")
        self.sense_flag, self.sens, self.return_grad = sens is not None, 1.0 if sens is None else sens, return_grad
        if return_grad:
            self.weights_name = [p.name for p in optimizer.parameters]
        self.reducer_flag, self.parallel_mode = False, "stand_alone"
        self.grad_reducer = layer(Identity)()

    def __call__(self, *inputs: Any, **kwargs: Any) -> Any:
        if context.reader.get() is not None:
            return super().__call__(*inputs, **kwargs)
        return self._run(*inputs, **kwargs)  # a step writes: what can be a graph in it, network and gradient, is one

    def loss_and_gradients(self, inputs: tuple[Any, ...], scale: Any = None) -> Any:
        """The loss, and the gradients of the loss times a scale."""
        made = self.__dict__.setdefault("_value_and_grad", {})
        scaled = scale is not None
        if scaled not in made:
            made[scaled] = value_and_grad(self._scaled if scaled else self.network, None, self.weights, has_aux=scaled)
        if not scaled:
            return made[False](*inputs)
        (_, loss), grads = made[True](scale, *inputs)
        return loss, grads

    def _scaled(self, scale: Any, *inputs: Any) -> Any:
        loss = self.network(*inputs)
        return loss * ops.cast(scale, loss.dtype), loss

    def construct(self, *inputs: Any) -> Any:
        loss, grads = self.loss_and_gradients(inputs, Tensor(self.sens) if self.sense_flag else None)
        grads = self.grad_reducer(grads)
        self.optimizer(grads)
        if self.return_grad:
            return loss, dict(zip(self.weights_name, grads, strict=True))
        return loss


class ParameterUpdate(_Around):
    """A Cell that writes its input to a Parameter."""

    def __init__(self, param: Any) -> None:
        super().__init__()
        if not isinstance(param, Parameter):
            raise TypeError(f"For 'ParameterUpdate', 'param' must be 'Parameter', but got {type(param)}.")
        self._param = param

    def construct(self, x: Any) -> Any:
        self._param.set_data(x)
        return x


class VirtualDatasetCellTriple(_Around):
    """The network inside, with three inputs."""

    def __init__(self, backbone: Any) -> None:
        super().__init__()
        self._backbone = backbone

    def construct(self, a: Any, b: Any, c: Any) -> Any:
        return self._backbone(a, b, c)


class _Parts(_Around):
    """The sum of what a network gives for the parts of a batch."""

    def __init__(self, network: Any, count: Any, name: str) -> None:
        super().__init__()
        if not isinstance(network, Cell):
            raise TypeError(
                f"For '{self.cls_name}', the argument 'network' must cell type, but got the type : {type(network)}."
            )
        if not isinstance(count, int):
            raise TypeError(
                f"For '{self.cls_name}', the argument '{name}' must be integer, but got the type : {type(count)}."
            )
        if count <= 0:
            raise ValueError(f"For '{self.cls_name}', the argument '{name}' must be large than 0, but got {count}.")
        self.network = network
        setattr(self, name, count)
        self._count = count

    def construct(self, *inputs: Any) -> Any:
        for x in inputs:
            if x.shape[0] % self._count:
                raise ValueError(
                    f"For micro batch initialization, the 0th dimension shape of input({x.shape[0]}) must be divided by "
                    f"micro size({self._count})"
                )
        total: Any = 0.0
        for i in range(self._count):
            total = total + self.network(*(x[k * i : k * (i + 1)] for x in inputs for k in [x.shape[0] // self._count]))
        return total


class MicroBatchInterleaved(_Parts):
    """The sum of what a network gives for the parts of a batch."""

    def __init__(self, network: Any, interleave_num: int = 2) -> None:
        super().__init__(network, interleave_num, "interleave_num")


class PipelineCell(_Parts):
    """The sum of what a network gives for the parts of a batch; one process has all stages."""

    def __init__(self, network: Any, micro_size: int, stage_config: Any = None, segment_config: Any = None) -> None:
        super().__init__(network, micro_size, "micro_size")
        names = {name for name, _ in network.cells_and_names()} | {str(network)}
        for what, given in (("stage_config", stage_config), ("segment_config", segment_config)):
            if unknown := sorted(set(given or ()) - names):
                raise KeyError(f"For 'PipelineCell', the argument '{what}' : {unknown} is not found in 'network'")


class GradAccumulationCell(_Parts):
    """The sum of what a network gives for the parts of a batch."""

    def __init__(self, network: Any, micro_size: int) -> None:
        super().__init__(network, micro_size, "micro_size")


class GetNextSingleOp(_Around):
    """Not provided: there are no device queues."""

    def __init__(self, dataset_types: Any, dataset_shapes: Any, queue_name: str) -> None:
        raise NotImplementedError(
            "mindspore.nn.GetNextSingleOp is not provided by adjoint.mindspore: iterate the dataset"
        )

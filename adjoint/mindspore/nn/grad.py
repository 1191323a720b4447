"""mindspore.nn.grad: derivatives of networks as Cells."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from adjoint.core import context
from adjoint.mindspore.nn.cell import Cell
from adjoint.mindspore.ops.gradient_functions import GradOperation, value_and_gradients
from adjoint.mindspore.ops.gradient_pass import EVERY, Wanted
from adjoint.mindspore.ops.jacobian_functions import jvp


class Jvp(Cell):
    """`Jvp(fn)(*inputs, v)`: the output of a network and its derivative in the direction `v`.

    >>> from adjoint.mindspore import Tensor, nn, ops
    >>> print(*nn.Jvp(ops.square)(Tensor([3.0]), Tensor([1.0])))
    [9.] [6.]
    """

    def __init__(self, fn: Callable[..., Any]) -> None:
        super().__init__()
        self.fn = fn

    def construct(self, *args: Any) -> Any:
        if len(args) > 2 and not isinstance(args[-1], (tuple, list)):
            raise TypeError(f"Jvp: for {len(args) - 1} inputs v must be a tuple of as many Tensors")
        return jvp(self.fn, args[:-1], args[-1] if len(args) > 2 else (args[-1],))


class Vjp(Cell):
    """`Vjp(fn)(*inputs, v)`: the output of a network, and the cotangent `v` pulled back to the inputs.

    >>> from adjoint.mindspore import Tensor, nn, ops
    >>> print(*nn.Vjp(ops.square)(Tensor([3.0]), Tensor([10.0])))
    [9.] [60.]
    """

    def __init__(self, fn: Callable[..., Any]) -> None:
        super().__init__()
        self.fn = fn

    def construct(self, *args: Any) -> Any:
        value, grads = value_and_gradients("Vjp", self.fn, Wanted(EVERY, sens_param=True))(*args)
        return value, grads if len(args) > 2 else grads[0]


class ForwardValueAndGrad(Cell):
    """A network as a Cell that returns its output and its gradients: `(value, gradients)`.

    >>> from adjoint.mindspore import Tensor, nn, ops
    >>> print(*nn.ForwardValueAndGrad(ops.square)(Tensor([3.0])))
    [9.] [6.]
    """

    def __init__(
        self,
        network: Any,
        weights: Any = None,
        get_all: bool = False,
        get_by_list: bool = False,
        sens_param: bool = False,
    ) -> None:
        super().__init__(auto_prefix=False)
        if not callable(network):
            raise TypeError(
                f"For 'ForwardValueAndGrad', the argument 'network' must be Cell or Function, but got {type(network)}"
            )
        if not isinstance(get_all, bool):
            raise TypeError(f"For 'ForwardValueAndGrad', the type of 'get_all' must be bool, but got {type(get_all)}")
        if not isinstance(get_by_list, bool):
            raise TypeError(
                f"For 'ForwardValueAndGrad', the type of 'get_by_list' must be bool, but got {type(get_by_list)}"
            )
        if get_by_list and not isinstance(weights, (tuple, list)):
            raise TypeError(
                f"For 'ForwardValueAndGrad', when 'get_by_list' is set to True, the argument 'weights' must be list or tuple, "
                f"but got {type(weights)}"
            )
        self.network, self.weights = network, weights
        self.get_all, self.get_by_list, self.sens_param = get_all, get_by_list, sens_param
        self.grad = GradOperation(get_all, get_by_list, sens_param)

    def construct(self, *inputs: Any) -> Any:
        return value_and_gradients("ForwardValueAndGrad", self.network, self.grad.wanted(self.weights))(*inputs)


class CustomVjp(Cell):
    """A function whose derivative is given by `defbwd`."""

    def __init__(self, fwd: Callable[..., Any]) -> None:
        super().__init__()
        self.fwd, self.bwd = fwd, None
        self.add_flags(custom_vjp=True)

    def construct(self, *args: Any) -> Any:
        return context.readable(self.fwd)(*args)

    def defbwd(self, bwd: Any) -> None:
        """Set the rule: `bwd(*inputs, out, dout)` returns one gradient per input."""
        self.bwd = bwd

    def bprop(self, *args: Any) -> Any:
        return context.readable(self.bwd)(*args)

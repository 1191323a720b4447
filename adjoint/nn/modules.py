"""PyTorch's `Module` and `Linear`: Cells with their words."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

from adjoint.core.parameter import Parameter
from adjoint.core.spec import float32
from adjoint.core.tensor import Tensor
from adjoint.nn import cell_habits as habits
from adjoint.nn.basic import Dense
from adjoint.nn.cell import Cell


class Module(Cell):
    """A `Cell` whose computation is called `forward`, as PyTorch's is. Like every Cell it starts in evaluation mode: call `train()`.

    >>> import adjoint as ad
    >>> class Twice(ad.nn.Module):
    ...     def __init__(self):
    ...         super().__init__()
    ...         self.inner = ad.nn.Linear(2, 1, bias=False)
    ...     def forward(self, x):
    ...         return 2 * self.inner(x)
    >>> net = Twice()
    >>> net(ad.ops.ones((3, 2))).shape, [name for name, p in net.named_parameters()]
    ((3, 1), ['inner.weight'])
    """

    def forward(self, *inputs: Any, **kwargs: Any) -> Any:
        """The computation of the network: to be written by each class."""
        raise NotImplementedError(f"{type(self).__name__} has no `forward`: write what the Module computes there")

    def construct(self, *inputs: Any, **kwargs: Any) -> Any:
        return self.forward(*inputs, **kwargs)

    def train(self, mode: bool = True) -> Any:
        """Switch this Module and those inside to training, or out of it."""
        return self.set_train(mode)

    def eval(self) -> Any:
        """Switch this Module and those inside out of training."""
        return self.train(False)

    def state_dict(self) -> dict[str, Tensor]:
        """The values of all Parameters by path, as they are now."""
        return habits.state_dict(self)

    def load_state_dict(self, state_dict: Mapping[str, Any], strict: bool = True) -> habits.MissingAndUnexpected:
        """Put values into the Parameters by path, all or, after an error, none."""
        return habits.load_state_dict(self, state_dict, strict)

    def parameters(self, recurse: bool = True) -> Iterator[Parameter]:
        """Each Parameter once, without running statistics."""
        return habits.parameters(self, recurse)


class Linear(Dense):
    """x @ weight.T + bias, with PyTorch's arguments: `Dense` under its other name.

    >>> import adjoint as ad
    >>> layer = ad.nn.Linear(3, 2, bias=False)
    >>> layer(ad.ops.ones((4, 3))).shape, layer.bias is None
    ((4, 2), True)
    """

    def __init__(self, in_features: int, out_features: int, bias: bool = True, *, dtype: Any = float32) -> None:
        super().__init__(in_features, out_features, has_bias=bias, dtype=dtype)

    @property
    def in_features(self) -> int:
        """Elements of an input's last axis."""
        return self.in_channels

    @property
    def out_features(self) -> int:
        """Elements of a result's last axis."""
        return self.out_channels

"""PyTorch's words on networks: `net.train()`, `net.parameters()`, `net.state_dict()`, `nn.Dense(3, 4, bias=False)`.

The methods are found where a network has no attribute of that name itself, so that a network may have a layer called `modules`.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from typing import Any, NamedTuple

from adjoint.core.keywords import understanding_class
from adjoint.core.parameter import Parameter
from adjoint.core.parameter_values import clear_grad, put_values, value_of
from adjoint.core.tensor import Tensor
from adjoint.nn.cell_text import CellText

#: PyTorch's words for the arguments of layers.
WORDS = {
    "bias": "has_bias",
    "in_features": "in_channels",
    "out_features": "out_channels",
    "num_embeddings": "vocab_size",
    "embedding_dim": "embedding_size",
    "negative_slope": "alpha",
    "eps": "epsilon",
    "epsilon": "eps",
    "groups": "group",
    "num_parameters": "channel",
}
INPLACE = "there is no inplace=: a layer gives a new Tensor, and a compiled function reuses the memory by itself"


class CellHabits(CellText):
    """What lets a layer's constructor understand PyTorch's words, and the methods of PyTorch's modules."""

    def __init_subclass__(cls, **options: Any) -> None:
        super().__init_subclass__(**options)
        if cls.__module__.startswith("adjoint.nn."):
            understanding_class(cls, WORDS, inplace=INPLACE)

    def __getattr__(self, name: str) -> Any:
        if (found := METHODS.get(name)) is not None and "_params" in self.__dict__:
            return found.__get__(self)
        raise AttributeError(f"{type(self).__name__} has no attribute '{name}'")


class MissingAndUnexpected(NamedTuple):
    """What `load_state_dict` did not find: names of the network, and names of the values."""

    missing_keys: list[str]
    unexpected_keys: list[str]


METHODS: dict[str, Callable[..., Any]] = {}


def _method(function: Callable[..., Any]) -> Callable[..., Any]:
    METHODS[function.__name__] = function
    return function


@_method
def train(self: Any, mode: bool = True) -> Any:
    """Switch this Cell and those inside to training: PyTorch's word for `set_train`.

    >>> import adjoint as ad
    >>> ad.nn.Dropout(p=0.5).train().training
    True
    """
    return self.set_train(mode)


@_method
def eval(self: Any) -> Any:
    """Switch this Cell and those inside out of training, in which state they start."""
    return self.set_train(False)


@_method
def parameters(self: Any, recurse: bool = True) -> Iterator[Parameter]:
    """Each Parameter once, trained or not: PyTorch's word for `get_parameters`; an optimiser takes `trainable_params()`.

    A normalisation layer's running statistics are Parameters here, which PyTorch calls buffers and leaves out: so are they here.
    """
    return (p for p in self.get_parameters(recurse) if p not in _buffers(self))


@_method
def named_parameters(self: Any, prefix: str = "", recurse: bool = True) -> Iterator[tuple[str, Parameter]]:
    """Each Parameter once with its path, without running statistics.

    >>> import adjoint as ad
    >>> [name for name, p in ad.nn.SequentialCell(ad.nn.Dense(1, 2), ad.nn.Tanh()).named_parameters()]
    ['0.weight', '0.bias']
    """
    skip = _buffers(self)
    return ((name, p) for name, p in self.parameters_and_names(prefix, recurse) if p not in skip)


@_method
def buffers(self: Any, recurse: bool = True) -> Iterator[Parameter]:
    """The running statistics of normalisation layers."""
    return (p for p in self.get_parameters(recurse) if p in _buffers(self))


def _buffers(cell: Any) -> set[Parameter]:
    """What is no Parameter in PyTorch's sense: never trained, and written to by the layer itself."""
    names = ("moving_mean", "moving_variance")
    return {c._params[n] for _, c in cell.cells_and_names() for n in names if n in c._params}


@_method
def children(self: Any) -> Iterator[Any]:
    """The Cells directly inside."""
    return iter(self.cells())


@_method
def named_children(self: Any) -> Iterator[tuple[str, Any]]:
    """The Cells directly inside, with their names."""
    return iter(self.name_cells().items())


@_method
def modules(self: Any) -> Iterator[Any]:
    """This Cell and all inside it, each once."""
    return (cell for _, cell in self.cells_and_names())


@_method
def named_modules(self: Any, prefix: str = "") -> Iterator[tuple[str, Any]]:
    """This Cell and all inside it, each once, with their paths."""
    return self.cells_and_names(prefix)


@_method
def requires_grad_(self: Any, requires_grad: bool = True) -> Any:
    """Let all Parameters be trained, or none; running statistics stay as they are."""
    for p in parameters(self):
        p.requires_grad = requires_grad
    return self


@_method
def zero_grad(self: Any, set_to_none: bool = True) -> None:
    """Forget what `backward()` has accumulated in the Parameters."""
    for p in self.get_parameters():
        clear_grad(p, set_to_none)


@_method
def state_dict(self: Any) -> dict[str, Tensor]:
    """The values of all Parameters by path, as they are now: later training does not change them.

    >>> import adjoint as ad
    >>> net = ad.nn.Dense(1, 1, weight_init=2.0, bias_init=0.0)
    >>> kept = net.state_dict()
    >>> _ = net.weight.set_data(ad.Tensor([[5.0]]))
    >>> net.load_state_dict(kept).missing_keys, net.weight.item()
    ([], 2.0)
    """
    return {name: value_of(p) for name, p in self.parameters_and_names()}


@_method
def load_state_dict(self: Any, state_dict: Mapping[str, Any], strict: bool = True) -> MissingAndUnexpected:
    """Put values into the Parameters by path, all or, after an error, none. Unless `strict`, names may be missing or too many."""
    found = put_values(type(self).__name__, dict(self.parameters_and_names()), state_dict, strict)
    return MissingAndUnexpected(*found)


def _to_gpu(self: Any, device: Any = None) -> Any:
    """Move the network to a GPU."""
    return self.to("gpu" if device is None else f"gpu:{device}" if isinstance(device, int) else device)


METHODS |= {"cuda": _to_gpu, "cpu": lambda self: self.to("cpu")}

"""Methods of Tensors that write random numbers or elements over them, and functions that do the same."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from adjoint import ops as _engine
from adjoint.core import views
from adjoint.core.parameter import Parameter
from adjoint.core.tensor import Tensor
from adjoint.mindspore import ops
from adjoint.mindspore.ops.random_functions import cauchy
from adjoint.mindspore.tensor_arguments import index_add as _index_add


def stored(change: Callable[..., Any]) -> Callable[..., Any]:
    """A method that writes what a function gives over the Tensor, and returns it."""

    def call(x: Any, *args: Any, **kwargs: Any) -> Any:
        new = change(x.value() if isinstance(x, Parameter) else x + 0, *args, **kwargs)
        new = new if new.dtype == x.dtype else new.astype(x.dtype)
        if isinstance(x, Parameter):
            x.set_data(new)
        else:
            x._refuse_leaf("a method that writes to x", "x.copy()")
            views.keep(x, shown=True)
            views.write(x, new)
        return x

    return call


def _seeded(generator: Any) -> Any:
    """The seed of the next numbers of a generator; None takes the program's own."""
    return None if generator is None else generator.next_seed()


def _uniform(x: Any, from_: Any = 0, to: Any = 1, *, generator: Any = None) -> Any:
    return from_ + (to - from_) * _engine.rand(*x.shape, seed=_seeded(generator))


def _normal(x: Any, mean: Any = 0, std: Any = 1, *, generator: Any = None) -> Any:
    return mean + std * _engine.randn(*x.shape, seed=_seeded(generator))


def _bernoulli(x: Any, p: Any = 0.5, *, generator: Any = None) -> Any:
    return _engine.cast(_engine.less(_engine.rand(*x.shape, seed=_seeded(generator)), p), x.dtype)


def _exponential(x: Any, lambd: Any = 1, *, generator: Any = None) -> Any:
    return -_engine.log1p(-_engine.rand(*x.shape, seed=_seeded(generator))) / lambd


def _random(x: Any, from_: Any = 0, to: Any = None, *, generator: Any = None) -> Any:
    """Integers from `from_`, or 0, to below `to`: `random_(5)` gives them below 5."""
    high = (2**24 if x.dtype.kind == "f" else np.iinfo(x.dtype).max) if to is None else to
    return _engine.floor(from_ + (high - from_) * _engine.rand(*x.shape, seed=_seeded(generator)))


def _put(x: Any, index: Any, source: Any, accumulate: bool = False) -> Any:
    """Elements at places of the flattened Tensor replaced, or added to."""
    line, at = _engine.reshape(x, (-1,)), _engine.reshape(index, (-1, 1))
    write = ops.tensor_scatter_add if accumulate else ops.tensor_scatter_update
    return _engine.reshape(write(line, at, _engine.reshape(source, (-1,))), x.shape)


def _index_copy(x: Any, dim: int, index: Any, tensor: Any) -> Any:
    """Slices along an axis replaced."""
    front, rows = _engine.moveaxis(x, dim, 0), _engine.moveaxis(tensor, dim, 0)
    return _engine.moveaxis(ops.tensor_scatter_update(front, _engine.reshape(index, (-1, 1)), rows), 0, dim)


def _cauchy(x: Any, median: float = 0.0, sigma: float = 1.0) -> Any:
    """A Tensor of the shape, of numbers of the Cauchy distribution."""
    return cauchy(x.shape, median, sigma)


def _log_normal(x: Any, mean: float = 1.0, std: float = 2.0) -> Any:
    """A Tensor of the shape, of numbers whose logarithms are normal."""
    return _engine.exp(mean + std * _engine.randn(*x.shape))


#: What is written over a Tensor: methods, and functions of `mindspore.ops` too.
STORES: dict[str, Callable[..., Any]] = {
    "uniform_": stored(_uniform), "normal_": stored(_normal), "bernoulli_": stored(_bernoulli),
    "exponential_": stored(_exponential), "random_": stored(_random), "put_": stored(_put),
    "index_copy_": stored(_index_copy), "zero_": stored(lambda x: _engine.zeros_like(x)),
    "clamp_": stored(lambda x, min=None, max=None: ops.clamp(x, min, max)), "tanh_": stored(lambda x: ops.tanh(x)),
    "erfinv_": stored(lambda x: ops.erfinv(x)),
}  # fmt: skip

#: Further methods.
METHODS: dict[str, Callable[..., Any]] = {
    **STORES, "index_add_": stored(_index_add), "cauchy": _cauchy, "log_normal": _log_normal, "bitwise_not": lambda x: ops.bitwise_not(x),
    "scatter_sub": lambda x, indices, updates: ops.tensor_scatter_sub(x, indices, updates),
    "clone": lambda x: x.copy(), "to_": lambda x, device=None, non_blocking=False: x, "hooks": lambda x: [], "data_sync": lambda x, wait=True: None,
    "wait_pipeline": lambda x: None, "offload_file_path": lambda x: "", "is_init": lambda x: False,
    "kthvalue": lambda x, k, dim=-1, keepdim=False: _kth(x, k, dim, keepdim),
    "to_coo": lambda x: ops.dense_to_sparse_coo(x), "to_csr": lambda x: ops.dense_to_sparse_csr(x),
    "assign_value_cpp": lambda x, value: x.assign_value(value),
}  # fmt: skip

#: Further attributes.
ATTRIBUTES: dict[str, Callable[[Any], Any]] = {
    "init_finished": lambda x: True, "init_flag": lambda x: False, "is_meta": lambda x: False, "delta_seed": lambda x: 0,
    "param_info": lambda x: None, "symbolic_shape": lambda x: None,
}  # fmt: skip


def _kth(x: Any, k: int, dim: int, keepdim: bool) -> Any:
    """The k-th smallest value along an axis, and where it is."""
    values, places = ops.sort(x, dim := dim % x.ndim)
    pick = _engine.slice_axis(values, dim, k - 1, k), _engine.slice_axis(places, dim, k - 1, k)
    return pick if keepdim else tuple(_engine.squeeze(v, dim) for v in pick)


def functions() -> dict[str, Callable[..., Any]]:
    """The functions of `mindspore.ops` that write over a Tensor: `ops.zero_(x)`.

    >>> import adjoint.mindspore as mindspore
    >>> x = mindspore.Tensor([1.0, 2.0])
    >>> print(mindspore.ops.zero_(x), x)
    [0. 0.] [0. 0.]
    """
    return {name: method for name, method in STORES.items() if name != "index_copy_"}


__all__ = ["ATTRIBUTES", "METHODS", "STORES", "Tensor", "functions", "stored"]

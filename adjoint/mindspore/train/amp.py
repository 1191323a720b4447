"""mindspore.train.amp: networks in mixed precision, and their steps of training."""

from __future__ import annotations

import inspect
from typing import Any

import numpy as np

from adjoint import ops
from adjoint.core import tree
from adjoint.core.dispatch import is_float
from adjoint.core.spec import dtype_of, is_half
from adjoint.mindspore.checks import bools, type_error
from adjoint.mindspore.nn.cell import Cell
from adjoint.mindspore.nn.engine_layers import layer
from adjoint.mindspore.nn.optim.optimizer import Optimizer
from adjoint.mindspore.nn.wrap.cell_wrapper import TrainOneStepCell, WithLossCell
from adjoint.mindspore.nn.wrap.loss_scale import TrainOneStepWithLossScaleCell
from adjoint.mindspore.train.loss_scale_manager import LossScaleManager
from adjoint.nn import precision

LEVELS = ("O0", "O1", "O2", "O3", "auto")
CONFIG = {  # whether normalisation stays in float32, and what the network computes in
    "O0": (False, "float32"), "O1": (False, "float32"), "O2": (True, "float16"), "O3": (False, "float16"),
    "auto": (False, "float32"),
}  # fmt: skip


def get_white_list() -> list[Any]:
    """The layers that level "O1" computes in half precision."""
    from adjoint.mindspore import nn

    names = ("Conv1d", "Conv2d", "Conv3d", "Conv1dTranspose", "Conv2dTranspose", "Conv3dTranspose", "Dense", "LSTMCell",
             "RNNCell", "GRUCell")  # fmt: skip
    return [kind for name in names if isinstance(kind := getattr(nn, name), type)]


def get_black_list() -> list[Any]:
    """The Cells that level "O2" leaves in float32."""
    return [layer(kind) for kind in precision.get_black_list()]


class _OutputTo32(Cell):
    """A network whose output is cast to float32."""

    def __init__(self, backbone: Any) -> None:
        super().__init__(auto_prefix=False)
        self._backbone = backbone

    def construct(self, *args: Any, **kwargs: Any) -> Any:
        return in_single(self._backbone(*args, **kwargs))


class _OutputTo(Cell):
    """A network whose output is cast to half precision again."""

    def __init__(self, backbone: Any, dtype: Any) -> None:
        super().__init__(auto_prefix=False)
        self._backbone, self.dtype = backbone, dtype

    def construct(self, *args: Any, **kwargs: Any) -> Any:
        out = self._backbone(*args, **kwargs)
        return tree.map(lambda x: ops.cast(x, self.dtype) if is_float(x) else x, out)


def in_single(value: Any) -> Any:
    """Tensors of half precision in float32, all else as it is."""
    return tree.map(lambda x: ops.cast(x, np.float32) if is_float(x) and is_half(dtype_of(x)) else x, value)


def _all_but(network: Any, spared: tuple[type, ...], dtype: Any) -> Any:
    """A network in half precision, except for some Cells, whose outputs are cast back to it."""
    network.to_float(dtype)
    inside: list[tuple[str, Any]] = list(network._cells.items())
    for name, cell in inside:
        if isinstance(cell, spared):
            network._mark(name)
            spared_cell: Any = cell
            single = spared_cell.to_float(np.float32)
            network._cells[name] = _OutputTo(single, dtype)
        else:
            _all_but(cell, spared, dtype)
    return network


def _half(dtype: Any) -> Any:
    if not is_half(np.dtype(dtype)):
        raise ValueError(f"The dtype should be one of (mstype.float16, mstype.bfloat16), but got {dtype}.")
    return np.dtype(dtype)


def auto_mixed_precision(network: Any, amp_level: str = "O0", dtype: Any = np.float16) -> Any:
    """The network in mixed precision: "O1" and "auto" by single ops, "O2" all but normalisation, "O3" everything.

    >>> from adjoint.mindspore import Tensor, amp, nn
    >>> y = amp.auto_mixed_precision(nn.Dense(1, 1, weight_init="ones"), "O3")(Tensor([[1 / 3]]))
    >>> print(y.dtype)
    float32
    """
    if not isinstance(network, Cell):
        if amp_level == "auto" and (inspect.isfunction(network) or inspect.ismethod(network)):
            return _function_by_op(network, _half(dtype))
        raise TypeError(f"For amp_level '{amp_level}', the network type should be Cell.")
    dtype = _half(dtype)
    if amp_level == "O0":
        return network
    if amp_level in ("O1", "auto"):
        network._surround(precision.ByOp(dtype, tuple(precision.get_white_list())))
    elif amp_level == "O2":
        network = _OutputTo32(_all_but(network, tuple(get_black_list()), dtype))
    elif amp_level == "O3":
        network = _OutputTo32(network.to_float(dtype))
    else:
        raise ValueError(f"The amp level {amp_level} is not supported")
    network.__dict__["_amp_level"] = amp_level
    return network


class _Function(Cell):
    def __init__(self, fn: Any) -> None:
        super().__init__()
        self.fn = fn

    def construct(self, *args: Any) -> Any:
        return self.fn(*args)


def _function_by_op(fn: Any, dtype: Any) -> Any:
    cell = _Function(fn)
    cell._surround(precision.ByOp(dtype, tuple(precision.get_white_list())))
    return cell


def custom_mixed_precision(
    network: Any, *, white_list: Any = None, black_list: Any = None, dtype: Any = np.float16
) -> Any:
    """The network in mixed precision by one's own list: Cells to compute in half precision, or Cells not to."""
    if not isinstance(network, Cell):
        raise TypeError("The network type should be Cell.")
    if (white_list is None) == (black_list is None):
        raise ValueError("For custom_mixed_precision, one of white_list and black_list must be provided, not both.")
    dtype, name = _half(dtype), "black_list" if white_list is None else "white_list"
    chosen = black_list if white_list is None else white_list
    if not isinstance(chosen, list):
        raise TypeError(f"The type of {name} should be list, but got {type(chosen)}")
    for kind in chosen:
        if not isinstance(kind, type):
            raise TypeError(f"The element in {name} should be a class, but got {kind}")
    if white_list is None:
        if not all(issubclass(kind, Cell) for kind in chosen):
            raise TypeError(f"The subclass of element in black_list should be one of 'Cell', but got {chosen}")
        return _OutputTo32(_all_but(network, tuple(chosen), dtype))
    return _only(network, tuple(chosen), dtype)


def _only(network: Any, chosen: tuple[type, ...], dtype: Any) -> Any:
    """A network of which some Cells, and some primitives that Cells hold, compute in half precision."""
    from adjoint.mindspore.ops.primitive import Primitive

    inside: list[tuple[str, Any]] = list(network.cells_and_names())
    for _, cell in inside:
        if isinstance(cell, tuple(k for k in chosen if issubclass(k, Cell))):
            lowered: Any = cell
            lowered.to_float(dtype).register_forward_hook(lambda cell, inputs, output: in_single(output))
        for name, op in list(vars(cell).items()):
            if isinstance(op, Primitive) and isinstance(op, chosen):
                setattr(cell, name, _Lowered(op, dtype))
    return network


class _Lowered:
    """A primitive that computes in half precision and gives float32."""

    def __init__(self, op: Any, dtype: Any) -> None:
        self.op, self.dtype = op, dtype

    def __call__(self, *args: Any) -> Any:
        return in_single(self.op(*(ops.cast(x, self.dtype) if is_float(x) else x for x in args)))


# ---------------------------------------------------------------- steps of training


class _LossIn32(WithLossCell):
    """A network with its loss, which is computed in float32."""

    def construct(self, data: Any, label: Any) -> Any:
        return self._loss_fn(in_single(self._backbone(data)), in_single(label))


def build_train_network(
    network: Any, optimizer: Any, loss_fn: Any = None, level: str = "O0", boost_level: str = "O0", **kwargs: Any
) -> Any:
    """A network with loss and optimizer in mixed precision: each call is one step of training."""
    if not isinstance(optimizer, Optimizer):
        raise type_error("build_train_network", "optimizer", "Optimizer", optimizer)
    if not isinstance(level, str):
        raise TypeError(f"The argument `level` must be a string in {list(LEVELS)}, but got type {type(level)}.")
    if level not in LEVELS or boost_level not in ("O0", "O1", "O2"):
        raise ValueError(
            f"The level must be one of {LEVELS}, the boost_level O0, O1 or O2, not {level} and {boost_level}."
        )
    if boost_level != "O0":
        raise NotImplementedError("build_train_network: boost_level is not provided by adjoint.mindspore")
    if unknown := set(kwargs) - {"cast_model_type", "keep_batchnorm_fp32", "loss_scale_manager"}:
        raise ValueError(f"Unsupported arg '{min(unknown)}'")
    keep, cast = CONFIG[level]
    keep, cast = kwargs.get("keep_batchnorm_fp32", keep), np.dtype(kwargs.get("cast_model_type", cast))
    bools("build_train_network", keep_batchnorm_fp32=keep)
    network = _lowered(network, level, keep, cast)
    if loss_fn is not None and loss_fn:
        if not isinstance(loss_fn, Cell):
            raise type_error("build_train_network", "loss_fn", "Cell", loss_fn)
        half = cast == np.float16 or getattr(network, "_amp_level", "") in ("O2", "O3", "auto")
        network = (_LossIn32 if half else WithLossCell)(network, loss_fn)
    return _step(network, optimizer, kwargs.get("loss_scale_manager"))


def _lowered(network: Any, level: str, keep: bool, cast: np.dtype) -> Any:
    if cast == np.float16:
        return _all_but(network, tuple(get_black_list()), cast) if keep else network.to_float(cast)
    if not keep and level == "O2":
        return network.to_float(np.float16)
    if level in ("O2", "O3"):
        return network
    return auto_mixed_precision(network, level)


def _step(network: Any, optimizer: Any, manager: Any) -> Any:
    if manager is None:
        return TrainOneStepCell(network, optimizer).set_train()
    if not isinstance(manager, LossScaleManager):
        raise type_error("build_train_network", "loss_scale_manager", "LossScaleManager", manager)
    update = manager.get_update_cell()
    if update is not None:
        return TrainOneStepWithLossScaleCell(network, optimizer, update).set_train()
    return TrainOneStepCell(network, optimizer, manager.get_loss_scale()).set_train()

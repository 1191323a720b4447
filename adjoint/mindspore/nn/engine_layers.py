"""The layers of the engine as subclasses of `mindspore.nn.Cell`."""

from __future__ import annotations

from types import new_class
from typing import Any

from adjoint import nn as _nn
from adjoint.mindspore.nn.cell import Cell as _Cell
from adjoint.nn.cell import Cell as _EngineCell

_made: dict[type, type] = {_EngineCell: _Cell}

#: Layers that MindSpore shows without their settings, beside the losses.
_SILENT = {
    "AdaptiveAvgPool1d", "AdaptiveAvgPool2d", "AdaptiveAvgPool3d", "AdaptiveMaxPool1d", "CELU", "ConstantPad1d",
    "ConstantPad2d", "ConstantPad3d", "Dropout1d", "ELU", "Flatten", "GELU", "GLU", "GRUCell", "HShrink", "Hardtanh",
    "LSTMCell", "LeakyReLU", "LogSoftmax", "Pad", "RNNCell", "ReflectionPad1d", "ReflectionPad2d", "ReflectionPad3d",
    "ReplicationPad1d", "ReplicationPad2d", "ReplicationPad3d", "SoftShrink", "Softmax", "Softmin", "Threshold",
    "Unflatten", "ZeroPad2d",
}  # fmt: skip


def layer(kind: type) -> Any:
    """The class of MindSpore for a class of Cells of the engine: a subclass of both, and of those for its bases.

    >>> from adjoint import nn
    >>> issubclass(layer(nn.Dense), nn.Dense), issubclass(layer(nn.MSELoss), layer(nn.LossBase))
    (True, True)
    """
    if kind not in _made:
        bases = [layer(base) for base in kind.__bases__ if issubclass(base, _EngineCell)]
        members: dict[str, Any] = {"__module__": "mindspore.nn", "__doc__": kind.__doc__, "__qualname__": kind.__name__}
        if kind.__name__ in _SILENT or issubclass(kind, _nn.LossBase):
            members["extra_repr"] = lambda self: ""
        if hasattr(kind, "__len__"):
            members["__bool__"] = lambda self: len(self) > 0
        _made[kind] = new_class(kind.__name__, (kind, *bases), {}, lambda namespace: namespace.update(members))
    return _made[kind]


def _is_layer(x: Any) -> bool:
    return isinstance(x, type) and issubclass(x, _EngineCell) and x is not _EngineCell


__all__ = sorted(name for name, x in vars(_nn).items() if name[0].isupper() and _is_layer(x))
globals().update({name: layer(getattr(_nn, name)) for name in __all__})

"""Recurrent layers, with their Parameters in MindSpore's order: by kind, not by layer."""

from __future__ import annotations

from typing import Any

from adjoint import nn
from adjoint.mindspore.nn.engine_layers import layer

__all__ = ["GRU", "LSTM", "RNN"]

_KINDS = ("weight_ih", "weight_hh", "bias_ih", "bias_hh")


def _by_kind(cell: Any) -> None:
    """Put Parameters of one kind behind one another."""
    params = cell.__dict__["_params"]
    rank = {kind: k for k, kind in enumerate(_KINDS)}
    for name in sorted(params, key=lambda name: rank[name.rpartition("_l")[0].removesuffix("_reverse")]):
        params[name] = params.pop(name)


class GRU(layer(nn.GRU)):  # type: ignore[misc]
    """GRU layers."""

    def __init__(self, *args: Any, **kwargs: Any) -> None:
        super().__init__(*args, **kwargs)
        _by_kind(self)


class LSTM(layer(nn.LSTM)):  # type: ignore[misc]
    """LSTM layers; the states are pairs (h, c).

    >>> [p.name for p in LSTM(2, 3, num_layers=2, has_bias=False).get_parameters()]
    ['weight_ih_l0', 'weight_ih_l1', 'weight_hh_l0', 'weight_hh_l1']
    """

    def __init__(self, *args: Any, **kwargs: Any) -> None:
        super().__init__(*args, **kwargs)
        _by_kind(self)


class RNN(layer(nn.RNN)):  # type: ignore[misc]
    """Recurrent layers with tanh or relu, which is given as the keyword `nonlinearity`."""

    def __init__(self, *args: Any, nonlinearity: str = "tanh", **kwargs: Any) -> None:
        names = (
            "input_size",
            "hidden_size",
            "num_layers",
            "has_bias",
            "batch_first",
            "dropout",
            "bidirectional",
            "dtype",
        )
        super().__init__(**dict(zip(names, args, strict=False)), **kwargs, nonlinearity=nonlinearity)
        _by_kind(self)

"""Recurrent layers and their cells: loops over time in plain Python, which a compiled graph keeps as loops."""

from __future__ import annotations

import math
from typing import Any

from adjoint import ops
from adjoint.core.errors import ArgumentError, ShapeError, called_at
from adjoint.core.parameter import Parameter
from adjoint.core.spec import dtype_of, float32, shape_of
from adjoint.nn.basic import Dropout, positive
from adjoint.nn.cell import Cell
from adjoint.nn.initializer import Uniform, initializer
from adjoint.nn.layer_state import traced
from adjoint.ops.functional.creation import zeros_beside

# ---------------------------------------------------------------- one step


def _rnn_step(act: Any, gates_x: Any, state: Any, w_hh: Any, b_hh: Any) -> Any:
    """The state (h,) after one step; `gates_x` is the input's part of what the activation sees."""
    (h,) = state
    return (act(gates_x + _linear(h, w_hh, b_hh)),)


def _gru_step(act: Any, gates_x: Any, state: Any, w_hh: Any, b_hh: Any) -> Any:
    """The state (h,) after one step; the gates are reset, update, new."""
    (h,) = state
    n = shape_of(h)[-1]
    gates_h = _linear(h, w_hh, b_hh)
    reset = ops.sigmoid(gates_x[..., :n] + gates_h[..., :n])
    update = ops.sigmoid(gates_x[..., n : 2 * n] + gates_h[..., n : 2 * n])
    new = ops.tanh(gates_x[..., 2 * n :] + reset * gates_h[..., 2 * n :])
    return (new + update * (h - new),)


def _lstm_step(act: Any, gates_x: Any, state: Any, w_hh: Any, b_hh: Any) -> Any:
    """The state (h, c) after one step; the gates are input, forget, cell, output."""
    h, c = state
    n = shape_of(h)[-1]
    gates = gates_x + _linear(h, w_hh, b_hh)
    come, stay, out = (ops.sigmoid(gates[..., k * n : (k + 1) * n]) for k in (0, 1, 3))
    c = stay * c + come * ops.tanh(gates[..., 2 * n : 3 * n])
    return (out * ops.tanh(c), c)


def _linear(x: Any, weight: Any, bias: Any) -> Any:
    y = x @ weight.T
    return y if bias is None else y + bias


_ACTS = {"tanh": ops.tanh, "relu": ops.relu}


def _act(what: str, nonlinearity: str) -> Any:
    if nonlinearity not in _ACTS:
        raise ArgumentError(f"{what}: nonlinearity must be 'tanh' or 'relu', not {nonlinearity!r}{called_at()}")
    return _ACTS[nonlinearity]


# ---------------------------------------------------------------- cells


class _OneStep(Cell):
    """A recurrent cell: one step of (N, input_size), or of a single sample."""

    step: Any
    gates = 1
    states = 1

    def __init__(self, input_size: int, hidden_size: int, has_bias: bool = True, dtype: Any = float32) -> None:
        super().__init__()
        positive(type(self).__name__, input_size=input_size, hidden_size=hidden_size)
        self.input_size, self.hidden_size, self.has_bias = input_size, hidden_size, has_bias
        self.act = ops.tanh
        rows, init = self.gates * hidden_size, Uniform(1 / math.sqrt(hidden_size))
        self.weight_ih = Parameter(initializer(init, (rows, input_size), dtype))
        self.weight_hh = Parameter(initializer(init, (rows, hidden_size), dtype))
        self.bias_ih = Parameter(initializer(init, (rows,), dtype)) if has_bias else None
        self.bias_hh = Parameter(initializer(init, (rows,), dtype)) if has_bias else None

    def construct(self, x: Any, hx: Any = None) -> Any:
        if not shape_of(x) or shape_of(x)[-1] != self.input_size:
            raise ShapeError(
                f"{type(self).__name__}: the last axis must have {self.input_size} elements, but the shape is "
                f"{shape_of(x)}{called_at()}"
            )
        if hx is None:
            hx = (zeros_beside(x, (*shape_of(x)[:-1], self.hidden_size)),) * self.states
        state = tuple(hx) if isinstance(hx, (tuple, list)) else (hx,)
        gates_x = _linear(x, self.weight_ih, self.bias_ih)
        state = type(self).step(self.act, gates_x, state, self.weight_hh, self.bias_hh)
        return state if self.states > 1 else state[0]

    def extra_repr(self) -> str:
        return f"{self.input_size}, {self.hidden_size}, has_bias={self.has_bias}"


class RNNCell(_OneStep):
    """One step of a simple recurrent layer: tanh(x W_ih.T + b_ih + h W_hh.T + b_hh).

    >>> import adjoint as ad
    >>> ad.nn.RNNCell(3, 4)(ad.ops.ones((2, 3)), ad.ops.zeros((2, 4))).shape
    (2, 4)
    """

    step = staticmethod(_rnn_step)

    def __init__(
        self, input_size: int, hidden_size: int, has_bias: bool = True, nonlinearity: str = "tanh",
        dtype: Any = float32,
    ) -> None:  # fmt: skip
        super().__init__(input_size, hidden_size, has_bias, dtype)
        self.act = _act("RNNCell", nonlinearity)


class GRUCell(_OneStep):
    """One step of a GRU; the weights hold the gates reset, update, new, one below the other.

    >>> import adjoint as ad
    >>> ad.nn.GRUCell(3, 4)(ad.ops.ones((2, 3)), ad.ops.zeros((2, 4))).shape
    (2, 4)
    """

    step, gates = staticmethod(_gru_step), 3


class LSTMCell(_OneStep):
    """One step of an LSTM, from (h, c) to (h, c); the weights hold the gates input, forget, cell, output.

    >>> import adjoint as ad
    >>> h, c = ad.nn.LSTMCell(3, 4)(ad.ops.ones((2, 3)), (ad.ops.zeros((2, 4)), ad.ops.zeros((2, 4))))
    >>> h.shape, c.shape
    ((2, 4), (2, 4))
    """

    step, gates, states = staticmethod(_lstm_step), 4, 2


# ---------------------------------------------------------------- layers


class _Recurrent(Cell):
    """Stacked recurrent layers over (L, N, input_size)."""

    step: Any
    gates = 1
    states = 1
    adds_bias = True  # whether the two biases come in as a sum, which is then made once before the loop

    def __init__(
        self, input_size: int, hidden_size: int, num_layers: int = 1, has_bias: bool = True,
        batch_first: bool = False, dropout: float = 0.0, bidirectional: bool = False, dtype: Any = float32,
    ) -> None:  # fmt: skip
        super().__init__()
        positive(type(self).__name__, input_size=input_size, hidden_size=hidden_size, num_layers=num_layers)
        self.input_size, self.hidden_size, self.num_layers = input_size, hidden_size, num_layers
        self.has_bias, self.batch_first, self.bidirectional = has_bias, batch_first, bidirectional
        self.dropout = Dropout(p=dropout) if dropout else None
        self.act = ops.tanh
        ways = 2 if bidirectional else 1
        rows, init = self.gates * hidden_size, Uniform(1 / math.sqrt(hidden_size))
        for layer in range(num_layers):
            width = input_size if layer == 0 else hidden_size * ways
            for suffix in ("", "_reverse")[:ways]:
                shapes: dict[str, tuple[int, ...]] = {"weight_ih": (rows, width), "weight_hh": (rows, hidden_size)}
                shapes |= {"bias_ih": (rows,), "bias_hh": (rows,)} if has_bias else {}
                for name, shape in shapes.items():
                    setattr(self, f"{name}_l{layer}{suffix}", Parameter(initializer(init, shape, dtype)))

    def construct(self, x: Any, hx: Any = None, seq_length: Any = None) -> Any:
        if len(shape_of(x)) != 3 or shape_of(x)[-1] != self.input_size:
            order = "(N, L, " if self.batch_first else "(L, N, "
            raise ShapeError(
                f"{type(self).__name__}: an input {order}{self.input_size}) is needed, not the shape "
                f"{shape_of(x)}{called_at()}"
            )
        x = ops.swapaxes(x, 0, 1) if self.batch_first else x
        starts = self._starts(x, hx)
        inside = None if seq_length is None else _inside(seq_length, shape_of(x)[0])
        ways = ("", "_reverse") if self.bidirectional else ("",)
        ends: list[Any] = []
        for layer in range(self.num_layers):
            if layer and self.dropout is not None:
                x = self.dropout(x)
            found = []
            for suffix in ways:
                start = tuple(s[len(ends)] for s in starts)
                out, end = self._pass(x, start, f"_l{layer}{suffix}", suffix != "", inside)
                found.append(out)
                ends.append(end)
            x = ops.concat(found, -1) if len(found) > 1 else found[0]
        last = tuple(ops.stack([end[k] for end in ends]) for k in range(self.states))
        x = ops.swapaxes(x, 0, 1) if self.batch_first else x
        return x, last if self.states > 1 else last[0]

    def _starts(self, x: Any, hx: Any) -> tuple[Any, ...]:
        """The first states (layers x ways, N, hidden_size)."""
        shape = (self.num_layers * (2 if self.bidirectional else 1), shape_of(x)[1], self.hidden_size)
        if hx is None:
            return (zeros_beside(x, shape),) * self.states
        starts = tuple(hx) if isinstance(hx, (tuple, list)) else (hx,)
        if len(starts) != self.states or any(shape_of(s) != shape for s in starts):
            raise ShapeError(
                f"{type(self).__name__}: hx must be {self.states} Tensor(s) of shape {shape}, not of "
                f"{', '.join(str(shape_of(s)) for s in starts)}{called_at()}"
            )
        return starts

    def _pass(self, x: Any, state: Any, suffix: str, backwards: bool, inside: Any) -> tuple[Any, Any]:
        """One layer in one direction: the outputs of all times, and the last state."""
        w_hh = getattr(self, f"weight_hh{suffix}")
        b_ih: Any = getattr(self, f"bias_ih{suffix}") if self.has_bias else None
        b_hh: Any = getattr(self, f"bias_hh{suffix}") if self.has_bias else None
        if self.has_bias and self.adds_bias:
            b_ih, b_hh = b_ih + b_hh, None
        x = ops.flip(x, (0,)) if backwards else x
        if inside is not None:
            inside = ops.flip(inside, (0,)) if backwards else inside
        gates_x = _linear(x, getattr(self, f"weight_ih{suffix}"), b_ih)  # of all times in one product
        outputs = _no_outputs((*shape_of(x)[:2], self.hidden_size), dtype_of(gates_x))
        for t in range(shape_of(x)[0]):
            new = type(self).step(self.act, gates_x[t], state, w_hh, b_hh)
            if inside is None:
                state = new
                outputs = _with_output(outputs, t, state[0])
            else:  # past its end, a sequence stays as it is and gives zeros
                state = tuple(ops.where(inside[t], a, b) for a, b in zip(new, state, strict=True))
                outputs = _with_output(outputs, t, ops.where(inside[t], new[0], 0))
        found = ops.stack(outputs) if isinstance(outputs, list) else outputs
        return (ops.flip(found, (0,)) if backwards else found), state

    def extra_repr(self) -> str:
        more = ", bidirectional=True" if self.bidirectional else ""
        return f"{self.input_size}, {self.hidden_size}, num_layers={self.num_layers}{more}"


def _no_outputs(shape: tuple[int, ...], dtype: Any) -> Any:
    """Room for the outputs of all times: an array that a graph's loop fills in place; a list if Python runs the loop."""
    return ops.zeros(shape, dtype) if traced() or not shape[0] else []


def _with_output(outputs: Any, t: int, h: Any) -> Any:
    if isinstance(outputs, list):
        outputs.append(h)
    else:
        outputs[t] = h
    return outputs


def _inside(lengths: Any, steps: int) -> Any:
    """Which times (L, N, 1) lie within each sequence."""
    return ops.expand_dims(ops.expand_dims(ops.arange(steps), 1) < ops.expand_dims(lengths, 0), -1)


class RNN(_Recurrent):
    """Simple recurrent layers over (L, N, input_size): returns all outputs and the last states.

    Parameters are `weight_ih_l0`, `weight_hh_l0`, `bias_ih_l0`, `bias_hh_l0` and so on for further layers, with `_reverse`
    at the end for the other direction. `seq_length` (N,) tells where each sequence ends.

    >>> import adjoint as ad
    >>> output, h = ad.nn.RNN(3, 4, num_layers=2, bidirectional=True)(ad.ops.ones((5, 2, 3)))
    >>> output.shape, h.shape
    ((5, 2, 8), (4, 2, 4))
    """

    step = staticmethod(_rnn_step)

    def __init__(
        self, input_size: int, hidden_size: int, num_layers: int = 1, nonlinearity: str = "tanh",
        has_bias: bool = True, batch_first: bool = False, dropout: float = 0.0, bidirectional: bool = False,
        dtype: Any = float32,
    ) -> None:  # fmt: skip
        super().__init__(input_size, hidden_size, num_layers, has_bias, batch_first, dropout, bidirectional, dtype)
        self.act = _act("RNN", nonlinearity)


class GRU(_Recurrent):
    """GRU layers; arguments, Parameters and results as of `RNN`, gates as of `GRUCell`.

    >>> import adjoint as ad
    >>> output, h = ad.nn.GRU(3, 4, batch_first=True)(ad.ops.ones((2, 5, 3)))
    >>> output.shape, h.shape
    ((2, 5, 4), (1, 2, 4))
    """

    step, gates, adds_bias = staticmethod(_gru_step), 3, False


class LSTM(_Recurrent):
    """LSTM layers; arguments and Parameters as of `RNN`, gates as of `LSTMCell`. The states are pairs (h, c).

    >>> import adjoint as ad
    >>> output, (h, c) = ad.nn.LSTM(3, 4)(ad.ops.ones((5, 2, 3)))
    >>> output.shape, h.shape, c.shape
    ((5, 2, 4), (1, 2, 4), (1, 2, 4))
    """

    step, gates, states = staticmethod(_lstm_step), 4, 2

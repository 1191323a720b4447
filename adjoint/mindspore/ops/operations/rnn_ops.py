"""Primitives: recurrent layers and decoding of sequences."""

from __future__ import annotations

from inspect import Parameter
from typing import Any

import numpy as np

from adjoint import ops
from adjoint.core.dispatch import wrap
from adjoint.core.spec import shape_of
from adjoint.mindspore.ops.primitive import primitive

__all__ = ["BasicLSTMCell", "CTCGreedyDecoder", "LSTM"]

REQUIRED: Any = Parameter.empty


def _gates(x: Any, h: Any, c: Any, weights: tuple[Any, Any, Any]) -> tuple[Any, Any]:
    """One step: the gates stand in the order input, forget, cell, output."""
    from_x, from_h, bias = weights
    total = ops.matmul(x, ops.transpose(from_x)) + ops.matmul(h, ops.transpose(from_h)) + bias
    enter, keep, new, show = ops.split(total, shape_of(h)[-1], -1)
    c = ops.sigmoid(keep) * c + ops.sigmoid(enter) * ops.tanh(new)
    return ops.sigmoid(show) * ops.tanh(c), c


def _cut(self: Any, w: Any, ways: int) -> list[tuple[Any, Any, Any]]:
    """Weights of all directions by the input, then by the state, then biases, out of one row."""
    row, at = ops.reshape(w, (-1,)), 0
    size, found = self.hidden_size, []
    for columns in (self.input_size, size):
        count = ways * 4 * size * columns
        found.append(ops.reshape(row[at : at + count], (ways, 4 * size, columns)))
        at += count
    bias: Any = np.zeros((ways, 4 * size), np.float32)
    if self.has_bias:
        bias = ops.reshape(row[at : at + ways * 4 * size], (ways, 4 * size))
    return [(found[0][d], found[1][d], bias[d]) for d in range(ways)]


def _lstm(self: Any, input: Any, h: Any, c: Any, w: Any) -> Any:
    """The outputs (L, N, H), the last states, and two arrays that MindSpore keeps for itself."""
    if self.num_layers != 1 or self.proj_size or self.dropout:
        raise NotImplementedError("ops.LSTM is provided for one layer without projection and dropout; see nn.LSTM")
    ways, steps = (2 if self.bidirectional else 1), shape_of(input)[0]
    outputs, last_h, last_c = [], [], []
    for d, weights in enumerate(_cut(self, w, ways)):
        state, found = (h[d], c[d]), []
        for t in range(steps) if d == 0 else range(steps - 1, -1, -1):
            state = _gates(input[t], *state, weights)
            found.append(state[0])
        outputs.append(ops.stack(found if d == 0 else found[::-1]))
        last_h.append(state[0])
        last_c.append(state[1])
    rest = ops.zeros((1, 1), np.float32)
    return ops.concat(outputs, -1), ops.stack(last_h), ops.stack(last_c), rest, rest


LSTM = primitive(
    "LSTM", _lstm,
    input_size=REQUIRED, hidden_size=REQUIRED, num_layers=REQUIRED, has_bias=REQUIRED, bidirectional=REQUIRED,
    dropout=REQUIRED, proj_size=0,
)  # fmt: skip


def _basic_lstm(self: Any, x: Any, h: Any, c: Any, w: Any, b: Any) -> Any:
    """The states, and the gates input, cell, forget, output and tanh of the state."""
    total = ops.matmul(ops.concat([x, h], 1), w) + ops.reshape(b, (-1,))
    enter, new, keep, show = ops.split(total, shape_of(h)[-1], 1)
    enter, new = ops.sigmoid(enter), ops.tanh(new)
    keep, show = ops.sigmoid(keep + self.forget_bias), ops.sigmoid(show)
    c = c * keep + enter * new
    return c, show * ops.tanh(c), enter, new, keep, show, ops.tanh(c)


BasicLSTMCell = primitive(
    "BasicLSTMCell", _basic_lstm, keep_prob=1.0, forget_bias=1.0, state_is_tuple=True, activation="tanh"
)


def ctc_greedy_decoder(inputs: Any, sequence_length: Any, merge_repeated: bool = True) -> Any:
    """The best class of each time, without blanks (the last class) and repeats.

    Returns the places (sample, position) of the labels, the labels, the shape, and the negative sums of the best scores.
    """
    scores, lengths = inputs.asnumpy(), sequence_length.asnumpy()
    _, samples, classes = scores.shape
    places, labels, longest = [], [], 0
    for n in range(samples):
        best = scores[: lengths[n], n].argmax(-1)
        kept = [k for t, k in enumerate(best) if k != classes - 1 and not (merge_repeated and t and best[t - 1] == k)]
        places += [(n, k) for k in range(len(kept))]
        labels += kept
        longest = max(longest, len(kept))
    counted = np.arange(scores.shape[0])[:, None] < lengths[None]
    sums = -(scores.max(-1) * counted).sum(0)[:, None]
    shape = np.array([samples, longest], np.int64)
    found = np.array(places, np.int64).reshape(-1, 2), np.array(labels, np.int64), shape, sums.astype(scores.dtype)
    return tuple(wrap(x) for x in found)


CTCGreedyDecoder = primitive(
    "CTCGreedyDecoder",
    lambda self, inputs, sequence_length: ctc_greedy_decoder(inputs, sequence_length, self.merge_repeated),
    merge_repeated=True,
)

"""A language model step with an LSTM: embedding, a loop over time, a softmax over the words."""

from __future__ import annotations

from typing import Any

import numpy as np

from benchmarks.workload import Inputs, Work, Workload, normal, weight


def cell(F: Any, x: Any, h: Any, c: Any, w_x: Any, w_h: Any, b: Any) -> tuple[Any, Any]:
    """One step of an LSTM; the gates stand in PyTorch's order."""
    gates = F.matmul(x, w_x) + F.matmul(h, w_h) + b
    size = h.shape[-1]
    i, f = F.sigmoid(gates[:, :size]), F.sigmoid(gates[:, size : 2 * size])
    g, o = F.tanh(gates[:, 2 * size : 3 * size]), F.sigmoid(gates[:, 3 * size :])
    c = f * c + i * g
    return o * F.tanh(c), c


def words_loss(F: Any, states: Any, w_out: Any, b_out: Any, targets: Any) -> Any:
    flat = F.reshape(states, (states.shape[0] * states.shape[1], states.shape[2]))
    return F.cross_entropy(F.matmul(flat, w_out) + b_out, F.reshape(targets, (flat.shape[0],)))


def model(F: Any, params: Any, words: Any, targets: Any, h: Any) -> Any:
    """Mean cross-entropy of the next words; `words` and `targets` are (time, batch)."""
    table, w_x, w_h, b, w_out, b_out = params
    inputs = table[words]
    c = h
    states = []
    for t in range(words.shape[0]):
        h, c = cell(F, inputs[t], h, c, w_x, w_h, b)
        states.append(h)
    return words_loss(F, F.stack(states, 0), w_out, b_out, targets)


def model_jax(F: Any, params: Any, words: Any, targets: Any, h: Any) -> Any:
    import jax

    table, w_x, w_h, b, w_out, b_out = params

    def step(state: Any, x: Any) -> Any:
        h, c = cell(F, x, *state, w_x, w_h, b)
        return (h, c), h

    _, states = jax.lax.scan(step, (h, h), table[words])
    return words_loss(F, states, w_out, b_out, targets)


def model_torch(F: Any, params: Any, words: Any, targets: Any, h: Any) -> Any:
    """The loop is PyTorch's own LSTM, whose matrices are transposed and which has a second bias."""
    import torch

    table, w_x, w_h, b, w_out, b_out = params
    flat = [w_x.T.contiguous(), w_h.T.contiguous(), b, torch.zeros_like(b)]
    states, _, _ = torch.lstm(table[words], (h[None], h[None]), flat, True, 1, 0.0, True, False, False)
    return words_loss(F, states, w_out, b_out, targets)


def model_inputs(rng: np.random.Generator, length: int, batch: int, words: int, size: int) -> Inputs:
    gates = 4 * size
    recurrent = [weight(rng, gates, size).T.copy(), weight(rng, gates, size).T.copy(), normal(rng, gates, scale=0.1)]
    params = [normal(rng, words, size), *recurrent, weight(rng, words, size).T.copy(), np.zeros(words, np.float32)]
    text = rng.integers(0, words, (length + 1, batch))
    return params, text[:-1], text[1:].copy(), np.zeros((batch, size), np.float32)


def workloads(tiny: bool) -> list[Workload]:
    length, batch, words, size = (4, 2, 11, 8) if tiny else (32, 20, 1000, 256)
    products = 8 * size * size + size * words
    return [
        Workload(
            name="lstm",
            title=f"LSTM language model, {words:,} words, width {size}, {length} steps, batch {batch}, training step",
            what="train",
            inputs=lambda rng: model_inputs(rng, length, batch, words, size),
            program=model,
            others={"jax": model_jax, "torch": model_torch},
            tolerance=1e-4,
            work=Work("sgemm", 6.0 * length * batch * products),
        )
    ]

"""A recurrent network learns a poem by heart, a character at a time, and then recites it.

    python examples/lstm_text.py [--steps 200]

The poem is the first half of Lewis Carroll's Jabberwocky (1871). The loop of the LSTM over the characters stays a loop in
the compiled graph.
"""

from __future__ import annotations

import argparse
import sys
import time

import numpy as np

import adjoint as ad
from adjoint import nn, ops, optim

POEM = """'Twas brillig, and the slithy toves
Did gyre and gimble in the wabe:
All mimsy were the borogoves,
And the mome raths outgrabe.

"Beware the Jabberwock, my son!
The jaws that bite, the claws that catch!
Beware the Jubjub bird, and shun
The frumious Bandersnatch!"

He took his vorpal sword in hand;
Long time the manxome foe he sought-
So rested he by the Tumtum tree
And stood awhile in thought.
"""
LETTERS = sorted(set(POEM))
NUMBER = {letter: k for k, letter in enumerate(LETTERS)}


class Reader(nn.Cell):
    """Letters in, the logits of the next letter out."""

    def __init__(self, width: int = 96) -> None:
        super().__init__()
        self.width = width
        self.embed = nn.Embedding(len(LETTERS), 32, embedding_table=nn.initializer.Normal(0.5))
        self.lstm = nn.LSTM(32, width, batch_first=True)
        self.head = nn.Dense(width, len(LETTERS))

    def construct(self, letters, state):
        found, state = self.lstm(self.embed(letters), state)
        return self.head(found), state

    def start(self, batch: int):
        return (ops.zeros((1, batch, self.width), ad.float32), ops.zeros((1, batch, self.width), ad.float32))


def recited(network: Reader, first: str, length: int) -> str:
    """What the network writes after a beginning, each time the likeliest letter."""
    read = ad.jit(network)
    state, text = network.start(1), first
    logits = None
    for letter in first:
        logits, state = read(ad.Tensor(np.array([[NUMBER[letter]]], np.int32)), state)
    while len(text) < length:
        text += LETTERS[int(logits.asnumpy()[0, 0].argmax())]
        logits, state = read(ad.Tensor(np.array([[NUMBER[text[-1]]]], np.int32)), state)
    return text


def main(arguments: list[str] | None = None) -> int:
    parser = argparse.ArgumentParser(description="Teach an LSTM a poem.")
    parser.add_argument("--steps", type=int, default=200)
    parser.add_argument("--goal", type=float, default=0.95, help="the share of letters to recite right")
    options = parser.parse_args(arguments)

    ad.set_seed(0)
    letters = np.array([NUMBER[c] for c in POEM], np.int32)
    x, y = ad.Tensor(letters[None, :-1]), ad.Tensor(letters[1:])
    network = Reader()

    def loss_fn(x, y, h, c):
        logits, _ = network(x, (h, c))
        return ops.cross_entropy(logits[0], y)

    rates = optim.cosine_decay_lr(1e-3, 1e-2, options.steps, 1, options.steps)
    step = optim.compiled_step(loss_fn, network.trainable_params(), optim.Adam(network.trainable_params(), rates))
    start = time.perf_counter()
    for k in range(options.steps):
        loss = step(x, y, *network.start(1))
        if k % max(options.steps // 5, 1) == 0:
            print(f"step {k:4d}: loss {loss.item():.4f}, {time.perf_counter() - start:.1f} s", flush=True)
    text = recited(network, POEM[:5], len(POEM))
    right = float(np.mean([a == b for a, b in zip(text, POEM, strict=True)]))
    print(f"\n{text}\n{right:.1%} of {len(POEM)} letters are right after '{POEM[:5]}'")
    return 0 if right >= options.goal else 1


if __name__ == "__main__":
    sys.exit(main())

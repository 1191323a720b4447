"""A small transformer learns to add: 27+58= is continued by 85, digit by digit.

    python examples/gpt_adds.py [--steps 1000] [--picture gpt_adds.png]

A decoder-only network of two blocks reads the sum as characters. A fifth of all sums is kept back: those it must add
without ever having seen them. The answer is written last digit first, as one adds by hand.
"""

from __future__ import annotations

import argparse
import sys
import time

import figures
import numpy as np

import adjoint as ad
from adjoint import nn, ops, optim

SYMBOLS = "0123456789+="
ASKED = 6  # characters of "27+58="
ANSWER = 3


class Block(nn.Cell):
    """Attention to what came before, then two layers for each place."""

    def __init__(self, width: int, heads: int) -> None:
        super().__init__()
        self.heads = heads
        self.before, self.after = nn.LayerNorm((width,)), nn.LayerNorm((width,))
        self.mix, self.out = nn.Dense(width, 3 * width), nn.Dense(width, width)
        self.wide, self.narrow = nn.Dense(width, 4 * width), nn.Dense(4 * width, width)

    def construct(self, x):
        batch, length, width = x.shape
        parts = ops.reshape(self.mix(self.before(x)), (batch, length, 3, self.heads, width // self.heads))
        q, k, v = (ops.transpose(parts[:, :, i], (0, 2, 1, 3)) for i in range(3))
        scores = ops.matmul(q, ops.transpose(k, (0, 1, 3, 2))) / float(np.sqrt(width // self.heads))
        unseen = np.triu(np.full((length, length), -1e9, np.float32), 1)
        seen = ops.matmul(ops.softmax(scores + unseen, -1), v)
        x = x + self.out(ops.reshape(ops.transpose(seen, (0, 2, 1, 3)), (batch, length, width)))
        return x + self.narrow(ops.gelu(self.wide(self.after(x))))


class GPT(nn.Cell):
    def __init__(self, width: int = 48, heads: int = 3, blocks: int = 2) -> None:
        super().__init__()
        self.symbol, self.place = (
            nn.Embedding(n, width, embedding_table=nn.initializer.Normal(0.5)) for n in (len(SYMBOLS), ASKED + ANSWER)
        )
        self.blocks = nn.SequentialCell(*(Block(width, heads) for _ in range(blocks)))
        self.last, self.head = nn.LayerNorm((width,)), nn.Dense(width, len(SYMBOLS))

    def construct(self, tokens):
        places = np.arange(tokens.shape[1], dtype=np.int32)
        return self.head(self.last(self.blocks(self.symbol(tokens) + self.place(places))))


def sums() -> np.ndarray:
    """Every sum of two numbers below 100 as rows of symbols, its answer last digit first."""
    a, b = (n.ravel() for n in np.meshgrid(np.arange(100), np.arange(100)))
    c = a + b
    columns = [a // 10, a % 10, 10 + 0 * a, b // 10, b % 10, 11 + 0 * a, c % 10, c // 10 % 10, c // 100]
    return np.stack(columns, 1).astype(np.int32)


def text(row: np.ndarray) -> str:
    asked = "".join(SYMBOLS[i] for i in row[:ASKED])
    return asked + "".join(SYMBOLS[i] for i in row[: ASKED - 1 : -1])


def answered(network: nn.Cell, asked: np.ndarray) -> np.ndarray:
    """The sums continued by the network, a digit at a time."""
    run = ad.jit(network)
    rows = np.concatenate([asked[:, :ASKED], np.zeros((len(asked), ANSWER), np.int32)], 1)
    for k in range(ANSWER):
        logits = run(ad.Tensor(rows[:, :-1]))  # always of one length, so that one graph serves
        rows[:, ASKED + k] = logits.asnumpy()[:, ASKED + k - 1].argmax(-1)
    return rows


def picture(path: str, losses: list[float], rows: np.ndarray, right: np.ndarray) -> None:
    """The loss of each step, and which of the sums never seen were added right."""
    if (pyplot := figures.pyplot()) is None:
        return
    figure, (left, plane) = pyplot.subplots(1, 2, figsize=(11, 4.8), layout="constrained")
    left.semilogy(losses, linewidth=0.8)
    left.set(xlabel="step", ylabel="cross-entropy of a digit", title="Loss in training")
    left.grid(alpha=0.3)
    a, b = 10 * rows[:, 0] + rows[:, 1], 10 * rows[:, 3] + rows[:, 4]
    plane.plot(a[right], b[right], ".", color="lightsteelblue", markersize=4, label="right")
    plane.plot(a[~right], b[~right], "x", color="crimson", label="wrong")
    plane.set(xlabel="a", ylabel="b", aspect="equal", title=f"a + b, never seen: {right.mean():.1%} right")
    plane.legend(loc="upper left", bbox_to_anchor=(1, 1))
    figures.save(figure, path)


def main(arguments: list[str] | None = None) -> int:
    parser = argparse.ArgumentParser(description="Teach a transformer to add.")
    parser.add_argument("--steps", type=int, default=1000)
    parser.add_argument("--batch", type=int, default=128)
    parser.add_argument("--goal", type=float, default=0.95, help="the share of unseen sums to get right")
    parser.add_argument("--picture", default="gpt_adds.png", help="where to draw; empty for no picture")
    options = parser.parse_args(arguments)

    ad.set_seed(0)
    rows = np.random.default_rng(0).permutation(sums())
    unseen, known = rows[:2000], rows[2000:]
    network = GPT()

    def loss_fn(tokens):
        logits = network(tokens[:, :-1])[:, ASKED - 1 :]
        return ops.cross_entropy(ops.reshape(logits, (-1, len(SYMBOLS))), ops.reshape(tokens[:, ASKED:], (-1,)))

    rates = optim.cosine_decay_lr(1e-4, 1e-3, options.steps, 1, options.steps)
    optimiser = optim.AdamWeightDecay(network.trainable_params(), rates, weight_decay=0.01)
    step = optim.compiled_step(loss_fn, network.trainable_params(), optimiser)
    draw, start = np.random.default_rng(1), time.perf_counter()
    losses = []
    for k in range(options.steps):
        losses.append(step(ad.Tensor(known[draw.integers(len(known), size=options.batch)])).item())
        if k % max(options.steps // 10, 1) == 0:
            print(f"step {k:5d}: loss {losses[-1]:.4f}, {time.perf_counter() - start:.1f} s", flush=True)
    found = answered(network, unseen)
    right = (found == unseen).all(1)
    print(
        f"{right.mean():.1%} of {len(unseen)} sums never seen are right; for example {', '.join(map(text, found[:4]))}"
    )
    for answer, row in zip(found[~right][:3], unseen[~right], strict=False):
        print(f"  wrong: {text(answer)}, not {text(row)[ASKED:]}")
    if options.picture:
        picture(options.picture, losses, unseen, right)
    return 0 if right.mean() >= options.goal else 1


if __name__ == "__main__":
    sys.exit(main())

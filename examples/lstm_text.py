"""A recurrent network reads "Alice's Adventures in Wonderland" a character at a time, and learns to write like it.

    python examples/lstm_text.py [--steps 800] [--picture lstm_text.png]

The book (Lewis Carroll, 1865) lies beside this file; its last tenth is kept back, and the network is judged by how many
bits a character of it costs. The loop of the LSTM over the characters stays a loop in the compiled graph.
"""

from __future__ import annotations

import argparse
import gzip
import sys
import textwrap
import time
from collections.abc import Callable, Iterator
from pathlib import Path

import figures
import numpy as np

import adjoint as ad
from adjoint import nn, ops, optim
from adjoint.data import ArrayDataset, GeneratorDataset
from adjoint.train import Callback, History, Model, ProgressBar, RunContext

BOOK = gzip.decompress((Path(__file__).parent / "alice.txt.gz").read_bytes()).decode("ascii")  # see alice.txt
TEXT = "\n".join(" ".join(paragraph.split("\n")) for paragraph in BOOK.split("\n\n"))
LETTERS = "".join(sorted(set(TEXT)))
ROUNDS = 5  # a sample of its writing after each


class Reader(nn.Cell):
    """Letters [batch, length] in, the logits of each next letter out."""

    def __init__(self, width: int) -> None:
        super().__init__()
        self.embed = nn.Embedding(len(LETTERS), 48, embedding_table=nn.initializer.Normal(0.5))
        self.lstm = nn.LSTM(48, width, batch_first=True)
        self.drop = nn.Dropout(p=0.2)
        self.head = nn.Dense(width, len(LETTERS))

    def read(self, letters, state=None):
        """The logits, and the state from which to read on."""
        found, state = self.lstm(self.embed(letters), state)
        return self.head(self.drop(found)), state

    def construct(self, letters):
        return self.read(letters)[0]


def bits(logits, following):
    """The cost of the letters that did follow, in bits a letter."""
    return ops.cross_entropy(ops.reshape(logits, (-1, len(LETTERS))), ops.reshape(following, (-1,))) / float(np.log(2))


def windows(codes: np.ndarray, length: int, batch: int, count: int) -> GeneratorDataset:
    """`count` batches of places in the text, drawn at random: letters, and those that follow them."""
    generator = np.random.default_rng(0)

    def draw() -> Iterator[tuple[np.ndarray, np.ndarray]]:
        for _ in range(count):
            places = generator.integers(len(codes) - length, size=(batch, 1)) + np.arange(length)
            yield codes[places], codes[places + 1]

    return GeneratorDataset(draw, count)


def rows(codes: np.ndarray, count: int) -> ArrayDataset:
    """The text cut into this many long rows, to be read side by side."""
    length = (len(codes) - 1) // count
    return ArrayDataset(*(codes[k : k + count * length].reshape(count, length) for k in (0, 1)))


def written(read: Callable, state: tuple, first: str, length: int, boldness: float = 0.6) -> str:
    """What a network writes after a beginning; boldness 0 would always take the likeliest letter."""
    generator, text = np.random.default_rng(0), first
    for letter in first:
        logits, state = read(np.array([[LETTERS.index(letter)]]), state)
    while len(text) < length:
        chance = np.exp((logits - logits.max()).asnumpy()[0, 0] / boldness)
        text += LETTERS[generator.choice(len(LETTERS), p=chance / chance.sum())]
        logits, state = read(np.array([[LETTERS.index(text[-1])]]), state)
    return text


class Samples(Callback):
    """After each round: how well the kept part is read, and a sample of the network's writing."""

    def __init__(self, network: Reader, length: int) -> None:
        self.network, self.length = network, length
        self.read = ad.jit(network.read)

    def on_train_epoch_end(self, run_context: RunContext) -> None:
        run = run_context.original_args()
        print(f"\nStep {run.cur_step_num}: {run.eval_results['loss']:.2f} bits a character of unread text. It writes:")
        self.network.set_train(False)
        start = (ops.zeros((1, 1, self.network.lstm.hidden_size)),) * 2
        for line in written(self.read, start, "Alice ", self.length).split("\n"):
            print(textwrap.fill(line, 96, initial_indent="    ", subsequent_indent="    "), flush=True)


def picture(path: str, history: History, packed: float) -> None:
    """Bits a character, learning and on the part kept back, against what a packer needs."""
    if (pyplot := figures.pyplot()) is None:
        return
    figure, axes = pyplot.subplots(figsize=(8, 4.5), layout="constrained")
    axes.plot(history.steps, linewidth=0.8, color="tab:blue", alpha=0.6, label="batches learnt from")
    ends = np.linspace(0, len(history.steps), len(history.epoch) + 1)[1:]
    axes.plot(ends, history.history["eval_loss"], "o-", color="tab:red", label="the last tenth, never learnt from")
    axes.axhline(packed, color="gray", linestyle="--", label=f"the book packed by gzip: {packed:.2f}")
    axes.set(
        xlabel="step", ylabel="bits a character", ylim=(1, 5), title="An LSTM reads Alice's Adventures in Wonderland"
    )
    axes.legend()
    axes.grid(alpha=0.3)
    figures.save(figure, path)


def main(arguments: list[str] | None = None) -> int:
    parser = argparse.ArgumentParser(description="Teach an LSTM to write.")
    parser.add_argument("--steps", type=int, default=800)
    parser.add_argument("--width", type=int, default=192, help="the size of the LSTM's state")
    parser.add_argument("--sample", type=int, default=300, help="characters of each sample")
    parser.add_argument("--goal", type=float, default=2.3, help="the bits a character to reach on text never read")
    parser.add_argument("--picture", default="lstm_text.png", help="where to draw; empty for no picture")
    options = parser.parse_args(arguments)

    ad.set_seed(0)
    ad.set_context(mode=ad.GRAPH_MODE)
    codes = np.array([LETTERS.index(c) for c in TEXT], np.int32)
    cut = len(codes) * 9 // 10
    train, test = codes[:cut], rows(codes[cut:], 16)
    each = max(options.steps // ROUNDS, 1)

    network = Reader(options.width)
    rates = optim.cosine_decay_lr(1e-4, 1e-2, ROUNDS * each, each, ROUNDS)
    model = Model(network, bits, optim.Adam(network.trainable_params(), rates), ["loss"])
    batches = windows(train, 64, 32, each).prefetch()
    callbacks = [ProgressBar(), Samples(network, options.sample)]
    start = time.perf_counter()
    history = model.fit(ROUNDS, batches, test.batch(len(test)), callbacks=callbacks)

    found, packed = history.history["eval_loss"][-1], 8 * len(gzip.compress(TEXT.encode())) / len(TEXT)
    print(
        f"\n{found:.2f} bits a character on the {test.arrays[0].size:,} kept back; gzip needs {packed:.2f} "
        f"({len(history.steps)} steps in {time.perf_counter() - start:.0f} s)"
    )
    if options.picture:
        picture(options.picture, history, packed)
    return 0 if found <= options.goal else 1


if __name__ == "__main__":
    sys.exit(main())

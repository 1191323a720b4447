"""LeNet on real handwritten digits: trained as one compiled graph a step, then compared with dynamic mode.

    python examples/lenet.py [--epochs 20] [--picture lenet.png]

The 1,797 digits come with the package (8 by 8 pixels; each pixel becomes a block of 4 by 4, the 32 by 32 that LeNet reads).
A fifth of them is kept for the test.
"""

from __future__ import annotations

import argparse
import sys
import time
from collections.abc import Callable

import figures
import numpy as np

import adjoint as ad
from adjoint import nn, ops, optim
from adjoint.data import ArrayDataset, load_digits
from adjoint.train import History, Model, ProgressBar, TrainOneStepCell, WithLossCell


class LeNet(nn.Cell):
    """LeCun's network of 1998, with rectifiers and maxima."""

    def __init__(self) -> None:
        super().__init__()
        self.conv1 = nn.Conv2d(1, 6, 5, pad_mode="valid")
        self.conv2 = nn.Conv2d(6, 16, 5, pad_mode="valid")
        self.pool = nn.MaxPool2d(2, 2)
        self.fc1, self.fc2, self.fc3 = nn.Dense(16 * 5 * 5, 120), nn.Dense(120, 84), nn.Dense(84, 10)

    def construct(self, x):
        x = self.pool(ops.relu(self.conv1(x)))
        x = self.pool(ops.relu(self.conv2(x)))
        x = ops.reshape(x, (x.shape[0], -1))
        x = ops.relu(self.fc1(x))
        return self.fc3(ops.relu(self.fc2(x)))


def digits(seed: int) -> tuple[ArrayDataset, ArrayDataset]:
    """Four fifths to learn from and one to test on, as [samples, 1, 32, 32] between 0 and 1."""
    images, labels = load_digits()
    large = images.repeat(4, axis=1).repeat(4, axis=2)[:, None].astype(np.float32) / 16
    return ArrayDataset(large, labels).split(0.8, seed)


def shifts(seed: int) -> Callable[[np.ndarray], np.ndarray]:
    """A function that moves the images of a batch by a few pixels, so that the network never sees quite the same one."""
    generator = np.random.default_rng(seed)
    return lambda images: np.roll(images, generator.integers(-3, 4, 2), axis=(2, 3))


def steps_per_second(mode: int, train: ArrayDataset, batch: int, steps: int) -> float:
    """The speed of training in one mode, compiling apart."""
    ad.set_context(mode=mode)
    network = LeNet().set_train()
    step = TrainOneStepCell(WithLossCell(network, ops.cross_entropy), optim.Adam(network.trainable_params(), 2e-3))
    batches = list(train.batch(batch, drop_remainder=True).repeat().take(steps + 2))
    for x, y in batches[:2]:
        step(x, y)
    start = time.perf_counter()
    for x, y in batches[2:]:
        step(x, y)
    return steps / (time.perf_counter() - start)


def picture(path: str, history: History, test: ArrayDataset, predicted: np.ndarray) -> None:
    """The loss of each step and epoch, and a grid of test images with what the network takes them for."""
    if (pyplot := figures.pyplot()) is None:
        return
    images, labels = test.arrays
    order = np.argsort(predicted == labels, kind="stable")[:32]  # mistakes first
    figure = pyplot.figure(figsize=(11, 4.5), layout="constrained")
    left, right = figure.subfigures(1, 2)
    axes = left.subplots()
    each = len(history.steps) / len(history.epoch)
    axes.semilogy(history.steps, linewidth=0.8, color="lightsteelblue", label="of a step")
    axes.semilogy(each * (np.array(history.epoch) - 0.5), history.history["loss"], "o-", label="mean of an epoch")
    axes.legend()
    axes.set(xlabel="step", ylabel="cross-entropy", title="Loss in training")
    right.suptitle("Test digits: mistakes in red, first")
    for cell, k in zip(right.subplots(4, 8).flat, order, strict=True):
        cell.imshow(images[k, 0, ::4, ::4], cmap="gray_r")
        wrong = predicted[k] != labels[k]
        text = f"{predicted[k]}, not {labels[k]}" if wrong else str(predicted[k])
        cell.set_title(text, fontsize=8, color="crimson" if wrong else "black")
        cell.axis("off")
    figures.save(figure, path)


def main(arguments: list[str] | None = None) -> int:
    parser = argparse.ArgumentParser(description="Train LeNet on handwritten digits.")
    parser.add_argument("--epochs", type=int, default=20)
    parser.add_argument("--batch", type=int, default=32)
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--compare", type=int, default=20, help="steps for the comparison of modes; 0 leaves it out")
    parser.add_argument("--samples", type=int, help="train on the first samples only")
    parser.add_argument("--goal", type=float, default=0.97, help="the accuracy to reach")
    parser.add_argument("--picture", default="lenet.png", help="where to draw; empty for no picture")
    options = parser.parse_args(arguments)

    ad.set_seed(options.seed)
    ad.set_context(mode=ad.GRAPH_MODE)
    train, test = digits(options.seed)
    if options.samples:
        train = ArrayDataset(*train.at(slice(options.samples)))
    network = LeNet()
    batches = train.shuffle().batch(options.batch, drop_remainder=True).map(shifts(options.seed), column=0).prefetch()
    rates = optim.cosine_decay_lr(1e-4, 2e-3, options.epochs * len(batches), len(batches), options.epochs)
    model = Model(network, ops.cross_entropy, optim.Adam(network.trainable_params(), rates), ["accuracy", "loss"])
    start = time.perf_counter()
    history = model.fit(options.epochs, batches, callbacks=[ProgressBar()])
    spent = time.perf_counter() - start
    results = model.eval(test.batch(len(test)))
    print(
        f"LeNet, {len(train)} digits, {options.epochs} epochs in {spent:.1f} s (compiling included): "
        f"loss {history.history['loss'][-1]:.4f}, test accuracy {results['accuracy']:.2%} of {len(test)}"
    )
    if options.compare:
        static, dynamic = (
            steps_per_second(mode, train, options.batch, options.compare) for mode in (ad.GRAPH_MODE, ad.PYNATIVE_MODE)
        )
        print(
            f"Steps a second: static {static:.0f}, dynamic {dynamic:.0f}; static is {static / dynamic:.1f} times as fast"
        )
    if options.picture:
        predicted = model.predict(test.arrays[0]).asnumpy().argmax(axis=1)
        picture(options.picture, history, test, predicted)
    return 0 if results["accuracy"] >= options.goal else 1


if __name__ == "__main__":
    sys.exit(main())

"""The training of LeNet written out: a function, `value_and_grad`, an optimiser, a loop; then a checkpoint and back.

    python examples/lenet_functional.py [--epochs 10]

The same network as in lenet.py, for those who like to see every step of the loop.
"""

from __future__ import annotations

import argparse
import os
import sys
import tempfile
import time

import numpy as np

import adjoint as ad
from adjoint import nn, ops, optim
from adjoint.data import ArrayDataset, load_digits
from adjoint.train import load_checkpoint, save_checkpoint


def lenet() -> nn.Cell:
    return nn.SequentialCell(
        nn.Conv2d(1, 6, 5, pad_mode="valid"), nn.ReLU(), nn.MaxPool2d(2, 2),
        nn.Conv2d(6, 16, 5, pad_mode="valid"), nn.ReLU(), nn.MaxPool2d(2, 2),
        nn.Flatten(), nn.Dense(400, 120), nn.ReLU(), nn.Dense(120, 84), nn.ReLU(), nn.Dense(84, 10),
    )  # fmt: skip


def main(arguments: list[str] | None = None) -> int:
    parser = argparse.ArgumentParser(description="Train LeNet with a loop of your own.")
    parser.add_argument("--epochs", type=int, default=10)
    parser.add_argument("--goal", type=float, default=0.95, help="the accuracy to reach")
    options = parser.parse_args(arguments)

    ad.set_seed(0)
    images, labels = load_digits()
    large = images.repeat(4, axis=1).repeat(4, axis=2)[:, None].astype(np.float32) / 16
    train, test = ArrayDataset(large, labels).split(0.8, seed=0)
    x_test, y_test = test.arrays

    network = lenet()
    optimiser = optim.Adam(network.trainable_params(), 2e-3)

    def forward(x, y):
        logits = network(x)
        return ops.cross_entropy(logits, y), logits

    step = ad.jit(ad.value_and_grad(forward, None, weights=network.trainable_params(), has_aux=True))
    predict = ad.jit(network)

    for epoch in range(options.epochs):
        start, right, seen = time.perf_counter(), 0, 0
        for x, y in train.shuffle(seed=epoch).batch(32, drop_remainder=True):
            (loss, logits), gradients = step(x, y)
            optimiser(gradients)
            right += int((logits.asnumpy().argmax(1) == y.asnumpy()).sum())
            seen += len(y)
        print(
            f"epoch {epoch + 1}: loss {loss.item():.4f}, right {right / seen:.1%}, {time.perf_counter() - start:.2f} s"
        )

    accuracy = float(np.mean(predict(x_test).asnumpy().argmax(1) == y_test))
    with tempfile.TemporaryDirectory() as folder:
        path = os.path.join(folder, "lenet.safetensors")
        save_checkpoint([network, optimiser], path, append_dict={"epoch": options.epochs})
        again = lenet()
        load_checkpoint(path, again)
        same = np.array_equal(predict(x_test), ad.jit(again)(x_test))
        told = "the same" if same else "DIFFERENT"
        print(f"Test accuracy {accuracy:.1%}; read back from a checkpoint of {os.path.getsize(path):,} bytes: {told}")
    return 0 if same and accuracy >= options.goal else 1


if __name__ == "__main__":
    sys.exit(main())

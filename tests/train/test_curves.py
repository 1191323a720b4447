"""Whole training curves are the same in dynamic mode, in static mode with the interpreter, and as machine code."""

from __future__ import annotations

import numpy as np
import pytest

import adjoint as ad
from adjoint import nn, ops, optim
from adjoint.core import context
from adjoint.data import load_digits
from adjoint.train import TrainOneStepCell, WithLossCell

STEPS = 25
WAYS = {"dynamic": (ad.PYNATIVE_MODE, "interpreter"), "interpreter": (ad.GRAPH_MODE, "interpreter"), "native": (ad.GRAPH_MODE, "native")}  # fmt: skip
RHYME = "twas brillig and the slithy toves did gyre and gimble in the wabe all mimsy were the borogoves "
LETTERS = sorted(set(RHYME))


@pytest.fixture(autouse=True)
def ways():
    with context.setting(context.backend, None):
        yield
        ad.set_context(mode=ad.PYNATIVE_MODE)


class LeNet(nn.Cell):
    """LeCun's network at a quarter of its size, for images of 16 by 16."""

    def __init__(self, dtype):
        super().__init__()
        self.conv1 = nn.Conv2d(1, 3, 5, pad_mode="valid", has_bias=True, dtype=dtype)
        self.conv2 = nn.Conv2d(3, 6, 3, pad_mode="valid", has_bias=True, dtype=dtype)
        self.pool = nn.MaxPool2d(2, 2)
        self.fc1, self.fc2 = nn.Dense(24, 20, dtype=dtype), nn.Dense(20, 10, dtype=dtype)

    def construct(self, x):
        x = self.pool(ops.relu(self.conv1(x)))
        x = self.pool(ops.relu(self.conv2(x)))
        return self.fc2(ops.relu(self.fc1(ops.reshape(x, (x.shape[0], -1)))))


def digits(dtype):
    images, labels = load_digits()
    large = images.repeat(2, axis=1).repeat(2, axis=2)[:, None].astype(dtype) / 16
    for k in range(STEPS):
        yield large[8 * k : 8 * k + 8], labels[8 * k : 8 * k + 8].astype(np.int32)


class Reader(nn.Cell):
    """The logits of each letter that follows, by an LSTM."""

    def __init__(self, dtype):
        super().__init__()
        self.embed = nn.Embedding(len(LETTERS), 6, dtype=dtype)
        self.lstm = nn.LSTM(6, 10, batch_first=True, dtype=dtype)
        self.drop = nn.Dropout(p=0.2)  # the same elements in every mode
        self.head = nn.Dense(10, len(LETTERS), dtype=dtype)

    def construct(self, letters):
        found, _ = self.lstm(self.embed(letters))
        return ops.reshape(self.head(self.drop(found)), (-1, len(LETTERS)))


def letters(dtype):
    codes = np.array([LETTERS.index(c) for c in RHYME], np.int32)
    generator = np.random.default_rng(0)
    for _ in range(STEPS):
        places = generator.integers(len(codes) - 12, size=(4, 1)) + np.arange(12)
        yield codes[places], codes[places + 1].ravel()


def curve(way, network, batches, dtype):
    """The loss of each step, and the Parameters at the end."""
    mode, backend = WAYS[way]
    ad.set_context(mode=mode, backend=backend)
    ad.set_seed(5)
    net = network(dtype).set_train()
    groups = [
        {"params": [p for p in net.trainable_params() if "bias" in p.name], "weight_decay": 0.0},
        {"params": [p for p in net.trainable_params() if "bias" not in p.name], "weight_decay": 1e-3},
        {"order_params": net.trainable_params()},
    ]
    optimiser = optim.Adam(groups, optim.WarmUpLR(0.02, 5))
    step = TrainOneStepCell(WithLossCell(net, ops.cross_entropy), optimiser)
    losses = [step(ad.Tensor(x), ad.Tensor(y)).item() for x, y in batches(dtype)]
    return losses, [p.asnumpy() for p in net.trainable_params()]


@pytest.mark.parametrize("dtype, rtol", [(np.float64, 1e-10), (np.float32, 1e-4)], ids=["float64", "float32"])
@pytest.mark.parametrize("network, batches", [(LeNet, digits), (Reader, letters)], ids=["lenet", "lstm"])
def test_training_is_the_same_in_every_way(network, batches, dtype, rtol):
    losses, weights = curve("dynamic", network, batches, dtype)
    assert np.mean(losses[-5:]) < 0.95 * np.mean(losses[:5])
    for way in ("interpreter", "native"):
        found, there = curve(way, network, batches, dtype)
        np.testing.assert_allclose(found, losses, rtol=rtol, err_msg=way)
        for a, b in zip(there, weights, strict=True):
            np.testing.assert_allclose(a, b, rtol=10 * rtol, atol=10 * rtol, err_msg=way)

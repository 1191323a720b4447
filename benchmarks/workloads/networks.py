"""Networks: a multilayer perceptron and LeNet as whole training steps, a transformer's encoder block."""

from __future__ import annotations

import itertools
from typing import Any

import numpy as np

from benchmarks.workload import Inputs, Work, Workload, normal, weight


def mlp(F: Any, params: Any, x: Any, labels: Any) -> Any:
    """Cross-entropy of three dense layers."""
    w1, b1, w2, b2, w3, b3 = params
    x = F.relu(F.matmul(x, w1) + b1)
    x = F.relu(F.matmul(x, w2) + b2)
    return F.cross_entropy(F.matmul(x, w3) + b3, labels)


def lenet(F: Any, params: Any, x: Any, labels: Any) -> Any:
    """Cross-entropy of two convolutions with pooling and three dense layers."""
    w1, b1, w2, b2, *dense = params
    x = F.max_pool2d(F.relu(F.conv2d(x, w1, b1, 1, "pad", 2)), 2, 2)
    x = F.max_pool2d(F.relu(F.conv2d(x, w2, b2, 1, "valid", 0)), 2, 2)
    w3, b3, w4, b4, w5, b5 = dense
    x = F.reshape(x, (x.shape[0], 400))
    x = F.relu(F.matmul(x, w3) + b3)
    x = F.relu(F.matmul(x, w4) + b4)
    return F.cross_entropy(F.matmul(x, w5) + b5, labels)


def encoder_layer(heads: int) -> Any:
    """Attention and a feed-forward layer, each with a residual connection and normalised before."""

    def layer(F: Any, params: Any, x: Any) -> Any:
        gain1, shift1, w_qkv, w_out, gain2, shift2, w_up, b_up, w_down, b_down = params
        batch, length, dim = x.shape
        h = F.matmul(F.layer_norm(x, (dim,), gain1, shift1), w_qkv)
        h = F.transpose(F.reshape(h, (batch, length, 3, heads, dim // heads)), (2, 0, 3, 1, 4))
        h = F.scaled_dot_product_attention(h[0], h[1], h[2])
        h = F.reshape(F.transpose(h, (0, 2, 1, 3)), (batch, length, dim))
        x = x + F.matmul(h, w_out)
        h = F.relu(F.matmul(F.layer_norm(x, (dim,), gain2, shift2), w_up) + b_up)
        return x + F.matmul(h, w_down) + b_down

    return layer


def encoder_block(heads: int) -> Any:
    """The mean square of an encoder layer's result."""
    layer = encoder_layer(heads)

    def block(F: Any, params: Any, x: Any) -> Any:
        x = layer(F, params, x)
        return F.mean(x * x)

    return block


def dense(rng: np.random.Generator, *sizes: int) -> list[np.ndarray]:
    """Weights (inputs, outputs) and biases of dense layers."""
    made = []
    for inside, outside in itertools.pairwise(sizes):
        made += [weight(rng, outside, inside).T.copy(), normal(rng, outside, scale=0.1)]
    return made


def labelled(rng: np.random.Generator, *shape: int) -> Inputs:
    """Inputs of this shape and one of ten labels for each."""
    return normal(rng, *shape), rng.integers(0, 10, shape[0])


def lenet_inputs(rng: np.random.Generator, batch: int) -> Inputs:
    convolutions = [weight(rng, 6, 1, 5, 5), normal(rng, 6, scale=0.1), weight(rng, 16, 6, 5, 5), normal(rng, 16)]
    return [*convolutions, *dense(rng, 400, 120, 84, 10)], *labelled(rng, batch, 1, 28, 28)


def block_inputs(rng: np.random.Generator, batch: int, length: int, dim: int) -> Inputs:
    one, zero = np.ones(dim, np.float32), np.zeros(dim, np.float32)
    params = [one, zero, weight(rng, dim, 3 * dim), weight(rng, dim, dim), one.copy(), zero.copy()]
    return [*params, *dense(rng, dim, 4 * dim, dim)], normal(rng, batch, length, dim)


def workloads(tiny: bool) -> list[Workload]:
    batch, width = (4, 16) if tiny else (128, 512)
    images = 2 if tiny else 64
    sequences, length, dim, heads = (2, 6, 8, 2) if tiny else (8, 128, 256, 4)
    products = 784 * width * 2 + (width * width + width * 10) * 3  # nobody asks for the gradient of the input
    convolution = 28 * 28 * 6 * 25 * 2 + (10 * 10 * 16 * 150 + 400 * 120 + 120 * 84 + 84 * 10) * 3
    attention = length * 12 * dim * dim + 2 * length * length * dim
    return [
        Workload(
            name="mlp",
            title=f"MLP 784-{width}-{width}-10, batch {batch}, training step",
            what="train",
            inputs=lambda rng: (dense(rng, 784, width, width, 10), *labelled(rng, batch, 784)),
            program=mlp,
            tolerance=1e-4,
            work=Work("sgemm", 2.0 * batch * products),
        ),
        Workload(
            name="lenet",
            title=f"LeNet 28×28, batch {images}, training step",
            what="train",
            inputs=lambda rng: lenet_inputs(rng, images),
            program=lenet,
            tolerance=1e-4,
            work=Work("sgemm", 2.0 * images * convolution),
        ),
        Workload(
            name="transformer",
            title=f"transformer block, batch {sequences}, length {length}, width {dim}, {heads} heads",
            what="gradient",
            inputs=lambda rng: block_inputs(rng, sequences, length, dim),
            program=encoder_block(heads),
            tolerance=1e-3,
            work=Work("sgemm", 6.0 * sequences * attention),
        ),
    ]

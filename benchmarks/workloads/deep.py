"""Deeper networks, and other dtypes: a stack of dense layers, a residual block, a vision transformer, LeNet in float64, an MLP in
half precision."""

from __future__ import annotations

from typing import Any

import numpy as np

from benchmarks.workload import Inputs, Work, Workload, normal, weight
from benchmarks.workloads import networks

FAMILIES = ("adjoint", "torch", "jax")


def stack_of_layers(F: Any, params: Any, x: Any) -> Any:
    """The mean square of a residual stack of dense layers."""
    for w in params:
        x = x + F.relu(F.matmul(x, w))
    return F.mean(x * x)


def residual_block(F: Any, params: Any, x: Any, zero: Any) -> Any:
    """Two convolutions with batch normalisation, and their input added; biases before it would have no effect."""
    w1, gain1, shift1, w2, gain2, shift2 = params
    h = F.relu(F.normalised_batch(F.conv2d(x, w1, zero, 1, "pad", 1), gain1, shift1))
    h = F.normalised_batch(F.conv2d(h, w2, zero, 1, "pad", 1), gain2, shift2)
    h = F.relu(x + h)
    return F.mean(h * h)


def block_of_ours(F: Any, params: Any, x: Any, zero: Any) -> Any:
    """The same; batch normalisation has more arguments here."""
    w1, gain1, shift1, w2, gain2, shift2 = params
    h = F.relu(F.batch_norm(F.conv2d(x, w1, zero, 1, "pad", 1), weight=gain1, bias=shift1, training=True))
    h = F.batch_norm(F.conv2d(h, w2, zero, 1, "pad", 1), weight=gain2, bias=shift2, training=True)
    h = F.relu(x + h)
    return F.mean(h * h)


def block_inputs(rng: np.random.Generator, images: int, channels: int, size: int) -> Inputs:
    zero, one = np.zeros(channels, np.float32), np.ones(channels, np.float32)
    params = [p for _ in range(2) for p in (weight(rng, channels, channels, 3, 3), one.copy(), zero.copy())]
    return params, normal(rng, images, channels, size, size), zero


def vision(heads: int, patch: int) -> Any:
    """A vision transformer: patches, encoder layers, a mean over the places and ten classes."""
    layer = networks.encoder_layer(heads)

    def program(F: Any, params: Any, x: Any, labels: Any) -> Any:
        w_in, places, *layers, w_out, b_out = params
        images, channels, side = x.shape[0], x.shape[1], x.shape[2] // patch
        x = F.reshape(x, (images, channels, side, patch, side, patch))
        x = F.reshape(F.transpose(x, (0, 2, 4, 1, 3, 5)), (images, side * side, channels * patch * patch))
        x = F.matmul(x, w_in) + places
        for k in range(0, len(layers), 10):
            x = layer(F, layers[k : k + 10], x)
        return F.cross_entropy(F.matmul(F.mean(x, 1), w_out) + b_out, labels)

    return program


def vision_inputs(rng: np.random.Generator, images: int, size: int, patch: int, dim: int, depth: int) -> Inputs:
    inside, places = 3 * patch * patch, (size // patch) ** 2
    params = [weight(rng, dim, inside).T.copy(), normal(rng, places, dim, scale=0.02)]
    for _ in range(depth):
        params += networks.block_inputs(rng, 1, 1, dim)[0]
    return [*params, *networks.dense(rng, dim, 10)], *networks.labelled(rng, images, 3, size, size)


def cast(inputs: Inputs, dtype: type) -> Inputs:
    """Float32 arrays in another dtype."""

    def one(x: Any) -> Any:
        return x.astype(dtype) if x.dtype == np.float32 else x

    return tuple([one(p) for p in x] if isinstance(x, list) else one(x) for x in inputs)


def workloads(tiny: bool) -> list[Workload]:
    depth, width, batch = (2, 4, 3) if tiny else (64, 1024, 64)
    images, channels, side = (2, 3, 5) if tiny else (16, 64, 32)
    crowd, size, patch, dim, layers, heads = (2, 4, 2, 4, 1, 2) if tiny else (16, 64, 8, 192, 4, 3)
    inner = 8 if tiny else 512
    return [
        Workload(
            name="deep_mlp",
            title=f"{depth} dense layers of width {width}, batch {batch}",
            what="gradient",
            inputs=lambda rng: ([weight(rng, width, width) * 0.1 for _ in range(depth)], normal(rng, batch, width)),
            program=stack_of_layers,
            tolerance=1e-3,
            work=Work("sgemm", 6.0 * depth * width * width * batch),
            families=FAMILIES,
        ),
        Workload(
            name="residual",
            title=f"residual block, {images} images of {channels}×{side}×{side}",
            what="gradient",
            inputs=lambda rng: block_inputs(rng, images, channels, side),
            program=residual_block,
            others={"adjoint": block_of_ours},
            tolerance=1e-2,
            work=Work("sgemm", 10.0 * images * side * side * channels * channels * 9),
            families=FAMILIES,
        ),
        Workload(
            name="vision",
            title=f"vision transformer, {crowd} images, width {dim}, {layers} layers, training step",
            what="train",
            inputs=lambda rng: vision_inputs(rng, crowd, size, patch, dim, layers),
            program=vision(heads, patch),
            tolerance=1e-3,
            families=FAMILIES,
        ),
        Workload(
            name="lenet_float64",
            title="LeNet in float64, batch 64, training step" if not tiny else "LeNet in float64",
            what="train",
            inputs=lambda rng: cast(networks.lenet_inputs(rng, images if tiny else 64), np.float64),
            program=networks.lenet,
            tolerance=1e-9,
            families=FAMILIES,
        ),
        Workload(
            name="mlp_float16",
            title=f"MLP 784-{inner}-{inner}-10 in float16, batch 128, training step",
            what="train",
            inputs=lambda rng: cast(
                (networks.dense(rng, 784, inner, inner, 10), *networks.labelled(rng, 4 if tiny else 128, 784)),
                np.float16,
            ),
            program=networks.mlp,
            tolerance=3e-2,
            families=FAMILIES,
        ),
    ]

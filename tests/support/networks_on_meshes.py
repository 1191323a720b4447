"""Networks that are trained on one device and on many: the weights must be equal."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

import adjoint as ad
from adjoint import nn, ops, optim, parallel

rng = np.random.default_rng(3)


class LeNet(nn.Cell):
    """Convolution, normalisation over the batch, pooling and dropout."""

    def __init__(self) -> None:
        super().__init__()
        self.convolution = nn.Conv2d(1, 4, 3, pad_mode="same")
        self.normalisation = nn.BatchNorm2d(4)
        self.pool = nn.MaxPool2d(2, 2)
        self.dropout = nn.Dropout(p=0.25)
        self.dense = nn.Dense(64, 8)

    def construct(self, x: Any) -> Any:
        x = self.pool(ops.relu(self.normalisation(self.convolution(x))))
        return self.dense(self.dropout(ops.reshape(x, (x.shape[0], -1))))


class Block(nn.Cell):
    """A layer of a transformer, and a reading of its first place."""

    def __init__(self) -> None:
        super().__init__()
        self.layer = nn.TransformerEncoderLayer(16, 4, 32, dropout=0.1, batch_first=True)
        self.head = nn.Dense(16, 8)

    def construct(self, x: Any) -> Any:
        return self.head(self.layer(x))[:, 0]


def mlp(dtype: Any = ad.float32) -> Any:
    """Two layers with dropout between them."""
    return nn.SequentialCell(
        nn.Dense(12, 32, activation="relu", dtype=dtype), nn.Dropout(p=0.25), nn.Dense(32, 16, dtype=dtype)
    )


def split_mlp(net: Any) -> None:
    """The first layer by its outputs, the second by its inputs."""
    parallel.split_columns(net[0])
    parallel.split_rows(net[2])


def normal(*shape: int, dtype: Any = "float32") -> np.ndarray:
    return rng.standard_normal(shape).astype(dtype)


def trained(
    make: Callable[[], Any],
    batches: list[tuple[Any, ...]],
    loss: Callable[..., Any],
    around: Callable[[Any, Any, Callable[..., Any]], Any] | None = None,
    rule: Callable[[Any], Any] = lambda params: optim.Adam(params, 0.01),
    accumulate: int = 0,
    **options: Any,
) -> tuple[Any, Any, Any, list[float]]:
    """The network, its optimiser, the step and the losses; `around(net, optimiser, make_step)` makes it a step for many devices."""
    ad.set_seed(11)
    net = make()
    net.set_train(True)
    optimiser = rule(net.trainable_params())

    def one(**more: Any) -> Any:
        taken = optim.GradientAccumulation(accumulate, optimiser) if accumulate else optimiser
        return optim.compiled_step(lambda x, y: loss(net(x), y), net.trainable_params(), taken, **options, **more)

    step = one() if around is None else around(net, optimiser, one)
    losses = [float(np.asarray(parallel.gathered(step(*batch)))) for batch in batches]
    return net, optimiser, step, losses


def values(net: Any, optimiser: Any) -> dict[str, np.ndarray]:
    """All that was trained or noted, on the host."""
    held = {p.name: p for p in net.get_parameters()} | optimiser.parameters_dict()
    return {name: np.asarray(parallel.gathered(p)) for name, p in held.items()}


def assert_equal_weights(found: Any, expected: Any, tolerance: float) -> None:
    mine, other = values(*found[:2]), values(*expected[:2])
    assert mine.keys() == other.keys()
    for name in other:
        np.testing.assert_allclose(mine[name], other[name], rtol=tolerance, atol=tolerance, err_msg=name)
    np.testing.assert_allclose(found[3], expected[3], rtol=10 * tolerance)

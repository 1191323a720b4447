"""Losses that devices can compute each with its own part of a batch, and losses that they cannot."""

from __future__ import annotations

import numpy as np
import pytest

import adjoint as ad
from adjoint import nn, ops, optim, parallel
from networks_on_meshes import normal

BATCHES = [(normal(12, 5), normal(12, 3)) for _ in range(3)]

ALONE = {
    "mean": (lambda out, y: ops.mse_loss(out, y), "mean"),
    "sum": (lambda out, y: ops.sum((out - y) ** 2), "sum"),
    "over the length": (lambda out, y: ops.sum(ops.abs(out - y)) / y.shape[0], "mean"),
}

TOGETHER = {
    "sum as a mean": (lambda out, y: ops.sum((out - y) ** 2), "mean"),
    "mean as a sum": (lambda out, y: ops.mse_loss(out, y), "sum"),
    "root": (lambda out, y: ops.sqrt(ops.mse_loss(out, y)), "mean"),
    "greatest": (lambda out, y: ops.max(out - y), "mean"),
    "centred": (lambda out, y: ops.mse_loss(out - ops.mean(out, 0), y), "mean"),
    "masked": (lambda out, y: ops.sum(ops.where(y > 0, out, 0.0)) / ops.sum(ops.cast(y > 0, ad.float32)), "mean"),
}


def weights_after(loss, reduction, mesh=None):
    ad.set_seed(3)
    net = nn.SequentialCell(nn.Dense(5, 7, activation="relu"), nn.Dense(7, 3))
    rule = optim.GradientAccumulation(2, optim.SGD(net.trainable_params(), learning_rate=0.01))
    step = optim.compiled_step(lambda x, y: loss(net(x), y), net.trainable_params(), rule, reduction=reduction)
    first = [p.asnumpy() for p in net.get_parameters()]
    step = step if mesh is None else parallel.data_parallel(step, mesh, reduce_once=True)
    try:
        losses = [float(step(*batch)) for batch in BATCHES]
    except ad.ArgumentError:
        assert all((p.asnumpy() == w).all() for p, w in zip(net.get_parameters(), first))  # nothing was changed
        with pytest.raises(ad.ArgumentError, match="with reduce_once the loss of a batch must be the"):
            step(*BATCHES[0])  # not let through the second time
        raise
    return losses, [np.asarray(parallel.gathered(p)) for p in net.get_parameters()]


@pytest.mark.parametrize("name", ALONE)
def test_losses_of_examples_each_for_itself_are_those_of_one_device(name):
    losses, weights = weights_after(*ALONE[name], parallel.mesh(data=4))
    expected, wanted = weights_after(*ALONE[name])
    np.testing.assert_allclose(losses, expected, rtol=1e-5)
    for found, w in zip(weights, wanted, strict=True):
        np.testing.assert_allclose(found, w, rtol=1e-4, atol=1e-6)


@pytest.mark.parametrize("name", TOGETHER)
def test_losses_of_the_batch_as_a_whole_are_refused(name):
    with pytest.raises(ad.ArgumentError, match="leave reduce_once out"):
        weights_after(*TOGETHER[name], parallel.mesh(data=4))

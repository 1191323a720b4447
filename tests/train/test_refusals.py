"""Mistakes in setting up a run: each is named before it trains the wrong thing, or nothing."""

from __future__ import annotations

import numpy as np
import pytest

from adjoint import Parameter, Tensor, nn, ops, optim
from adjoint.data import ArrayDataset
from adjoint.train import Accuracy, EarlyStopping, Model, ModelCheckpoint, ReduceLROnPlateau, TrainOneStepCell

PAIRS = ArrayDataset(np.ones((4, 2), "float32"), np.zeros(4, "int32")).batch(2)
ONE_COLUMN = ArrayDataset(np.ones((4, 2), "float32")).batch(2)


def classifier():
    net = nn.Dense(2, 2)
    return Model(net, ops.cross_entropy, optim.SGD(net.trainable_params(), 0.1), ["accuracy"])


def test_an_optimiser_of_another_network_is_refused():
    net, other = nn.Dense(2, 2), nn.Dense(2, 2)
    for optimiser in (optim.SGD(other.trainable_params()), optim.GradientAccumulation(2, optim.SGD([other.weight]))):
        with pytest.raises(ValueError, match="trains none of the network's Parameters"):
            Model(net, ops.cross_entropy, optimiser)


def test_an_optimiser_may_train_the_loss_too():
    net, scale = nn.Dense(2, 1), Parameter(Tensor(1.0), name="scale")
    model = Model(net, lambda y, t: ((scale * y - t) ** 2).mean(), optim.SGD([*net.trainable_params(), scale], 0.1))
    model.fit(1, ArrayDataset(np.ones((4, 2), "float32"), np.ones((4, 1), "float32")).batch(4))
    assert scale.item() != 1.0


@pytest.mark.parametrize(
    "make, words",
    [
        (lambda: Model(nn.Cell()).train(1, []), "needs an optimiser"),
        (lambda: Model(nn.Cell()).eval([]), "needs a loss_fn"),
        (lambda: Model(nn.Cell(), metrics=["speed"]), "no metric 'speed'"),
        (lambda: classifier().fit(1, []), "no batches"),
        (lambda: classifier().fit(1, PAIRS, initial_epoch=2), "make no run"),
        (lambda: Accuracy()([1.0, 2.0], [1, 2]), "samples, classes"),
        (lambda: EarlyStopping(mode="up"), "mode must be"),
        (lambda: ModelCheckpoint(keep=0), "at least 1"),
        (lambda: ModelCheckpoint(every_steps=0), "at least 1"),
        (lambda: ModelCheckpoint(every_steps=2, monitor="loss"), "once an epoch"),
        (lambda: ReduceLROnPlateau(factor=1.0), "between 0 and 1"),
        (lambda: Model(None), "network must be a Cell, not NoneType"),
        (lambda: Model(nn.Dense(2, 2), optimizer=3), "optimizer must be an optimiser or a function .*not 3"),
        (lambda: TrainOneStepCell(nn.Dense(2, 2), None), "TrainOneStepCell: optimizer must be .*not None"),
        (lambda: TrainOneStepCell(lambda x: x, lambda grads: None), "network must be a Cell"),
        (lambda: classifier().fit("1", PAIRS), "epoch must be an integer, not '1'"),
        (lambda: classifier().fit(1, PAIRS, valid_frequency=0.5), "valid_frequency must be a whole"),
        (lambda: classifier().fit(1, None), "train_dataset must be a dataset, .*not None"),
        (lambda: classifier().fit(1, PAIRS, 3), "valid_dataset must be a dataset, .*not 3"),
        (lambda: classifier().eval(None), "valid_dataset must be a dataset"),
        (lambda: classifier().fit(1, PAIRS, callbacks=[print]), "callbacks must be a Callback .*print"),
        (lambda: classifier().fit(1, ONE_COLUMN), "it has 1 column"),
        (lambda: classifier().eval(ONE_COLUMN), "last, the label for loss_fn"),
    ],
)
def test_refusals(make, words):
    with pytest.raises((ValueError, TypeError), match=words):
        make()

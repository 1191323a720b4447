"""Samples that are dicts, through every stage."""

import numpy as np
import pytest

from adjoint import nn, ops, optim
from adjoint.data import ArrayDataset, GeneratorDataset
from adjoint.train import Model

X, Y = np.arange(14.0, dtype=np.float32).reshape(7, 2), np.arange(7)


def source():
    for k in range(7):
        yield {"x": X[k], "label": Y[k]}


@pytest.mark.parametrize("dataset", [ArrayDataset({"x": X, "label": Y}), GeneratorDataset(source, 7)])
def test_stages_keep_names_and_pairs(dataset) -> None:
    batches = list(dataset.shuffle(seed=0).batch(3).prefetch())
    assert [b["x"].shape for b in batches] == [(3, 2), (3, 2), (1, 2)] and len(dataset.batch(3)) == 3
    seen = np.concatenate([b["label"].asnumpy() for b in batches])
    assert sorted(seen) == list(range(7)) and list(seen) != list(range(7))
    for b in batches:
        np.testing.assert_array_equal(b["x"].asnumpy(), X[b["label"].asnumpy()])
    assert len(list(dataset.batch(3, drop_remainder=True).repeat(2).take(3))) == 3
    assert [int(b["label"]) for b in dataset.shuffle(seed=1, buffer_size=2)] != list(range(7))


def test_maps_of_dicts() -> None:
    data = ArrayDataset({"x": X, "label": Y})
    assert float(next(iter(data.map(lambda x: x + 1, column="x")))["x"][0]) == 1.0
    assert set(next(iter(data.map(lambda row: {**row, "z": row["x"].sum()}).batch(2)))) == {"x", "label", "z"}
    x, y = next(iter(data.map(lambda row: (row["x"], row["label"])).batch(7)))
    assert x.shape == (7, 2) and y.shape == (7,)
    train, rest = data.split(0.5, seed=0)
    assert len(train) + len(rest) == 7 and set(next(iter(train))) == {"x", "label"}
    with pytest.raises(ValueError, match=r"no column 'y'; there are \['x', 'label'\]"):
        list(data.map(abs, column="y"))
    with pytest.raises(ValueError, match=r"no column 2; there are 0 to 1"):
        list(ArrayDataset(X, Y).map(abs, column=2))


def test_what_does_not_fit_is_named() -> None:
    uneven = GeneratorDataset(lambda: iter([{"x": 1.0}, {"y": 1.0}]))
    with pytest.raises(ValueError, match=r"columns \['x'\] and \['y'\]"):
        list(uneven.batch(2))
    with pytest.raises(ValueError, match="some samples are dicts"):
        list(GeneratorDataset(lambda: iter([(1.0,), {"y": 1.0}])).batch(2))
    with pytest.raises(ValueError, match="column 'x' have shapes"):
        list(GeneratorDataset(lambda: iter([{"x": [1.0]}, {"x": [1.0, 2.0]}])).batch(2))
    with pytest.raises(ValueError, match="one dict of them"):
        ArrayDataset({"x": X}, Y)
    with pytest.raises(ValueError, match="first axes must have one size"):
        ArrayDataset({"x": X, "y": Y[:3]})


def test_a_model_takes_them_in_their_order() -> None:
    net = nn.Dense(2, 1)
    model = Model(net, ops.mse_loss, optim.Adam(net.trainable_params(), lr=0.05))
    data = ArrayDataset({"x": X, "label": X.sum(1, keepdims=True)}).batch(7)
    losses = model.fit(5, data).history["loss"]
    assert losses[-1] < losses[0]

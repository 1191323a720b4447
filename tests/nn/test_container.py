"""SequentialCell, CellList, CellDict: order, names, slices."""

from __future__ import annotations

from collections import OrderedDict

import numpy as np
import pytest

import adjoint as ad
from adjoint import nn, ops


def names(cell):
    return [p.name for p in cell.get_parameters()]


def test_three_ways_to_fill_a_row():
    for net in (
        nn.SequentialCell(nn.Flatten(), nn.ReLU()),
        nn.SequentialCell([nn.Flatten(), nn.ReLU()]),
        nn.SequentialCell(OrderedDict(flat=nn.Flatten(), act=nn.ReLU())),
    ):
        assert net(ops.ones((2, 3, 4))).shape == (2, 12)
    assert list(net.name_cells()) == ["flat", "act"]
    assert isinstance(net.act, nn.ReLU)
    assert len(nn.SequentialCell()) == 0


def test_append_insert_delete_and_replace():
    net = nn.SequentialCell(nn.Dense(2, 3), nn.Dense(3, 4))
    net.append(nn.ReLU())
    net.insert(0, nn.Dense(5, 2))
    assert names(net) == [f"{k}.{n}" for k in range(3) for n in ("weight", "bias")]
    assert [p.shape for p in net.trainable_params()][::2] == [(2, 5), (3, 2), (4, 3)]
    assert net(ops.ones((1, 5))).shape == (1, 4)
    del net[1]
    net[1] = nn.Dense(2, 7)
    assert names(net) == ["0.weight", "0.bias", "1.weight", "1.bias"]
    assert net(ops.ones((1, 5))).shape == (1, 7)
    assert isinstance(net[-1], nn.ReLU)


def test_names_follow_a_change_inside_a_network():
    class Net(nn.Cell):
        def __init__(self):
            super().__init__()
            self.body = nn.SequentialCell(nn.Dense(2, 2))

        def construct(self, x):
            return self.body(x)

    net = Net()
    net.body.append(nn.Dense(2, 3))
    net.body.insert(0, nn.Dense(2, 2))
    assert names(net) == [f"body.{k}.{n}" for k in range(3) for n in ("weight", "bias")]
    assert names(net) == [n for n, _ in net.parameters_and_names()]
    assert [n for n, _ in net.cells_and_names()] == ["", "body", "body.0", "body.1", "body.2"]


def test_a_slice_shares_the_cells():
    net = nn.SequentialCell(nn.Dense(2, 2), nn.ReLU(), nn.Dense(2, 1))
    part = net[:2]
    assert isinstance(part, nn.SequentialCell)
    assert part[0] is net[0]
    assert names(net) == ["0.weight", "0.bias", "2.weight", "2.bias"]


def test_a_cell_used_twice_has_one_set_of_parameters():
    shared = nn.Dense(2, 2)
    net = nn.SequentialCell(shared, nn.ReLU(), shared)
    assert names(net) == ["0.weight", "0.bias"]
    x = ad.Tensor(np.array([[1.0, 2.0]]))
    grad = ad.grad(lambda x: net(x).sum(), None, weights=net.trainable_params())(x)
    assert len(grad) == 2


def test_a_change_makes_a_new_graph():
    net = nn.SequentialCell(nn.ReLU())
    run = ad.jit(lambda x: net(x))
    assert float(run(ad.Tensor(-1.0))) == 0
    net.insert(0, nn.HShrink(9.0))
    net[0] = nn.LeakyReLU(-1.0)
    assert float(run(ad.Tensor(-1.0))) == 1


def test_lists_and_dicts():
    layers = nn.CellList([nn.Dense(2, 2)])
    layers.extend([nn.ReLU(), nn.Tanh()])
    assert [type(c).__name__ for c in layers] == ["Dense", "ReLU", "Tanh"]
    table = nn.CellDict({"a": nn.Dense(1, 1)})
    table["b"] = nn.ReLU()
    table.update([("c", nn.Tanh())])
    assert (list(table), len(table), "b" in table) == (["a", "b", "c"], 3, True)
    assert isinstance(table.pop("b"), nn.ReLU)
    del table["c"]
    assert [k for k, _ in table.items()] == ["a"] == list(table.keys())
    assert next(iter(table.values())) is table["a"]
    table.clear()
    assert not list(table.get_parameters())


def test_mistakes():
    with pytest.raises(TypeError, match="SequentialCell holds Cells, not function"):
        nn.SequentialCell(lambda x: x)
    with pytest.raises(IndexError, match="there is no Cell 3, only 1"):
        nn.CellList([nn.ReLU()])[3]
    with pytest.raises(TypeError, match="must be an integer"):
        nn.CellList([nn.ReLU()])["a"]
    with pytest.raises(IndexError, match="no place 5 among 1 Cells"):
        nn.CellList([nn.ReLU()]).insert(5, nn.ReLU())
    with pytest.raises(NotImplementedError, match="a CellList cannot be called"):
        nn.CellList([nn.ReLU()])(1.0)
    with pytest.raises(NotImplementedError, match="a CellDict cannot be called"):
        nn.CellDict()(1.0)
    with pytest.raises(TypeError, match="CellDict holds Cells, not int"):
        nn.CellDict({"a": 1})
    for key, message in (("a.b", "a word without a dot"), ("cells", "is the name of an attribute")):
        with pytest.raises(ValueError, match=message):
            nn.CellDict({key: nn.ReLU()})

"""`nn.summary`: layers, shapes and counts; nothing of the network changes."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import adjoint as ad
from adjoint import nn, ops


class Block(nn.Cell):
    """A Cell under two names, a shared Parameter, running statistics, and a layer that is not called."""

    def __init__(self, width: int) -> None:
        super().__init__()
        self.first = nn.Dense(width, width)
        self.again = self.first
        self.norm = nn.BatchNorm1d(width)
        self.tied = nn.Dense(width, width)
        self.tied.weight = self.first.weight
        self.unused = nn.Dense(3, 3)
        self.drop = nn.Dropout(p=0.5)

    def construct(self, x: Any) -> Any:
        y = self.tied(self.again(self.norm(self.first(x))))
        return self.drop(y), {"input": x}


class Net(nn.Cell):
    def __init__(self) -> None:
        super().__init__()
        self.enter = nn.Dense(4, 6)
        self.block = Block(6)
        self.scale = ad.Parameter(ad.Tensor([1.0]), requires_grad=False)

    def construct(self, x: Any, *, twice: bool = False) -> Any:
        y = self.block(self.enter(x))[0] * self.scale
        return (y, y) if twice else y


X = np.ones((5, 4), np.float32)


def test_rows_and_totals() -> None:
    net = Net()
    found = {row.path: row for row in nn.summary(net, X).layers}
    assert [found[p].output for p in ("", "enter", "block", "block.norm")] == [
        "(5, 6)",
        "(5, 6)",
        "(5, 6), (5, 6)",
        "(5, 6)",
    ]
    assert (found["enter"].parameters, found["block.first"].parameters, found["block.first"].calls) == (30, 42, 2)
    assert (found["block.again"].parameters, found["block.again"].note) == (0, "the same as block.first")
    assert (found["block.tied"].parameters, found["block.tied"].note) == (6, "shares Parameters with block.first")
    assert (found["block.norm"].parameters, found["block.norm"].trainable) == (24, 12)
    assert found["block.unused"].calls == 0
    report = nn.summary(net, X)
    assert report.parameters == sum(p.size for p in net.get_parameters())
    assert report.trainable == sum(p.size for p in net.trainable_params())
    assert report.bytes == 4 * report.parameters
    text = str(report)
    for part in ("not called", "x2", "115 parameters: 102 trainable, 13 not", "    norm: BatchNorm1d"):
        assert part in text
    assert "output shape" not in str(nn.summary(net))
    assert nn.summary(net, X, twice=True).layers[0].output == "(5, 6), (5, 6)"


def test_nothing_changes() -> None:
    """Neither running statistics, nor training, nor random numbers, nor compiled functions."""
    net = Net().set_train()
    compiled = ad.jit(net)
    compiled(X)
    before = [p.asnumpy().copy() for p in net.get_parameters()]
    ad.set_seed(3)
    expected = ops.rand(3).asnumpy()
    ad.set_seed(3)
    nn.summary(net, X)
    assert np.array_equal(ops.rand(3).asnumpy(), expected)
    assert all(np.array_equal(p.asnumpy(), old) for p, old in zip(net.get_parameters(), before, strict=True))
    assert all(cell.training and "_run" not in vars(cell) for _, cell in net.cells_and_names())
    compiled(X)
    assert len(compiled.compilations) == 1


def test_a_network_that_fails_is_left_as_it_was() -> None:
    net = Net().set_train()
    with pytest.raises(ad.ShapeError):
        nn.summary(net, np.ones((5, 3), np.float32))
    assert net.training
    assert "_run" not in vars(net)
    with pytest.raises(ad.ArgumentTypeError, match="a Cell is needed"):
        nn.summary(lambda x: x, X)


def test_containers_static_mode_and_pages() -> None:
    net = nn.SequentialCell(nn.CellList([nn.ReLU()])[0], nn.LSTM(4, 3))
    assert nn.summary(net[1], np.ones((2, 5, 4), np.float32)).layers[0].output.startswith("(2, 5, 3)")
    ad.set_context(mode=ad.GRAPH_MODE)
    try:
        assert nn.summary(Net(), X).layers[1].output == "(5, 6)"
    finally:
        ad.set_context(mode=ad.PYNATIVE_MODE)
    page = Net()._repr_html_()
    assert page.count("<tr>") == 10
    assert "102 trainable" in page
    assert "&lt;" in nn.summary(type("<b>", (nn.ReLU,), {})())._repr_html_()


def test_tensors_in_notebooks() -> None:
    page = ad.Tensor(np.arange(6.0).reshape(2, 3))._repr_html_()
    assert page.count("<td") == 6
    assert "from 0 to 5, mean 2.5" in page
    large = ad.Tensor(np.full((1000, 50), np.nan))._repr_html_()
    assert large.count("<td") == 11 * 11
    assert "50,000 not finite" in large
    for x in (
        ad.Tensor(2),
        ad.Tensor(np.zeros((0, 3))),
        ad.Tensor([1j]),
        ad.Tensor([True]),
        ad.Tensor(np.zeros((2, 2, 2))),
    ):
        assert str(x.dtype) in x._repr_html_()
    assert "requires_grad" in ad.Parameter(ad.Tensor([1.0]), name="w<1>")._repr_html_()
    assert "w&lt;1&gt;" in ad.Parameter(ad.Tensor([1.0]), name="w<1>")._repr_html_()
    shown: list[str] = []
    for transform in (ad.jit, ad.grad):
        transform(lambda x: (shown.append(x._repr_html_()), ops.sum(x))[1])(ad.Tensor([1.0]))
    ad.vmap(lambda x: (shown.append(x._repr_html_()), x)[1])(ad.Tensor([[1.0]]))
    assert ["value=?" in s for s in shown] == [True, False, True]


def test_a_class_is_no_network() -> None:
    with pytest.raises(ad.ArgumentTypeError, match="Dense is a class"):
        nn.summary(nn.Dense)

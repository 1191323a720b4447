"""A network written to a file, read again, run and differentiated."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

import adjoint as ad
import adjoint.mindspore as ms
from adjoint.core import tree
from adjoint.mindspore import Tensor, nn, ops


class Branching(nn.Cell):
    """Two results in a dict, a loop and a branch."""

    def __init__(self) -> None:
        super().__init__()
        self.dense = nn.Dense(3, 3)

    def construct(self, x: Tensor, n: int) -> dict[str, object]:
        for _ in range(n):
            x = ops.tanh(self.dense(x))
        y = x * 2 if x.sum() > 0 else x * 3
        return {"y": y, "parts": (x, [y.sum()], None)}


@pytest.fixture
def exported(tmp_path: Path) -> tuple[nn.Cell, Tensor, str]:
    ms.set_seed(5)  # elements near zero have other digits when sums are taken in another order
    net, x = Branching(), Tensor(np.linspace(-1, 2, 6, dtype=np.float32).reshape(2, 3))
    name = str(tmp_path / "net")
    ms.export(net, x, 3, file_name=name, file_format="MINDIR")
    return net, x, name + ".mindir"


@pytest.mark.parametrize("mode", [ms.PYNATIVE_MODE, ms.GRAPH_MODE])
def test_what_is_read_computes_the_same(exported: tuple[nn.Cell, Tensor, str], mode: int) -> None:
    net, x, name = exported
    expected = net(x, 3)
    ms.set_context(mode=mode)
    try:
        found = nn.GraphCell(ms.load(name))(x, 3)
    finally:
        ms.set_context(mode=ms.PYNATIVE_MODE)
    np.testing.assert_allclose(found["y"].asnumpy(), expected["y"].asnumpy(), rtol=1e-5)
    assert isinstance(found["parts"], tuple) and isinstance(found["parts"][1], list) and found["parts"][2] is None


def test_what_is_read_is_differentiated(exported: tuple[nn.Cell, Tensor, str]) -> None:
    net, x, name = exported
    again = nn.GraphCell(ms.load(name))
    assert [p.name for p in again.trainable_params()] == [p.name for p in net.trainable_params()]
    for a, b in zip(
        ad.grad(lambda x: net(x, 3)["y"].sum(), 0, net.trainable_params())(x)[1],
        ad.grad(lambda x: again(x, 3)["y"].sum(), 0, again.trainable_params())(x)[1],
        strict=True,
    ):
        np.testing.assert_allclose(a.asnumpy(), b.asnumpy(), rtol=1e-5)


def test_parameters_can_be_given(exported: tuple[nn.Cell, Tensor, str]) -> None:
    _, x, name = exported
    graph = ms.load(name)
    zeros = {key: Tensor(np.zeros_like(a)) for key, a in graph.parameters.items()}
    assert nn.GraphCell(graph, params_init=zeros)(x, 3)["y"].asnumpy().max() == 0


@pytest.mark.parametrize("suffix", ["", ".onnx"])
def test_onnx(exported: tuple[nn.Cell, Tensor, str], tmp_path: Path, suffix: str) -> None:
    onnxruntime = pytest.importorskip("onnxruntime")
    net, x, _ = exported
    ms.export(net, x, 3, file_name=str(tmp_path / f"net{suffix}"), file_format="ONNX")
    run = onnxruntime.InferenceSession(tmp_path / "net.onnx", providers=["CPUExecutionProvider"])
    (given,) = run.get_inputs()
    found = run.run(None, {given.name: x.asnumpy()})
    wanted = [y for y in tree.leaves(net(x, 3)) if isinstance(y, Tensor)]
    assert len(found) == len(wanted)
    for mine, theirs in zip(found, wanted, strict=True):
        np.testing.assert_allclose(mine, theirs.asnumpy(), rtol=1e-5, atol=1e-6)


def test_misuse(exported: tuple[nn.Cell, Tensor, str], tmp_path: Path) -> None:
    net, x, _ = exported
    with pytest.raises(NotImplementedError, match="'AIR' is not provided, only 'MINDIR' and 'ONNX'"):
        ms.export(net, x, 3, file_name=str(tmp_path / "a"), file_format="AIR")
    (tmp_path / "b.mindir").write_text("nothing")
    with pytest.raises(ValueError, match="export"):
        ms.load(str(tmp_path / "b.mindir"))
    with pytest.raises(TypeError, match="load"):
        nn.GraphCell(net)


def test_a_network_that_writes_to_its_state_is_refused(tmp_path: Path) -> None:
    net, name = nn.BatchNorm1d(3).set_train(), str(tmp_path / "norm")
    x = Tensor(np.arange(6, dtype=np.float32).reshape(2, 3))
    with pytest.raises(NotImplementedError, match="set_train"):
        ms.export(net, x, file_name=name, file_format="MINDIR")
    ms.export(net.set_train(False), x, file_name=name, file_format="MINDIR")
    np.testing.assert_allclose(nn.GraphCell(ms.load(name + ".mindir"))(x).asnumpy(), net(x).asnumpy(), rtol=1e-6)

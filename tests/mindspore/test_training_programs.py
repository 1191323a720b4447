"""Whole programs: data, training, evaluation, saving and loading, mixed precision, in both modes."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pytest

import adjoint.mindspore as ms
from adjoint.data import write_idx
from adjoint.mindspore import Tensor, amp, dataset, nn, ops, train
from adjoint.mindspore.dataset import MnistDataset, transforms, vision


class Net(nn.Cell):
    def __init__(self) -> None:
        super().__init__()
        self.flatten = nn.Flatten()
        self.layers = nn.SequentialCell(nn.Dense(64, 16), nn.ReLU(), nn.Dense(16, 10))

    def construct(self, x: Any) -> Any:
        return self.layers(self.flatten(x))


@pytest.fixture
def digits(tmp_path: Path) -> Any:
    """Files in MNIST's format: images that show their label by a bright row."""
    labels = np.arange(64) % 8
    images = np.zeros((64, 8, 8), np.uint8)
    images[np.arange(64), labels] = 255
    write_idx(tmp_path / "train-images-idx3-ubyte", images)
    write_idx(tmp_path / "train-labels-idx1-ubyte", labels.astype(np.uint8))
    data = MnistDataset(str(tmp_path), shuffle=False)
    data = data.map([vision.Rescale(1.0 / 255.0, 0), vision.Normalize((0.1,), (0.3,)), vision.HWC2CHW()], "image")
    return data.map(transforms.TypeCast(ms.int32), "label").batch(16)


@pytest.mark.parametrize("compiled", [False, True])
def test_a_network_learns_and_is_saved(digits: Any, tmp_path: Path, compiled: bool) -> None:
    ms.set_seed(1)
    net, loss_fn = Net(), nn.CrossEntropyLoss()
    optimizer = nn.Adam(net.trainable_params(), 0.02)

    def forward(x: Any, y: Any) -> Any:
        logits = net(x)
        return loss_fn(logits, y), logits

    grad_fn = ms.value_and_grad(forward, None, optimizer.parameters, has_aux=True)

    def step(x: Any, y: Any) -> Any:
        (loss, _), grads = grad_fn(x, y)
        optimizer(grads)
        return loss

    run = ms.jit(step) if compiled else step
    losses = [float(run(x, y).asnumpy()) for _ in range(8) for x, y in digits.create_tuple_iterator()]
    assert losses[-1] < 0.3 * losses[0]
    ms.save_checkpoint(net, str(tmp_path / "net.ckpt"))
    other = Net()
    assert ms.load_param_into_net(other, ms.load_checkpoint(str(tmp_path / "net.ckpt"))) == ([], [])
    x = next(digits.create_dict_iterator())["image"]
    np.testing.assert_allclose(other(x).asnumpy(), net(x).asnumpy(), rtol=1e-6)


def test_a_model_is_fitted(digits: Any, tmp_path: Path, capsys: Any) -> None:
    net = Net()
    model = train.Model(net, nn.CrossEntropyLoss(), nn.Momentum(net.trainable_params(), 0.1, 0.9), {"accuracy"})
    saving = train.ModelCheckpoint("net", str(tmp_path), train.CheckpointConfig(4, keep_checkpoint_max=1))
    model.fit(6, digits, digits, callbacks=[train.LossMonitor(), train.TimeMonitor(), saving])
    assert model.eval(digits)["accuracy"] > 0.9
    assert [p.name for p in tmp_path.glob("*.ckpt")] == ["net-6_4.ckpt"]
    assert "epoch: 6 step: 4, loss is" in capsys.readouterr().out


def test_half_precision_with_a_scaled_loss(digits: Any) -> None:
    net = amp.auto_mixed_precision(Net(), "O1")
    optimizer, scaler = nn.Adam(net.trainable_params(), 0.02), amp.DynamicLossScaler(1024, 2, 3)
    loss_fn = nn.CrossEntropyLoss()
    grad_fn = ms.value_and_grad(lambda x, y: scaler.scale(loss_fn(net(x), y)), None, optimizer.parameters)

    @ms.jit
    def step(x: Any, y: Any) -> Any:
        loss, grads = grad_fn(x, y)
        finite = amp.all_finite(grads)
        if finite:
            optimizer(scaler.unscale(grads))
        scaler.adjust(finite)
        return scaler.unscale(loss)

    losses = [float(step(x, y).asnumpy()) for x, y in digits]
    assert losses[-1] < losses[0]
    assert float(scaler.scale_value.asnumpy()) == 2048.0


def test_a_step_that_overflows_is_left_out() -> None:
    net = nn.Dense(1, 1, weight_init="ones", has_bias=False)
    manager = train.FixedLossScaleManager(4.0)
    step = amp.build_train_network(net, nn.SGD(net.trainable_params(), 0.1), nn.MSELoss(), loss_scale_manager=manager)
    _, overflow, _ = step(Tensor([[float("inf")]]), Tensor([[0.0]]))
    assert bool(overflow.asnumpy())
    assert net.weight.asnumpy().tolist() == [[1.0]]
    _, overflow, scale = step(Tensor([[1.0]]), Tensor([[0.0]]))
    assert not bool(overflow.asnumpy())
    assert float(scale.asnumpy()) == 4.0
    np.testing.assert_allclose(net.weight.asnumpy(), [[0.8]])


def test_datasets_that_are_not_provided_say_so() -> None:
    with pytest.raises(NotImplementedError, match=r"mindspore\.dataset\.ImageFolderDataset"):
        dataset.ImageFolderDataset("folder")
    with pytest.raises(NotImplementedError, match=r"mindspore\.dataset\.vision\.Decode"):
        vision.Decode()


def test_lars_scales_gradients_by_the_size_of_parameters() -> None:
    w = ms.Parameter(Tensor([3.0, 4.0]), name="w")
    optimizer = nn.LARS(nn.Momentum([w], 1.0, 0.0), epsilon=0.0, coefficient=0.1)
    optimizer((Tensor([0.0, 2.0]),))
    np.testing.assert_allclose(w.asnumpy(), [3.0, 3.5], rtol=1e-6)
    assert ops.cast(w, ms.bfloat16).dtype.name == "bfloat16"

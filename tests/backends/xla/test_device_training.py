"""Whole training loops on a device: losses, Parameters, moving averages and the optimiser's state are the host's to rounding."""

from __future__ import annotations

import os

import numpy as np
import pytest

import adjoint as ad
from adjoint import nn, ops, optim, train
from adjoint.optim.step import compiled_step

HERE = os.environ.get("ADJOINT_TEST_DEVICE", "cpu:2")
RNG = np.random.default_rng(0)
IMAGES = RNG.normal(size=(6, 1, 9, 9)).astype("float32")
WORDS, LABELS = RNG.integers(0, 11, (6, 7)), RNG.integers(0, 5, 6)


def lenet() -> nn.Cell:
    return nn.SequentialCell(
        nn.Conv2d(1, 4, 3, pad_mode="valid"), nn.BatchNorm2d(4), nn.ReLU(), nn.MaxPool2d(2, 2), nn.Flatten(),
        nn.Dense(36, 10), nn.Dropout(p=0.3), nn.Dense(10, 5),
    )  # fmt: skip


class Block(nn.Cell):
    """An embedding, a transformer's layer with dropout, a norm and a linear layer."""

    def __init__(self) -> None:
        super().__init__()
        self.table = nn.Embedding(11, 8)
        self.layer = nn.TransformerEncoderLayer(8, 2, 16, dropout=0.1, batch_first=True)
        self.norm, self.out = nn.LayerNorm((8,)), nn.Dense(8, 5)

    def construct(self, x):
        return self.out(self.norm(self.layer(self.table(x))).mean(1))


def trained(make, mode: str, x: np.ndarray, device: str):
    """Losses, Parameters and where they are, after three steps."""
    ad.set_seed(3)
    net, loss = make().set_train(), nn.CrossEntropyLoss()
    optimiser = optim.Adam(net.trainable_params(), 0.01)
    net.to(device)
    batch = ad.Tensor(x, device=device), ad.Tensor(LABELS, device=device)
    losses = []

    def forward(x, y):
        return loss(net(x), y)

    if mode == "compiled":
        step = compiled_step(forward, optimiser.parameters, optimiser)
        losses = [step(*batch) for _ in range(3)]
    elif mode == "grad":
        gradient = ad.value_and_grad(forward, None, optimiser.parameters)
        for _ in range(3):
            value, grads = gradient(*batch)
            optimiser(grads)
            losses.append(value)
    else:
        for _ in range(3):
            losses.append(forward(*batch))
            losses[-1].backward()
            optimiser([p.grad for p in optimiser.parameters])
            for p in optimiser.parameters:
                p.grad = None
    places = {p.device for p in [*net.get_parameters(), *optimiser.slots["moment1"], *losses]}
    return net, [float(v) for v in losses], places


@pytest.mark.parametrize(
    ("make", "mode"), [(lenet, "backward"), (lenet, "compiled"), (Block, "grad"), (Block, "compiled")]
)
def test_training(make, mode, tmp_path):
    x = IMAGES if make is lenet else WORDS
    net, losses, places = trained(make, mode, x, HERE)
    want, expected, at_home = trained(make, mode, x, "cpu")
    assert (places, at_home) == ({HERE}, {"cpu"})
    np.testing.assert_allclose(losses, expected, rtol=2e-6)
    for p, q in zip(net.get_parameters(), want.get_parameters(), strict=True):
        np.testing.assert_allclose(p.asnumpy(), q.asnumpy(), rtol=1e-4, atol=3e-6, err_msg=p.name)
    if mode == "grad":
        train.save_checkpoint(net, str(tmp_path / "net.ckpt"))
        loaded = train.load_checkpoint(str(tmp_path / "net.ckpt"))
        assert {p.device for p in loaded.values()} == {"cpu"}
        train.load_param_into_net(net, loaded)
        assert {p.device for p in net.get_parameters()} == {HERE}


def test_recurrent_layers_and_losses():
    ad.set_seed(1)
    x = RNG.normal(size=(4, 3, 5))
    for make in (lambda: nn.LSTM(5, 4), lambda: nn.GRU(5, 4, bidirectional=True)):
        net = make()
        want = ad.grad(lambda x, net=net: (net(x)[0] ** 2).sum())(ad.Tensor(x, ad.float32))
        net.to(HERE)
        got = ad.grad(lambda x, net=net: (net(x)[0] ** 2).sum())(ad.Tensor(x, ad.float32, device=HERE))
        assert got.device == HERE
        np.testing.assert_allclose(got.asnumpy(), want.asnumpy(), rtol=1e-4, atol=1e-6)
    a, b = RNG.uniform(0.1, 0.9, (2, 4, 3))
    for loss in (nn.MSELoss(), nn.L1Loss(), nn.SmoothL1Loss(), nn.BCELoss(), nn.KLDivLoss(), nn.HuberLoss()):
        want = ad.grad(loss)(ad.Tensor(a), ad.Tensor(b))
        got = ad.grad(loss)(ad.Tensor(a, device=HERE), ad.Tensor(b, device=HERE))
        assert got.device == HERE
        np.testing.assert_allclose(got.asnumpy(), want.asnumpy(), rtol=1e-12)


def test_samples_are_those_of_the_host():
    like = ad.Tensor(np.zeros((3, 5)), device=HERE)
    ad.set_seed(4)
    want = [ops.randn_like(ad.Tensor(np.zeros((3, 5)))), ops.dropout(ad.Tensor(np.ones((3, 5))), 0.5, training=True)]
    ad.set_seed(4)
    got = [ops.randn_like(like), ops.dropout(like + 1, 0.5, training=True)]
    for a, b in zip(got, want, strict=True):
        assert a.device == HERE
        np.testing.assert_allclose(a.asnumpy(), b.asnumpy(), rtol=1e-12)


def test_the_state_of_an_optimiser_follows_its_parameters():
    p = ad.Parameter(ad.Tensor([1.0, 2.0]), name="p")
    optimiser = optim.Momentum([p], 0.1, 0.9)
    for device in ("cpu", HERE, "cpu"):
        p.to(device)
        optimiser([ad.Tensor([1.0, 1.0], device=device)])
        assert (p.device, optimiser.slots["moments"][0].device) == (device, device)
    np.testing.assert_allclose(p.asnumpy(), np.array([1.0, 2.0]) - 0.1 * (1 + 1.9 + 2.71), rtol=1e-6)
    with pytest.raises(ad.DeviceError):
        optimiser([ad.Tensor([1.0, 1.0], device=HERE)])


# ---------------------------------------------------------------- what is asked for is where it happens


def test_a_function_for_the_host_refuses_values_on_devices():
    for name in ("cpu", "CPU"):
        f = ad.jit(lambda x: x * 2, device=name)
        assert f(np.ones(3)).device == "cpu"
        for place in ("cpu:0", HERE):
            with pytest.raises(
                ad.DeviceError, match=f'on {place} and the function is compiled for cpu: pass x.to."cpu"'
            ):
                f(ad.Tensor(np.ones(3), device=place))


def test_a_step_takes_its_parameters_to_its_device_from_wherever_they_were_moved():
    def losses(places, **where):
        w = ad.Parameter(np.array([1.0, -2.0, 3.0]), name="w")
        optimiser = ad.optim.Adam([w], 0.1)
        step = ad.optim.compiled_step(lambda x: ((w * x) ** 2).sum(), [w], optimiser, **where)
        found = []
        for place in places:
            if place:
                w.to(place)
            found.append(float(step(np.arange(3.0))))
            assert w.device == optimiser.slots["moment1"][0].device == where.get("device", "cpu")
        return found

    np.testing.assert_allclose(losses([None, "cpu", "cpu:3", None], device=HERE), losses([None] * 4), rtol=1e-12)
    with pytest.raises(ad.DeviceError, match="compiled for cpu"):
        losses([HERE], device="cpu")


@pytest.mark.parametrize("mode", [ad.PYNATIVE_MODE, ad.GRAPH_MODE], ids=["dynamic", "static"])
def test_a_model_takes_batches_to_its_network(mode):
    rng = np.random.default_rng(4)
    x, y = rng.standard_normal((11, 3)), rng.standard_normal((11, 1))
    found = []
    ad.set_context(mode=mode)
    try:
        for place in ("cpu", HERE):
            net = nn.Dense(3, 1, weight_init=0.3, bias_init=0.1, dtype=ad.float64).to(place)
            model = ad.train.Model(net, nn.MSELoss(), ad.optim.SGD(net.trainable_params(), 0.1), ["mse"])
            data = ad.data.ArrayDataset(x, y)
            history = model.fit(2, data.batch(4), data.batch(11)).history
            predicted = model.predict(x)
            assert net.weight.device == predicted.device == place
            found.append([*history["loss"], *history["eval_mse"], *predicted.asnumpy().ravel()])
    finally:
        ad.set_context(mode=ad.PYNATIVE_MODE)
    np.testing.assert_allclose(*found, rtol=1e-10)


@pytest.mark.parametrize("jit", [False, True], ids=["eager", "compiled"])
def test_lbfgs_on_a_device(jit):
    w = ad.Parameter(ad.Tensor(np.array([-1.2, 1.0]), device=HERE), name="w")
    loss = ad.optim.LBFGS([w], max_iter=60, jit=jit).step(lambda: 100 * (w[1] - w[0] ** 2) ** 2 + (1 - w[0]) ** 2)
    assert w.device == loss.device == HERE
    np.testing.assert_allclose(w.asnumpy(), [1.0, 1.0], atol=1e-5)


def test_derivatives_are_checked_on_a_device():
    x, scale = (ad.Tensor(np.array([0.3, 1.2]), device=HERE) for _ in range(2))
    ad.check_grads(lambda x: ops.sin(x) * scale, x, order=1)
    with pytest.raises(ad.GradientMismatchError):
        ad.check_grads(lambda x: ops.stop_gradient(x) * x, x, order=1)
    np.testing.assert_allclose(ad.numeric.gradient(lambda x: (x * scale).sum(), x), scale.asnumpy(), rtol=1e-7)


def test_functions_inside_functions_for_another_device():
    inner = ad.jit(lambda x: x * 2, device=HERE)
    assert ad.jit(lambda x: inner(x) + 1, device=HERE)(np.ones(2)).device == HERE
    assert ad.jit(lambda x: inner(x) + 1)(ad.Tensor(np.ones(2), device=HERE)).device == HERE
    for g in (inner, ad.jit(lambda x: x * 2, device="cpu")):
        with pytest.raises(ad.DeviceError, match='is called inside one that runs on "cpu:0"'):
            ad.jit(lambda x, g=g: g(x) + 1, device="cpu:0")(np.ones(2))


def test_an_index_too_long_for_the_message_is_said_so():
    table = ad.Tensor(np.ones((3, 2)), device=HERE)
    for index, said in ((2**40, "549755813887 or more"), (-(2**50), "-549755813888 or less"), (7, "index 7 is")):
        with pytest.raises(IndexError, match=said):
            ad.jit(lambda i: table[i])(ad.Tensor(np.array([0, index]), device=HERE))

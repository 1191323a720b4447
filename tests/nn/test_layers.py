"""Layers: what PyTorch has no counterpart for, Parameters' names and shapes, text, errors, differences."""

from __future__ import annotations

import numpy as np
import pytest

import adjoint as ad
from adjoint import nn, ops

RNG = np.random.default_rng(0)


def draw(*shape):
    return RNG.normal(size=shape)


def in_double(cell):
    for p in cell.get_parameters():
        p._value = p._value.astype(np.float64)
    return cell


# ---------------------------------------------------------------- names and shapes


@pytest.mark.parametrize(
    ("cell", "expected"),
    [
        (nn.Dense(3, 4), {"weight": (4, 3), "bias": (4,)}),
        (nn.Conv2d(4, 6, (3, 5), group=2, has_bias=True), {"weight": (6, 2, 3, 5), "bias": (6,)}),
        (nn.Conv2dTranspose(4, 6, 3, group=2), {"weight": (4, 3, 3, 3)}),
        (nn.BatchNorm2d(3), {"moving_mean": (3,), "moving_variance": (3,), "gamma": (3,), "beta": (3,)}),
        (nn.LayerNorm((3, 4)), {"gamma": (3, 4), "beta": (3, 4)}),
        (nn.Embedding(5, 2), {"embedding_table": (5, 2)}),
        (nn.PReLU(3), {"w": (3,)}),
        (nn.LSTM(3, 4, has_bias=False), {"weight_ih_l0": (16, 3), "weight_hh_l0": (16, 4)}),
        (nn.GRUCell(3, 4), {"weight_ih": (12, 3), "weight_hh": (12, 4), "bias_ih": (12,), "bias_hh": (12,)}),
    ],
    ids=lambda x: type(x).__name__,
)
def test_parameters_have_mindspores_names_and_shapes(cell, expected):
    assert {p.name: p.shape for p in cell.get_parameters()} == expected


def test_an_affine_that_is_off_is_not_trained():
    for cell in (nn.BatchNorm1d(3, affine=False), nn.GroupNorm(1, 3, affine=False), nn.InstanceNorm1d(3, affine=False)):
        assert cell.trainable_params() == []
    assert nn.Embedding(5, 2, padding_idx=3).embedding_table.asnumpy()[3].tolist() == [0, 0]


# ---------------------------------------------------------------- values


def windows(x, size, stride, collapse):
    """Padding for as many windows as strides, an odd one at the end; each window collapsed: plain loops."""
    n, m = x.shape[-2:]
    out = np.empty((*x.shape[:2], -(-n // stride), -(-m // stride)))
    lead = [max((-(-k // stride) - 1) * stride + size - k, 0) // 2 for k in (n, m)]
    for i, j in np.ndindex(out.shape[2:]):
        (a, b), (c, d) = ((max(k * stride - p, 0), k * stride - p + size) for k, p in zip((i, j), lead, strict=True))
        out[:, :, i, j] = collapse(x[:, :, a:b, c:d], (2, 3))
    return out


@pytest.mark.parametrize(("size", "stride"), [(2, 1), (3, 2), (2, 3), (4, 3)])
def test_same_padding_of_pools(size, stride):
    x = draw(2, 3, 7, 8)
    np.testing.assert_allclose(nn.MaxPool2d(size, stride, "same")(x), windows(x, size, stride, np.max))
    np.testing.assert_allclose(nn.AvgPool2d(size, stride, "same")(x), windows(x, size, stride, np.mean))


@pytest.mark.parametrize(("size", "stride", "dilation"), [(3, 2, 1), (2, 2, 1), (2, 3, 1), (1, 3, 1), (3, 2, 2)])
@pytest.mark.parametrize("mode", ["same", "valid"])
def test_a_transposed_convolution_is_the_transpose(size, stride, dilation, mode):
    back = in_double(nn.Conv1dTranspose(3, 2, size, stride, mode, dilation=dilation))
    forth = in_double(nn.Conv1d(2, 3, size, stride, mode, dilation=dilation))
    forth.weight.set_data(back.weight)
    x = draw(1, 3, 5)
    y = back(x)
    reach = dilation * (size - 1) + 1
    assert y.shape == (1, 2, 5 * stride + (max(reach - stride, 0) if mode == "valid" else 0))
    z = draw(*y.shape)
    np.testing.assert_allclose(np.vdot(y.asnumpy(), z), np.vdot(x, forth(z).asnumpy()), rtol=1e-10)


def test_layer_norm_over_more_axes_than_its_parameters_have():
    x, layer = draw(2, 3, 4), in_double(nn.LayerNorm((4,), begin_norm_axis=1, epsilon=0.0))
    layer.gamma.set_data(draw(4))
    want = (x - x.mean((1, 2), keepdims=True)) / x.std((1, 2), keepdims=True) * layer.gamma.asnumpy()
    np.testing.assert_allclose(layer(x).asnumpy(), want, rtol=1e-10)


def test_rms_norm_and_embedding_by_product():
    x = draw(3, 4)
    want = x / np.sqrt((x**2).mean(-1, keepdims=True))
    np.testing.assert_allclose(in_double(nn.RMSNorm(4, 0.0))(x).asnumpy(), want, rtol=1e-10)
    table = nn.Embedding(6, 3, use_one_hot=True)
    ids = np.array([[1, 5], [0, 1]])
    np.testing.assert_allclose(table(ids).asnumpy(), table.embedding_table.asnumpy()[ids])


LOSSES = [nn.MSELoss(), nn.L1Loss(), nn.RMSELoss(), nn.HuberLoss(), nn.SmoothL1Loss(), ops.mse_loss, ops.l1_loss]


@pytest.mark.parametrize("loss", LOSSES, ids=lambda loss: getattr(loss, "__name__", type(loss).__name__))
def test_labels_that_broadcast_to_more_than_there_are_bring_a_warning(loss):
    column, row = ad.Tensor(draw(3, 1)), ad.Tensor(draw(3))
    for run in (loss, ad.jit(lambda x, y: loss(x, y)), lambda x, y: ad.grad(lambda x: loss(x, y).sum())(x)):
        with pytest.warns(UserWarning, match=r"the shapes \(3, 1\) and \(3,\) broadcast to \(3, 3\)") as found:
            run(column, row)
        assert found[0].filename == __file__
    for x, y in ((column, column), (row, row), (column, 0.5), (column, ad.Tensor(draw(1))), (draw(2, 3), row)):
        loss(x if isinstance(x, ad.Tensor) else ad.Tensor(x), y)


def test_losses_pytorch_does_not_have():
    a, b = np.abs(draw(4, 3)), np.abs(draw(4, 3))
    np.testing.assert_allclose(nn.RMSELoss()(a, b), np.sqrt(((a - b) ** 2).mean()))
    np.testing.assert_allclose(nn.DiceLoss(0.0)(a, b), 1 - 2 * (a * b).sum() / ((a**2).sum() + (b**2).sum()))
    logits, classes = draw(4, 3), np.array([0, 2, 1, 1])
    logs = logits - np.log(np.exp(logits).sum(-1, keepdims=True))
    want = -logs[np.arange(4), classes]
    np.testing.assert_allclose(nn.SoftmaxCrossEntropyWithLogits(sparse=True)(logits, classes), want)
    np.testing.assert_allclose(
        nn.SoftmaxCrossEntropyWithLogits(reduction="mean")(logits, np.eye(3)[classes]), want.mean()
    )


@pytest.mark.parametrize(
    "make",
    [
        lambda: nn.SequentialCell(nn.Conv2d(2, 3, 3, has_bias=True), nn.BatchNorm2d(3), nn.GELU(), nn.AvgPool2d(2, 2)),
        lambda: nn.SequentialCell(nn.Conv2dTranspose(2, 2, 3, 2), nn.InstanceNorm2d(2), nn.Softplus(), nn.ZeroPad2d(1)),
        lambda: nn.SequentialCell(nn.Flatten(), nn.Dense(32, 8, activation="mish"), nn.RMSNorm(8)),
    ],
)
def test_gradients_against_differences(make):
    net, x = in_double(make().set_train()), draw(2, 2, 4, 4)
    c = draw(*net(x).shape)
    loss = lambda x: ops.sum(net(x) * c)
    weights = net.trainable_params()
    by_input, by_weight = ad.grad(loss, 0, weights=weights)(x)
    for target, g in ((None, by_input), *zip(weights, by_weight, strict=True)):
        value = x if target is None else target.asnumpy()
        step = 1e-6 * draw(*value.shape)
        sides = []
        for sign in (1, -1):
            if target is None:
                sides.append(loss(x + sign * step).item())
            else:
                target.set_data(value + sign * step)
                sides.append(loss(x).item())
        if target is not None:
            target.set_data(value)
        np.testing.assert_allclose(np.vdot(g, step), (sides[0] - sides[1]) / 2, rtol=1e-5, atol=1e-12)


def test_dynamic_and_static_whole_network():
    net = in_double(
        nn.SequentialCell(
            nn.Conv2d(1, 4, 3), nn.BatchNorm2d(4), nn.ReLU(), nn.MaxPool2d(2, 2), nn.Flatten(), nn.Dense(16, 3)
        )
    )
    x, labels = draw(5, 1, 4, 4), np.array([0, 1, 2, 0, 1])
    loss = lambda x: nn.CrossEntropyLoss()(net(x), labels)
    run = ad.value_and_grad(loss, 0, weights=net.trainable_params())
    (v, (gx, gw)), (w, (hx, hw)) = run(x), ad.jit(run)(x)
    for a, b in ((v, w), (gx, hx), *zip(gw, hw, strict=True)):
        np.testing.assert_allclose(a.asnumpy(), b.asnumpy(), rtol=1e-10, atol=1e-14)


# ---------------------------------------------------------------- text and switches


def test_text_is_nested_and_counts():
    net = nn.SequentialCell(nn.Dense(3, 4), nn.SequentialCell(nn.BatchNorm1d(4), nn.ReLU()))
    assert repr(net) == (
        "SequentialCell(\n"
        "  (0): Dense(in_channels=3, out_channels=4, has_bias=True)\n"
        "  (1): SequentialCell(\n"
        "    (0): BatchNorm1d(num_features=4, eps=1e-05, momentum=0.9, affine=True)\n"
        "    (1): ReLU()\n"
        "  )\n"
        ")  # 32 parameters, 8 not trained"
    )
    for layer in (nn.Conv1d(1, 1, 1), nn.MaxPool1d(), nn.LSTM(1, 1), nn.Upsample(2), nn.GELU(), nn.Pad(((0, 1),))):
        assert "=" in repr(layer)


def test_walking_a_network():
    net = nn.SequentialCell(nn.Dense(2, 2), nn.SequentialCell(nn.ReLU()))
    assert [n for n, _ in net.cells_and_names()] == ["", "0", "1", "1.0"]
    assert list(net.name_cells()) == ["0", "1"]
    seen = []
    net.apply(lambda cell: seen.append(type(cell).__name__))
    assert seen == ["Dense", "ReLU", "SequentialCell", "SequentialCell"]
    net.insert_child_to_cell("extra", nn.Tanh())
    assert "extra" in net.name_cells()
    net.update_parameters_name("model.")
    assert [p.name for p in net.get_parameters()] == ["model.0.weight", "model.0.bias"]
    assert list(net.init_parameters_data()) == list(net.get_parameters())


# ---------------------------------------------------------------- mistakes

X2, X4 = np.ones((2, 3)), np.ones((2, 3, 4, 4))


@pytest.mark.parametrize(
    ("make", "message"),
    [
        (lambda: nn.Dense(0, 2), "Dense: in_channels must be an integer above 0, not 0"),
        (lambda: nn.Dense(4, 2)(X2), r"the last axis must have 4 elements, but the shape is \(2, 3\)"),
        (lambda: nn.Conv2d(3, 4, 3, pad_mode="full"), "pad_mode must be 'same', 'valid' or 'pad', not 'full'"),
        (lambda: nn.Conv2d(3, 4, 3, padding=1, pad_mode="same"), "padding=1 needs pad_mode='pad'"),
        (lambda: nn.Conv2d(3, 4, 3, group=2), "do not make 2 equal groups"),
        (lambda: nn.Conv2d(3, 4, (3, 3, 3)), "kernel_size must be an integer >= 1, or 2 of them"),
        (lambda: nn.Conv2dTranspose(3, 4, 3, output_padding=1, pad_mode="same"), "output_padding needs pad_mode='pad'"),
        (lambda: nn.MaxPool2d(2, padding=1), "padding and ceil_mode need pad_mode='pad'"),
        (lambda: nn.AvgPool2d(2, pad_mode="full"), "pad_mode must be"),
        (lambda: nn.BatchNorm2d(4)(X4), "4 axes with 4 channels on axis 1"),
        (lambda: nn.BatchNorm2d(3, momentum=2.0), "momentum must lie between 0 and 1"),
        (lambda: nn.BatchNorm1d(3)(X4), "an input of 2 or 3 axes"),
        (lambda: nn.LayerNorm((4,))(X2), r"must have the sizes \(4,\)"),
        (lambda: nn.Conv2d(3, 4, 3, data_format="HWC"), "data_format must be 'NCHW' or 'NHWC', not 'HWC'"),
        (lambda: nn.BatchNorm3d(3, data_format="NCHW"), "data_format must be 'NCDHW' or 'NDHWC'"),
        (lambda: nn.MaxPool2d(2, data_format="CHWN"), "data_format must be 'NCHW' or 'NHWC'"),
        (lambda: nn.InstanceNorm2d(3, momentum=1.5), "momentum must lie between 0 and 1"),
        (lambda: nn.GroupNorm(2, 3), "3 channels do not make 2 equal groups"),
        (lambda: nn.Embedding(3, 2, padding_idx=3), "padding_idx 3 is not one of 0 to 2"),
        (lambda: nn.Flatten(3)(X2), "the axes 3 to -1 are not there"),
        (lambda: nn.ZeroPad2d((1, 2)), "must be an integer, or 4 of them"),
        (lambda: nn.Pad(((0, 1),))(X2), "1 pairs of widths"),
        (lambda: nn.Pad(((0, 1),), "EDGE"), "mode must be CONSTANT"),
        (lambda: nn.Upsample(), "one of size and scale_factor"),
        (lambda: nn.PixelShuffle(2)(X4), "no multiple of 4 channels"),
        (lambda: nn.PixelUnshuffle(3)(X4), "are no multiples of 3"),
        (lambda: nn.RNN(3, 4, nonlinearity="gelu"), "nonlinearity must be 'tanh' or 'relu'"),
        (lambda: nn.GRU(3, 4)(X2), r"an input \(L, N, 3\) is needed"),
        (lambda: nn.LSTM(3, 4)(X4[0, :, :, :3], X2), "hx must be 2 Tensor"),
        (lambda: nn.LSTMCell(4, 4)(X2), "the last axis must have 4 elements"),
        (lambda: nn.MultiheadAttention(6, 4), "embed_dim 6 does not make 4 equal heads"),
        (lambda: nn.MSELoss("median"), "MSELoss: reduction must be 'mean', 'sum' or 'none'"),
        (lambda: nn.BCELoss()(X2, X4), "the shapes .* differ"),
        (lambda: nn.HuberLoss(delta=0.0), "delta must be above 0"),
        (lambda: nn.SmoothL1Loss(-1.0), "beta must not be negative"),
        (lambda: nn.MultiMarginLoss(p=3), "p must be 1 or 2"),
        (lambda: nn.MultiMarginLoss()(X2, X2), "scores .* and classes"),
        (lambda: nn.CosineEmbeddingLoss(2.0), "margin must lie between"),
        (lambda: nn.TripletMarginLoss(p=0.5), "p must be 1 or more"),
        (lambda: nn.PReLU(0), "channel must be 1 or more"),
    ],
)
def test_mistakes_are_named(make, message):
    with pytest.raises(ValueError, match=message):
        make()


def test_mistakes_of_kind():
    with pytest.raises(ValueError, match="Dense: there is no activation 'rule', only softmax"):
        nn.Dense(2, 2, activation="rule")
    with pytest.raises(TypeError, match="activation must be a name, a Cell or a function"):
        nn.Dense(2, 2, activation=nn.ReLU)
    with pytest.raises(KeyError, match="has an attribute 'weight' already"):
        nn.Dense(2, 2).insert_child_to_cell("weight", nn.ReLU())
    with pytest.raises(TypeError, match="a Cell is needed, not int"):
        nn.Dense(2, 2).insert_child_to_cell("more", 3)

"""Layers give PyTorch's values and gradients for the same weights, in dynamic and in static mode."""

from __future__ import annotations

import numpy as np
import pytest

import adjoint as ad
from adjoint import nn, ops

CASES = {
    "dense": lambda: nn.Dense(3, 4),
    "conv1d": lambda: nn.Conv1d(4, 6, 3, 2, "pad", 1, group=2, has_bias=True),
    "conv2d": lambda: nn.Conv2d(4, 6, 3, 2, "pad", 1, dilation=2),
    "conv2d_same": lambda: nn.Conv2d(4, 3, (3, 5), has_bias=True),
    "conv3d": lambda: nn.Conv3d(2, 3, 2, pad_mode="valid", has_bias=True),
    "conv1d_t": lambda: nn.Conv1dTranspose(4, 3, 4, 2, has_bias=True),
    "conv2d_t": lambda: nn.Conv2dTranspose(4, 6, 3, 2, "pad", 1, output_padding=1, group=2, has_bias=True),
    "conv3d_t": lambda: nn.Conv3dTranspose(2, 3, 2, 2, "valid", has_bias=True),
    "maxpool1d": lambda: nn.MaxPool1d(3, 2, "pad", 1),
    "maxpool2d": lambda: nn.MaxPool2d(3, 2, "pad", 1, ceil_mode=True),
    "maxpool3d": lambda: nn.MaxPool3d(2, 2),
    "avgpool2d": lambda: nn.AvgPool2d(3, 2, "pad", 1, count_include_pad=False),
    "avgpool3d": lambda: nn.AvgPool3d(2),
    "adaptive_avg": lambda: nn.AdaptiveAvgPool2d((2, 4)),
    "adaptive_max": lambda: nn.AdaptiveMaxPool1d(3),
    "batchnorm": lambda: nn.BatchNorm2d(4).set_train(),
    "layernorm": lambda: nn.LayerNorm((6,), epsilon=1e-5),
    "groupnorm": lambda: nn.GroupNorm(2, 4),
    "instancenorm": lambda: nn.InstanceNorm2d(4),
    "embedding": lambda: nn.Embedding(5, 3),
    "prelu": lambda: nn.PReLU(4),
    "reflect": lambda: nn.ReflectionPad2d((1, 2, 0, 3)),
    "replicate": lambda: nn.ReplicationPad3d(2),
    "upsample": lambda: nn.Upsample(scale_factor=2.0, mode="bilinear", align_corners=True),
    "shuffle": lambda: nn.PixelShuffle(2),
    "unshuffle": lambda: nn.PixelUnshuffle(2),
}


@pytest.mark.parametrize("name", CASES)
def test_layer(name, reference):
    reference("layers", name).check(CASES[name]())


ACTIVATIONS = (
    "ReLU ReLU6 SeLU SiLU Sigmoid LogSigmoid Tanh Tanhshrink HSigmoid HSwish Mish Softsign LeakyReLU ELU CELU GELU "
    "Softplus Softmax LogSoftmax Softmin Hardtanh HShrink SoftShrink GLU"
)


@pytest.mark.parametrize("name", ACTIVATIONS.split())
def test_activation(name, reference):
    tol = 1e-7 if name == "HSigmoid" else 1e-10  # PyTorch takes 1 / 6 in float32 there
    reference("activations", name).check(getattr(nn, name)(), tol=tol)


WEIGHT = np.array([1.0, 2.0, 3.0])
LOSS_CASES = {
    "L1Loss": {},
    "MSELoss": {"reduction": "sum"},
    "SmoothL1Loss": {"beta": 0.5, "reduction": "mean"},
    "HuberLoss": {"delta": 0.7},
    "CrossEntropyLoss": {"weight": WEIGHT, "label_smoothing": 0.1},
    "NLLLoss": {"weight": WEIGHT},
    "BCELoss": {},
    "BCEWithLogitsLoss": {"pos_weight": WEIGHT},
    "KLDivLoss": {"reduction": "batchmean"},
    "PoissonNLLLoss": {"full": True},
    "GaussianNLLLoss": {"full": True},
    "HingeEmbeddingLoss": {},
    "MarginRankingLoss": {"margin": 0.3},
    "SoftMarginLoss": {},
    "MultiLabelSoftMarginLoss": {},
    "MultiMarginLoss": {"p": 2, "weight": WEIGHT},
    "CosineEmbeddingLoss": {"margin": 0.1},
    "TripletMarginLoss": {"swap": True},
}


@pytest.mark.parametrize("name", LOSS_CASES)
def test_loss(name, reference):
    reference("losses", name).check(getattr(nn, name)(**LOSS_CASES[name]))


LENGTHS = np.array([3, 5])
PADDED = np.array([[False] * 5, [False, False, True, True, False]])
SETTINGS = {"dim_feedforward": 8, "dropout": 0.0}


def _packed():
    net = nn.GRU(3, 4, bidirectional=True)
    return net, lambda x: net(x, None, LENGTHS), "gru."


def _masked():
    net = nn.MultiheadAttention(6, 3, kdim=4, vdim=5)
    mask = np.triu(np.ones((3, 5), bool), 2)
    return net, lambda q, k, v: net(q, k, v, PADDED, True, mask, False), "layer."


def _extended():
    net = nn.MultiheadAttention(6, 2, has_bias=False, add_bias_kv=True, add_zero_attn=True, batch_first=True)
    return net, lambda q, k: net(q, k, k, PADDED), "layer."


def _encoder():
    layer = nn.TransformerEncoderLayer(6, 2, **SETTINGS)
    return nn.TransformerEncoder(layer, 2, nn.LayerNorm((6,), epsilon=1e-5))


SEQUENCE_CASES = {
    "rnn": lambda: nn.RNN(3, 4, 2, nonlinearity="relu", bidirectional=True),
    "gru": lambda: nn.GRU(3, 4, 2, bidirectional=True),
    "lstm": lambda: nn.LSTM(3, 4, 2, batch_first=True),
    "rnn_cell": lambda: nn.RNNCell(3, 4),
    "gru_cell": lambda: nn.GRUCell(3, 4),
    "lstm_cell": lambda: nn.LSTMCell(3, 4),
    "long": lambda: nn.LSTM(3, 4, bidirectional=True),
    "packed": _packed,
    "attention": lambda: nn.MultiheadAttention(6, 2, batch_first=True),
    "masked": _masked,
    "extended": _extended,
    "encoder": _encoder,
    "decoder": lambda: nn.TransformerDecoderLayer(6, 2, norm_first=True, **SETTINGS),
}


@pytest.mark.parametrize("name", SEQUENCE_CASES)
def test_sequence(name, reference):
    made = SEQUENCE_CASES[name]()
    net, call, prefix = made if isinstance(made, tuple) else (made, None, "")
    reference("sequences", name).check(net, prefix, call)


def test_moving_statistics_are_pytorchs(reference):
    found = reference("layers", "batchnorm")
    layer = nn.BatchNorm2d(4).set_train()
    found.give_weights(layer)
    layer(found.found["x0"])
    np.testing.assert_allclose(layer.moving_mean, found.found["b.running_mean"], rtol=1e-12)
    np.testing.assert_allclose(layer.moving_variance, found.found["b.running_var"], rtol=1e-12)


def test_instance_averages_are_pytorchs(reference):
    found = reference("alignments", "averages")
    layer = nn.InstanceNorm2d(4, momentum=0.7).set_train()
    found.check(layer)
    layer = nn.InstanceNorm2d(4, momentum=0.7).set_train()
    found.give_weights(layer)
    layer(found.found["x0"])
    np.testing.assert_allclose(layer.moving_mean, found.found["b.running_mean"], rtol=1e-12)
    np.testing.assert_allclose(layer.moving_variance, found.found["b.running_var"], rtol=1e-12)


LABELS = np.array([[1, 2, 2, 4], [3, 3, 0, 0], [2, 1, 4, 0]])
FLAT, TIMES, COUNTS = np.array([1, 2, 2, 4, 3, 3, 2, 1, 4]), np.array([12, 9, 7]), np.array([4, 2, 3])
CTC_CASES = {
    "none": (nn.CTCLoss(reduction="none"), LABELS, TIMES),
    "sum": (nn.CTCLoss(reduction="sum"), LABELS, TIMES),
    "mean": (nn.CTCLoss(), LABELS, TIMES),
    "flat": (nn.CTCLoss(reduction="sum"), FLAT, TIMES),
    "blank": (nn.CTCLoss(blank=4, zero_infinity=True), LABELS % 4, np.array([12, 2, 7])),
}


@pytest.mark.parametrize("name", CTC_CASES)
def test_ctc(name, reference):
    loss, labels, times = CTC_CASES[name]
    reference("alignments", name).check(loss, "", lambda x: loss(ops.log_softmax(x, -1), labels, times, COUNTS))


def last(x):
    """(N, C, *space) with the channels last."""
    return np.moveaxis(x, 1, -1)


@pytest.mark.parametrize(
    ("name", "layer"),
    [
        ("conv2d", lambda: nn.Conv2d(4, 6, 3, 2, "pad", 1, dilation=2, data_format="NHWC")),
        ("conv2d_same", lambda: nn.Conv2d(4, 3, (3, 5), has_bias=True, data_format="NHWC")),
        ("conv3d", lambda: nn.Conv3d(2, 3, 2, pad_mode="valid", has_bias=True, data_format="NDHWC")),
        ("maxpool2d", lambda: nn.MaxPool2d(3, 2, "pad", 1, ceil_mode=True, data_format="NHWC")),
        ("avgpool2d", lambda: nn.AvgPool2d(3, 2, "pad", 1, count_include_pad=False, data_format="NHWC")),
        ("avgpool3d", lambda: nn.AvgPool3d(2, data_format="NDHWC")),
        ("batchnorm", lambda: nn.BatchNorm2d(4, data_format="NHWC").set_train()),
    ],
)
def test_channels_last(name, layer, reference):
    found, layer = reference("layers", name), layer()
    turned = {k: last(v) if k[0] in "xyc" or k.startswith("gx") or v.ndim > 3 else v for k, v in found.found.items()}
    found.found = turned
    found.check(layer)


def test_places_of_largest_elements_with_channels_last():
    x = np.random.default_rng(0).normal(size=(2, 6, 6, 3))
    y, at = nn.MaxPool2d(2, 2, return_indices=True, data_format="NHWC")(ad.Tensor(x))
    np.testing.assert_array_equal(
        np.take_along_axis(x.reshape(2, 36, 3), at.asnumpy().reshape(2, 9, 3), 1), y.asnumpy().reshape(2, 9, 3)
    )

"""Layers: their values, their gradients by the input and by Parameters of given values, names, and what training changes."""

import mindspore as ms
import numpy as np
from mindspore import Tensor, nn, ops


def numbers(*shape, seed=0.0, scale=1.5):
    """Numbers without a pattern, the same everywhere."""
    count = int(np.prod(shape))
    return Tensor((scale * np.sin(1.7 * np.arange(count) + seed) + 0.1).reshape(shape).astype(np.float32))


def filled(net):
    """The network, with Parameters of given values."""
    for k, p in enumerate(net.get_parameters()):
        if "variance" not in p.name:
            p.set_data(numbers(*p.shape, seed=k + 0.5, scale=0.7))
    return net


class Squared(nn.Cell):
    def __init__(self, net):
        super().__init__()
        self.net = net

    def construct(self, *inputs):
        y = self.net(*inputs)
        return y * y * 0.5


class SquaredFirst(nn.Cell):
    def __init__(self, net):
        super().__init__()
        self.net = net

    def construct(self, *inputs):
        y = self.net(*inputs)[0]
        return y * y * 0.5


def both(net, *inputs, first=False):
    """The value of a layer, and gradients by its first input and its trainable Parameters."""
    net = filled(net)
    square = SquaredFirst(net) if first else Squared(net)
    weights = net.trainable_params()
    if not weights:
        return net(*inputs), ms.grad(square)(*inputs)
    return net(*inputs), ms.grad(square, 0, weights)(*inputs)


def case_dense():
    return both(nn.Dense(3, 2), numbers(4, 3)), both(
        nn.Dense(3, 2, has_bias=False, activation="tanh"), numbers(2, 2, 3)
    )


def case_dense_activation_cell():
    return both(nn.Dense(3, 2, activation=nn.Sigmoid()), numbers(4, 3))


def case_conv1d():
    return both(nn.Conv1d(2, 3, 3, has_bias=True), numbers(2, 2, 5))


def case_conv2d_same():
    return both(nn.Conv2d(2, 3, 3, stride=2), numbers(1, 2, 5, 4))


def case_conv2d_pad():
    return both(nn.Conv2d(2, 4, (3, 2), pad_mode="pad", padding=1, group=2, has_bias=True), numbers(1, 2, 4, 4))


def case_conv2d_valid_dilation():
    return both(nn.Conv2d(1, 2, 2, pad_mode="valid", dilation=2), numbers(1, 1, 4, 5))


def case_conv3d():
    return both(nn.Conv3d(1, 2, 2, pad_mode="valid"), numbers(1, 1, 3, 3, 2))


def case_conv1d_transpose():
    return both(nn.Conv1dTranspose(2, 3, 3, stride=2, pad_mode="pad", padding=1), numbers(1, 2, 4))


def case_conv2d_transpose():
    return both(nn.Conv2dTranspose(2, 3, 3, stride=2, has_bias=True), numbers(1, 2, 3, 2))


def case_conv3d_transpose():
    return both(nn.Conv3dTranspose(2, 1, 2, stride=2, pad_mode="valid"), numbers(1, 2, 2, 1, 2))


def case_batch_norm1d_in_training():
    net = nn.BatchNorm1d(3, momentum=0.7).set_train()
    return both(net, numbers(4, 3)), net.moving_mean.value(), net.moving_variance.value()


def case_batch_norm2d_out_of_training():
    return both(nn.BatchNorm2d(2, eps=1e-3).set_train(False), numbers(2, 2, 2, 3))


def case_batch_norm2d_in_training():
    net = nn.BatchNorm2d(2, eps=1e-3).set_train()
    return both(net, numbers(2, 2, 2, 3)), net.moving_mean.value(), net.moving_variance.value()


def case_batch_norm_uses_batch_statistics():
    return both(nn.BatchNorm2d(2, use_batch_statistics=True), numbers(2, 2, 2, 1))


def case_batch_norm3d():
    return both(nn.BatchNorm3d(2).set_train(), numbers(2, 2, 2, 1, 2))


def case_layer_norm():
    return both(nn.LayerNorm((3,), epsilon=1e-3), numbers(2, 3)), both(nn.LayerNorm((2, 3), 1, 1), numbers(2, 2, 3))


def case_group_norm():
    return both(nn.GroupNorm(2, 4), numbers(2, 4, 2, 1))


def case_embedding():
    net = filled(nn.Embedding(5, 3))
    ids = Tensor(np.array([[1, 4], [1, 0]], np.int32))

    def loss(ids):
        y = net(ids)
        return y * y * y

    return net(ids), ms.grad(loss, None, net.trainable_params())(ids)


def case_embedding_padding_and_one_hot():
    first = filled(nn.Embedding(5, 3, padding_idx=1))
    second = filled(nn.Embedding(5, 3, use_one_hot=True))
    ids = Tensor(np.array([1, 4, 2], np.int32))
    return first(ids), second(ids)


def case_max_pools():
    return (
        both(nn.MaxPool1d(2, 2), numbers(1, 2, 5)),
        both(nn.MaxPool2d(2, 2), numbers(1, 1, 4, 5)),
        both(nn.MaxPool2d(3, 2, pad_mode="same"), numbers(1, 1, 4, 5)),
        both(nn.MaxPool2d(3, 2, pad_mode="pad", padding=1), numbers(1, 1, 4, 5)),
    )


def case_max_pool_of_relu_has_equal_elements():
    return both(nn.SequentialCell(nn.ReLU(), nn.MaxPool2d(2, 2)), numbers(1, 2, 4, 4))


def case_max_pool_indices():
    return nn.MaxPool2d(2, 2, pad_mode="pad", return_indices=True)(numbers(1, 1, 4, 5))


def case_max_pool3d():
    return both(nn.MaxPool3d(2, 1), numbers(1, 1, 2, 3, 2))


def case_avg_pools():
    return (
        both(nn.AvgPool1d(2, 2), numbers(1, 2, 5)),
        both(nn.AvgPool2d(2, 2), numbers(1, 1, 4, 5)),
        both(nn.AvgPool2d(3, 2, pad_mode="same"), numbers(1, 1, 4, 5)),
        both(nn.AvgPool2d(3, 2, pad_mode="pad", padding=1), numbers(1, 1, 4, 5)),
        both(nn.AvgPool3d(2, 2, pad_mode="same"), numbers(1, 1, 3, 3, 2)),
    )


def case_adaptive_pools():
    return (
        both(nn.AdaptiveAvgPool1d(2), numbers(1, 2, 4)),
        both(nn.AdaptiveAvgPool2d((2, 3)), numbers(1, 1, 4, 5)),
        both(nn.AdaptiveAvgPool3d(2), numbers(1, 1, 3, 2, 4)),
        both(nn.AdaptiveMaxPool1d(2), numbers(1, 2, 4)),
        both(nn.AdaptiveMaxPool2d((2, 3)), numbers(1, 1, 4, 5)),
    )


def case_max_unpool():
    x, at = numbers(1, 1, 2, 2), Tensor([[[[5, 2], [8, 15]]]])
    return nn.MaxUnpool2d(2)(x, at), nn.MaxUnpool1d(2)(numbers(1, 1, 3), Tensor([[[0, 3, 5]]]))


def case_lp_pools():
    x = ops.abs(numbers(1, 1, 4, 3))
    return both(nn.LPPool2d(2.0, 2, 1), x), both(nn.LPPool1d(3.0, 2, 1), ops.abs(numbers(1, 1, 4)))


def case_pads():
    x = numbers(1, 2, 3, 4)
    return (
        both(nn.Pad(((0, 0), (1, 0), (1, 2), (0, 1))), x),
        both(nn.Pad(((0, 0), (0, 0), (1, 2), (0, 1)), mode="REFLECT"), x),
        both(nn.Pad(((0, 0), (0, 0), (1, 2), (0, 1)), mode="SYMMETRIC"), x),
        both(nn.ConstantPad1d((1, 2), 0.5), numbers(2, 3)),
        both(nn.ConstantPad2d((1, 0, 2, 1), 0.5), x),
        both(nn.ZeroPad2d((1, 0, 2, 1)), x),
        both(nn.ReflectionPad1d((1, 2)), numbers(2, 4)),
        both(nn.ReflectionPad2d(1), x),
        both(nn.ReplicationPad2d((1, 0, 2, 1)), x),
    )


def case_pads_in_three_axes():
    x = numbers(1, 1, 2, 2, 3)
    return both(nn.ConstantPad3d(1, 2.0), x), both(nn.ReflectionPad3d(1), x), both(nn.ReplicationPad3d(1), x)


def case_activations():
    x = Tensor([-3.5, -1.0, -0.2, 0.4, 2.0, 7.0])
    cells = (
        nn.ReLU(), nn.ReLU6(), nn.Sigmoid(), nn.Tanh(), nn.ELU(), nn.GELU(), nn.GELU(False), nn.FastGelu(), nn.LeakyReLU(),
        nn.HSwish(), nn.HSigmoid(), nn.LogSigmoid(), nn.SoftShrink(), nn.HShrink(), nn.SiLU(), nn.Mish(), nn.Softsign(),
        nn.Tanhshrink(), nn.Hardtanh(), nn.CELU(2.0), nn.Threshold(0.5, 9.0), nn.Identity(),
    )  # fmt: skip
    return [both(cell, x) for cell in cells]


def case_activations_at_corners():
    x = Tensor([-3.0, -1.0, 0.0, 0.5, 1.0, 3.0, 6.0])
    cells = nn.ReLU6(), nn.LeakyReLU(), nn.HSigmoid(), nn.HSwish(), nn.Hardtanh(), nn.HShrink(), nn.SoftShrink()
    return [both(cell, x) for cell in cells]


def case_softmax_layers():
    x = numbers(2, 3)
    image = numbers(1, 3, 1, 2)
    layers = nn.Softmax(), nn.Softmax(0), nn.LogSoftmax(0), nn.Softmin(), nn.GLU(0)
    return [both(layer, x) for layer in layers], both(nn.Softmax2d(), image)


def case_prelu():
    return both(nn.PReLU(3), numbers(2, 3, 2)), both(nn.PReLU(), numbers(2, 3)), nn.PReLU(2, 0.3).w.value()


def case_get_activation():
    return [nn.get_activation(name)(numbers(3)) for name in ("relu", "sigmoid", "gelu", "leakyrelu", "hsigmoid")]


def case_get_activation_of_unknown_name():
    return nn.get_activation("nothing")


def case_flatten_unflatten():
    return (
        both(nn.Flatten(), numbers(2, 3, 2)),
        nn.Flatten(0, 1)(numbers(2, 3, 2)),
        nn.Unflatten(1, (3, 2))(numbers(2, 6)),
    )


def case_dropout_out_of_training():
    x = numbers(1, 2, 3)
    return (
        nn.Dropout(p=0.3).set_train(False)(x),
        nn.Dropout1d(0.3).set_train(False)(x),
        nn.Dropout(p=0.0).set_train()(x),
    )


def case_pixel_shuffles():
    return both(nn.PixelShuffle(2), numbers(1, 4, 2, 3)), both(nn.PixelUnshuffle(2), numbers(1, 1, 2, 4))


def case_channel_shuffle():
    return both(nn.ChannelShuffle(2), numbers(1, 4, 1, 2))


def case_upsample():
    x = numbers(1, 1, 2, 3)
    return both(nn.Upsample(size=(3, 5), mode="bilinear"), x), both(nn.Upsample(size=(4, 4)), x)


def case_small_layers():
    x = numbers(2, 3)
    return (
        both(nn.Norm(1), x), both(nn.MatMul(), x, numbers(3, 2)), nn.Moments(0)(x), nn.Tril()(x), nn.Triu()(x, 1),
        nn.OneHot(depth=4)(Tensor([1, 3])), nn.Range(1, 8, 2)(), both(nn.ReduceLogSumExp(1), x), nn.L1Regularizer(0.5)(x),
        nn.ClipByNorm()(x, Tensor(1.0)), nn.LRN()(numbers(1, 3, 1, 1)),
    )  # fmt: skip


def case_bidense():
    net = filled(nn.BiDense(2, 3, 2))
    return net(numbers(4, 2), numbers(4, 3)), [p.name for p in net.get_parameters()]


def case_combined_layers():
    conv = nn.Conv2dBnAct(2, 2, 2, has_bn=True, activation="relu").set_train()
    dense = nn.DenseBnAct(3, 2, has_bn=True, activation="sigmoid").set_train()
    return both(conv, numbers(2, 2, 3, 3)), both(dense, numbers(4, 3)), [p.name for p in dense.get_parameters()]


def case_time_distributed():
    net = filled(nn.TimeDistributed(nn.Dense(3, 2), time_axis=1, reshape_with_axis=0))
    return net(numbers(2, 4, 3))


def case_image_layers():
    x = numbers(1, 2, 4, 4)
    return nn.CentralCrop(0.5)(x), nn.ImageGradients()(x)


def case_names_of_parameters():
    class Net(nn.Cell):
        def __init__(self):
            super().__init__()
            self.conv = nn.Conv2d(1, 2, 3, has_bias=True)
            self.bn = nn.BatchNorm2d(2)
            self.seq = nn.SequentialCell([nn.Dense(2, 2), nn.ReLU(), nn.SequentialCell(nn.LayerNorm((2,)))])
            self.list = nn.CellList([nn.Dense(2, 2, has_bias=False), nn.PReLU()])
            self.table = nn.Embedding(3, 2)

        def construct(self, x):
            return x

    net = Net()
    return [p.name for p in net.get_parameters()], [p.name for p in net.trainable_params()]


def case_cell_list():
    cells = nn.CellList([nn.Dense(2, 2), nn.ReLU()])
    cells.append(nn.Tanh())
    cells.insert(1, nn.Dense(2, 3, has_bias=False))
    cells.extend([nn.Sigmoid()])
    names = [type(c).__name__ for c in cells]
    return len(cells), names, [p.name for p in cells.get_parameters()], type(cells[1:3]).__name__, len(cells[1:3])


def case_sequential():
    net = nn.SequentialCell(nn.Dense(2, 3), nn.ReLU())
    net.append(nn.Dense(3, 1))
    net = filled(net)
    return both(net, numbers(4, 2)), [p.name for p in net.get_parameters()], len(net), type(net[1]).__name__


def case_cell_dict():
    cells = nn.CellDict({"up": nn.Dense(2, 4), "act": nn.ReLU()})
    cells.update({"down": nn.Dense(4, 2)})
    return list(cells.keys()), [p.name for p in cells.get_parameters()], len(cells), "up" in cells


def case_rnn_cells():
    h, c = numbers(2, 4, seed=1.0), numbers(2, 4, seed=2.0)
    x = numbers(2, 3)
    lstm, gru, rnn = filled(nn.LSTMCell(3, 4)), filled(nn.GRUCell(3, 4)), filled(nn.RNNCell(3, 4))
    return lstm(x, (h, c)), gru(x, h), rnn(x, h), ms.grad(Squared(gru), 0, gru.trainable_params())(x, h)


def case_lstm():
    net = filled(nn.LSTM(3, 2, num_layers=1, has_bias=True, batch_first=True))
    out, (hidden, cell) = net(numbers(2, 4, 3), (numbers(1, 2, 2), numbers(1, 2, 2, seed=1.0)))
    return out, hidden, cell, [p.name for p in net.get_parameters()]


def case_lstm_gradients():
    net = filled(nn.LSTM(3, 2))
    state = numbers(1, 2, 2), numbers(1, 2, 2, seed=1.0)
    return ms.grad(SquaredFirst(net), 0, net.trainable_params())(numbers(4, 2, 3), state)


def case_bidirectional_gru():
    net = filled(nn.GRU(3, 2, bidirectional=True))
    return net(numbers(4, 2, 3), numbers(2, 2, 2)), [p.name for p in net.get_parameters()]


def case_rnn_of_two_layers():
    net = filled(nn.RNN(3, 2, num_layers=2))
    return net(numbers(4, 2, 3), numbers(2, 2, 2))


def case_multihead_attention():
    net = filled(nn.MultiheadAttention(4, 2)).set_train(False)
    q = numbers(3, 2, 4)
    return net(q, q, q), [p.name for p in net.get_parameters()]


def case_transformer_encoder_layer():
    net = filled(nn.TransformerEncoderLayer(4, 2, dim_feedforward=3, dropout=0.0)).set_train(False)
    return both(net, numbers(3, 2, 4))


def case_transformer_decoder_layer():
    net = filled(nn.TransformerDecoderLayer(4, 2, dim_feedforward=3, dropout=0.0)).set_train(False)
    return net(numbers(3, 2, 4), numbers(2, 2, 4, seed=1.0)), [p.name for p in net.get_parameters()]


def case_text_of_cells():
    net = nn.SequentialCell(nn.Dense(2, 3, activation="relu"), nn.ReLU(), nn.MaxPool2d(3, 2), nn.Dropout(p=0.5))
    return str(net)

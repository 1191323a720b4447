"""Functions of networks: their values and gradients, with MindSpore's arguments."""

import mindspore as ms
import numpy as np
from mindspore import Parameter, Tensor, ops
from mindspore.ops import functional as F
from mindspore.ops.operations import _grad_ops as G

from mindspore_programs import Run, numbers
from mindspore_programs import both_squared as both


def case_relu_family():
    x = Tensor([-2.0, -0.3, 0.0, 0.4, 7.0])

    def leaky(x):
        return ops.leaky_relu(x, 0.1)

    def steep(x):
        return ops.leaky_relu(x, alpha=2.0)

    return [both(f, x) for f in (ops.relu, ops.relu6, leaky, steep, ops.elu, ops.celu, ops.silu, ops.mish)]


def case_selu():
    return Run(ops.selu)(numbers(4))


def case_gelu_in_both_forms():
    def exact(x):
        return ops.gelu(x)

    def fast(x):
        return ops.gelu(x, approximate="tanh")

    return both(exact, numbers(5)), both(fast, numbers(5)), both(ops.fast_gelu, numbers(5))


def case_hard_functions():
    x = Tensor([-3.0, -1.0, -0.5, 0.0, 0.5, 1.0, 3.0])

    def bounded(x):
        return ops.hardtanh(x, -0.5, 1.0)

    return [both(f, x) for f in (ops.hardsigmoid, ops.hardswish, bounded, ops.hardshrink, ops.softshrink)]


def case_softplus_with_threshold():
    def steep(x):
        return ops.softplus(x, 2, 3)

    return both(ops.softplus, numbers(4)), both(steep, Tensor([-1.0, 0.5, 1.4, 1.6, 4.0]))


def case_soft_functions():
    return [both(f, numbers(4)) for f in (ops.softsign, ops.logsigmoid, ops.sigmoid, ops.tanh)]


def case_softmax_functions():
    def across(x):
        return ops.softmax(x, axis=0)

    def logs(x):
        return ops.log_softmax(x, axis=0)

    def least(x):
        return ops.softmin(x, axis=1)

    return [both(f, numbers(2, 3)) for f in (across, logs, least)]


def case_softmax_in_another_dtype():
    return ops.softmax(numbers(2, 3), axis=-1, dtype=ms.float64)


def case_glu_and_prelu():
    def halves(x):
        return ops.glu(x, axis=1)

    return both(halves, numbers(2, 4)), both(ops.prelu, numbers(2, 3, 2), Tensor([0.1, 0.2, 0.3]))


def case_threshold():
    def cut(x):
        return ops.threshold(x, 0.2, 5.0)

    return both(cut, numbers(5))


def case_dense_and_bias_add():
    return both(ops.dense, numbers(2, 3), numbers(4, 3, seed=1.0), numbers(4, seed=2.0)), both(
        ops.bias_add, numbers(2, 3), numbers(3)
    )


def case_bidense():
    return both(ops.bidense, numbers(2, 3), numbers(2, 2, seed=1.0), numbers(4, 3, 2, seed=2.0), numbers(4))


def case_conv1d():
    def run(x, w, b):
        return ops.conv1d(x, w, b, stride=2, pad_mode="pad", padding=1)

    return both(run, numbers(1, 2, 5), numbers(3, 2, 3, seed=1.0), numbers(3))


def case_conv2d():
    def run(x, w, b):
        return ops.conv2d(x, w, b, stride=(1, 2), pad_mode="same", dilation=1, groups=2)

    return both(run, numbers(1, 2, 3, 4), numbers(2, 1, 2, 3, seed=1.0), numbers(2))


def case_conv3d():
    def run(x, w):
        return ops.conv3d(x, w, pad_mode="pad", padding=(1, 0, 1))

    return both(run, numbers(1, 1, 2, 2, 2), numbers(2, 1, 2, 1, 2, seed=1.0))


def case_avg_pool_functions():
    def line(x):
        return ops.avg_pool1d(x, kernel_size=3, stride=2, padding=1)

    def plane(x):
        return ops.avg_pool2d(x, 2, 2, 1, ceil_mode=True, count_include_pad=False)

    def divided(x):
        return ops.avg_pool2d(x, 2, 2, divisor_override=3)

    def volume(x):
        return ops.avg_pool3d(x, 2, 1)

    return (
        both(line, numbers(1, 2, 5)),
        both(plane, numbers(1, 1, 4, 5)),
        both(divided, numbers(1, 1, 4, 5)),
        both(volume, numbers(1, 1, 2, 3, 2)),
    )


def case_max_pool_functions():
    def plane(x):
        return ops.max_pool2d(x, 3, 2, 1)

    def dilated(x):
        return ops.max_pool2d(x, 2, 1, dilation=2)

    def volume(x):
        return ops.max_pool3d(x, 2, 1)

    return both(plane, numbers(1, 1, 4, 5)), both(dilated, numbers(1, 1, 4, 5)), both(volume, numbers(1, 1, 2, 3, 2))


def case_max_pool_indices():
    return ops.max_pool2d(numbers(1, 2, 4, 4), 2, return_indices=True), ops.max_pool3d(
        numbers(1, 1, 2, 4, 2), 2, return_indices=True
    )


def case_max_unpool_functions():
    x = numbers(1, 1, 4, 4)
    y, at = ops.max_pool2d(x, 2, return_indices=True)

    def back(y):
        return ops.max_unpool2d(y, at, 2)

    return both(back, y), ops.max_unpool2d(y, at, 2, output_size=(5, 5))


def case_adaptive_pool_functions():
    def means(x):
        return ops.adaptive_avg_pool2d(x, (3, 2))

    def largest(x):
        return ops.adaptive_max_pool2d(x, (3, 2))

    def volume(x):
        return ops.adaptive_avg_pool3d(x, (1, 2, 2))

    return both(means, numbers(1, 1, 4, 5)), both(largest, numbers(1, 1, 4, 5)), both(volume, numbers(1, 1, 2, 3, 3))


def case_adaptive_max_pool_indices():
    return ops.adaptive_max_pool2d(numbers(1, 2, 4, 5), (2, 2), return_indices=True)


def case_adaptive_pool1d_that_does_not_divide():
    return ops.adaptive_avg_pool1d(numbers(1, 2, 5), 2)


def case_fractional_max_pool():
    samples = Tensor(np.array([[[0.3, 0.7], [0.9, 0.1]]], np.float32))
    return ops.FractionalMaxPoolWithFixedKsize(2, (2, 3))(numbers(1, 2, 5, 6), samples)


def case_lp_pool_functions():
    def run(x):
        return ops.lp_pool2d(x, 2.0, (2, 1), 1)

    return both(run, ops.abs(numbers(1, 1, 3, 3)))


def case_batch_norm_function():
    mean, variance = Parameter(Tensor([0.1, 0.2]), name="m"), Parameter(Tensor([0.5, 2.0]), name="v")

    def run(x, w, b):
        return ops.batch_norm(x, mean, variance, w, b, training=False, eps=1e-3)

    return both(run, numbers(2, 2, 3), Tensor([1.0, 2.0]), Tensor([0.3, 0.4]))


def case_group_norm_function():
    def run(x, w, b):
        return ops.group_norm(x, 2, w, b)

    return both(run, numbers(1, 4, 2), numbers(4, seed=1.0), numbers(4, seed=2.0))


def case_lrn_function():
    def run(x):
        return ops.lrn(x, 1, 1.0, 0.5, 0.75)

    return both(run, numbers(1, 3, 1, 2))


def case_dropout_functions_without_effect():
    x = numbers(1, 2, 3, 1)
    return (
        ops.dropout(x, p=0.4, training=False),
        ops.dropout(x, p=0.0),
        ops.dropout2d(x, 0.4, False),
        ops.dropout1d(numbers(1, 2, 3), 0.4, False),
    )


def case_one_hot_and_top_k():
    ids = Tensor(np.array([1, 0, 3], np.int32))
    hot = ops.one_hot(ids, 4, Tensor(1.0), Tensor(0.0))
    return hot, ops.intopk(numbers(3, 4), ids, 2)


def case_embedding_lookup():
    ids = Tensor(np.array([[5, 2], [8, 3]], np.int32))
    return ops.EmbeddingLookup()(numbers(4, 2), ids, 2)


def case_lstm_primitive():
    op = ops.LSTM(3, 2, 1, True, False, 0.0)
    return op(numbers(4, 2, 3), numbers(1, 2, 2), numbers(1, 2, 2, seed=1.0), numbers(56, 1, 1, scale=0.7))[:3]


def case_derivatives_as_primitives():
    x, g = numbers(2, 3), numbers(2, 3, seed=1.0)
    return G.ReluGrad()(g, x), G.SigmoidGrad()(x, g), G.TanhGrad()(x, g), G.BiasAddGrad()(x), F.relu(x)


def case_greedy_decoder():
    return ops.ctc_greedy_decoder(numbers(4, 2, 3), Tensor(np.array([4, 3], np.int32)))


def case_second_derivatives():
    def energy(x):
        return (ops.tanh(x) * ops.relu(x) + ops.exp(x) * ops.sigmoid(x)).sum()

    def slope(x):
        return ms.grad(energy)(x) * ops.exp(x)

    return ms.grad(slope)(numbers(4))


def case_second_derivative_of_convolution():
    w = numbers(2, 1, 2, 2, seed=1.0)

    def energy(x):
        y = ops.conv2d(x, w)
        return (y * y * y).sum()

    def slope(x):
        return ms.grad(energy)(x) * x

    return ms.grad(slope)(numbers(1, 1, 3, 3))

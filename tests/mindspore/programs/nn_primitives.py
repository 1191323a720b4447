"""Primitives of networks: their values, and the gradients of half their squares by every input."""

import mindspore as ms
import mindspore.ops.operations as P
import numpy as np
from mindspore import Parameter, Tensor, nn

from mindspore_programs import Run, Squared


def numbers(*shape, seed=0.0, scale=2.0):
    """Numbers without a pattern, the same everywhere."""
    count = int(np.prod(shape))
    return Tensor(
        (scale * np.sin(1.7 * np.arange(count) + seed) + 0.13 * np.cos(5.1 * np.arange(count)))
        .reshape(shape)
        .astype(np.float32)
    )


class SquaredFirst(nn.Cell):
    def __init__(self, op):
        super().__init__()
        self.op = op

    def construct(self, *inputs):
        y = self.op(*inputs)[0]
        return y * y * 0.5


def both(op, *inputs, by=None, first=False):
    """The value of a primitive and the gradients by the first inputs."""
    positions = tuple(range(len(inputs) if by is None else by))
    net = SquaredFirst(op) if first else Squared(op)
    return Run(op)(*inputs), ms.grad(net, positions)(*inputs)


def case_relu():
    return both(P.ReLU(), Tensor([-1.5, 0.0, 0.3, 7.0]))


def case_relu6():
    return both(P.ReLU6(), Tensor([-1.5, 0.0, 0.3, 6.0, 7.0]))


def case_elu():
    return both(P.Elu(), numbers(2, 3))


def case_gelu():
    return both(P.GeLU(), numbers(5))


def case_fast_gelu():
    return both(P.FastGeLU(), numbers(5))


def case_sigmoid():
    return both(P.Sigmoid(), numbers(2, 2))


def case_tanh():
    return both(P.Tanh(), numbers(2, 2))


def case_softmax():
    return both(P.Softmax(), numbers(3, 2)), both(P.Softmax(axis=0), numbers(3, 2))


def case_log_softmax():
    return both(P.LogSoftmax(axis=1), numbers(2, 4))


def case_softplus():
    return both(P.Softplus(), numbers(4))


def case_softsign():
    return both(P.Softsign(), numbers(4))


def case_hswish():
    return both(P.HSwish(), Tensor([-4.0, -3.0, -1.0, 0.0, 2.0, 3.0, 5.0]))


def case_hsigmoid():
    return both(P.HSigmoid(), Tensor([-4.0, -3.0, -1.0, 0.0, 2.0, 3.0, 5.0]))


def case_prelu_by_channel():
    return both(P.PReLU(), numbers(2, 3, 2), Tensor([0.1, 0.2, 0.3]))


def case_prelu_one_weight():
    return both(P.PReLU(), numbers(2, 3), Tensor([0.25]))


def case_mish():
    return both(P.Mish(), numbers(4))


def case_soft_shrink():
    return both(P.SoftShrink(0.4), numbers(6))


def case_hshrink():
    return both(P.HShrink(0.4), numbers(6))


def case_celu():
    return both(P.CeLU(2.0), numbers(6))


def case_flatten():
    return both(P.Flatten(), numbers(2, 3, 2))


def case_bias_add():
    return both(P.BiasAdd(), numbers(2, 3, 2, 2), numbers(3, seed=1.0))


def case_conv2d_valid():
    return both(P.Conv2D(3, 2), numbers(2, 2, 4, 3), numbers(3, 2, 2, 2, seed=1.0))


def case_conv2d_same():
    return both(P.Conv2D(2, (3, 2), pad_mode="same", stride=2), numbers(1, 2, 5, 4), numbers(2, 2, 3, 2, seed=1.0))


def case_conv2d_pad():
    conv = P.Conv2D(2, 3, pad_mode="pad", pad=(1, 0, 2, 1), stride=(2, 1), dilation=(1, 2))
    return both(conv, numbers(1, 2, 5, 4), numbers(2, 2, 3, 3, seed=1.0))


def case_conv2d_groups():
    return both(P.Conv2D(4, 2, group=2), numbers(1, 4, 3, 3), numbers(4, 2, 2, 2, seed=1.0))


def case_conv2d_transpose():
    op = P.Conv2DTranspose(2, 3, pad_mode="valid", stride=2)

    def run(x, w):
        return op(x, w, (1, 3, 7, 5))

    return both(run, numbers(1, 2, 3, 2), numbers(2, 3, 3, 3, seed=1.0))


def case_conv2d_backprop_input_same():
    op = P.Conv2DBackpropInput(2, 3, pad_mode="same", stride=2)

    def run(x, w):
        return op(x, w, (1, 3, 5, 4))

    return both(run, numbers(1, 2, 3, 2), numbers(2, 3, 3, 3, seed=1.0))


def case_conv3d():
    return both(P.Conv3D(2, 2, pad_mode="same"), numbers(1, 2, 2, 3, 2), numbers(2, 2, 2, 2, 2, seed=1.0))


def case_conv3d_transpose():
    return both(P.Conv3DTranspose(2, 3, 2, stride=2), numbers(1, 2, 2, 1, 2), numbers(2, 3, 2, 2, 2, seed=1.0))


def case_max_pool():
    return both(P.MaxPool(2, 2), numbers(1, 2, 5, 4)), both(P.MaxPool(3, 2, "same"), numbers(1, 2, 5, 4))


def case_max_pool_of_equal_elements():
    return both(P.MaxPool(2, 1), Tensor(np.ones((1, 1, 3, 3), np.float32)))


def case_avg_pool():
    return both(P.AvgPool(2, 2), numbers(1, 2, 5, 4)), both(P.AvgPool(3, 2, "same"), numbers(1, 2, 5, 4))


def case_max_pool3d():
    return both(P.MaxPool3D(2, 1), numbers(1, 1, 2, 3, 3)), both(P.MaxPool3D(2, 2, "same"), numbers(1, 1, 3, 2, 3))


def case_max_pool3d_pad():
    return both(P.MaxPool3D(2, 2, "pad", pad_list=1), numbers(1, 1, 3, 2, 3))


def case_avg_pool3d():
    return both(P.AvgPool3D(2, 1), numbers(1, 1, 2, 3, 3)), both(P.AvgPool3D(2, 2, "same"), numbers(1, 1, 3, 2, 3))


def case_avg_pool3d_pad():
    op = P.AvgPool3D(2, 2, "pad", pad=1, count_include_pad=False)
    return both(op, numbers(1, 1, 3, 2, 3)), both(P.AvgPool3D(2, 2, divisor_override=3), numbers(1, 1, 3, 2, 3))


def case_max_pool_with_argmax():
    return both(P.MaxPoolWithArgmaxV2(2), numbers(1, 2, 5, 4), first=True)


def case_max_pool3d_with_argmax():
    return Run(P.MaxPool3DWithArgmax(2, 1, 0))(numbers(1, 2, 2, 3, 3))


def case_adaptive_avg_pool2d():
    return both(P.AdaptiveAvgPool2D((2, None)), numbers(1, 2, 5, 4))


def case_adaptive_max_pool2d():
    return both(P.AdaptiveMaxPool2D((2, 3)), numbers(1, 2, 5, 4), first=True)


def case_max_unpool2d():
    x, at = numbers(1, 1, 2, 2), Tensor([[[[5, 2], [8, 15]]]])
    op = P.MaxUnpool2D(2)

    def run(x):
        return op(x, at)

    return both(run, x)


def case_batch_norm_out_of_training():
    op = P.BatchNorm(epsilon=1e-3)
    inputs = numbers(2, 3, 2, 2), numbers(3, seed=1.0), numbers(3, seed=2.0), numbers(3), Tensor([0.5, 1.0, 2.0])
    return both(op, *inputs, by=3, first=True)[1]


def case_batch_norm_in_training():
    op = P.BatchNorm(is_training=True, epsilon=1e-3, momentum=0.2)

    class Net(nn.Cell):
        def __init__(self):
            super().__init__()
            self.mean = Parameter(Tensor([0.5, 0.0, -1.0]), name="mean", requires_grad=False)
            self.variance = Parameter(Tensor([0.5, 1.0, 2.0]), name="variance", requires_grad=False)

        def construct(self, x, scale, bias):
            y = op(x, scale, bias, self.mean, self.variance)[0]
            return y * y * y

    net = Net()
    grads = ms.grad(net, (0, 1, 2))(numbers(2, 3, 2, 2), numbers(3, seed=1.0), numbers(3, seed=2.0))
    return grads, net.mean.value(), net.variance.value()


def case_layer_norm():
    op = P.LayerNorm(begin_norm_axis=1, begin_params_axis=1, epsilon=1e-3)
    return both(op, numbers(2, 3, 2), numbers(3, 2, seed=1.0), numbers(3, 2, seed=2.0), first=True)


def case_l2_normalize():
    return both(P.L2Normalize(axis=1), numbers(2, 3))


def case_lrn():
    return both(P.LRN(depth_radius=1, alpha=0.5, beta=0.75), numbers(1, 4, 1, 2))


def case_dropout_that_keeps_all():
    return both(P.Dropout(keep_prob=1.0), numbers(2, 3), first=True)


def case_softmax_cross_entropy_with_logits():
    labels = Tensor(np.array([[0.2, 0.3, 0.5], [1.0, 0.0, 0.0]], np.float32))
    return both(P.SoftmaxCrossEntropyWithLogits(), numbers(2, 3), labels, first=True)


def case_sparse_softmax_cross_entropy_with_logits():
    op, labels = P.SparseSoftmaxCrossEntropyWithLogits(), Tensor(np.array([2, 0], np.int32))
    return both(op, numbers(2, 3), labels, by=1)


def case_sigmoid_cross_entropy_with_logits():
    return both(
        P.SigmoidCrossEntropyWithLogits(), numbers(2, 3), Tensor(np.array([[0, 1, 0.5], [1, 0, 0]], np.float32))
    )


def case_binary_cross_entropy():
    x, y = Tensor([0.2, 0.7, 0.9]), Tensor([0.0, 1.0, 0.4])
    return both(P.BinaryCrossEntropy(), x, y, Tensor([1.0, 2.0, 0.5]), by=2), both(P.BinaryCrossEntropy("none"), x, y)


def case_bce_with_logits_loss():
    x, y = numbers(2, 3), Tensor(np.array([[0, 1, 0.5], [1, 0, 0]], np.float32))
    return both(P.BCEWithLogitsLoss("sum"), x, y, Tensor([1.0, 2.0, 0.5]), Tensor([1.0, 3.0, 0.7]), by=2)


def case_nll_loss():
    op, labels = P.NLLLoss(reduction="mean"), Tensor(np.array([1, 0, 2], np.int32))

    def run(x):
        return op(x, labels, Tensor([0.5, 1.0, 2.0]))

    return both(run, numbers(3, 3), first=True)


def case_smooth_l1_loss():
    return both(P.SmoothL1Loss(beta=0.5, reduction="mean"), numbers(5), numbers(5, seed=1.0))


def case_kl_div_loss():
    return both(P.KLDivLoss("sum"), numbers(4), Tensor([0.1, 0.0, 0.5, 0.4]))


def case_l2_loss():
    return both(P.L2Loss(), numbers(2, 3))


def case_ctc_loss():
    op = P.CTCLoss()
    at = Tensor(np.array([[0, 0], [0, 1], [1, 0]], np.int64))
    return op(numbers(4, 2, 4), at, Tensor(np.array([1, 2, 0], np.int32)), Tensor(np.array([4, 3], np.int32)))


def case_multi_margin_loss():
    labels = Tensor(np.array([2, 0], np.int64))
    op = P.MultiMarginLoss(p=2, margin=0.7)

    def run(x):
        return op(x, labels, Tensor([1.0, 0.5, 2.0]))

    return both(run, numbers(2, 3))


def case_in_top_k():
    return P.InTopK(2)(numbers(3, 4), Tensor(np.array([1, 0, 3], np.int32)))


def case_attributes():
    conv = P.Conv2D(3, 2)
    return conv.out_channel, conv.group, P.ReLU().name, P.BatchNorm().is_training

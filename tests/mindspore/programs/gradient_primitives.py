"""Derivatives of primitives as primitives (`ops.operations._grad_ops`), module paths as attributes, gradients of integers."""

import mindspore as ms
import numpy as np
from mindspore import Tensor, nn, ops
from mindspore.ops import operations as P
from mindspore.ops.operations import _grad_ops as G

from mindspore_programs import Run as Net


def numbers(*shape, seed=0.0):
    count = int(np.prod(shape))
    return Tensor((1.9 * np.sin(1.3 * np.arange(count) + seed)).reshape(shape).astype(np.float32))


def case_slices_of_gradients():
    dout = numbers(2, 2)
    return (
        Net(G.StridedSliceGrad())(dout, (3, 4), (0, 1), (3, 3), (2, 1)),
        Net(G.SliceGrad())(dout, numbers(3, 4), (0, 1), (2, 2)),
        Net(G.GatherDGradV2())(numbers(2, 3), 1, Tensor([[2, 0], [1, 1]], ms.int32), dout),
    )


def case_padding_taken_away():
    return (
        Net(G.MirrorPadGrad("REFLECT"))(numbers(2, 5), Tensor([[0, 0], [1, 1]], ms.int32)),
        Net(G.MirrorPadGrad("SYMMETRIC"))(numbers(2, 5), Tensor([[0, 0], [1, 1]], ms.int32)),
    )


def case_pooling():
    x, dout = numbers(1, 1, 4, 4), numbers(1, 1, 2, 2, seed=1.0)
    return (
        Net(G.MaxPoolGrad(2, 2))(x, Net(P.MaxPool(2, 2))(x), dout),
        Net(G.AvgPoolGrad(2, 2))(x, Net(P.AvgPool(2, 2))(x), dout),
        Net(G.AvgPool3DGrad(2, 2))((1, 1, 2, 4, 4), numbers(1, 1, 1, 2, 2)),
        Net(G.AdaptiveAvgPool2DGrad())(dout, Tensor([1, 1, 4, 3], ms.int64)),
        Net(G.AdaptiveMaxPool2DGrad())(dout, x, Tensor([[[[0, 2], [8, 10]]]], ms.int64)),
    )


def case_layer_norm_with_its_own_statistics():
    x, gamma = numbers(2, 3), numbers(3, seed=2.0)
    _, mean, variance = Net(P.LayerNorm(1, 1))(x, gamma, gamma)
    return Net(G.LayerNormGrad(1, 1))(x, numbers(2, 3, seed=1.0), variance, mean, gamma)


def case_resizing():
    return (
        Net(G.ResizeBilinearGrad())(numbers(1, 1, 3, 5), numbers(1, 1, 2, 3)),
        Net(G.ResizeBicubicGrad())(numbers(1, 1, 4, 5), numbers(1, 1, 3, 3)),
        Net(G.GridSampler2DGrad())(
            numbers(1, 1, 2, 2), numbers(1, 1, 3, 3), Tensor(np.full((1, 2, 2, 2), 0.3, np.float32))
        ),
    )


def case_losses_and_special_functions():
    return (
        Net(G.MvlgammaGrad(2))(numbers(2), Tensor([1.5, 2.5])),
        Net(G.PdistGrad(2.0))(numbers(3), numbers(3, 2), ops.pdist(numbers(3, 2))),
        Net(G.MultiMarginLossGrad(1, 1.0, "mean"))(
            Tensor(0.7), numbers(2, 3), Tensor([1, 0], ms.int64), Tensor([0.5, 1.0, 2.0])
        ),
    )


def case_both_gradients_of_minimum():
    return Net(G.MinimumGrad(True, False))(Tensor([1.0, 2.0, 3.0]), Tensor([2.0, 2.0, 1.0]), numbers(3))


def case_modules_are_attributes():
    x = Tensor([4.0, 9.0])
    return (
        ops.function.math_func.sqrt(x),
        ops.function.array_func.reshape(x, (2, 1)),
        ops.operations._grad_ops.SqrtGrad()(x, x),
        ops.operations.array_ops.Gather()(x, Tensor([1]), 0),
        ms.nn.layer.activation.ReLU()(x),
        ms.common.dtype.float32 == ms.float32,
    )


class WithSens(nn.Cell):
    def __init__(self, net):
        super().__init__()
        self.net = net
        self.grad = ops.GradOperation(get_all=True, sens_param=True)

    def construct(self, *inputs):
        return self.grad(self.net)(*inputs)


def case_sens_of_truth_values():
    sens = Tensor([True, False, True])
    return WithSens(Net(P.Equal()))(numbers(3), numbers(3, seed=1.0), sens)


def case_sens_of_truth_values_beside_numbers():
    class Both(nn.Cell):
        def construct(self, x):
            return x * x, x > 0.5

    return WithSens(Both())(numbers(3), (numbers(3, seed=1.0), Tensor([True, False, True])))


def case_gradients_by_integers_have_their_dtype():
    x = Tensor([[1, 2, 3]], ms.int32)
    return WithSens(Net(P.ReduceSum()))(x, 0, Tensor([4, 5, 6], ms.int32))[0]


def case_mul_no_nan_at_zero():
    x, y = Tensor([2.0, 3.0, 0.5]), Tensor([0.0, 2.0, 0.0])
    return Net(P.MulNoNan())(x, y), WithSens(Net(P.MulNoNan()))(x, y, numbers(3))


def case_no_nan_in_half_precision():
    x, y = Tensor([1.0, 2.0], ms.float16), Tensor([0.0, 2.0], ms.float16)
    return Net(P.MulNoNan())(x, y), Net(P.DivNoNan())(x, y), Net(P.Xdivy())(y, y)

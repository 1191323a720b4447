"""Gradients of functions and networks, as MindSpore's guides introduce them."""

import mindspore as ms
import numpy as np
from mindspore import Tensor, nn, ops


def case_grad_of_a_function():
    def f(x, y):
        return x * x * y

    return ms.grad(f, (0, 1))(Tensor([1.0, 2.0]), Tensor([3.0, 4.0]))


def case_reduce_sum_keeps_dims():
    x = Tensor(np.arange(6, dtype=np.float32).reshape(2, 3))
    return ops.ReduceSum(keep_dims=True)(x, 1), ops.ReduceSum()(x)


def case_grad_of_a_network():
    class Scale(nn.Cell):
        def __init__(self):
            super().__init__()
            self.w = ms.Parameter(Tensor([2.0, 3.0]), name="w")

        def construct(self, x):
            return (self.w * x).sum()

    net = Scale()
    return ms.grad(net, 0, net.trainable_params())(Tensor([5.0, 7.0]))

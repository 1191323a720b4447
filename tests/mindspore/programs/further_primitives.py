"""Primitives that check, number and reorder, and Morph; methods that add along an axis."""

import mindspore as ms
from mindspore import Tensor, nn, ops
from mindspore.ops import operations as P

from mindspore_programs import Run as Net


def case_formats():
    return (
        Net(P.DataFormatDimMap())(Tensor([0, 1, 2, 3, -1], ms.int32)),
        Net(P.DataFormatVecPermute())(Tensor([7, 8, 9, 10], ms.int32)),
        Net(P.DataFormatVecPermute("NCHW", "NHWC"))(Tensor([7, 8, 9, 10], ms.int32)),
    )


def case_numbers_are_finite():
    return Net(P.CheckNumerics())(Tensor([1.0, 2.0]))


def case_bits_and_order():
    x = Tensor([[5.0, 1.0, 3.0], [0.5, 7.0, 2.0]])
    return (
        Net(P.CompareAndBitpack())(Tensor([0.0, 4.0, 5.0, 1.0, 9.0, 2.0, 8.0, 3.0]), Tensor(3.0)),
        P.NthElement()(x, 1),
        P.NthElement(reverse=True)(x, 0),
    )


class Summed(nn.Cell):
    def __init__(self):
        super().__init__()
        self.note = ops.ScalarSummary()

    def construct(self, x):
        self.note("x", x)
        return x * 2


def case_summaries_change_nothing():
    return Summed()(Tensor(3.0))

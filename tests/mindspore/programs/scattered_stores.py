"""Scattered updates of Parameters: what they leave and return, and the gradients."""

import mindspore as ms
import numpy as np
from mindspore import Parameter, Tensor, nn
from mindspore.ops import operations as P


class Table(nn.Cell):
    def __init__(self, op):
        super().__init__()
        start = np.array([[2.0, 3.0], [4.0, 5.0], [6.0, 8.0], [-1.0, 0.5]], np.float32)
        self.w = Parameter(Tensor(start), name="w")
        self.op = op

    def construct(self, indices, x):
        self.op(self.w, indices, x)
        return self.w * 2


UPDATES = Tensor(np.array([[1.0, -3.0], [2.0, 7.0]], np.float32))
ROWS = Tensor(np.array([3, 1], np.int32))
PLACES = Tensor(np.array([[3], [1]], np.int32))


def scattered(op, indices=ROWS, updates=UPDATES):
    net = Table(op)
    return net(indices, updates), net.w.asnumpy()


def by_updates(op, indices=ROWS, updates=UPDATES):
    net = Table(op)
    return ms.grad(net, 1, net.trainable_params())(indices, updates)


def case_scatter_update():
    return scattered(P.ScatterUpdate())


def case_scatter_add():
    return scattered(P.ScatterAdd())


def case_scatter_add_at_one_row_twice():
    return scattered(P.ScatterAdd(), Tensor(np.array([2, 2], np.int32)))


def case_scatter_sub():
    return scattered(P.ScatterSub())


def case_scatter_mul():
    return scattered(P.ScatterMul())


def case_scatter_div():
    return scattered(P.ScatterDiv())


def case_scatter_max():
    return scattered(P.ScatterMax())


def case_scatter_min():
    return scattered(P.ScatterMin())


def case_scatter_nd_update():
    return scattered(P.ScatterNdUpdate(), PLACES)


def case_scatter_nd_add():
    return scattered(P.ScatterNdAdd(), PLACES)


def case_scatter_nd_add_of_elements():
    return scattered(
        P.ScatterNdAdd(), Tensor(np.array([[3, 0], [1, 1]], np.int32)), Tensor(np.array([0.5, 9.0], np.float32))
    )


def case_scatter_nd_sub():
    return scattered(P.ScatterNdSub(), PLACES)


def case_scatter_nd_mul():
    return scattered(P.ScatterNdMul(), PLACES)


def case_scatter_nd_div():
    return scattered(P.ScatterNdDiv(), PLACES)


def case_scatter_nd_max():
    return scattered(P.ScatterNdMax(), PLACES)


def case_scatter_nd_min():
    return scattered(P.ScatterNdMin(), PLACES)


def case_gradient_after_scatter_add():
    return by_updates(P.ScatterAdd())


def case_gradient_after_scatter_update():
    return by_updates(P.ScatterUpdate())


class Result(Table):
    def construct(self, indices, x):
        return self.op(self.w, indices, x) * x.sum()


def case_gradient_of_what_scatter_update_returns():
    net = Result(P.ScatterUpdate())
    return ms.grad(net, 1, net.trainable_params())(ROWS, UPDATES)


def case_gradient_of_what_scatter_max_returns():
    net = Result(P.ScatterMax())
    return ms.grad(net, 1, net.trainable_params())(ROWS, UPDATES)


def case_index_add():
    return scattered(P.IndexAdd(axis=0), ROWS, UPDATES)

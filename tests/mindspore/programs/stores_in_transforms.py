"""Stores in Parameters under derivatives of several kinds: each call stores once."""

import mindspore as ms
import numpy as np
from mindspore import Parameter, Tensor, nn, ops
from mindspore.ops import operations as P

from mindspore_cases import right

X = Tensor(np.array([1.5, -0.5, 2.0], np.float32))


class Net(nn.Cell):
    def __init__(self):
        super().__init__()
        self.w = Parameter(Tensor(np.array([2.0, 3.0, -1.0], np.float32)), name="w")
        self.count = Parameter(Tensor(0, ms.int32), name="count", requires_grad=False)
        self.assign_add = P.AssignAdd()
        self.assign_sub = P.AssignSub()


class OwnRule(Net):
    def construct(self, x):
        self.assign_add(self.count, 1)
        return x * x

    def bprop(self, x, out, dout):
        return (dout * 3,)


def case_a_store_in_a_cell_with_a_bprop():
    net = OwnRule()
    return ms.grad(net)(X), net(X), net.count.asnumpy()


class Shared(Net):
    def construct(self, x):
        self.assign_add(self.count, 2)
        return self.w * x


@right("the network runs twice", (((3.0, -1.5, -2.0), (2.0, 3.0, -1.0)), 2))
def case_jvp_stores_once():
    net = Shared()
    out, tangent = ms.jvp(net, X, ops.ones_like(X))
    return (tuple(out.asnumpy().tolist()), tuple(tangent.asnumpy().tolist())), int(net.count.asnumpy())


@right("the network runs twice", ((3.0, -1.5, -2.0), (2.0, 3.0, -1.0), 2), modes=("graph",))
def case_vjp_stores_once():
    net = Shared()
    out, pull = ms.vjp(net, X)
    (by_x,) = pull(ops.ones_like(X))
    return tuple(out.asnumpy().tolist()), tuple(by_x.asnumpy().tolist()), int(net.count.asnumpy())


class Trained(Net):
    def __init__(self):
        super().__init__()
        self.rate = 0.5

    def construct(self, x):
        grads = ops.grad(self.loss, None, self.w)(x)
        self.assign_add(self.count, 1)
        self.assign_sub(self.w, self.rate * grads)
        return self.loss(x)

    def loss(self, x):
        return (self.w * self.w * x).sum()


@right("a graph of it has a cycle", (-20.40625, (0.5, 6.75, -1.0), 2), modes=("graph",))
def case_a_step_by_hand_in_a_network():
    net = Trained()
    net(X)
    out = net(X)
    return float(out), tuple(net.w.asnumpy().tolist()), int(net.count.asnumpy())

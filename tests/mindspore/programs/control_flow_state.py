"""Parameters that branches and loops of a network change, and gradients of such networks."""

import mindspore as ms
import numpy as np
from mindspore import Parameter, Tensor, nn, ops
from mindspore.common import dtype as mstype
from mindspore.ops import composite as C
from mindspore.ops import operations as P

from mindspore_cases import right

X = Tensor([0.5, -1.25, 2.0], ms.float32)


class Gradient(nn.Cell):
    """All gradients of a network by its inputs."""

    def __init__(self, net):
        super().__init__()
        self.net = net
        self.grad = C.GradOperation(get_all=True)

    def construct(self, *inputs):
        return self.grad(self.net)(*inputs)


class WeightGradient(nn.Cell):
    """All gradients of a network by inputs and weights."""

    def __init__(self, net):
        super().__init__()
        self.net = net
        self.weights = ms.ParameterTuple(net.trainable_params())
        self.grad = C.GradOperation(get_all=True, get_by_list=True)

    def construct(self, *inputs):
        return self.grad(self.net, self.weights)(*inputs)


def state(net):
    """What the Parameters of a network hold."""
    return [p.asnumpy().copy() for p in net.get_parameters()]


class Counts(nn.Cell):
    def __init__(self):
        super().__init__()
        self.a = Parameter(Tensor(5, mstype.int32), name="a")
        self.b = Parameter(Tensor(2, mstype.int32), name="b")

    def construct(self, x):
        while self.a > self.b:
            x = x * 2
            self.b = self.b + 1
        if self.a == self.b:
            x = x + self.a
        return x


def case_while_on_parameters():
    net = Counts()
    first = net(X)
    return first, state(net), net(X), Gradient(Counts())(X)


class ForInIf(nn.Cell):
    def __init__(self):
        super().__init__()
        self.a = Parameter(Tensor(5.0, mstype.float32), name="a")
        self.b = Parameter(Tensor(4.0, mstype.float32), name="b")

    def construct(self, x):
        out = x * self.a
        if self.a > self.b:
            for _ in range(3):
                self.a -= 1
                out = out * x + self.b
        else:
            self.b = self.b - 1
        return out * self.b


def case_for_in_if_with_state():
    net = ForInIf()
    return net(X), state(net), net(X), state(net)


@right(
    "the gradient takes a Parameter as it is after the run",
    ((80 * X**3 + 32 * X + 16,), [np.float32(2), np.float32(4)]),
)
def case_gradient_of_for_in_if_with_state():
    net = ForInIf()
    return Gradient(net)(X), state(net)


class IfInFor(nn.Cell):
    def __init__(self):
        super().__init__()
        self.assign = P.Assign()
        self.add = P.AssignAdd()
        self.total = Parameter(Tensor([0.0, 0.0, 0.0], mstype.float32), name="total")
        self.count = Parameter(Tensor(0, mstype.int64), name="count")

    def construct(self, x):
        for i in range(4):
            if x.sum() > i:
                self.add(self.total, x)
            else:
                self.assign(self.total, self.total * 2)
            self.add(self.count, Tensor(1, mstype.int64))
        return self.total * x


def case_assignments_in_branches():
    net = IfInFor()
    return net(X), state(net), net(X * 3), state(net)


@right("a part of the gradient goes through what was stored", ((8 * X,), [8 * X, np.int64(4)]), modes=("graph",))
def case_gradient_with_assignments_in_branches():
    net = IfInFor()
    return Gradient(net)(X), state(net)


class WhileInWhile(nn.Cell):
    def __init__(self):
        super().__init__()
        self.w = Parameter(Tensor([1.0, 2.0, 0.5], mstype.float32), name="w")
        self.max = Tensor(3, mstype.int32)

    def construct(self, i, x):
        while i < self.max:
            j = self.max - 2
            while j < self.max:
                x = x * self.w + 1
                j = j + 1
            i = i + 1
        return x


def case_while_in_while():
    net = WhileInWhile()
    i = Tensor(0, mstype.int32)
    return net(i, X), WeightGradient(net)(i, X)


class IfInWhile(nn.Cell):
    def __init__(self):
        super().__init__()
        self.w = Parameter(Tensor([1.0, 2.0, 0.5], mstype.float32), name="w")

    def construct(self, x, y):
        n = Tensor(0)
        while n < 4:
            if x.sum() < y.sum():
                x = x * self.w
            else:
                y = y + x
            n += 1
        return x * y


def case_if_in_while():
    net = IfInWhile()
    return net(X, X * 2), WeightGradient(net)(X, X * 2), WeightGradient(net)(X, -X)


class AfterLoop(nn.Cell):
    def __init__(self):
        super().__init__()
        self.w = Parameter(Tensor(np.array([[0.5, 1.0], [2.0, -1.0]]), mstype.float32), name="w")

    def construct(self, x, n):
        y = x
        for _ in range(n):
            y = ops.matmul(self.w, y)
        if y.sum() > 0:
            y = ops.relu(y)
        elif n > 2:
            y = -y
        for i in range(2):
            while y.max() > 3 + i:
                y = y * 0.5
        return y


def case_if_and_loops_after_a_loop():
    net = AfterLoop()
    x = Tensor([[1.0, -2.0, 0.25], [0.5, 3.0, 1.5]], mstype.float32)
    return [(net(x, n), WeightGradient(net)(x, n)) for n in (1, 3)]


class Accumulates(nn.Cell):
    def __init__(self):
        super().__init__()
        self.total = Parameter(Tensor([0.0, 0.0, 0.0], mstype.float32), name="total", requires_grad=False)
        self.w = Parameter(Tensor([1.0, 2.0, 0.5], mstype.float32), name="w")

    def construct(self, x):
        y = x * self.w
        self.total += y
        return y * y


def case_sum_kept_over_calls():
    net = Accumulates()
    return net(X), state(net), net(X * 2), state(net), WeightGradient(net)(X), state(net)


class SetData(nn.Cell):
    def __init__(self):
        super().__init__()
        self.w = Parameter(Tensor([1.0, 2.0, 0.5], mstype.float32), name="w")

    def construct(self, x):
        before = self.w * 1
        ops.assign(self.w, x)
        after = self.w * 1
        return before, after


def case_order_of_reads_and_writes():
    net = SetData()
    return net(X), state(net), net(X * 2)


class Steps(nn.Cell):
    """Gradient descent, step by step, in a loop of the graph."""

    def __init__(self, net):
        super().__init__()
        self.net = net
        self.weights = ms.ParameterTuple(net.trainable_params())
        self.grad = C.GradOperation(get_by_list=True)

    def construct(self, x, steps):
        for _ in range(steps):
            grads = self.grad(self.net, self.weights)(x)
            for w, g in zip(self.weights, grads):
                ops.assign_sub(w, 0.125 * g)
        return self.net(x)


class Loss(nn.Cell):
    def __init__(self):
        super().__init__()
        self.w = Parameter(Tensor([1.0, 2.0, 0.5], mstype.float32), name="w")

    def construct(self, x):
        return ((self.w * x - 1) ** 2).sum()


def case_descent_in_a_loop():
    net = Loss()
    return Steps(net)(X, 3), state(net)

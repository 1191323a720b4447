"""Steps of optimisers as primitives: what they leave in the Parameters."""

import mindspore as ms
import numpy as np
from mindspore import Parameter, Tensor, nn, ops
from mindspore.ops import operations as P

from mindspore_cases import right

STARTS = (
    [[0.7, -1.2, 0.4], [2.5, -0.3, 1.1]],
    [[0.6, 0.9, 1.3], [0.2, 1.7, 0.8]],
    [[0.5, 1.4, 0.3], [1.9, 0.7, 1.2]],
    [[1.6, 2.1, 0.9], [2.4, 1.8, 1.5]],
)
GRAD = Tensor(np.array([[0.3, -0.8, 0.05], [-1.4, 0.6, 0.9]], np.float32))
ROWS = Tensor(np.array([[-0.4, 0.7, 1.1]], np.float32))
AT = Tensor(np.array([1], np.int32))


def number(x):
    return Tensor(x, ms.float32)


class Step(nn.Cell):
    def __init__(self, op, count):
        super().__init__()
        self.op = op
        self.count = count
        self.a = Parameter(Tensor(np.array(STARTS[0], np.float32)), name="a")
        self.b = Parameter(Tensor(np.array(STARTS[1], np.float32)), name="b")
        self.c = Parameter(Tensor(np.array(STARTS[2], np.float32)), name="c")
        self.d = Parameter(Tensor(np.array(STARTS[3], np.float32)), name="d")

    def construct(self, *rest):
        if self.count == 1:
            out = self.op(self.a, *rest)
        elif self.count == 2:
            out = self.op(self.a, self.b, *rest)
        elif self.count == 3:
            out = self.op(self.a, self.b, self.c, *rest)
        else:
            out = self.op(self.a, self.b, self.c, self.d, *rest)
        return out


def after(op, count, *rest, times=2):
    net = Step(op, count)
    for _ in range(times):
        net(*rest)
    return [p.asnumpy() for p in (net.a, net.b, net.c, net.d)[:count]]


def by_hand(step, count):
    """What two steps leave, computed with NumPy."""
    held = [np.array(x, np.float32) for x in STARTS[:count]]
    for _ in range(2):
        held = [x.astype(np.float32) for x in step(*held, np.array(GRAD.asnumpy()))]
    return held


def nesterov(var, accum, g):
    accum = 0.7 * accum + g
    return var - 0.1 * g - 0.07 * accum, accum


def dual_averaging(var, total, squares, g):
    total, squares = total + g, squares + g * g
    return -0.1 * np.sign(total) * np.maximum(abs(total) - 0.15, 0) / (0.06 + np.sqrt(squares)), total, squares


def leader(var, accum, linear, g):
    total = accum + g * g
    linear = linear + g - (np.sqrt(total) - np.sqrt(accum)) / 0.3 * var
    pulled = (np.sign(linear) * 0.2 - linear) / (np.sqrt(total) / 0.3 + 0.2)
    return np.where(abs(linear) > 0.2, pulled, 0), total, linear


def case_apply_momentum():
    return after(P.ApplyMomentum(), 2, number(0.1), GRAD, number(0.9))


@right("use_nesterov has no effect", by_hand(nesterov, 2))
def case_apply_momentum_nesterov():
    return after(P.ApplyMomentum(use_nesterov=True), 2, number(0.1), GRAD, number(0.7))


def case_apply_momentum_returns_the_variable():
    net = Step(P.ApplyMomentum(), 2)
    return net(number(0.2), GRAD, number(0.5))


def case_adam():
    return after(P.Adam(), 3, *map(number, (0.9, 0.99, 0.02, 0.8, 0.95, 1e-6)), GRAD)


def case_adam_nesterov():
    return after(P.Adam(use_nesterov=True), 3, *map(number, (0.9, 0.99, 0.02, 0.8, 0.95, 1e-6)), GRAD)


def case_adam_weight_decay():
    return after(P.AdamWeightDecay(), 3, *map(number, (0.02, 0.8, 0.95, 1e-6, 0.3)), GRAD)


def case_apply_adagrad():
    return after(P.ApplyAdagrad(), 2, number(0.1), GRAD)


@right("the accumulation changes", by_hand(lambda var, accum, g: (var - 0.1 * g / np.sqrt(accum), accum), 2))
def case_apply_adagrad_without_slots():
    return after(P.ApplyAdagrad(update_slots=False), 2, number(0.1), GRAD)


def case_apply_adagrad_v2():
    return after(P.ApplyAdagradV2(epsilon=1e-3), 2, number(0.1), GRAD)


@right("negative sums are pushed away from zero", by_hand(dual_averaging, 3))
def case_apply_adagrad_da():
    return after(P.ApplyAdagradDA(), 3, GRAD, number(0.1), number(0.05), number(0.2), Tensor(3, ms.int32))


def case_apply_adamax():
    return after(P.ApplyAdaMax(), 3, *map(number, (0.9, 0.02, 0.8, 0.95, 1e-6)), GRAD)


def case_apply_adadelta():
    return after(P.ApplyAdadelta(), 3, *map(number, (0.5, 0.8, 1e-4)), GRAD)


def case_apply_add_sign():
    return after(P.ApplyAddSign(), 2, *map(number, (0.1, 1.0, 0.9, 0.7)), GRAD)


def case_apply_power_sign():
    return after(P.ApplyPowerSign(), 2, *map(number, (0.1, 1.2, 0.9, 0.7)), GRAD)


def case_apply_gradient_descent():
    return after(P.ApplyGradientDescent(), 1, number(0.3), GRAD)


def case_apply_proximal_gradient_descent():
    return after(P.ApplyProximalGradientDescent(), 1, number(0.3), number(0.2), number(0.4), GRAD)


def case_apply_proximal_adagrad():
    return after(P.ApplyProximalAdagrad(), 2, number(0.3), number(0.2), number(0.4), GRAD)


@right("negative sums are pushed away from zero", by_hand(leader, 3))
def case_apply_ftrl():
    return after(P.ApplyFtrl(), 3, GRAD, number(0.3), number(0.2), number(0.1), number(-0.5))


def case_apply_adam_with_amsgrad():
    return after(P.ApplyAdamWithAmsgrad(0.8, 0.95, 1e-6), 4, *map(number, (0.9, 0.99, 0.02)), GRAD)


class RMSProp(Step):
    def construct(self, lr, grad):
        return self.op(self.a, self.b, self.c, lr, grad, 0.9, 0.3, 1e-4)


def case_apply_rmsprop():
    net = RMSProp(P.ApplyRMSProp(), 3)
    net(number(0.1), GRAD)
    return [net.a.asnumpy(), net.b.asnumpy(), net.c.asnumpy()]


class CenteredRMSProp(Step):
    def construct(self, lr, grad):
        return self.op(self.a, self.b, self.d, self.c, grad, lr, 0.9, 0.3, 1e-2)


def case_apply_centered_rmsprop():
    net = CenteredRMSProp(P.ApplyCenteredRMSProp(), 4)
    net(number(0.1), GRAD)
    return [net.a.asnumpy(), net.b.asnumpy(), net.c.asnumpy(), net.d.asnumpy()]


class Sgd(Step):
    def construct(self, lr, grad, momentum):
        return self.op(self.a, grad, lr, self.b, momentum, self.c)


def case_sgd():
    net = Sgd(P.SGD(dampening=0.1, weight_decay=0.05), 3)
    net(number(0.1), GRAD, number(0.9))
    first = net.a.asnumpy().copy()
    net(number(0.1), GRAD, number(0.9))
    return first, net.a.asnumpy(), net.b.asnumpy()


def case_sgd_nesterov():
    net = Sgd(P.SGD(nesterov=True), 3)
    net(number(0.1), GRAD, number(0.9))
    net(number(0.1), GRAD, number(0.9))
    return net.a.asnumpy(), net.b.asnumpy()


def case_sparse_apply_adagrad():
    return after(P.SparseApplyAdagrad(0.1), 2, ROWS, AT)


def case_sparse_apply_adagrad_v2():
    return after(P.SparseApplyAdagradV2(lr=0.1, epsilon=1e-3), 2, ROWS, AT)


def case_sparse_apply_ftrl():
    return after(P.SparseApplyFtrl(lr=0.1, l1=0.01, l2=0.02, lr_power=-0.5), 3, ROWS, AT)


def case_fused_sparse_adam():
    return after(P.FusedSparseAdam(), 3, *map(number, (0.9, 0.99, 0.02, 0.8, 0.95, 1e-6)), ROWS, AT)


def case_fused_sparse_lazy_adam():
    return after(P.FusedSparseLazyAdam(), 3, *map(number, (0.9, 0.99, 0.02, 0.8, 0.95, 1e-6)), ROWS, AT)


def case_fused_sparse_ftrl():
    return after(P.FusedSparseFtrl(lr=0.1, l1=0.01, l2=0.02, lr_power=-0.5), 3, ROWS, AT)


class Train(nn.Cell):
    def __init__(self):
        super().__init__()
        self.w = Parameter(Tensor(np.array([[0.5], [-0.25]], np.float32)), name="w")
        self.moment = Parameter(ops.zeros_like(self.w), name="moment", requires_grad=False)
        self.step = P.ApplyMomentum()

    def construct(self, x):
        return ((ops.matmul(x, self.w) - 1) ** 2).mean()


def case_a_training_loop_by_primitives():
    net = Train()
    x = Tensor(np.array([[0.2, 1.3], [-0.7, 0.6], [1.1, 0.4]], np.float32))
    gradient = ms.value_and_grad(net, None, net.trainable_params())
    losses = []
    for _ in range(3):
        loss, grads = gradient(x)
        net.step(net.w, net.moment, 0.1, grads[0], 0.9)
        losses.append(loss)
    return losses, net.w.asnumpy(), net.moment.asnumpy()

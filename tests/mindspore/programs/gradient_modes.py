"""HookBackward, no_grad, recomputing, and functions with forward and backward of their own."""

import mindspore as ms
import numpy as np
from mindspore import Parameter, Tensor, nn, ops
from mindspore.common._grad_function import _Function
from mindspore.common.api import _no_grad

from mindspore_cases import right

X = np.array([0.5, -1.25, 2.0], np.float32)
Y = np.array([4.0, 1.5, -3.0], np.float32)


class Hooked(nn.Cell):
    def __init__(self, hook):
        super().__init__()
        self.hook = ops.HookBackward(hook)

    def construct(self, x):
        return self.hook(x * x) * x


class HookedPair(nn.Cell):
    def __init__(self, hook):
        super().__init__()
        self.hook = ops.HookBackward(hook)

    def construct(self, x, y):
        a, b = self.hook(x * x, y)
        return a * b


def case_hook_backward():
    def hook(grads):
        return (grads[0] * 10,)

    return Hooked(hook)(Tensor(X)), ms.grad(Hooked(hook))(Tensor(X))


def case_hook_backward_none():
    def hook(grads):
        pass

    return ms.grad(Hooked(hook))(Tensor(X))


@right("two inputs are refused", (2 * X * Y, X * X), ("graph",))
def case_hook_backward_of_two():
    def hook(grads):
        return None

    return ms.grad(HookedPair(hook), (0, 1))(Tensor(X), Tensor(Y))


def case_hook_backward_not_callable():
    return ops.HookBackward(3)


class Net(nn.Cell):
    def __init__(self):
        super().__init__()
        self.dense = nn.Dense(3, 2, weight_init="ones", bias_init="zeros")
        self.act = nn.Tanh()

    def construct(self, x):
        return self.act(self.dense(x) * 0.3)


def case_recompute_of_a_cell():
    net = Net()
    net.recompute()
    x = Tensor(np.stack([X, Y]))
    return net(x), ms.grad(net, 0, net.trainable_params())(x)


def case_recompute_of_a_part():
    net = Net()
    net.act.recompute()
    net.dense.recompute(mp_comm_recompute=False)
    x = Tensor(np.stack([X, Y]))
    return ms.grad(net, 0, net.trainable_params())(x)


def case_recompute_with_an_unknown_option():
    Net().recompute(faster=True)


def case_recompute_of_a_block():
    net = Net()

    def f(x):
        return ms.recompute(net, x) * 2

    x = Tensor(np.stack([X, Y]))
    return ms.grad(f, 0, net.trainable_params())(x)


class Affine(_Function):
    @staticmethod
    def forward(ctx, x, y):
        ctx.save_for_backward(x, y)
        ctx.scale = 3
        return x * y * 2

    @staticmethod
    def backward(ctx, grad):
        x, y = ctx.saved_tensors
        return grad * y * ctx.scale, grad * x


class Pair(_Function):
    @staticmethod
    def forward(ctx, x):
        ctx.save_for_backward(x)
        return x * 2, x * x

    @staticmethod
    def backward(ctx, first, second):
        (x,) = ctx.saved_tensors
        return first * 10 + second * x


def in_dynamic_mode(case):
    """What a case gives in dynamic mode; the mode is what it was after it."""
    mode = ms.get_context("mode")
    ms.set_context(mode=ms.PYNATIVE_MODE)
    try:
        return case()
    finally:
        ms.set_context(mode=mode)


def case_function():
    def run():
        return Affine.apply(Tensor(X), Tensor(Y)), ms.grad(Affine.apply, (0, 1))(Tensor(X), Tensor(Y))

    return in_dynamic_mode(run)


def case_function_inside():
    def f(x, y):
        return Affine.apply(x * x, y) + x

    def run():
        return ms.grad(f, (0, 1))(Tensor(X), Tensor(Y))

    return in_dynamic_mode(run)


def case_function_of_two_results():
    def f(x):
        a, b = Pair.apply(x)
        return a + b * 3

    def run():
        return ms.grad(f)(Tensor(X))

    return in_dynamic_mode(run)


def case_function_with_a_parameter():
    w = Parameter(Tensor(Y), name="w")

    def f(x):
        return Affine.apply(x, w)

    def run():
        return ms.grad(f, 0, w)(Tensor(X))

    return in_dynamic_mode(run)


def case_no_grad_inside():
    def f(x):
        with _no_grad():
            y = x * x
        return y * x

    def run():
        return ms.grad(f)(Tensor(X))

    return in_dynamic_mode(run)


def case_no_grad_decorates():
    @_no_grad()
    def part(x):
        return x * x

    def f(x):
        return part(x) * x

    def run():
        return ms.grad(f)(Tensor(X))

    return in_dynamic_mode(run)


def case_no_grad_around():
    def f(x):
        return x * x

    def run():
        with _no_grad():
            return ms.grad(f)(Tensor(X))

    return in_dynamic_mode(run)


def case_saved_tensors_are_packed():
    seen = []

    def pack(x):
        seen.append(x.asnumpy())
        return len(seen) - 1

    def unpack(place):
        return Tensor(seen[place] * 10)

    def f(x, y):
        with ms.saved_tensors_hooks(pack, unpack):
            z = ops.exp(x) + y
            z = z * y
        return z * 3

    def run():
        return ms.grad(f, (0, 1))(Tensor(X), Tensor(Y)), len(seen)

    return in_dynamic_mode(run)


def case_saved_tensors_of_a_cell():
    class Square(nn.Cell):
        def construct(self, x):
            return x * x

    def pack(x):
        return x.asnumpy()

    def unpack(array):
        return Tensor(array * 10)

    def run():
        net = Square()
        net.register_saved_tensors_hooks(pack, unpack)
        return ms.grad(net)(Tensor(X))

    return in_dynamic_mode(run)


class Told(nn.Cell):
    """A Cell whose bprop returns what it is told to."""

    def __init__(self, returned):
        super().__init__()
        self.returned = returned

    def construct(self, x, y):
        return 2 * x + y

    def bprop(self, x, y, out, dout):
        if self.returned == "number":
            return 2 * dout, 2
        if self.returned == "shape":
            return ops.stack((dout, dout)), dout
        if self.returned == "dtype":
            return dout.astype(ms.float16), dout
        return (dout,)


def checked(returned):
    ms.set_context(check_bprop=True)
    try:
        return ms.grad(Told(returned), (0, 1))(Tensor(X), Tensor(Y))
    finally:
        ms.set_context(check_bprop=False)


def case_bprop_checked_number():
    return checked("number")


def case_bprop_checked_shape():
    return checked("shape")


def case_bprop_checked_dtype():
    return checked("dtype")


def case_bprop_checked_count():
    return checked("count")

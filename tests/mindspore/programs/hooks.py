"""Hooks on Cells and Tensors, InsertGradientOf and HookBackward, recomputing, no_grad."""

import mindspore as ms
import numpy as np
from mindspore import Parameter, Tensor, nn, ops

from mindspore_cases import right

X = np.array([0.5, -1.25, 2.0], np.float32)
Y = np.array([4.0, 1.5, -3.0], np.float32)


class Two(nn.Cell):
    def __init__(self):
        super().__init__()
        self.w = Parameter(Tensor([3.0]), name="w")

    def construct(self, x, y):
        return x * y * self.w, x + y


class One(nn.Cell):
    def __init__(self):
        super().__init__()
        self.w = Parameter(Tensor([3.0]), name="w")

    def construct(self, x):
        return x * x * self.w


class AroundTwo(nn.Cell):
    def __init__(self, net):
        super().__init__()
        self.net = net

    def construct(self, x, y):
        a, b = self.net(x * 2, y)
        return a * b


class AroundOne(nn.Cell):
    def __init__(self, net):
        super().__init__()
        self.net = net

    def construct(self, x):
        return self.net(x * 2) * x


def tenfold(cell, grad_input, grad_output):
    return (grad_input[0] * 10,)


def tenfold_bare(cell, grad_input, grad_output):
    return grad_input[0] * 10


def both_scaled(cell, grad_input, grad_output):
    return grad_input[0] * 10, grad_input[1] * 100


def by_output(cell, grad_input, grad_output):
    return (grad_input[0] + grad_output[0],)


def nothing(cell, grad_input, grad_output):
    pass


def too_many(cell, grad_input, grad_output):
    return grad_input[0], grad_input[0], grad_input[0]


def output_scaled(cell, grad_output):
    return grad_output[0] * 10, grad_output[1] * 100


def output_doubled(cell, grad_output):
    return (grad_output[0] * 2,)


def output_too_many(cell, grad_output):
    return grad_output[0], grad_output[0], grad_output[0]


def one_more(cell, inputs):
    return inputs[0] + 1


def swapped(cell, inputs):
    return inputs[1], inputs[0]


def fivefold(cell, inputs, output):
    return output * 5


def with_inputs(cell, inputs, output):
    return output + inputs[0]


def both_outputs(cell, inputs, output):
    return output[1], output[0]


def gradients(net):
    return ms.grad(AroundOne(net), 0, net.trainable_params())(Tensor(X))


def gradients_of_two(net):
    return ms.grad(AroundTwo(net), (0, 1), net.trainable_params())(Tensor(X), Tensor(Y))


def case_backward_hook():
    net = One()
    net.register_backward_hook(tenfold)
    return gradients(net)


def case_backward_hook_bare():
    net = One()
    net.register_backward_hook(tenfold_bare)
    return gradients(net)


def case_backward_hook_none():
    net = One()
    net.register_backward_hook(nothing)
    return gradients(net)


def case_backward_hook_by_output():
    net = One()
    net.register_backward_hook(by_output)
    return gradients(net)


def case_backward_hook_of_two():
    net = Two()
    net.register_backward_hook(both_scaled)
    return gradients_of_two(net)


def case_backward_hook_too_many():
    net = One()
    net.register_backward_hook(too_many)
    return gradients(net)


def case_two_backward_hooks():
    net = One()
    net.register_backward_hook(tenfold)
    net.register_backward_hook(by_output)
    return gradients(net)


def case_backward_hook_removed():
    net = One()
    net.register_backward_hook(tenfold).remove()
    return gradients(net)


def case_backward_hook_on_the_outermost():
    net = One()
    net.register_backward_hook(tenfold)
    return ms.grad(net)(Tensor(X))


def case_backward_pre_hook():
    net = Two()
    net.register_backward_pre_hook(output_scaled)
    return gradients_of_two(net)


def case_backward_pre_hook_of_one():
    net = One()
    net.register_backward_pre_hook(output_doubled)
    return gradients(net)


def case_backward_pre_hook_too_many():
    net = One()
    net.register_backward_pre_hook(output_too_many)
    return gradients(net)


def case_backward_hooks_of_both_kinds():
    net = One()
    net.register_backward_pre_hook(output_doubled)
    net.register_backward_hook(by_output)
    return gradients(net)


def case_forward_pre_hook():
    net = One()
    net.register_forward_pre_hook(one_more)
    return net(Tensor(X)), gradients(net)


def case_forward_pre_hook_of_two():
    net = Two()
    net.register_forward_pre_hook(swapped)
    return gradients_of_two(net)


def case_forward_hook():
    net = One()
    net.register_forward_hook(fivefold)
    return net(Tensor(X)), gradients(net)


def case_forward_hook_with_inputs():
    net = One()
    net.register_forward_hook(with_inputs)
    return gradients(net)


def case_forward_hook_of_two():
    net = Two()
    net.register_forward_hook(both_outputs)
    return net(Tensor(X), Tensor(Y)), gradients_of_two(net)


def case_two_forward_hooks():
    net = One()
    net.register_forward_hook(fivefold)
    net.register_forward_hook(with_inputs)
    return net(Tensor(X))


@right("the order is not kept", (3 * X * X + X) * 5, ("graph",))
def case_forward_hook_first():
    net = One()
    net.register_forward_hook(fivefold)
    net.register_forward_hook(with_inputs, prepend=True)
    return net(Tensor(X))


def case_forward_hooks_removed():
    net = One()
    first = net.register_forward_pre_hook(one_more)
    second = net.register_forward_hook(fivefold)
    first.remove()
    second.remove()
    return net(Tensor(X))


def case_hooks_of_every_kind():
    net = One()
    net.register_forward_pre_hook(one_more)
    net.register_forward_hook(fivefold)
    net.register_backward_pre_hook(output_doubled)
    net.register_backward_hook(tenfold)
    return gradients(net)


def case_hooks_on_nested_cells():
    inner = One()
    outer = AroundOne(inner)
    inner.register_backward_hook(tenfold)
    outer.register_backward_hook(by_output)
    return ms.grad(outer)(Tensor(X))


@right("hooks of Cells in a row are left out", np.where(X > 0, 50 / np.cosh(X) ** 2, 0).astype(np.float32), ("graph",))
def case_hooks_on_a_layer():
    net = nn.SequentialCell(nn.ReLU(), nn.Tanh())
    net[0].register_backward_hook(tenfold)
    net[1].register_forward_hook(fivefold)
    return ms.grad(net)(Tensor(X))


def case_hook_not_callable():
    One().register_backward_hook(3)


def case_forward_hook_not_callable():
    One().register_forward_hook("hook")


def case_forward_hook_with_a_bprop():
    class Own(nn.Cell):
        def construct(self, x):
            return x * x

        def bprop(self, x, out, dout):
            return (x * 7,)

    net = Own()
    net.register_forward_hook(fivefold)
    return net(Tensor(X)), ms.grad(net)(Tensor(X))


# ---------------------------------------------------------------- on Tensors


def double(grad):
    return grad * 2


def keep(grad):
    pass


def case_tensor_hook():
    def f(x):
        z = x * x
        z.register_hook(double)
        return z * x

    return ms.grad(f)(Tensor(X))


def case_tensor_hook_none():
    def f(x):
        z = x * x
        z.register_hook(keep)
        return z * x

    return ms.grad(f)(Tensor(X))


def case_tensor_hook_on_an_input():
    def f(x, y):
        x.register_hook(double)
        return x * y

    return ms.grad(f, (0, 1))(Tensor(X), Tensor(Y))


@right("a second hook is refused", 13 * X * X, ("graph",))
def case_two_tensor_hooks():
    def triple(grad):
        return grad * 3

    def f(x):
        z = x * x
        z.register_hook(double)
        z.register_hook(triple)
        return z * x

    return ms.grad(f)(Tensor(X))


def case_tensor_hook_in_a_network():
    class Hooked(nn.Cell):
        def __init__(self):
            super().__init__()
            self.w = Parameter(Tensor([3.0]), name="w")

        def construct(self, x):
            y = x * self.w
            y.register_hook(double)
            return y * y

    net = Hooked()
    return ms.grad(net, 0, net.trainable_params())(Tensor(X))


def case_tensor_hook_on_a_parameter():
    p = Parameter(Tensor(Y), name="p")

    def f(x):
        return p * p * x

    handle = p.register_hook(double)
    hooked = ms.grad(f, 0, p)(Tensor(X))
    handle.remove()
    return hooked, ms.grad(f, 0, p)(Tensor(X))


def case_tensor_hook_not_callable():
    Tensor(X).register_hook(3)


def case_insert_gradient_of():
    class Clipped(nn.Cell):
        def __init__(self):
            super().__init__()
            self.clip = ops.InsertGradientOf(self.limit)

        def limit(self, grad):
            return grad * 2 + 1

        def construct(self, x):
            return self.clip(x * x) * x

    return Clipped()(Tensor(X)), ms.grad(Clipped())(Tensor(X))


def case_insert_gradient_of_twice():
    insert = ops.InsertGradientOf(double)

    def f(x):
        return insert(insert(x) * x)

    return ms.grad(f)(Tensor(X))

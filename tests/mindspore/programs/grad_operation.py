"""GradOperation with every flag, in functions and in networks, nested, and the Cells built on it."""

import mindspore as ms
import numpy as np
from mindspore import Parameter, ParameterTuple, Tensor, nn, ops
from mindspore.ops import composite as C
from mindspore.ops import functional as F
from mindspore.ops import operations as P
from mindspore.ops.composite import GradOperation
from mindspore.ops.function.grad.grad_func import custom_vjp

X = np.array([[0.5, -1.25], [2.0, 0.75], [1.5, -0.5]], np.float32)
Y = np.array([[4.0, 1.5], [-3.0, 0.25], [2.0, 1.0]], np.float32)
S = np.array([[1.0, 0.0], [0.5, -1.0], [2.0, 3.0]], np.float32)

grad_all = C.GradOperation(get_all=True)


class Net(nn.Cell):
    def __init__(self):
        super().__init__()
        self.mul = P.Mul()
        self.z = Parameter(Tensor([3.0, 0.5]), name="z")
        self.u = Parameter(Tensor([1.0, 2.0]), name="u")

    def construct(self, x, y):
        return self.mul(x * x, y) * self.z + self.u


class Two(nn.Cell):
    def construct(self, x, y):
        return x * y, x + y


class GradNet(nn.Cell):
    """The classic: a network that returns the gradients of another."""

    def __init__(self, net, **flags):
        super().__init__()
        self.net = net
        self.params = ParameterTuple(net.trainable_params())
        self.grad = C.GradOperation(**flags)
        self.by_list = flags.get("get_by_list", False)

    def construct(self, *inputs):
        if self.by_list:
            return self.grad(self.net, self.params)(*inputs)
        return self.grad(self.net)(*inputs)


def product(x, y):
    return x * y * y


def case_first_input():
    return C.GradOperation()(product)(Tensor(X), Tensor(Y))


def case_all_inputs():
    return grad_all(product)(Tensor(X), Tensor(Y))


def case_all_of_one_input():
    return grad_all(ops.square)(Tensor(X)), ops.GradOperation()(ops.square)(Tensor(X))


def case_by_list():
    net = Net()
    return ops.GradOperation(get_by_list=True)(net, ParameterTuple(net.trainable_params()))(Tensor(X), Tensor(Y))


def case_by_list_of_a_list():
    net = Net()
    return ops.GradOperation(get_by_list=True)(net, net.trainable_params())(Tensor(X), Tensor(Y))


def case_by_one_parameter():
    net = Net()
    return ops.GradOperation(get_by_list=True)(net, net.z)(Tensor(X), Tensor(Y))


def case_all_and_by_list():
    net = Net()
    return GradOperation(True, True)(net, ParameterTuple(net.trainable_params()))(Tensor(X), Tensor(Y))


def case_sens():
    return C.GradOperation(sens_param=True)(product)(Tensor(X), Tensor(Y), Tensor(S))


def case_sens_by_keyword():
    return C.GradOperation(sens_param=True)(product)(Tensor(X), Tensor(Y), sens=Tensor(S))


def case_sens_all_and_by_list():
    net = Net()
    both = C.GradOperation(get_all=True, get_by_list=True, sens_param=True)
    return both(net, ParameterTuple(net.trainable_params()))(Tensor(X), Tensor(Y), Tensor(S))


def case_sens_of_two_outputs():
    both = C.GradOperation(get_all=True, sens_param=True)
    return both(Two())(Tensor(X), Tensor(Y), (Tensor(S), Tensor(Y)))


def case_two_outputs():
    return C.GradOperation(get_all=True)(Two())(Tensor(X), Tensor(Y))


def case_network_first():
    return GradNet(Net())(Tensor(X), Tensor(Y))


def case_network_all():
    return GradNet(Net(), get_all=True)(Tensor(X), Tensor(Y))


def case_network_by_list():
    return GradNet(Net(), get_by_list=True)(Tensor(X), Tensor(Y))


def case_network_all_and_by_list():
    return GradNet(Net(), get_all=True, get_by_list=True)(Tensor(X), Tensor(Y))


def case_network_everything():
    return GradNet(Net(), get_all=True, get_by_list=True, sens_param=True)(Tensor(X), Tensor(Y), Tensor(S))


def case_network_sens_of_two_outputs():
    return GradNet(Two(), get_all=True, sens_param=True)(Tensor(X), Tensor(Y), (Tensor(S), Tensor(Y)))


def case_second_order_of_a_network():
    first = GradNet(Net(), get_all=False)
    second = GradNet(first, get_all=True)
    return second(Tensor(X), Tensor(Y))


def case_third_order_of_a_function():
    def f(x):
        return x * x * x * x

    first = C.GradOperation()
    return first(first(first(f)))(Tensor(X))


def case_second_order_by_list():
    first = GradNet(Net())
    second = GradNet(first, get_by_list=True)
    return second(Tensor(X), Tensor(Y))


def case_second_order_with_sens():
    first = GradNet(Net(), sens_param=True)
    second = GradNet(first, get_all=True)
    return second(Tensor(X), Tensor(Y), Tensor(S))


def case_grad_then_more():
    class More(nn.Cell):
        def __init__(self, net):
            super().__init__()
            self.net = net
            self.grad = C.GradOperation(get_all=True)

        def construct(self, x, y):
            dx, dy = self.grad(self.net)(x, y)
            return dx * y + dy.sum()

    return More(Net())(Tensor(X), Tensor(Y))


def case_in_a_jit_function():
    net = Net()

    @ms.jit
    def g(x, y):
        return grad_all(net)(x, y)

    return g(Tensor(X), Tensor(Y))


def case_in_a_loop():
    net = Net()
    x, total = Tensor(X), []
    for _ in range(3):
        g = C.GradOperation()(net)(x, Tensor(Y))
        x = x - 0.1 * g
        total.append(g)
    return total


def case_control_flow_by_a_value():
    class Branch(nn.Cell):
        def construct(self, x, y):
            if x.sum() > y.sum():
                return x * x * y
            return x + y * y

    net = Branch()
    return grad_all(net)(Tensor(X), Tensor(Y)), grad_all(net)(Tensor(Y * 3), Tensor(X))


def case_while_with_integers():
    class Loop(nn.Cell):
        def construct(self, x, y):
            while x < y:
                x = x * 2
            return x * y

    return grad_all(Loop())(Tensor(3, ms.int32), Tensor(20, ms.int32))


def case_while_with_floats():
    class Loop(nn.Cell):
        def __init__(self):
            super().__init__()
            self.w = Parameter(Tensor([0.5, 1.5]), name="w")

        def construct(self, x, n):
            i = Tensor(0, ms.int32)
            while i < n:
                x = x * self.w + 1
                i = i + 1
            return x

    net = Loop()
    both = C.GradOperation(get_all=False, get_by_list=True)
    return both(net, ParameterTuple(net.trainable_params()))(Tensor(X), Tensor(3, ms.int32))


def case_unused_parameter_and_input():
    class Part(nn.Cell):
        def __init__(self):
            super().__init__()
            self.used = Parameter(Tensor([2.0, 3.0]), name="used")
            self.unused = Parameter(Tensor([[5.0]]), name="unused")

        def construct(self, x, y):
            return x * self.used

    return GradNet(Part(), get_all=True, get_by_list=True)(Tensor(X), Tensor(Y))


def case_of_a_method():
    class Methods(nn.Cell):
        def __init__(self):
            super().__init__()
            self.w = Parameter(Tensor([2.0, 3.0]), name="w")

        def inner(self, x):
            return x * x * self.w

        def construct(self, x):
            return C.GradOperation()(self.inner)(x)

    return Methods()(Tensor(X))


def case_flag_not_bool():
    return C.GradOperation(get_all=1)


def case_list_flag_not_bool():
    return C.GradOperation(False, 2)


def case_sens_flag_not_bool():
    return C.GradOperation(sens_param="yes")


def case_forward_value_and_grad():
    net = Net()
    weights = ParameterTuple(net.trainable_params())
    x, y = Tensor(X), Tensor(Y)
    return (
        nn.ForwardValueAndGrad(net)(x, y),
        nn.ForwardValueAndGrad(net, get_all=True)(x, y),
        nn.ForwardValueAndGrad(net, weights=weights, get_by_list=True)(x, y),
        nn.ForwardValueAndGrad(net, weights=weights, get_all=True, get_by_list=True)(x, y),
    )


def case_forward_value_and_grad_with_sens():
    net = Net()
    weights = ParameterTuple(net.trainable_params())
    step = nn.ForwardValueAndGrad(net, weights=weights, get_all=True, get_by_list=True, sens_param=True)
    return step(Tensor(X), Tensor(Y), Tensor(S))


def case_forward_value_and_grad_without_weights():
    return nn.ForwardValueAndGrad(Net(), get_by_list=True)


def case_functional_names():
    return F.grad(product)(Tensor(X), Tensor(Y)), F.value_and_grad(product, 1)(Tensor(X), Tensor(Y))


def case_of_layers():
    net = nn.Dense(2, 3, weight_init="ones", bias_init="zeros")
    both = nn.SequentialCell(net, nn.Tanh())
    params = ParameterTuple(net.trainable_params())
    return C.GradOperation(get_by_list=True)(both, params)(Tensor(X))


def case_custom_vjp():
    @custom_vjp
    def f(x, y):
        return x * y

    def rule(x, y, out, dout):
        return dout * 3, out * dout

    f.defbwd(rule)
    return ms.grad(f, (0, 1))(Tensor(X), Tensor(Y)), f(Tensor(X), Tensor(Y))


def case_jit_inside():
    @ms.jit
    def inner(x, y):
        return x * y + x

    def f(x, y):
        return inner(x, y) * x

    return grad_all(f)(Tensor(X), Tensor(Y))


def case_grad_of_a_jit_cell():
    class Compiled(nn.Cell):
        def __init__(self):
            super().__init__()
            self.w = Parameter(Tensor([2.0, 3.0]), name="w")

        @ms.jit
        def construct(self, x):
            return x * x * self.w

    net = Compiled()
    return GradNet(net, get_all=True, get_by_list=True)(Tensor(X))

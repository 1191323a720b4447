"""grad, value_and_grad, get_grad: arguments and the shapes of what comes back."""

import functools

import mindspore as ms
import numpy as np
from mindspore import Parameter, ParameterTuple, Tensor, nn, ops
from mindspore.ops import functional as F

from mindspore_cases import right

X = np.array([[0.5, -1.25, 2.0]], np.float32)
Y = np.array([[4.0, 1.5, -3.0], [0.25, 2.0, 1.0]], np.float32)


def product(x, y):
    return x * y * y


def two(x, y):
    return x * y, x + 3 * y


def with_aux(x, y):
    return (x * y).sum(), x + 1, y


class Net(nn.Cell):
    def __init__(self):
        super().__init__()
        self.w = Parameter(Tensor([2.0, -1.0, 0.5]), name="w")
        self.b = Parameter(Tensor([[1.0], [3.0]]), name="b")
        self.unused = Parameter(Tensor([[7.0, 8.0]]), name="unused")

    def construct(self, x, y):
        return self.w * x * x + y * self.b

    def half(self, x):
        return x * self.w * 0.5


def case_position_int():
    return ms.grad(product, 1)(Tensor(X), Tensor(Y))


def case_position_tuple_of_one():
    return ms.grad(product, (1,))(Tensor(X), Tensor(Y))


def case_position_tuple_in_its_order():
    return ms.grad(product, (1, 0))(Tensor(X), Tensor(Y))


def case_weight_alone():
    net = Net()
    return ms.grad(net, None, net.w)(Tensor(X), Tensor(Y))


def case_weights_as_list():
    net = Net()
    return ms.grad(net, None, net.trainable_params())(Tensor(X), Tensor(Y))


def case_weights_as_tuple():
    net = Net()
    return ms.grad(net, None, (net.b, net.w))(Tensor(X), Tensor(Y))


def case_weights_as_parameter_tuple():
    net = Net()
    return ms.grad(net, None, ParameterTuple([net.b]))(Tensor(X), Tensor(Y))


def case_no_weights_in_the_list():
    net = Net()
    return ms.grad(net, 0, [])(Tensor(X), Tensor(Y)), ms.grad(net, None, [])(Tensor(X), Tensor(Y))


def case_position_and_weight():
    net = Net()
    return ms.grad(net, 0, net.w)(Tensor(X), Tensor(Y))


def case_positions_and_weights():
    net = Net()
    return ms.grad(net, (0, 1), [net.w, net.unused])(Tensor(X), Tensor(Y))


def case_one_position_in_a_tuple_and_weights():
    net = Net()
    return ms.grad(net, (1,), [net.w])(Tensor(X), Tensor(Y))


def case_same_weight_twice():
    net = Net()
    return ms.grad(net, None, [net.w, net.w])(Tensor(X), Tensor(Y))


def case_weight_outside_a_cell():
    z = Parameter(Tensor([5.0]), name="z")

    def f(x):
        return x * z * z

    return ms.grad(f, 0, z)(Tensor(X)), ms.value_and_grad(f, None, [z])(Tensor(X))


def case_several_outputs_are_summed():
    return ms.grad(two, (0, 1))(Tensor(X), Tensor(Y))


def case_value_of_several_outputs():
    return ms.value_and_grad(two, 0)(Tensor(X), Tensor(Y))


def case_value_and_weights():
    net = Net()
    return ms.value_and_grad(net, (0, 1), net.trainable_params())(Tensor(X), Tensor(Y))


def case_aux():
    return ms.grad(with_aux, 0, has_aux=True)(Tensor(X), Tensor(Y))


def case_aux_of_one():
    def f(x):
        return x * x, x * 7

    return ms.grad(f, 0, has_aux=True)(Tensor(X)), ms.value_and_grad(f, 0, has_aux=True)(Tensor(X))


def case_aux_and_weights():
    net = Net()

    def f(x, y):
        out = net(x, y)
        return out.sum(), out, net.half(x)

    return ms.grad(f, (0, 1), net.trainable_params(), has_aux=True)(Tensor(X), Tensor(Y))


def case_aux_is_not_followed():
    def f(x):
        return x.sum(), (x * x * 100).sum()

    return ms.value_and_grad(f, 0, None, has_aux=True)(Tensor(X))


def case_ids():
    net = Net()
    x, y = Tensor(X), Tensor(Y)
    return (
        ms.grad(product, 0, return_ids=True)(x, y),
        ms.grad(product, (1, 0), return_ids=True)(x, y),
        ms.grad(net, (1, 0), net.trainable_params(), return_ids=True)(x, y),
        ms.grad(net, None, [net.b], return_ids=True)(x, y),
    )


@right(
    "the gradient by a position is taken for a tuple of its rows",
    ((1, np.array([[1, 1, 1], [3, 3, 3]], np.float32)), (("w", np.array([0.5, 3.125, 8], np.float32)),)),
    ("pynative",),
)
def case_ids_of_a_weight():
    net = Net()
    return ms.grad(net, 1, [net.w], return_ids=True)(Tensor(X), Tensor(Y))


def case_ids_of_a_weight_alone():
    net = Net()
    return ms.grad(net, None, net.b, return_ids=True)(Tensor(X), Tensor(Y))


def case_ids_with_value():
    net = Net()
    return ms.value_and_grad(net, 0, net.trainable_params(), return_ids=True)(Tensor(X), Tensor(Y))


def case_get_grad():
    net = Net()
    found = ms.grad(net, (1, 0), net.trainable_params(), return_ids=True)(Tensor(X), Tensor(Y))
    return ms.get_grad(found, 0), ms.get_grad(found, 1), ops.get_grad(found, net.b), F.get_grad(found, net.unused)


def case_get_grad_of_one():
    found = ms.grad(product, 0, return_ids=True)(Tensor(X), Tensor(Y))
    return ms.get_grad(found, 0)


def case_get_grad_of_what_is_not_there():
    found = ms.grad(product, (0, 1), return_ids=True)(Tensor(X), Tensor(Y))
    return ms.get_grad(found, 2)


def case_sens():
    return ms.grad(product, (0, 1), sens_param=True)(Tensor(X), Tensor(Y), Tensor(Y * Y))


def case_sens_of_several_outputs():
    sens = (Tensor(Y), Tensor(Y + 1))
    return ms.value_and_grad(two, (0, 1), sens_param=True)(Tensor(X), Tensor(Y), sens)


def case_unused_input():
    def f(x, y):
        return x * 2

    return ms.grad(f, (0, 1))(Tensor(X), Tensor(Y))


def case_no_output():
    def f(x):
        x * 2

    return ms.grad(f)(Tensor(X))


def case_constant_output():
    def f(x):
        return 5

    return ms.grad(f)(Tensor(X))


def case_numbers_among_outputs():
    def f(x):
        return x * x, 3, 2.5, True

    return ms.grad(f)(Tensor(X))


def case_outputs_in_lists():
    def f(x, y):
        return [x * x, [y * x, (x,)]]

    return ms.grad(f, (0, 1))(Tensor(X), Tensor(Y))


def case_outputs_in_a_dict():
    def f(x, y):
        return {"a": x * x, "b": y * x}

    return ms.grad(f, (0, 1))(Tensor(X), Tensor(Y))


def case_outputs_nested():
    def f(x, y):
        return x * x, (y * x, (x + y, y))

    return ms.value_and_grad(f, (0, 1))(Tensor(X), Tensor(Y))


def case_of_a_method():
    net = Net()
    return ms.grad(net.half, 0, [net.w])(Tensor(X))


def case_of_a_lambda():
    f = lambda x, y: x * y + y
    return ms.grad(f, (0, 1))(Tensor(X), Tensor(Y))


@right("a partial is refused", 2 * X * Y)
def case_of_a_partial():
    return ms.grad(functools.partial(product, Tensor(X)))(Tensor(Y))


@right("a primitive is refused", ((np.full((1, 3), 2, np.float32), np.ones((2, 3), np.float32)), X))
def case_of_a_primitive():
    return ms.grad(ops.Add(), (0, 1))(Tensor(X), Tensor(Y)), ms.grad(ops.Mul())(Tensor(X), Tensor(X))


def case_of_a_jit_function():
    return ms.grad(ms.jit(product), (0, 1))(Tensor(X), Tensor(Y))


def case_inside_jit():
    @ms.jit
    def g(x, y):
        return ms.grad(product, (0, 1))(x, y)

    return g(Tensor(X), Tensor(Y))


def case_of_a_layer():
    net = nn.SequentialCell(nn.ReLU(), nn.Tanh())
    return ms.grad(net)(Tensor(X))


def case_of_an_operator_function():
    return F.grad(ops.sin)(Tensor(X)), ops.grad(ops.tanh)(Tensor(X))


def case_variable_arguments():
    def f(*xs):
        return xs[0] * xs[1] + xs[2]

    return ms.grad(f, (0, 1, 2))(Tensor(X), Tensor(Y), Tensor(X))


def case_keyword_default():
    def f(x, scale=3.0):
        return x * scale

    return ms.grad(f)(Tensor(X))


def case_second_order():
    def f(x):
        return x**3

    return ms.grad(ms.grad(f))(Tensor(X)), ms.grad(ms.grad(ms.grad(f)))(Tensor(X))


def case_mixed_second_order():
    def f(x, y):
        return x * x * y * y * y

    return ms.grad(ms.grad(f, 0), (0, 1))(Tensor(X), Tensor(Y)), ms.grad(ms.grad(f, 1), 1)(Tensor(X), Tensor(Y))


def case_second_order_of_a_tuple():
    return ms.grad(ms.grad(product, (0, 1)), (0, 1))(Tensor(X), Tensor(Y))


def case_second_order_by_weights():
    net = Net()
    return ms.grad(ms.grad(net, 0), (0, 1), net.trainable_params())(Tensor(X), Tensor(Y))


def case_grad_in_a_function_of_its_own():
    def inner(x):
        return x * x * x

    def outer(x):
        return ms.grad(inner)(x) * x

    return ms.grad(outer)(Tensor(X))


def case_stop_gradient():
    def f(x, y):
        return ops.stop_gradient(x) * y + ops.stop_gradient(x * y)

    return ms.grad(f, (0, 1))(Tensor(X), Tensor(Y))


def case_stop_gradient_of_a_tuple():
    def f(x, y):
        a, b = ops.stop_gradient((x * x, y * y))
        return a * x + b

    return ms.grad(f, (0, 1))(Tensor(X), Tensor(Y))


@right("inputs that are one Tensor get their gradients' sum, each", (2 * X * X, X * X), modes=("pynative",))
def case_the_same_tensor_twice():
    def f(a, b):
        return a * a * b

    x = Tensor(X)
    return ms.grad(f, (0, 1))(x, x)


def case_float16_and_float32():
    return ms.grad(product, (0, 1))(Tensor(X, ms.float16), Tensor(Y))


def case_float64():
    return ms.grad(product, (0, 1))(Tensor(X, ms.float64), Tensor(Y, ms.float64))


def case_of_a_network_that_is_wrapped():
    class Wrapped(nn.Cell):
        def __init__(self, net):
            super().__init__()
            self.net = net

        def construct(self, x, y):
            return ms.grad(self.net, (0, 1))(x, y)

    return Wrapped(Net())(Tensor(X), Tensor(Y))


def case_weights_of_a_wrapped_network():
    class Wrapped(nn.Cell):
        def __init__(self, net):
            super().__init__()
            self.net = net
            self.params = ParameterTuple(net.trainable_params())

        def construct(self, x, y):
            return ms.value_and_grad(self.net, None, self.params)(x, y)

    return Wrapped(Net())(Tensor(X), Tensor(Y))

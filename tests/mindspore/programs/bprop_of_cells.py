"""Cells with a derivative of their own, and what Cells are besides: names, flags, state."""

import mindspore as ms
import numpy as np
from mindspore import Parameter, ParameterTuple, Tensor, nn, ops

from mindspore_cases import right

X = np.array([0.5, -1.25, 2.0], np.float32)
Y = np.array([4.0, 1.5, -3.0], np.float32)


class Odd(nn.Cell):
    """x * y * w, with a derivative that is not the true one."""

    def __init__(self):
        super().__init__()
        self.w = Parameter(Tensor([3.0]), name="w")

    def construct(self, x, y):
        return x * y * self.w

    def bprop(self, x, y, out, dout):
        return x * dout + out, y * 7 * dout


class Around(nn.Cell):
    def __init__(self, net):
        super().__init__()
        self.net = net

    def construct(self, *xs):
        return self.net(*xs) * 2 + xs[0]


class Cubic(nn.Cell):
    def construct(self, x):
        return x * x * x

    def bprop(self, x, out, dout):
        return (5 * x * x * dout,)


class TwoResults(nn.Cell):
    def construct(self, x, y):
        return x * y, x + y

    def bprop(self, x, y, out, dout):
        return dout[0] * 10 + out[1], dout[1] * 7 * x


class Returns(nn.Cell):
    """A Cell whose bprop returns what it is told to."""

    def __init__(self, returned):
        super().__init__()
        self.returned = returned

    def construct(self, x, y):
        return x * y

    def bprop(self, x, y, out, dout):
        if self.returned == "one":
            return (x * 10,)
        if self.returned == "three":
            return x * 10, y, y
        return None, dout


class Bare(nn.Cell):
    def construct(self, x):
        return ops.sin(x)

    def bprop(self, x, out, dout):
        return x * 10 * dout


class WithDefault(nn.Cell):
    def construct(self, x, y=2.0):
        return x * y

    def bprop(self, x, y, out, dout):
        return x * 10, y


class UsesItsParameter(nn.Cell):
    def __init__(self):
        super().__init__()
        self.scale = Parameter(Tensor([1.5, 0.5, 2.5]), name="scale")

    def construct(self, x):
        return x + 1

    def bprop(self, x, out, dout):
        return (self.scale * dout,)


def case_replaces_the_derivative():
    return ms.grad(Odd(), (0, 1))(Tensor(X), Tensor(Y))


def case_forward_is_construct():
    return Odd()(Tensor(X), Tensor(Y))


def case_parameters_get_zeros():
    net = Odd()
    return ms.grad(net, 0, net.trainable_params())(Tensor(X), Tensor(Y))


def case_inside_another_cell():
    net = Around(Odd())
    return ms.grad(net, (0, 1), net.trainable_params())(Tensor(X), Tensor(Y))


def case_second_and_third_order():
    net = Cubic()
    return ms.grad(ms.grad(net))(Tensor(X)), ms.grad(ms.grad(ms.grad(net)))(Tensor(X))


def case_several_results():
    return ms.grad(TwoResults(), (0, 1))(Tensor(X), Tensor(Y))


def case_several_results_used_in_part():
    net = TwoResults()

    def f(x, y):
        return net(x, y)[0] * 3

    return ms.grad(f, (0, 1))(Tensor(X), Tensor(Y))


def case_too_few_gradients():
    return ms.grad(Returns("one"))(Tensor(X), Tensor(Y))


def case_too_few_gradients_further_in():
    return ms.grad(Around(Returns("one")))(Tensor(X), Tensor(Y))


def case_more_gradients_than_inputs():
    return ms.grad(Returns("three"), (0, 1))(Tensor(X), Tensor(Y))


@right("a gradient of None is given back as None", (np.zeros(3, np.float32), np.ones(3, np.float32)), modes=("graph",))
def case_none_counts_as_zero():
    return ms.grad(Returns("none"), (0, 1))(Tensor(X), Tensor(Y))


def case_result_without_a_tuple():
    return ms.grad(Bare())(Tensor(X))


@right("defaults of inputs are not given to bprop", 10 * X, modes=("graph",))
def case_default_of_an_input():
    return ms.grad(WithDefault())(Tensor(X))


def case_both_inputs_with_a_default():
    return ms.grad(WithDefault(), (0, 1))(Tensor(X), Tensor(Y))


def case_bprop_reads_a_parameter():
    net = UsesItsParameter()
    return ms.grad(net)(Tensor(X))


def case_sens_goes_to_bprop():
    return ms.grad(Odd(), (0, 1), sens_param=True)(Tensor(X), Tensor(Y), Tensor(Y))


def case_called_twice():
    net = Cubic()

    def f(x):
        return net(net(x)).sum()

    return ms.grad(f)(Tensor(X))


@right("the compiler fails", (True, 5 * X * X), modes=("graph",))
def case_bprop_debug():
    net = Cubic()
    net.bprop_debug = True
    return net.bprop_debug, ms.grad(net)(Tensor(X))


def case_bprop_debug_must_be_bool():
    Cubic().bprop_debug = 1


class Named(nn.Cell):
    def __init__(self, auto_prefix=True):
        super().__init__(auto_prefix=auto_prefix, flags={"kind": 3})
        self.inner = Odd()
        self.own = Parameter(Tensor([1.0]), name="another")
        self.unnamed = Parameter(Tensor([2.0]))
        self.group = ParameterTuple([Parameter(Tensor([3.0]), name="g1"), Parameter(Tensor([4.0]), name="g2")])
        self.row = nn.SequentialCell(nn.Dense(2, 3), nn.ReLU())

    def construct(self, x):
        return x


def case_names_of_parameters():
    return [p.name for p in Named().trainable_params()], [p.name for p in Around(Named()).trainable_params()]


def case_names_without_prefix():
    return [p.name for p in Named(auto_prefix=False).trainable_params()]


def case_names_after_a_second_place():
    net = Odd()
    Around(net)
    Around(net)
    return [p.name for p in Around(Around(net)).trainable_params()]


def case_paths_of_parameters():
    net = Around(Named())
    return (
        [n for n, _ in net.parameters_and_names()],
        [n for n, _ in net.cells_and_names()],
        list(net.parameters_dict()),
    )


def case_flags():
    net = Named()
    net.add_flags_recursive(mark=7)
    return net.get_flags(), net.kind, net.inner.mark, net.cls_name, net.phase, net.get_scope()


def case_prefixes():
    net = Around(Named())
    net.update_cell_prefix()
    return net.param_prefix, net.net.param_prefix, net.net.row.param_prefix


def case_state():
    net = Around(Odd())
    net.register_buffer("seen", Tensor([1.0, 2.0]))
    other = Around(Odd())
    other.register_buffer("seen", Tensor([0.0, 0.0]))
    net.net.w = Tensor([9.0])
    result = other.load_state_dict(net.state_dict())
    return (
        list(net.state_dict()),
        other.net.w,
        other.seen,
        list(result.missing_keys),
        [n for n, _ in net.named_buffers()],
    )


def case_state_with_missing_keys():
    return Around(Odd()).load_state_dict({})


def case_texts():
    return repr(Around(nn.SequentialCell(nn.ReLU(), Around(nn.Tanh()))))


def case_insert_child_twice():
    net = Around(Odd())
    net.insert_child_to_cell("more", nn.ReLU())
    net.insert_child_to_cell("construct", nn.ReLU())


def case_insert_param_that_is_none():
    Around(Odd()).insert_param_to_cell("p", 3)


def case_assign_number_to_a_cell():
    Around(Odd()).net = 3


def case_assign_number_to_a_parameter():
    Odd().w = 3


def case_assign_tensor_to_a_parameter():
    net = Odd()
    net.w = Tensor([5.0])
    return net.w, type(net.w).__name__


def case_no_construct():
    return nn.Cell()(Tensor(X))


def case_too_many_inputs():
    return Cubic()(Tensor(X), Tensor(Y))


def case_missing_attribute():
    return Cubic().nothing


def case_before_init():
    class Early(nn.Cell):
        def __init__(self):
            self.w = Parameter(Tensor([1.0]), name="w")

    return Early()


def case_two_parameters_of_one_name_in_a_tuple():
    class Doubled(nn.Cell):
        def __init__(self):
            super().__init__()
            self.both = (Parameter(Tensor([1.0]), name="w"), Parameter(Tensor([2.0]), name="w"))

    return Doubled()


def case_to_float_of_an_integer_type():
    return Cubic().to_float(ms.int32)


def case_trainable_after_requires_grad_off():
    net = Named()
    net.own.requires_grad = False
    return [p.name for p in net.trainable_params()], [p.name for p in net.untrainable_params()]


def case_set_train_and_grad():
    net = Around(Cubic())
    result = net.set_train().set_grad()
    return (
        result is net,
        net.training,
        net.net.training,
        net.requires_grad,
        net.set_train(False).net.training,
        net.phase,
    )


def case_empty_containers_are_false():
    return bool(nn.CellList([])), bool(nn.SequentialCell()), bool(nn.CellList([nn.ReLU()])), bool(nn.ReLU())

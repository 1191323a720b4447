"""`x += v` and `x.add_(v)` on arguments, locals and other names of them: in a graph they write into x, and the caller sees it."""

import mindspore as ms
import numpy as np
from mindspore import Parameter, Tensor, grad, jit, nn

from mindspore_cases import right


def tensor(*values, dtype=np.float32):
    return Tensor(np.array(values, dtype))


def added(x):
    x += 1
    return x


def by_other_name(x):
    y = x
    y -= 2
    return x * y


def doubled_in_a_branch(x):
    if x.sum() > 0:
        x *= 2
    return x * x


def grown_in_a_loop(x):
    while x.sum() < 10:
        x += 1
    return x


def raised_in_a_loop(x):
    while x.sum() < 40:
        x **= 2
    return x


def wider(x):
    x += Tensor([0.5, 1.5, 2.5], ms.float64)
    return x


def remainder(x):
    x //= 2
    x %= 3
    return x


def reshaped_apart(x):
    y = x * 1
    z = y.reshape(3, 1)
    z += 1
    return y, z


def stored_by_index(x):
    x[1] = 8.0
    return x * 2


def added_then_stored(x):
    x += 1
    x[0] = -4.0
    return x * x


def added_then_raised(x):
    x += 1
    x **= 2
    return x * 2


def by_method(x):
    x.add_(2.0)
    return x * x


def called_twice(x):
    return added(x) * added(x)


class Around(nn.Cell):
    def __init__(self, function):
        super().__init__()
        self.function = function

    def construct(self, *inputs):
        return self.function(*inputs)


def in_jit(function, *values, dtype=np.float32):
    def run():
        x = tensor(*values, dtype=dtype)
        first = jit(function)(x)
        return first, x.copy(), jit(function)(x), x

    return run


def in_cell(function, *values):
    def run():
        x, net = tensor(*values), Around(function)
        return net(x), x.copy(), net(x), x

    return run


def in_grad(function, *values):
    def run():
        x = tensor(*values)
        return grad(function)(x), x.copy(), grad(function)(x), x

    return run


case_added_in_jit = in_jit(added, 2, 3, -7)
case_added_integers_in_jit = in_jit(added, 2, 3, -7, dtype=np.int32)
case_other_name_in_jit = in_jit(by_other_name, 2, 3, -7)
case_branch_in_jit = in_jit(doubled_in_a_branch, 2, 3, 7)
case_branch_not_taken_in_jit = in_jit(doubled_in_a_branch, -2, -3, 1)
case_loop_in_jit = in_jit(grown_in_a_loop, 2, 3, -1)
case_loop_of_integers_in_jit = in_jit(grown_in_a_loop, 2, 3, -1, dtype=np.int32)
case_raised_in_jit = in_jit(raised_in_a_loop, 2, 3, 1.5)
case_keeps_its_dtype_in_jit = in_jit(wider, 2, 3, -7)
case_remainder_in_jit = in_jit(remainder, 12, 13, 17)
case_reshaped_in_jit = in_jit(reshaped_apart, 2, 3, -7)
case_index_in_jit = in_jit(stored_by_index, 2, 3, -7)
case_added_then_index_in_jit = in_jit(added_then_stored, 2, 3, -7)
case_added_then_raised_in_jit = in_jit(added_then_raised, 2, 3, -7)
case_method_in_jit = in_jit(by_method, 2, 3, -7)
case_called_twice_in_jit = in_jit(called_twice, 2, 3, -7)
case_added_in_cell = in_cell(added, 2, 3)
case_loop_in_cell = in_cell(grown_in_a_loop, 2, 3)
case_branch_in_cell = in_cell(doubled_in_a_branch, 2, 3)
case_other_name_in_cell = in_cell(by_other_name, 2, 3)
case_added_in_grad = in_grad(added, 2, 3)
case_branch_in_grad = in_grad(doubled_in_a_branch, 2, 3)
case_other_name_in_grad = in_grad(by_other_name, 2, 3)


def counted(x, y):
    while x < y:
        x += 1
    return x * y


def case_numbers_in_jit():
    x, y = Tensor(2.0, ms.float32), Tensor(5.5, ms.float32)
    return jit(counted)(x, y), x, y


def case_numbers_in_grad():
    x, y = Tensor(2.0, ms.float32), Tensor(5.5, ms.float32)
    return grad(counted, (0, 1))(x, y), x, y


def case_by_keyword():
    @jit
    def f(x, y):
        y += x
        return y

    x, y = tensor(1.5), tensor(2.0)
    return f(x, y=y), x, y


def case_in_a_tuple():
    @jit
    def f(pair):
        first = pair[0]
        first += 1
        return first * pair[1]

    pair = (tensor(1.5), tensor(2.0))
    return f(pair), pair


def case_one_tensor_at_two_places():
    @jit
    def f(x, y):
        x += 1
        return x * y

    x = tensor(2.5)
    return f(x, x), x


def case_tensor_of_a_closure():
    outer = tensor(1.0, 2.0)

    @jit
    def f(x):
        y = outer
        y += x
        return y * x

    return f(tensor(1.0, 3.0)), outer.copy(), f(tensor(1.0, 3.0)), outer


def case_parameter_as_argument():
    weight = Parameter(tensor(1.0, 2.0), name="weight")
    return jit(added)(weight), weight.value()


def case_jit_in_jit():
    inner = jit(added)

    @jit
    def f(x):
        return inner(x) * x

    x = tensor(1.5)
    return f(x), x


def case_local_in_a_loop():
    class Net(nn.Cell):
        def __init__(self):
            super().__init__()
            self.weight = Parameter(tensor(1.0, 1.0), name="weight")

        def construct(self, x):
            out = self.weight + 0
            while out.sum() < 10:
                out += x
            return out * 2

    net = Net()
    x = tensor(1.0, 2.0)
    return net(x), grad(net)(x), grad(net, None, net.trainable_params())(x), x


@right("a loop that writes leaves the argument of a gradient as it was", ([128.0, 256.0], [8.0, 16.0], 3), ("graph",))
def case_loop_in_grad():
    def f(x, y):
        while y < 3:
            x *= 2
            y += 1
        return x * x

    x, y = tensor(1.0, 2.0), Tensor(0)
    return grad(f)(x, y).asnumpy().tolist(), x.asnumpy().tolist(), int(y)


@right("`add_` has no effect on the CPU", ([49.0, 81.0], [7.0, 9.0], [14.0, 18.0]), ("pynative",))
def case_method_outside_of_graphs():
    x, y = tensor(5.0, 7.0), tensor(5.0, 7.0)
    out = Around(by_method)(x)
    return out.asnumpy().tolist(), x.asnumpy().tolist(), grad(by_method)(y).asnumpy().tolist()


def case_numbers_in_a_list_keep_the_dtype():
    x = Tensor(np.ones((2, 3), np.float32))
    x[1] = [0.5, 1.5, 2.5]
    return x

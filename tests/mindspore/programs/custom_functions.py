"""Functions in Python as operators: ops.Custom with derivatives of its own, and functions of constants."""

import mindspore as ms
import numpy as np
from mindspore import Tensor, nn, ops
from mindspore.ops import constexpr


def x2():
    return Tensor([1.5, -0.5])


def case_constexpr():
    @constexpr
    def halves(n):
        return n // 2, n - n // 2

    @ms.jit
    def f(x):
        a, b = halves(7)
        return x * a + b

    return f(x2()), halves(9)


def case_constexpr_in_a_gradient():
    @constexpr
    def power(shape):
        return len(shape) + 1

    def f(x):
        return x ** power(x.shape)

    return ms.grad(f)(x2())


def case_custom_function():
    def compute(x, y):
        return x * y + np.sin(x)

    def bprop(x, y, out, dout):
        return dout * y + dout * ops.cos(x), dout * x

    op = ops.Custom(compute, lambda x, y: x, lambda x, y: x, "pyfunc", bprop)

    def f(x, y):
        return op(x, y)

    y = Tensor([3.0, 4.0])
    return f(x2(), y), ms.grad(f, (0, 1))(x2(), y), ms.jit(f)(x2(), y), op.name


def case_custom_function_in_a_cell():
    class Net(nn.Cell):
        def __init__(self):
            super().__init__()

            def compute(x):
                return np.exp(x)

            def bprop(x, out, dout):
                return (dout * out,)

            self.op = ops.Custom(compute, lambda x: x, lambda x: x, "pyfunc", bprop)

        def construct(self, x):
            return self.op(x) * 2

    net = Net()
    return net(x2()), ms.grad(net)(x2())


def case_custom_function_of_several_results():
    def compute(x, y):
        return x * y, x + y

    op = ops.Custom(compute, lambda x, y: (x, x), lambda x, y: (x, x), "pyfunc")
    return op(x2(), Tensor([3.0, 4.0]))


def case_custom_function_with_a_fixed_shape():
    def compute(x):
        return np.outer(x, x)

    op = ops.Custom(compute, (2, 2), ms.float32, "pyfunc")
    return op(x2())


def case_custom_function_to_integers():
    def compute(x):
        return np.floor(x).astype(np.int32)

    op = ops.Custom(compute, lambda x: x, lambda x: ms.int32, "pyfunc")
    return op(x2())


def case_custom_function_without_bprop():
    def compute(x):
        return x * 2

    op = ops.Custom(compute, (2,), ms.float32, "pyfunc")

    def f(x):
        return op(x)

    return ms.grad(f)(x2())


def case_custom_without_shapes():
    def compute(x):
        return x

    return ops.Custom(compute, func_type="pyfunc")(x2())


def case_custom_of_a_number():
    return ops.Custom(3, (2,), ms.float32, "pyfunc")


def case_custom_of_an_unknown_kind():
    def compute(x):
        return x

    return ops.Custom(compute, (2,), ms.float32, "nonsense")


def case_wrong_number_of_inputs():
    return ops.Add()(x2())


def case_nested_gradient_of_a_rule():
    def compute(x):
        return x**3

    def bprop(x, out, dout):
        return (dout * 3 * x * x,)

    op = ops.Custom(compute, lambda x: x, lambda x: x, "pyfunc", bprop)

    def f(x):
        return op(x)

    return ms.grad(ms.grad(f))(x2())

"""Inputs that are no floating-point Tensors: integers, numbers, containers, None; and what is refused."""

import mindspore as ms
import numpy as np
from mindspore import Parameter, Tensor, mutable, nn, ops

from mindspore_cases import right

X = np.array([0.5, -1.25], np.float32)
Y = np.array([4.0, 1.5], np.float32)


def product(x, y):
    return x * y


def case_integer_input():
    return ms.grad(product, (0, 1))(Tensor([2, 3]), Tensor([4, 5]))


def case_integer_and_float():
    return ms.grad(product, (0, 1))(Tensor([2, 3], ms.int32), Tensor(Y))


def case_bool_input():
    def f(x, y):
        return ops.select(x, y, y * 2)

    return ms.grad(f, (0, 1))(Tensor([True, False]), Tensor(Y))


def case_cast_to_int_and_back():
    def f(x):
        return x.astype(ms.int32) * 2

    return ms.grad(f)(Tensor(X))


def case_scalar_input():
    return ms.grad(product)(2.0, 3.0)


@right("numbers get zeros", (3.0, 2.0), ("graph",))
def case_scalar_mutable():
    return ms.grad(product, (0, 1))(mutable(2.0), mutable(3.0))


@right("numbers get zeros", (np.full(2, 3, np.float32), -0.75), ("graph",))
def case_scalar_and_tensor():
    return ms.grad(product, 0)(Tensor(X), 3.0), ms.grad(product, 1)(Tensor(X), mutable(3.0))


def case_int_scalar():
    return ms.grad(product, 1)(Tensor(X), mutable(3))


def case_tuple_input():
    def f(xs, y):
        return xs[0] * xs[1] * y

    return ms.grad(f, (0, 1))((Tensor(X), Tensor(Y)), Tensor(X))


def case_tuple_input_mutable():
    def f(xs, y):
        return xs[0] * xs[1] * y

    return ms.grad(f, (0, 1))(mutable((Tensor(X), Tensor(Y))), Tensor(X))


def case_list_input_mutable():
    def f(xs):
        return xs[0] * xs[1]

    return ms.grad(f)(mutable([Tensor(X), Tensor(Y)]))


def case_dict_input_mutable():
    def f(d):
        return d["a"] * d["b"] * d["b"]

    return ms.grad(f)(mutable({"a": Tensor(X), "b": Tensor(Y)}))


def case_tuple_beside_a_tensor():
    def f(xs, y):
        return xs[0] * xs[1] * y

    return ms.grad(f, 1)((Tensor(X), Tensor(Y)), Tensor(X))


def case_string_beside_a_tensor():
    def f(x, how):
        return x * x if how == "square" else x

    return ms.grad(f)(Tensor(X), "square"), ms.grad(f)(Tensor(X), "not")


def case_none_beside_a_tensor():
    def f(x, y):
        if y is None:
            return x * 3
        return x * y

    return ms.grad(f)(Tensor(X), None)


def case_numpy_free():
    def f(x, n):
        for _ in range(n):
            x = x * x
        return x

    return ms.grad(f)(Tensor(X), 2)


def case_get_all_with_other_kinds():
    def f(x, n, y):
        return x * n + y

    return ops.GradOperation(get_all=True)(f)(Tensor(X), 3, Tensor(Y))


def case_get_all_with_a_tuple():
    def f(xs, y):
        return xs[0] * xs[1] * y

    return ops.GradOperation(get_all=True)(f)((Tensor(X), Tensor(Y)), Tensor(Y))


def case_get_all_with_a_mutable_tuple():
    def f(xs, y):
        return xs[0] * xs[1] * y

    return ops.GradOperation(get_all=True)(f)(mutable((Tensor(X), Tensor(Y))), Tensor(Y))


def case_nested_mutable():
    def f(xs):
        return xs[0] * xs[1][0] + xs[1][1]

    return ms.grad(f)(mutable((Tensor(X), (Tensor(Y), Tensor(X)))))


def case_tuple_from_inside():
    def f(pair):
        return pair[0] * pair[1] * pair[1]

    @ms.jit
    def g(x, y):
        return ms.grad(f)((x, y))

    return g(Tensor(X), Tensor(Y))


def case_parameter_as_input():
    w = Parameter(Tensor(X), name="w")
    return ms.grad(product, (0, 1))(w, Tensor(Y))


@right("keyword arguments are refused", Y, ("graph",))
def case_keyword_argument():
    return ms.grad(product, 0)(Tensor(X), y=Tensor(Y))


# ---------------------------------------------------------------- what is refused


def case_position_list():
    return ms.grad(product, [0])(Tensor(X), Tensor(Y))


def case_position_negative():
    return ms.grad(product, -1)(Tensor(X), Tensor(Y))


def case_position_negative_in_a_tuple():
    return ms.grad(product, (0, -1))(Tensor(X), Tensor(Y))


def case_position_twice():
    return ms.grad(product, (0, 0))(Tensor(X), Tensor(Y))


def case_position_empty():
    return ms.grad(product, ())(Tensor(X), Tensor(Y))


def case_position_beyond():
    return ms.grad(product, 2)(Tensor(X), Tensor(Y))


def case_position_beyond_in_a_tuple():
    return ms.grad(product, (0, 5))(Tensor(X), Tensor(Y))


def case_position_float():
    return ms.grad(product, 1.0)(Tensor(X), Tensor(Y))


def case_position_of_strings():
    return ms.grad(product, ("x",))(Tensor(X), Tensor(Y))


def case_nothing_to_differentiate_by():
    return ms.grad(product, None)(Tensor(X), Tensor(Y))


def case_aux_of_a_single_output():
    return ms.grad(product, 0, has_aux=True)(Tensor(X), Tensor(Y))


def case_aux_value_of_a_single_output():
    return ms.value_and_grad(product, 0, has_aux=True)(Tensor(X), Tensor(Y))


def case_has_aux_not_bool():
    return ms.grad(product, 0, has_aux=1)(Tensor(X), Tensor(Y))


def case_return_ids_not_bool():
    return ms.grad(product, 0, return_ids="yes")(Tensor(X), Tensor(Y))


def case_sens_of_another_shape():
    return ms.grad(product, 0, sens_param=True)(Tensor(X), Tensor(Y), Tensor([1.0, 2.0, 3.0]))


def case_sens_of_another_type():
    return ms.grad(product, 0, sens_param=True)(Tensor(X), Tensor(Y), Tensor([1, 2]))


def case_sens_missing():
    return ms.grad(product, 0, sens_param=True)(Tensor(X), Tensor(Y))


def case_not_a_function():
    return ms.grad(3)(Tensor(X))


def case_too_few_arguments():
    return ms.grad(product)(Tensor(X))


def case_too_many_arguments():
    return ms.grad(product)(Tensor(X), Tensor(Y), Tensor(X))


def case_error_in_the_function():
    def f(x):
        raise ValueError("this one")

    return ms.grad(f)(Tensor(X))


def case_requires_grad_off():
    class Net(nn.Cell):
        def __init__(self):
            super().__init__()
            self.w = Parameter(Tensor(Y), name="w", requires_grad=False)
            self.v = Parameter(Tensor(Y), name="v")

        def construct(self, x):
            return self.w * self.v * x

    net = Net()
    return ms.grad(net, 0, net.trainable_params())(Tensor(X))


def case_requires_grad_off_and_asked_for():
    w = Parameter(Tensor(Y), name="w", requires_grad=False)

    def f(x):
        return w * x

    return ms.grad(f, None, w)(Tensor(X))

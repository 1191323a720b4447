"""Gradients by containers in which Tensors and Python's own numbers are together."""

import mindspore as ms
from mindspore import Tensor, mutable, ops


def case_tuple_with_an_integer():
    def f(pair):
        return pair[0] * pair[0] * pair[1]

    return ms.grad(f)(mutable((Tensor([3.0, -1.5, 0.25]), 2)))


def case_dict_with_integers_and_truth_values():
    def f(d, x):
        return d["a"] * d["a"] * d["n"] * d["m"][0] * x

    inputs = mutable({"a": Tensor([3.0]), "n": 4, "m": (Tensor([5.0]), True)})
    return ms.grad(f, (0, 1))(inputs, Tensor([2.0]))


def case_tuple_with_a_tensor_of_truth_values():
    def f(pair):
        return ops.where(pair[1], pair[0] * pair[0], pair[0])

    return ms.grad(f)(mutable((Tensor([3.0, -2.0, 7.0]), Tensor([True, False, True]))))


def case_integers_decide_how_often():
    def f(pair, x):
        y = x
        for _ in range(3):
            y = y * pair[0] + pair[1]
        return y

    return ms.grad(f, (0, 1))(mutable((Tensor([0.5, 2.0]), 1)), Tensor([1.0, 3.0]))

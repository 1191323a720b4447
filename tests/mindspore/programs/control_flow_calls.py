"""Functions that compiled functions call: closures, defaults, recursion, lambdas, with gradients."""

import mindspore as ms
import numpy as np
from mindspore import Tensor

from mindspore_programs import compiled as both

X = Tensor([0.5, -1.25, 2.0], ms.float32)
Y = Tensor([[1.5, 0.25, -0.75], [2.0, -0.5, 1.0]], ms.float32)
S = Tensor(1.75, ms.float32)
SCALE = 1.5


def case_closures():
    def f(x):
        k = 3.0

        def inner(y):
            return y * k * x

        return inner(x) + inner(x + 1)

    return both(f, X)


def case_function_that_returns_a_function():
    def f(x):
        def power(n):
            def g(y):
                return y**n

            return g

        return power(2)(x) + power(3)(x)

    return both(f, X)


def helper(x, factor=2.0):
    return x * factor


def case_calls_with_defaults_and_keywords():
    def f(x):
        return helper(x) + helper(x, 3.0) + helper(x, factor=5.0) + helper(factor=7.0, x=x)

    return both(f, X)


def case_variadic_arguments():
    def total(*xs, **weights):
        out = xs[0]
        for x in xs[1:]:
            out = out + x
        for value in weights.values():
            out = out * value
        return out

    def f(x, y):
        parts = (x, x * 2)
        return total(*parts, y[0], a=2.0, b=0.5)

    return both(f, X, Y, wrt=(0, 1))


def factorial(n):
    if n <= 1:
        return 1
    return n * factorial(n - 1)


def case_recursion_on_a_number():
    def f(x):
        return x * factorial(4)

    return both(f, X)


def shrink(x):
    if x.sum() < 2:
        return x
    return shrink(x * 0.5) * 3


def case_recursion_on_a_tensor():
    def f(x):
        return shrink(x + 4)

    return both(f, X)


def case_lambdas():
    def f(x):
        square = lambda v: v * v
        return square(x) + (lambda a, b=2.0: a * b)(x)

    return both(f, X)


def case_global_variable():
    def f(x):
        return x * SCALE

    return both(f, X)


def case_tensor_made_inside():
    def f(x):
        w = Tensor([2.0, 3.0, 4.0], ms.float32)
        return x * w + Tensor(np.ones(3), ms.float32)

    return both(f, X)


def case_assignments_to_several_names():
    def f(x):
        a, b = x, x * 2
        a, b = b, a
        (c, d), e = (a, b), x
        a += c
        a *= 2
        a -= d
        return a * e

    return both(f, X)


def case_indexing_in_a_loop():
    def f(y):
        total = y[0, 0]
        for i in range(y.shape[0]):
            for j in range(1, y.shape[1]):
                total = total * y[i, j] + y[i, j - 1]
        return total

    return both(f, Y)

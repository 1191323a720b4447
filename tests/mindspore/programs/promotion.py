"""The dtypes of results: Tensors of different dtypes, and Tensors with Python numbers."""

import mindspore as ms
import numpy as np
from mindspore import Tensor, nn, ops

from mindspore_cases import right

DTYPES = (
    ms.bool_, ms.uint8, ms.int8, ms.int16, ms.int32, ms.int64, ms.float16, ms.float32, ms.float64, ms.complex64
)  # fmt: skip
NAMES = ("bool", "uint8", "int8", "int16", "int32", "int64", "float16", "float32", "float64", "complex64")
NUMBERS = {"True": True, "2": 2, "0.5": 0.5}


def made(dtype):
    return Tensor(np.array([1, 1]), dtype)


def outcome(compute):
    """The dtype of a result, or that there is none."""
    try:
        return compute().asnumpy().dtype.name
    except (TypeError, RuntimeError, ValueError, NotImplementedError):
        return "refused"


def pairs(op, dtypes=range(10)):
    return {
        f"{NAMES[i]} {NAMES[k]}": outcome(lambda i=i, k=k: op(made(DTYPES[i]), made(DTYPES[k])))
        for i in dtypes
        for k in dtypes
    }


def numbers(op, dtypes=range(10)):
    right = {
        f"{NAMES[i]} {n}": outcome(lambda i=i, x=x: op(made(DTYPES[i]), x)) for i in dtypes for n, x in NUMBERS.items()
    }
    left = {
        f"{n} {NAMES[i]}": outcome(lambda i=i, x=x: op(x, made(DTYPES[i]))) for i in dtypes for n, x in NUMBERS.items()
    }
    return right, left


def case_add():
    return pairs(lambda x, y: x + y), numbers(lambda x, y: x + y)


def case_sub():
    return pairs(lambda x, y: x - y, range(1, 10)), numbers(lambda x, y: x - y, range(1, 10))


def case_mul():
    return pairs(lambda x, y: x * y, range(9)), numbers(lambda x, y: x * y)


def case_div():
    return pairs(lambda x, y: x / y, range(1, 9)), numbers(lambda x, y: x / y, range(1, 10))


def case_floor_div():
    return pairs(lambda x, y: x // y, range(1, 9)), numbers(lambda x, y: x // y, range(1, 9))


def case_mod():
    return pairs(lambda x, y: x % y, range(4, 9)), numbers(lambda x, y: x % y, range(4, 9))


def case_pow():
    return pairs(lambda x, y: x**y, range(4, 9)), numbers(lambda x, y: x**y, range(4, 9))


def case_comparisons():
    return pairs(lambda x, y: x < y, range(1, 9)), numbers(lambda x, y: x >= y, range(1, 9)), pairs(lambda x, y: x == y)


COMMON = (4, 5, 7, 8)  # what the kernels of all operators take


def case_functions():
    return pairs(ops.add, range(1, 9)), pairs(ops.mul, COMMON), pairs(ops.maximum, COMMON), pairs(ops.div, range(4, 9))


def case_primitives():
    real = pairs(ops.RealDiv(), COMMON)
    return pairs(ops.Add(), range(3, 9)), numbers(ops.Mul(), range(3, 9)), real, numbers(ops.Sub(), range(4, 9))


def case_values_of_division():
    x, y = Tensor([7, -7, 8], ms.int32), Tensor([2, 2, -3], ms.int32)
    return x / y, x // y, x % y, x / 2, 2 / x, x // 2.0, x % 2.5


def case_values_of_powers():
    x = Tensor([2, 3], ms.int32)
    return x**2, x**0.5, 2**x, 2.0**x, Tensor([2.0, 3.0]) ** 3, Tensor([4.0, 9.0], ms.float16) ** 0.5


def case_booleans():
    p, q = Tensor([True, False, True]), Tensor([True, True, False])
    return p + q, p * q, p & q, p | q, p ^ q, ~p, p == q, p + 1, p * 2.0, p.sum()


def case_bits():
    x, y = Tensor([6, 3], ms.int32), Tensor([5, 9], ms.int32)
    return x & y, x | y, x ^ y


def case_unary():
    x = Tensor([-3, 4], ms.int32)
    return -x, abs(x), +x, Tensor([True, False]).logical_not()


def case_scalars():
    return Tensor(1) + 1, Tensor(1) + 1.0, Tensor(1.5) * 2, Tensor(2) / 4, Tensor(True) + True, 1 - Tensor(0.25)


class Mixed(nn.Cell):
    def construct(self, x, n):
        return x * n + n / 2


@right("gradients of two dtypes are not added", (Tensor([2.0, 3.0], ms.float16), Tensor([2.0, 6.0])), modes=("graph",))
def case_gradient_of_mixed_dtypes():
    x, n = Tensor([0.5, 1.5], ms.float16), Tensor([2, 3], ms.int32)
    return ms.grad(Mixed())(x, n), Mixed()(x, n)


class Wide(nn.Cell):
    def construct(self, x, y):
        return x * y


def case_gradient_of_widths():
    x, y = Tensor([0.5, 1.5], ms.float32), Tensor([2.0, 3.0], ms.float64)
    return ms.grad(Wide(), (0, 1))(x, y), Wide()(x, y)


def case_gradient_of_halves():
    x, y = Tensor([0.5, 1.5], ms.float16), Tensor([2.0, 3.0], ms.float32)
    return ms.grad(Wide(), (0, 1))(x, y), Wide()(x, y)


def case_matmul():
    x, y = Tensor(np.ones((2, 3)), ms.float16), Tensor(np.ones((3, 2)), ms.float16)
    return x @ y


def case_reductions():
    x = Tensor([[1, 2], [3, 4]], ms.int32)
    return (
        x.sum(),
        x.mean(Tensor([0]).asnumpy().tolist()[0]) if False else x.max(),
        x.prod(),
        x.astype(ms.float16).sum(),
    )


def case_in_place_operators():
    x = Tensor([1, 2], ms.int32)
    x = x + 0
    x += 1
    y = Tensor([1.0, 2.0])
    y *= 2
    y -= Tensor([1, 1])
    y /= 4
    return x, y

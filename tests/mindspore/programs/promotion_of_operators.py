"""Dtypes of Python's operators on Tensors of different dtypes and on numbers, and their gradients."""

import mindspore as ms
from mindspore import Tensor

DTYPES = (ms.float16, ms.float32, ms.float64, ms.int8, ms.int32, ms.int64, ms.uint8, ms.bool_)
F = Tensor([0.5, -1.25, 2.0], ms.float32)
K = Tensor([1, 2, 3], ms.int32)


def case_products_of_all_dtypes():
    return [[Tensor([1, 0], a) * Tensor([1, 1], b) for b in DTYPES] for a in DTYPES]


def case_sums_with_numbers():
    return [(Tensor([1, 0], a) + 2, 1.5 + Tensor([1, 0], a)) for a in DTYPES]


def case_quotients_of_integers():
    return K / 2, K / K, 2 / K, Tensor([1, 2]) / Tensor([4, 3]), Tensor(3) / Tensor(2)


def case_floor_mod_and_powers():
    return K // 2.0, F // K, K % 2.5, K**0.5, K**2, 2.0**K, F**K


def case_comparisons():
    return F < K, K == 1.0, F > True, K <= 2.5, Tensor([1.0, 2.5, 3.0]) != K


def case_comparisons_with_none_and_text():
    return F == None, F != None, F == "a"  # noqa: E711


def case_lists_as_operands():
    return F + [1, 2, 3]  # noqa: RUF005


def case_gradients_of_mixed_operands():
    def f(x, k):
        return x * k + x / k - k**2

    return ms.grad(f)(F, K), ms.grad(f)(F.astype(ms.float16), K)


def case_mixed_operands_in_a_graph():
    @ms.jit
    def f(x, k):
        if x.sum() > k[0]:
            return x * k
        return x + k / 2

    return f(F, K), f(-F, K)


def case_numbers_in_a_graph():
    @ms.jit
    def f(k, n, s):
        return k * n, k * s, n * s, k / n

    return f(K, 3, 0.5)


def case_augmented_assignment_makes_another_tensor():
    found = []
    for value in (2, 2.5):
        x = y = Tensor([5, 2])
        x += value
        z = y
        z *= value
        found.append((x, y, z))
    return found


def case_setitem_in_jit_leaves_the_argument_alone():
    @ms.jit
    def f(x):
        x[0] = 9.0
        return x * 2

    x = Tensor([1.0, 2.0])
    return f(x), x, f(x), x

"""Branches, loops, calls and conditions in compiled functions, with their gradients."""

# ruff: noqa: SIM108

import mindspore as ms
from mindspore import Tensor, ops

from mindspore_cases import right
from mindspore_programs import compiled as both

X = Tensor([0.5, -1.25, 2.0], ms.float32)
Y = Tensor([[1.5, 0.25, -0.75], [2.0, -0.5, 1.0]], ms.float32)
S = Tensor(1.75, ms.float32)
SCALE = 1.5


def case_if_on_a_tensor():
    def f(x):
        if x.sum() > 0:
            return x * 3
        return x * x

    return both(f, X), both(f, -X)


def case_elif_chain():
    def f(s):
        if s < 0:
            y = s * 2
        elif s < 1:
            y = s * s
        elif s < 2:
            y = ops.sin(s)
        else:
            y = ops.exp(-s)
        return y

    return [both(f, Tensor(v, ms.float32)) for v in (-1.5, 0.75, 1.25, 3.5)]


def case_if_without_else_keeps_the_old_value():
    def f(x, s):
        y = x * 2
        if s > 1:
            y = y + x * s
        return y

    return both(f, X, S, wrt=(0, 1)), both(f, X, S - 1, wrt=(0, 1))


def case_nested_ifs():
    def f(x, s):
        if s > 1:
            if x[0] > 0:
                return x * s
            return x - s
        if x[1] > 0:
            return x + s
        return x / s

    return [both(f, x, s, wrt=(0, 1)) for x in (X, -X) for s in (S, S - 1)]


def case_while_with_a_tensor_condition():
    def f(x):
        while x.sum() < 40:
            x = x * 1.5 + 1
        return x

    return both(f, X)


def case_while_with_a_counter():
    def f(x, n):
        i = 0
        y = x
        while i < n:
            y = y * x + i
            i = i + 1
        return y

    return both(f, X, 3)


def case_while_with_a_tensor_counter():
    def f(x, i, n):
        y = x
        while i < n:
            y = y * x
            i = i + 1
        return y

    return both(f, X, Tensor(0), Tensor(3))


@right(
    "a number that a loop changes is refused where its condition needs a Tensor",
    (Tensor([32.0, -80.0, 128.0]), *[Tensor([64.0] * 3)] * 2),
)
def case_while_with_two_conditions():
    def f(x):
        i = 0
        while i < 10 and x.max() < 20:
            x = x * 2
            i += 1
        return x * i

    return both(f, X)


def case_for_over_range():
    def f(x):
        out = x
        for i in range(1, 6, 2):
            out = out + x * i
        return out

    return both(f, X)


def case_for_over_range_with_a_condition_on_the_index():
    def f(x):
        out = ops.zeros_like(x)
        for i in range(5):
            if i % 2 == 0:
                out = out + x * i
            else:
                out = out - x
        return out

    return both(f, X)


def case_for_over_a_tensor():
    def f(y):
        total = ops.zeros((3,), ms.float32)
        for row in y:
            total = total * 2 + row * row
        return total

    return both(f, Y)


def case_for_over_a_tuple_and_a_list():
    def f(x):
        total = x
        for k in (1.0, 2.0, 4.0):
            total = total * k
        for k in [x, x + 1]:
            total = total + k
        return total

    return both(f, X)


def case_for_over_a_dict():
    def f(x):
        weights = {"a": 2.0, "b": 3.0}
        total = x
        for key in weights:
            total = total + x * weights[key]
        for key, value in weights.items():
            if key != "a":
                total = total * value
        return total

    return both(f, X)


def case_zip_and_enumerate():
    def f(x, y):
        total = x
        for i, (a, b) in enumerate(zip((x, x * 2), (y[0], y[1]))):
            total = total + a * b * i
        return total

    return both(f, X, Y, wrt=(0, 1))


def case_break_in_a_for():
    def f(x):
        out = x
        for i in range(6):
            if i == 3:
                break
            out = out * x + i
        return out

    return both(f, X)


def case_break_on_a_tensor():
    def f(x):
        out = x
        for _ in range(8):
            out = out * 1.5
            if out.max() > 9:
                break
        return out

    return both(f, X)


def case_continue_in_a_while():
    def f(x):
        i = 0
        out = x
        while i < 6:
            i += 1
            if i % 3 == 0:
                continue
            out = out + x * i
        return out

    return both(f, X)


def case_return_inside_a_loop():
    def f(x, s):
        for i in range(5):
            x = x + s
            if x.sum() > 6:
                return x * i
        return x

    return both(f, X, S, wrt=(0, 1)), both(f, X, S * 0.1, wrt=(0, 1))


def case_nested_loops():
    def f(x):
        out = ops.zeros_like(x)
        for i in range(3):
            for j in range(i + 1):
                out = out + x ** (j + 1) * (i + 1)
        return out

    return both(f, X)


def case_while_inside_a_for():
    def f(x):
        out = x
        for i in range(2):
            j = Tensor(0)
            while j < 2 + i:
                out = out * 1.25 + x
                j = j + 1
        return out

    return both(f, X)


def case_if_inside_a_while():
    def f(x, s):
        n = 0
        while s < 30:
            if s > 10:
                s = s * 1.5
            else:
                s = s * 2 + x.sum()
            n += 1
        return s * x

    return both(f, X, S, wrt=(0, 1))


def case_while_inside_a_while():
    def f(x):
        i = Tensor(0)
        out = x
        while i < 2:
            j = Tensor(0)
            while j < 3:
                out = out + x * x
                j = j + 1
            i = i + 1
        return out

    return both(f, X)


def case_branch_on_shape_and_dtype():
    def f(x):
        if x.ndim == 2 and x.shape[0] == 2:
            x = x.sum(0)
        if x.dtype == ms.float32:
            x = x * 2
        return x * len(x.shape)

    return both(f, X), both(f, Y)


def case_ternary():
    def f(x, s):
        y = x * 2 if s > 1 else x * 5
        return y * (1 if x.ndim == 1 else 7)

    return both(f, X, S), both(f, X, S - 2)


def case_and_or_not_on_tensors():
    def f(x, s):
        if s > 1 and x[0] > 0:
            x = x * 2
        if s < 1 or not x[1] > 0:
            x = x * s
        return x

    return both(f, X, S, wrt=(0, 1)), both(f, -X, S, wrt=(0, 1))


def case_in_and_is():
    def f(x, key, other):
        if key in ("sum", "mean"):
            x = x * 2
        if other is None:
            x = x * 3
        if key not in {"a": 1, "mean": 2}:
            x = x * 5
        return x

    return both(f, X, "sum", None), both(f, X, "mean", 1)


def case_chained_comparison():
    def f(s):
        if 1 < s < 2:
            return s * s
        return s * 3

    return both(f, S), both(f, S + 1)


def case_truth_of_a_tensor():
    def f(x, s):
        if s:
            x = x * 2
        if not s:
            x = x * 7
        return x

    return both(f, X, S), both(f, X, S * 0)
